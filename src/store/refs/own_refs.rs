//! Refs that only we move: all refs of a hub, and in a clone the copies of published refs and of the refs of
//! remotes.
//!
//! A command that moves them holds an OS lock, shared with other such commands, and so does each git it
//! starts, until the last of them has ended. So an exclusive holder of that lock knows that no git of ours
//! still runs, and that each lock file of git on such a ref was left by a killed one: it deletes the file.
//! The system releases the lock of a dead process; the file of the lock is never deleted.
//!
//! In a clone, refs of the user are moved outside of operations, too (`sync`, scopes). Hooks of the user run
//! there and may leave processes running, so git does not hold the lock. Instead, each command records the
//! locks that git is about to take in a note of its own, which proves them ours (`ref_locks`).

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::git::refs::ReflogReason;
use crate::git::{RefChange, RefName, Repo};
use crate::model::{Code, Error, Result, World};
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::lease::processes::{self, GitWork};
use crate::store::lock::lock_notes::{self, IDS, INDEX, PACKED, WantedLock};
use crate::store::lock::wait::WaitLimit;
use crate::store::lock::{FileIdentity, Hold, WorktreeLock, ref_locks};

use super::ref_names;

/// The files that git may leave at the top of a hub.
const AT_THE_TOP: [&str; 5] =
    ["HEAD.lock", "config.lock", "packed-refs.lock", "packed-refs.new", "shallow.lock"];

/// The beginning of a note's file name.
pub(in crate::store) const NOTE: &str = "refs-";

/// Its end.
pub(in crate::store) const NOTE_END: &str = ".locks";

/// Calls `act`, which moves refs of a hub with gits that keep its file open; deletes leftovers of dead
/// processes that are in the way.
pub fn in_hub<T>(world: &World, hub: &Path, act: impl Fn(&File) -> Result<T>) -> Result<T> {
    RefsPlace::of_hub(world, hub).act(act)
}

/// Makes the error for locks of a git that the user may be running in the hub.
fn held_by_another(left: &[PathBuf]) -> Error {
    let first = left.first().map(|path| path.display().to_string()).unwrap_or_default();
    Error::new(Code::Locked, format!("another git runs in the hub and may hold '{first}'"))
        .unchanged()
        .detail("paths", left)
        .hint("run the command again once that git has ended")
}

/// Moves refs of a clone that only we move. No hook runs.
pub fn move_copies(session: &Session, changes: &[RefChange], why: &ReflogReason<'_>) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    in_clone(session, |lock| {
        let note = new_note(session)?;
        ref_locks::move_own_refs(session, &note, lock, changes, why)
    })
}

/// Moves refs of a clone outside of any operation.
pub fn move_refs(session: &Session, changes: &[RefChange], why: &ReflogReason<'_>) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    in_clone(session, |_| ref_locks::move_refs(session, &new_note(session)?, changes, why))
}

/// Calls `act`, which fetches into refs of a clone that only we move.
pub fn fetch<T>(session: &Session, act: impl Fn() -> Result<T>) -> Result<T> {
    in_clone(session, |_| act())
}

/// Calls `act`, which runs a git in a clone that talks to a remote as the user would, and moves the
/// remote-tracking refs.
pub fn talk<T>(session: &Session, act: impl Fn() -> Result<T>) -> Result<T> {
    let common = session.repo.common_dir();
    let others = [
        ("shallow.lock", Some(IDS)),
        ("packed-refs.lock", None),
        ("packed-refs.new", Some(PACKED)),
    ];
    noted(session, &[common.join("refs/remotes")], common, &others, act)
}

/// Calls `act`, which runs a git in a clone that checks out a branch as the user would.
pub fn check_out<T>(session: &Session, act: impl Fn() -> Result<T>) -> Result<T> {
    let heads = session.repo.common_dir().join("refs/heads");
    let others = [("index.lock", Some(INDEX)), ("HEAD.lock", Some(IDS))];
    noted(session, &[heads], session.repo.git_dir(), &others, act)
}

