//! Rebuilds a hub that is gone while clones borrow from it, from a checkout of the user, and with a warning.
//!
//! The new hub has everything of this checkout, and the published refs of others as last seen here; then each
//! clone publishes its own refs, and the refs of each removed clone that is still there are kept again. Data that only
//! the hub had, such as the work of agents removed long ago, is lost.

use std::path::Path;

use crate::clones::found::{self, FoundClone};
use crate::clones::removal::kept_clone::{self, KeptClone};
use crate::git::{ObjectWrites, Repo};
use crate::model::{Result, text};
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;
use crate::store::membership::Membership;

use super::hub_creation::make_from_repository;
use super::hub_folder::HubPlace;
use super::{Hub, publish, settled};

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

/// Copies the published refs of others, as last seen here, into the hub.
fn publish_copies(session: &Session, hub: &Hub) -> Result<()> {
    let mut changes = settled::copies(session, hub)?;
    changes.retain(|change| change.new.is_some_and(|id| hub.store.has(id)));
    hub.move_refs(&session.world, &changes)
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
