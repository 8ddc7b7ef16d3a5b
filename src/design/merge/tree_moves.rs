//! Turns the difference between two trees into moves of files in the working tree.

use std::collections::{BTreeMap, BTreeSet};

use crate::design::checkpoint::worktree_snapshot::Kept;
use crate::design::worktree::{cwd_in_worktree, open_worktree};
use crate::git::Oid;
use crate::git::compare::tree_diff::TreeChange;
use crate::git::worktree::safe_open::look_at;
use crate::git::worktree::scan::UntrackedKind;
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;
use crate::store::operation::FileMoves;
use crate::store::operation::moves::{self, Emptied, PathTarget};
use crate::store::operation::operation_record::Source;

/// Lists the new paths that sparse checkout leaves out of the working tree, if nothing exists there
/// yet.
pub(in crate::design) fn outside_sparse(
    session: &Session,
    changes: &[TreeChange],
) -> Result<BTreeSet<RepoPath>> {
    let repo = &session.repo;
    let stands = |path: &RepoPath| path.under(repo.workdir()).symlink_metadata().is_ok();
    let new = changes
        .iter()
        .filter(|change| change.old.is_none() && change.new.is_some() && !stands(&change.path))
        .map(|change| change.path.clone())
        .collect();
    repo.outside_sparse_checkout(&session.world, new)
}

/// Lists how the files here differ from `tree`. Includes, as deleted, the files that could not be
/// stored and that `tree` does not have: no comparison of trees shows them.
pub(in crate::design) fn changes_from_here(
    session: &Session,
    kept: &Kept,
    tree: Oid,
) -> Result<Vec<TreeChange>> {
    let repo = &session.repo;
    let mut changes = repo.diff_trees(kept.snapshot.worktree_tree, tree)?;
    for path in &kept.snapshot.unstored {
        if repo.leaf_in(tree, path)?.is_none() {
            changes.push(TreeChange { path: path.clone(), old: None, new: None });
        }
    }
    Ok(changes)
}

/// Plans the moves for the changes.
pub(in crate::design) fn plan_moves(
    session: &Session,
    changes: &[TreeChange],
) -> Result<FileMoves> {
    let mut wants = BTreeMap::new();
    for change in changes {
        let want = match (change.old, change.new) {
            // The directory of a submodule belongs to its own repository.
            (Some(old), None) if old.is_submodule() => continue,
            (_, None) => PathTarget::Nothing,
            (Some(old), Some(new)) if old.is_submodule() && new.is_submodule() => continue,
            (_, Some(new)) if new.is_submodule() => PathTarget::Directory,
            (_, Some(new)) => PathTarget::File(Source::Staged { id: new.id }),
        };
        if !change.path.is_safe() {
            return Err(Error::new(
                Code::Unsupported,
                format!("'{}' is not a valid path in a working tree", change.path),
            )
            .unchanged());
        }
        wants.insert(change.path.clone(), want);
    }
    let files = open_worktree(session)?;
    moves::plan(&files, &wants, &Emptied::All, cwd_in_worktree(session).as_ref())
}

/// Plans the moves for the changes, and refuses to change paths that the scan could not read, or a
/// nested repository.
pub(in crate::design) fn plan_known_moves(
    session: &Session,
    changes: &[TreeChange],
    kept: &Kept,
) -> Result<FileMoves> {
    refuse_unreadable(changes.iter().map(|change| &change.path), kept)?;
    let moves = plan_moves(session, changes)?;
    let placed = moves.place.iter().map(|place| &place.path);
    let folders =
        moves.remove_directories.iter().chain(&moves.make_directories).map(|folder| &folder.path);
    refuse_unreadable(moves.aside.iter().chain(placed).chain(folders), kept)?;
    refuse_nested(session, &moves, kept)?;
    Ok(moves)
}

/// Refuses to move a file of a nested repository, even if it is ignored.
fn refuse_nested(session: &Session, moves: &FileMoves, kept: &Kept) -> Result<()> {
    let mut foreign = moves.aside.iter().filter(|path| !kept.scan.is_tracked(path));
    let nested = foreign.find_map(|path| {
        let repository = session.repo.repository_around(path)?;
        Some((path, repository))
    });
    let Some((path, repository)) = nested else {
        return Ok(());
    };
    Err(Error::new(
        Code::NestedRepository,
        format!("'{path}' is in the way: a file of the repository at '{repository}'"),
    )
    .detail("path", path)
    .detail("repository", repository)
    .hint("move that repository away, then run the command again"))
}

/// Refuses to change paths that the scan could not read.
fn refuse_unreadable<'a>(mut paths: impl Iterator<Item = &'a RepoPath>, kept: &Kept) -> Result<()> {
    let untracked = kept.scan.untracked.iter();
    let unread: Vec<_> = untracked
        .filter(|file| file.kind == UntrackedKind::Unreadable)
        .map(|file| &file.path)
        .collect();
    let covered = paths.find_map(|path| {
        let above = unread.iter().find(|unread| path.is_at_or_below(unread))?;
        Some((path, *above))
    });
    let Some((path, unread)) = covered else {
        return Ok(());
    };
    Err(Error::new(
        Code::PathInTheWay,
        format!("cannot change '{path}': '{unread}' is not readable"),
    )
    .detail("path", path)
    .detail("unreadable", unread)
    .hint(look_at(unread)))
}

/// Lists the files that would be moved aside although no checkpoint includes them, or could not
/// this time.
pub(in crate::design) fn ignored_among(moves: &FileMoves, kept: &Kept) -> Vec<RepoPath> {
    let visible = |path: &RepoPath| {
        let left_out = kept.left_out.iter().any(|left| path.is_at_or_below(&left.path));
        let untracked = kept.scan.untracked.binary_search_by(|u| u.path.cmp(path)).is_ok();
        let is_stored = !kept.snapshot.unstored.contains(path);
        is_stored && (kept.scan.is_tracked(path) || (untracked && !left_out))
    };
    moves.aside.iter().filter(|path| !visible(path)).cloned().collect()
}
