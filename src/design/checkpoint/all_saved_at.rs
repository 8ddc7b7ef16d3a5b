//! Finds out from outside when all uncommitted work of a worktree was last kept in a checkpoint.

use std::collections::BTreeSet;

use crate::design::uncommitted::changed_paths;
use crate::git::Repo;
use crate::git::worktree::scan::Scan;
use crate::model::time::Moment;
use crate::model::{RepoPath, Result};
use crate::store::files::places::Places;

use super::checkpoints;

/// Returns when the newest checkpoint of a worktree was made, if it certainly holds the current
/// files.
///
/// Runs no filter of the worktree and writes nothing: a file that only a filter could compare
/// counts as not kept, and so does a file that a checkpoint leaves out. Costs reading the
/// uncommitted files.
pub fn kept_at(repo: &Repo, scan: &Scan) -> Result<Option<Moment>> {
    let uncommitted: BTreeSet<&RepoPath> = changed_paths(scan);
    let places = Places::find(repo)?.filter(|_| !uncommitted.is_empty());
    let Some(places) = places else {
        return Ok(None);
    };
    let Some(tree) = checkpoints::newest_tree(repo, &places.key)? else {
        return Ok(None);
    };
    let differing = repo.diff_trees(scan.head_tree, tree)?;
    if !differing.iter().all(|change| uncommitted.contains(&change.path)) {
        return Ok(None);
    }
    for path in uncommitted {
        if !repo.is_surely_as(path, repo.leaf_in(tree, path)?) {
            return Ok(None);
        }
    }
    Ok(checkpoints::newest_moment(repo, Some(&places.key)))
}
