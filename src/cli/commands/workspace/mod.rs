//! Commands about this checkout and the repositories of a workspace.
pub mod cargo;
pub mod catalog;
pub mod git;
pub mod git_code;
pub mod groups;
pub mod id;
pub mod index;
pub mod paths;
pub mod query;
pub mod query_answers;
pub mod validate;
