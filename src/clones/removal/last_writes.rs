//! Finds files that are written into the working tree of a clone during its removal, by their times, and
//! spares them when the rest is deleted.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::model::{Result, World};
use crate::store::files::atomic;

/// The result of deleting a clone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// Everything is deleted.
    All,
    /// Files that were written meanwhile are still there.
    NotAll,
}

/// Returns `true` if a file of the working tree at `top` was written since.
pub(in crate::clones) fn has_any(world: &World, top: &Path, since: SystemTime) -> Result<bool> {
    let mut open = vec![top.to_owned()];
    while let Some(folder) = open.pop() {
        world.interrupt.check()?;
        for (path, metadata) in entries(top, &folder) {
            if metadata.is_dir() {
                open.push(path);
            } else if is_younger(&metadata, since) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Deletes the working tree at `top`, except git's own files and those that were written since.
pub(in crate::clones) fn delete_others(
    world: &World,
    top: &Path,
    since: SystemTime,
) -> Result<Deleted> {
    delete_worktree(world, top, top, since)
}

/// Lists a folder of a working tree, without git's own files at the top.
fn entries(top: &Path, folder: &Path) -> Vec<(PathBuf, Metadata)> {
    let found = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| *path != top.join(".git"))
        .filter_map(|path| {
            let metadata = fs::symlink_metadata(&path).ok()?;
            Some((path, metadata))
        });
    found.collect()
}

/// Returns `true` if a file was written since. A process cannot set the time of the last inode change, but
/// this time is useless for files with several hard links: creating or deleting any of them changes it.
fn is_younger(metadata: &Metadata, since: SystemTime) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let written = metadata.modified().is_ok_and(|at| at >= since);
    let nanos = |at: Duration| i128::try_from(at.as_nanos()).unwrap_or(i128::MAX);
    let since = since.duration_since(SystemTime::UNIX_EPOCH).map_or(0, nanos);
    let changed = i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec());
    written || (metadata.nlink() == 1 && changed >= since)
}

fn delete_worktree(world: &World, top: &Path, folder: &Path, since: SystemTime) -> Result<Deleted> {
    let mut deleted = Deleted::All;
    for (path, metadata) in entries(top, folder) {
        world.interrupt.check()?;
        if metadata.is_dir() {
            if delete_worktree(world, top, &path, since)? == Deleted::NotAll
                || !atomic::remove_empty_folder(&path)?
            {
                deleted = Deleted::NotAll;
            }
        } else if metadata.modified().is_ok_and(|at| at >= since) {
            deleted = Deleted::NotAll;
        } else {
            atomic::remove_file(&path)?;
        }
    }
    Ok(deleted)
}
