//! What a restore says it did.

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::checkpoint::left_out::LeftOut;
use crate::design::checkpoint::worktree_snapshot::Kept;
use crate::git::Oid;
use crate::git::compare::tree_diff::TreeChange;
use crate::model::RepoPath;
use crate::model::id::OperationId;
use crate::store::operation::LateFile;

use super::abandoned_commits::LeavingCommits;
use super::restore_target::Target;
use super::{Request, RestoreMode};

/// How many files changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileCounts {
    /// Had other content.
    pub rewritten: usize,
    /// Were not there.
    pub restored: usize,
    /// Are gone (moved aside).
    pub removed: usize,
}

/// How a branch moves; `behind` counts the commits that come in, `ahead` those that leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BranchMove {
    /// Where it was.
    pub from: Oid,
    /// Where it is then.
    pub to: Oid,
}

/// What was brought back.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RestoreReport {
    /// The checkpoint or operation; the commit, where a revision was named.
    pub checkpoint_id: String,
    /// What people call it.
    pub label: String,
    /// The commit that holds the files.
    pub sha: Oid,
    /// How much was brought back.
    pub mode: RestoreMode,
    /// The branch, as people see it.
    pub branch: String,
    /// The operation that can be undone; `None` when nothing had to change.
    pub recovery: Option<OperationId>,
    /// How many files changed.
    pub files: FileCounts,
    /// Commits that left the branch, newest first (at most 1,000).
    pub leaving: Vec<Oid>,
    /// The newest of them by subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaving_commits: Option<LeavingCommits>,
    /// Files that were moved aside and are in no snapshot: ignored, left out, or not to be read.
    pub ignored_kept: Vec<RepoPath>,
    /// Files that somebody wrote where files were put meanwhile; undo brings them back.
    pub kept_late: Vec<LateFile>,
    /// Ignored paths that no longer are, each with all below it: they stay out of checkpoints.
    pub unignored: Vec<RepoPath>,
    /// Untracked paths that no checkpoint takes in and that stayed.
    pub left_alone: Vec<LeftOut>,
    /// What was there and is no part of the state, as an automatic checkpoint leaves it out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Submodules whose commit differs; their directories were not touched.
    pub submodules: Vec<RepoPath>,
    /// Commits the branch had and the target has not.
    pub ahead: usize,
    /// Commits the target has and the branch had not.
    pub behind: usize,
    /// Where the branch moves; `None` where it stays, or comes to have no commit.
    pub branch_move: Option<BranchMove>,
    /// What git is in the middle of then: the state was one in a merge or pick that had been opened.
    pub in_progress: Option<String>,
    /// True when nothing was changed because a dry run was asked for.
    pub dry_run: bool,
}

impl RestoreReport {
    /// Tells of a restore of which nothing is known but what is asked for.
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
            ignored_kept: Vec::new(),
            kept_late: Vec::new(),
            unignored: Vec::new(),
            left_alone: kept.left_out.clone(),
            left_out: Vec::new(),
            submodules: Vec::new(),
            ahead: 0,
            behind: 0,
            branch_move: None,
            in_progress: None,
            dry_run: false,
        }
    }
}

impl RestoreReport {
    /// Takes out of the plan the files that were on the disk then and that the checkpoint left out: a later
    /// one took them in, and they stay where they are.
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

/// Counts the files that are others afterwards; submodules are none.
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
    [change.old, change.new]
        .into_iter()
        .flatten()
        .any(|entry| entry.is_submodule())
}

/// Lists the submodules whose commit changes.
pub(in crate::design) fn submodules_in(changes: &[TreeChange]) -> Vec<RepoPath> {
    let found = changes.iter().filter(|change| concerns_submodule(change));
    found.map(|change| change.path.clone()).collect()
}
