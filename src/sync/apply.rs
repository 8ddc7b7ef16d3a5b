//! Applies the decisions: first here, then on the remote, then in the notes about both.

use std::collections::{BTreeMap, BTreeSet};

use crate::git::refs::{FoundRef, ReflogReason};
use crate::git::remote::{Pushed, Remote};
use crate::git::{RefChange, RefName, Signature};
use crate::model::text::{count, shell_word};
use crate::model::{Code, Result};
use crate::records::consent::Leave;
use crate::records::exchanged_refs;
use crate::store::Session;
use crate::store::refs::{own_refs, ref_names};

use super::both_sides::BothSides;
use super::plan::{self, Step};
use super::{Direction, Race, SyncResult, SyncedRef};

/// The result of one round.
pub(super) struct Done {
    /// The report of each ref.
    pub(super) rows: Vec<SyncedRef>,
    /// The refs that would have moved on the remote, with consent, and whether each would have been
    /// deleted.
    pub(super) waiting: Vec<(RefName, bool)>,
    /// Whether a ref moved meanwhile, here or there.
    pub(super) race: Race,
}

/// The other side, and whether anything may be sent there.
pub(super) struct Peer<'a> {
    pub(super) remote: &'a Remote<'a>,
    pub(super) leave: &'a Leave,
}

/// Applies the steps.
pub(super) fn act(
    session: &Session,
    peer: &Peer<'_>,
    snapshot: &BothSides,
    mut steps: Vec<Step>,
) -> Result<Done> {
    let here = move_here(session, &mut steps)?;
    let there = move_there(session, peer, &mut steps)?;
    let race = if here == Race::Lost { here } else { there };
    note(session, peer.remote, snapshot, &steps)?;
    let waiting = plan::waiting(&steps);
    let rows = steps.into_iter().map(|step| step.row).collect();
    Ok(Done { rows, waiting, race })
}

