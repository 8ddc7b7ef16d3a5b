//! Which checkout this is, and the layout of its workspace.

mod affinity_groups;
mod bench_rows;
mod catalog;
mod catalog_changes;
mod code;
mod git_answers;
mod hostile_arguments;
mod identity;
mod layouts;
mod memory;
mod mirrors;
mod named_root;
mod overview;
mod places;
mod query;
mod shapes;
mod validation;
