//! Bringing chosen commits into a line of work: on trees, all of them or none.

mod computed;
mod going_on;
mod wanted;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::snapshot::Unstorable;
use crate::git::{Oid, RefChange, RefName};
use crate::model::id::OperationId;
use crate::model::{Code, Error, RepoPath, Result, text};
use crate::store::Session;
use crate::store::operation::run::{Intent, Touches};
use crate::store::operation::{Kind, Operation};

use super::conflicts::Conflict;
use super::kept::Kept;
use super::left_out::Allowances;
use super::names;
use super::switch::{Step, Switch, carry_out};
use super::worktree::{refuse_in_progress, run_post_checkout};
use computed::{Agreed, Computed};
pub use going_on::continue_pick;
use wanted::Wanted;

/// How often picks are computed anew because their target moved meanwhile.
const TRIES: usize = 5;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// What to pick, in order: commits, ranges.
    pub what: Vec<String>,
    /// The branch to bring them into; `None` is the current one.
    pub into: Option<String>,
    /// Open a conflict in git's own state.
    pub resolve: bool,
}

/// A commit that was picked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Picked {
    /// The commit it was made from.
    pub from: Oid,
    /// The new one; `None` in a dry run and where a conflict stopped it.
    pub to: Option<Oid>,
    /// The decision it was named by.
    pub decision_id: Option<String>,
}

/// What picking came to.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PickReport {
    /// The commits that were picked, in order.
    pub picked: Vec<Picked>,
    /// Commits whose change is there already.
    pub skipped: Vec<Oid>,
    /// What stopped it; nothing was picked then.
    pub conflicts: Vec<Conflict>,
    /// The commit that could not be picked.
    pub stopped_at: Option<Oid>,
    /// The branch they were brought into.
    pub into: String,
    /// Where the branch is now; `None` after a conflict and in a dry run.
    pub commit: Option<Oid>,
    /// How many paths of the branch changed.
    pub files_changed: usize,
    /// Whether the conflict was opened in git's own state.
    pub resolving: bool,
    /// Ignored files that gave way; the operation keeps them.
    pub ignored_kept: Vec<RepoPath>,
    /// The operation; `None` where nothing changed.
    pub op: Option<OperationId>,
    /// True when nothing was changed because a dry run was asked for.
    pub dry_run: bool,
}

/// Picks commits.
///
/// A conflict changes nothing: the report says what it is. With `resolve` it is opened in git's own
/// state instead; the branch moves once, when all is picked.
///
/// # Errors
/// `revision-not-found`, `invalid-value` for a merge, `branch-in-use`, `uncommitted-edits`,
/// `unmerged-paths`, `operation-in-progress`, `locked`, `ref-moved`; none of them changes anything.
pub fn pick(session: &Session, request: &Request) -> Result<PickReport> {
    let mut tries = 1;
    loop {
        match attempt(session, request) {
            // Somebody moved the branch between our look and our turn: look again.
            Err(error) if error.code() == Code::RefMoved && tries < TRIES => tries += 1,
            ended => return ended,
        }
    }
}

fn attempt(session: &Session, request: &Request) -> Result<PickReport> {
    let goal = Goal::find(session, request)?;
    let wanted = wanted::resolve(session, &request.what)?;
    let agreed = Agreed::of(session, (goal.tip, goal.tree(session)?), &[], &wanted)?;
    if is_nothing_to_do(request, &agreed.computed) {
        return report_of(session, &goal, &agreed.computed);
    }
    let (computed, written) = agreed.keep(session)?;
    let mut report = report_of(session, &goal, &computed)?;
    let mut operation = goal.begin(session)?;
    let kept = look(session, &operation)?;
    let switch = goal.switch(session, &kept, &computed)?;
    if let Some(switch) = &switch {
        report.ignored_kept.clone_from(&switch.ignored_kept);
    }
    let mut step = Step {
        summary: summary(&wanted, &goal),
        refs: Vec::new(),
    };
    if let Some(stuck) = &computed.stuck {
        operation.state_files = going_on::open(session, goal.tip, &written, stuck)?;
        step.summary = format!("open the pick of {}", stuck.at.commit.short());
        report.resolving = true;
    } else {
        let tip = written.last().map_or(goal.tip, |(_, new)| *new);
        report.name(&written, tip);
        step.refs.push(goal.change(tip));
    }
    let done = carry_out(session, operation, &kept, switch, step)?;
    report.op = Some(done.op);
    if goal.is_here {
        let (old, new) = (Some(goal.tip), report.commit.or(Some(goal.tip)));
        run_post_checkout(session, &done, old, new);
    }
    Ok(report)
}

fn is_nothing_to_do(request: &Request, computed: &Computed) -> bool {
    match computed.stuck {
        Some(_) => !request.resolve,
        None => computed.applied.is_empty(),
    }
}

/// Tells what [`pick`] would do, and changes nothing.
///
/// # Errors
/// As [`pick`].
pub fn preview(session: &Session, request: &Request) -> Result<PickReport> {
    let goal = Goal::find(session, request)?;
    let wanted = wanted::resolve(session, &request.what)?;
    let agreed = Agreed::of(session, (goal.tip, goal.tree(session)?), &[], &wanted)?;
    let (computed, _) = agreed.keep(session)?;
    let mut report = report_of(session, &goal, &computed)?;
    report.dry_run = true;
    if goal.is_here && (computed.stuck.is_none() || request.resolve) {
        let unignored = super::unignored::current(session)?;
        let allowances = Allowances::default();
        let kept = Kept::look(session, &allowances, Unstorable::LeaveOut, &unignored)?;
        let switch = goal.switch(session, &kept, &computed)?;
        report.ignored_kept = switch.map(|switch| switch.ignored_kept).unwrap_or_default();
    }
    Ok(report)
}

