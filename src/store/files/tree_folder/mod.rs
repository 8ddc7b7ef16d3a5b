//! Folders of ours in the working tree: `.colony/cache/...`, which may be deleted at any time, and `.colony/sessions/...`.
//!
//! No symlink on the way is followed, so a repository cannot lead a write elsewhere. Both folders hide themselves from
//! git by an ignore file of their own; checkpoints leave them out without it.

mod append;

use std::fs::{File, TryLockError};
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

pub use crate::git::worktree::{CACHE, SESSIONS};
use crate::model::{Code, Error, RepoPath, Result, World};

use super::exclusive_move::{Moved, rename_exclusively};
use super::leftovers;
pub use append::{Expected, Growing, Keeping};

/// How long to wait for another process that writes a file, or changes a folder.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to wait between two attempts.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The ignore file of a folder.
const IGNORE: &str = ".gitignore";

/// Its content.
const HIDE_ALL: &[u8] = b"*\n";

/// The maximum number of temporary names that are tried.
const MAX_TEMPORARY: u8 = 16;

/// A folder that exists.
pub struct TreeFolder {
    folder: OwnedFd,
    path: RepoPath,
}

impl TreeFolder {
    /// Creates the folder of this checkout's caches below a root, or opens it; deletes what killed commands left there.
    pub fn of_repository(world: &World, root: &Path, repository_id: &str) -> Result<TreeFolder> {
        world.refuse_root()?;
        let cache = TreeFolder::hidden(root, CACHE)?;
        let folder = TreeFolder::make(root, &folder_of(repository_id))?;
        for swept in [&cache, &folder] {
            leftovers::sweep(&swept.folder, is_temporary, &world.now());
        }
        Ok(folder)
    }

    /// Creates the folder of this checkout's sessions below a root, or opens it.
    pub fn of_sessions(root: &Path, repository_id: &str) -> Result<TreeFolder> {
        TreeFolder::hidden(root, SESSIONS)?;
        TreeFolder::make(root, &sessions_of(repository_id))
    }

    fn hidden(root: &Path, path: &str) -> Result<TreeFolder> {
        let folder = TreeFolder::make(root, &RepoPath::from(path))?;
        folder.hide()?;
        Ok(folder)
    }

    /// Hides the folder from git by a whole ignore file of its own: one with other content would show private files.
    fn hide(&self) -> Result<()> {
        if self.is_hidden()? {
            return Ok(());
        }
        // A killed process may have had the same id.
        for number in 0..MAX_TEMPORARY {
            let temporary = format!("tmp-{:06x}{number:02x}", std::process::id() & 0xff_ffff);
            if self.create(&temporary, HIDE_ALL, 0o666)? {
                self.keep_other(&format!("replaced-{temporary}.gitignore"))?;
                return self.move_over(&temporary, IGNORE);
            }
        }
        Err(self.cannot_write(IGNORE, std::io::ErrorKind::AlreadyExists.into()))
    }

    /// Gives the present ignore file a second name: the user may have written it.
    fn keep_other(&self, name: &str) -> Result<()> {
        match rustix::fs::linkat(&self.folder, IGNORE, &self.folder, name, AtFlags::empty()) {
            Err(error) if error != Errno::NOENT => Err(self.cannot_write(name, error.into())),
            _ => Ok(()),
        }
    }

    /// Returns `true` if the ignore file is the one that hides everything.
    fn is_hidden(&self) -> Result<bool> {
        let in_the_way = || {
            let path = self.path.join(&RepoPath::from(IGNORE));
            let message = format!("'{path}' is not a plain file, so '{}' is not hidden", self.path);
            Error::new(Code::PathInTheWay, message).unchanged().detail("path", &path)
        };
        let cannot = |error| self.cannot_write(IGNORE, error);
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = match rustix::fs::openat(&self.folder, IGNORE, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            // One that cannot be read is replaced.
            Err(Errno::NOENT | Errno::ACCESS) => return Ok(false),
            Err(Errno::LOOP | Errno::MLINK | Errno::NXIO) => return Err(in_the_way()),
            Err(error) => return Err(cannot(error.into())),
        };
        if !file.metadata().map_err(cannot)?.is_file() {
            return Err(in_the_way());
        }
        let mut content = Vec::new();
        let read = file.take(HIDE_ALL.len() as u64 + 1).read_to_end(&mut content);
        read.map_err(cannot)?;
        Ok(content == HIDE_ALL)
    }

