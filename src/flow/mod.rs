//! Use cases that join domains or only read: status, the operation log, the tour.

pub mod agents;
pub mod blackboard;
pub mod checkpoint_deletion;
pub mod clones;
pub mod deinit;
pub mod doctor;
pub mod events;
pub mod fleet;
pub mod hook;
pub mod init;
pub mod knowledge;
pub mod map;
pub mod merge_driver;
pub mod migrate;
pub mod pages;
pub mod prune;
mod push_sizes;
pub mod reports;
pub mod residency;
pub mod search;
pub mod shared;
pub mod sync;
pub mod tools;
pub mod tour;
pub mod watch;
pub mod workspace;
pub mod worktree_hook;
