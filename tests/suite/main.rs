//! The tests that run the program in process, on real repositories, against real git.

#![cfg(test)]
#![expect(
    clippy::disallowed_methods,
    reason = "tests start processes and write files themselves"
)]

mod git_server;
mod guide;
mod support;

mod agent_names;
mod agent_paths;
mod agents;
mod attacks;
mod certain;
mod checkpoint;
mod cherry_pick;
mod clones;
mod colonyignore;
mod commit;
mod completion;
mod concurrency;
mod credentials;
mod decide;
mod deinit;
mod diff;
mod external;
mod faces;
mod file_systems;
mod fleet;
mod fleet_story;
mod fleet_tokens;
mod fork;
mod hooks;
mod house;
mod init;
mod large_files;
mod late_files;
mod leases;
mod lfs_locks;
mod lfs_migrate;
mod lfs_server;
mod lfs_store;
mod literature;
mod manual;
mod map_cancel;
mod map_commands;
mod map_diff;
mod map_repo;
mod map_rows;
mod map_tokens;
mod map_told;
mod map_worktree;
mod merge;
mod merge_attacks;
mod merge_drivers;
mod merge_laws;
mod merge_rules;
mod newcomer;
mod page_attacks;
mod page_cache;
mod page_graph;
mod page_laws;
mod page_show;
mod pages;
mod pages_told;
mod paths_outside;
mod pick_by_git;
mod property;
mod readme;
mod recovery;
mod referee;
mod removal;
mod repo_map;
mod restore;
mod schema;
mod settings;
mod setup_attacks;
mod setup_commands;
mod signing;
mod sparse_clones;
mod status_line;
mod submodules;
mod surroundings;
mod sync;
mod sync_scopes;
mod taken_along;
mod tokens;
mod tool_scaffolds;
mod tools;
mod topology;
mod torture;
mod undo;
mod unignored;
mod young_files;
mod zero_init;
