//! Bringing a state back: exact, all or nothing, and undoable.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::diff::TreeChange;
use crate::git::snapshot::Unstorable;
use crate::git::{Head, Oid, RefChange, Repo};
use crate::model::id::OperationId;
use crate::model::{Code, Error, RepoPath, Result, text};
use crate::store::operation::record::IndexTarget;
use crate::store::operation::run::{Intent, NewIndex, Plan, Touches};
use crate::store::operation::{FileMoves, Kind, LateFile, Operation, StateFile};
use crate::store::{Session, kept_large_files, migration};

use super::fork::Start;
use super::histories;
use super::kept::Kept;
use super::left_out::{Allowances, LeftOut};
use super::restore_target::Target;
use super::tree_moves::{
    changes_from_here, ignored_among, outside_sparse, plan_moves, refuse_nested,
};
use super::unignored;
use super::worktree::{refuse_in_progress, run_post_checkout, snapshot_commit};

/// How much is brought back.
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

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The checkpoint or operation.
    pub name: String,
    /// How much.
    pub mode: RestoreMode,
    /// What the fork is called; `None` makes a name of the checkpoint's.
    pub fork_label: Option<String>,
    /// Only these paths and what is below them; empty means all.
    pub paths: Vec<RepoPath>,
    /// Leave files alone that the checkpoint does not have and git does not track.
    pub keep_untracked: bool,
    /// Go on although published commits leave the branch, or the histories have diverged.
    pub force: bool,
}

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

/// What was brought back.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RestoreReport {
    /// The checkpoint or operation.
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
    /// Files that were moved aside and are in no snapshot: ignored, left out, or not to be read.
    pub ignored_kept: Vec<RepoPath>,
    /// Files that somebody wrote where files were put meanwhile; undo brings them back.
    pub kept_late: Vec<LateFile>,
    /// Ignored paths that no longer are, each with all below it: they stay out of checkpoints.
    pub unignored: Vec<RepoPath>,
    /// Untracked paths that no checkpoint takes in and that stayed.
    pub left_alone: Vec<LeftOut>,
    /// Submodules whose commit differs; their directories were not touched.
    pub submodules: Vec<RepoPath>,
    /// Commits the branch had and the target has not.
    pub ahead: usize,
    /// Commits the target has and the branch had not.
    pub behind: usize,
    /// What git is in the middle of then: the state was one in a merge or pick that had been opened.
    pub in_progress: Option<String>,
    /// True when nothing was changed because a dry run was asked for.
    pub dry_run: bool,
}

/// Brings a state back.
///
/// # Errors
/// `checkpoint-not-found`, `operation-in-progress`, `published-commits`, `diverged`,
/// `nested-repository-in-the-way`, `path-collision`, `filter-failed`, `locked`, `no-space`; none of
/// them changes anything.
pub fn restore(session: &Session, request: &Request) -> Result<RestoreReport> {
    refuse_in_progress(session, "restore")?;
    let target = Target::find(&session.repo, &request.name)?;
    let intent = Intent {
        kind: Kind::Restore,
        touches: Touches::Worktree,
    };
    let mut operation = Operation::begin(session, intent)?;
    refuse_in_progress(session, "restore")?;
    let work = Work::plan(session, request, target, &operation.unignored)?;
    if work.changes_nothing() {
        return Ok(work.report);
    }
    let stage = operation.stage();
    kept_large_files::stage(session, work.target.tree, &work.staged_paths(), &stage)?;
    if let IndexTarget::State { state } = work.target.index {
        let index = session.repo.state_tree(state)?;
        kept_large_files::bring_of_index(session, work.target.tree, index)?;
    }
    let (old, new) = (work.kept.scan.head.commit(), work.branch_after());
    let Work {
        target,
        kept,
        moves,
        index,
        mut report,
        unignored,
        start,
        ..
    } = work;
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
    let done = operation.commit(Plan {
        summary: format!("restore '{}'", target.label),
        head: kept.scan.head.clone(),
        refs,
        index_before: (kept.scan.index(), kept.snapshot.index_tree),
        index,
        files: moves,
        snapshot: Some(snapshot),
        inverts: None,
    });
    let done = done.map_err(|error| match &start {
        Some(start) => start.explain(session, error),
        None => error,
    })?;
    report.recovery = Some(done.record.op);
    report.kept_late = done.late;
    run_post_checkout(session, &done.record, old, new);
    Ok(report)
}

