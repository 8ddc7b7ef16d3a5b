//! Keeps a hub compact. Nothing is ever deleted: loose objects are packed, packs are joined, and unreachable
//! objects stay. Refs are packed, too: each command in a clone reads all of some kinds.

use std::path::Path;
use std::time::Duration;

use crate::git::{BareRepo, durable};
use crate::model::{Result, World};
use crate::store::files::atomic;
use crate::store::lock::wait::WaitLimit;
use crate::store::lock::{Hold, WorktreeLock};
use crate::store::refs::own_refs;

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

/// The number of refs in files of their own at which they are packed.
const MANY_REFS: usize = 200;

/// Compacts a hub if that is due and no other process does it.
pub fn maintain_if_due(world: &World, hub: &BareRepo) -> Result<()> {
    if has_many_loose_refs(&hub.path().join("refs")) {
        pack_refs(world, hub)?;
    }
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

/// Packs the refs of a hub. A ref that moves meanwhile stays in a file of its own.
pub(super) fn pack_refs(world: &World, hub: &BareRepo) -> Result<()> {
    own_refs::in_hub(world, hub.path(), |lock| {
        let mut git = hub.git(world);
        durable::pack_durably(&mut git);
        git.keep_open(lock)?.args(["pack-refs", "--all", "--prune"]);
        git.run_checked("pack the refs of the hub").map(drop)
    })
}

fn has_many_loose_refs(refs: &Path) -> bool {
    let (mut open, mut left) = (vec![refs.to_owned()], MANY_REFS);
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
                continue;
            }
            left -= 1;
            if left == 0 {
                return true;
            }
        }
    }
    false
}

fn is_due(hub: &Path) -> bool {
    let count = |folder: &str, end: &str| {
        let entries = std::fs::read_dir(hub.join("objects").join(folder));
        let names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name());
        names.filter(|name| name.to_string_lossy().ends_with(end)).count()
    };
    count("17", "") > MANY_IN_A_FOLDER || count("pack", ".pack") >= MANY_PACKS
}
