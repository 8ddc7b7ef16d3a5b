//! The report of an undo or redo.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use crate::design::checkpoint::tag_message::TagMessage;
use crate::design::restore::abandoned_commits::{self, LeavingCommits};
use crate::design::restore::remote_commits::RemoteCommits;
use crate::git::{RefChange, RefName, Repo};
use crate::model::Error;
use crate::model::id::OperationId;
use crate::store::operation::last_act::LastAct;
use crate::store::operation::operation_record::HeadRecord;
use crate::store::operation::{LateFile, Log, Record};
use crate::store::refs::ref_names;

use super::Direction;
use super::undo_files::FilesBack;
use super::undo_next::origin_of;

/// HEAD from one branch to another; `HEAD` stands for a detached HEAD.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HeadSwitch {
    /// The branch before.
    pub old: RefName,
    /// The branch after.
    pub new: RefName,
}

/// The operation that was undone.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UndoReport {
    /// The new operation; `None` in a dry run.
    pub op: Option<OperationId>,
    /// The operation that was undone (undo) or redone (redo).
    ///
    /// `None` if undo would refuse.
    pub undone: Option<OperationId>,
    /// The summary of the new operation.
    pub summary: String,
    /// The summary of the operation that was undone or redone.
    pub what: String,
    /// The direction.
    #[serde(skip)]
    pub direction: Direction,
    /// The refs that moved.
    pub refs: Vec<RefChange>,
    /// The number of files that were put back.
    pub files_restored: usize,
    /// The number of files that were moved aside.
    pub files_moved_aside: usize,
    /// The move of HEAD, if it changed the branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<HeadSwitch>,
    /// Commits that left a branch; the operation keeps them.
    pub leaving_commits: Vec<LeavingCommits>,
    /// Checkpoints that are gone; redo restores them, or undo if a redo deleted them.
    pub checkpoints_gone: Vec<GoneCheckpoint>,
    /// Commits that left a branch and that its remote has: it does not accept the next push.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_remote: Option<RemoteCommits>,
    /// Files that another process wrote while files moved, then or now, and that this does not
    /// restore.
    pub kept_late: Vec<LateFile>,
    /// The last later command that stays, because undo does not cover it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_undone: Option<LastAct>,
    /// All commands since then that undo does not cover, the newest first.
    pub acts_since: Vec<LastAct>,
    /// Scopes that are mapped again, and whose pages must be made again here: 'map' makes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes_without_pages: Vec<String>,
    /// True if this completed an interrupted command: nothing else was done.
    pub completed: bool,
    /// The steps that the same command took before this one, in that order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierStep>,
    /// The reason for which the command would refuse; only a dry run reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
    /// True when nothing was changed because a dry run was asked for.
    pub dry_run: bool,
}

/// One of several steps; it has the fields of the answer, but no steps of its own.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct EarlierStep(UndoReport);

impl JsonSchema for EarlierStep {
    fn schema_name() -> Cow<'static, str> {
        "EarlierStep".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        // By reference it would be the whole answer, which says more.
        UndoReport::json_schema(generator)
    }
}

/// The reason for which undo or redo would refuse.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Refused {
    /// The code of the error.
    pub code: &'static str,
    /// Its message.
    pub message: String,
    /// The next command to try.
    pub hint: Option<String>,
}

/// A checkpoint whose ref is gone after the move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GoneCheckpoint {
    /// Its id.
    pub checkpoint_id: String,
    /// Its label.
    pub label: String,
}

/// The moves of the refs, and the checkpoints that are gone with them.
pub(in crate::design) struct RefMoves {
    pub(in crate::design) refs: Vec<RefChange>,
    pub(in crate::design) on_remote: Option<RemoteCommits>,
    pub(in crate::design) commits: Vec<LeavingCommits>,
    pub(in crate::design) checkpoints: Vec<GoneCheckpoint>,
}

impl RefMoves {
    /// Finds the checkpoints and commits that are gone after moves of refs; `head_after` is HEAD
    /// afterward.
    pub(in crate::design) fn by_moves(
        repo: &Repo,
        origin: &Record,
        head_after: &HeadRecord,
        refs: Vec<RefChange>,
    ) -> RefMoves {
        let mut checkpoints = Vec::new();
        for change in refs.iter().filter(|change| change.new.is_none()) {
            let Some((id, tag)) = ref_names::parse_checkpoint(&change.name).zip(change.old) else {
                continue;
            };
            if stands_elsewhere(repo, &id, &refs) {
                continue;
            }
            let checkpoint_id = format!("checkpoint/{id}");
            let tag = repo.find_tag(tag);
            let message = tag.map(|tag| TagMessage::read(&String::from_utf8_lossy(&tag.message)));
            let label = message.map(|message| message.label).filter(|label| !label.is_empty());
            let gone = GoneCheckpoint {
                label: label.unwrap_or_else(|| checkpoint_id.clone()),
                checkpoint_id,
            };
            // With 'colony.checkpoint.gitTags' it has a second ref.
            if !checkpoints.contains(&gone) {
                checkpoints.push(gone);
            }
        }
        RefMoves {
            commits: abandoned_commits::by_moves(repo, origin, head_after, &refs),
            on_remote: RemoteCommits::find(repo, &refs).map(|on_remote| RemoteCommits {
                is_rewritten: origin.moves_history(),
                ..on_remote
            }),
            refs,
            checkpoints,
        }
    }
}

