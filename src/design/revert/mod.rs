//! Reverts merges of a branch as one new commit, at any later time: computed on trees, all of it or nothing.
//!
//! The commit names each merge in a trailer, so that our merges bring the work again, and do not delete it in the clone
//! of the agent (`fork::shared_work`).

mod message;
mod wanted;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::git::Oid;
use crate::git::merge::merge_tree::{Merged, Preview};
use crate::git::object::NewCommit;
use crate::git::worktree::snapshot::Unstorable;
use crate::model::id::OperationId;
use crate::model::{Code, RepoPath, Result};
use crate::store::Session;
use crate::store::operation::{Kind, LateFile};
use crate::store::state::event_log::announce;

use super::allowed_paths::path_gate;
use super::checkpoint::left_out::Allowances;
use super::checkpoint::worktree_snapshot::Kept;
use super::merge::conflicts::{self, Conflict};
use super::merge::next_step::NextStep;
use super::merge::switch::{Step, Switch, carry_out, meets_only_clean_files};
use super::merge::target_branch::{TargetBranch, retried};
use super::worktree::{run_post_checkout, write_commit};
use wanted::Wanted;

/// The options of a revert.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// An agent or a fork, or the number of an operation.
    pub what: String,
    /// The branch; `None` is the current one.
    pub into: Option<String>,
    /// The first lines of the message; `None` is git's own.
    pub message: Option<String>,
}

/// The outcome of a revert.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RevertOutcome {
    /// The branch has a new commit.
    Reverted,
    /// The files of the branch have none of these changes any more.
    #[default]
    UpToDate,
    /// Later changes conflict.
    Conflicted,
}

/// A merge that was reverted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RevertedMerge {
    /// The merge, the squash, or the last commit of a fast-forward.
    pub merge: Oid,
    /// The commit before it, whose files come back.
    pub before: Oid,
    /// The first line of its message.
    pub subject: String,
}

/// The result of a revert.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct RevertReport {
    /// The outcome.
    pub outcome: RevertOutcome,
    /// The agent, the fork or the operation.
    pub source: String,
    /// The branch.
    pub branch: String,
    /// The merges that were reverted, oldest first.
    pub reverted: Vec<RevertedMerge>,
    /// The agents whose work it is, as far as is known: each gets an event.
    pub agents: Vec<String>,
    /// The new commit; `None` after a conflict and in a dry run.
    pub commit: Option<Oid>,
    /// The number of paths that changed on the branch.
    pub files_changed: usize,
    /// The conflicts with later changes; with any, nothing was reverted.
    pub conflicts: Vec<Conflict>,
    /// What to do about them.
    #[serde(flatten)]
    pub next_step: NextStep,
    /// Ignored files that were moved aside; the operation keeps them.
    pub ignored_kept: Vec<RepoPath>,
    /// Files that another process wrote while files were replaced; undo restores them.
    pub kept_late: Vec<LateFile>,
    /// The operation; `None` if nothing changed.
    pub op: Option<OperationId>,
    /// True if nothing was changed because of a dry run.
    pub dry_run: bool,
}

/// Reverts; in a dry run, says what the revert would do. A conflict changes nothing: the report lists it.
pub fn revert(session: &Session, request: &Request) -> Result<RevertReport> {
    if session.is_dry() {
        return look_ahead(session, request);
    }
    retried(session, || attempt(session, request))
}

fn attempt(session: &Session, request: &Request) -> Result<RevertReport> {
    let computed = Computed::of(session, request)?;
    let Computed { target, wanted, tree, mut report } = computed;
    if report.outcome != RevertOutcome::Reverted {
        return Ok(report);
    }
    let operation = target.begin(session, Kind::Revert)?;
    let kept = target.is_here.then(|| scan(session, &operation.unignored)).transpose()?;
    let switch = kept.as_ref().map(|kept| plan_switch(session, kept, tree)).transpose()?;
    if let Some(switch) = &switch {
        report.ignored_kept.clone_from(&switch.ignored_kept);
    }
    // If only a ref moves, no file is examined.
    let before = match &kept {
        Some(kept) => kept.index_look(),
        None => session.repo.look_at_index()?,
    };
    let commit = write(session, request, &wanted, target.tip, tree)?;
    report.commit = Some(commit);
    let step = Step {
        summary: format!("revert '{}' on '{}'", wanted.source, report.branch),
        refs: vec![target.change(commit)],
    };
    let done = carry_out(session, operation, before, switch.zip(kept.as_ref()), step)?;
    report.op = done.op;
    report.kept_late = done.late;
    if target.is_here {
        run_post_checkout(session, &done.record, Some(target.tip), Some(commit));
    }
    announce_to_agents(session, &report);
    Ok(report)
}

