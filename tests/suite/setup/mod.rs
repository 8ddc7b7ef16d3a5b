//! Setting up and taking out: init, hooks, settings, tools, deinit.

mod agent_exclusion;
mod agent_servers;
mod deinit;
mod hooks;
mod hooks_folders;
mod init;
pub(crate) mod never_set_up;
mod proposed_globs;
pub(crate) mod root_and_owner;
mod settings;
mod setup_attacks;
mod tool_arguments;
mod tool_scaffolds;
mod tools;
mod unreadable_files;
mod worktree_hooks;
