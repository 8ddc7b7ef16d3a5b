//! What a repository looks like: its state, its branches, its operations, what TAB offers.

pub mod completion;
pub mod log;
pub mod operations;
pub mod status;
pub mod status_line;
pub mod topology;
