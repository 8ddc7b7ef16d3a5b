//! What stays of a clone that is taken away: its refs in the hub, under another name; and the trash.

pub mod kept_refs;
pub mod last_writes;
mod log_transfer;
pub mod removal_lock;
pub mod removal_steps;
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
use super::hub::hub_folder::set_aside;
use kept_refs::{is_kept, keep_published};

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
    .hint(own_directory_hint(world, clone)))
}

/// Returns the command that does it from elsewhere.
fn own_directory_hint(world: &World, clone: &FoundClone) -> String {
    let id = clone.member.id.get(..8).unwrap_or(&clone.member.id);
    let id = clone.member.agent.as_deref().unwrap_or(id);
    let root = SharedRoot::of(world).map(|root| root.path().to_owned());
    let elsewhere = root.unwrap_or_else(|_| "/".into());
    format!(
        "cd {} && git colony clones remove {}",
        shell_word(&elsewhere.to_string_lossy()),
        shell_word(id)
    )
}

/// Completes removals that were cut off: what a clone has published that is gone is kept under the other
/// name, and the trash is emptied.
///
/// # Errors
/// `hub-missing`, `ref-moved`, `locked`, `io`.
pub fn complete(world: &World, root: &SharedRoot, hub: &Path) -> Result<()> {
    let hub = Hub::open(hub)?;
    let standing = clones(root, Some(hub.store.path()));
    let mut standing: Vec<_> = standing
        .iter()
        .map(|clone| clone.member.published_below())
        .collect();
    let damaged = damaged::clones(root, Some(hub.store.path()));
    standing.extend(damaged.iter().filter_map(DamagedClone::published_below));
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
            // Where the removal has come so far, it was kept with what was uncommitted.
            if !is_kept(&hub, &below)? {
                keep_published(world, &hub, (&below, None))?;
            }
            hub.delete_refs_below(world, &below)?;
        }
    }
    empty(world, &root.trash())
}

/// Removes a hub that nobody borrows from.
///
/// # Errors
/// `locked` where a clone was made of it meanwhile, `io`.
pub fn remove_hub(world: &World, root: &SharedRoot, hub: &Path) -> Result<()> {
    let trash = root.trash();
    atomic::make_directory(&trash)?;
    let away = trash.join(format!("{:016x}", (world.entropy)()));
    // What a clone on its way out has left to keep comes here, too.
    let is_wanted =
        || found::are_of(root, hub) || removal_steps::hubs(root).iter().any(|used| used == hub);
    set_aside(world, hub, is_wanted, &away)?;
    empty(world, &trash)
}

/// Deletes what was renamed into the trash, also by those who died before they could. Clones go their
/// own way there.
fn empty(world: &World, trash: &Path) -> Result<()> {
    let entries = std::fs::read_dir(trash).into_iter().flatten().flatten();
    for entry in entries.map(|entry| entry.path()) {
        if removal_steps::is_rubbish(&entry) {
            // It stays where it is until its hub is there again; nobody has to wait for that.
            if let Err(error) = removal_steps::delete_rubbish(&entry) {
                let (shown, why) = (entry.display(), error.message());
                (world.narrate)(&format!("warning: '{shown}' is not deleted yet: {why}"));
            }
        } else if !removal_steps::is_one(&entry) {
            atomic::remove_folder(&entry)?;
        }
    }
    Ok(())
}
