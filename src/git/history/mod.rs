//! Walks through history: commits, fork points, commits that others lack.

pub mod changed_together;
pub mod commits;
mod fork_points;
pub mod reachable_only;
pub mod unshared;
