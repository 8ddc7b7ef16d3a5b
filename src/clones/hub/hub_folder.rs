//! The folders of hubs: created beside their path and moved aside before they are deleted, by one process at
//! a time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::git::durable;
use crate::model::{Code, Error, Result, World};
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::files::shared_root::SharedRoot;
use crate::store::lock::WorktreeLock;
use crate::store::lock::wait::WaitLimit;

/// The extension of a hub's folder that is moved aside before it is deleted.
pub(in crate::clones) const MOVED_ASIDE: &str = "gone";

/// The extension of the folder in which a hub is created.
const BEGUN: &str = "new";

/// The extension of the file that says that a hub was deleted with its last clone, and is not lost.
const DELETED: &str = "deleted";

/// Returns `true` if a hub was deleted with its last clone: its agents were removed before.
pub(in crate::clones) fn is_deleted(hub: &Path) -> bool {
    hub.with_extension(DELETED).is_file()
}

/// The path of a hub, which need not exist.
pub(in crate::clones) struct HubPlace {
    /// The hub.
    pub(in crate::clones) path: PathBuf,
    /// The folder it is created in.
    pub(in crate::clones) new: PathBuf,
    aside: PathBuf,
    lock: PathBuf,
}

impl HubPlace {
    pub(in crate::clones) fn of(root: &SharedRoot, address: &str) -> HubPlace {
        let hex = blake3::hash(address.as_bytes()).to_hex();
        let hash = hex.get(..16).expect("a digest has 64 digits");
        HubPlace::at(&root.hubs().join(format!("{hash}.git")))
    }

    pub(in crate::clones) fn at(path: &Path) -> HubPlace {
        HubPlace {
            path: path.to_owned(),
            new: path.with_extension(BEGUN),
            aside: path.with_extension(MOVED_ASIDE),
            lock: path.with_extension("lock"),
        }
    }

    fn lock(&self, world: &World, timeout: Option<Duration>) -> Result<WorktreeLock> {
        let waiting = "waiting for another git-colony that makes the hub of this repository";
        let limit = WaitLimit::for_long_work(timeout.or(world.timeout));
        WorktreeLock::take_at(world, &self.lock, limit, waiting)
    }

    /// Restores a hub that a dead process moved aside. The caller holds its lock.
    fn restore(&self) -> Result<()> {
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

    /// One process creates the hub; others wait, and find it.
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
        self.restore()?;
        if self.path.is_dir() {
            return Ok(());
        }
        // Leftovers of a dead process: it held the lock that we hold now.
        atomic::remove_folder(&self.new)?;
        let made = make().and_then(|()| {
            world.reach("hub-made")?;
            durable::sync_file_system(&self.new)?;
            atomic::rename(&self.new, &self.path)?;
            atomic::remove_file(&self.path.with_extension(DELETED))
        });
        if made.is_err() && !world.is_dead() {
            atomic::remove_folder(&self.new)?;
        }
        made
    }
}

/// Restores the hubs that dead processes moved aside and had not deleted: a clone may have been made of them
/// meanwhile. Deletes those that dead processes had not completed.
pub fn restore_all(world: &World, root: &SharedRoot) -> Result<()> {
    let entries = std::fs::read_dir(root.hubs());
    for entry in entries.into_iter().flatten().flatten() {
        let folder = entry.path();
        if folder.extension().is_some_and(|end| end == MOVED_ASIDE || end == BEGUN) {
            let place = HubPlace::at(&folder.with_extension("git"));
            let _lock = place.lock(world, None)?;
            place.restore()?;
            atomic::remove_folder(&place.new)?;
        }
    }
    Ok(())
}

/// Moves a hub to `away`, unless `is_wanted`. It is moved aside first, so that no clone starts to borrow from it, and
/// restored if one did meanwhile.
pub fn move_away(
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
        place.restore()?;
        return Err(Error::new(
            Code::Locked,
            format!("a clone of '{}' was just made: the hub stays", hub.display()),
        )
        .hint("git colony clones"));
    }
    atomic::write_quickly(&hub.with_extension(DELETED), b"")?;
    atomic::rename(&place.aside, away)
}
