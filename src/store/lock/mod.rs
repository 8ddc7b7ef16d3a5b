//! The two locks of a changing command, our own and git's `index.lock`, and the error while one is held (`locked`).
//!
//! Ours is an advisory lock on a file that only 'init remove' deletes, so the death of its owner releases it.
//! `index.lock` is a hard link to a file of ours: later, its inode proves whose it is.

pub mod lock_notes;
pub mod proc_locks;
pub mod ref_locks;
pub mod wait;

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::git::{Repo, shared_access};
use crate::model::{Code, Error, Result, World, text};

use super::files::atomic;
use super::files::places::Places;
use wait::{Wait, WaitLimit};

/// The flags that open nothing which would make the opener wait, and no file elsewhere.
const ONLY_HERE: i32 = OFlags::NONBLOCK.union(OFlags::NOFOLLOW).bits().cast_signed();

const IN_THIS_WORKTREE: &str = "waiting for another git-colony command in this worktree";

/// Device and inode: they identify a file under any name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIdentity {
    /// The device.
    pub device: u64,
    /// The inode.
    pub inode: u64,
}

impl FileIdentity {
    /// Returns the identity of the file at `path`, without following symlinks; `None` if it does not exist.
    pub fn of(path: &Path) -> Option<FileIdentity> {
        let metadata = std::fs::symlink_metadata(path).ok()?;
        Some(FileIdentity::from(&metadata))
    }

    /// Returns the identity of an open file.
    fn of_file(file: &File) -> Option<FileIdentity> {
        Some(FileIdentity::from(&file.metadata().ok()?))
    }
}

impl From<&std::fs::Metadata> for FileIdentity {
    fn from(metadata: &std::fs::Metadata) -> FileIdentity {
        FileIdentity { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// Holds the worktree for one changing command of ours; released when dropped.
#[must_use = "the lock is released when this is dropped"]
#[derive(Debug)]
pub struct WorktreeLock(File);

impl WorktreeLock {
    /// Takes the lock. Waits with a message.
    pub fn take(world: &World, repo: &Repo, limit: WaitLimit) -> Result<WorktreeLock> {
        world.refuse_change()?;
        WorktreeLock::take_at(world, &Places::lock_of(repo), limit, IN_THIS_WORKTREE)
    }

    /// Takes the lock of the main worktree, for data that all worktrees share.
    pub fn take_shared(world: &World, repo: &Repo, limit: WaitLimit) -> Result<WorktreeLock> {
        world.refuse_change()?;
        let path = repo.common_dir().join("colony").join("lock");
        WorktreeLock::take_at(world, &path, limit, IN_THIS_WORKTREE)
    }

    /// Takes a lock on something else than a worktree; `message` is for the wait.
    pub fn take_at(
        world: &World,
        path: &Path,
        limit: WaitLimit,
        message: &str,
    ) -> Result<WorktreeLock> {
        let manner = Manner { hold: Hold::Alone, make_folder: atomic::make_directory };
        WorktreeLock::take_in(world, path, manner, limit, message)
    }

    /// Takes such a lock, exclusive or shared. Only the last of its folders is created: a lock must not
    /// create a deleted folder again.
    pub fn take_as(
        world: &World,
        path: &Path,
        hold: Hold,
        limit: WaitLimit,
        message: &str,
    ) -> Result<WorktreeLock> {
        let manner = Manner { hold, make_folder: atomic::make_last_directory };
        WorktreeLock::take_in(world, path, manner, limit, message)
    }

    fn take_in(
        world: &World,
        path: &Path,
        manner: Manner,
        limit: WaitLimit,
        message: &str,
    ) -> Result<WorktreeLock> {
        world.refuse_root()?;
        let mut patience = Wait::new(limit, path);
        let mut wait = || {
            patience.longer(world, message).map_err(|timed_out| {
                timed_out.unwrap_or_else(|| locked(world, "another git-colony command", path))
            })
        };
        loop {
            let file = manner.open(path)?;
            while !manner.hold.try_on(&file, path)? {
                wait()?;
            }
            let identity = FileIdentity::of_file(&file);
            if identity.is_some() && identity == FileIdentity::of(path) {
                return Ok(WorktreeLock(file));
            }
            // 'init remove' has deleted the file meanwhile: the lock is on one that no other command opens.
            wait()?;
        }
    }

    /// Returns the locked file, for children to keep open: a child that has it open holds the lock too.
    pub fn file(&self) -> &File {
        &self.0
    }
}

/// How a lock is taken.
#[derive(Clone, Copy)]
struct Manner {
    hold: Hold,
    /// Creates the folder of the lock.
    make_folder: fn(&Path) -> Result<()>,
}

impl Manner {
    /// Opens the file of the lock, which is created where it is missing.
    fn open(self, path: &Path) -> Result<File> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        (self.make_folder)(folder)?;
        let opened = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            // A pipe or a symlink in its place is an error at once.
            .custom_flags(ONLY_HERE)
            .open(path)
            .and_then(|file| shared_access::share(&file, folder).map(|()| file));
        opened.map_err(|e| Error::io(format!("cannot open '{}'", path.display()), e))
    }
}

/// How many processes may hold a lock at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// One: the lock is exclusive.
    Alone,
    /// Any number: the lock is shared.
    WithOthers,
}

impl Hold {
    /// Takes the lock unless others hold it; returns whether it did.
    fn try_on(self, file: &File, path: &Path) -> Result<bool> {
        let tried = match self {
            Hold::Alone => file.try_lock(),
            Hold::WithOthers => file.try_lock_shared(),
        };
        match tried {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(e)) => {
                Err(Error::io(format!("cannot lock '{}'", path.display()), e))
            }
        }
    }
}

