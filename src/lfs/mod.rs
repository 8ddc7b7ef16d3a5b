//! Large files: what git-lfs keeps outside of git, and how it is set up here.
//!
//! Nothing here reads a large file: pointers say what there is to say.

pub mod exempt;
mod hooks_folder;
pub mod hydrate;
pub mod install;
pub mod locks;
pub mod patterns;
pub mod status;
pub mod unconverted;
