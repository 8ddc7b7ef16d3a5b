//! Migrations to git-lfs: history is rewritten, published on request, taken back; older commits are merged.

mod fault_table;
mod gitattributes;
pub(crate) mod in_progress;
mod killed;
mod lfs_hints;
mod named_commits;
mod nothing_to_migrate;
mod old_clones;
mod old_history_pushed;
mod progress;
mod publication;
mod refusals;
mod reports;
pub(crate) mod rewrite;
mod signed_commits;
mod stale_ref_locks;
mod tags_of_no_commit;
mod through_the_hub;
mod undo;