/// Records the locks that the gits of `act` may take.
fn noted<T>(
    session: &Session,
    folders: &[PathBuf],
    top: &Path,
    others: &[(&str, Option<&str>)],
    act: impl Fn() -> Result<T>,
) -> Result<T> {
    in_clone(session, |_| {
        let wanted = others.iter().map(|(name, planned)| WantedLock {
            path: top.join(name),
            planned: planned.map(str::to_owned),
        });
        let note = new_note(session)?;
        lock_notes::announce_in(&note, folders, &wanted.collect::<Vec<_>>())?;
        let done = act();
        match &done {
            Ok(_) => lock_notes::forget(&note)?,
            Err(_) => lock_notes::clear(&session.repo, &note)?,
        }
        done
    })
}

/// Deletes the leftovers of processes that were killed while they moved refs of a clone, or of its hub;
/// nothing while another process moves some.
pub fn sweep(session: &Session) -> Result<()> {
    if let Some(member) = &session.membership {
        // A failure to clean the hub is reported by the next command that moves refs there.
        RefsPlace::of_hub(&session.world, &member.hub).tidy().ok();
    }
    if !is_littered(&session.repo) {
        return Ok(());
    }
    in_clone(session, |_| Ok(()))
}

/// Returns `true` if a file with this name is a note of refs that move outside of operations.
pub fn is_note(name: &str) -> bool {
    let of = name.strip_suffix(NOTE_END);
    of.is_some_and(|of| of.starts_with(NOTE))
}

fn in_clone<T>(session: &Session, act: impl Fn(&File) -> Result<T>) -> Result<T> {
    RefsPlace::of_clone(session).act(act)
}

/// Creates a note that only this process writes to; an empty one has no effect.
fn new_note(session: &Session) -> Result<PathBuf> {
    let cannot = |e| Error::io("cannot record the locks of git", e);
    let mut builder = tempfile::Builder::new();
    let note = builder
        .prefix(NOTE)
        .suffix(NOTE_END)
        .tempfile_in(session.repo.common_dir().join("colony"))
        .map_err(cannot)?
        .into_temp_path();
    note.keep().map_err(|e| cannot(e.error))
}

/// How long to wait before looking whether only a daemon of git, which lives on, holds the lock.
const DAEMON_TIMEOUT: Duration = Duration::from_secs(2);

/// A place where refs are moved, and how leftovers of dead processes are deleted there.
struct RefsPlace<'a> {
    world: &'a World,
    limit: WaitLimit,
    lock: PathBuf,
    /// Returns `true` if there may be leftovers; a cheap check.
    is_littered: Box<dyn Fn() -> bool + 'a>,
    left: Box<dyn Fn() -> Vec<PathBuf> + 'a>,
    clear: Box<dyn Fn() -> Result<()> + 'a>,
}

