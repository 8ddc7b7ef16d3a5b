//! The repo map: which sources a repository has, and which scope each becomes.

pub mod problem;
mod reading;
pub mod row;
pub mod schema;
