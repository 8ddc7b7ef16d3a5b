//! Files of the working tree: scanned, read, stored, written; and files that are skipped.

pub mod checkout;
mod clean;
mod clean_filters;
mod file_writer;
pub mod filled_directories;
pub mod foreign_worktree;
mod hidden_files;
pub mod ignored;
mod listed_files;
pub mod other_worktrees;
pub mod plain_walk;
pub mod safe_open;
pub mod safe_path;
mod same_as_tree;
pub mod scan;
pub mod snapshot;
pub mod sparse;
pub(crate) mod tracked;
mod untracked;
