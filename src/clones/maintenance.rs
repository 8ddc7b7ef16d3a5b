//! Keeping a hub compact. Nothing is ever dropped: loose objects go into packs, packs are joined, and
//! what no ref reaches stays as it is.

use std::path::Path;
use std::time::Duration;

use crate::git::BareRepo;
use crate::model::{Result, World};
use crate::store::lock::WorktreeLock;

/// With so many packs, or loose objects, a hub is compacted.
const MANY_PACKS: usize = 20;
/// One of the 256 folders of loose objects is counted: about 6,700 in all, as git has it.
const MANY_IN_A_FOLDER: usize = 27;
/// Packs up to this size are joined.
const BATCH: &str = "--batch-size=64m";

/// Compacts a hub where that is due and nobody else is at it.
///
/// # Errors
/// `git-failed`, `interrupted`; the hub is whole at every moment.
pub fn maintain_if_due(world: &World, hub: &BareRepo) -> Result<()> {
    if !is_due(hub.path()) {
        return Ok(());
    }
    let lock = hub.path().join("colony-maintenance.lock");
    let Ok(_lock) = WorktreeLock::take_at(world, &lock, (Duration::ZERO, "")) else {
        return Ok(());
    };
    let run = |args: &[&str]| hub.git(world).args(args).run_checked("compact the hub");
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
