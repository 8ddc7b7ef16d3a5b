//! Undoes an operation, and redoes it. Reasons to refuse: `undo_next` (no operation, git in progress), `undo_refs` (refs
//! have moved), `undo_files` (files), `plain_git` (changes by git), `last_copies` (a checkpoint has the last copies),
//! `undo_steps` (several steps).
//!
//! An undo is an operation like any other: it moves refs to their old values, puts the very index
//! file back, and moves files back from where they were kept. Nothing is copied or filtered.

mod last_copies;
pub mod plain_git;
mod undo_files;
pub(crate) mod undo_next;
pub mod undo_preview;
mod undo_refs;
pub mod undo_report;
mod undo_settled;
pub mod undo_steps;

use std::collections::BTreeSet;

use crate::git::RefChange;
use crate::git::index::Index;
use crate::git::worktree::scan::Scan;
use crate::git::worktree::snapshot::Unstorable;
use crate::model::id::OperationId;
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::agent_policy::protected_branches;
use crate::store::files::places::Places;
use crate::store::large_files::retained_objects;
use crate::store::lock::WorktreeLock;
use crate::store::operation::commit_point::{Pending, refuse_nested};
use crate::store::operation::external_changes::record as record_external;
use crate::store::operation::log::LogEntry;
use crate::store::operation::operation_record::{HeadRecord, IndexTarget};
use crate::store::operation::plan::{Intent, NewIndex, Plan, Touches};
use crate::store::operation::{
    FileMoves, Kind, Log, Operation, Record, StateFile, SubmoduleSnapshot, recover,
};
use crate::store::{Session, lease};

use super::checkpoint::left_out::Allowances;
use super::checkpoint::worktree_snapshot::Kept;
use super::submodule::snapshots::SubmoduleStates;
use super::worktree::{run_post_checkout, snapshot_commit};
use undo_files::{FilesBack, back_to_branch};
use undo_next::{acts_since, nothing, origin_of, refuse_foreign_progress, require_next};
use undo_refs::{moved_home, refs_back, with_new_versions};
use undo_report::{RefMoves, UndoReport};

/// The direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Undo the newest operation in effect.
    Undo,
    /// Undo this entry of the log, which changed only shared records: plain git's changes since stay.
    Alone(OperationId),
    /// Redo the newest undo.
    Redo,
    /// Undo the newest operation that changed HEAD, index or files; refs moved since stay.
    Abort,
}

impl Direction {
    pub(super) fn kind(self) -> Kind {
        match self {
            Direction::Undo | Direction::Alone(_) | Direction::Abort => Kind::Undo,
            Direction::Redo => Kind::Redo,
        }
    }
}

/// Undoes the newest operation of this worktree, or redoes the newest undo; in a dry run, says what would come back.
pub fn run(session: &Session, direction: Direction, force: bool) -> Result<UndoReport> {
    if session.is_dry() {
        return preview(session, direction, force);
    }
    refuse_foreign_progress(session, direction)?;
    if Places::find(&session.repo)?.is_none() {
        return Err(nothing(session, None, direction));
    }
    if let Some(completed) = complete(session, direction)? {
        return Ok(completed);
    }
    let intent = Intent { kind: direction.kind(), touches: Touches::Worktree };
    let mut operation = begin(session, intent, direction, force)?;
    let log = Log::read(&session.repo, &operation.places)?;
    let step = Step::plan(session, &operation.places, &log, Wanted { direction, force })?;
    let entry = &step.entry;
    entry.record.revive_tags(&session.repo, entry.commit)?;
    operation.unignored.clone_from(&entry.record.before.unignored);
    let repo = &session.repo;
    for file in &entry.record.state_files {
        let before = file.before.map(|blob| repo.read_blob(blob)).transpose()?;
        let file = StateFile::becoming(repo, file.name, before.as_deref())?;
        operation.state_files.push(file);
    }
    if entry.record.switches_head() {
        operation.head_after = Some(step.head.clone());
    }
    if let Some(tree) = step.back.tree {
        let stage = operation.stage();
        retained_objects::stage(session, tree, &step.back.restaged, &stage)?;
    }
    let (old, new) = (step.kept.scan.head.commit(), step.head.commit);
    let mut report = step.report;
    let snapshot = snapshot_commit(session, &step.kept, &report.summary)?;
    operation.submodules = keep_submodules(session, &operation, &step.kept, &step.back.moves)?;
    let done = operation.commit(Plan {
        summary: report.summary.clone(),
        head: step.kept.scan.head.clone(),
        refs: report.refs.clone(),
        index_before: (step.kept.scan.index(), step.kept.snapshot.index_tree),
        index: step.index,
        files: step.back.moves,
        snapshot: Some(snapshot),
        inverts: Some(entry.record.op),
    })?;
    report.op = done.op;
    report.kept_late.extend(done.late);
    run_post_checkout(session, &done.record, old, new);
    Ok(report)
}

