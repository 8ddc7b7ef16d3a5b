//! Removes clones: keeps them whole for some days and their refs in the hub, under other names; empties the trash.

pub mod kept_clone;
pub mod kept_work;
mod log_transfer;
mod removal_folders;
pub mod removal_lock;
pub mod removed_clone;
pub mod removed_log;
pub mod removed_work;

use std::path::Path;

use crate::model::text::shell_word;
use crate::model::{Code, Error, Result, World};
use crate::store::files::atomic;
use crate::store::files::shared_root::SharedRoot;
use crate::store::refs::ref_names;

use super::damaged::{self, DamagedClone};
use super::found::{self, FoundClone, clones};
use super::hub::Hub;
use super::hub::hub_folder::move_away;
use super::hub::kept_refs::{is_kept, keep_published};

/// Fails if the clone is the current directory of the command.
pub fn refuse_own_directory(world: &World, clone: &FoundClone) -> Result<()> {
    let here = world.cwd.canonicalize().unwrap_or_else(|_| world.cwd.clone());
    if !here.starts_with(&clone.path) {
        return Ok(());
    }
    Err(Error::new(
        Code::CloneInUse,
        format!("'{}' is the directory this runs in", clone.path.display()),
    )
    .hint(own_directory_hint(world, clone)))
}

/// Returns a command that removes the clone from another directory.
fn own_directory_hint(world: &World, clone: &FoundClone) -> String {
    let short_id = clone.member.id.get(..8).unwrap_or(&clone.member.id);
    let id = clone.member.agent.as_deref().unwrap_or(short_id);
    let root = SharedRoot::of(world).map(|root| root.path().to_owned());
    let elsewhere = root.unwrap_or_else(|_| "/".into());
    format!(
        "cd {} && git colony clones remove {}",
        shell_word(&elsewhere.to_string_lossy()),
        shell_word(id)
    )
}

/// Completes interrupted removals: keeps the published refs of removed clones under their other names, and
/// empties the trash.
pub fn complete(world: &World, root: &SharedRoot, hub: &Path) -> Result<()> {
    let hub = Hub::open(hub)?;
    let mut standing: Vec<_> = clones(root, Some(hub.store.path()))
        .iter()
        .map(|clone| clone.member.published_below())
        .collect();
    let damaged = damaged::clones(root, Some(hub.store.path()));
    standing.extend(damaged.iter().filter_map(DamagedClone::published_below));
    let published = hub.store.refs_below(ref_names::PUBLISHED_AGENTS)?;
    let mut orphans: Vec<(String, String)> = published
        .iter()
        .filter_map(|reference| {
            let name = reference.name.to_string();
            let rest = name.strip_prefix(ref_names::PUBLISHED_AGENTS)?;
            let mut parts = rest.split('/');
            Some((parts.next()?.to_owned(), parts.next()?.to_owned()))
        })
        .collect();
    orphans.dedup();
    for (agent, scope) in orphans {
        let below = format!("{}{agent}/{scope}/", ref_names::PUBLISHED_AGENTS);
        if !standing.contains(&below) {
            // A removal that got this far has kept it together with the uncommitted work.
            if !is_kept(&hub, &below)? {
                keep_published(world, &hub, &below, None)?;
            }
            hub.delete_refs_below(world, &below)?;
        }
    }
    empty(world, &root.trash());
    Ok(())
}

/// Removes a hub that no clone borrows from.
pub fn remove_hub(world: &World, root: &SharedRoot, hub: &Path) -> Result<()> {
    let trash = root.trash();
    atomic::make_directory(&trash)?;
    let away = trash.join(format!("{:016x}", (world.entropy)()));
    // A removed clone that is kept borrows from this hub, too.
    let is_wanted =
        || found::are_of(root, hub) || kept_clone::hubs(root).iter().any(|used| used == hub);
    move_away(world, hub, is_wanted, &away)?;
    empty(world, &trash);
    Ok(())
}

/// Deletes everything that was renamed into the trash, also by processes that died before they could, except clones that
/// are still to be kept once more. What may not be deleted, as files of root, stops no command.
fn empty(world: &World, trash: &Path) {
    let entries = std::fs::read_dir(trash).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()).filter(|path| !kept_clone::is_one(path)) {
        if let Err(error) = atomic::remove_folder(&path) {
            let (shown, why) = (path.display(), error.message());
            (world.narrate)(&format!("warning: '{shown}' cannot be deleted: {why}"));
        }
    }
}
