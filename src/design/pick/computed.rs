//! Computes picks on trees: the result of each commit on the branch, before anything moves.

use std::collections::BTreeMap;

use crate::design::merge::conflicts::{self, Conflict};
use crate::git::merge::gix_merge::SideNames;
use crate::git::merge::marker_labels::Label;
use crate::git::merge::merge_tree::{MergeCase, Merged, Stages};
use crate::git::merge::trivial_merge::{CertainMerge, CertainMerges};
use crate::git::object::picked_commit::{Pick, Signed};
use crate::git::{Oid, Repo, Signature};
use crate::model::{RepoPath, Result, World};
use crate::store::Session;

use super::pick_list::WantedCommit;

/// A commit that was applied.
#[derive(Clone, Debug)]
pub(super) struct Applied {
    pub(super) from: WantedCommit,
    /// The tree of the branch after it.
    pub(super) tree: Oid,
    /// Whether the result is certain, so that git need not be asked.
    pub(super) is_certain: bool,
}

/// A commit that cannot be applied.
#[derive(Debug)]
pub(super) struct Stuck {
    pub(super) at: WantedCommit,
    pub(super) rest: Vec<WantedCommit>,
    pub(super) tree: Oid,
    pub(super) stages: BTreeMap<RepoPath, Stages>,
    pub(super) conflicts: Vec<Conflict>,
}

/// Merges that git does differently from gix, by the picked commit: git's result counts.
pub(super) type Overrides = BTreeMap<Oid, Merged>;

/// The result of the picks.
pub(super) struct Computed {
    pub(super) applied: Vec<Applied>,
    /// Commits whose change the branch already has.
    pub(super) empty: Vec<WantedCommit>,
    pub(super) stuck: Option<Stuck>,
    /// The tree after the last commit that was applied.
    pub(super) tree: Oid,
}

impl Computed {
    /// Applies commits one after the other on `tree`; new objects go to `repo`.
    pub(super) fn of(
        world: &World,
        repo: &Repo,
        tree: Oid,
        wanted: &[WantedCommit],
        overrides: &Overrides,
    ) -> Result<Computed> {
        let mut computed = Computed { applied: Vec::new(), empty: Vec::new(), stuck: None, tree };
        let mut certain = repo.certain_merges(world);
        for (at, pick) in wanted.iter().enumerate() {
            let (by_us, is_certain);
            let merged = if let Some(merged) = overrides.get(&pick.commit) {
                repo.keep_objects_of(merged)?;
                is_certain = false;
                merged
            } else {
                (by_us, is_certain) = apply(repo, &mut certain, computed.tree, pick.commit)?;
                &by_us
            };
            if !merged.is_clean {
                computed.stuck = Some(Stuck {
                    at: pick.clone(),
                    rest: wanted.get(at + 1..).expect("it is one of these").to_vec(),
                    tree: labeled(repo, pick.commit, merged)?,
                    conflicts: conflicts::list(repo, &merged.stages, &merged.notes),
                    stages: merged.stages.clone(),
                });
                break;
            }
            if merged.tree == computed.tree {
                computed.empty.push(pick.clone());
                continue;
            }
            computed.tree = merged.tree;
            computed.applied.push(Applied { from: pick.clone(), tree: merged.tree, is_certain });
        }
        Ok(computed)
    }
}

/// Applies a commit; returns whether the result is certain. Then git need not be asked.
fn apply(
    repo: &Repo,
    certain: &mut CertainMerges<'_>,
    tree: Oid,
    picked: Oid,
) -> Result<(Merged, bool)> {
    let commit = repo.read_commit(picked)?;
    let base = repo.tree_of(commit.parents.first().copied())?;
    let known = certain.trees(base, (tree, commit.tree));
    if let Some(known) = known.filter(CertainMerge::is_clean) {
        return Ok((known.write(repo, tree)?, true));
    }
    let theirs = repo.name_for_markers(picked)?;
    let parent = format!("parent of {theirs}");
    let names = SideNames { base: &parent, ours: "HEAD", theirs: &theirs };
    Ok((repo.merge_on_trees(base, (tree, commit.tree), names)?, false))
}

/// Labels the sides in conflict markers as git does in a pick.
fn labeled(repo: &Repo, picked: Oid, merged: &Merged) -> Result<Oid> {
    let theirs = repo.name_for_markers(picked)?;
    let parent = repo.read_commit(picked)?.parents.first().copied();
    let mut labels: Vec<_> = parent
        .into_iter()
        .map(|commit| Label { commit, name: format!("parent of {theirs}") })
        .collect();
    labels.push(Label { commit: picked, name: theirs });
    labels.extend(merged.ours.map(|commit| Label { commit, name: "HEAD".to_owned() }));
    repo.label_markers(merged.tree, &merged.stages, &labels)
}

/// Applied commits as written for a trial.
struct Trial<'a> {
    computed: &'a Computed,
    /// The last of the applied commits, each with the one written for it.
    written: &'a [(WantedCommit, Oid)],
    /// The commit below the first of them.
    tip: Oid,
}

