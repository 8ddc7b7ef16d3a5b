//! Forks from before history was rewritten for git-lfs: their own commits, and where the others are now.
//!
//! Nothing is rewritten here: the merge of such a fork does that.

use std::collections::HashSet;

use crate::git::{Oid, Repo};
use crate::model::Result;
use crate::store::migration::{self, ObjectMap};

/// The maximum number of commits that are read of a fork.
const MAX_COMMITS: usize = 10_000;

/// The rewrites that are known here.
pub struct OldHistory {
    map: ObjectMap,
    new: HashSet<Oid>,
}

/// The place of a commit from before a rewrite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// It was rewritten, as this commit.
    Rewritten(Oid),
    /// It was made on the old history, and is not rewritten yet.
    OnOld(OwnCommits),
}

/// The commits that a fork has made on the old history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCommits {
    /// Their number.
    pub count: usize,
    /// The commits below them that were rewritten, the newest first; never empty.
    pub bases: Vec<Oid>,
}

/// Returns the place of a commit that is compared with a branch.
pub fn place(repo: &Repo, target: Oid, tip: Oid) -> Result<Option<Place>> {
    OldHistory::load(repo)?.place(repo, target, tip)
}

impl OldHistory {
    /// Reads the rewrites that are known here, and in a clone of ours those that its hub knows.
    pub(super) fn load(repo: &Repo) -> Result<OldHistory> {
        let map = migration::known_here(repo)?;
        let new = map.new_ids().collect();
        Ok(OldHistory { map, new })
    }

    /// Returns the commit that a commit became, if that is here.
    pub(super) fn rewritten(&self, repo: &Repo, commit: Oid) -> Option<Oid> {
        self.map.newest(commit).filter(|new| repo.object_size(*new).is_some())
    }

    /// Returns the place of a commit that is compared with a branch; `None` for one that is not from before a rewrite,
    /// or not older than that branch.
    pub(super) fn place(&self, repo: &Repo, target: Oid, tip: Oid) -> Result<Option<Place>> {
        if self.map.is_empty() || self.map.get(target).is_some() {
            return Ok(None);
        }
        if let Some(new) = self.rewritten(repo, tip) {
            return Ok(Some(Place::Rewritten(new)));
        }
        let (mut open, mut seen) = (vec![tip], HashSet::from([tip]));
        let (mut count, mut bases) = (0, Vec::new());
        while let Some(commit) = open.pop() {
            let read = repo.read_commit(commit)?;
            if self.map.get(commit).is_some() {
                bases.push((read.committer.seconds, commit));
            } else if !self.new.contains(&commit) {
                count += 1;
                open.extend(read.parents.into_iter().filter(|parent| seen.insert(*parent)));
            }
            if count > MAX_COMMITS {
                return Ok(None);
            }
        }
        bases.sort_unstable_by(|base, other| other.cmp(base));
        let bases: Vec<Oid> = bases.into_iter().map(|(_, base)| base).collect();
        Ok((!bases.is_empty()).then_some(Place::OnOld(OwnCommits { count, bases })))
    }
}
