//! What travels between a repository and a remote, and the rules for what both sides have changed.
//!
//! Values in, values out: `flow::sync` asks the remote, reads what refs hold, and moves them.

pub mod rules;
pub mod travelers;
pub mod verdict;