/// Asks git to apply the same commits: the applied ones, written to `repo` for a trial, without the
/// certain ones, and the one that failed. Results that differ go to `overrides`. Returns `true` if
/// git agrees.
fn agrees(
    world: &World,
    repo: &Repo,
    trial: &Trial<'_>,
    overrides: &mut Overrides,
) -> Result<bool> {
    let Trial { computed, written, .. } = trial;
    let mut ours = trial.tip;
    let mut cases = Vec::new();
    let applied = computed.applied.iter().rev().take(written.len()).rev();
    for ((from, new), applied) in written.iter().zip(applied) {
        let parents = repo.read_commit(from.commit)?.parents;
        let base = parents.first().copied();
        if let Some(base) = base.filter(|_| !applied.is_certain) {
            cases.push(MergeCase {
                base,
                ours,
                theirs: from.commit,
                expected: repo.read_commit(*new)?.tree,
            });
        }
        ours = *new;
    }
    let disagrees = repo.first_disagreement(world, &cases)?;
    let mut open = disagrees.and_then(|at| cases.get(at).copied());
    if let (None, Some(stuck)) = (open, &computed.stuck) {
        let theirs = stuck.at.commit;
        let base = repo.read_commit(theirs)?.parents.first().copied();
        open = base.map(|base| MergeCase { base, ours, theirs, expected: stuck.tree });
    }
    let Some(case) = open.filter(|case| !overrides.contains_key(&case.theirs)) else {
        return Ok(true);
    };
    let merged = repo.merge_from(world, case.base, (case.ours, case.theirs))?;
    drop(overrides.insert(case.theirs, merged));
    Ok(false)
}

/// In whose name commits are written.
#[derive(Clone, Copy)]
pub(super) struct Committing<'a> {
    pub(super) committer: &'a Signature,
    pub(super) trailer: Option<&'a str>,
    pub(super) signed: Signed,
}

/// Writes the applied commits, one on the other; returns each with its new commit.
pub(super) fn write(
    world: &World,
    repo: &Repo,
    tip: Oid,
    applied: &[Applied],
    by: Committing<'_>,
) -> Result<Vec<(WantedCommit, Oid)>> {
    let mut parent = tip;
    let mut written = Vec::new();
    for applied_commit in applied {
        let pick = Pick {
            original: applied_commit.from.commit,
            tree: applied_commit.tree,
            parent,
            committer: by.committer,
            trailer: by.trailer,
        };
        parent = repo.write_pick(world, &pick, by.signed)?;
        written.push((applied_commit.from.clone(), parent));
    }
    Ok(written)
}

/// A pick that git agrees with, and the new commits. They are in memory until they are kept.
pub(super) struct Agreed {
    pub(super) computed: Computed,
    scratch: Repo,
    trial: Vec<(WantedCommit, Oid)>,
    tip: Oid,
    committer: Signature,
    /// The trailer of the session.
    trailer: Option<String>,
}

/// Fetches what the commits and their parents have and the branch lacks.
fn fetch_promised(session: &Session, tip: Oid, wanted: &[WantedCommit]) -> Result<()> {
    let repo = &session.repo;
    let mut needed = Vec::new();
    for WantedCommit { commit, .. } in wanted {
        needed.push(*commit);
        needed.extend(repo.read_commit(*commit)?.parents);
    }
    repo.fetch_promised(&session.world, &needed, &[tip])
}

impl Agreed {
    /// Applies commits on `tree`, the files of a branch at `tip`, until git agrees with each.
    pub(super) fn of(
        session: &Session,
        tip: Oid,
        tree: Oid,
        before: &[Applied],
        wanted: &[WantedCommit],
    ) -> Result<Agreed> {
        fetch_promised(session, tip, wanted)?;
        let committer = session.signatures()?.committer;
        let trailer = session.session_trailer();
        let mut overrides = Overrides::new();
        loop {
            let scratch = session.repo.in_memory()?;
            let world = &session.world;
            let mut computed = Computed::of(world, &scratch, tree, wanted, &overrides)?;
            computed.applied.splice(0..0, before.iter().cloned());
            let unsigned = Committing {
                committer: &committer,
                trailer: trailer.as_deref(),
                signed: Signed::No,
            };
            let trial = write(world, &scratch, tip, &computed.applied, unsigned)?;
            // git does not check the commits that a person settled.
            let own = trial.get(before.len()..).expect("the earlier ones come first");
            let from = before.len().checked_sub(1).and_then(|at| trial.get(at));
            let settled =
                Trial { computed: &computed, written: own, tip: from.map_or(tip, |(_, new)| *new) };
            if agrees(world, &scratch, &settled, &mut overrides)? {
                return Ok(Agreed { computed, scratch, trial, tip, committer, trailer });
            }
        }
    }

    /// Keeps the objects, and returns each commit with the new one, signed if git is configured to.
    pub(super) fn keep(self, session: &Session) -> Result<(Computed, Vec<(WantedCommit, Oid)>)> {
        let repo = &session.repo;
        repo.keep_objects_from(self.scratch)?;
        if !(repo.keeps_objects() && repo.signs_commits()?) {
            return Ok((self.computed, self.trial));
        }
        let signed = Committing {
            committer: &self.committer,
            trailer: self.trailer.as_deref(),
            signed: Signed::Yes,
        };
        let applied = &self.computed.applied;
        let written = write(&session.world, repo, self.tip, applied, signed)?;
        Ok((self.computed, written))
    }
}
