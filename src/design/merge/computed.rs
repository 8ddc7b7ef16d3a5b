//! A merge on trees: what it comes to before anything moves.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::git::Oid;
use crate::git::merge_tree::{MergeSide, Stages};
use crate::git::object::NewCommit;
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;

use super::super::conflicts;
use super::super::decisions::{self, DecisionRef};
use super::super::forks::Outcome;
use super::super::settle::{Settled, Settling};
use super::super::worktree::write_commit;
use super::sides::Sides;
use super::{MergeReport, Request};

/// The merge on trees.
pub(super) struct Computed {
    pub(super) tree: Oid,
    /// The commit, where the branch only has to move.
    pub(super) commit: Option<Oid>,
    pub(super) stages: BTreeMap<RepoPath, Stages>,
    pub(super) message: String,
    pub(super) report: MergeReport,
}

impl Computed {
    pub(super) fn of(session: &Session, request: &Request, sides: &Sides) -> Result<Computed> {
        let repo = &session.repo;
        let (ours, theirs) = (sides.goal.tip, sides.source.commit);
        let bases = repo.merge_bases(ours, theirs)?;
        let Some(first) = bases.first().copied() else {
            return Err(no_base(session, sides));
        };
        let outcome = if first == theirs {
            Outcome::UpToDate
        } else if first == ours && !makes_commit(session, request) {
            Outcome::FastForward
        } else {
            Outcome::Merged
        };
        let mut computed = Computed {
            tree: repo.tree_of(Some(theirs))?,
            commit: (outcome == Outcome::FastForward).then_some(theirs),
            stages: BTreeMap::new(),
            message: String::new(),
            report: report_of(sides, outcome, bases),
        };
        if outcome == Outcome::UpToDate {
            return Ok(computed);
        }
        let coming = repo.commits_between(theirs, &[ours], 10_000)?;
        computed.report.decisions = decisions_of(session, &coming)?;
        computed.message = message(session, request, sides, &coming)?;
        if outcome == Outcome::Merged && first != ours {
            let settled = merge_trees(session, request, sides)?;
            computed.tree = settled.tree;
            computed.stages = settled.stages;
            computed.report.settled = settled.paths;
            if !settled.open.is_empty() {
                computed.report.outcome = Outcome::Conflicted;
                computed.report.conflicts = settled.open;
            }
        }
        let before = repo.tree_of(Some(ours))?;
        computed.report.files_changed = repo.diff_trees(before, computed.tree)?.len();
        Ok(computed)
    }

    pub(super) fn is_nothing_to_do(&self, request: &Request) -> bool {
        match self.report.outcome {
            Outcome::UpToDate => true,
            Outcome::Conflicted => !request.resolve,
            _ => false,
        }
    }
}

fn report_of(sides: &Sides, outcome: Outcome, bases: Vec<Oid>) -> MergeReport {
    MergeReport {
        outcome,
        source: sides.source.name.clone(),
        into: sides.target_name(),
        commit: None,
        bases,
        files_changed: 0,
        conflicts: Vec::new(),
        settled: Vec::new(),
        decisions: Vec::new(),
        resolving: false,
        ignored_kept: Vec::new(),
        kept_late: Vec::new(),
        op: None,
        dry_run: false,
    }
}

/// Tells whether a commit is made even where the branch only had to move.
fn makes_commit(session: &Session, request: &Request) -> bool {
    let configured = session.repo.config("merge.ff");
    if configured.as_deref() == Some("only") && !request.squash {
        // Whoever set that wants no merge commit; where one is needed the merge itself refuses.
        return false;
    }
    let never = session.repo.config_bool("merge.ff") == Some(false);
    request.squash || request.message.is_some() || never
}

fn no_base(session: &Session, sides: &Sides) -> Error {
    let (source, into) = (&sides.source.name, sides.target_name());
    if session.repo.is_shallow() {
        return Error::new(
            Code::ShallowNoBase,
            format!(
                "this history is cut off before '{source}' and '{into}' meet; nothing was done"
            ),
        )
        .hint("git fetch --unshallow   # then run it again");
    }
    Error::new(
        Code::UnrelatedHistories,
        format!("'{source}' and '{into}' have no common ancestor; nothing was done"),
    )
    .hint("git merge --allow-unrelated-histories SOURCE   # if that is what is wanted")
}

/// Merges the trees, settles what was chosen, and keeps the objects if anything comes of it.
fn merge_trees(session: &Session, request: &Request, sides: &Sides) -> Result<Settled> {
    let repo = &session.repo;
    let side = |commit, name: &str| MergeSide {
        commit,
        name: name.to_owned(),
    };
    let ours = side(sides.goal.tip, &sides.target_name());
    let theirs = side(sides.source.commit, &sides.source.name);
    let merged = repo.merge_commits(&session.world, &ours, &theirs)?;
    let open = conflicts::list(repo, &merged);
    let comes_of_it = merged.is_clean || !request.choices.is_empty() || request.resolve;
    if !comes_of_it {
        return Ok(Settled {
            tree: repo.tree_of(Some(sides.goal.tip))?,
            open,
            stages: merged.stages,
            paths: Vec::new(),
        });
    }
    repo.keep_objects_of(&merged)?;
    let settling = Settling {
        session,
        ours: repo.tree_of(Some(sides.goal.tip))?,
        theirs: repo.tree_of(Some(sides.source.commit))?,
        name: &sides.source.name,
    };
    let settled = settling.settle(&merged, &request.choices)?;
    settling.choose_pointers(settled)
}

/// Lists the decisions that commits carry, oldest first, each with its newest commit.
fn decisions_of(session: &Session, commits: &[Oid]) -> Result<Vec<DecisionRef>> {
    let oldest_first: Vec<_> = commits.iter().rev().copied().collect();
    let mut found: Vec<DecisionRef> = Vec::new();
    for brought in decisions::of_commits(session, &oldest_first)? {
        found.retain(|known| known.decision_id != brought.decision_id);
        found.push(brought);
    }
    Ok(found)
}

fn message(session: &Session, request: &Request, sides: &Sides, coming: &[Oid]) -> Result<String> {
    let given = request.message.clone();
    if !request.squash {
        return Ok(given.unwrap_or_else(|| sides.message()));
    }
    let repo = &session.repo;
    let mut text = match given {
        Some(given) => given.trim_end().to_owned(),
        None => format!("Squash '{}'\n", sides.source.name),
    };
    if request.message.is_none() {
        for commit in coming.iter().rev().take(100) {
            let subject = repo.read_commit(*commit)?.subject;
            // Writing to a string cannot fail.
            write!(text, "\n* {subject}").ok();
        }
    }
    text.push_str("\n\n");
    for brought in decisions_of(session, coming)? {
        writeln!(text, "Colony-Decision: {}", brought.decision_id).ok();
    }
    writeln!(text, "Colony-Squashed: {}", sides.source.commit).ok();
    Ok(text)
}

pub(super) fn write_merge(
    session: &Session,
    request: &Request,
    sides: &Sides,
    tree: Oid,
    message: &str,
) -> Result<Oid> {
    let signature = session.identity()?.at(&session.world);
    let mut parents = vec![sides.goal.tip];
    if !request.squash {
        parents.push(sides.source.commit);
    }
    let commit = NewCommit {
        tree,
        parents,
        signature: &signature,
        message: message.to_owned(),
    };
    write_commit(session, commit)
}
