//! Clones and hubs: made, refreshed, sparse, damaged, on other file systems.

mod another_home;
mod checkout_settings;
mod clone_commands;
mod file_systems;
mod half_objects;
mod hostile_removals;
mod hub_damage;
mod hub_faults;
mod hub_remote;
mod kept_clones;
mod like_a_worktree;
mod lost_git_dir;
mod lost_root;
mod newer_format;
mod sparse_clones;
mod variables;
