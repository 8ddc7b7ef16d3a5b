//! Restores a state: exact, all or nothing, and undoable.

pub mod abandoned_commits;
mod divergence;
pub mod remote_commits;
mod restore_plan;
pub mod restore_report;
pub mod restore_target;
mod restored_submodules;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::{Head, Oid, RefChange, Repo};
use crate::model::{RepoPath, Result};
use crate::store::Session;
use crate::store::agent_policy::protected_branches;
use crate::store::large_files::retained_objects;
use crate::store::operation::operation_record::IndexTarget;
use crate::store::operation::plan::{Intent, Plan, Touches};
use crate::store::operation::{Kind, Operation, StateFile};

use super::worktree::{refuse_in_progress, run_post_checkout, snapshot_commit};
use restore_plan::Work;
use restore_report::RestoreReport;
use restore_target::Target;

/// The extent of a restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RestoreMode {
    /// Branch, index and files.
    Replace,
    /// Files only; branch and index stay, so the difference shows as uncommitted changes.
    Files,
    /// As `Replace`, on a new fork: the branch that was current stays where it is.
    Fork,
}

/// The options of a restore.
#[derive(Clone, Debug)]
pub struct Request {
    /// The checkpoint, operation or revision.
    pub name: String,
    /// The target, if it is known already.
    pub target: Option<Target>,
    /// The extent.
    pub mode: RestoreMode,
    /// The label of the fork; `None` makes one from the name of the checkpoint.
    pub fork_label: Option<String>,
    /// Only these paths and those below them; empty means all.
    pub paths: Vec<RepoPath>,
    /// Leave untracked files alone that the checkpoint does not have.
    pub keep_untracked: bool,
    /// Continue although the histories have diverged, or only a prefix of the name is given.
    pub force: bool,
}

impl Request {
    fn find_target(&self, repo: &Repo) -> Result<Target> {
        match &self.target {
            Some(target) => Ok(target.clone()),
            None => Target::find_any(repo, &self.name),
        }
    }
}

const INTENT: Intent = Intent { kind: Kind::Restore, touches: Touches::Worktree };

/// Restores a state; in a dry run, says what would change.
pub fn restore(session: &Session, request: &Request) -> Result<RestoreReport> {
    refuse_in_progress(session, "restore")?;
    let target = request.find_target(&session.repo)?;
    let mut operation = Operation::begin(session, INTENT)?;
    refuse_in_progress(session, "restore")?;
    let work = Work::plan(session, request, target, &operation.unignored)?;
    refuse_protected(session, &work)?;
    if operation.is_planned() || work.changes_nothing() {
        return Ok(work.report);
    }
    let stage = operation.stage();
    retained_objects::stage(session, work.target.tree, &work.staged_paths(), &stage)?;
    if let IndexTarget::State { state } = work.target.index {
        let index = session.repo.state_tree(state)?;
        retained_objects::link_for_index(session, work.target.tree, index)?;
    }
    let (old, new) = (work.kept.scan.head.commit(), work.branch_after());
    let Work { target, kept, mut moves, submodules, index, mut report, unignored, start, .. } =
        work;
    restored_submodules::stage(session, submodules, &mut operation, &mut moves, &mut report)?;
    operation.unignored = unignored;
    if report.in_progress.is_some() {
        operation.state_files = state_files(&session.repo, &target)?;
    }
    let snapshot = snapshot_commit(session, &kept, &target.label)?;
    let refs = match &start {
        Some(start) => {
            operation.head_after = Some(start.head());
            start.refs(&session.repo, start.write_record(session)?)?
        }
        None => branch_change(&kept.scan.head, new).into_iter().collect(),
    };
    let done = operation
        .commit(Plan {
            summary: format!("restore '{}'", target.label),
            head: kept.scan.head.clone(),
            refs,
            index_before: (kept.scan.index(), kept.snapshot.index_tree),
            index,
            files: moves,
            snapshot: Some(snapshot),
            inverts: None,
        })
        .map_err(|error| match &start {
            Some(start) => start.explain(session, error),
            None => error,
        })?;
    report.recovery = done.op;
    report.kept_late = done.late;
    run_post_checkout(session, &done.record, old, new);
    Ok(report)
}

/// Refuses an agent to move a protected branch.
fn refuse_protected(session: &Session, work: &Work<'_>) -> Result<()> {
    let stays = work.start.is_some();
    let moved = branch_change(&work.kept.scan.head, work.branch_after()).filter(|_| !stays);
    protected_branches::require(session, moved.iter().map(|change| &change.name))
}

/// Plans the files that tell git of an operation in progress.
fn state_files(repo: &Repo, target: &Target) -> Result<Vec<StateFile>> {
    let files = target.in_progress.iter().flat_map(|now| &now.files);
    files
        .map(|(name, blob)| StateFile::becoming(repo, *name, Some(&repo.read_blob(*blob)?)))
        .collect()
}

fn branch_change(head: &Head, new: Option<Oid>) -> Option<RefChange> {
    let old = head.commit();
    (old != new).then(|| RefChange { name: head.moving_ref(), old, new })
}
