//! Paths that a restore un-ignored by restoring older ignore files: they stay out of checkpoints.
//!
//! The list belongs to the state that operations record before and after, so that undo and redo
//! move it with the rest. A checkpoint removes from it paths that are tracked or ignored again; one
//! that includes the paths empties it.

use std::collections::BTreeSet;

use crate::git::Repo;
use crate::git::compare::tree_diff::TreeChange;
use crate::model::{RepoPath, Result};
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::operation::Tail;

use super::left_out::LeaveOutReason;
use super::worktree_snapshot::Kept;

/// If there are more paths than this, they are folded into their directories.
const MAX_PATHS: usize = 1_000;

/// The list after a restore.
#[derive(Clone, Debug, Default)]
pub(in crate::design) struct Unignored {
    /// All paths that stay out of checkpoints.
    pub(in crate::design) all: Vec<RepoPath>,
    /// The paths that this restore adds.
    pub(in crate::design) new: Vec<RepoPath>,
}

/// Returns the list in effect.
pub(in crate::design) fn current(session: &Session) -> Result<Vec<RepoPath>> {
    of(&session.repo)
}

/// Returns the list in effect in a repository.
pub fn of(repo: &Repo) -> Result<Vec<RepoPath>> {
    let Some(places) = Places::find(repo)? else {
        return Ok(Vec::new());
    };
    let tail = Tail::read(repo, &places)?;
    Ok(tail.unignored().to_vec())
}

/// Returns the list after `changes` are made to the files; examines ignored paths only if an ignore
/// file is among them.
pub(in crate::design) fn after_restore(
    session: &Session,
    kept: &Kept,
    changes: &[TreeChange],
    before: &[RepoPath],
) -> Result<Unignored> {
    if !changes.iter().any(|change| change.path.name() == b".gitignore") {
        let all = before.to_vec();
        return Ok(Unignored { all, new: Vec::new() });
    }
    let (repo, world) = (&session.repo, &session.world);
    let edits = changes.iter().map(|change| (&change.path, change.new));
    let tree = repo.edit_tree(kept.snapshot.worktree_tree, edits)?;
    let new = folded(repo.unignored_by(world, &kept.scan, tree)?);
    let mut all: BTreeSet<_> = repo.retain_visible(world, tree, before)?.into_iter().collect();
    all.extend(new.iter().cloned());
    Ok(Unignored { all: all.into_iter().collect(), new })
}

/// Returns the list after a checkpoint on the branch: the paths that it left out, and those that do
/// not exist at the moment.
pub(in crate::design) fn after_checkpoint(
    session: &Session,
    kept: &Kept,
    list: &[RepoPath],
) -> Vec<RepoPath> {
    let left_out: BTreeSet<_> = kept
        .left_out
        .iter()
        .filter(|left| left.reason == LeaveOutReason::Unignored)
        .map(|left| &left.path)
        .collect();
    let stays = |path: &&RepoPath| {
        let on_disk = std::fs::symlink_metadata(path.under(session.repo.workdir()));
        left_out.contains(path) || on_disk.is_err()
    };
    list.iter().filter(stays).cloned().collect()
}

/// Replaces files with their directories until the list is short, or cannot be shortened.
fn folded(mut paths: Vec<RepoPath>) -> Vec<RepoPath> {
    while paths.len() > MAX_PATHS {
        let parents: BTreeSet<_> = paths
            .iter()
            .filter_map(|path| path.parent().filter(|dir| !dir.as_bytes().is_empty()))
            .collect();
        let mut tops: BTreeSet<_> = parents
            .iter()
            .filter(|dir| !dir.ancestors().any(|above| parents.contains(&above)))
            .cloned()
            .collect();
        let at_root: Vec<_> = paths
            .iter()
            .filter(|path| {
                path.parent().is_none_or(|dir| dir.as_bytes().is_empty()) && !tops.contains(path)
            })
            .cloned()
            .collect();
        tops.extend(at_root);
        if tops.len() >= paths.len() {
            break;
        }
        paths = tops.into_iter().collect();
    }
    paths
}
