//! The only place that names gix or starts git: reading, snapshots, refs, the index, checkout.
//!
//! Everything above speaks in the types of this module. Nothing here knows of checkpoints or
//! operations, and nothing here prints.

pub mod attributes;
pub mod bare;
pub mod bounded;
mod cache_tree;
mod certain_lines;
pub mod certain_merge;
mod clean;
mod command_config;
pub mod compare;
pub mod config;
pub mod credentials;
pub mod diff;
mod file_writer;
mod fingerprint;
mod fork_points;
pub mod history;
pub mod identity;
pub mod ignored;
pub mod index;
mod index_edit;
pub mod index_state;
pub mod lfs_objects;
pub mod lfs_pointer;
pub mod marker_labels;
mod merge_file;
pub mod merge_tree;
pub mod merge_trees;
pub mod message;
pub mod network;
pub mod new_repository;
pub mod object;
mod other_worktrees;
pub mod path_pattern;
pub mod pick;
pub mod process;
mod quarantine;
mod ref_listing;
mod ref_transaction;
pub mod reflog;
pub mod refs;
pub mod remote;
pub mod repo;
pub mod scan;
pub mod sign;
pub mod snapshot;
mod sparse;
pub mod stage;
mod staged;
pub mod submodules;
pub mod tag;
mod tracked;
pub mod transfer;
mod tree;
mod untracked;
pub mod url;

pub use bare::BareRepo;
pub use object::{Oid, Signature, TreeEntry};
pub use path_pattern::PathPattern;
pub use refs::{RefChange, RefName};
pub use repo::{Head, ObjectWrites, Repo};
pub use url::RemoteUrl;
