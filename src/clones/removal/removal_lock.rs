//! Lets one process at a time remove, restore or delete a clone: a lock by the id of the clone.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use crate::model::{Result, World};
use crate::store::files::atomic;
use crate::store::files::shared_root::SharedRoot;
use crate::store::lock::WorktreeLock;
use crate::store::lock::wait::WaitLimit;
use crate::store::membership::Membership;

/// Keeps other processes from the same clone while it exists.
#[derive(Debug)]
pub struct RemovalLock {
    path: PathBuf,
    _lock: WorktreeLock,
}

impl Drop for RemovalLock {
    fn drop(&mut self) {
        // A process that waits for the lock opens it again; a file that stays is swept with the locks of dead
        // processes.
        atomic::remove_file(&self.path).ok();
    }
}

/// Waits for other processes that remove, restore or delete the same clone; afterwards it may be gone.
pub fn take_turn(world: &World, member: &Membership) -> Result<RemovalLock> {
    take(world, member, WaitLimit::for_lock(world.timeout))
}

/// Does the same without waiting.
pub fn take_free_turn(world: &World, member: &Membership) -> Result<RemovalLock> {
    take(world, member, WaitLimit::AtMost(Duration::ZERO))
}

fn take(world: &World, member: &Membership, limit: WaitLimit) -> Result<RemovalLock> {
    let path = SharedRoot::of(world)?.removal_locks().join(format!("{}.lock", member.id));
    let waiting = "waiting for another git-colony that removes or restores this clone";
    let lock = WorktreeLock::take_at(world, &path, limit, waiting)?;
    Ok(RemovalLock { path, _lock: lock })
}

/// Deletes the locks of processes that have died.
pub fn sweep(root: &SharedRoot) {
    let entries = std::fs::read_dir(root.removal_locks()).into_iter().flatten().flatten();
    for lock in entries.map(|entry| entry.path()) {
        let file = File::open(&lock);
        if file.is_ok_and(|file| file.try_lock().is_ok()) {
            atomic::remove_file(&lock).ok();
        }
    }
}
