//! Reports about a repository: its state, branches and operations, and completions; and what our hooks do when they run
//! (`hook`, `worktree_hook`).

pub mod agent_show;
pub mod completion;
pub mod doctor;
pub mod fleet;
pub mod formats;
pub mod hook;
pub mod log;
pub mod manual_pages;
pub mod prune;
pub mod push_sizes;
pub mod status;
pub mod status_line;
pub mod topology;
pub mod tour;
pub mod worktree_hook;
