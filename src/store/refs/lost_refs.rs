//! Refs of ours whose objects are gone, or that hold no object id: a `git gc --prune=now` beside a command that
//! was killed, a damaged disk. git fails on them wherever it reads all refs, until they are gone too.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::refs::damaged_refs::DamagedRef;
use crate::git::{Oid, RefName, Repo};
use crate::model::Result;

use super::ref_names;

/// A ref of ours that holds nothing any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LostRef {
    /// The full name.
    pub name: RefName,
    /// What it points to.
    pub id: Oid,
    /// The object that is gone: that one, what it tags, or the tree of the commit.
    pub missing: Oid,
}

/// Where refs of ours are.
const OURS: [&str; 3] = [
    ref_names::PRIVATE,
    ref_names::PUBLISHED,
    ref_names::CHECKPOINT_TAGS,
];

/// Damaged refs, by who made them.
pub struct Damaged {
    /// Those of git-colony.
    pub ours: Vec<DamagedRef>,
    /// All others.
    pub others: Vec<DamagedRef>,
}

/// Finds the loose refs that hold no object id; of others' symbolic refs none is damaged.
pub fn find_damaged(repo: &Repo) -> Damaged {
    let all = repo.damaged_refs_below("refs/").into_iter();
    let is_ours = |found: &DamagedRef| {
        let name = found.name.as_bytes();
        OURS.iter()
            .any(|prefix| name.starts_with(prefix.as_bytes()))
    };
    let (ours, mut others): (Vec<_>, Vec<_>) = all.partition(is_ours);
    others.retain(|found| !found.is_symbolic);
    Damaged { ours, others }
}

/// Finds the refs of ours whose object is gone, sorted by name: checkpoints, operations, records and copies.
///
/// Costs one look-up per ref, and two more for a tag; files and histories are not looked at.
///
/// # Errors
/// `repository-broken` when refs cannot be listed.
pub fn find(repo: &Repo) -> Result<Vec<LostRef>> {
    let is_partial = repo.is_partial();
    let mut lost = Vec::new();
    for prefix in OURS {
        for found in repo.refs_below(prefix)? {
            if let Some(missing) = missing_of(repo, found.id, is_partial) {
                lost.push(LostRef {
                    name: found.name,
                    id: found.id,
                    missing,
                });
            }
        }
    }
    Ok(lost)
}

/// Follows tags to a commit and its tree; trees of a partial clone may be with its remote.
fn missing_of(repo: &Repo, tip: Oid, is_partial: bool) -> Option<Oid> {
    let mut id = tip;
    while let Some(tag) = repo.find_tag(id) {
        id = tag.target;
    }
    if repo.is_gone(id) {
        return Some(id);
    }
    let tree = repo.read_commit(id).ok().filter(|_| !is_partial)?.tree;
    repo.is_gone(tree).then_some(tree)
}
