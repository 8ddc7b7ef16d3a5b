//! Moves refs and HEAD with gits whose locks are recorded. If one is killed, its locks can be distinguished
//! from those of others (`lock_notes`).
//!
//! A git that moves refs takes a lock for each, one on HEAD where that moves along, and, to delete refs,
//! `packed-refs.lock` and `packed-refs.new`. It appends to reflogs and removes empty folders without a lock
//! of its own, and locks neither index nor configuration.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::git::durable::DurableChanges;
use crate::git::refs::in_the_way::RefContent;
use crate::git::refs::{PreparedRefs, ReflogReason, Switch};
use crate::git::{RefChange, Repo};
use crate::model::text::{self, shell_word};
use crate::model::{Code, Error, Result, World};
use crate::store::refs::obstacle;
use crate::store::{Session, lock};

use super::lock_notes::{self, PACKED, WantedLock};

/// The number of locks that a message names.
const NAMED: usize = 3;

/// Locks refs in one transaction and records the locks in `note`.
pub fn prepare(
    session: &Session,
    note: &Path,
    changes: DurableChanges<'_>,
    why: &ReflogReason<'_>,
) -> Result<PreparedRefs> {
    prepare_by(session, note, changes.all(), |repo| repo.prepare_refs(&session.world, changes, why))
}

fn prepare_by(
    session: &Session,
    note: &Path,
    changes: &[RefChange],
    prepare: impl FnOnce(&Repo) -> Result<PreparedRefs>,
) -> Result<PreparedRefs> {
    let wanted = candidates(&session.repo, changes);
    lock_notes::announce(note, &wanted)?;
    let prepared = prepare(&session.repo)
        .map_err(|error| refused(session, note, &wanted, error))
        .map_err(|error| name_broken(&session.repo, changes, error))?;
    lock_notes::identify(note, wanted)?;
    Ok(prepared)
}

/// Handles the note of a git that failed, and names the locks that were in its way.
fn refused(session: &Session, note: &Path, wanted: &[WantedLock], error: Error) -> Error {
    // A git that reports an error has released its locks; one that was killed has not.
    let settled = match error.code() {
        Code::RefMoved | Code::Locked | Code::NoSpace => lock_notes::forget(note),
        _ => lock_notes::clear(&session.repo, note),
    };
    let left: Vec<_> =
        wanted.iter().filter(|lock| lock.exists()).map(|lock| lock.path.clone()).collect();
    settled.map_or_else(|failed| failed, |()| name_locks(&session.world, error, &left))
}

/// Names the broken ref that keeps another from being created: git's message names no file, and no attempt succeeds.
fn name_broken(repo: &Repo, changes: &[RefChange], error: Error) -> Error {
    if error.code() != Code::RefMoved {
        return error;
    }
    let mut created = changes.iter().filter(|change| change.old.is_none());
    let broken = created.find_map(|RefChange { name, .. }| {
        let broken = repo.find_in_the_way(name).ok()??;
        matches!(broken.content, RefContent::Broken(_)).then_some((name, broken))
    });
    let Some((name, broken)) = broken else {
        return error;
    };
    let reason = obstacle::reason(&broken, "here");
    let message = format!("cannot create ref '{name}': {reason}");
    Error::new(Code::RepositoryBroken, message).hint(obstacle::room(
        &broken,
        "git",
        "run the command again",
    ))
}

/// Names all locks in the way at once, with their ages.
fn name_locks(world: &World, error: Error, locks: &[PathBuf]) -> Error {
    if error.code() != Code::Locked || locks.is_empty() {
        return error.detail("paths", locks);
    }
    let shown = |path: &PathBuf| {
        let age = lock::age_seconds(world, path).unwrap_or(0);
        format!("'{}' ({age} s old)", path.display())
    };
    let first: Vec<_> = locks.iter().take(NAMED).map(shown).collect();
    let more = match locks.len() - first.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let words: Vec<_> = locks.iter().map(|path| shell_word(&path.to_string_lossy())).collect();
    Error::new(
        Code::Locked,
        format!(
            "{} of another or killed git in the way: {}{more}",
            text::count(locks.len(), "lock"),
            first.join(", ")
        ),
    )
    .detail("paths", locks)
    .hint(format!("rm {}   # only if no git is running", words.join(" ")))
}

/// Moves refs in one transaction without holding it open; records the locks and deletes the note afterwards.
pub fn move_refs(
    session: &Session,
    note: &Path,
    changes: &[RefChange],
    why: &ReflogReason<'_>,
) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let changes = session.repo.durable_changes(changes)?;
    let prepared = prepare(session, note, changes, why);
    settle(session, note, prepared.and_then(PreparedRefs::commit))
}

fn settle(session: &Session, note: &Path, moved: Result<()>) -> Result<()> {
    match moved {
        Ok(()) => lock_notes::forget(note),
        Err(_) => lock_notes::clear(&session.repo, note).and(moved),
    }
}

/// Does the same as [`move_refs`] for refs that only we move: no hook runs, and git keeps `lock` open until
/// it ends.
pub fn move_own_refs(
    session: &Session,
    note: &Path,
    lock: &File,
    changes: &[RefChange],
    why: &ReflogReason<'_>,
) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let changes = session.repo.durable_changes(changes)?;
    let prepared = prepare_by(session, note, changes.all(), |repo| {
        repo.prepare_own_refs(&session.world, changes, why, lock)
    });
    settle(session, note, prepared.and_then(PreparedRefs::commit))
}

/// Points HEAD at a branch, or at a commit; records the lock and deletes the note afterwards.
pub fn point_head(
    session: &Session,
    note: &Path,
    switch: &Switch<'_>,
    why: &ReflogReason<'_>,
) -> Result<()> {
    let (name, commit) = switch.to;
    let planned = match commit.filter(|_| name.as_bytes() == b"HEAD") {
        Some(commit) => commit.to_string(),
        None => format!("ref: {name}"),
    };
    let wanted =
        [WantedLock { path: session.repo.git_dir().join("HEAD.lock"), planned: Some(planned) }];
    lock_notes::announce(note, &wanted)?;
    let pointed = session.repo.point_head(&session.world, switch, why);
    pointed.map_err(|error| refused(session, note, &wanted, error))?;
    lock_notes::forget(note)
}

/// Lists the locks that git takes for these changes, with the content it writes into them. It must list no
/// lock that git does not need, for that one would be another process's.
fn candidates(repo: &Repo, changes: &[RefChange]) -> Vec<WantedLock> {
    let wanted = |path: PathBuf, planned| WantedLock { path, planned };
    let mut locks = Vec::new();
    for change in changes {
        let mut path = change.name.under(repo.common_dir()).into_os_string();
        path.push(".lock");
        let planned = change.new.map(|id| id.to_string());
        locks.push(wanted(path.into(), planned));
    }
    // A branch that is checked out moves with HEAD's reflog.
    let head = repo.head().map(|head| head.moving_ref());
    if head.map_or(true, |head| changes.iter().any(|change| change.name == head)) {
        locks.push(wanted(repo.git_dir().join("HEAD.lock"), None));
    }
    if changes.iter().any(|change| change.new.is_none()) {
        let packed = |name| repo.common_dir().join(name);
        locks.push(wanted(packed("packed-refs.lock"), None));
        locks.push(wanted(packed("packed-refs.new"), Some(PACKED.to_owned())));
    }
    locks
}
