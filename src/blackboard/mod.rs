//! Blackboards: keys with values that all clones of a repository share.
//!
//! A blackboard is the ref `refs/colony/blackboard/<encoded scope>`, which has a directory for each key and in
//! it a file for each value. One value is the rule. If two clones have written a key without knowledge of each
//! other, it has the values of both, and is in conflict until a write names the version of both.

pub mod agent_marks;
pub mod board;
pub mod boards;
pub mod change;
pub mod entry;
