//! Computes a merge on trees, before anything moves.

use std::collections::BTreeMap;

use crate::design::decision::decisions::{self, DecisionRef};
use crate::design::fork::claims::Claims;
use crate::design::fork::forks::MergeOutcome;
use crate::design::fork::shared_work::SharedWork;
use crate::design::merge::conflicts;
use crate::design::merge::settle::{self, Settled, Settling};
use crate::design::worktree::write_commit;
use crate::git::Oid;
use crate::git::compare::tree_diff::TreeChange;
use crate::git::merge::merge_tree::{MergeSide, Merged, Stages};
use crate::git::merge::trivial_merge::CertainMerge;
use crate::git::object::NewCommit;
use crate::model::{Code, Error, RepoPath, Result, text};
use crate::store::{Session, migration};

use super::sides::Sides;
use super::{MergeReport, Request, message};

/// The merge on trees.
pub(super) struct Computed {
    pub(super) tree: Oid,
    /// The commit, if the branch is fast-forwarded.
    pub(super) commit: Option<Oid>,
    pub(super) stages: BTreeMap<RepoPath, Stages>,
    pub(super) message: String,
    pub(super) report: MergeReport,
    /// Whether trees have to be merged, and the result if it is certain.
    merges: bool,
    /// The base that squashes and reverts give in place of those of the parents.
    given: Option<Oid>,
    certain: Option<CertainMerge>,
}

impl Computed {
    pub(super) fn of(session: &Session, request: &Request, sides: &Sides) -> Result<Computed> {
        let mut computed = Computed::begin(session, request, sides)?;
        computed.finish(session, request, sides)?;
        Ok(computed)
    }

    /// Finds the outcome of the merge and its commits, without the files.
    pub(super) fn begin(session: &Session, request: &Request, sides: &Sides) -> Result<Computed> {
        let repo = &session.repo;
        let (ours, theirs) = (sides.target.tip, sides.source.commit);
        let mut bases = repo.merge_bases(ours, theirs)?;
        let (our_line, their_line) = sides.lines(session);
        let shared = SharedWork::of(&mut Claims::default(), repo, &our_line, &their_line)?;
        shared.fetch(&session.world, repo, ours)?;
        let given = shared.base(repo, &bases)?;
        if let Some(base) = given {
            bases = vec![base];
        }
        let Some(first) = bases.first().copied() else {
            return Err(no_base(session, sides));
        };
        repo.fetch_promised(&session.world, &[&[theirs][..], &bases].concat(), &[ours])?;
        let outcome = if first == theirs {
            MergeOutcome::UpToDate
        } else if first == ours && given.is_none() && !makes_commit(session, request) {
            MergeOutcome::FastForward
        } else {
            MergeOutcome::Merged
        };
        let mut computed = Computed {
            tree: repo.tree_of(Some(theirs))?,
            commit: (outcome == MergeOutcome::FastForward).then_some(theirs),
            stages: BTreeMap::new(),
            message: String::new(),
            report: report_of(sides, outcome, bases),
            merges: outcome == MergeOutcome::Merged && first != ours,
            given,
            certain: None,
        };
        if outcome == MergeOutcome::UpToDate {
            return Ok(computed);
        }
        if outcome == MergeOutcome::Merged && wants_no_merge_commit(session, request) {
            return Err(no_fast_forward(sides));
        }
        let coming = shared.ahead(repo, (ours, theirs), 10_000)?;
        computed.report.decisions = decisions_of(session, &coming)?;
        let decisions = &computed.report.decisions;
        computed.message = message::of_merge(session, request, sides, &coming, decisions)?;
        message::add_restored(&mut computed.message, &shared);
        if computed.merges {
            let mut merges = repo.certain_merges(&session.world);
            computed.certain = merges.commits(&computed.report.bases, (ours, theirs));
        }
        Ok(computed)
    }

    /// Lists the changes on the branch if they are certain without making a tree; `None` if the
    /// tree is needed.
    pub(super) fn certain_changes(
        &self,
        session: &Session,
        request: &Request,
    ) -> Result<Option<Vec<TreeChange>>> {
        let clean = self
            .certain
            .as_ref()
            .filter(|certain| certain.is_clean())
            .filter(|_| request.choices.is_empty());
        let changes = clean.map(|certain| certain.changes(&session.repo));
        // A squash without changes is not a merge: the tree decides that.
        let tells = |changes: &Vec<TreeChange>| !(request.squash && changes.is_empty());
        Ok(changes.transpose()?.filter(tells))
    }

    /// Makes the tree, or finds the conflicts.
    pub(super) fn finish(
        &mut self,
        session: &Session,
        request: &Request,
        sides: &Sides,
    ) -> Result<()> {
        if !self.merges {
            settle::refuse_choices(&request.choices)?;
        }
        if self.report.outcome == MergeOutcome::UpToDate {
            return Ok(());
        }
        if self.merges {
            let settled = merge_trees(session, request, sides, self.given, self.certain.take())?;
            self.tree = settled.tree;
            self.stages = settled.stages;
            self.report.settled = settled.paths;
            if !settled.open.is_empty() {
                self.report.outcome = MergeOutcome::Conflicted;
                self.report.conflicts = settled.open;
            }
        }
        let before = session.repo.tree_of(Some(sides.target.tip))?;
        self.report.files_changed = session.repo.diff_trees(before, self.tree)?.len();
        if request.squash && self.report.outcome == MergeOutcome::Merged && self.tree == before {
            // It was squashed already, or changes nothing: an empty commit would be useless.
            self.report.outcome = MergeOutcome::UpToDate;
        }
        Ok(())
    }