fn look(session: &Session, operation: &Operation<'_>) -> Result<Kept> {
    let (allowances, unignored) = (Allowances::default(), &operation.unignored);
    Kept::look(session, &allowances, Unstorable::LeaveOut, unignored)
}

fn summary(wanted: &[Wanted], goal: &Goal) -> String {
    let into = goal.branch.short();
    match wanted {
        [one] => format!("pick {} into '{into}'", one.commit.short()),
        all => format!("pick {} into '{into}'", text::count(all.len(), "commit")),
    }
}

fn report_of(session: &Session, goal: &Goal, computed: &Computed) -> Result<PickReport> {
    let before = goal.tree(session)?;
    let picked = computed.applied.iter().map(|one| Picked {
        from: one.from.commit,
        to: None,
        decision_id: one.from.decision_id.clone(),
    });
    let stuck = computed.stuck.as_ref();
    let files_changed = match stuck {
        Some(_) => 0,
        None if before == computed.tree => 0,
        None => session
            .repo
            .diff_trees(before, computed.tree)
            .map_or(0, |c| c.len()),
    };
    Ok(PickReport {
        picked: picked.collect(),
        skipped: computed.empty.iter().map(|one| one.commit).collect(),
        conflicts: stuck
            .map(|stuck| stuck.conflicts.clone())
            .unwrap_or_default(),
        stopped_at: stuck.map(|stuck| stuck.at.commit),
        into: goal.branch.short(),
        commit: None,
        files_changed,
        resolving: false,
        ignored_kept: Vec::new(),
        op: None,
        dry_run: false,
    })
}

impl PickReport {
    /// Names the new commits.
    fn name(&mut self, written: &[(Wanted, Oid)], tip: Oid) {
        for (picked, (_, new)) in self.picked.iter_mut().zip(written) {
            picked.to = Some(*new);
        }
        self.commit = Some(tip);
    }
}

/// The branch that commits are brought into.
struct Goal {
    /// The branch, or HEAD where that is on none.
    branch: RefName,
    tip: Oid,
    /// Whether it is checked out here.
    is_here: bool,
}

impl Goal {
    fn find(session: &Session, request: &Request) -> Result<Goal> {
        let repo = &session.repo;
        let head = repo.head()?;
        let here = head.moving_ref();
        let into = request.into.as_deref().filter(|into| *into != "HEAD");
        let (branch, tip) = match into {
            Some(into) => {
                let found = names::find(repo, into)?;
                (found.branch.ok_or_else(|| no_branch(into))?, found.commit)
            }
            None => (here.clone(), head.commit().ok_or_else(unborn)?),
        };
        let is_here = branch == here;
        if is_here {
            refuse_in_progress(session, "cherry-pick")?;
        } else if let Some(other) = repo.other_worktree_on(&branch) {
            return Err(Error::new(
                Code::BranchInUse,
                format!(
                    "'{}' is checked out in another worktree ('{}'); nothing was done",
                    branch.short(),
                    other.display()
                ),
            )
            .detail("branch", &branch)
            .hint("git worktree list   # pick them there"));
        } else if request.resolve {
            return Err(Error::new(
                Code::InvalidValue,
                format!(
                    "conflicts are opened in the worktree of '{}', and it is not checked out; nothing was done",
                    branch.short()
                ),
            )
            .hint(format!("git switch {}   # then run it again", branch.short())));
        }
        Ok(Goal {
            branch,
            tip,
            is_here,
        })
    }

    fn tree(&self, session: &Session) -> Result<Oid> {
        session.repo.tree_of(Some(self.tip))
    }

    /// Takes the locks; the branch is where it was looked at, or it is looked at again.
    fn begin<'a>(&self, session: &'a Session) -> Result<Operation<'a>> {
        let touches = if self.is_here {
            Touches::Worktree
        } else {
            Touches::Refs
        };
        let intent = Intent {
            kind: Kind::CherryPick,
            touches,
        };
        let operation = Operation::begin(session, intent)?;
        if self.is_here {
            refuse_in_progress(session, "cherry-pick")?;
            let head = session.repo.head()?;
            if head.moving_ref() != self.branch || head.commit() != Some(self.tip) {
                return Err(Error::new(Code::RefMoved, "HEAD moved; nothing was done"));
            }
        }
        Ok(operation)
    }

    /// Plans how index and files go along, where the branch is checked out here.
    fn switch(
        &self,
        session: &Session,
        kept: &Kept,
        computed: &Computed,
    ) -> Result<Option<Switch>> {
        if !self.is_here {
            return Ok(None);
        }
        let from = kept.scan.head_tree;
        let switch = match &computed.stuck {
            Some(stuck) => Switch::plan(session, kept, (from, stuck.tree), &stuck.stages)?,
            None => Switch::plan(session, kept, (from, computed.tree), &BTreeMap::new())?,
        };
        Ok(Some(switch))
    }

    fn change(&self, new: Oid) -> RefChange {
        RefChange {
            name: self.branch.clone(),
            old: Some(self.tip),
            new: Some(new),
        }
    }
}

fn no_branch(name: &str) -> Error {
    Error::new(
        Code::RevisionNotFound,
        format!("'{name}' is no branch to bring commits into; nothing was done"),
    )
    .hint("git branch --list")
}

fn unborn() -> Error {
    Error::new(
        Code::RevisionNotFound,
        "the current branch has no commit to pick on; nothing was done",
    )
    .hint("git colony checkpoint -m LABEL   # makes the first one")
}