/// Keeps the edits inside submodules whose files move back.
fn keep_submodules(
    session: &Session,
    operation: &Operation<'_>,
    kept: &Kept,
    moves: &FileMoves,
) -> Result<Vec<SubmoduleSnapshot>> {
    let FileMoves { aside, place, .. } = moves;
    let moved: Vec<_> = aside.iter().chain(place.iter().map(|place| &place.path)).collect();
    let is_touched = |path: &&RepoPath| moved.iter().any(|moved| moved.is_at_or_below(path));
    let edited = kept.scan.edited_submodules.iter();
    let touched: Vec<_> = edited.filter(is_touched).cloned().collect();
    let mut states = SubmoduleStates::scan(session, &touched, &Allowances::default())?;
    states.hold(session, &operation.places.key)?;
    Ok(states.named())
}

/// Takes the locks. A refusal records no change of plain git; a forced undo needs it in the log, and a step that is
/// undone alone comes after it.
fn begin(
    session: &Session,
    intent: Intent,
    direction: Direction,
    force: bool,
) -> Result<Operation<'_>> {
    if let Direction::Alone(_) = direction {
        return Operation::begin(session, intent);
    }
    let takes_all = force && direction == Direction::Undo;
    Operation::begin_after(session, intent, |places, tail| {
        let log = Log::read(&session.repo, places)?;
        let unrecorded = plain_git::unrecorded(session, &log, direction)?.filter(|_| takes_all);
        unrecorded
            .map(|unrecorded| record_external(session, places, tail.next, unrecorded))
            .transpose()
    })
}

/// Completes an undo or redo that was interrupted past its commit point. A user who runs it again
/// wants that one: another step would be one too many.
fn complete(session: &Session, direction: Direction) -> Result<Option<UndoReport>> {
    let Some(places) = Places::find(&session.repo)? else {
        return Ok(None);
    };
    let is_same = |pending: &Pending| pending.kind == direction.kind();
    let Some(pending) = recover::pending(&places)?.filter(is_same) else {
        return Ok(None);
    };
    refuse_nested(session)?;
    session.refuse_reader()?;
    lease::require(session)?;
    let lock = WorktreeLock::take(&session.world, &session.repo, session.wait_limit())?;
    // A living process completes its own.
    let is_left = recover::pending(&places)?.is_some_and(|left| left.op == pending.op);
    if !is_left {
        return Ok(None);
    }
    recover::recover(session, &places)?;
    drop(lock);
    let log = Log::read(&session.repo, &places)?;
    let Some(entry) = log.find(pending.op) else {
        // It was interrupted before its commit point.
        return Ok(None);
    };
    session.note_change();
    let report = UndoReport::of_completed(&session.repo, &log, &entry.record, direction);
    Ok(Some(report))
}

/// Returns the report of [`run`], and changes nothing, also in a session that is not dry.
pub fn preview(session: &Session, direction: Direction, force: bool) -> Result<UndoReport> {
    refuse_foreign_progress(session, direction)?;
    let Some(places) = Places::find(&session.repo)? else {
        return Err(nothing(session, None, direction));
    };
    let mut log = Log::read(&session.repo, &places)?;
    let unrecorded = plain_git::unrecorded(session, &log, direction)?;
    if let Some(unrecorded) = unrecorded.filter(|_| force && direction == Direction::Undo) {
        let entry = plain_git::rehearse(session, &places, unrecorded)?;
        log.entries.push(entry);
    }
    let mut report = Step::plan(session, &places, &log, Wanted { direction, force })?.report;
    report.dry_run = true;
    Ok(report)
}

/// Returns the error with which an undo refuses after this scan, if it does. Only the files are read that the operation is
/// about, unless it switched the branch or opened a merge.
///
/// For a session that keeps objects in memory.
fn refusal(session: &Session, log: &Log, scan: &Scan) -> Result<Option<Error>> {
    let planned = refuse_foreign_progress(session, Direction::Undo).and_then(|()| {
        let places =
            Places::find(&session.repo)?.ok_or_else(|| nothing(session, None, Direction::Undo))?;
        let wanted = Wanted { direction: Direction::Undo, force: false };
        let scan_of = |record: &Record| match paths_of(session, log, record)? {
            Some(paths) => Ok(scan.limited_to(&paths)),
            None => session.repo.scan(&session.world),
        };
        Step::plan_from(session, &places, log, wanted, scan_of)
    });
    match planned {
        Ok(_) => Ok(None),
        Err(error) if error.code() == Code::Interrupted => Err(error),
        Err(error) => Ok(Some(error)),
    }
}

