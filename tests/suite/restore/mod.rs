//! Restore, undo and redo: what changes, what stays, what plain git did in between.

mod late_files;
mod plain_git;
mod racily_clean;
mod random_commands;
mod removed_worktrees;
mod restore_states;
mod undo_offers;
mod undo_redo;
mod undo_reports;
mod unignored;
mod unstorable_files;
