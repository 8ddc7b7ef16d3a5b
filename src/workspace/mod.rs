//! Which checkout this is, where its state and its notes are, and which groups its files belong to.

pub mod bench;
pub mod cargo;
pub mod catalog;
pub mod catalog_edit;
pub mod checkout;
pub mod code;
pub mod git_tools;
pub mod groups;
pub mod id;
pub mod index;
mod kept_answer;
pub mod memory;
pub mod paths;
pub mod query;
mod secret_diffs;
pub mod validate;
