//! Where hubs are: made beside their place and set aside before they are removed, by one at a time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::model::{Code, Error, Result, World};
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::files::shared_root::SharedRoot;
use crate::store::lock::WorktreeLock;

/// How long to wait for somebody else who makes the hub: it may take a copy of the whole history.
const PATIENCE: Duration = Duration::from_mins(10);

/// How the folder of a hub ends that is set aside before it is removed.
pub(in crate::clones) const SET_ASIDE: &str = "gone";

/// Where a hub is, or will be.
pub(in crate::clones) struct HubPlace {
    /// The hub.
    pub(in crate::clones) path: PathBuf,
    /// Where it is made.
    pub(in crate::clones) new: PathBuf,
    aside: PathBuf,
    lock: PathBuf,
}

impl HubPlace {
    pub(in crate::clones) fn of(root: &SharedRoot, address: &str) -> HubPlace {
        let hash = blake3::hash(address.as_bytes()).to_hex();
        let hash = hash.get(..16).unwrap_or_default();
        HubPlace::at(&root.hubs().join(format!("{hash}.git")))
    }

    pub(in crate::clones) fn at(path: &Path) -> HubPlace {
        HubPlace {
            path: path.to_owned(),
            new: path.with_extension("new"),
            aside: path.with_extension(SET_ASIDE),
            lock: path.with_extension("lock"),
        }
    }

    fn lock(&self, world: &World, timeout: Option<Duration>) -> Result<WorktreeLock> {
        let waiting = "waiting for another git-colony that makes the hub of this repository";
        let patience = timeout.unwrap_or(PATIENCE);
        WorktreeLock::take_at(world, &self.lock, (patience, waiting))
    }

    /// Puts a hub back that somebody set aside who died; its lock is held.
    fn bring_back(&self) -> Result<()> {
        if self.aside.is_dir() && !self.path.exists() {
            atomic::rename(&self.aside, &self.path)?;
        }
        Ok(())
    }

    pub(in crate::clones) fn require(
        &self,
        session: &Session,
        make: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        self.require_in(&session.world, session.settings.timeout, make)
    }

    /// One makes the hub; whoever else wants it waits, and finds it.
    pub(in crate::clones) fn require_in(
        &self,
        world: &World,
        timeout: Option<Duration>,
        make: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        if self.path.is_dir() {
            return Ok(());
        }
        let _lock = self.lock(world, timeout)?;
        self.bring_back()?;
        if self.path.is_dir() {
            return Ok(());
        }
        // What a process left that died here: it held the lock that we have now.
        atomic::remove_folder(&self.new)?;
        let made = make().and_then(|()| {
            world.reach("hub-made")?;
            atomic::sync_file_system(&self.new)?;
            atomic::rename(&self.new, &self.path)
        });
        if made.is_err() && !world.is_dead() {
            atomic::remove_folder(&self.new)?;
        }
        made
    }
}

/// Brings back the hubs that were set aside by those who died before they removed them: a clone may have
/// been made of them meanwhile.
///
/// # Errors
/// `locked`, `io`.
pub fn bring_back_all(world: &World, root: &SharedRoot) -> Result<()> {
    let entries = std::fs::read_dir(root.hubs());
    for entry in entries.into_iter().flatten().flatten() {
        let aside = entry.path();
        if aside.extension().is_some_and(|end| end == SET_ASIDE) {
            let place = HubPlace::at(&aside.with_extension("git"));
            let _lock = place.lock(world, None)?;
            place.bring_back()?;
        }
    }
    Ok(())
}

/// Removes a hub that `is_wanted` by nobody: it is set aside first, so that nobody begins to borrow from
/// it, and brought back where somebody did meanwhile. What is removed is then at `away`.
///
/// # Errors
/// `locked` where somebody makes it or began to borrow from it, `io`.
pub fn set_aside(
    world: &World,
    hub: &Path,
    is_wanted: impl FnOnce() -> bool,
    away: &Path,
) -> Result<()> {
    let place = HubPlace::at(hub);
    let _lock = place.lock(world, None)?;
    atomic::rename(hub, &place.aside)?;
    world.reach("hub-aside")?;
    if is_wanted() {
        place.bring_back()?;
        return Err(Error::new(
            Code::Locked,
            format!("a clone of '{}' was just made: it stays", hub.display()),
        )
        .hint("git colony clones"));
    }
    atomic::rename(&place.aside, away)
}
