//! Reverts that a fork has merged as any other change: plain git deletes the fork's own work in it, where our merges keep it.
//! Once the branch has all commits of the fork, that was accepted.

use std::collections::BTreeSet;

use crate::git::{Oid, Repo};
use crate::model::Result;

use super::claims::Claims;
use super::shared_work::{Lineage, Reverted, is_in, own_reverts};

/// The most paths of a merge that are compared.
const MAX_PATHS: usize = 10_000;

/// Finds the revert of a fork's own work that took work off the fork as well: a file that the merge changed is at its tip
/// as the revert left it. `None` where the beginning of the fork is unknown.
pub(super) fn find(
    claims: &mut Claims,
    repo: &Repo,
    target: Oid,
    line: &Lineage,
) -> Result<Option<Reverted>> {
    let since = line.since.filter(|since| repo.object_size(*since).is_some());
    let Some(since) = since.filter(|since| *since != line.tip) else {
        return Ok(None);
    };
    if is_in(repo, line.tip, target)? {
        return Ok(None);
    }
    for reverted in own_reverts(claims, repo, since, line)? {
        if is_gone(repo, line.tip, &reverted)? {
            return Ok(Some(reverted));
        }
    }
    Ok(None)
}

/// Returns `true` if a tip has, of one of the paths that a merge changed, what the revert of the merge left of it.
fn is_gone(repo: &Repo, tip: Oid, reverted: &Reverted) -> Result<bool> {
    let tree = |commit| repo.tree_of(Some(commit));
    let changed = |old, new| -> Result<BTreeSet<_>> {
        let changes = repo.diff_trees(tree(old)?, tree(new)?)?;
        Ok(changes.into_iter().map(|change| change.path).collect())
    };
    let brought = changed(reverted.range.from, reverted.range.to)?;
    if brought.len() > MAX_PATHS {
        return Ok(false);
    }
    let taken = changed(reverted.range.to, reverted.by)?;
    let since = changed(reverted.by, tip)?;
    Ok(brought.iter().any(|path| taken.contains(path) && !since.contains(path)))
}
