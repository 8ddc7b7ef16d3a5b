//! Paths that a restore un-ignored, by bringing back older ignore files: they stay out of checkpoints.
//!
//! The list belongs to the state that operations record before and after, so that undo and redo move
//! it with the rest. A checkpoint drops from it what is tracked or ignored again; one that takes the
//! paths in empties it.

use std::collections::BTreeSet;

use crate::git::Repo;
use crate::git::compare::tree_diff::TreeChange;
use crate::model::{RepoPath, Result};
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::operation::Tail;

use super::left_out::LeaveOutReason;
use super::worktree_snapshot::Kept;

/// More paths than this are folded into their directories.
const MOST: usize = 1_000;

/// The list after a restore.
#[derive(Clone, Debug, Default)]
pub(in crate::design) struct Unignored {
    /// All that stays out of checkpoints.
    pub(in crate::design) all: Vec<RepoPath>,
    /// What this restore adds.
    pub(in crate::design) new: Vec<RepoPath>,
}

/// Returns the list in force.
pub(in crate::design) fn current(session: &Session) -> Result<Vec<RepoPath>> {
    of(&session.repo)
}

/// Returns the list in force in a repository.
///
/// # Errors
/// `repository-broken`, `io`.
pub fn of(repo: &Repo) -> Result<Vec<RepoPath>> {
    let Some(places) = Places::find(repo)? else {
        return Ok(Vec::new());
    };
    let tail = Tail::read(repo, &places)?;
    Ok(tail.unignored().to_vec())
}

/// Returns the list after `changes` are made to the files; looks at ignored paths only if an ignore
/// file is among them.
pub(in crate::design) fn after_restore(
    session: &Session,
    kept: &Kept,
    changes: &[TreeChange],
    before: &[RepoPath],
) -> Result<Unignored> {
    if !changes
        .iter()
        .any(|change| change.path.name() == b".gitignore")
    {
        let all = before.to_vec();
        return Ok(Unignored {
            all,
            new: Vec::new(),
        });
    }
    let (repo, world) = (&session.repo, &session.world);
    let edits = changes.iter().map(|change| (&change.path, change.new));
    let tree = repo.edit_tree(kept.snapshot.worktree_tree, edits)?;
    let new = folded(repo.unignored_by(world, &kept.scan, tree)?);
    let mut all: BTreeSet<_> = repo
        .retain_visible(world, tree, before)?
        .into_iter()
        .collect();
    all.extend(new.iter().cloned());
    Ok(Unignored {
        all: all.into_iter().collect(),
        new,
    })
}

/// Returns what a checkpoint on the branch leaves of the list: what it left out, and what is not
/// there at the moment.
pub(in crate::design) fn after_checkpoint(
    session: &Session,
    kept: &Kept,
    list: &[RepoPath],
) -> Vec<RepoPath> {
    let left_out = kept.left_out.iter();
    let left_out: BTreeSet<_> = left_out
        .filter(|left| left.reason == LeaveOutReason::Unignored)
        .map(|left| &left.path)
        .collect();
    let stays = |path: &&RepoPath| {
        let on_disk = std::fs::symlink_metadata(path.under(session.repo.workdir()));
        left_out.contains(path) || on_disk.is_err()
    };
    list.iter().filter(stays).cloned().collect()
}

/// Puts directories in the place of their files until the list is short, or cannot be shorter.
fn folded(mut paths: Vec<RepoPath>) -> Vec<RepoPath> {
    while paths.len() > MOST {
        let parents = paths
            .iter()
            .map(|path| path.parent().filter(|dir| !dir.as_bytes().is_empty()));
        let parents: BTreeSet<_> = parents.flatten().collect();
        let mut tops: BTreeSet<_> = parents
            .iter()
            .filter(|dir| !dir.ancestors().any(|above| parents.contains(&above)))
            .cloned()
            .collect();
        let at_root = paths.iter().filter(|path| {
            path.parent().is_none_or(|dir| dir.as_bytes().is_empty()) && !tops.contains(path)
        });
        let at_root: Vec<_> = at_root.cloned().collect();
        tops.extend(at_root);
        if tops.len() >= paths.len() {
            break;
        }
        paths = tops.into_iter().collect();
    }
    paths
}
