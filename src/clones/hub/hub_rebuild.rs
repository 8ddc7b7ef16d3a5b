//! Rebuilds a hub that is gone while clones borrow from it, from a checkout of the user, and with a warning.
//!
//! The new hub has everything of this checkout, and the published refs of others as last seen here; then each
//! clone publishes its own refs, and the refs of each removed clone that is still there are kept again. Data that only
//! the hub had, such as the work of agents removed long ago, is lost.

use std::path::Path;

use crate::clones::found::{self, FoundClone};
use crate::clones::removal::kept_clone::{self, KeptClone};
use crate::git::{ObjectWrites, RefChange, RefName, Repo};
use crate::model::{Result, text};
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;
use crate::store::membership::{Membership, Role};
use crate::store::refs::ref_names;

use super::hub_creation::make_from_repository;
use super::hub_folder::HubPlace;
use super::{Hub, desk_note, publish};

/// Creates the hub of a member again, at its path.
pub(in crate::clones) fn make(session: &Session, member: &Membership) -> Result<Hub> {
    let world = &session.world;
    let root = SharedRoot::of(world)?;
    let clones = found::clones(&root, Some(&member.hub));
    let place = HubPlace::at(&member.hub);
    let mut is_new = false;
    place.require(session, || {
        is_new = true;
        (world.narrate)(&format!(
            "warning: the hub '{}' of {} is gone: it is rebuilt from this repository, without data that \
             only the hub had, such as the work of agents removed long ago",
            member.hub.display(),
            text::count(clones.len(), "clone"),
        ));
        make_from_repository(session, &place.new)
    })?;
    let hub = Hub::open(&place.path)?;
    if is_new {
        publish_copies(session, &hub)?;
        for clone in &clones {
            publish_again(session, clone);
        }
        for clone in kept_clone::list(&root, Some(&member.hub)) {
            keep_again(session, &clone);
        }
    }
    Ok(hub)
}

/// Records a checkout in its hub. Where the hub does not know it, it is another one than the checkout has joined, at the
/// same path: what agents had published is put there again, as it was last seen here.
pub(in crate::clones) fn settle(session: &Session, member: &Membership) -> Result<Membership> {
    let is_desk = member.role == Role::Desk && !session.is_dry();
    if is_desk && !desk_note::is_known(member) {
        let hub = Hub::open(&member.hub)?;
        let changes = copies(session, &hub)?;
        if !changes.is_empty() {
            publish::copy_objects(&session.world, &session.repo, &hub, &changes)?;
            hub.move_refs(&session.world, &changes)?;
            (session.world.narrate)(&format!(
                "warning: the hub '{}' is another one than before: what agents had published is put there again",
                member.hub.display()
            ));
        }
    }
    desk_note::settle(&session.world, &session.repo, member)
}

/// Copies the published refs of others, as last seen here, into the hub.
fn publish_copies(session: &Session, hub: &Hub) -> Result<()> {
    let mut changes = copies(session, hub)?;
    changes.retain(|change| change.new.is_some_and(|id| hub.store.has(id)));
    hub.move_refs(&session.world, &changes)
}

/// Lists what the hub lacks of the published refs of others.
fn copies(session: &Session, hub: &Hub) -> Result<Vec<RefChange>> {
    let mut changes = Vec::new();
    for prefix in [ref_names::AGENTS, ref_names::DESKS] {
        for found in session.repo.refs_below(prefix)? {
            let name = found.name.to_string();
            let rest = name.strip_prefix(ref_names::PRIVATE);
            let in_hub =
                rest.map(|rest| RefName::from(format!("{}{rest}", ref_names::PUBLISHED).as_str()));
            let Some(name) = in_hub else { continue };
            if hub.store.find_ref(&name)?.is_none() {
                changes.push(RefChange { name, old: None, new: Some(found.id) });
            }
        }
    }
    Ok(changes)
}

/// Lets a clone publish its refs; reports the objects that it has lost with the hub.
fn publish_again(session: &Session, clone: &FoundClone) {
    let inside = session.world.standing_in(&clone.path);
    let published = Repo::open_foreign(&session.world, &clone.path, ObjectWrites::Durable)
        .and_then(|repo| publish::publish_as(&inside, &repo, &clone.member));
    say_if_lost(session, &clone.path, published.map(drop));
}

/// Keeps the refs of a removed clone again, whose folder is kept.
fn keep_again(session: &Session, clone: &KeptClone) {
    let inside = session.world.standing_in(&clone.folder);
    let kept = Repo::open_foreign(&session.world, &clone.folder, ObjectWrites::Durable)
        .and_then(|repo| clone.keep(&inside, &repo));
    say_if_lost(session, &clone.folder, kept);
}

fn say_if_lost(session: &Session, clone: &Path, done: Result<()>) {
    if let Err(error) = done {
        (session.world.narrate)(&format!(
            "warning: the clone '{}' lacks objects that only the hub had: {}",
            clone.display(),
            error.message()
        ));
    }
}
