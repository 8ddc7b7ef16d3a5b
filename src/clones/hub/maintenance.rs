//! Keeping a hub compact. Nothing is ever dropped: loose objects go into packs, packs are joined, and
//! what no ref reaches stays as it is.

use std::path::Path;
use std::time::Duration;

use crate::git::BareRepo;
use crate::model::{Result, World};
use crate::store::files::atomic;
use crate::store::lock::{Hold, WorktreeLock};

/// With so many packs, or loose objects, a hub is compacted.
const MANY_PACKS: usize = 20;
/// One of the 256 folders of loose objects is counted: about 6,700 in all, as git has it.
const MANY_IN_A_FOLDER: usize = 27;
/// Packs up to this size are joined.
const BATCH: &str = "--batch-size=64m";

/// What git locks here, below `objects`.
const LOCKS: [&str; 3] = [
    "info/commit-graph.lock",
    "info/commit-graphs/commit-graph-chain.lock",
    "pack/multi-pack-index.lock",
];

/// Compacts a hub where that is due and nobody else is at it.
///
/// # Errors
/// `git-failed`, `interrupted`; the hub is whole at every moment.
pub fn maintain_if_due(world: &World, hub: &BareRepo) -> Result<()> {
    if !is_due(hub.path()) {
        return Ok(());
    }
    let lock = hub.path().join("colony-maintenance.lock");
    let Ok(lock) = WorktreeLock::take_as(world, (&lock, Hold::Alone), (Duration::ZERO, "")) else {
        return Ok(());
    };
    // Every git below keeps the lock, so that these are of one that was killed.
    for left in LOCKS {
        atomic::remove_file(&hub.path().join("objects").join(left))?;
    }
    let run = |args: &[&str]| {
        let mut git = hub.git(world);
        let git = git.keep_open(lock.file())?.args(args);
        git.run_checked("compact the hub")
    };
    // Without -a and -d: packs are only added here.
    run(&["repack", "-q"])?;
    run(&["prune-packed", "-q"])?;
    run(&["multi-pack-index", "write", "--no-progress"])?;
    run(&["multi-pack-index", "repack", "--no-progress", BATCH])?;
    // A pack goes when each of its objects is in another one.
    run(&["multi-pack-index", "expire", "--no-progress"])?;
    run(&["commit-graph", "write", "--reachable", "--no-progress"])?;
    Ok(())
}

fn is_due(hub: &Path) -> bool {
    let count = |folder: &str, end: &str| {
        let entries = std::fs::read_dir(hub.join("objects").join(folder));
        let names = entries.into_iter().flatten().flatten();
        let names = names.map(|entry| entry.file_name());
        names
            .filter(|name| name.to_string_lossy().ends_with(end))
            .count()
    };
    count("17", "") > MANY_IN_A_FOLDER || count("pack", ".pack") >= MANY_PACKS
}
