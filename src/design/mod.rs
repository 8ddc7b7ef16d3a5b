//! The core of the program: keeping states and restoring them.

pub mod allowed_paths;
pub mod checkpoint;
pub mod commit;
pub mod decision;
pub mod default_branch;
pub mod diff;
pub mod drivers;
pub mod file_edit;
pub mod fork;
pub mod meaning;
pub mod merge;
pub mod migration;
pub mod pick;
pub mod restore;
pub mod revert;
pub mod state_digest;
pub mod submodule;
pub mod uncommitted;
pub mod undo;
pub mod worktree;
