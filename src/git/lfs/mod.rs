//! git-lfs: pointers, objects, uploads, and the history that it rewrites.

pub mod exempt_lines;
pub mod lfs_attributes;
pub mod lfs_import;
pub mod lfs_objects;
pub mod lfs_pointer;
mod lfs_progress;
mod lfs_reachable;
mod lfs_repair;
pub mod lfs_setup;
pub mod lfs_upload;
