//! Commands that save states of a repository, list them and go back to them.
pub mod aside_lines;
pub mod checkpoint;
pub mod checkpoints;
pub mod disk_space;
pub mod keep_log;
pub mod ops;
pub mod prune;
pub mod restore;
pub mod tag;
pub mod undo;
