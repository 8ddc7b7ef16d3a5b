//! Makes a repository a member of a colony: finds, creates or rebuilds its hub.

use std::path::Path;
use std::time::Duration;

use crate::clones::found;
use crate::clones::removal::kept_clone;
use crate::git::remote::url::RemoteUrl;
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result, World, time};
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;
use crate::store::lock::WorktreeLock;
use crate::store::membership::{Membership, Role};
use crate::store::refs::ref_names;

pub use super::hub_creation::refuse_incomplete;
use super::hub_creation::{make_from_repository, make_from_url};
use super::hub_folder::{HubPlace, is_deleted};
use super::locate::{address_of, origin_of, place_here};
use super::{Hub, desk_note, hub_rebuild, settled};

impl Hub {
    /// Finds the hub that a repository belongs to, or creates it from the repository.
    pub fn of_repository(session: &Session, root: &SharedRoot) -> Result<Hub> {
        let place = place_here(session, root)?;
        place.require(session, || make_from_repository(session, &place.new))?;
        Hub::open(&place.path)
    }

    /// Finds the hub of a repository elsewhere, or creates it from there.
    pub fn of_url(
        world: &World,
        timeout: Option<Duration>,
        root: &SharedRoot,
        url: &RemoteUrl,
    ) -> Result<Hub> {
        let place = HubPlace::of(root, &url.normalized());
        place.require_in(world, timeout, || make_from_url(world, url, &place.new))?;
        Hub::open(&place.path)
    }
}

/// Returns `true` if a hub is lost: clones borrow from it, or this repository has copies of what agents have published in
/// it. A hub may only be deleted with its last clone.
pub fn is_hub_missing(session: &Session, hub: &Path) -> Result<bool> {
    if hub.is_dir() {
        return Ok(false);
    }
    let root = SharedRoot::of(&session.world)?;
    let is_of_removed = || kept_clone::hubs(&root).iter().any(|of| of == hub);
    let is_lost = || -> Result<bool> {
        Ok(!is_deleted(hub) && !session.repo.refs_below(ref_names::AGENTS)?.is_empty())
    };
    Ok(found::are_of(&root, hub) || is_of_removed() || is_lost()?)
}

/// Makes the user's checkout a member of the colony, if it is not yet; returns its record and the hub.
pub fn join(session: &Session) -> Result<(Membership, Hub)> {
    let known = session.membership.as_ref();
    if let Some(member) = known.filter(|member| member.role != Role::Desk || member.hub.is_dir()) {
        let member = settled::settle(session, member)?;
        return Ok((member.clone(), Hub::open(&member.hub)?));
    }
    if let Some(member) = known
        && is_hub_missing(session, &member.hub)?
    {
        refuse_elsewhere(&session.world)?;
        refuse_lost(&session.world)?;
        let hub = hub_rebuild::make(session, member)?;
        let member = desk_note::settle(&session.world, &session.repo, member)?;
        return Ok((member, hub));
    }
    let (repo, world) = (&session.repo, &session.world);
    refuse_incomplete(repo)?;
    refuse_elsewhere(world)?;
    let root = SharedRoot::of(world)?;
    let hub = Hub::of_repository(session, &root)?;
    if origin_of(session)?.is_none()
        && hub.store.path() != HubPlace::of(&root, &address_of(session)?).path
    {
        (world.narrate)(
            "an earlier repository at this path has a hub: this one gets one of its own",
        );
    }
    let lost = desk_note::id_of(hub.store.path(), repo.common_dir());
    let member = Membership::of_desk(
        lost.unwrap_or_else(|| format!("{:016x}", (world.entropy)())),
        hub.store.path().to_owned(),
        origin_of(session)?.map(|url| url.in_full()),
        time::rfc3339(&world.now()),
    );
    let member = first_record(session, member)?;
    let member = desk_note::settle(world, repo, &member)?;
    Ok((member, hub))
}

/// Refuses to begin again where the shared root of the colony is not here, as in a container: its agents may live on. Who
/// names that root means it.
fn refuse_elsewhere(world: &World) -> Result<()> {
    match absent_root(world) {
        Some(root) if SharedRoot::of_environment(world)? != SharedRoot::of(world)? => {
            Err(not_here(root))
        }
        _ => Ok(()),
    }
}

/// Does the same where agents are known to have worked: the root may be on a disk that is not mounted, so its default place
/// is not enough.
fn refuse_lost(world: &World) -> Result<()> {
    let is_named = world.variable("COLONY_SHARED_ROOT").is_some();
    absent_root(world).filter(|_| !is_named).map_or(Ok(()), |root| Err(not_here(root)))
}

fn absent_root(world: &World) -> Option<&Path> {
    world.colony_root.as_deref().filter(|root| !root.is_dir())
}

fn not_here(root: &Path) -> Error {
    let shown = root.display().to_string();
    let message = format!("the agents of this repository are below '{shown}', which is not here");
    let word = shell_word(&shown);
    // Where it is named, it is made, and the colony begins again.
    let hint = format!("COLONY_SHARED_ROOT={word} git colony agents new NAME");
    Error::new(Code::HubMissing, message).unchanged().detail("root", shown).hint(hint)
}

/// Writes the first record of a checkout, or returns the one that another process, or this one before, has written
/// since: a checkout has one id.
fn first_record(session: &Session, member: Membership) -> Result<Membership> {
    let common_dir = session.repo.common_dir();
    let path = common_dir.join("colony").join("join-lock");
    let waiting = "waiting for another command with which this repository joins its colony";
    let _lock = WorktreeLock::take_at(&session.world, &path, session.wait_limit(), waiting)?;
    let known = Membership::find(&session.repo)?;
    if let Some(known) = known.filter(|known| known.hub == member.hub) {
        return Ok(known);
    }
    member.write(common_dir)?;
    Ok(member)
}
