//! Finds the operation that an undo or redo is about, and early reasons to refuse it.

use crate::design::worktree::{opened_by_us, refuse_in_progress};
use crate::model::id::OperationId;
use crate::model::{Code, Error, Result};
use crate::store::Session;
use crate::store::operation::last_act::{self, LastAct};
use crate::store::operation::{Log, LogEntry, Record};

use super::Direction;

/// Refuses while git has something in progress, unless the newest operation opened it.
pub(in crate::design) fn refuse_foreign_progress(
    session: &Session,
    direction: Direction,
) -> Result<()> {
    if session.repo.in_progress().is_none() {
        return Ok(());
    }
    if opened_by_us(session)? {
        return Ok(());
    }
    refuse_in_progress(session, direction.kind().as_str())
}

/// Returns the operation to undo or redo.
pub(in crate::design) fn require_next<'a>(
    session: &Session,
    log: &'a Log,
    direction: Direction,
) -> Result<&'a LogEntry> {
    let next = match direction {
        Direction::Undo => log.next_undo(),
        Direction::Alone(operation) => log.find(operation),
        Direction::Abort => log.next_abort(),
        Direction::Redo => log.next_redo(),
    };
    next.ok_or_else(|| {
        let newest = log.entries.last().map(|entry| entry.record.op);
        nothing(session, newest, direction)
    })
}

/// Makes the error that there is no operation to undo; adds how to revert a later command that undo
/// does not cover.
pub(in crate::design) fn nothing(
    session: &Session,
    newest: Option<OperationId>,
    direction: Direction,
) -> Error {
    let verb = direction.kind().as_str();
    let error = |message: String| Error::new(Code::NothingToUndo, message);
    let is_last = |next: Option<OperationId>| {
        newest.is_none_or(|newest| next.is_some_and(|next| newest < next))
    };
    let act = last_act::list(&session.repo, is_last).into_iter().next();
    match act.filter(|_| direction == Direction::Undo) {
        None => {
            error(format!("there is nothing to {verb} in this worktree")).hint("git colony ops")
        }
        Some(act) => error(format!(
            "nothing to {verb} in this worktree; it does not cover '{}'",
            act.command
        ))
        .detail("not_undone", &act)
        .hint(act.way_back),
    }
}

/// Returns the commands since an operation that undo does not cover, the newest first. Those since
/// undone steps were reported at that time.
pub(in crate::design) fn acts_since(
    session: &Session,
    log: &Log,
    operation: OperationId,
) -> Vec<LastAct> {
    let above = log.next_redo().and_then(|undo| undo.record.inverts);
    let newest = log.entries.last().map(|entry| entry.record.op);
    let reported = above.zip(newest);
    let is_news = |next: OperationId| {
        let is_told = reported.is_some_and(|(above, newest)| above < next && next <= newest);
        operation < next && !is_told
    };
    last_act::list(&session.repo, |next| next.is_some_and(is_news))
}

/// Follows undo and redo to the operation they are about.
pub(crate) fn origin_of<'a>(log: &'a Log, record: &'a Record) -> &'a Record {
    let mut record = record;
    while let Some(entry) = record.inverts.and_then(|id| log.find(id)) {
        record = &entry.record;
    }
    record
}