/// Writes an event for each agent whose work was reverted.
fn announce_to_agents(session: &Session, report: &RevertReport) {
    for agent in &report.agents {
        let value = json!({
            "agent": agent,
            "scope_id": report.branch,
            "branch": report.branch,
            "commit": report.commit,
            "merge": report.reverted.last().map(|merge| merge.merge),
            "op": report.op,
            "hint": format!("do not merge {0} by plain git: git colony merge {0}", report.branch),
        });
        announce(session, format!("work_reverted:{agent}"), value);
    }
}

fn scan(session: &Session, unignored: &[RepoPath]) -> Result<Kept> {
    Kept::scan(session, &Allowances::default(), Unstorable::LeaveOut, unignored)
}

fn plan_switch(session: &Session, kept: &Kept, tree: Oid) -> Result<Switch> {
    Switch::plan(session, kept, (kept.scan.head_tree, tree), &BTreeMap::new())
}

/// Looks only as far as the answer needs: where only clean files are met, they are not scanned.
fn look_ahead(session: &Session, request: &Request) -> Result<RevertReport> {
    let Computed { target, tree, mut report, .. } = Computed::of(session, request)?;
    report.dry_run = true;
    if report.outcome != RevertOutcome::Reverted {
        return Ok(report);
    }
    session.signatures()?;
    let head_tree = session.repo.tree_of(Some(target.tip))?;
    if target.is_here && !meets_only_clean_files(session, head_tree, tree)? {
        let kept = scan(session, &super::checkpoint::unignored::current(session)?)?;
        report.ignored_kept = plan_switch(session, &kept, tree)?.ignored_kept;
    }
    Ok(report)
}

/// The revert on trees.
struct Computed {
    target: TargetBranch,
    wanted: Wanted,
    tree: Oid,
    report: RevertReport,
}

impl Computed {
    fn of(session: &Session, request: &Request) -> Result<Computed> {
        let repo = &session.repo;
        let target = TargetBranch::find(session, request.into.as_deref(), None)?;
        target.refuse_unusable(session, "revert", false)?;
        let wanted = Wanted::find(session, &target, &request.what)?;
        let before = repo.tree_of(Some(target.tip))?;
        let mut report = RevertReport {
            source: wanted.source.clone(),
            branch: target.branch.short(),
            reverted: wanted.listed(repo)?,
            agents: wanted.agents(repo)?,
            ..RevertReport::default()
        };
        let tree = match merge_back(session, &target, &wanted, before)? {
            Back::Clean(tree) => tree,
            Back::Conflicts(conflicted) => {
                report.outcome = RevertOutcome::Conflicted;
                report.conflicts = conflicts::list(repo, &conflicted.stages, &conflicted.notes);
                report.next_step = NextStep {
                    code: Some(Code::Conflicted.as_str()),
                    hint: Some(message::by_git(repo, &wanted)?),
                };
                return Ok(Computed { target, wanted, tree: before, report });
            }
        };
        if tree != before {
            path_gate::require_step(session, before, tree)?;
            report.outcome = RevertOutcome::Reverted;
            report.files_changed = repo.diff_trees(before, tree)?.len();
        }
        Ok(Computed { target, wanted, tree, report })
    }
}

/// The files of the branch without the merges.
enum Back {
    Clean(Oid),
    Conflicts(Preview),
}

/// Applies the inverse of the merges to the files of the branch, as `git revert -m 1` does.
fn merge_back(
    session: &Session,
    target: &TargetBranch,
    wanted: &Wanted,
    ours: Oid,
) -> Result<Back> {
    let (repo, world) = (&session.repo, &session.world);
    let (base, sides) = (wanted.whole.to, (target.tip, wanted.whole.from));
    repo.fetch_promised(world, &[base, sides.1], &[target.tip])?;
    let mut merges = repo.certain_merges(world);
    let merged: Merged = match merges.commits(&[base], sides) {
        Some(certain) if certain.is_clean() => certain.write(repo, ours)?,
        Some(certain) => return Ok(Back::Conflicts(certain.into())),
        None => repo.merge_from(world, base, sides)?,
    };
    if !merged.is_clean {
        return Ok(Back::Conflicts(merged.into()));
    }
    repo.keep_objects_of(&merged)?;
    Ok(Back::Clean(merged.tree))
}

fn write(
    session: &Session,
    request: &Request,
    wanted: &Wanted,
    tip: Oid,
    tree: Oid,
) -> Result<Oid> {
    let by = session.signatures()?;
    let text = message::of(&session.repo, wanted, request.message.as_deref())?;
    let commit = NewCommit {
        tree,
        parents: vec![tip],
        signature: &by.committer,
        message: session.with_trailers(text),
    };
    write_commit(session, commit, &by.author)
}
