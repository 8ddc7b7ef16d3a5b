//! A folder of ours in the working tree, for what may be deleted at any time: `.colony/cache/...`.
//!
//! No symlink on the way is followed, so a repository cannot lead a write elsewhere. `.colony/cache` hides itself from
//! git by an ignore file of its own, before anything else is in it.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::model::{Code, Error, RepoPath, Result, World};

/// The folder that hides itself.
const CACHE: &str = ".colony/cache";

/// The file that hides it.
const HIDING: &str = ".gitignore";

/// A folder that exists.
pub struct TreeFolder {
    folder: OwnedFd,
    path: RepoPath,
}

impl TreeFolder {
    /// Creates the folder of this checkout's caches below a root, or opens it.
    ///
    /// # Errors
    /// `path-in-the-way` for anything but a directory on the way; `no-space`, `io`.
    pub fn of_repository(world: &World, root: &Path, repository_id: &str) -> Result<TreeFolder> {
        let cache = TreeFolder::make(root, &RepoPath::from(CACHE))?;
        let is_there = rustix::fs::statat(&cache.folder, HIDING, AtFlags::SYMLINK_NOFOLLOW);
        if is_there.is_err() {
            cache.write(HIDING, b"*\n", &world.nonce8())?;
        }
        TreeFolder::make(root, &folder_of(repository_id))
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
        Ok(TreeFolder {
            folder,
            path: path.clone(),
        })
    }

    /// Replaces a file. A reader sees all of it or the old content; a power cut may lose it. `nonce` names the
    /// temporary file.
    ///
    /// # Errors
    /// `no-space`, `io`.
    pub fn write(&self, name: &str, bytes: &[u8], nonce: &str) -> Result<()> {
        let temporary = format!("tmp-{nonce}");
        if !self.create(&temporary, bytes)? {
            return Err(self.cannot_write(&temporary, std::io::ErrorKind::AlreadyExists.into()));
        }
        let renamed = rustix::fs::renameat(&self.folder, &temporary, &self.folder, name);
        renamed.map_err(|error| {
            // The error is that of the rename.
            rustix::fs::unlinkat(&self.folder, &temporary, AtFlags::empty()).ok();
            self.cannot_write(name, error.into())
        })
    }

    /// Appends a line to a file. One that would have more than `most_bytes` keeps its newer half.
    ///
    /// # Errors
    /// `path-in-the-way` for anything but a regular file; `no-space`, `io`.
    pub fn append(&self, name: &str, line: &[u8], most_bytes: u64, nonce: &str) -> Result<()> {
        use std::io::{Read as _, Write as _};
        let flags = OFlags::RDWR
            | OFlags::APPEND
            | OFlags::CREATE
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::CLOEXEC;
        let in_the_way = || {
            let message = format!("'{}/{name}' is not a regular file", self.path);
            Error::new(Code::PathInTheWay, message)
        };
        let opened = rustix::fs::openat(&self.folder, name, flags, Mode::from_raw_mode(0o666));
        let mut file = match opened {
            Ok(file) => std::fs::File::from(file),
            Err(Errno::LOOP | Errno::ISDIR | Errno::NXIO) => return Err(in_the_way()),
            Err(error) => return Err(self.cannot_write(name, error.into())),
        };
        let found = file.metadata().map_err(|e| self.cannot_write(name, e))?;
        if !found.is_file() {
            return Err(in_the_way());
        }
        if found.len() + line.len() as u64 <= most_bytes {
            let written = file.write_all(line);
            return written.map_err(|e| self.cannot_write(name, e));
        }
        let mut bytes = Vec::new();
        let read = (&file).take(most_bytes).read_to_end(&mut bytes);
        read.map_err(|e| self.cannot_write(name, e))?;
        let newer = bytes.get(bytes.len() / 2..).unwrap_or_default();
        let start = newer.iter().position(|&byte| byte == b'\n');
        let newer = start.and_then(|at| newer.get(at + 1..)).unwrap_or_default();
        self.write(name, &[newer, line].concat(), nonce)
    }

    /// Creates a file; returns `false` if it exists.
    fn create(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        use std::io::Write as _;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        match rustix::fs::openat(&self.folder, name, flags, mode) {
            Err(Errno::EXIST) => Ok(false),
            Err(error) => Err(self.cannot_write(name, error.into())),
            Ok(file) => {
                let written = File::from(file).write_all(bytes);
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
    ///
    /// # Errors
    /// As [`TreeFolder::of_repository`].
    pub fn below(&self, root: &Path, name: &str) -> Result<TreeFolder> {
        TreeFolder::make(root, &self.path.join(&RepoPath::from(name)))
    }

    /// Adds bytes to a file by one write, and makes them durable: processes that add at the same time lose nothing. Only
    /// the user may read a new file.
    ///
    /// # Errors
    /// `value-too-large` if the file would have more than `limit_bytes`; `path-in-the-way` for anything but a file;
    /// `no-space`, `io`.
    pub fn append_private(&self, name: &str, bytes: &[u8], limit_bytes: u64) -> Result<()> {
        let path = self.path.join(&RepoPath::from(name));
        let in_the_way = || {
            let message = format!("cannot write '{path}': it is not a plain file");
            Error::new(Code::PathInTheWay, message).detail("path", &path)
        };
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::CLOEXEC;
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let opened = rustix::fs::openat(&self.folder, name, flags, Mode::RUSR | Mode::WUSR);
        let file = match opened {
            // A symlink, a directory, a pipe.
            Err(Errno::LOOP | Errno::MLINK | Errno::ISDIR | Errno::NXIO) => {
                return Err(in_the_way());
            }
            opened => File::from(opened.map_err(|error| self.cannot_write(name, error.into()))?),
        };
        let cannot = |error| self.cannot_write(name, error);
        let found = file.metadata().map_err(cannot)?;
        if !found.is_file() {
            return Err(in_the_way());
        }
        if found.len() + bytes.len() as u64 > limit_bytes {
            let message = format!(
                "'{path}' has {} bytes, and with {} more it would have more than {limit_bytes}",
                found.len(),
                bytes.len()
            );
            return Err(Error::new(Code::ValueTooLarge, message).unchanged());
        }
        let written = rustix::io::retry_on_intr(|| rustix::io::write(&file, bytes));
        if written.map_err(|error| cannot(error.into()))? < bytes.len() {
            return Err(cannot(std::io::ErrorKind::StorageFull.into()));
        }
        file.sync_all().map_err(cannot)?;
        sync(&self.folder).map_err(|error| cannot(error.into()))
    }

    /// Deletes a file; a missing one is fine.
    ///
    /// # Errors
    /// `io`.
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
