//! Lets one process at a time remove a clone: a lock beside the clones that are being removed, by the id of
//! the clone.

use std::path::PathBuf;

use crate::model::{Result, World};
use crate::store::files::atomic;
use crate::store::files::shared_root::SharedRoot;
use crate::store::lock::WorktreeLock;
use crate::store::lock::wait::WaitLimit;
use crate::store::membership::Membership;

/// Keeps other processes from removing the same clone while it exists.
#[derive(Debug)]
pub struct Turn {
    path: PathBuf,
    _lock: WorktreeLock,
}

impl Drop for Turn {
    fn drop(&mut self) {
        // A process that waits for the lock opens it again; a file that stays is swept with the locks of dead
        // processes.
        atomic::remove_file(&self.path).ok();
    }
}

/// Waits for other processes that remove the same clone; afterwards the clone may be gone.
pub fn take_turn(world: &World, member: &Membership) -> Result<Turn> {
    let root = SharedRoot::of(world)?;
    let path = root.leaving().join(format!("{}.turn.lock", member.id));
    let waiting = "waiting for another git-colony that removes this clone";
    let lock = WorktreeLock::take_at(world, &path, WaitLimit::for_lock(world.timeout), waiting)?;
    Ok(Turn { path, _lock: lock })
}
