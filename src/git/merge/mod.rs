//! Merges of trees by git, by gix, or by neither if only one result is possible.

pub mod gix_merge;
pub mod marker_labels;
mod merge_bases;
mod merge_file;
pub mod merge_tree;
mod merge_tree_answer;
mod trivial_lines;
pub mod trivial_merge;
