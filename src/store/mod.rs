//! What lasts and how it changes: sessions, settings, locks, atomic files, operations.

pub mod agent_rule;
pub mod atomic;
pub mod cache;
pub mod clone_cone;
pub mod colony_toml;
pub mod config_file;
pub mod cut_cache;
pub mod database;
pub mod kept_large_files;
pub mod key;
pub mod large_file_locks;
pub mod large_files;
pub mod lease;
pub mod lock;
pub mod membership;
pub mod migration;
pub mod operation;
pub mod page_table;
pub mod places;
pub mod plain_file;
pub mod process_tree;
pub mod processes;
pub mod ref_locks;
pub mod ref_names;
pub mod relation_cache;
pub mod session;
pub mod setting_kind;
pub mod setting_layers;
pub mod settings;
pub mod setup_commands;
pub mod shared_root;
pub mod user_cache;
pub mod worktree_files;
pub mod yaml;

pub use session::Session;
