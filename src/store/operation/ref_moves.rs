//! Moves the refs and HEAD of an operation forward or back, and finds those that have moved. Every step can
//! be repeated.

use crate::git::refs::{ReflogReason, Switch};
use crate::git::{Oid, RefChange};
use crate::model::Result;
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::lock::ref_locks;

use super::operation_record::{HeadRecord, Record};

/// Returns the refs that are at this side of their change now.
pub(super) fn refs_at(
    session: &Session,
    record: &Record,
    side: impl Fn(&RefChange) -> Option<Oid>,
) -> Result<Vec<RefChange>> {
    let mut changes = Vec::new();
    for change in &record.refs {
        if change.old != change.new && session.repo.find_ref(&change.name)? == side(change) {
            changes.push(change.clone());
        }
    }
    Ok(changes)
}

/// Moves refs to complete an operation or to undo it.
pub(super) fn move_refs(
    session: &Session,
    places: &Places,
    record: &Record,
    changes: &[RefChange],
) -> Result<()> {
    with_reason(session, record, |why| {
        ref_locks::move_refs(session, &places.ref_locks(record.op), changes, why)
    })
}

/// Returns `true` if HEAD is on the same branch as `side`, or detached as there; the commit does not matter.
pub(super) fn head_is_on(session: &Session, side: &HeadRecord) -> Result<bool> {
    Ok(session.repo.head()?.moving_ref() == side.name)
}

/// Moves HEAD from one branch to the other if it is on the first; another HEAD stays as it is.
pub(super) fn switch_head(
    session: &Session,
    places: &Places,
    record: &Record,
    from: &HeadRecord,
    to: &HeadRecord,
) -> Result<()> {
    if from.name == to.name || !head_is_on(session, from)? {
        return Ok(());
    }
    with_reason(session, record, |why| {
        let note = places.ref_locks(record.op);
        ref_locks::point_head(session, &note, &switch_of(from, to), why)
    })
}

/// Returns the switch of HEAD between two sides of an operation.
pub(super) fn switch_of<'a>(from: &'a HeadRecord, to: &'a HeadRecord) -> Switch<'a> {
    Switch { from: (&from.name, from.commit), to: (&to.name, to.commit) }
}

fn with_reason(
    session: &Session,
    record: &Record,
    act: impl FnOnce(&ReflogReason<'_>) -> Result<()>,
) -> Result<()> {
    let who = session.record_signature();
    let operation = record.op.to_string();
    let text = format!("colony: complete {}", record.op);
    act(&ReflogReason { text: &text, who: &who, operation: &operation })
}
