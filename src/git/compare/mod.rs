//! Tree against tree: which paths differ, as git tells it, and whether the comparison has an end.

pub(crate) mod bounded_diff;
pub mod git_diff;
pub mod tree_diff;
mod tree_weight;
