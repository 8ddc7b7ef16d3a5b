//! The repo map: the sources of a repository, and the scope of each.

pub mod data_globs;
pub mod listing;
pub mod load;
pub mod promotion;
mod reading;
pub mod resolve;
pub mod resolved;
pub mod routing;
pub mod row;
pub mod row_changes;
pub mod schema;
pub mod scope_record;
pub mod scope_writing;
pub mod show;
mod source_kind;
pub mod submodule;
