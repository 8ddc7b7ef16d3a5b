//! The only place that names gix or starts git: reading, snapshots, refs, the index, checkout.
//!
//! The layers above use the types of this module. This module knows nothing of checkpoints or
//! operations, and prints nothing.

pub mod attributes;
pub mod bare;
pub mod checkout;
pub mod compare;
pub mod config;
mod discovery;
pub mod durable;
pub mod foreign_repository;
pub mod full_disk;
pub mod git_directory;
pub mod history;
pub mod identity;
pub mod index;
pub mod inherited;
pub mod lfs;
mod lock_file;
pub mod merge;
pub mod new_repository;
pub mod object;
pub mod plain_file;
pub mod process;
pub mod quoted_path;
pub mod refs;
pub mod remote;
pub mod repo;
pub mod scratch;
pub mod shared_access;
pub mod worktree;

pub use attributes::path_pattern::PathPattern;
pub use bare::BareRepo;
pub use checkout::Checkout;
pub use object::reader::Objects;
pub use object::rewrite::CommitRewrite;
pub use object::{Oid, Signature, TreeEntry};
pub use refs::{RefChange, RefName};
pub use remote::url::RemoteUrl;
pub use repo::{Head, ObjectWrites, Repo};
