//! Taking an operation back, and taking that back again.
//!
//! An undo is an operation like any other: it moves refs to their old values, puts the very index
//! file back, and moves files back from where they were kept. Nothing is copied or filtered.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::index::Index;
use crate::git::snapshot::Unstorable;
use crate::git::{Oid, RefChange};
use crate::model::id::OperationId;
use crate::model::{Code, Error, RepoPath, Result, text};
use crate::store::Session;
use crate::store::operation::log::LogEntry;
use crate::store::operation::moves;
use crate::store::operation::record::{HeadRecord, IndexTarget, Source};
use crate::store::operation::run::{Intent, NewIndex, Plan, Touches};
use crate::store::operation::{FileMoves, Kind, Log, Operation, Record};
use crate::store::places::Places;

use super::histories::published_among;
use super::kept::Kept;
use super::left_out::Allowances;
use super::worktree::{
    cwd_in_worktree, is_checkpoint_tag, open_worktree, refuse_in_progress, run_post_checkout,
    snapshot_commit,
};

/// Which way to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Take back the newest operation that stands.
    Undo,
    /// Take back the newest undo.
    Redo,
}

impl Direction {
    fn kind(self) -> Kind {
        match self {
            Direction::Undo => Kind::Undo,
            Direction::Redo => Kind::Redo,
        }
    }
}

/// What was taken back.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UndoReport {
    /// The new operation; `None` in a dry run.
    pub op: Option<OperationId>,
    /// The operation whose effect was taken back (undo) or brought back (redo).
    pub undone: OperationId,
    /// What this did, for people.
    pub summary: String,
    /// What the operation taken or brought back did.
    pub what: String,
    /// Which way it went.
    #[serde(skip)]
    pub direction: Direction,
    /// The refs that moved.
    pub refs: Vec<RefChange>,
    /// How many files were put back.
    pub files_restored: usize,
    /// How many files were moved aside.
    pub files_moved_aside: usize,
    /// Commits that left the branch although a remote has them.
    pub published: usize,
    /// True when nothing was changed because a dry run was asked for.
    pub dry_run: bool,
}

/// Takes back the newest operation of this worktree, or the newest undo.
///
/// # Errors
/// `nothing-to-undo`; `external-change` when HEAD, the index or a ref is no longer as the operation
/// left it; `published-commits` without `force`; `object-missing` when a kept file is gone.
pub fn run(session: &Session, direction: Direction, force: bool) -> Result<UndoReport> {
    refuse_in_progress(session, direction.kind().as_str())?;
    if Places::find(&session.repo)?.is_none() {
        return Err(nothing(direction));
    }
    let intent = Intent {
        kind: direction.kind(),
        touches: Touches::Worktree,
    };
    let operation = Operation::begin(session, intent)?;
    let log = Log::read(&session.repo, &operation.places)?;
    let step = Step::plan(session, &operation.places, &log, direction, force)?;
    let entry = &step.entry;
    entry.record.revive_tags(&session.repo, entry.commit)?;
    if let Some(snapshot) = entry.record.snapshot {
        let tree = session.repo.tree_of(Some(snapshot))?;
        let stage = operation.stage();
        session
            .repo
            .stage_files(&session.world, tree, &step.restaged, &stage)?;
    }
    let (old, new) = (
        step.kept.scan.head.commit(),
        entry.record.before.head.commit,
    );
    let mut report = step.report;
    let snapshot = snapshot_commit(session, &step.kept, &report.summary)?;
    let record = operation.commit(Plan {
        summary: report.summary.clone(),
        head: step.kept.scan.head.clone(),
        refs: report.refs.clone(),
        index_before: (step.kept.scan.index(), step.kept.snapshot.index_tree),
        index: step.index,
        files: step.moves,
        snapshot: Some(snapshot),
        inverts: Some(entry.record.op),
    })?;
    report.op = Some(record.op);
    run_post_checkout(session, &record, old, new);
    Ok(report)
}

/// Tells what [`run`] would do, and changes nothing.
///
/// # Errors
/// As [`run`].
pub fn preview(session: &Session, direction: Direction, force: bool) -> Result<UndoReport> {
    refuse_in_progress(session, direction.kind().as_str())?;
    let Some(places) = Places::find(&session.repo)? else {
        return Err(nothing(direction));
    };
    let log = Log::read(&session.repo, &places)?;
    let mut report = Step::plan(session, &places, &log, direction, force)?.report;
    report.dry_run = true;
    Ok(report)
}

fn require_next(log: &Log, direction: Direction) -> Result<&LogEntry> {
    let next = match direction {
        Direction::Undo => log.next_undo(),
        Direction::Redo => log.next_redo(),
    };
    next.ok_or_else(|| nothing(direction))
}

fn nothing(direction: Direction) -> Error {
    let verb = direction.kind().as_str();
    Error::new(
        Code::NothingToUndo,
        format!("there is nothing to {verb} in this worktree"),
    )
    .hint("git colony ops")
}

/// Everything known before the commit point.
struct Step {
    entry: LogEntry,
    kept: Kept,
    moves: FileMoves,
    index: Option<NewIndex>,
    /// Files that come from blobs because what was kept of them is gone.
    restaged: BTreeSet<RepoPath>,
    report: UndoReport,
}

