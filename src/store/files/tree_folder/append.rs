//! Appending to a file of a folder of ours: each line is there as a whole or not at all.
//!
//! The file is locked while its end is read and written, and while it is deleted, so processes that append at the same
//! time lose nothing. A line that a killed process left torn stays alone. No symlink is followed, and only a plain file is written.

use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::git::scratch::own_user;
use crate::git::worktree::safe_open::look_at;
use crate::model::{Code, Error, RepoPath, Result};

use super::{TreeFolder, lock_within, sync};

/// A file that grows line by line.
#[derive(Clone, Copy)]
pub struct Growing<'a> {
    /// Its name in the folder.
    pub name: &'a str,
    /// The maximum size in bytes.
    pub limit_bytes: u64,
    /// Which file is trusted.
    pub expected: Expected,
    /// Which lines count.
    pub keeping: Keeping<'a>,
}

/// Which file may grow.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// One that [`TreeFolder::create_private`] has created. One that others may read or write is refused: it may have
    /// come with a commit.
    Private,
    /// Any plain file. A missing one is created; only its owner can read it.
    Any,
}

/// Which lines of a file count.
#[derive(Clone, Copy)]
pub enum Keeping<'a> {
    /// Every one: each is durable, and a full file is an error.
    All,
    /// The newest: a power cut may lose some, and a full file keeps its newer half. `nonce` names a temporary file.
    Newest {
        /// Random digits.
        nonce: &'a str,
    },
}

impl TreeFolder {
    /// Appends a line, with its newline; returns `false` if a private file is missing.
    pub fn append(&self, to: Growing<'_>, line: &[u8]) -> Result<bool> {
        let cannot = |error| self.cannot_write(to.name, error);
        let (file, is_locked) = loop {
            let Some(file) = self.open_growing(to.name, to.expected)? else {
                return Ok(false);
            };
            let is_locked = lock_within(&file).map_err(cannot)?;
            // It may have been deleted or replaced while this process waited: a line in that file would be lost.
            if self.is_at(to.name, &file).map_err(cannot)? {
                break (file, is_locked);
            }
        };
        let metadata = file.metadata().map_err(cannot)?;
        if let Some(problem) = to.expected.problem_of(&metadata) {
            return Err(self.not_expected(to.name, to.expected, problem));
        }
        let before = metadata.len();
        if before.saturating_add(line.len() as u64) > to.limit_bytes {
            return match to.keeping {
                Keeping::All => Err(self.full(to, before, line)),
                Keeping::Newest { nonce } => self.keep_newer(to, &file, line, nonce),
            };
        }
        // Without the lock another process may be writing: an empty line is the price.
        let is_apart = is_locked && ends_a_line(&file, before).map_err(cannot)?;
        let begin: &[u8] = if is_apart { b"" } else { b"\n" };
        let text = [begin, line].concat();
        // One write, so that no other line gets between its parts.
        let written = rustix::io::retry_on_intr(|| rustix::io::write(&file, &text));
        if written.map_err(|error| cannot(error.into()))? < text.len() {
            // Nobody else writes while the file is locked.
            if is_locked {
                file.set_len(before).map_err(cannot)?;
            }
            return Err(cannot(std::io::ErrorKind::StorageFull.into()));
        }
        if matches!(to.keeping, Keeping::All) {
            file.sync_data().map_err(cannot)?;
            // The name of a new file has to be durable as well.
            if before == 0 {
                sync(&self.folder).map_err(|error| cannot(error.into()))?;
            }
        }
        Ok(true)
    }

    /// Deletes a private file, if `is_wanted` says so while no other process appends to it. Returns `false` if it stays,
    /// as it does without the lock, or is gone.
    pub fn remove_growing(
        &self,
        name: &str,
        is_wanted: impl FnOnce() -> Result<bool>,
    ) -> Result<bool> {
        let cannot = |error| self.cannot_write(name, error);
        let Some(file) = self.open_growing(name, Expected::Private)? else {
            return Ok(false);
        };
        let is_ours =
            lock_within(&file).map_err(cannot)? && self.is_at(name, &file).map_err(cannot)?;
        if !is_ours || !is_wanted()? {
            return Ok(false);
        }
        self.remove(name)?;
        Ok(true)
    }

