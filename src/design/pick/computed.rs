//! Picks on trees: what each commit becomes on the branch, before anything moves.

use std::collections::BTreeMap;

use crate::git::merge_tree::{MergeCase, Merged, Stages};
use crate::git::merge_trees::SideNames;
use crate::git::pick::{Pick, Signed};
use crate::git::{Oid, Repo, Signature};
use crate::model::{RepoPath, Result};
use crate::store::Session;

use super::super::conflicts::{self, Conflict};
use super::wanted::Wanted;

/// A commit that was applied.
#[derive(Clone, Debug)]
pub(super) struct Applied {
    pub(super) from: Wanted,
    /// The tree of the branch with it.
    pub(super) tree: Oid,
}

/// A commit that cannot be applied.
#[derive(Debug)]
pub(super) struct Stuck {
    pub(super) at: Wanted,
    pub(super) rest: Vec<Wanted>,
    pub(super) tree: Oid,
    pub(super) stages: BTreeMap<RepoPath, Stages>,
    pub(super) conflicts: Vec<Conflict>,
}

/// Merges that git does otherwise than gix, by the commit that is picked: git's count.
pub(super) type Overrides = BTreeMap<Oid, Merged>;

/// What the picks come to.
pub(super) struct Computed {
    pub(super) applied: Vec<Applied>,
    /// Commits whose change is there already.
    pub(super) empty: Vec<Wanted>,
    pub(super) stuck: Option<Stuck>,
    /// The tree after the last commit that was applied.
    pub(super) tree: Oid,
}

impl Computed {
    /// Applies commits one after the other on `tree`; new objects go to `repo`.
    pub(super) fn of(
        repo: &Repo,
        tree: Oid,
        wanted: &[Wanted],
        overrides: &Overrides,
    ) -> Result<Computed> {
        let mut computed = Computed {
            applied: Vec::new(),
            empty: Vec::new(),
            stuck: None,
            tree,
        };
        for (at, one) in wanted.iter().enumerate() {
            let by_gix;
            let merged = if let Some(merged) = overrides.get(&one.commit) {
                repo.keep_objects_of(merged)?;
                merged
            } else {
                by_gix = apply(repo, computed.tree, one.commit)?;
                &by_gix
            };
            if !merged.is_clean {
                computed.stuck = Some(Stuck {
                    at: one.clone(),
                    rest: wanted.get(at + 1..).unwrap_or_default().to_vec(),
                    tree: merged.tree,
                    conflicts: conflicts::list(repo, merged),
                    stages: merged.stages.clone(),
                });
                break;
            }
            if merged.tree == computed.tree {
                computed.empty.push(one.clone());
                continue;
            }
            computed.tree = merged.tree;
            computed.applied.push(Applied {
                from: one.clone(),
                tree: merged.tree,
            });
        }
        Ok(computed)
    }
}

fn apply(repo: &Repo, tree: Oid, picked: Oid) -> Result<Merged> {
    let commit = repo.read_commit(picked)?;
    let base = repo.tree_of(commit.parents.first().copied())?;
    let theirs = picked.short();
    let names = SideNames {
        base: "parent of the picked commit",
        ours: "HEAD",
        theirs: &theirs,
    };
    repo.merge_on_trees(base, (tree, commit.tree), names)
}

/// Asks git to apply the same commits; what it does otherwise goes to `overrides`. Returns whether git
/// agrees.
pub(super) fn agrees(
    session: &Session,
    tip: Oid,
    written: &[(Wanted, Oid)],
    overrides: &mut Overrides,
) -> Result<bool> {
    let repo = &session.repo;
    let mut ours = tip;
    let mut cases = Vec::new();
    for (from, new) in written {
        let parents = repo.read_commit(from.commit)?.parents;
        if let Some(base) = parents.first().copied() {
            cases.push(MergeCase {
                base,
                ours,
                theirs: from.commit,
                expected: repo.read_commit(*new)?.tree,
            });
        }
        ours = *new;
    }
    let world = &session.world;
    let Some(at) = repo.first_disagreement(world, &cases)? else {
        return Ok(true);
    };
    if let Some(case) = cases.get(at) {
        let merged = repo.merge_from(world, case.base, (case.ours, case.theirs))?;
        overrides.insert(case.theirs, merged);
    }
    Ok(false)
}

/// Writes the commits of what was applied, one on the other; returns each with the new one.
pub(super) fn write(
    session: &Session,
    tip: Oid,
    applied: &[Applied],
    committer: &Signature,
) -> Result<Vec<(Wanted, Oid)>> {
    let repo = &session.repo;
    let signed = if repo.keeps_objects() && repo.signs_commits()? {
        Signed::Yes
    } else {
        Signed::No
    };
    let mut parent = tip;
    let mut written = Vec::new();
    for one in applied {
        let pick = Pick {
            original: one.from.commit,
            tree: one.tree,
            parent,
            committer,
        };
        parent = repo.write_pick(&session.world, &pick, signed)?;
        written.push((one.from.clone(), parent));
    }
    Ok(written)
}
