//! Which lines of work change files that others have locked on the server of git-lfs.
//!
//! A lock is a word among people: somebody works on a file that cannot be merged. Here it only warns;
//! the server itself may refuse a push. Nothing here asks the server: what it said last counts.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::allowed_paths::path_preview;
use crate::git::Repo;
use crate::git::compare::tree_diff::TreeChange;
use crate::model::{RepoPath, Result};
use crate::store::large_files::large_file_locks::{KnownLocks, LockedPath};

use super::forks::{self, Fork, MergeOutcome};

/// What is locked of what lines of work change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Locked {
    /// The files that somebody else has locked and that are changed in a fork or a clone, by path.
    pub locked: Vec<LockedPath>,
    /// When the server of git-lfs was asked for its locks, RFC 3339 UTC; `None` where it never was.
    pub locks_known_at: Option<String>,
}

/// A branch, and locked files that are changed on it.
pub type ChangedIn = (String, BTreeSet<RepoPath>);

/// Finds the locked files that forks bring to the branches they go to. `more` is what is changed
/// elsewhere, uncommitted.
///
/// # Errors
/// `repository-broken`, `object-missing`.
pub fn of_forks(
    repo: &Repo,
    known: KnownLocks,
    forks: &[Fork],
    more: Vec<ChangedIn>,
) -> Result<Locked> {
    let mut changed = more;
    // Where nothing is locked, nothing has to be compared.
    let asked = forks.iter().filter(|_| !known.locks.is_empty());
    for fork in asked {
        let paths = changes(repo, fork)?.into_iter().map(|change| change.path);
        changed.push((fork.name.clone(), known.among(paths)));
    }
    Ok(Locked {
        locked: known.meeting(&changed),
        locks_known_at: known.asked_at,
    })
}

/// Finds the locked files among changes that come from `source`.
pub fn of_changes(known: &KnownLocks, source: &str, changes: &[TreeChange]) -> Vec<LockedPath> {
    let paths = changes.iter().map(|change| change.path.clone());
    known.meeting(&[(source.to_owned(), known.among(paths))])
}

/// Lists what a fork brings to the branch it goes to.
fn changes(repo: &Repo, fork: &Fork) -> Result<Vec<TreeChange>> {
    let into = fork.into.as_ref().filter(|into| {
        let is_open = !matches!(
            into.outcome,
            MergeOutcome::UpToDate | MergeOutcome::Unrelated
        );
        is_open && fork.ahead > 0
    });
    let Some(into) = into else {
        return Ok(Vec::new());
    };
    match forks::standing(repo, Some(&into.branch))? {
        Some((_, target)) => {
            let before = repo.tree_of(Some(target))?;
            path_preview::coming_in(repo, fork.head_sha, (target, before))
        }
        None => Ok(Vec::new()),
    }
}
