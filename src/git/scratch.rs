//! Temporary folders for a git process.
//!
//! A folder is deleted with its owner; the next folder that is created deletes those of killed
//! owners. An advisory lock on the folder itself shows whether its owner is alive: it ends with the
//! process, and needs no file in a folder where git keeps objects.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use tempfile::TempDir;

use crate::model::{Error, Result, World};

/// The folder in memory that is used where the usual one is read-only: a sandbox may leave a command no other.
const IN_MEMORY: &str = "/dev/shm";
/// The prefix of the names of these folders.
const PREFIX: &str = "git-colony-scratch-";
/// The number of names that are checked for leftovers.
const MAX_NAMES: usize = 10_000;
/// The number of leftover folders that are deleted at a time.
const MAX_DELETED: usize = 16;

/// A folder that only this user can read; it is deleted when dropped.
#[derive(Debug)]
pub(super) struct Scratch {
    folder: TempDir,
    /// Shows that the owner is alive. `None` on a file system without such locks: leftovers stay
    /// there.
    _lock: Option<File>,
}

impl Scratch {
    /// Creates one, and deletes the leftovers of dead owners beside it.
    pub(super) fn new(world: &World) -> Result<Scratch> {
        let base = world.variable("TMPDIR").unwrap_or(OsStr::new("/tmp"));
        let made = match Scratch::below(&world.absolute(Path::new(base))) {
            Err(e) if is_forbidden(&e) => Scratch::below(Path::new(IN_MEMORY)).map_err(|_| e),
            made => made,
        };
        made.map_err(|e| Error::io("cannot make a temporary folder", e))
    }

    fn below(base: &Path) -> io::Result<Scratch> {
        sweep(base);
        loop {
            let folder = tempfile::Builder::new()
                .prefix(PREFIX)
                .permissions(Permissions::from_mode(0o700))
                .tempdir_in(base)?;
            let lock = open(folder.path());
            let tried = lock.as_ref().map(File::try_lock);
            let lock = lock.filter(|_| matches!(tried, Some(Ok(()))));
            // Until it is locked, another process may take it for a leftover.
            let is_taken = matches!(tried, Some(Err(TryLockError::WouldBlock)));
            let stands = match &lock {
                Some(lock) => stands_at(lock, folder.path()),
                None => folder.path().is_dir(),
            };
            if stands && !is_taken {
                return Ok(Scratch { folder, _lock: lock });
            }
        }
    }

    /// Returns the path.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied)
}

/// Deletes the folders of dead owners. Those that cannot be read or deleted stay; they do no harm.
fn sweep(base: &Path) {
    let entries = std::fs::read_dir(base).into_iter().flatten().flatten();
    let ours = entries.take(MAX_NAMES).filter(|entry| {
        let name = entry.file_name();
        name.as_encoded_bytes().starts_with(PREFIX.as_bytes())
    });
    for entry in ours.take(MAX_DELETED) {
        let path = entry.path();
        let Some(folder) = open(&path) else { continue };
        let user = own_user();
        let is_ours = folder.metadata().is_ok_and(|metadata| metadata.uid() == user);
        if is_ours && folder.try_lock().is_ok() && stands_at(&folder, &path) {
            std::fs::remove_dir_all(&path).ok();
        }
    }
}

/// Opens a folder; `None` for a symlink and for anything else.
fn open(path: &Path) -> Option<File> {
    let safely = rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::NOFOLLOW;
    let flags = i32::try_from(safely.bits()).ok()?;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    opened.ok()
}

fn stands_at(folder: &File, path: &Path) -> bool {
    let of = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    match (folder.metadata(), std::fs::symlink_metadata(path)) {
        (Ok(open), Ok(standing)) => of(open) == of(standing),
        _ => false,
    }
}

/// Returns the id of the user that runs this process.
pub fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sweep_takes_a_folder_away_from_who_has_made_it() {
        let base = tempfile::tempdir().unwrap();
        let work = || {
            for _ in 0..300 {
                let scratch = Scratch::below(base.path()).unwrap();
                assert!(scratch.path().is_dir());
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(work);
            }
        });
        assert_eq!(std::fs::read_dir(base.path()).unwrap().count(), 0);
    }
}