impl WorktreeLock {
    /// Returns `true` if a process holds the lock right now; a lock whose file is missing is free.
    pub fn is_held(path: &Path) -> bool {
        let is_held = || {
            let tried = File::open(path).map(|file| file.try_lock_shared());
            matches!(tried, Ok(Err(TryLockError::WouldBlock)))
        };
        // Until it runs its program, a process that is being started has our files open.
        (0..5).all(|number| {
            if number > 0 {
                std::thread::sleep(Duration::from_millis(2));
            }
            is_held()
        })
    }
}

/// Git's `index.lock`, held by us.
#[derive(Debug)]
pub struct IndexLock {
    /// The file that becomes the index, open for writing.
    pub file: File,
    /// The identity of that file.
    pub identity: FileIdentity,
    path: PathBuf,
}

impl IndexLock {
    /// Returns the path of git's lock on the index.
    pub fn path_in(repo: &Repo) -> PathBuf {
        repo.git_dir().join("index.lock")
    }

    /// Creates the file that will become the index, not yet linked to `index.lock`.
    pub fn make(repo: &Repo, ours: &Path) -> Result<IndexLock> {
        let cannot = |e| Error::io(format!("cannot create '{}'", ours.display()), e);
        atomic::remove_file(ours)?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(ours)
            .map_err(cannot)?;
        if let Ok(index) = std::fs::metadata(repo.index_path()) {
            // Keeps the modes that core.sharedRepository has set.
            file.set_permissions(index.permissions()).map_err(cannot)?;
        }
        let identity = FileIdentity::from(&file.metadata().map_err(cannot)?);
        Ok(IndexLock { file, identity, path: IndexLock::path_in(repo) })
    }

    /// Links the file to `index.lock`.
    pub fn take(&self, world: &World, ours: &Path, limit: WaitLimit) -> Result<()> {
        let mut wait = Wait::new(limit, &self.path);
        loop {
            match std::fs::hard_link(ours, &self.path) {
                Ok(()) => return Ok(()),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(Error::io("cannot lock the index", e)),
            }
            wait.longer(world, "waiting for git to release the index").map_err(|timed_out| {
                timed_out.unwrap_or_else(|| {
                    locked(world, "git, or a git that died,", &self.path).hint(format!(
                        "rm {}   # only if no git is running",
                        text::shell_word(&self.path.to_string_lossy())
                    ))
                })
            })?;
        }
    }
}

/// Returns the age of a file, without following symlinks; `None` where it is gone or dated in the future.
pub fn age_seconds(world: &World, path: &Path) -> Option<u64> {
    let modified = std::fs::symlink_metadata(path).ok()?.modified().ok()?;
    let age = SystemTime::from(world.now()).duration_since(modified).ok()?;
    Some(age.as_secs())
}

/// A lock of git that is younger is in use.
const STALE_SECONDS: u64 = 60;

/// Returns `true` for a lock file that is so old that a git which was killed has probably left it.
pub fn is_stale(world: &World, path: &Path) -> bool {
    age_seconds(world, path).is_some_and(|age| age >= STALE_SECONDS)
}

fn locked(world: &World, holder: &str, path: &Path) -> Error {
    let age_seconds = age_seconds(world, path).unwrap_or(0);
    Error::new(Code::Locked, format!("{holder} holds '{}' ({age_seconds} s old)", path.display()))
        .unchanged()
        .detail("path", path.display().to_string())
        .detail("age_seconds", age_seconds)
        .hint("run the command again, or give it more time with --timeout SECONDS")
}
