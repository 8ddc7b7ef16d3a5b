//! Decides about the records that are merged key by key: scopes, knowledge, blackboards. Each is joined with its version on
//! the remote and with the outboxes beside that.

use crate::git::{Oid, RefName};
use crate::model::{Code, Result};
use crate::records::outbox::Writer;
use crate::records::rules::Sides;
use crate::records::verdict::SyncVerdict;
use crate::store::Session;

use super::both_sides::BothSides;
use super::outboxes::{self, RecordSides};
use super::plan::{Step, Wish, joined_step, step};
use super::{SyncResult, Way};

/// The maximum number of outboxes of one record that are joined at once.
const MAX_JOINED: usize = 200;

/// Decides about a record that is merged key by key, with the outboxes for it.
pub(super) fn decide(
    session: &Session,
    snapshot: &BothSides,
    name: &RefName,
    wish: Wish<'_>,
) -> Result<Vec<Step>> {
    let (repo, way, sides) = (&session.repo, wish.way, snapshot.sides(name));
    let outboxes = snapshot.outboxes_of(name);
    let theirs = sides.theirs.iter().chain(outboxes.values());
    if theirs.copied().any(|id| repo.object_size(id).is_none()) {
        // A dry run has fetched nothing.
        if session.is_dry() {
            return Ok(guessed_step(name, &sides, way).into_iter().collect());
        }
        return Ok(vec![Step::stuck(name, &sides, "its version there was not fetched".to_owned())]);
    }
    // A name that the remote has for something else is not free.
    let is_free = |writer: &Writer| {
        writer.outbox(name).is_some_and(|outbox| !snapshot.invalid.contains_key(&outbox))
    };
    let writer = outboxes::writer(session).filter(is_free);
    let record = RecordSides {
        name,
        sides: snapshot.sides(name),
        outboxes: &outboxes,
        writer: writer.as_ref(),
        is_contended: wish.is_contended,
        at_once: MAX_JOINED,
        draw: (session.world.entropy)(),
    };
    let fold = match record.fold(repo) {
        Ok(Some(fold)) => fold,
        Ok(None) => {
            return Ok(step(name, &sides, SyncVerdict::Conflict, way).into_iter().collect());
        }
        Err(error) if error.code() == Code::ValueTooLarge => {
            return Ok(vec![Step::stuck(name, &sides, error.message())]);
        }
        Err(error) => return Err(error),
    };
    let mut decided = match (fold.joint, sides.ours, sides.theirs) {
        (joint, ours, theirs) if joint == theirs && joint == ours => {
            step(name, &sides, SyncVerdict::UpToDate, way)
        }
        (joint, _, theirs) if joint == theirs => step(name, &sides, SyncVerdict::Fetch, way),
        (joint, ours, _) if joint == ours => step(name, &sides, SyncVerdict::Push, way),
        (Some(joint), _, _) => Some(joined_step(name, &sides, joint, way)),
        (None, _, _) => None,
    };
    if let Some(step) = decided.as_mut().filter(|_| way != Way::Fetch) {
        let post = fold.post.filter(|_| step.remote_move.is_some());
        if let Some(post) = post {
            // A copy of this repository uses the same name: the next post has a new one.
            let writer = writer.filter(|_| !fold.is_copied);
            if fold.is_copied {
                let said = "note: a copy of this repository syncs as well; this one has a new name";
                (session.world.narrate)(said);
            }
            step.post = outboxes::post(session, name, &outboxes, writer, post);
        }
        step.is_posted = fold.is_posted;
        step.folded = outboxes::deletions(name, &outboxes, &fold.folded);
    }
    let left = fold
        .unjoined
        .into_iter()
        .filter_map(|(writer, why)| unjoined(snapshot, name, &writer, why));
    Ok(decided.into_iter().chain(left).collect())
}

/// Leaves an outbox alone that cannot be joined.
fn unjoined(
    snapshot: &BothSides,
    record: &RefName,
    writer: &Writer,
    reason: String,
) -> Option<Step> {
    let outbox = writer.outbox(record)?;
    let mut step = Step::still(&outbox, &snapshot.sides(&outbox), SyncResult::Invalid);
    step.row.hint = snapshot.deletion_of(&outbox);
    step.row.reason = Some(reason);
    Some(step)
}

/// Decides about a record of which not all versions are here.
fn guessed_step(name: &RefName, sides: &Sides<Oid>, way: Way) -> Option<Step> {
    match sides.ours {
        Some(ours) => Some(joined_step(name, sides, ours, way)),
        None => step(name, sides, SyncVerdict::Fetch, way),
    }
}
