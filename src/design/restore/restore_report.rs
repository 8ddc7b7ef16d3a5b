//! The report of a restore.

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::checkpoint::left_out::LeftOut;
use crate::design::checkpoint::worktree_snapshot::Kept;
use crate::design::submodule::AbsenceReason;
use crate::git::Oid;
use crate::git::compare::tree_diff::TreeChange;
use crate::model::RepoPath;
use crate::model::id::OperationId;
use crate::store::operation::{LateFile, SubmoduleSnapshot};

use super::abandoned_commits::LeavingCommits;
use super::remote_commits::RemoteCommits;
use super::restore_target::Target;
use super::{Request, RestoreMode};

/// The number of files that changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileCounts {
    /// Files that had other content.
    pub rewritten: usize,
    /// Files that did not exist.
    pub restored: usize,
    /// Files that were moved aside.
    pub removed: usize,
}

/// The move of a branch; `behind` counts the commits that are added, `ahead` those that leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BranchMove {
    /// The old tip.
    pub from: Oid,
    /// The new tip.
    pub to: Oid,
}

/// A submodule whose files were restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RestoredSubmodule {
    /// Its path.
    pub path: RepoPath,
    /// The commit of the state, in its own repository.
    pub sha: Oid,
    /// The number of files that changed.
    pub files: FileCounts,
    /// Whether its HEAD is at another commit than then; it stays there.
    pub other_head: bool,
}

/// A submodule whose files were not restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AbsentSubmodule {
    /// Its path.
    pub path: RepoPath,
    /// The commit of the state, which its repository had then.
    pub sha: Oid,
    /// Why.
    pub reason: AbsenceReason,
}

/// The state that was restored.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RestoreReport {
    /// The id of the checkpoint or operation; for a revision, the commit.
    pub checkpoint_id: String,
    /// Its label.
    pub label: String,
    /// The commit that holds the files.
    pub sha: Oid,
    /// The extent of the restore.
    pub mode: RestoreMode,
    /// The branch, by its short name.
    pub branch: String,
    /// The operation that can be undone; `None` if nothing had to change.
    pub recovery: Option<OperationId>,
    /// The number of files that changed.
    pub files: FileCounts,
    /// Commits that left the branch, newest first (at most 1,000).
    pub leaving: Vec<Oid>,
    /// The newest of them by subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaving_commits: Option<LeavingCommits>,
    /// Those of them that a remote has: its branch does not accept the next push.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_remote: Option<RemoteCommits>,
    /// Files that were moved aside and are in no checkpoint: ignored, left out, or unreadable.
    pub ignored_kept: Vec<RepoPath>,
    /// Files that another process wrote while files were replaced; undo restores them.
    pub kept_late: Vec<LateFile>,
    /// Paths that are not ignored any more, each with everything below it: they stay out of
    /// checkpoints.
    pub unignored: Vec<RepoPath>,
    /// Untracked paths that no checkpoint includes and that stayed.
    pub left_alone: Vec<LeftOut>,
    /// Paths that the state does not contain, because an automatic checkpoint leaves them out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Submodules whose commit differs; it was not checked out.
    pub submodules: Vec<RepoPath>,
    /// Submodules whose files were restored, with the edits that they had inside.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub submodules_restored: Vec<RestoredSubmodule>,
    /// Submodules that had edits inside, which are not on this machine or cannot be restored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub submodules_absent: Vec<AbsentSubmodule>,
    /// The number of commits the branch had and the target has not.
    pub ahead: usize,
    /// The number of commits the target has and the branch had not.
    pub behind: usize,
    /// The move of the branch; `None` if it stays, or becomes unborn.
    pub branch_move: Option<BranchMove>,
    /// The git operation in progress afterward: the state was inside a merge or pick that had been
    /// opened.
    pub in_progress: Option<String>,
    /// True if nothing was changed because of a dry run.
    pub dry_run: bool,
}

impl RestoreReport {
    /// Returns the report of a restore before it is planned.
    pub(in crate::design) fn of(target: &Target, request: &Request, kept: &Kept) -> RestoreReport {
        RestoreReport {
            checkpoint_id: target.id.clone(),
            label: target.label.clone(),
            sha: target.sha,
            mode: request.mode,
            branch: kept.scan.head.label(),
            recovery: None,
            files: FileCounts::default(),
            leaving: Vec::new(),
            leaving_commits: None,
            on_remote: None,
            ignored_kept: Vec::new(),
            kept_late: Vec::new(),
            unignored: Vec::new(),
            left_alone: kept.left_out.clone(),
            left_out: Vec::new(),
            submodules: Vec::new(),
            submodules_restored: Vec::new(),
            submodules_absent: Vec::new(),
            ahead: 0,
            behind: 0,
            branch_move: None,
            in_progress: None,
            dry_run: false,
        }
    }
}

impl RestoreReport {
    /// Names a submodule that cannot be restored.
    pub(in crate::design) fn miss(&mut self, state: &SubmoduleSnapshot, reason: AbsenceReason) {
        self.submodules_absent.push(AbsentSubmodule {
            path: state.path.clone(),
            sha: state.snapshot,
            reason,
        });
    }

    /// Removes from the plan the files that existed at the time and that the checkpoint left out: a
    /// later one included them, and they stay where they are.
    pub(in crate::design) fn spare_left_out(
        &mut self,
        changes: &mut Vec<TreeChange>,
        target: &Target,
    ) {
        for left in &target.left_out {
            let before = changes.len();
            changes.retain(|change| change.new.is_some() || change.path != left.path);
            if changes.len() < before {
                self.left_alone.push(left.clone());
            }
        }
    }
}

/// Counts the files that change; submodules do not count.
pub(in crate::design) fn count(changes: &[TreeChange]) -> FileCounts {
    let mut counts = FileCounts::default();
    for change in changes.iter().filter(|change| !concerns_submodule(change)) {
        match (change.old, change.new) {
            (Some(_), Some(_)) => counts.rewritten += 1,
            (None, Some(_)) => counts.restored += 1,
            _ => counts.removed += 1,
        }
    }
    counts
}

fn concerns_submodule(change: &TreeChange) -> bool {
    [change.old, change.new].into_iter().flatten().any(|entry| entry.is_submodule())
}

/// Lists the submodules whose commit changes.
pub(in crate::design) fn submodules_in(changes: &[TreeChange]) -> Vec<RepoPath> {
    let of_submodules = changes.iter().filter(|change| concerns_submodule(change));
    of_submodules.map(|change| change.path.clone()).collect()
}
