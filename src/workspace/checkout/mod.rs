//! The layout of a checkout: the stacks it uses, the packages in it, and the groups that its files belong to.
//!
//! Works without git. Everything it reads may come from a stranger: files up to a limit, directories up to a
//! number, and nothing behind a symlink.

pub mod catalog;
mod detected_groups;
pub mod groups;
pub mod hidden_files;
pub mod layout;
pub mod listing;
mod member_patterns;
pub mod root_files;
pub mod tree_files;
