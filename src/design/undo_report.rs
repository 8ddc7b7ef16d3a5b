//! What an undo or redo says it did.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::{Oid, RefChange, RefName};
use crate::model::id::OperationId;
use crate::store::operation::{LateFile, Log, Record};

use super::undo::Direction;
use super::undo_files::FilesBack;
use super::undo_next::origin_of;

/// HEAD from one branch to another; `HEAD` stands for none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HeadSwitch {
    /// The branch before.
    pub old: RefName,
    /// The branch after.
    pub new: RefName,
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
    /// Where HEAD went, if it changed the branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<HeadSwitch>,
    /// Commits that left a branch although a remote has them (at most 1,000 for each).
    pub published: Vec<Oid>,
    /// Files that somebody wrote while files moved, then or now, and that do not come back by this.
    pub kept_late: Vec<LateFile>,
    /// True when this is what a command that was cut off had begun: nothing else was done.
    pub completed: bool,
    /// True when nothing was changed because a dry run was asked for.
    pub dry_run: bool,
}

impl UndoReport {
    /// Tells of a step that is planned.
    pub(super) fn of_step(
        (origin, record): (&Record, &Record),
        direction: Direction,
        (refs, published): (Vec<RefChange>, Vec<Oid>),
        back: &FilesBack,
    ) -> UndoReport {
        let verb = direction.kind().as_str();
        UndoReport {
            op: None,
            undone: origin.op,
            summary: format!("{verb} {} ({})", origin.op, origin.summary),
            what: origin.summary.clone(),
            direction,
            refs,
            head: record.switches_head().then(|| HeadSwitch {
                old: record.after.head.name.clone(),
                new: record.before.head.name.clone(),
            }),
            files_restored: back.moves.place.len(),
            files_moved_aside: back.moves.aside.len(),
            published,
            kept_late: back.kept_late.clone(),
            completed: false,
            dry_run: false,
        }
    }

    /// Tells of an undo or redo that was cut off and is complete now.
    pub(super) fn of_completed(log: &Log, record: &Record, direction: Direction) -> UndoReport {
        let undone = record.inverts.unwrap_or(record.op);
        let origin = log
            .find(undone)
            .map_or(record, |entry| origin_of(log, &entry.record));
        UndoReport {
            op: Some(record.op),
            undone: origin.op,
            summary: record.summary.clone(),
            what: origin.summary.clone(),
            direction,
            refs: record.refs.clone(),
            files_restored: record.files.place.len(),
            files_moved_aside: record.files.aside.len(),
            head: record.switches_head().then(|| HeadSwitch {
                old: record.before.head.name.clone(),
                new: record.after.head.name.clone(),
            }),
            published: Vec::new(),
            kept_late: Vec::new(),
            completed: true,
            dry_run: false,
        }
    }
}
