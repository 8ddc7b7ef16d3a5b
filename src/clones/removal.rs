//! Taking a clone away: what it has published stays in the hub, under another name.

use std::path::Path;

use crate::git::{RefChange, RefName};
use crate::model::{Code, Error, Result, World, time};
use crate::store::shared_root::SharedRoot;
use crate::store::{atomic, ref_names};

use super::found::{FoundClone, clones};
use super::hub::Hub;
use super::hub_place::set_aside;

/// Refuses to take the directory away that somebody stands in.
///
/// # Errors
/// `clone-in-use`.
pub fn refuse_own_directory(world: &World, clone: &FoundClone) -> Result<()> {
    let here = world
        .cwd
        .canonicalize()
        .unwrap_or_else(|_| world.cwd.clone());
    if !here.starts_with(&clone.path) {
        return Ok(());
    }
    Err(Error::new(
        Code::CloneInUse,
        format!(
            "'{}' is the directory this runs in; nothing has changed",
            clone.path.display()
        ),
    )
    .hint("cd elsewhere, into another checkout of the repository, and run it again"))
}

/// Takes a clone away whose work is published: its refs are kept in the hub below the prefix that is
/// returned, and its folder goes. The folder is renamed first: that is the commit point.
///
/// # Errors
/// `hub-missing`, `ref-moved`, `locked`, `io`.
pub fn retire(world: &World, root: &SharedRoot, clone: &FoundClone) -> Result<Option<String>> {
    let hub = Hub::open(&clone.member.hub)?;
    let kept = keep_refs(world, &hub, &clone.member.published_below())?;
    world.reach("clone-kept")?;
    let trash = root.path().join("trash");
    atomic::make_directory(&trash)?;
    let nonce = format!("{:016x}", (world.entropy)());
    let away = trash.join(nonce);
    atomic::rename(&clone.path, &away)?;
    if let Some(above) = clone.path.parent() {
        atomic::sync_directory(above)?;
    }
    world.reach("clone-gone")?;
    forget(world, &hub, &clone.member.published_below())?;
    empty(&trash)?;
    remove_empty_folders(root, &clone.path);
    Ok(kept)
}

/// Completes removals that were cut off: what a clone has published that is gone is kept under the other
/// name, and the trash is emptied.
///
/// # Errors
/// As [`retire`].
pub fn complete(world: &World, root: &SharedRoot, hub: &Path) -> Result<()> {
    let hub = Hub::open(hub)?;
    let standing = clones(root, Some(hub.store.path()));
    let standing: Vec<_> = standing
        .iter()
        .map(|clone| clone.member.published_below())
        .collect();
    let published = hub.store.refs_below(ref_names::PUBLISHED_AGENTS)?;
    let mut orphans: Vec<(String, String)> = published
        .iter()
        .filter_map(|found| {
            let name = found.name.to_string();
            let rest = name.strip_prefix(ref_names::PUBLISHED_AGENTS)?;
            let mut parts = rest.split('/');
            Some((parts.next()?.to_owned(), parts.next()?.to_owned()))
        })
        .collect();
    orphans.dedup();
    for (agent, scope) in orphans {
        let below = format!("{}{agent}/{scope}/", ref_names::PUBLISHED_AGENTS);
        if !standing.contains(&below) {
            keep_refs(world, &hub, &below)?;
            forget(world, &hub, &below)?;
        }
    }
    empty(&root.path().join("trash"))
}

/// Removes a hub that nobody borrows from.
///
/// # Errors
/// `locked` where a clone was made of it meanwhile, `io`.
pub fn remove_hub(world: &World, root: &SharedRoot, hub: &Path) -> Result<()> {
    let trash = root.path().join("trash");
    atomic::make_directory(&trash)?;
    let away = trash.join(format!("{:016x}", (world.entropy)()));
    set_aside(world, hub, || !clones(root, Some(hub)).is_empty(), &away)?;
    empty(&trash)
}

/// Gives the refs of a clone a second name that no clone owns.
fn keep_refs(world: &World, hub: &Hub, below: &str) -> Result<Option<String>> {
    let published = hub.store.refs_below(below)?;
    if published.is_empty() {
        return Ok(None);
    }
    let whose = below.strip_prefix(ref_names::PUBLISHED_AGENTS);
    let whose = whose.unwrap_or("clone/");
    let time = time::compact(&world.now());
    let kept = format!("{}{whose}{time}/", ref_names::KEPT_WORK);
    let mut changes = Vec::new();
    for found in published {
        let rest = found.name.as_bytes().get(below.len()..).unwrap_or_default();
        let name = RefName::new([kept.as_bytes(), rest].concat());
        let old = hub.store.find_ref(&name)?;
        changes.push(RefChange {
            name,
            old,
            new: Some(found.id),
        });
    }
    hub.store.move_refs(world, &changes)?;
    Ok(Some(kept))
}

/// Takes the refs of a clone that is gone out of sight.
fn forget(world: &World, hub: &Hub, below: &str) -> Result<()> {
    let published = hub.store.refs_below(below)?.into_iter();
    let gone: Vec<_> = published
        .map(|found| RefChange {
            name: found.name,
            old: Some(found.id),
            new: None,
        })
        .collect();
    hub.store.move_refs(world, &gone)
}

/// Deletes what was renamed into the trash, also by those who died before they could.
fn empty(trash: &Path) -> Result<()> {
    let entries = std::fs::read_dir(trash).into_iter().flatten().flatten();
    for entry in entries {
        atomic::remove_folder(&entry.path())?;
    }
    Ok(())
}

/// Removes the folders of an agent without a clone.
fn remove_empty_folders(root: &SharedRoot, path: &Path) {
    let above = path.ancestors().skip(1);
    for folder in above.take_while(|folder| *folder != root.path()) {
        // The folder of all agents stays, empty or not.
        if folder == root.agents() || !matches!(atomic::remove_empty_folder(folder), Ok(true)) {
            return;
        }
    }
}
