//! Finds forks that change files which others have locked on the git-lfs server.
//!
//! A lock is a notice to people: its owner is editing a file that cannot be merged. Here it only
//! warns; the server itself may refuse a push. Nothing here asks the server: its last answer
//! counts.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::allowed_paths::path_preview;
use crate::git::Repo;
use crate::git::compare::tree_diff::TreeChange;
use crate::model::{RepoPath, Result};
use crate::store::large_files::large_file_locks::{KnownLocks, LockedPath};

use super::forks::{self, Fork};

/// The locked files that forks change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Locked {
    /// The files that others have locked and that are changed in a fork or a clone, by path.
    pub locked: Vec<LockedPath>,
    /// When the git-lfs server was last asked for its locks, RFC 3339 UTC; `None` if never.
    pub locks_known_at: Option<String>,
}

/// A branch, and the locked files that are changed on it.
pub type ChangedIn = (String, BTreeSet<RepoPath>);

/// Finds the locked files that forks bring into their target branches. `more` are uncommitted
/// changes elsewhere.
pub fn of_forks(
    repo: &Repo,
    known: KnownLocks,
    forks: &[Fork],
    more: Vec<ChangedIn>,
) -> Result<Locked> {
    let mut changed = more;
    // Without locks nothing has to be compared.
    let asked = forks.iter().filter(|_| !known.locks.is_empty());
    for fork in asked {
        let paths = changes(repo, fork)?.into_iter().map(|change| change.path);
        changed.push((fork.name.clone(), known.among(paths)));
    }
    Ok(Locked { locked: known.meeting(&changed), locks_known_at: known.asked_at })
}

/// Finds the locked files among changes that come from `source`.
pub fn of_changes(known: &KnownLocks, source: &str, changes: &[TreeChange]) -> Vec<LockedPath> {
    let paths = changes.iter().map(|change| change.path.clone());
    known.meeting(&[(source.to_owned(), known.among(paths))])
}

/// Lists the changes that a fork brings into its target branch.
fn changes(repo: &Repo, fork: &Fork) -> Result<Vec<TreeChange>> {
    let into = fork.into.as_ref().filter(|into| {
        let is_open = into.outcome.is_comparable();
        is_open && fork.ahead > 0
    });
    let Some(into) = into else {
        return Ok(Vec::new());
    };
    match forks::standing(repo, Some(&into.branch))? {
        Some((_, target)) => {
            let before = repo.tree_of(Some(target))?;
            path_preview::coming_in(repo, &fork.line(), target, before)
        }
        None => Ok(Vec::new()),
    }
}
