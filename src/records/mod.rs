//! Shared records between a clone and its hub: mappings, knowledge, blackboards.
//!
//! The hub is to the clones of a machine what a remote is to a team: each record is compared with the one there,
//! and with the one that both had last. Both sides move with the old value checked, first the hub, so that an
//! exchange that was cut off is completed by the next one.

pub mod consent;
pub mod exchanged_refs;
pub(crate) mod join;
pub mod outbox;
pub mod rules;
pub mod scopes;
pub mod verdict;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::hub::{Hub, shared_refs};
use crate::git::refs::{ReflogReason, lost_race};
use crate::git::{Oid, RefChange, RefName, Repo, Signature};
use crate::model::text::shell_word;
use crate::model::{Result, World};
use crate::records::rules::Sides;
use crate::store::Session;
use crate::store::lock::WorktreeLock;
use crate::store::membership::Role;
use crate::store::refs::{obstacle, own_refs, ref_names};

use join::RecordJoin;
use verdict::{HistoryRelation, SyncVerdict};

/// A reason why records are not shared with the hub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ShareWarning {
    /// The records and the reason.
    pub message: String,
    /// The next command to try; null if there is none.
    pub hint: Option<String>,
}

/// Exchanges the shared records with the hub. A failure is reported, and stops nothing: the answer then uses the
/// records here, and the next exchange does both. So does a record for which there is no room. Returns what was
/// reported now, or before by the same command.
pub fn refresh(session: &Session) -> Vec<ShareWarning> {
    let World { narrate, warned, .. } = &session.world;
    match exchange(session) {
        Ok(blocked) => {
            for ShareWarning { message, hint } in &blocked {
                if warned.is_first(message) {
                    narrate(&format!("warning: {message}"));
                    if let Some(hint) = hint {
                        narrate(&format!("hint: {hint}"));
                    }
                }
            }
            blocked
        }
        Err(error) => {
            let cause = error.message();
            let message = format!("cannot share records with the hub: {cause}");
            if warned.is_first(&cause) {
                narrate(&format!("warning: {message}"));
            }
            let hint = error.hint_text().map(str::to_owned);
            vec![ShareWarning { message, hint }]
        }
    }
}

/// Takes the lock under which a member of a hub compares and writes a key, so that of two clones that name the
/// same version only one succeeds; `None` for a repository without a hub.
pub(crate) fn lock(session: &Session) -> Result<Option<WorktreeLock>> {
    let member = session.membership.as_ref();
    let Some(member) = member.filter(|member| !session.is_dry() && member.hub.is_dir()) else {
        return Ok(None);
    };
    let path = member.hub.join("colony").join("shared-lock");
    let waiting = "waiting for another clone that writes a shared record";
    let lock = WorktreeLock::take_at(&session.world, &path, session.wait_limit(), waiting)?;
    Ok(Some(lock))
}

/// Exchanges the shared records with the hub; returns those that stay apart because their name is taken. Without a
/// change, it starts no process and writes nothing.
fn exchange(session: &Session) -> Result<Vec<ShareWarning>> {
    let member = session.membership.as_ref();
    let Some(member) = member.filter(|_| !session.is_dry()) else {
        return Ok(Vec::new());
    };
    // A user's checkout needs no hub: it may have been removed with its last clone.
    if member.role == Role::Desk && !member.hub.is_dir() {
        return Ok(Vec::new());
    }
    let hub = Hub::open(&member.hub)?;
    lost_race::retried(|| {
        let compared = Compared::with_hub(session, &hub)?;
        let moves = compared.moves(session, &hub, member.role)?;
        shared_refs::push(session, &hub, &moves.there)?;
        moves.settle(session)
    })
}

/// Finds the ref that is in the way of a record that one side does not have yet.
fn find_blocked(
    repo: &Repo,
    hub: &Hub,
    name: &RefName,
    sides: &Sides<Oid>,
    role: Role,
) -> Result<Option<ShareWarning>> {
    let then = "the next command shares it";
    let blocked = |reason: String, hint| ShareWarning {
        message: format!("'{name}' is not shared with the hub: {reason}"),
        hint: Some(hint),
    };
    if sides.ours.is_none()
        && let Some(obstacle) = repo.find_in_the_way(name)?
    {
        let reason = obstacle::reason(&obstacle, "here");
        return Ok(Some(blocked(reason, obstacle::room(&obstacle, "git", then))));
    }
    if sides.theirs.is_none()
        && role != Role::Reader
        && let Some(obstacle) = hub.store.find_in_the_way(name)?
    {
        let place = shell_word(&hub.store.path().to_string_lossy());
        let git = format!("git --git-dir {place}");
        let reason = obstacle::reason(&obstacle, "of the hub");
        return Ok(Some(blocked(reason, obstacle::room(&obstacle, &git, then))));
    }
    Ok(None)
}

