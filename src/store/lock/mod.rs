//! The two locks a changing command takes: our own, and git's `index.lock`.
//!
//! Ours is an advisory lock on a file that is never deleted, so a dead owner frees it by dying.
//! `index.lock` is a hard link to a file of ours: its inode proves later whose it is.

pub mod lock_notes;
pub mod ref_locks;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::git::Repo;
use crate::model::{Code, Error, Result, World, text};

use super::files::atomic;
use super::files::places::Places;

const IN_THIS_WORKTREE: &str = "waiting for another git-colony command in this worktree";

/// Device and inode: which file it is, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIdentity {
    /// The device.
    pub device: u64,
    /// The inode.
    pub inode: u64,
}

impl FileIdentity {
    /// Returns the identity of the file at `path`, links not followed; `None` when it is not there.
    pub fn of(path: &Path) -> Option<FileIdentity> {
        let metadata = std::fs::symlink_metadata(path).ok()?;
        Some(FileIdentity::from(&metadata))
    }
}

impl From<&std::fs::Metadata> for FileIdentity {
    fn from(metadata: &std::fs::Metadata) -> FileIdentity {
        FileIdentity {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }
}

/// Holds the worktree for one changing command of ours; dropped with it.
#[must_use = "the lock is released when this is dropped"]
#[derive(Debug)]
pub struct WorktreeLock(File);

impl WorktreeLock {
    /// Takes the lock, waiting up to `timeout` and saying so.
    ///
    /// # Errors
    /// `locked` with the path and the owner's age; `interrupted`; `io`.
    pub fn take(world: &World, repo: &Repo, timeout: Duration) -> Result<WorktreeLock> {
        WorktreeLock::take_at(world, &Places::lock_of(repo), (timeout, IN_THIS_WORKTREE))
    }

    /// Takes the lock of the main worktree, for what all worktrees share.
    ///
    /// # Errors
    /// As [`WorktreeLock::take`].
    pub fn take_shared(world: &World, repo: &Repo, timeout: Duration) -> Result<WorktreeLock> {
        let path = repo.common_dir().join("colony").join("lock");
        WorktreeLock::take_at(world, &path, (timeout, IN_THIS_WORKTREE))
    }

    /// Takes a lock that stands for something else than a worktree; `what` is said while waiting.
    ///
    /// # Errors
    /// As [`WorktreeLock::take`].
    pub fn take_at(world: &World, path: &Path, waiting: (Duration, &str)) -> Result<WorktreeLock> {
        let make = atomic::make_directory;
        WorktreeLock::take_in(world, (path, Hold::Alone), waiting, make)
    }

    /// Takes such a lock alone, or with others who take it with others. Of the folders above it only the last
    /// is made: what is gone is not begun anew by a lock.
    ///
    /// # Errors
    /// As [`WorktreeLock::take`].
    pub fn take_as(
        world: &World,
        lock: (&Path, Hold),
        waiting: (Duration, &str),
    ) -> Result<WorktreeLock> {
        WorktreeLock::take_in(world, lock, waiting, atomic::make_last_directory)
    }

    fn take_in(
        world: &World,
        (path, hold): (&Path, Hold),
        (timeout, what): (Duration, &str),
        make_folder: fn(&Path) -> Result<()>,
    ) -> Result<WorktreeLock> {
        path.parent().map_or(Ok(()), make_folder)?;
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .map_err(|e| Error::io(format!("cannot open '{}'", path.display()), e))?;
        let mut wait = Wait::new(timeout);
        loop {
            let tried = match hold {
                Hold::Alone => file.try_lock(),
                Hold::WithOthers => file.try_lock_shared(),
            };
            match tried {
                // Taken out by 'deinit' while we waited: what we hold is nobody's lock any more.
                Ok(()) if !is_at(&file, path) => {
                    let waiting = (timeout, what);
                    return WorktreeLock::take_in(world, (path, hold), waiting, make_folder);
                }
                Ok(()) => return Ok(WorktreeLock(file)),
                Err(std::fs::TryLockError::WouldBlock) => {}
                Err(std::fs::TryLockError::Error(e)) => {
                    return Err(Error::io(format!("cannot lock '{}'", path.display()), e));
                }
            }
            wait.longer(world, what).map_err(|timed_out| {
                timed_out.unwrap_or_else(|| locked(world, "another git-colony command", path))
            })?;
        }
    }

    /// Returns the locked file, for children to keep open: whoever does holds the lock, too.
    pub fn file(&self) -> &File {
        &self.0
    }
}

/// Who may hold a lock at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// One.
    Alone,
    /// All who do not want it alone.
    WithOthers,
}

