//! The refs that a repository and a remote exchange, and the rules for those that both sides have changed.
//!
//! Values in, values out: `flow::sync` asks the remote, reads the refs, and moves them.

pub mod outbox;
pub mod rules;
pub mod travelers;
pub mod verdict;