    pub(super) fn is_nothing_to_do(&self, request: &Request) -> bool {
        match self.report.outcome {
            MergeOutcome::UpToDate => true,
            MergeOutcome::Conflicted => !request.resolve,
            _ => false,
        }
    }
}

fn report_of(sides: &Sides, outcome: MergeOutcome, bases: Vec<Oid>) -> MergeReport {
    MergeReport {
        outcome,
        source: sides.source.name.clone(),
        into: sides.target_name(),
        bases,
        is_here: sides.target.is_here,
        checked_out: sides.target.checked_out.clone(),
        ..MergeReport::default()
    }
}

/// Returns `true` if a commit is made even where a fast-forward would do.
fn makes_commit(session: &Session, request: &Request) -> bool {
    if wants_no_merge_commit(session, request) {
        return false;
    }
    let never = session.repo.config_bool("merge.ff") == Some(false);
    request.squash || request.message.is_some() || never
}

/// Returns `true` if `merge.ff` forbids a merge commit; a squash does not make one.
fn wants_no_merge_commit(session: &Session, request: &Request) -> bool {
    session.repo.config("merge.ff").as_deref() == Some("only") && !request.squash
}

fn no_fast_forward(sides: &Sides) -> Error {
    let (source, into) = (&sides.source.name, sides.target_name());
    Error::new(
        Code::Diverged,
        format!("'{into}' cannot be fast-forwarded to '{source}', and merge.ff is 'only'"),
    )
    .hint(
        "git -c merge.ff=true colony merge SOURCE   # or --squash"
            .replace("SOURCE", &text::shell_word(source)),
    )
}

fn no_base(session: &Session, sides: &Sides) -> Error {
    let (source, into) = (&sides.source.name, sides.target_name());
    if session.repo.is_shallow() {
        return Error::new(
            Code::ShallowNoBase,
            format!("'{source}' and '{into}' have no merge base in this shallow history"),
        );
    }
    let unrelated = Error::new(
        Code::UnrelatedHistories,
        format!("'{source}' and '{into}' have no common ancestor"),
    )
    .hint("git log --oneline --max-parents=0 --all   # lists where histories begin");
    migration::explain(&session.repo, unrelated)
}

/// Merges the trees, settles the chosen conflicts, and keeps the objects if the merge has a result.
fn merge_trees(
    session: &Session,
    request: &Request,
    sides: &Sides,
    given: Option<Oid>,
    certain: Option<CertainMerge>,
) -> Result<Settled> {
    let repo = &session.repo;
    let (ours, theirs) = (sides.target.tip, sides.source.commit);
    let our_tree = repo.tree_of(Some(ours))?;
    let undecided =
        |conflicts, stages| Settled { tree: our_tree, open: conflicts, stages, paths: Vec::new() };
    let settles = !request.choices.is_empty() || request.resolve;
    let merged = match certain {
        Some(certain) if certain.is_clean() => certain.write(repo, our_tree)?,
        Some(certain) if !settles => {
            let open = conflicts::list(repo, &certain.stages, &certain.notes());
            return Ok(undecided(open, certain.stages));
        }
        // Only git writes the conflict markers into the files.
        _ => merge_by_git(session, sides, given)?,
    };
    if !(merged.is_clean || settles) {
        let open = conflicts::list(repo, &merged.stages, &merged.notes);
        return Ok(undecided(open, merged.stages));
    }
    repo.keep_objects_of(&merged)?;
    let settling = Settling {
        session,
        ours: our_tree,
        theirs: repo.tree_of(Some(theirs))?,
        name: &sides.source.name,
    };
    let settled = settling.settle(&merged, &request.choices)?;
    settling.choose_pointers(settled)
}

fn merge_by_git(session: &Session, sides: &Sides, given: Option<Oid>) -> Result<Merged> {
    if let Some(base) = given {
        let commits = (sides.target.tip, sides.source.commit);
        return session.repo.merge_from(&session.world, base, commits);
    }
    let side = |commit, name: &str| MergeSide { commit, name: name.to_owned() };
    let ours = side(sides.target.tip, &sides.target_name());
    let theirs = side(sides.source.commit, &sides.source.name);
    session.repo.merge_commits(&session.world, &ours, &theirs)
}

/// Lists the decisions that commits carry, oldest first, each with its newest commit.
fn decisions_of(session: &Session, commits: &[Oid]) -> Result<Vec<DecisionRef>> {
    let oldest_first: Vec<_> = commits.iter().rev().copied().collect();
    let mut decisions: Vec<DecisionRef> = Vec::new();
    for brought in decisions::of_commits(session, &oldest_first)? {
        decisions.retain(|known| known.decision_id != brought.decision_id);
        decisions.push(brought);
    }
    Ok(decisions)
}

pub(super) fn write_merge(
    session: &Session,
    request: &Request,
    sides: &Sides,
    tree: Oid,
    message: &str,
) -> Result<Oid> {
    let by = session.signatures()?;
    let mut parents = vec![sides.target.tip];
    if !request.squash {
        parents.push(sides.source.commit);
    }
    let commit = NewCommit {
        tree,
        parents,
        signature: &by.committer,
        message: session.with_trailers(message.to_owned()),
    };
    write_commit(session, commit, &by.author)
}
