//! Keeps a hub compact. Nothing is ever deleted: loose objects are packed, packs are joined, and unreachable
//! objects stay.

use std::path::Path;
use std::time::Duration;

use crate::git::BareRepo;
use crate::model::{Result, World};
use crate::store::files::atomic;
use crate::store::lock::wait::WaitLimit;
use crate::store::lock::{Hold, WorktreeLock};

/// A hub with this many packs is compacted.
const MANY_PACKS: usize = 20;
/// The limit for one of the 256 folders of loose objects, about 6,700 in all, as in git.
const MANY_IN_A_FOLDER: usize = 27;
/// Packs up to this size are joined.
const BATCH: &str = "--batch-size=64m";

/// The locks of git here, below `objects`.
const LOCKS: [&str; 3] = [
    "info/commit-graph.lock",
    "info/commit-graphs/commit-graph-chain.lock",
    "pack/multi-pack-index.lock",
];

/// Compacts a hub if that is due and no other process does it.
pub fn maintain_if_due(world: &World, hub: &BareRepo) -> Result<()> {
    if !is_due(hub.path()) {
        return Ok(());
    }
    let lock = hub.path().join("colony-maintenance.lock");
    let Ok(lock) =
        WorktreeLock::take_as(world, &lock, Hold::Alone, WaitLimit::AtMost(Duration::ZERO), "")
    else {
        return Ok(());
    };
    // Every git below holds the lock, so these locks are of a killed one.
    for left in LOCKS {
        atomic::remove_file(&hub.path().join("objects").join(left))?;
    }
    let run = |args: &[&str]| {
        hub.git(world).keep_open(lock.file())?.args(args).run_checked("compact the hub")
    };
    // Without -a and -d: packs are only added here.
    run(&["repack", "-q"])?;
    run(&["prune-packed", "-q"])?;
    run(&["multi-pack-index", "write", "--no-progress"])?;
    run(&["multi-pack-index", "repack", "--no-progress", BATCH])?;
    // A pack is deleted when each of its objects is in another one.
    run(&["multi-pack-index", "expire", "--no-progress"])?;
    run(&["commit-graph", "write", "--reachable", "--no-progress"])?;
    Ok(())
}

fn is_due(hub: &Path) -> bool {
    let count = |folder: &str, end: &str| {
        let entries = std::fs::read_dir(hub.join("objects").join(folder));
        let names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name());
        names.filter(|name| name.to_string_lossy().ends_with(end)).count()
    };
    count("17", "") > MANY_IN_A_FOLDER || count("pack", ".pack") >= MANY_PACKS
}
