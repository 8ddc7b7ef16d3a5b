//! Persistent state and its changes: sessions, settings, locks, atomic files, operations.

pub mod agent_policy;
pub mod cache;
pub(crate) mod data_tree;
pub mod files;
pub mod key;
pub mod large_files;
pub mod lease;
pub mod lock;
pub mod membership;
pub mod migration;
pub mod operation;
pub mod record_format;
pub mod refs;
pub mod session;
pub mod session_log;
pub mod settings;
pub mod state;
pub mod yaml;
pub mod yaml_problem;
pub mod yaml_reading;

pub use session::Session;
