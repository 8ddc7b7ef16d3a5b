//! Reports about a repository: its state, branches and operations, and completions.

pub mod completion;
pub mod formats;
pub mod log;
pub mod manual_pages;
pub mod operations;
pub mod status;
pub mod status_line;
pub mod topology;