impl Step {
    fn plan(
        session: &Session,
        places: &Places,
        log: &Log,
        direction: Direction,
        force: bool,
    ) -> Result<Step> {
        let entry = require_next(log, direction)?.clone();
        let record = &entry.record;
        let current = session.repo.load_index()?;
        refuse_external_change(session, record, &current)?;
        let kept = Kept::look(session, &Allowances::default(), Unstorable::LeaveOut)?;
        let published = published(session, record)?;
        if published > 0 && !force {
            return Err(Error::new(
                Code::PublishedCommits,
                format!(
                    "{} of {} on a remote already; nothing was done",
                    text::count(published, "commit"),
                    record.op
                ),
            )
            .hint("git revert takes them back for everybody; --force takes them back here only"));
        }
        let files = open_worktree(session)?;
        let cwd = cwd_in_worktree(session);
        let mut moves = moves::plan_inverse(&files, record, cwd.as_ref())?;
        let restaged = replace_lost_sources(session, places, record, &mut moves)?;
        let origin = origin_of(log, record);
        let report = UndoReport {
            op: None,
            undone: origin.op,
            summary: format!(
                "{} {} ({})",
                direction.kind().as_str(),
                origin.op,
                origin.summary
            ),
            what: origin.summary.clone(),
            direction,
            refs: record.refs.iter().map(RefChange::inverse).collect(),
            files_restored: moves.place.len(),
            files_moved_aside: moves.aside.len(),
            published,
            dry_run: false,
        };
        let index = old_index(session, places, record, &current)?;
        Ok(Step {
            entry,
            kept,
            moves,
            index,
            restaged,
            report,
        })
    }
}

/// Follows undo and redo to the operation they are about.
fn origin_of<'a>(log: &'a Log, record: &'a Record) -> &'a Record {
    let mut record = record;
    while let Some(entry) = record.inverts.and_then(|id| log.find(id)) {
        record = &entry.record;
    }
    record
}

/// Compares HEAD, index and refs with what the operation left.
fn refuse_external_change(session: &Session, record: &Record, current: &Index) -> Result<()> {
    let mut changed = Vec::new();
    let head = HeadRecord::from(&session.repo.head()?);
    if head.name != record.after.head.name {
        changed.push(format!(
            "HEAD is on '{}', not '{}'",
            head.name.short(),
            record.after.head.name.short()
        ));
    } else if head.commit != record.after.head.commit {
        changed.push(format!("'{}' has moved", head.name.short()));
    }
    for change in record
        .refs
        .iter()
        .filter(|change| change.name != record.after.head.name)
    {
        if session.repo.find_ref(&change.name)? != change.new {
            changed.push(format!("'{}' has moved", change.name));
        }
    }
    if current.fingerprint() != record.after.index {
        changed.push("the index has changed".to_owned());
    }
    if changed.is_empty() {
        return Ok(());
    }
    Err(Error::new(
        Code::ExternalChange,
        format!(
            "something else changed the repository since {} ({}): {}; nothing was done",
            record.op,
            record.summary,
            changed.join(", ")
        ),
    )
    .detail("changes", &changed)
    .detail("op", record.op)
    .hint(format!(
        "git colony restore {}   # brings back the state before that operation",
        record.op
    )))
}

/// Counts commits that would leave the branch and that a remote-tracking branch holds.
fn published(session: &Session, record: &Record) -> Result<usize> {
    let mut count = 0;
    for change in record
        .refs
        .iter()
        .filter(|change| !is_checkpoint_tag(&change.name.to_string()))
    {
        let Some(tip) = change.new else { continue };
        let staying: Vec<Oid> = change.old.into_iter().collect();
        let leaving = session.repo.commits_between(tip, &staying, 1_000)?.len();
        count += published_among(session, tip, &staying, leaving)?;
    }
    Ok(count)
}

/// Where a kept file is gone, takes its content from the snapshot the operation made.
fn replace_lost_sources(
    session: &Session,
    places: &Places,
    record: &Record,
    moves: &mut FileMoves,
) -> Result<BTreeSet<RepoPath>> {
    let mut restaged = BTreeSet::new();
    let snapshot = session.repo.tree_of(record.snapshot)?;
    for place in &mut moves.place {
        let Source::Kept { operation, number } = &place.source else {
            continue;
        };
        let kept = places.kept_by(*operation).join(number.to_string());
        if std::fs::symlink_metadata(&kept).is_ok() {
            continue;
        }
        let Some(id) = session.repo.entry_in(snapshot, place.path.as_path())? else {
            return Err(Error::new(
                Code::ObjectMissing,
                format!(
                    "'{}' was kept at '{}' and is gone; nothing has changed",
                    place.path,
                    kept.display()
                ),
            )
            .detail("path", &place.path));
        };
        place.source = Source::Staged { id };
        restaged.insert(place.path.clone());
    }
    Ok(restaged)
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
    Ok(Some(NewIndex {
        target: IndexTarget::File {
            operation: record.op,
            state,
        },
        index,
    }))
}
