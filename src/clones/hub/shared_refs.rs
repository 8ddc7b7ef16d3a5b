//! The shared records in the hub: the one place at which the clones of a machine meet, as those of a team do at
//! a remote.
//!
//! Other refs are published by each clone under its own name; of a shared record there is one, under the name that
//! it has in each clone.

use std::collections::BTreeMap;

use crate::git::object::transfer::{Linked, Whole, link_objects, send_pack};
use crate::git::{Oid, RefChange, RefName};
use crate::model::Result;
use crate::store::Session;
use crate::store::refs::ref_names;

use super::Hub;
use super::object_copies::copy_objects;

/// Lists the shared records of a hub.
pub fn list(hub: &Hub) -> Result<BTreeMap<RefName, Oid>> {
    let mut refs = BTreeMap::new();
    for name in [ref_names::SCOPES, ref_names::KNOWLEDGE].map(RefName::from) {
        refs.extend(hub.store.find_ref(&name)?.map(|id| (name, id)));
    }
    let boards = hub.store.refs_below(ref_names::BLACKBOARDS)?.into_iter();
    refs.extend(boards.map(|board| (board.name, board.id)));
    Ok(refs)
}

/// Copies objects of the hub into a clone.
pub fn bring(session: &Session, hub: &Hub, tips: &[Oid]) -> Result<()> {
    let (repo, world) = (&session.repo, &session.world);
    if tips.is_empty() {
        return Ok(());
    }
    let (from, to) = (hub.store.object_store(), repo.object_store());
    let all = || Ok(repo.refs_below("refs/")?.into_iter().map(|reference| reference.id).collect());
    let near = repo.refs_below("refs/colony/")?.into_iter().map(|reference| reference.id).collect();
    if link_objects(&from, &to, tips, &Whole { near, all: &all })? == Linked::NotAll {
        send_pack(hub.store.git(world), repo.git(world), tips, &[])?;
    }
    Ok(())
}

/// Moves shared records of the hub, after their objects are there.
pub fn push(session: &Session, hub: &Hub, changes: &[RefChange]) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    copy_objects(&session.world, &session.repo, hub, changes)?;
    hub.move_refs(&session.world, changes)
}
