//! Publishes a repository in its hub: its branches, named checkpoints, records of forks, the branch it is on,
//! its newest automatic checkpoint, and from a user's checkout the map of its migrations.
//!
//! Objects are hard-linked, each after those that it points to, so each side is consistent at any moment. git
//! sends packed objects, and objects on another file system, as a pack.

use std::collections::BTreeMap;
use std::path::Path;

use crate::git::refs::lost_race;
use crate::git::{Head, Oid, RefChange, RefName, Repo};
use crate::model::{Result, World};
use crate::store::files::places::Places;
use crate::store::files::shared_root::is_removed;
use crate::store::membership::{Membership, Role};
use crate::store::refs::ref_names;
use crate::store::{Session, key};

use super::joining::refuse_incomplete;
use super::lost_refs;
use super::maintenance::maintain_if_due;
use super::object_copies::copy_objects;
use super::tag_list::{TAG_LIST, TagList};
use super::{Hub, desk_note, hub_remote, settled};

/// Publishes changes; returns the number of refs that moved in the hub.
///
/// Without a change, it starts no process and writes nothing.
pub fn publish(session: &Session) -> Result<usize> {
    let Some(member) = &session.membership else {
        return Ok(0);
    };
    if member.role == Role::Desk && member.hub.is_dir() {
        let member = settled::settle(session, member)?;
        return publish_as(&session.world, &session.repo, &member);
    }
    let moved = publish_as(&session.world, &session.repo, member)?;
    // It is published; only other programs do not see it.
    drop(hub_remote::follow(session, member));
    Ok(moved)
}

/// Does the same as [`publish`] for a repository whose record the session does not know yet.
pub fn publish_as(world: &World, repo: &Repo, member: &Membership) -> Result<usize> {
    // A user's checkout needs no hub: it may have been removed with its last clone.
    let needs_none = member.role == Role::Desk && !member.hub.is_dir();
    if member.role == Role::Reader || needs_none || is_removed(repo.common_dir()) {
        return Ok(0);
    }
    let hub = Hub::open(&member.hub)?;
    let below = member.published_below();
    lost_race::retried(|| {
        let tags = TagList::of(repo, member, &hub)?;
        let changes = changes(repo, member, &hub, &tags)?;
        if changes.is_empty() {
            return Ok(0);
        }
        refuse_incomplete(repo)?;
        if member.role == Role::Agent {
            lost_refs::keep_before(world, repo, member, &hub, &changes)?;
        }
        let mut new_objects = but_lists(&changes, &below);
        if new_objects.len() < changes.len() {
            new_objects.extend(tags.missing(repo, &hub));
        }
        copy_objects(world, repo, &hub, &new_objects)?;
        tags.write(&hub)?;
        link_large_objects(repo, &hub)?;
        move_refs(world, &hub, &changes)?;
        maintain_if_due(world, &hub.store)?;
        Ok(changes.len())
    })
}

/// Deletes all refs that a user's checkout has published, and the note of its id: it leaves the colony. Its
/// objects that others borrow stay in the hub.
pub fn withdraw(session: &Session) -> Result<()> {
    let member = session.membership.as_ref();
    let Some(member) = member.filter(|member| member.role == Role::Desk && member.hub.is_dir())
    else {
        return Ok(());
    };
    let hub = Hub::open(&member.hub)?;
    hub.delete_refs_below(&session.world, &member.published_below())?;
    desk_note::forget(&member.hub, &member.id)
}

/// Returns the changes but that of the list of tags, which only the hub has.
fn but_lists(changes: &[RefChange], below: &str) -> Vec<RefChange> {
    let list = format!("{below}{TAG_LIST}");
    changes.iter().filter(|change| change.name.as_bytes() != list.as_bytes()).cloned().collect()
}

/// Moves refs of the hub: deletions first, because a name may become a folder of names.
fn move_refs(world: &World, hub: &Hub, changes: &[RefChange]) -> Result<()> {
    let (gone, rest): (Vec<_>, Vec<_>) =
        changes.iter().cloned().partition(|change| change.new.is_none());
    hub.move_refs(world, &gone)?;
    hub.move_refs(world, &rest)
}

/// Compares the refs here with their copies in the hub.
fn changes(repo: &Repo, member: &Membership, hub: &Hub, tags: &TagList) -> Result<Vec<RefChange>> {
    let below = &member.published_below();
    let in_hub = |name: RefName| RefName::new([below.as_bytes(), name.as_bytes()].concat());
    let refs = wanted(repo)?.into_iter().chain(tags.published());
    let wanted: BTreeMap<RefName, Oid> = refs.map(|(name, id)| (in_hub(name), id)).collect();
    let published: BTreeMap<RefName, Oid> = hub
        .store
        .refs_below(below)?
        .into_iter()
        .map(|reference| (reference.name, reference.id))
        .collect();
    let branches = in_hub(RefName::from("heads/"));
    let mut changed = wanted.clone();
    changed.retain(|name, id| {
        // A branch without its commit is an error; doctor reports other refs without their objects.
        let is_branch = name.as_bytes().starts_with(branches.as_bytes());
        let is_list = Some(*id) == tags.id;
        published.get(name) != Some(id) && (is_branch || is_list || !repo.is_gone(*id))
    });
    if member.role == Role::Agent {
        leave_to_team(hub, below, &mut changed)?;
    }
    let gone = published
        .iter()
        .filter(|(name, _)| !wanted.contains_key(name))
        .map(|(name, id)| RefChange { name: name.clone(), old: Some(*id), new: None });
    let changed = changed.into_iter().map(|(name, id)| RefChange {
        old: published.get(&name).copied(),
        name,
        new: Some(id),
    });
    // Directories must be gone before files replace them.
    Ok(gone.chain(changed).collect())
}

