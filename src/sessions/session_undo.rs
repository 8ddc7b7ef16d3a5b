//! `undo --session ID -n`: the steps that it would take to undo all of a session's work, and the work of others that
//! they would undo with it.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::undo::Direction;
use crate::design::undo::undo_next::origin_of;
use crate::design::undo::undo_report::UndoReport;
use crate::design::undo::undo_steps::{Request, Steps};
use crate::git::{Oid, Repo};
use crate::model::id::{OperationId, SessionId};
use crate::model::{Code, Error, Result};
use crate::operations::undo;
use crate::store::Session;
use crate::store::operation::{Kind, Log, Record};

use super::SessionPlace;

/// An operation that is not of the session.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OtherOperation {
    /// The operation.
    pub op: OperationId,
    /// Its summary.
    pub summary: String,
}

/// The undo of a session's work.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SessionUndoReport {
    /// The session.
    pub session_id: SessionId,
    /// The number of steps that undo would take.
    pub steps: usize,
    /// The operations of the session among them, the next one first.
    pub operations: Vec<OperationId>,
    /// The operations of others among them, the next one first.
    pub others: Vec<OtherOperation>,
    /// The code with which undo would refuse without '--force'; null if it would not.
    pub refused_as: Option<&'static str>,
    /// The command that takes these steps.
    pub command: String,
    /// The steps.
    pub preview: UndoReport,
    /// Always true: only a dry run answers this.
    pub dry_run: bool,
}

/// Returns the steps that would undo all of a session's work.
pub fn preview(session: &Session, name: &str) -> Result<SessionUndoReport> {
    let place = SessionPlace::find(&session.world, Some(session), true)?;
    let known = place.find_session(Some(name))?;
    let events = known.log.events.iter();
    let own: BTreeSet<(OperationId, Option<Oid>)> = events
        .filter_map(|event| {
            let op = OperationId::parse(event.text("op")?)?;
            Some((op, event.text("sha").and_then(Oid::parse)))
        })
        .collect();
    let is_own = |record: &Record| is_among(&session.repo, record, &own);
    let log = Log::here(&session.repo)?;
    let stack: Vec<_> =
        log.steps(Kind::Undo).into_iter().map(|entry| origin_of(&log, &entry.record)).collect();
    let Some(oldest) = stack.iter().rposition(|record| is_own(record)) else {
        let id = known.id.as_str();
        let message = format!("no operation of session '{id}' can be undone");
        return Err(Error::new(Code::NothingToUndo, message)
            .unchanged()
            .hint(format!("git colony session show {id}")));
    };
    let steps = oldest + 1;
    let (operations, others): (Vec<_>, Vec<_>) =
        stack.into_iter().take(steps).partition(|record| is_own(record));
    let request =
        |force| Request { direction: Direction::Undo, steps: Steps::Newest(steps), force };
    let refused = undo::run(session, request(false)).err();
    let force = if refused.is_some() { " --force" } else { "" };
    Ok(SessionUndoReport {
        session_id: known.id,
        steps,
        operations: operations.iter().map(|record| record.op).collect(),
        others: others
            .iter()
            .map(|record| OtherOperation { op: record.op, summary: record.summary.clone() })
            .collect(),
        refused_as: refused.map(|error| error.code().as_str()),
        command: format!("git colony undo {steps}{force}"),
        preview: undo::run(session, request(true))?,
        dry_run: true,
    })
}

/// Returns `true` if one of the events is of an operation: its number says nothing in another repository, so the commit
/// has to be one that the operation made or left at HEAD.
fn is_among(repo: &Repo, record: &Record, events: &BTreeSet<(OperationId, Option<Oid>)>) -> bool {
    let new = record.refs.iter().filter_map(|change| change.new);
    let made = new.map(|new| repo.peel_to_commit(new));
    let mut commits = made.chain([record.after.head.commit]);
    commits.any(|commit| events.contains(&(record.op, commit)))
}
