//! The repo map: its schema, its rows, what is mapped, and what submodules say.

mod custom_sources;
mod map_by_url;
mod map_cancel;
mod map_commands;
mod map_diff;
mod map_failures;
mod map_repo;
mod map_reports;
mod map_rows;
mod map_schema;
mod map_undo;
mod map_worktree;
mod scope_lookup;
mod submodules;
mod token_tree;
