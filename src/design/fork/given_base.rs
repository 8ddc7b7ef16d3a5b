//! The merge base that squashes and reverts give in place of the one of the parents.
//!
//! A squash gives the tip that it squashed. A revert takes the work of the merge off the base: then the merge brings all
//! of it, whichever side has it. Mostly that base is a commit from before the merge; where the branch has pulled others'
//! work since, it is made: a commit that no ref points to.

use crate::git::merge::gix_merge::SideNames;
use crate::git::object::NewCommit;
use crate::git::{Oid, Repo};
use crate::model::{Result, World};

use super::claims::{Claims, Range};
use super::shared_work::{Reverted, SharedWork, is_in, sides};

/// The names in conflict markers of a base, which nobody reads.
const NAMES: SideNames<'static> = SideNames { base: "before", ours: "base", theirs: "reverted" };

impl SharedWork {
    /// Fetches the files of the reverted merges that a partial clone does not have.
    pub fn fetch(&self, world: &World, repo: &Repo, known: Oid) -> Result<()> {
        if !self.has_reverts() {
            return Ok(());
        }
        let ends = |reverted: &Reverted| [reverted.range.from, reverted.range.to];
        let wanted: Vec<Oid> =
            self.reverted.iter().chain(&self.reverted_there).flat_map(ends).collect();
        repo.fetch_promised(world, &wanted, &[known])
    }

    /// Returns the base of a merge of the two branches; `None` if it is that of the parents. May write objects, to which
    /// no ref points.
    pub fn base(&self, repo: &Repo, natural: &[Oid]) -> Result<Option<Oid>> {
        let Some(first) = natural.first().copied() else {
            return Ok(None);
        };
        let squashed: Vec<Oid> = [&self.squashed[..], &self.squashed_there].concat();
        let given = squashed.first().copied().filter(|_| squashed.len() == 1);
        if !self.has_reverts() {
            return Ok(given);
        }
        let mut base = match given {
            Some(squashed) => squashed,
            None => joined(repo, first, natural)?,
        };
        for reverted in in_order(repo, [&self.reverted[..], &self.reverted_there].concat())? {
            base = without(repo, base, reverted.range)?;
        }
        Ok(Some(base))
    }
}

/// Sorts reverted merges: later ones before those they contain.
fn in_order(repo: &Repo, reverted: Vec<Reverted>) -> Result<Vec<Reverted>> {
    let mut ordered: Vec<Reverted> = Vec::new();
    for merge in reverted {
        let mut at = ordered.len();
        for (place, other) in ordered.iter().enumerate().rev() {
            if is_in(repo, other.range.to, merge.range.to)? {
                at = place;
            }
        }
        ordered.insert(at, merge);
    }
    Ok(ordered)
}

/// Takes the work of a merge off a base that has it.
fn without(repo: &Repo, base: Oid, range: Range) -> Result<Oid> {
    let claim = Claims::default().of(repo, range.to)?;
    let sides = sides(repo, &claim, range)?;
    // A squash has the work without having its commits.
    let mut has_some = is_in(repo, range.to, base)?;
    for side in &sides {
        let all = repo.commits_between(*side, &[range.from], usize::MAX)?.len();
        has_some |= repo.commits_between(*side, &[range.from, base], usize::MAX)?.len() < all;
    }
    if !has_some {
        return Ok(base);
    }
    if let [side] = sides.as_slice()
        && is_in(repo, base, *side)?
        && let [before] = repo.merge_bases(base, range.from)?.as_slice()
    {
        return Ok(*before);
    }
    let tree = repo.tree_of(Some(range.to))?;
    merged(repo, tree, base, repo.tree_of(Some(range.from))?)
}

/// Merges several merge bases into one, as git does.
fn joined(repo: &Repo, first: Oid, natural: &[Oid]) -> Result<Oid> {
    let mut base = first;
    for other in natural.iter().skip(1) {
        let below = repo.merge_bases(base, *other)?.first().copied();
        let tree = repo.tree_of(below)?;
        base = merged(repo, tree, base, repo.tree_of(Some(*other))?)?;
    }
    Ok(base)
}

/// Writes a commit above `ours` with the changes between two trees. Where they conflict, its files have markers: then
/// both sides of a later merge differ from it, and it reports a conflict.
fn merged(repo: &Repo, from: Oid, ours: Oid, to: Oid) -> Result<Oid> {
    let before = repo.read_commit(ours)?;
    let merged = repo.merge_on_trees(from, (before.tree, to), NAMES)?;
    if merged.tree == before.tree {
        return Ok(ours);
    }
    repo.write_commit(NewCommit {
        tree: merged.tree,
        parents: vec![ours],
        signature: &before.committer,
        message: "merge base of git-colony".to_owned(),
    })
}
