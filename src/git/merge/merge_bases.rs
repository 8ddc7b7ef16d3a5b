//! Merge bases, and whether a merge is bounded: a merge walks every path in which a side differs
//! from the base, so these are counted before (`tree_weight`).

use crate::git::{Oid, Repo};
use crate::model::{Code, Result, ResultExt as _};

use super::merge_tree::MergeCase;

/// The maximum number of criss-cross merges to follow: git merges the older ones, too.
const MAX_CROSSINGS: usize = 16;

impl Repo {
    /// Lists the best common ancestors of two commits; none for unrelated histories.
    pub fn merge_bases(&self, commit: Oid, other: Oid) -> Result<Vec<Oid>> {
        let bases = self
            .inner
            .merge_bases_many(commit.0, &[other.0])
            .or_code(Code::ObjectMissing, || "cannot find the common ancestor")?;
        Ok(bases.into_iter().map(|id| id.detach().into()).collect())
    }

    /// Lists the best common ancestors of each of many pairs; reads each commit once.
    pub fn merge_bases_of(&self, pairs: &[(Oid, Oid)]) -> Result<Vec<Vec<Oid>>> {
        let cannot = || "cannot find a common ancestor";
        let cache = self.inner.commit_graph_if_enabled().or_code(Code::RepositoryBroken, cannot)?;
        let mut graph = self.inner.revision_graph(cache.as_ref());
        let mut bases_of = |(commit, other): &(Oid, Oid)| {
            let bases = self
                .inner
                .merge_bases_many_with_graph(commit.0, &[other.0], &mut graph)
                .or_code(Code::ObjectMissing, cannot)?;
            Ok(bases.into_iter().map(|id| id.detach().into()).collect())
        };
        pairs.iter().map(&mut bases_of).collect()
    }

    /// Returns `true` if the history is shallow.
    pub fn is_shallow(&self) -> bool {
        self.inner.is_shallow().unwrap_or(false)
    }

    /// Refuses to merge two commits whose changes since their merge bases exceed the limits.
    pub fn require_mergeable(&self, ours: Oid, theirs: Oid) -> Result<()> {
        let mut crossing = (ours, theirs);
        for _ in 0..MAX_CROSSINGS {
            let bases = self.merge_bases(crossing.0, crossing.1)?;
            for base in &bases {
                self.require_mergeable_from(*base, crossing)?;
            }
            // git merges several bases into one.
            let [first, second, ..] = bases.as_slice() else {
                break;
            };
            crossing = (*first, *second);
        }
        Ok(())
    }

    /// Refuses to merge two commits whose changes since a third exceed the limits.
    pub fn require_mergeable_from(&self, base: Oid, (ours, theirs): (Oid, Oid)) -> Result<()> {
        let tree = |commit| self.tree_of(Some(commit));
        self.require_mergeable_trees(tree(base)?, (tree(ours)?, tree(theirs)?))
    }

    /// Refuses to merge trees whose changes since a third exceed the limits.
    pub(in crate::git) fn require_mergeable_trees(
        &self,
        base: Oid,
        (ours, theirs): (Oid, Oid),
    ) -> Result<()> {
        self.require_comparable(base, ours)?;
        self.require_comparable(base, theirs)
    }

    /// Refuses the cases if one of them cannot be compared.
    pub(in crate::git) fn require_cases(&self, cases: &[MergeCase]) -> Result<()> {
        let mut cases = cases.iter();
        cases.try_for_each(|case| self.require_mergeable_from(case.base, (case.ours, case.theirs)))
    }
}