    /// Renames a file over another, or deletes it if that fails.
    fn move_over(&self, temporary: &str, name: &str) -> Result<()> {
        let renamed = rustix::fs::renameat(&self.folder, temporary, &self.folder, name);
        renamed.map_err(|error| {
            // The error is that of the rename.
            rustix::fs::unlinkat(&self.folder, temporary, AtFlags::empty()).ok();
            self.cannot_write(name, error.into())
        })
    }

    /// Creates the missing parts of a folder, durably, and opens it.
    fn make(root: &Path, path: &RepoPath) -> Result<TreeFolder> {
        let cannot = |error: Errno| match error {
            Errno::NOTDIR | Errno::LOOP | Errno::MLINK => {
                let message =
                    format!("cannot create '{path}': something on the way is not a directory");
                Error::new(Code::PathInTheWay, message).detail("path", path)
            }
            error => Error::io(format!("cannot create '{path}'"), error.into()),
        };
        let top = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut folder = rustix::fs::open(root, top, Mode::empty()).map_err(cannot)?;
        for part in path.parts() {
            match rustix::fs::mkdirat(&folder, part, Mode::from_raw_mode(0o777)) {
                Ok(()) => sync(&folder).map_err(cannot)?,
                Err(Errno::EXIST) => {}
                Err(error) => return Err(cannot(error)),
            }
            let below = top | OFlags::NOFOLLOW;
            folder = rustix::fs::openat(&folder, part, below, Mode::empty()).map_err(cannot)?;
        }
        Ok(TreeFolder { folder, path: path.clone() })
    }

    /// Replaces a file. A reader sees all of it or the old content; a power cut may lose it. `nonce` names the
    /// temporary file.
    pub fn write(&self, name: &str, bytes: &[u8], nonce: &str) -> Result<()> {
        let temporary = format!("tmp-{nonce}");
        if !self.create(&temporary, bytes, 0o666)? {
            return Err(self.cannot_write(&temporary, std::io::ErrorKind::AlreadyExists.into()));
        }
        self.move_over(&temporary, name)
    }

    /// Creates a file that only its owner can read, with all of its content; returns `false` if it exists. It survives
    /// a power cut. `nonce` names the temporary file.
    pub fn create_private(&self, name: &str, bytes: &[u8], nonce: &str) -> Result<bool> {
        let temporary = format!("tmp-{nonce}");
        if !self.create(&temporary, bytes, 0o600)? {
            return Err(self.cannot_write(&temporary, std::io::ErrorKind::AlreadyExists.into()));
        }
        let moved =
            rename_exclusively(&self.folder, temporary.as_ref(), &self.folder, name.as_ref());
        if !matches!(moved, Ok(Moved::Yes)) {
            // The error is that of the rename.
            rustix::fs::unlinkat(&self.folder, &temporary, AtFlags::empty()).ok();
        }
        let moved = moved.map_err(|error| self.cannot_write(name, error))?;
        if moved == Moved::SourceMissing {
            return Err(self.cannot_write(&temporary, std::io::ErrorKind::NotFound.into()));
        }
        self.sync()?;
        Ok(moved == Moved::Yes)
    }

    /// Moves a file of the same name here from another folder; returns `false` if there is one already, or the other
    /// is gone. It survives a power cut.
    pub fn take_over(&self, from: &TreeFolder, name: &str) -> Result<bool> {
        let moved = rename_exclusively(&from.folder, name.as_ref(), &self.folder, name.as_ref())
            .map_err(|error| self.cannot_write(name, error))?;
        self.sync()?;
        from.sync()?;
        Ok(moved == Moved::Yes)
    }

