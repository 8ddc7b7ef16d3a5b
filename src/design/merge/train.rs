//! Several merges into one branch, one after the other, all computed before the branch moves once.

use crate::design::checkpoint::left_out::Allowances;
use crate::design::checkpoint::unignored;
use crate::design::checkpoint::worktree_snapshot::Kept;
use crate::design::fork::names::Named;
use crate::design::meaning;
use crate::design::migration::rewritten;
use crate::design::worktree::run_post_checkout;
use crate::git::worktree::snapshot::Unstorable;
use crate::git::{Oid, RefName};
use crate::model::id::OperationId;
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;
use crate::store::operation::{Kind, LateFile};

use super::computed::{Computed, write_merge};
use super::conflicts::Conflict;
use super::sides::Sides;
use super::switch::{Step, Switch, carry_out};
use super::target_branch::TargetBranch;
use super::{MergeOutcome, Request, allowed, message};

/// A branch, and how work is merged into it.
pub struct Train {
    target: TargetBranch,
    squash: bool,
}

/// Work to merge, at the commit that it had when it was read.
#[derive(Clone, Debug)]
pub struct Member(Named);

/// The result of merging one member onto a tip.
#[derive(Debug)]
pub enum Coupling {
    /// It merges cleanly; this is the commit.
    Merged(Oid),
    /// The tip has all of it already.
    UpToDate,
    /// It conflicts.
    Conflicts(Vec<Conflict>),
    /// It may not be merged there, or it cannot be.
    Refused(Error),
}

/// The move of the branch.
#[derive(Clone, Debug, Default)]
pub struct Arrival {
    /// The operation.
    pub op: Option<OperationId>,
    /// Ignored files that were moved aside; the operation keeps them.
    pub ignored_kept: Vec<RepoPath>,
    /// Files that another process wrote meanwhile; undo restores them.
    pub kept_late: Vec<LateFile>,
}

impl Member {
    /// Finds work by name: an agent, a fork, a branch, a commit.
    pub fn find(session: &Session, typed: &str) -> Result<Member> {
        let member = meaning::find_commit(&session.repo, typed)?;
        let rewritten = rewritten(session, member.commit)?;
        Ok(Member(Named { commit: rewritten.unwrap_or(member.commit), ..member }))
    }

    /// Returns its commit.
    pub fn commit(&self) -> Oid {
        self.0.commit
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }
}

impl Train {
    /// Finds the branch: the named one, else the current one. Refuses one that cannot be moved now, or by this agent.
    pub fn find(session: &Session, into: Option<&str>, squash: bool) -> Result<Train> {
        let target = TargetBranch::find(session, into, None)?;
        target.refuse_unusable(session, "land", false)?;
        if session.repo.config("merge.ff").as_deref() == Some("only") && !squash {
            let message = "each agent gets a merge commit, and merge.ff is 'only'";
            return Err(Error::new(Code::Diverged, message)
                .unchanged()
                .hint("git colony land --squash   # one ordinary commit for each"));
        }
        Ok(Train { target, squash })
    }

    /// Finds the branch for a train that is only tested.
    pub fn find_to_test(session: &Session, into: Option<&str>) -> Result<Train> {
        Ok(Train { target: TargetBranch::find(session, into, None)?, squash: false })
    }

    /// Returns the branch.
    pub fn branch(&self) -> &RefName {
        &self.target.branch
    }

    /// Returns the tip of the branch, as it was when it was read.
    pub fn tip(&self) -> Oid {
        self.target.tip
    }

    /// Merges a member onto a tip: a commit of its own, also where the branch could be fast-forwarded.
    pub fn couple(&self, session: &Session, tip: Oid, member: &Member) -> Result<Coupling> {
        let sides =
            Sides { source: member.0.clone(), target: TargetBranch { tip, ..self.target.clone() } };
        if sides.source.branch.as_ref() == Some(&self.target.branch) {
            return Ok(Coupling::UpToDate);
        }
        // A message makes a merge commit.
        let message = (!self.squash).then(|| message::of_git(&sides));
        let request = Request { squash: self.squash, message, ..Request::default() };
        let computed = match computed(session, &request, &sides) {
            Ok(computed) => computed,
            Err(error) if is_about_member(error.code()) => return Ok(Coupling::Refused(error)),
            Err(error) => return Err(error),
        };
        match computed.report.outcome {
            MergeOutcome::UpToDate => Ok(Coupling::UpToDate),
            MergeOutcome::Conflicted | MergeOutcome::Unrelated | MergeOutcome::OldHistory => {
                Ok(Coupling::Conflicts(computed.report.conflicts))
            }
            MergeOutcome::FastForward | MergeOutcome::Merged => {
                let merge =
                    write_merge(session, &request, &sides, computed.tree, &computed.message)?;
                Ok(Coupling::Merged(merge))
            }
        }
    }

    /// Refuses, before anything takes time, what [`Train::arrive`] would refuse: edits here in paths that the commit changes.
    pub fn refuse_edits(&self, session: &Session, commit: Oid) -> Result<()> {
        session.signatures()?;
        if !self.target.is_here {
            return Ok(());
        }
        let unignored = unignored::current(session)?;
        let kept = Kept::scan(session, &Allowances::default(), Unstorable::LeaveOut, &unignored)?;
        switch_to(session, &kept, commit).map(drop)
    }

    /// Moves the branch to a commit, and index and files with it, in one operation.
    pub fn arrive(&self, session: &Session, commit: Oid, summary: String) -> Result<Arrival> {
        let operation = self.target.begin(session, Kind::Land)?;
        let step = Step { summary, refs: vec![self.target.change(commit)] };
        if !self.target.is_here {
            let before = session.repo.look_at_index()?;
            let done = carry_out(session, operation, before, None, step)?;
            return Ok(Arrival { op: done.op, kept_late: done.late, ..Arrival::default() });
        }
        let unignored = operation.unignored.clone();
        let kept = Kept::scan(session, &Allowances::default(), Unstorable::LeaveOut, &unignored)?;
        let switch = switch_to(session, &kept, commit)?;
        let ignored_kept = switch.ignored_kept.clone();
        let done = carry_out(session, operation, kept.index_look(), Some((switch, &kept)), step)?;
        run_post_checkout(session, &done.record, Some(self.target.tip), Some(commit));
        Ok(Arrival { op: done.op, ignored_kept, kept_late: done.late })
    }
}

/// Computes a merge, and whether it is allowed.
fn computed(session: &Session, request: &Request, sides: &Sides) -> Result<Computed> {
    let computed = Computed::of(session, request, sides)?;
    if !matches!(computed.report.outcome, MergeOutcome::UpToDate | MergeOutcome::Conflicted) {
        allowed::require(session, request, sides, &computed)?;
    }
    Ok(computed)
}

fn switch_to(session: &Session, kept: &Kept, commit: Oid) -> Result<Switch> {
    let tree = session.repo.tree_of(Some(commit))?;
    Switch::plan(session, kept, (kept.scan.head_tree, tree), &std::collections::BTreeMap::new())
}

/// Returns `true` for an error that is about the work of one member: the others can be merged without it.
fn is_about_member(code: Code) -> bool {
    matches!(
        code,
        Code::ScopeViolation
            | Code::UnrelatedHistories
            | Code::ShallowNoBase
            | Code::ObjectMissing
            | Code::RepositoryBroken
            | Code::TreeTooLarge
    )
}
