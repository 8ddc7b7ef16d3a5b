//! Commands that set a repository up, and what git runs there.
pub mod config;
pub mod credential;
pub mod deinit;
pub mod doctor;
pub mod hook;
pub mod hooks;
pub mod init;
pub mod lfs;
pub mod lfs_migrate;
pub mod tools;