    /// Takes the lock of the folder, which is held as long as the result exists: for changes that depend on which files
    /// it has. `None` if another process holds it for long, or the file system has no locks.
    pub fn lock(&self) -> Result<Option<File>> {
        let cannot = |error| Error::io(format!("cannot lock '{}'", self.path), error);
        let file = self.open_to_sync().map_err(cannot)?;
        Ok(lock_within(&file).map_err(cannot)?.then_some(file))
    }

    /// Deletes the temporary files of processes that have died. The caller holds the lock.
    pub fn delete_leftovers(&self) -> Result<()> {
        let cannot = |error| Error::io(format!("cannot list '{}'", self.path), error);
        let file = self.open_to_sync().map_err(cannot)?;
        for entry in rustix::fs::Dir::read_from(&file).map_err(|error| cannot(error.into()))? {
            let entry = entry.map_err(|error| cannot(error.into()))?;
            if entry.file_name().to_bytes().starts_with(b"tmp-") {
                // The next command tries again.
                rustix::fs::unlinkat(&self.folder, entry.file_name(), AtFlags::empty()).ok();
            }
        }
        Ok(())
    }

    fn open_to_sync(&self) -> std::io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.folder, ".", flags, Mode::empty())?.into())
    }

    fn sync(&self) -> Result<()> {
        let synced = self.open_to_sync().and_then(|folder| folder.sync_all());
        synced.map_err(|error| Error::io(format!("cannot sync '{}'", self.path), error))
    }

    /// Creates a file; returns `false` if it exists.
    fn create(&self, name: &str, bytes: &[u8], mode: u32) -> Result<bool> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode);
        match rustix::fs::openat(&self.folder, name, flags, mode) {
            Err(Errno::EXIST) => Ok(false),
            Err(error) => Err(self.cannot_write(name, error.into())),
            Ok(file) => {
                let mut file = File::from(file);
                let written = file.write_all(bytes).and_then(|()| file.sync_data());
                written.map(|()| true).map_err(|error| {
                    // The error is that of the write.
                    rustix::fs::unlinkat(&self.folder, name, AtFlags::empty()).ok();
                    self.cannot_write(name, error)
                })
            }
        }
    }

    fn cannot_write(&self, name: &str, error: std::io::Error) -> Error {
        Error::io(format!("cannot write '{}/{name}'", self.path), error)
    }

    /// Creates a folder in this one, which is below a root, or opens it.
    pub fn below(&self, root: &Path, name: &str) -> Result<TreeFolder> {
        TreeFolder::make(root, &self.path.join(&RepoPath::from(name)))
    }

    /// Deletes a file; a missing one is fine.
    pub fn remove(&self, name: &str) -> Result<()> {
        match rustix::fs::unlinkat(&self.folder, name, AtFlags::empty()) {
            Err(error) if error != Errno::NOENT => {
                let what = format!("cannot delete '{}/{name}'", self.path);
                Err(Error::io(what, error.into()))
            }
            _ => Ok(()),
        }
    }
}

fn is_temporary(name: &str) -> bool {
    leftovers::is_temporary(name, "tmp-", 8)
}

/// Locks a file or folder; returns `false` where that takes too long, or the file system has no locks.
fn lock_within(file: &File) -> std::io::Result<bool> {
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) if begun.elapsed() < LOCK_TIMEOUT => {
                std::thread::sleep(POLL_INTERVAL);
            }
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) if error.kind() == std::io::ErrorKind::Unsupported => {
                return Ok(false);
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Returns the folder of a checkout's sessions, below its root.
pub fn sessions_of(repository_id: &str) -> RepoPath {
    RepoPath::from(format!("{SESSIONS}/{repository_id}").as_str())
}

/// Returns the folder of a checkout's caches, below its root.
pub fn folder_of(repository_id: &str) -> RepoPath {
    RepoPath::from(format!("{CACHE}/repos/{repository_id}").as_str())
}

/// Makes the names in a directory durable.
fn sync(folder: &OwnedFd) -> rustix::io::Result<()> {
    // A folder that was opened only to reach its files cannot be synced.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::fsync(rustix::fs::openat(folder, ".", flags, Mode::empty())?)
}