impl<'a> RefsPlace<'a> {
    fn of_hub(world: &'a World, hub: &'a Path) -> RefsPlace<'a> {
        RefsPlace {
            world,
            limit: WaitLimit::for_lock(world.timeout),
            lock: lock_in(hub),
            is_littered: Box::new(|| !left_at_the_top(hub).is_empty()),
            left: Box::new(|| left_in_hub(hub)),
            clear: Box::new(|| {
                let left = left_in_hub(hub);
                if processes::git_may_lock_refs_in(&[hub]) {
                    return Err(held_by_another(&left));
                }
                remove_all(world, left)
            }),
        }
    }

    fn of_clone(session: &'a Session) -> RefsPlace<'a> {
        let (world, repo) = (&session.world, &session.repo);
        RefsPlace {
            world,
            limit: session.wait_limit(),
            lock: lock_in(repo.common_dir()),
            is_littered: Box::new(|| is_littered(repo)),
            left: Box::new(|| [notes(repo), left_on_copies(repo)].concat()),
            clear: Box::new(|| {
                clear_notes(repo)?;
                remove_all(world, left_on_copies(repo))
            }),
        }
    }

    fn act<T>(&self, act: impl Fn(&File) -> Result<T>) -> Result<T> {
        let lock = self.take(Hold::WithOthers)?;
        let done = act(lock.file());
        drop(lock);
        match done {
            Err(error) if is_about_locks(&error) && !(self.left)().is_empty() => {}
            Err(error) => return Err(error),
            Ok(done) => {
                self.tidy()?;
                return Ok(done);
            }
        }
        let lock = match self.take_within(Hold::Alone, self.limit.at_most(DAEMON_TIMEOUT)) {
            Err(error) if error.code() == Code::Locked && self.only_daemons_hold() => {
                self.take(Hold::WithOthers)?
            }
            Err(error) if error.code() == Code::Locked => self.take(Hold::Alone)?,
            taken => taken?,
        };
        (self.clear)()?;
        act(lock.file())
    }

    /// Deletes leftovers before they are in the way, unless another process is moving refs.
    fn tidy(&self) -> Result<()> {
        if !(self.is_littered)() {
            return Ok(());
        }
        let at_once = WaitLimit::AtMost(Duration::ZERO);
        match WorktreeLock::take_as(self.world, &self.lock, Hold::Alone, at_once, "") {
            Ok(_lock) => match (self.clear)() {
                // It may belong to another git and is not in the way yet.
                Err(error) if error.code() == Code::Locked => Ok(()),
                cleared => cleared,
            },
            Err(error) if error.code() == Code::Locked => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns `true` if only background processes of git hold the lock, such as a credential cache: they
    /// move no ref.
    fn only_daemons_hold(&self) -> bool {
        let lock = FileIdentity::of(&self.lock);
        let holders = lock.map(processes::holders_of).unwrap_or_default();
        let is_daemon = |pid| {
            let words = processes::words_of(pid);
            processes::git_command(&words).map(GitWork::of) == Some(GitWork::Daemon)
        };
        let mut locked = holders.iter().filter(|holder| holder.has_lock).peekable();
        locked.peek().is_some() && locked.all(|holder| is_daemon(holder.process.pid))
    }

    fn take(&self, hold: Hold) -> Result<WorktreeLock> {
        self.take_within(hold, self.limit)
    }

    fn take_within(&self, hold: Hold, limit: WaitLimit) -> Result<WorktreeLock> {
        let waiting = "waiting for another git-colony that moves refs here";
        WorktreeLock::take_as(self.world, &self.lock, hold, limit, waiting)
    }
}

/// The messages of a git that talks to a remote are too varied to find the lock in them.
fn is_about_locks(error: &Error) -> bool {
    matches!(error.code(), Code::Locked | Code::GitFailed)
}

fn lock_in(git_dir: &Path) -> PathBuf {
    git_dir.join("colony").join("refs-lock")
}

fn notes(repo: &Repo) -> Vec<PathBuf> {
    let entries = fs::read_dir(repo.common_dir().join("colony")).into_iter().flatten().flatten();
    let notes = entries.filter(|entry| is_note(&entry.file_name().to_string_lossy()));
    notes.map(|entry| entry.path()).collect()
}

/// Returns `true` if there may be leftovers: a note, or a lock on what was being fetched, which no later fetch need meet.
fn is_littered(repo: &Repo) -> bool {
    let remotes = RefName::from(ref_names::REMOTES).under(repo.common_dir());
    let mut locks = Vec::new();
    for remote in fs::read_dir(remotes).into_iter().flatten().flatten() {
        lock_notes::collect_locks(&remote.path().join("incoming"), &mut locks);
    }
    !locks.is_empty() || !notes(repo).is_empty()
}

fn clear_notes(repo: &Repo) -> Result<()> {
    let mut notes = notes(repo).into_iter();
    notes.try_for_each(|note| lock_notes::clear(repo, &note))
}

fn left_at_the_top(hub: &Path) -> Vec<PathBuf> {
    let top = AT_THE_TOP.iter().map(|name| hub.join(name));
    top.filter(|path| path.is_file()).collect()
}

fn left_in_hub(hub: &Path) -> Vec<PathBuf> {
    let mut locks = left_at_the_top(hub);
    lock_notes::collect_locks(&hub.join("refs"), &mut locks);
    locks
}

fn left_on_copies(repo: &Repo) -> Vec<PathBuf> {
    let mut locks = Vec::new();
    for prefix in [ref_names::AGENTS, ref_names::DESKS, ref_names::REMOTES] {
        let folder = RefName::from(prefix).under(repo.common_dir());
        lock_notes::collect_locks(&folder, &mut locks);
    }
    locks
}

fn remove_all(world: &World, locks: Vec<PathBuf>) -> Result<()> {
    for path in locks {
        atomic::remove_file(&path)?;
        (world.narrate)(&format!("removed the lock that a killed git left: {}", path.display()));
    }
    Ok(())
}