/// Returns `true` if a checkpoint still has a ref in the other of its two places after the moves.
fn stands_elsewhere(repo: &Repo, id: &str, refs: &[RefChange]) -> bool {
    let stands = |place: &&str| {
        let name = RefName::from(format!("{place}{id}").as_str());
        match refs.iter().find(|change| change.name == name) {
            Some(change) => change.new.is_some(),
            None => repo.find_ref(&name).is_ok_and(|tip| tip.is_some()),
        }
    };
    ref_names::CHECKPOINT_PLACES.iter().any(stands)
}

impl UndoReport {
    /// Returns the report of a planned step.
    pub(in crate::design) fn of_step(
        (origin, record): (&Record, &Record),
        direction: Direction,
        gone: RefMoves,
        back: &FilesBack,
    ) -> UndoReport {
        let verb = direction.kind().as_str();
        UndoReport {
            op: None,
            undone: Some(origin.op),
            summary: format!("{verb} {} ({})", origin.op, origin.summary),
            what: origin.summary.clone(),
            direction,
            refs: gone.refs,
            head: record.switches_head().then(|| HeadSwitch {
                old: record.after.head.name.clone(),
                new: record.before.head.name.clone(),
            }),
            files_restored: back.moves.place.len(),
            files_moved_aside: back.moves.aside.len(),
            leaving_commits: gone.commits,
            checkpoints_gone: gone.checkpoints,
            on_remote: gone.on_remote,
            kept_late: back.kept_late.clone(),
            not_undone: None,
            acts_since: Vec::new(),
            scopes_without_pages: Vec::new(),
            completed: false,
            earlier: Vec::new(),
            refused: None,
            dry_run: false,
        }
    }

    /// Reports that the command would refuse.
    pub fn refused(direction: Direction, error: &Error) -> UndoReport {
        UndoReport {
            op: None,
            undone: None,
            summary: String::new(),
            what: String::new(),
            direction,
            refs: Vec::new(),
            files_restored: 0,
            files_moved_aside: 0,
            head: None,
            leaving_commits: Vec::new(),
            checkpoints_gone: Vec::new(),
            on_remote: None,
            kept_late: Vec::new(),
            not_undone: None,
            acts_since: Vec::new(),
            scopes_without_pages: Vec::new(),
            completed: false,
            earlier: Vec::new(),
            refused: Some(Refused {
                code: error.code().as_str(),
                message: error.message(),
                hint: error.hint_text().map(str::to_owned),
            }),
            dry_run: true,
        }
    }

    /// Reports a step that runs after others, from its log entry.
    pub(super) fn planned(
        (origin, record): (&Record, &Record),
        direction: Direction,
    ) -> UndoReport {
        let refs = record.refs.iter().map(|change| RefChange {
            name: change.name.clone(),
            old: change.new,
            new: change.old,
        });
        let gone = RefMoves {
            refs: refs.collect(),
            on_remote: None,
            commits: Vec::new(),
            checkpoints: Vec::new(),
        };
        let report = UndoReport::of_step((origin, record), direction, gone, &FilesBack::default());
        UndoReport {
            files_restored: record.files.aside.len(),
            files_moved_aside: record.files.place.len(),
            dry_run: true,
            ..report
        }
    }

    /// Puts the steps before this one to it.
    pub(super) fn after(mut self, mut before: UndoReport) -> UndoReport {
        self.earlier = std::mem::take(&mut before.earlier);
        self.earlier.push(EarlierStep(before));
        self
    }

    /// Returns all steps of the command, in the order in which they were taken.
    pub fn all(&self) -> impl Iterator<Item = &UndoReport> {
        let earlier = self.earlier.iter().map(|EarlierStep(step)| step);
        earlier.chain(std::iter::once(self))
    }

    /// Reports an interrupted undo or redo that is complete now.
    pub(in crate::design) fn of_completed(
        repo: &Repo,
        log: &Log,
        record: &Record,
        direction: Direction,
    ) -> UndoReport {
        let undone = record.inverts.unwrap_or(record.op);
        let origin = log.find(undone).map_or(record, |entry| origin_of(log, &entry.record));
        let gone = RefMoves::by_moves(repo, origin, &record.after.head, record.refs.clone());
        UndoReport {
            op: Some(record.op),
            undone: Some(origin.op),
            summary: record.summary.clone(),
            what: origin.summary.clone(),
            direction,
            refs: gone.refs,
            files_restored: record.files.place.len(),
            files_moved_aside: record.files.aside.len(),
            head: record.switches_head().then(|| HeadSwitch {
                old: record.before.head.name.clone(),
                new: record.after.head.name.clone(),
            }),
            leaving_commits: gone.commits,
            checkpoints_gone: gone.checkpoints,
            on_remote: gone.on_remote,
            kept_late: Vec::new(),
            not_undone: None,
            acts_since: Vec::new(),
            scopes_without_pages: Vec::new(),
            completed: true,
            earlier: Vec::new(),
            refused: None,
            dry_run: false,
        }
    }
}
