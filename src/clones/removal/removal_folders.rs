//! Folders of removed clones: renamed to a free name, listed, measured, and removed where they are empty.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::model::{Code, Error, Result};
use crate::store::files::atomic;
use crate::store::files::shared_root::SharedRoot;

/// The number of clones of one name that can be removed within a second.
const MAX_FOLDERS: usize = 1_000;

/// Renames to a free name in a folder, which is made; returns the new path.
pub(super) fn move_to_free(from: &Path, folder: &Path, name: &str) -> Result<PathBuf> {
    atomic::make_directory(folder)?;
    for number in 1..=MAX_FOLDERS {
        let name = if number == 1 { name.to_owned() } else { format!("{name}-{number}") };
        let to = folder.join(name);
        if atomic::rename_to_free(from, &to)? {
            return Ok(to);
        }
    }
    Err(Error::new(Code::Io, format!("the names in '{}' are taken", folder.display())).unchanged())
}

/// Makes the names of two paths durable.
pub(super) fn sync_above(paths: [&Path; 2]) -> Result<()> {
    paths.into_iter().filter_map(Path::parent).try_for_each(atomic::sync_directory)
}

/// Lists the folders in a folder; links are none.
pub(super) fn below(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut folders: Vec<_> = entries.map(|entry| entry.path()).collect();
    folders.retain(|path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()));
    folders.sort();
    folders
}

/// Returns what the deletion of a folder frees, in bytes. Files with a second name elsewhere are not freed.
pub(super) fn size_of(folder: &Path) -> u64 {
    const BLOCK_BYTES: u64 = 512;
    let (mut open, mut size) = (vec![folder.to_owned()], 0);
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => open.push(entry.path()),
                Ok(metadata) if metadata.nlink() == 1 => size += metadata.blocks() * BLOCK_BYTES,
                _ => {}
            }
        }
    }
    size
}

/// Removes the folders of an agent without a clone.
pub(super) fn remove_empty_folders(root: &SharedRoot, path: &Path) {
    let above = path.ancestors().skip(1);
    for folder in above.take_while(|folder| *folder != root.path()) {
        // The folder of all agents stays, empty or not.
        if folder == root.agents() || !matches!(atomic::remove_empty_folder(folder), Ok(true)) {
            return;
        }
    }
}
