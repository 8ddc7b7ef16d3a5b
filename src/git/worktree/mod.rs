//! Files of the working tree: scanned, read, stored, written; and files that are skipped.

pub mod checkout;
mod clean;
mod clean_filters;
mod file_writer;
pub mod filled_directories;
pub(in crate::git) mod filter_drivers;
pub mod foreign_worktree;
mod hidden_files;
pub mod ignored;
mod listed_files;
pub mod other_worktrees;
pub mod plain_walk;
pub mod safe_open;
pub mod safe_path;
mod same_as_tree;
pub mod scan;
pub mod snapshot;
pub mod sparse;
mod submodule_edits;
pub(crate) mod tracked;
mod untracked;

/// The folder of caches, with the notes of agents.
pub const CACHE: &str = ".colony/cache";

/// The folder of sessions.
pub const SESSIONS: &str = ".colony/sessions";

/// Returns `true` for a path in a private folder: untracked files there count as ignored, whatever ignore files
/// say, which a repository may bring along.
pub(in crate::git) fn is_private(path: &[u8], folds_case: bool) -> bool {
    [CACHE, SESSIONS].iter().any(|folder| {
        let Some((top, rest)) = path.split_at_checked(folder.len()) else {
            return false;
        };
        let is_same = top == folder.as_bytes();
        let is_folded = folds_case && top.eq_ignore_ascii_case(folder.as_bytes());
        (is_same || is_folded) && matches!(rest, [] | [b'/', ..])
    })
}
