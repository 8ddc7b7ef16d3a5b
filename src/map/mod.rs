//! The repo map: which sources a repository has, and which scope each becomes.

pub mod listing;
pub mod load;
pub mod problem;
mod reading;
pub mod resolve;
pub mod resolved;
pub mod row;
pub mod schema;
pub mod scope_record;
pub mod scope_writing;
pub mod show;
pub mod submodule;
