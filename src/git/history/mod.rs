//! Walks through history: commits, where branches left each other, what others do not have.

pub mod changed_together;
pub mod commits;
mod fork_points;
pub mod reachable_only;
pub mod unshared;