/// Tells what [`restore`] would do, and changes nothing.
///
/// # Errors
/// As [`restore`].
pub fn preview(session: &Session, request: &Request) -> Result<RestoreReport> {
    refuse_in_progress(session, "restore")?;
    let target = Target::find(&session.repo, &request.name)?;
    let unignored = unignored::current(session)?;
    let mut report = Work::plan(session, request, target, &unignored)?.report;
    report.dry_run = true;
    Ok(report)
}

/// Everything known before the commit point.
struct Work<'a> {
    request: &'a Request,
    target: Target,
    kept: Kept,
    moves: FileMoves,
    index: Option<NewIndex>,
    /// What stays out of checkpoints from then on.
    unignored: Vec<RepoPath>,
    /// The fork to begin.
    start: Option<Start>,
    report: RestoreReport,
}

impl<'a> Work<'a> {
    fn plan(
        session: &Session,
        request: &'a Request,
        target: Target,
        unignored: &[RepoPath],
    ) -> Result<Work<'a>> {
        let allowances = Allowances::default();
        let kept = Kept::look(session, &allowances, Unstorable::LeaveOut, unignored)?;
        let mut report = empty_report(&target, request, &kept);
        refuse_old_history(session, request, &target)?;
        if request.mode == RestoreMode::Replace {
            histories::compare(session, request, &target, &kept.scan.head, &mut report)?;
        }
        let start = match request.mode {
            RestoreMode::Fork => Some(Start::of_target(
                session,
                request.fork_label.as_deref(),
                &target,
            )?),
            RestoreMode::Replace | RestoreMode::Files => None,
        };
        if let Some(start) = &start {
            report.branch = start.branch.short();
        }
        let changes = changes_from_here(session, &kept, target.tree)?;
        let mut changes = select(changes, request, &kept);
        let outside = match request.mode {
            RestoreMode::Replace | RestoreMode::Fork => outside_sparse(session, &changes)?,
            RestoreMode::Files => BTreeSet::new(),
        };
        changes.retain(|change| !outside.contains(&change.path));
        if request.mode != RestoreMode::Files {
            target.refuse_unknown_progress()?;
            let now = target.in_progress.as_ref();
            report.in_progress = now.map(|now| now.what.clone());
        }
        refuse_unknown_paths(session, request, &target, &kept)?;
        report.files = count(&changes);
        report.submodules = submodules_in(&changes);
        let index = match request.mode {
            RestoreMode::Replace | RestoreMode::Fork => {
                Some(new_index(session, &target, &kept, &outside)?)
            }
            RestoreMode::Files => None,
        };
        refuse_collisions(session, &target)?;
        let moves = plan_moves(session, &changes)?;
        refuse_nested(session, &moves, &kept)?;
        report.ignored_kept = ignored_among(&moves, &kept);
        let unignored = unignored::after_restore(session, &kept, &changes, unignored)?;
        report.unignored = unignored.new;
        report
            .left_alone
            .retain(|left| !report.ignored_kept.contains(&left.path));
        Ok(Work {
            request,
            target,
            kept,
            moves,
            index,
            unignored: unignored.all,
            start,
            report,
        })
    }

    fn branch_after(&self) -> Option<Oid> {
        match self.request.mode {
            RestoreMode::Replace | RestoreMode::Fork => self.target.branch,
            RestoreMode::Files => self.kept.scan.head.commit(),
        }
    }

    fn changes_nothing(&self) -> bool {
        let index_stays = match &self.index {
            None => true,
            Some(new) => new.index.fingerprint() == self.kept.scan.index().fingerprint(),
        };
        if self.start.is_some() || self.report.in_progress.is_some() {
            return false;
        }
        let branch_stays = self.branch_after() == self.kept.scan.head.commit();
        self.moves.is_empty() && index_stays && branch_stays
    }

    fn staged_paths(&self) -> BTreeSet<RepoPath> {
        self.moves
            .place
            .iter()
            .map(|place| place.path.clone())
            .collect()
    }
}

/// Refuses to put the branch on a history from before a migration to git-lfs; files come from there.
fn refuse_old_history(session: &Session, request: &Request, target: &Target) -> Result<()> {
    match target.branch {
        Some(branch) if request.mode != RestoreMode::Files => {
            let what = format!("'{}'", target.label);
            migration::refuse_old(&session.repo, branch, &what).map_err(|error| {
                let id = text::shell_word(&target.id);
                match error.code() {
                    Code::HistoryRewritten => error.hint(format!(
                        "git colony restore {id} --mode files -- .   # brings back its files alone"
                    )),
                    _ => error,
                }
            })
        }
        _ => Ok(()),
    }
}

