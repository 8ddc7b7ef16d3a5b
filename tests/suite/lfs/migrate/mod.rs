//! Migrations to git-lfs: history is rewritten, published, followed, taken back.

mod abort;
mod fault_table;
mod follow;
mod gitattributes;
pub(crate) mod in_progress;
mod killed;
mod lfs_hints;
mod named_commits;
mod nothing_to_migrate;
mod old_history_pushed;
mod progress;
mod publication;
mod refusals;
mod reports;
mod rewrite;
mod signed_commits;
mod stale_ref_locks;
mod tags_of_no_commit;
mod through_the_hub;
