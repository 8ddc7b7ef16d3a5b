//! Files that were settled since a merge or pick was opened, and that the opening itself left
//! alone.
//!
//! If the working tree already had our version of a path in conflict, opening it moved no file;
//! aborting has to move one nevertheless once another version was chosen.

use std::collections::{BTreeMap, BTreeSet};

use crate::design::checkpoint::worktree_snapshot::Kept;
use crate::git::TreeEntry;
use crate::model::{RepoPath, Result};
use crate::store::Session;
use crate::store::operation::Record;
use crate::store::operation::moves::PathTarget;
use crate::store::operation::operation_record::{IndexTarget, Source};

use super::plain_git::conflicted_in;

/// Lists the paths, in conflict then or staged since, whose files differ from their state before
/// `record` opened a merge or pick, with that state. As with git's own abort, edits that were never
/// staged stay in files without a conflict, and so do new files.
pub(in crate::design) fn settled_since(
    session: &Session,
    record: &Record,
    kept: &Kept,
) -> Result<BTreeMap<RepoPath, PathTarget>> {
    let mut settled = BTreeMap::new();
    let (true, Some(before)) = (record.opens_state(), record.snapshot) else {
        return Ok(settled);
    };
    let repo = &session.repo;
    let conflicted = match &record.index {
        Some(IndexTarget::State { state } | IndexTarget::File { state, .. }) => {
            conflicted_in(repo, *state)?
        }
        Some(IndexTarget::Tree { .. }) | None => BTreeSet::new(),
    };
    let opened = record.index_tree_after(repo)?;
    let staged: BTreeSet<_> = repo
        .diff_trees(opened, kept.snapshot.index_tree)?
        .into_iter()
        .map(|change| change.path)
        .collect();
    let moved: BTreeSet<_> =
        record.files.place.iter().map(|place| &place.path).chain(&record.files.aside).collect();
    let before = repo.tree_of(Some(before))?;
    for change in repo.diff_trees(kept.snapshot.worktree_tree, before)? {
        let path = &change.path;
        let is_new_here = change.new.is_none();
        let is_meant = conflicted.contains(path) || (staged.contains(path) && !is_new_here);
        let sides = [change.old, change.new];
        let is_submodule = sides.iter().flatten().any(TreeEntry::is_submodule);
        if !is_meant || is_submodule || moved.contains(path) || kept.scan.is_skipped(path) {
            continue;
        }
        let want = match change.new {
            Some(entry) => PathTarget::File(Source::Staged { id: entry.id }),
            None => PathTarget::Nothing,
        };
        settled.insert(change.path, want);
    }
    Ok(settled)
}
