//! Refs of ours whose objects are gone, or that hold no object id: after a `git gc --prune=now` during a
//! command that was killed, or on a damaged disk. git fails on them wherever it reads all refs, until they
//! are deleted too.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::refs::damaged_refs::DamagedRef;
use crate::git::{Oid, RefName, Repo};
use crate::model::Result;

use super::ref_names;

/// A ref of ours whose object is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LostRef {
    /// The full name.
    pub name: RefName,
    /// The id it points to.
    pub id: Oid,
    /// The missing object: this id, the object it tags, or the tree of the commit.
    pub missing: Oid,
}

/// The prefixes of our refs.
const OURS: [&str; 3] = [ref_names::PRIVATE, ref_names::PUBLISHED, ref_names::CHECKPOINT_TAGS];

/// Damaged refs, by owner.
pub struct Damaged {
    /// Those of git-colony.
    pub ours: Vec<DamagedRef>,
    /// All others.
    pub others: Vec<DamagedRef>,
}

/// Finds the loose refs that hold no object id; symbolic refs of others do not count as damaged.
pub fn find_damaged(repo: &Repo) -> Damaged {
    let all = repo.damaged_refs_below("refs/").into_iter();
    let is_ours = |damaged_ref: &DamagedRef| {
        let name = damaged_ref.name.as_bytes();
        OURS.iter().any(|prefix| name.starts_with(prefix.as_bytes()))
    };
    let (ours, mut others): (Vec<_>, Vec<_>) = all.partition(is_ours);
    others.retain(|damaged_ref| !damaged_ref.is_symbolic);
    Damaged { ours, others }
}

/// Finds the refs of ours whose object is gone, sorted by name: checkpoints, operations, records and copies.
///
/// Costs one look-up per ref, and two more for a tag; files and histories are not checked.
pub fn find(repo: &Repo) -> Result<Vec<LostRef>> {
    let is_partial = repo.is_partial();
    let mut lost = Vec::new();
    for prefix in OURS {
        for listed in repo.refs_below(prefix)? {
            if let Some(missing) = missing_of(repo, listed.id, is_partial) {
                lost.push(LostRef { name: listed.name, id: listed.id, missing });
            }
        }
    }
    Ok(lost)
}

/// Follows tags to a commit and its tree; in a partial clone, trees may be at its remote.
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
