//! Comparing trees: which paths differ, as git reports it, and whether the comparison is bounded.

pub(crate) mod bounded_diff;
pub mod git_diff;
pub mod line_counts;
pub(in crate::git) mod tree_cache;
pub mod tree_diff;
mod tree_weight;