/// Returns the paths whose files decide whether an operation can be undone; `None` if any may.
fn paths_of(session: &Session, log: &Log, record: &Record) -> Result<Option<BTreeSet<RepoPath>>> {
    if record.opens_state() || moved_home(session, record)?.is_some() {
        return Ok(None);
    }
    let moved = record.files.place.iter().map(|place| &place.path).chain(&record.files.aside);
    let mut paths: BTreeSet<RepoPath> = moved.cloned().collect();
    if origin_of(log, record).kind != Kind::Checkpoint {
        return Ok(Some(paths));
    }
    for state in &origin_of(log, record).submodules {
        // It may be inside another one.
        paths.extend(state.path.ancestors());
        paths.insert(state.path.clone());
    }
    let repo = &session.repo;
    let before = repo.tree_of(record.before.head.commit)?;
    for made in record.refs.iter().filter_map(|change| repo.peel_to_commit(change.new?)) {
        let tree = repo.read_commit(made)?.tree;
        paths.extend(repo.diff_trees(before, tree)?.into_iter().map(|change| change.path));
    }
    Ok(Some(paths))
}

/// The step to take, and whether a refusal is overridden.
#[derive(Clone, Copy)]
struct Wanted {
    direction: Direction,
    force: bool,
}

/// Everything known before the commit point.
struct Step {
    entry: LogEntry,
    /// HEAD afterward, if the operation had switched it.
    head: HeadRecord,
    kept: Kept,
    back: FilesBack,
    index: Option<NewIndex>,
    report: UndoReport,
}

impl Step {
    fn plan(session: &Session, places: &Places, log: &Log, wanted: Wanted) -> Result<Step> {
        Step::plan_from(session, places, log, wanted, |_| session.repo.scan(&session.world))
    }

    /// Plans from the scan of an operation's files.
    fn plan_from(
        session: &Session,
        places: &Places,
        log: &Log,
        Wanted { direction, force }: Wanted,
        scan_of: impl FnOnce(&Record) -> Result<Scan>,
    ) -> Result<Step> {
        if let Some(unrecorded) = plain_git::unrecorded(session, log, direction)? {
            return Err(plain_git::refuse_unrecorded(session, &unrecorded, direction.kind())?);
        }
        let entry = require_next(session, log, direction)?.clone();
        let record = &entry.record;
        let origin = origin_of(log, record);
        if !force {
            plain_git::require_own(session, record, origin, direction)?;
        }
        let current = session.repo.load_trusted_index()?;
        let refs = with_new_versions(session, record, refs_back(session, record, force)?)?;
        require_unprotected(session, &refs)?;
        plain_git::refuse_branch_in_use(&session.repo, record, &refs)?;
        let newest = log.entries.last();
        let unignored = newest.map_or(&[][..], |entry| &entry.record.after.unignored);
        let (allowances, scan) = (Allowances::default(), scan_of(record)?);
        let kept = Kept::of(session, scan, &allowances, Unstorable::LeaveOut, unignored)?;
        let home = moved_home(session, record)?;
        let (back, index) = match home {
            Some(tip) => back_to_branch(session, places, (record, origin), &kept, tip)?,
            None => (
                FilesBack::plan(session, places, record, &kept, direction)?,
                old_index(session, places, record, &current)?,
            ),
        };
        let mut head = match direction {
            Direction::Alone(_) => HeadRecord::from(&kept.scan.head),
            _ => record.before.head.clone(),
        };
        head.commit = home.or(head.commit);
        let gone = RefMoves::by_moves(&session.repo, origin, &head, refs);
        if direction == Direction::Undo && !force {
            last_copies::refuse_lost(session, (record, origin), &gone, &kept)?;
        }
        let mut report = UndoReport::of_step((origin, record), direction, gone, &back);
        if direction == Direction::Undo {
            report.acts_since = acts_since(session, log, entry.record.op);
            report.not_undone = report.acts_since.first().cloned();
        }
        Ok(Step { entry, head, kept, back, index, report })
    }
}

/// Refuses to move protected branches, for an agent.
fn require_unprotected(session: &Session, refs: &[RefChange]) -> Result<()> {
    let moved = refs.iter().filter(|change| change.old != change.new);
    protected_branches::require(session, moved.map(|change| &change.name))
}

fn old_index(
    session: &Session,
    places: &Places,
    record: &Record,
    current: &Index,
) -> Result<Option<NewIndex>> {
    if record.index.is_none() {
        return Ok(None);
    }
    let state = record.index_before;
    let kept = places.kept_index(record.op);
    let index = match session.repo.load_index_at(&kept) {
        Ok(index) if kept.exists() => index,
        _ => session.repo.index_of_state(state, current)?,
    };
    Ok(Some(NewIndex { target: IndexTarget::File { operation: record.op, state }, index }))
}
