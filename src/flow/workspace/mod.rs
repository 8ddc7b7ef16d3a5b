//! Which checkout this is, where its state is, and which groups its files belong to. Reads only.

pub mod cargo;
pub mod catalog;
pub mod catalog_edit;
pub mod git_tools;
pub mod groups;
pub mod id;
pub mod index;
pub mod paths;
pub mod query;
mod secret_diffs;
pub mod validate;