    /// Returns `true` if a name still leads to an open file.
    fn is_at(&self, name: &str, file: &File) -> std::io::Result<bool> {
        let own = file.metadata()?;
        match rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok((stat.st_dev, stat.st_ino) == (own.dev(), own.ino())),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn open_growing(&self, name: &str, expected: Expected) -> Result<Option<File>> {
        let create = match expected {
            Expected::Private => OFlags::empty(),
            Expected::Any => OFlags::CREATE,
        };
        let safely = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let flags = OFlags::RDWR | OFlags::APPEND | create | safely;
        match rustix::fs::openat(&self.folder, name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => Ok(Some(file.into())),
            Err(Errno::NOENT) if expected == Expected::Private => Ok(None),
            // A symlink, a directory, a pipe.
            Err(Errno::LOOP | Errno::MLINK | Errno::ISDIR | Errno::NXIO) => {
                Err(self.not_expected(name, expected, "it is not a plain file"))
            }
            Err(error) => Err(self.cannot_write(name, error.into())),
        }
    }

    /// Writes the newer half of a file and a line in its place.
    fn keep_newer(&self, to: Growing<'_>, file: &File, line: &[u8], nonce: &str) -> Result<bool> {
        let mut bytes = Vec::new();
        file.take(to.limit_bytes)
            .read_to_end(&mut bytes)
            .map_err(|error| self.cannot_write(to.name, error))?;
        let (_, half) = bytes.split_at(bytes.len() / 2);
        let start = half.iter().position(|&byte| byte == b'\n');
        let newer = start.and_then(|at| half.get(at + 1..)).unwrap_or_default();
        self.write(to.name, &[newer, line].concat(), nonce)?;
        Ok(true)
    }

    fn full(&self, to: Growing<'_>, bytes: u64, line: &[u8]) -> Error {
        let message = format!(
            "'{}/{}' has {bytes} bytes, and with {} more it would have more than {}",
            self.path,
            to.name,
            line.len(),
            to.limit_bytes
        );
        Error::new(Code::ValueTooLarge, message).unchanged()
    }

    fn not_expected(&self, name: &str, expected: Expected, problem: &str) -> Error {
        let path = self.path.join(&RepoPath::from(name));
        let message = match expected {
            Expected::Private => format!("'{path}' is not a private file: {problem}"),
            Expected::Any => format!("cannot write '{path}': {problem}"),
        };
        Error::new(Code::PathInTheWay, message)
            .unchanged()
            .detail("path", &path)
            .hint(look_at(&path))
    }
}

impl Expected {
    /// Returns the reason why a file is not the expected one.
    fn problem_of(self, metadata: &Metadata) -> Option<&'static str> {
        match (self, metadata) {
            (_, metadata) if !metadata.is_file() => Some("it is not a plain file"),
            (Expected::Any, _) => None,
            (_, metadata) if metadata.uid() != own_user() => Some("it belongs to another user"),
            (_, metadata) if metadata.mode() & 0o077 != 0 => {
                Some("others than its owner may use it")
            }
            _ => None,
        }
    }
}

/// Returns `true` if a file of this size is empty or ends with a newline.
fn ends_a_line(file: &File, bytes: u64) -> std::io::Result<bool> {
    let mut last = [b'\n'];
    if let Some(end) = bytes.checked_sub(1) {
        file.read_exact_at(&mut last, end)?;
    }
    Ok(last == [b'\n'])
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::store::files::tree_folder::sessions_of;

    const FILE: Growing<'static> = Growing {
        name: "one.jsonl",
        limit_bytes: 100,
        expected: Expected::Private,
        keeping: Keeping::All,
    };

    /// Makes the folder of sessions with one file.
    fn folder(root: &Path) -> (TreeFolder, std::path::PathBuf) {
        let folder = TreeFolder::of_sessions(root, "id").unwrap();
        folder.create_private(FILE.name, b"first\n", "1").unwrap();
        (folder, sessions_of("id").under(root).join(FILE.name))
    }

    /// Counts how often this process has a file open.
    fn count_open(path: &Path) -> usize {
        let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
        let targets = open.filter_map(|entry| fs::read_link(entry.path()).ok());
        targets.filter(|target| target == path).count()
    }

    #[test]
    fn a_line_for_a_file_that_was_just_deleted_is_not_lost() {
        let root = tempfile::tempdir().unwrap();
        let (folder, path) = folder(&root.path().canonicalize().unwrap());
        let lock = File::open(&path).unwrap();
        lock.lock().unwrap();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| folder.append(FILE, b"second\n"));
            while count_open(&path) < 2 {
                std::thread::yield_now();
            }
            fs::remove_file(&path).unwrap();
            drop(lock);
            assert!(!other.join().unwrap().unwrap());
        });
        assert!(!path.exists());
    }

    #[test]
    fn a_file_that_another_process_writes_is_not_deleted() {
        let root = tempfile::tempdir().unwrap();
        let (folder, path) = folder(root.path());
        let lock = File::open(&path).unwrap();
        lock.lock().unwrap();
        assert!(!folder.remove_growing(FILE.name, || Ok(true)).unwrap());
        drop(lock);
        assert!(!folder.remove_growing(FILE.name, || Ok(false)).unwrap());
        assert!(path.exists());
        assert!(folder.remove_growing(FILE.name, || Ok(true)).unwrap());
        assert!(!folder.remove_growing(FILE.name, || Ok(true)).unwrap());
    }
}