/// Leaves out checkpoints that the remote has or a user's checkout publishes: a new clone has these from the
/// start, and each clone would publish them again, or leave them behind again when it is removed.
pub(in crate::clones) fn leave_to_team(
    hub: &Hub,
    below: &str,
    refs: &mut BTreeMap<RefName, Oid>,
) -> Result<()> {
    let checkpoints = format!("{below}{CHECKPOINTS}");
    let is_checkpoint = |name: &RefName| name.as_bytes().starts_with(checkpoints.as_bytes());
    if !refs.keys().any(is_checkpoint) {
        return Ok(());
    }
    let team = of_team(hub)?;
    refs.retain(|name, id| {
        let name = name.to_string();
        let checkpoint = name.strip_prefix(&checkpoints);
        checkpoint.is_none_or(|name| team.get(name) != Some(id))
    });
    Ok(())
}

/// A checkpoint is published below this prefix, beside the tags.
const CHECKPOINTS: &str = "tags/checkpoint/";

/// Returns the checkpoints of the remote and of the users' checkouts, by `<time>-<8 hex>`.
pub(in crate::clones) fn of_team(hub: &Hub) -> Result<BTreeMap<String, Oid>> {
    let mut checkpoints = BTreeMap::new();
    for desk in hub.store.refs_below(ref_names::PUBLISHED_DESKS)? {
        let name = desk.name.to_string();
        let rest = name.strip_prefix(ref_names::PUBLISHED_DESKS);
        let of_desk = rest.and_then(|rest| rest.split_once('/'));
        if let Some(name) = of_desk.and_then(|(_, rest)| rest.strip_prefix(CHECKPOINTS)) {
            checkpoints.insert(name.to_owned(), desk.id);
        }
    }
    for remote in hub.store.refs_below(ref_names::CHECKPOINTS)? {
        checkpoints.extend(ref_names::parse_checkpoint(&remote.name).map(|name| (name, remote.id)));
    }
    Ok(checkpoints)
}

/// Returns the refs to publish: their names below the prefix of this repository, and their ids.
pub(in crate::clones) fn wanted(repo: &Repo) -> Result<BTreeMap<RefName, Oid>> {
    let mut wanted = BTreeMap::new();
    let kinds = [
        ("heads/", "refs/heads/", "refs/heads/"),
        ("tags/", "refs/tags/", ref_names::CHECKPOINT_TAGS),
        (CHECKPOINTS, ref_names::CHECKPOINTS, ref_names::CHECKPOINTS),
        ("forks/", ref_names::FORK_RECORDS, ref_names::FORK_RECORDS),
    ];
    for (kind, cut, prefix) in kinds {
        for reference in repo.refs_below(prefix)? {
            if let Some(rest) = reference.name.as_bytes().strip_prefix(cut.as_bytes()) {
                wanted.insert(RefName::new([kind.as_bytes(), rest].concat()), reference.id);
            }
        }
    }
    let map = repo.find_ref(&RefName::from(ref_names::MIGRATIONS))?;
    wanted.extend(map.map(|id| (RefName::from(ref_names::PUBLISHED_MIGRATIONS), id)));
    match repo.head()? {
        Head::Branch { name, commit } => {
            let on = format!("on/{}", key::encode(&name.short()));
            wanted.insert(RefName::from(on.as_str()), commit);
        }
        Head::Detached { commit } => {
            wanted.insert(RefName::from("detached"), commit);
        }
        Head::Unborn { .. } => {}
    }
    if let Some(places) = Places::find(repo)? {
        let automatic = repo.refs_below(&ref_names::automatic_of(&places.key))?;
        if let Some(newest) = automatic.last() {
            wanted.insert(RefName::from("auto"), newest.id);
        }
    }
    Ok(wanted)
}

/// Hard-links the large files of this repository into the hub.
pub(in crate::clones) fn link_large_objects(repo: &Repo, hub: &Hub) -> Result<()> {
    let here = crate::git::lfs::lfs_objects::LfsObjects::of(repo);
    here.link_all_into(&large_objects_of(hub.store.path()))
}

/// Returns the path of git-lfs objects in a hub.
pub fn large_objects_of(hub: &Path) -> std::path::PathBuf {
    hub.join("lfs").join("objects")
}
