//! Commands that read a repository for the context of a model.
pub mod context;
pub mod ingest;
pub mod knowledge;
pub mod map;
pub mod memory;
pub mod pages;
pub mod projects;
pub mod promote;
pub mod scopes;
pub mod search;
pub mod watch;
pub mod watch_answers;
