//! Large files: those that git-lfs stores outside of git, and its setup here.
//!
//! No code here reads a large file: the pointers hold everything it needs.

pub mod exempt;
mod hooks_folder;
pub mod hydrate;
pub mod install;
pub mod patterns;
pub mod status;
pub mod store_url;
pub mod unconverted;
pub mod uninstall;
