//! Which records are over: of content that this branch had, and that no branch has any more.
//!
//! Clones share the records, and each has branches of its own: a record stays as long as a branch that is known here
//! has its content at its path, and where it was made on another branch than this one.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::git::{Oid, Repo};
use crate::knowledge::stored::record::SourceRecord;
use crate::model::Result;
use crate::store::migration;
use crate::store::refs::ref_names;

/// Decides about records, at the commit of a branch.
pub(super) struct Retirement<'a> {
    repo: &'a Repo,
    commit: Oid,
    /// The trees of all branches that are known here.
    trees: OnceCell<BTreeSet<Oid>>,
    /// Whether this branch has a commit in its history.
    has: BTreeMap<Oid, bool>,
}

impl<'a> Retirement<'a> {
    pub(super) fn new(repo: &'a Repo, commit: Oid) -> Result<Retirement<'a>> {
        // Of a commit that is not here nothing can be retired.
        repo.read_commit(commit)?;
        Ok(Retirement { repo, commit, trees: OnceCell::new(), has: BTreeMap::new() })
    }

    /// Returns `true` if a record can be deleted.
    pub(super) fn is_over(&mut self, record: &SourceRecord) -> Result<bool> {
        if !self.is_of_this_branch(record.commit)? {
            return Ok(false);
        }
        self.is_unused(record)
    }

    /// Returns `true` if no branch that is known here has the content of a record at its path.
    pub(super) fn is_unused(&self, record: &SourceRecord) -> Result<bool> {
        for tree in self.trees()? {
            let entry = self.repo.leaf_in(*tree, &record.path)?;
            if entry.is_some_and(|entry| entry.id == record.blob) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_of_this_branch(&mut self, commit: Oid) -> Result<bool> {
        if let Some(known) = self.has.get(&commit) {
            return Ok(*known);
        }
        // History may have been rewritten since.
        let now = migration::resolve(self.repo, &commit.to_string());
        let has = match now {
            Ok(now) => {
                now == self.commit || self.repo.merge_bases(now, self.commit)?.contains(&now)
            }
            Err(_) => false,
        };
        self.has.insert(commit, has);
        Ok(has)
    }

    fn trees(&self) -> Result<&BTreeSet<Oid>> {
        if let Some(trees) = self.trees.get() {
            return Ok(trees);
        }
        let places = ["refs/heads/", "refs/remotes/", ref_names::AGENTS, ref_names::DESKS];
        let mut trees = BTreeSet::from([self.repo.tree_of(Some(self.commit))?]);
        for place in places {
            for reference in self.repo.refs_below(place)? {
                if let Some(commit) = self.repo.peel_to_commit(reference.id) {
                    trees.insert(self.repo.tree_of(Some(commit))?);
                }
            }
        }
        // A worktree with a detached HEAD has no branch. A commit that is gone has no content.
        for commit in self.repo.detached_heads_of_others() {
            if let Some(commit) = self.repo.peel_to_commit(commit) {
                trees.insert(self.repo.tree_of(Some(commit))?);
            }
        }
        Ok(self.trees.get_or_init(|| trees))
    }
}