impl WorktreeLock {
    /// Tells whether somebody holds such a lock right now; what is not there nobody holds.
    pub fn is_held(path: &Path) -> bool {
        let is_held = || {
            let tried = File::open(path).map(|file| file.try_lock_shared());
            matches!(tried, Ok(Err(std::fs::TryLockError::WouldBlock)))
        };
        // A process that is just being started has our files open until it becomes another program.
        (0..5).all(|number| {
            if number > 0 {
                std::thread::sleep(Duration::from_millis(2));
            }
            is_held()
        })
    }
}

/// Tells whether an open file is the one that stands at `path`.
fn is_at(file: &File, path: &Path) -> bool {
    let of = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), std::fs::symlink_metadata(path)) {
        (Ok(open), Ok(standing)) => of(open) == of(standing),
        _ => false,
    }
}

/// Git's `index.lock`, held by us.
#[derive(Debug)]
pub struct IndexLock {
    /// The file that becomes the index, open for writing.
    pub file: File,
    /// Which file it is.
    pub identity: FileIdentity,
    path: PathBuf,
}

impl IndexLock {
    /// Returns where git's lock on the index is.
    pub fn path_in(repo: &Repo) -> PathBuf {
        repo.git_dir().join("index.lock")
    }

    /// Makes the file that will become the index, not yet linked to `index.lock`.
    ///
    /// # Errors
    /// `io`, `no-space`.
    pub fn make(repo: &Repo, ours: &Path) -> Result<IndexLock> {
        let cannot = |e| Error::io(format!("cannot create '{}'", ours.display()), e);
        atomic::remove_file(ours)?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(ours);
        let file = file.map_err(cannot)?;
        if let Ok(index) = std::fs::metadata(repo.index_path()) {
            // Keeps what core.sharedRepository made of the modes.
            file.set_permissions(index.permissions()).map_err(cannot)?;
        }
        let metadata = file.metadata().map_err(cannot)?;
        let identity = FileIdentity {
            device: metadata.dev(),
            inode: metadata.ino(),
        };
        Ok(IndexLock {
            file,
            identity,
            path: IndexLock::path_in(repo),
        })
    }

    /// Links the file to `index.lock`, waiting up to `timeout`.
    ///
    /// # Errors
    /// `locked` with path and age of a lock that is not ours.
    pub fn take(&self, world: &World, ours: &Path, timeout: Duration) -> Result<()> {
        let mut wait = Wait::new(timeout);
        loop {
            match std::fs::hard_link(ours, &self.path) {
                Ok(()) => return Ok(()),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(Error::io("cannot lock the index", e)),
            }
            wait.longer(world, "waiting for git to release the index")
                .map_err(|timed_out| {
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

/// Returns how old a file is, links not followed; `None` where it is gone or of the future.
pub fn age_seconds(world: &World, path: &Path) -> Option<u64> {
    let modified = std::fs::symlink_metadata(path).ok()?.modified().ok()?;
    let age = SystemTime::from(world.now())
        .duration_since(modified)
        .ok()?;
    Some(age.as_secs())
}

fn locked(world: &World, holder: &str, path: &Path) -> Error {
    let age_seconds = age_seconds(world, path).unwrap_or(0);
    Error::new(
        Code::Locked,
        format!(
            "{holder} holds '{}' ({age_seconds} s old); nothing has changed",
            path.display()
        ),
    )
    .detail("path", path.display().to_string())
    .detail("age_seconds", age_seconds)
    .hint("run the command again, or give it more time with --timeout SECONDS")
}

/// Waiting with growing pauses that end on a signal.
pub(super) struct Wait {
    left: Duration,
    pause: Duration,
    waited: Duration,
    told: bool,
}

impl Wait {
    pub(super) fn new(timeout: Duration) -> Wait {
        Wait {
            left: timeout,
            pause: Duration::from_millis(1),
            waited: Duration::ZERO,
            told: false,
        }
    }

    /// Sleeps a little; `Err(None)` when the time is up, `Err(Some(_))` on a signal.
    pub(super) fn longer(&mut self, world: &World, message: &str) -> Result<(), Option<Error>> {
        world.interrupt.check().map_err(Some)?;
        if self.left.is_zero() {
            return Err(None);
        }
        let pause = self.pause.min(self.left);
        std::thread::sleep(pause);
        self.left -= pause;
        self.waited += pause;
        self.pause = (self.pause * 2).min(Duration::from_millis(25));
        if !self.told && self.waited > Duration::from_millis(500) {
            self.told = true;
            (world.narrate)(message);
        }
        Ok(())
    }
}