fn empty_report(target: &Target, request: &Request, kept: &Kept) -> RestoreReport {
    RestoreReport {
        checkpoint_id: target.id.clone(),
        label: target.label.clone(),
        sha: target.sha,
        mode: request.mode,
        branch: kept.scan.head.label(),
        recovery: None,
        files: FileCounts::default(),
        leaving: Vec::new(),
        ignored_kept: Vec::new(),
        kept_late: Vec::new(),
        unignored: Vec::new(),
        left_alone: kept.left_out.clone(),
        submodules: Vec::new(),
        ahead: 0,
        behind: 0,
        in_progress: None,
        dry_run: false,
    }
}

/// Keeps the changes that were asked for and that concern files we may move.
fn select(changes: Vec<TreeChange>, request: &Request, kept: &Kept) -> Vec<TreeChange> {
    let wanted = |change: &TreeChange| {
        let path = &change.path;
        let named =
            request.paths.is_empty() || request.paths.iter().any(|root| path.is_at_or_below(root));
        let spared = request.keep_untracked && change.new.is_none() && !kept.scan.is_tracked(path);
        named && !spared && !kept.scan.is_skipped(path)
    };
    changes.into_iter().filter(wanted).collect()
}

fn refuse_unknown_paths(
    session: &Session,
    request: &Request,
    target: &Target,
    kept: &Kept,
) -> Result<()> {
    for path in &request.paths {
        let in_target = path.as_bytes().is_empty()
            || session
                .repo
                .entry_in(target.tree, path.as_path())?
                .is_some();
        let here = session
            .repo
            .entry_in(kept.snapshot.worktree_tree, path.as_path())?;
        if !in_target && here.is_none() {
            return Err(Error::new(
                Code::PathNotFound,
                format!(
                    "'{path}' is neither in '{}' nor in the worktree",
                    target.label
                ),
            )
            .detail("path", path));
        }
    }
    Ok(())
}

fn count(changes: &[TreeChange]) -> FileCounts {
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

fn submodules_in(changes: &[TreeChange]) -> Vec<RepoPath> {
    let found = changes.iter().filter(|change| concerns_submodule(change));
    found.map(|change| change.path.clone()).collect()
}

fn new_index(
    session: &Session,
    target: &Target,
    kept: &Kept,
    outside: &BTreeSet<RepoPath>,
) -> Result<NewIndex> {
    let before = kept.scan.index();
    let mut index = match &target.index {
        IndexTarget::Tree { tree } => session.repo.index_of_tree(*tree, &before)?,
        IndexTarget::State { state } | IndexTarget::File { state, .. } => {
            session.repo.index_of_state(*state, &before)?
        }
    };
    if outside.is_empty() {
        return Ok(NewIndex {
            target: target.index.clone(),
            index,
        });
    }
    index.skip_worktree(outside);
    let stage0 = match &target.index {
        IndexTarget::Tree { tree } => *tree,
        IndexTarget::State { state } | IndexTarget::File { state, .. } => {
            session.repo.state_tree(*state)?
        }
    };
    let state = session.repo.write_index_state(&index, stage0)?;
    Ok(NewIndex {
        target: IndexTarget::State { state },
        index,
    })
}

fn refuse_collisions(session: &Session, target: &Target) -> Result<()> {
    if session.repo.config_bool("core.ignoreCase") != Some(true) {
        return Ok(());
    }
    let before = session.repo.load_index()?;
    let index = session.repo.index_of_tree(target.tree, &before)?;
    match index.folded_collision() {
        None => Ok(()),
        Some((one, other)) => Err(Error::new(
            Code::PathCollision,
            format!("'{one}' and '{other}' are one file on this file system; nothing has changed"),
        )
        .detail("paths", [one, other])),
    }
}

/// Plans the files by which git knows what it is in the middle of.
fn state_files(repo: &Repo, target: &Target) -> Result<Vec<StateFile>> {
    let files = target.in_progress.iter().flat_map(|now| &now.files);
    files
        .map(|(name, blob)| StateFile::becoming(repo, *name, Some(&repo.read_blob(*blob)?)))
        .collect()
}

fn branch_change(head: &Head, new: Option<Oid>) -> Option<RefChange> {
    let old = head.commit();
    (old != new).then(|| RefChange {
        name: head.moving_ref(),
        old,
        new,
    })
}
