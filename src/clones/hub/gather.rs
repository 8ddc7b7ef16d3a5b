//! Copies what others have published from the hub into private refs, so that names of agents can be used here
//! like their branches.

use std::collections::BTreeMap;

use crate::clones::hub::joining;
use crate::git::lfs::lfs_objects::LfsObjects;
use crate::git::object::transfer::{Linked, Whole, link_objects, send_pack};
use crate::git::refs::{ReflogReason, lost_race};
use crate::git::{Oid, RefChange, RefName, Signature};
use crate::model::Result;
use crate::store::Session;
use crate::store::membership::{Membership, Role, mirror_of};
use crate::store::refs::{own_refs, ref_names};

use super::publish::large_objects_of;
use super::{Hub, desk_note, settled, tag_list};

/// Copies the refs of all others; returns the number of changes. Without a change, it costs reading the refs
/// of the hub.
pub fn gather(session: &Session) -> Result<usize> {
    let Some(member) = &session.membership else {
        return Ok(0);
    };
    if member.role == Role::Desk
        && !member.hub.is_dir()
        && !joining::is_hub_missing(session, &member.hub)?
    {
        return Ok(0);
    }
    let hub = Hub::open(&member.hub)?;
    if session.is_dry() {
        // A hub that does not know this checkout may be another one: the copies here would be deleted.
        let is_another = member.role == Role::Desk && !desk_note::is_known(member);
        return if is_another { Ok(0) } else { gather_from(session, member, &hub) };
    }
    gather_from(session, &settled::settle(session, member)?, &hub)
}

fn gather_from(session: &Session, member: &Membership, hub: &Hub) -> Result<usize> {
    lost_race::retried(|| {
        let changes = changes(session, member, hub)?;
        if changes.is_empty() {
            return Ok(0);
        }
        let tips: Vec<Oid> = changes.iter().filter_map(|change| change.new).collect();
        let (from, to) = (hub.store.object_store(), session.repo.object_store());
        let all = || {
            let refs = session.repo.refs_below("refs/")?;
            Ok(refs.into_iter().map(|reference| reference.id).collect())
        };
        let near = changes.iter().filter_map(|change| change.old).collect();
        if link_objects(&from, &to, &tips, &Whole { near, all: &all })? == Linked::NotAll {
            let own = hub.store.refs_below(&member.published_below())?;
            let copies = changes.iter().filter_map(|change| change.old);
            let mut known: Vec<Oid> =
                own.iter().map(|reference| reference.id).chain(copies).collect();
            known.retain(|id| hub.store.has(*id) && session.repo.object_size(*id).is_some());
            let world = &session.world;
            send_pack(hub.store.git(world), session.repo.git(world), &tips, &known)?;
        }
        // Hard links: large files of others take no space until they are checked out.
        if session.repo.config("lfs.fetchexclude").as_deref() != Some("*") {
            let large = LfsObjects::in_folder(large_objects_of(hub.store.path()));
            large.link_all_into(LfsObjects::of(&session.repo).folder())?;
        }
        let who =
            Signature { seconds: session.world.now().timestamp(), ..session.record_signature() };
        let why =
            ReflogReason { text: "colony: published by others", who: &who, operation: "gather" };
        let (gone, rest): (Vec<_>, Vec<_>) =
            changes.iter().cloned().partition(|change| change.new.is_none());
        let move_refs = |changes: &[RefChange]| own_refs::move_copies(session, changes, &why);
        // A name may become a folder of names.
        move_refs(&gone).and_then(|()| move_refs(&rest))?;
        Ok(changes.len())
    })
}

/// Compares the copies here with the refs that others publish.
fn changes(session: &Session, member: &Membership, hub: &Hub) -> Result<Vec<RefChange>> {
    let own = member.published_below();
    let mut copies = BTreeMap::new();
    for prefix in [ref_names::AGENTS, ref_names::DESKS] {
        let refs = session.repo.refs_below(prefix)?;
        copies.extend(refs.into_iter().map(|reference| (reference.name, reference.id)));
    }
    let mut changes = Vec::new();
    for prefix in [ref_names::PUBLISHED_AGENTS, ref_names::PUBLISHED_DESKS] {
        for reference in hub.store.refs_below(prefix)? {
            let is_own = reference.name.as_bytes().starts_with(own.as_bytes());
            // New clones read the tags in the hub, and other checkouts have their own.
            let is_wanted = !is_own && !tag_list::is_tag_list(&reference.name);
            let Some(name) = mirror_of(&reference.name).filter(|_| is_wanted) else {
                continue;
            };
            let old = copies.remove(&name);
            if old != Some(reference.id) {
                changes.push(RefChange { name, old, new: Some(reference.id) });
            }
        }
    }
    let gone = copies.into_iter().map(|(name, id): (RefName, Oid)| RefChange {
        name,
        old: Some(id),
        new: None,
    });
    Ok(gone.chain(changes).collect())
}
