//! Restores the record of an agent's clone, where it is gone, cannot be read, or names another agent or hub.
//!
//! The place of the clone says whose it is, and the checkout of the user that asks says of which hub: what an agent
//! can write in its clone decides neither. No ref, index or file of the clone changes.

use crate::clones::damaged::{self, DamagedClone};
use crate::clones::found::FoundClone;
use crate::clones::hub::locate;
use crate::git::{ObjectWrites, Repo};
use crate::model::time::rfc3339;
use crate::model::{Code, Result, World};
use crate::store::Session;
use crate::store::files::shared_root::{AgentPlace, SharedRoot};
use crate::store::lease::acting_agent;
use crate::store::membership::{Membership, Role};

/// The state of a clone's record.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Record {
    /// It is there.
    Whole,
    /// It has to be restored.
    Lost,
}

/// Finds a clone, also one whose record is lost: then with the one that it should have.
pub(crate) fn find(
    world: &World,
    session: Option<&Session>,
    name: &str,
) -> Result<(FoundClone, Record)> {
    let error = match super::find(world, session, name) {
        Ok(clone) => return Ok((clone, Record::Whole)),
        Err(error) => error,
    };
    match session {
        Some(session) => restored(session, name)?.map(|clone| (clone, Record::Lost)).ok_or(error),
        None => Err(error),
    }
}

/// Returns the clone of a name with the record that it should have; `None` if no clone of this repository's hub has lost
/// its record, if several have, or if an agent asks.
fn restored(session: &Session, name: &str) -> Result<Option<FoundClone>> {
    let member = session.membership.as_ref();
    let is_of_user = member.is_none_or(|member| member.role == Role::Desk);
    if !is_of_user || acting_agent::of_session(session).is_some() {
        return Ok(None);
    }
    let root = SharedRoot::of(&session.world)?;
    let hub = locate::place_of(session, &root)?;
    let mut lost = damaged::clones(&root, Some(&hub));
    lost.retain(|clone| {
        let is_called = clone.agent.as_deref() == Some(name) || clone.path.to_str() == Some(name);
        // A record of a newer version is whole.
        is_called
            && clone.hub.as_ref() == Some(&hub)
            && clone.code == Code::RepositoryBroken.as_str()
    });
    let [DamagedClone { path, .. }] = lost.as_slice() else {
        return Ok(None);
    };
    let Some(place) = path.canonicalize().ok().and_then(|path| AgentPlace::find(&path)) else {
        return Ok(None);
    };
    let repo = Repo::open_foreign(&session.world, path, ObjectWrites::InMemory)?;
    // As in a new clone: without an origin, its remote is the checkout itself.
    let url = locate::origin_of(session)?.map_or_else(
        || session.repo.common_dir().display().to_string(),
        |url| url.without_credentials(),
    );
    let new = Membership::of_desk(
        format!("{:016x}", (session.world.entropy)()),
        hub,
        Some(url),
        rfc3339(&session.world.now()),
    );
    let scope = place.scope();
    // A clone is named after the branch that was checked out first, if the user chose no other name.
    let branch = if repo.resolve_commit(&format!("refs/heads/{scope}")).is_ok() {
        scope.clone()
    } else {
        let head = repo.head()?.moving_ref();
        let name = head.as_bytes().strip_prefix(b"refs/heads/");
        name.map_or_else(|| scope.clone(), |name| String::from_utf8_lossy(name).into_owned())
    };
    Ok(Some(FoundClone {
        path: path.clone(),
        member: Membership {
            // The clone belongs to the checkout that restores its record, as its agents do.
            desk: member.and_then(Membership::desk).map(str::to_owned),
            ..Membership::of_clone(new, Some(place.agent), scope, branch)
        },
    }))
}
