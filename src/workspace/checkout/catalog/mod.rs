//! The catalog: the repositories that a workspace names in `.colony/repositories.yaml`, and nothing but these. No
//! directory is searched for others.
//!
//! The file is content of a repository: its size is limited, and a row of it leads only to a repository that git
//! opens for this user, never out of the workspace by a link, and never to the repository around a directory.

pub mod edit;
pub mod load;
pub mod manifest;
pub mod resolve;
mod row;

pub use resolve::CatalogRepository;
pub use row::{AccessMode, Capability};