/// Moves refs here: all at once if possible, else each that can be moved.
fn move_here(session: &Session, steps: &mut [Step]) -> Result<Race> {
    let moves = |steps: &[Step]| -> Vec<RefChange> {
        steps.iter().filter_map(|step| step.local_move.clone()).collect()
    };
    let Err(error) = move_refs(session, &moves(steps)) else {
        return Ok(Race::None);
    };
    if !is_about_refs(error.code()) {
        return Err(error);
    }
    let mut race = Race::None;
    for step in steps {
        let Some(change) = step.local_move.take() else {
            continue;
        };
        match move_refs(session, std::slice::from_ref(&change)) {
            Ok(()) => {}
            Err(error) if is_about_refs(error.code()) => {
                let has_moved = session.repo.find_ref(&change.name)? != change.old;
                if has_moved || error.code() == Code::Locked {
                    race = Race::Lost;
                }
                step.remote_move = None;
                step.to_note = None;
                step.row.new = step.row.old;
                step.row.direction = Direction::None;
                step.row.result = SyncResult::Conflict;
                step.row.reason = Some(error.message());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(race)
}

fn is_about_refs(code: Code) -> bool {
    matches!(code, Code::RefMoved | Code::Locked | Code::GitFailed)
}

fn move_refs(session: &Session, changes: &[RefChange]) -> Result<()> {
    let who = Signature { seconds: session.world.now().timestamp(), ..session.record_signature() };
    let why = ReflogReason { text: "colony: sync", who: &who, operation: "sync" };
    own_refs::move_refs(session, changes, &why)
}

/// Pushes, and reports the server's answer for each ref.
fn move_there(session: &Session, peer: &Peer<'_>, steps: &mut [Step]) -> Result<Race> {
    let remote = peer.remote;
    // Posts first: once they are there, nothing is lost, also where another push wins the record.
    let posts = steps.iter().filter_map(|step| step.post.clone());
    let moves = steps.iter().filter_map(|step| step.remote_move.clone());
    let folded = steps.iter().flat_map(|step| step.folded.clone());
    let changes: Vec<RefChange> = posts.chain(moves).chain(folded).collect();
    if changes.is_empty() {
        return Ok(Race::None);
    }
    let permit = peer.leave.permit(session, remote)?;
    let pushing = format!("push {} to '{}'", count(changes.len(), "ref"), remote.name());
    let mut pushed = session
        .world
        .progress
        .during(&pushing, || own_refs::talk(session, || remote.push(&permit, &changes)))?;
    let mut race = Race::None;
    for step in steps {
        let Some(change) = &step.remote_move else { continue };
        let is_posted = step.post.as_ref().map(|post| pushed.remove(&post.name));
        let (result, reason) = match pushed.remove(&change.name) {
            None | Some(Pushed::Done) => continue,
            Some(Pushed::Moved) if step.is_posted || is_posted == Some(Some(Pushed::Done)) => {
                // The next sync of anybody joins it with the rest.
                step.to_note = None;
                step.row.result = SyncResult::Queued;
                continue;
            }
            Some(Pushed::Moved) => {
                race = Race::Lost;
                let reason = "it is being moved on the remote at the same time";
                (SyncResult::Rejected, reason.to_owned())
            }
            Some(Pushed::Refused(reason)) => (SyncResult::RefusedByServer, reason),
        };
        // The local moves stay: a later push sends them.
        step.to_note = None;
        step.row.direction = match step.local_move {
            Some(_) => Direction::Fetch,
            None => Direction::None,
        };
        step.row.result = result;
        step.row.reason = Some(reason);
        step.row.hint = match result {
            SyncResult::Rejected => Some(format!("git colony sync {}", shell_word(remote.name()))),
            _ if remote.has_ours_as_branches() => None,
            _ => as_branches(&step.row.name, remote.name()),
        };
    }
    Ok(race)
}

/// Records the refs of the remote, and deletes the notes of refs that neither side has any more.
fn note(
    session: &Session,
    remote: &Remote<'_>,
    snapshot: &BothSides,
    steps: &[Step],
) -> Result<()> {
    let names = snapshot.names();
    let note_of = |name| exchanged_refs::note_of(&snapshot.remote, name);
    let known: BTreeSet<_> = names.iter().filter_map(note_of).collect();
    let mut wanted: BTreeMap<_, _> = snapshot.notes.iter().map(|(name, id)| (name, *id)).collect();
    wanted.retain(|name, _| snapshot.do_notes_count && known.contains(*name));
    let moved: Vec<_> = steps
        .iter()
        .filter(|step| step.to_note.is_some() || is_gone(step))
        .filter_map(|step| Some((note_of(&step.row.name)?, step.to_note)))
        .collect();
    for (name, note) in &moved {
        match note {
            Some(id) => wanted.insert(name, *id),
            None => wanted.remove(name),
        };
    }
    let incoming = session.repo.refs_below(&super::incoming(remote))?;
    let mut before: BTreeMap<_, _> = snapshot.notes.iter().collect();
    before.extend(incoming.iter().map(|found| (&found.name, &found.id)));
    let mut changes = Vec::new();
    for (name, id) in &wanted {
        let old = before.remove(*name).copied();
        if old != Some(*id) {
            changes.push(RefChange { name: (*name).clone(), old, new: Some(*id) });
        }
    }
    changes.extend(before.into_iter().map(|(name, id)| RefChange {
        name: name.clone(),
        old: Some(*id),
        new: None,
    }));
    move_refs(session, &changes)
}

/// Deletes what an interrupted sync has fetched and not checked.
pub(super) fn forget_incoming(session: &Session, remote: &Remote<'_>) -> Result<()> {
    let left = session.repo.refs_below(&super::incoming(remote))?.into_iter();
    let deletion = |found: FoundRef| RefChange { name: found.name, old: Some(found.id), new: None };
    let changes: Vec<RefChange> = left.map(deletion).collect();
    if changes.is_empty() { Ok(()) } else { move_refs(session, &changes) }
}

/// Returns the hint for a ref of ours if a server accepts only branches and tags.
fn as_branches(name: &RefName, remote: &str) -> Option<String> {
    let is_ours = name.as_bytes().starts_with(ref_names::PUBLISHED.as_bytes());
    let key = shell_word(&format!("colony.sync.{remote}.asBranches"));
    is_ours.then(|| format!("git config {key} true   # its server may take branches and tags only"))
}

/// Returns `true` if both sides have deleted a ref.
fn is_gone(step: &Step) -> bool {
    step.row.result == SyncResult::Deleted
}