/// The shared records of both sides, and as they last agreed.
struct Compared {
    ours: BTreeMap<RefName, Oid>,
    theirs: BTreeMap<RefName, Oid>,
    notes: BTreeMap<RefName, Oid>,
}

impl Compared {
    fn with_hub(session: &Session, hub: &Hub) -> Result<Compared> {
        let repo = &session.repo;
        let notes = repo.refs_below(&exchanged_refs::notes_of_hub())?.into_iter();
        Ok(Compared {
            ours: here(repo)?,
            theirs: shared_refs::list(hub)?,
            notes: notes.map(|note| (note.name, note.id)).collect(),
        })
    }

    /// Decides about each record; joint versions are written.
    fn moves(&self, session: &Session, hub: &Hub, role: Role) -> Result<Moves> {
        let repo = &session.repo;
        let names: BTreeSet<&RefName> = self.ours.keys().chain(self.theirs.keys()).collect();
        let mut moves = Moves::default();
        for name in names {
            let Some(note) = exchanged_refs::note_of_hub(name) else {
                continue;
            };
            let sides = Sides {
                base: self.notes.get(&note).copied(),
                ours: self.ours.get(name).copied(),
                theirs: self.theirs.get(name).copied(),
            };
            if sides.ours == sides.theirs && sides.base == sides.ours {
                continue;
            }
            if let Some(blocked) = find_blocked(repo, hub, name, &sides, role)? {
                moves.blocked.push(blocked);
                continue;
            }
            let tips: Vec<Oid> = sides.theirs.into_iter().collect();
            shared_refs::bring(session, hub, &tips)?;
            let Some(new) = agreed(repo, name, &sides)? else {
                continue;
            };
            let change = |name: &RefName, old: Option<Oid>| RefChange {
                name: name.clone(),
                old,
                new: Some(new),
            };
            moves.here.push(change(name, sides.ours));
            if role != Role::Reader {
                moves.there.push(change(name, sides.theirs));
            }
            let noted = if role == Role::Reader { sides.theirs } else { Some(new) };
            moves.notes.push(RefChange { new: noted, ..change(&note, sides.base) });
        }
        for moved in [&mut moves.here, &mut moves.there, &mut moves.notes] {
            moved.retain(|change| change.old != change.new);
        }
        Ok(moves)
    }
}

/// Returns the value of a record on both sides after the exchange; `None` if they stay apart.
fn agreed(repo: &Repo, name: &RefName, sides: &Sides<Oid>) -> Result<Option<Oid>> {
    match verdict::decide_shared(sides, standing(repo, sides)) {
        SyncVerdict::UpToDate | SyncVerdict::Push => Ok(sides.ours),
        SyncVerdict::Fetch => Ok(sides.theirs),
        SyncVerdict::Conflict => RecordJoin::new(repo, name).join(sides),
        _ => Ok(None),
    }
}

/// Lists the shared records here.
fn here(repo: &Repo) -> Result<BTreeMap<RefName, Oid>> {
    let mut records = BTreeMap::new();
    for name in [ref_names::SCOPES, ref_names::KNOWLEDGE].map(RefName::from) {
        records.extend(repo.find_listed_ref(&name)?.map(|id| (name, id)));
    }
    let boards = repo.refs_below(ref_names::BLACKBOARDS)?.into_iter();
    records.extend(boards.map(|board| (board.name, board.id)));
    records.retain(|_, id| !repo.is_gone(*id));
    Ok(records)
}

/// The moves of one exchange.
#[derive(Default)]
struct Moves {
    here: Vec<RefChange>,
    there: Vec<RefChange>,
    notes: Vec<RefChange>,
    blocked: Vec<ShareWarning>,
}

impl Moves {
    /// Moves the records here and the notes, once the hub has its part; returns those that were blocked.
    fn settle(self, session: &Session) -> Result<Vec<ShareWarning>> {
        let who =
            Signature { seconds: session.world.now().timestamp(), ..session.record_signature() };
        let why = ReflogReason { text: "colony: shared records", who: &who, operation: "share" };
        own_refs::move_refs(session, &self.here, &why)?;
        own_refs::move_refs(session, &self.notes, &why)?;
        Ok(self.blocked)
    }
}

/// Returns the relation of one commit to another. If it is unknown, the two count as diverged.
pub(crate) fn standing(repo: &Repo, sides: &Sides<Oid>) -> HistoryRelation {
    let Some((ours, theirs)) = sides.ours.zip(sides.theirs) else {
        return HistoryRelation::Diverged;
    };
    let is_in = |commit, other| repo.has_more(commit, other).is_ok_and(|more| !more);
    if repo.object_size(theirs).is_none() {
        HistoryRelation::Diverged
    } else if is_in(theirs, ours) {
        HistoryRelation::Ahead
    } else if is_in(ours, theirs) {
        HistoryRelation::Behind
    } else {
        HistoryRelation::Diverged
    }
}
