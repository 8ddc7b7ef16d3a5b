//! Moves refs and HEAD by gits whose locks are noted, so that those of one that is killed can be told from
//! others' (`lock_notes`).
//!
//! A git that moves refs takes a lock for each, one on HEAD where that moves along, and where it deletes some
//! `packed-refs.lock` and `packed-refs.new`. It appends to reflogs and removes empty folders without a
//! lock of its own, and locks neither index nor configuration.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::git::refs::{PreparedRefs, ReflogReason};
use crate::git::{Oid, RefChange, RefName, Repo};
use crate::model::text::{self, shell_word};
use crate::model::{Code, Error, Result, World};
use crate::store::{Session, lock};

use super::lock_notes::{self, PACKED, WantedLock};

/// How many locks a message names.
const NAMED: usize = 3;

/// Locks refs in one transaction and writes down whose locks they are, into `note`.
///
/// # Errors
/// `ref-moved`, `locked` with every lock that stands in the way, `io`.
pub fn prepare(
    session: &Session,
    note: &Path,
    changes: &[RefChange],
    why: &ReflogReason<'_>,
) -> Result<PreparedRefs> {
    let wanted = candidates(&session.repo, changes);
    prepare_by(session, note, wanted, |repo| {
        repo.prepare_refs(&session.world, changes, why)
    })
}

fn prepare_by(
    session: &Session,
    note: &Path,
    wanted: Vec<WantedLock>,
    prepare: impl FnOnce(&Repo) -> Result<PreparedRefs>,
) -> Result<PreparedRefs> {
    lock_notes::announce(note, &wanted)?;
    let prepared =
        prepare(&session.repo).map_err(|error| refused(session, note, &wanted, error))?;
    lock_notes::identify(note, wanted)?;
    Ok(prepared)
}

/// Settles the note of a git that failed, and names the locks that stood in its way.
fn refused(session: &Session, note: &Path, wanted: &[WantedLock], error: Error) -> Error {
    // A git that says why not has let go of what it held; one that was killed has not.
    let settled = match error.code() {
        Code::RefMoved | Code::Locked | Code::NoSpace => lock_notes::forget(note),
        _ => lock_notes::clear(&session.repo, note),
    };
    let left = wanted.iter().filter(|lock| lock.stands());
    let left: Vec<_> = left.map(|lock| lock.path.clone()).collect();
    settled.map_or_else(|failed| failed, |()| name_all(&session.world, error, &left))
}

/// Names every lock at once that stands in the way, and how old it is.
fn name_all(world: &World, error: Error, locks: &[PathBuf]) -> Error {
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
    let words: Vec<_> = locks
        .iter()
        .map(|path| shell_word(&path.to_string_lossy()))
        .collect();
    Error::new(
        Code::Locked,
        format!(
            "git cannot lock the refs: {} of another git, or of one that was killed: {}{more}",
            text::count(locks.len(), "lock"),
            first.join(", ")
        ),
    )
    .detail("paths", locks)
    .hint(format!(
        "rm {}   # only if no git is running",
        words.join(" ")
    ))
}

/// Moves refs in one transaction, without holding it open; notes and lets go of the locks.
///
/// # Errors
/// As [`prepare`].
pub fn move_refs(
    session: &Session,
    note: &Path,
    changes: &[RefChange],
    why: &ReflogReason<'_>,
) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let prepared = prepare(session, note, changes, why);
    settle(session, note, prepared.and_then(PreparedRefs::commit))
}

fn settle(session: &Session, note: &Path, moved: Result<()>) -> Result<()> {
    match moved {
        Ok(()) => lock_notes::forget(note),
        Err(_) => lock_notes::clear(&session.repo, note).and(moved),
    }
}

/// Does what [`move_refs`] does for refs that nobody but us moves: no hook runs, and git keeps `lock` open
/// as long as it lives.
///
/// # Errors
/// As [`prepare`].
pub fn move_own_refs(
    session: &Session,
    (note, lock): (&Path, &File),
    changes: &[RefChange],
    why: &ReflogReason<'_>,
) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let wanted = candidates(&session.repo, changes);
    let prepared = prepare_by(session, note, wanted, |repo| {
        repo.prepare_own_refs(&session.world, changes, (why, lock))
    });
    settle(session, note, prepared.and_then(PreparedRefs::commit))
}

/// Puts HEAD on a branch, or on `commit` itself when `name` is `HEAD`; notes and lets go of the lock.
///
/// # Errors
/// As [`Repo::point_head`]; `locked` with the lock that stands in the way.
pub fn point_head(
    session: &Session,
    note: &Path,
    (name, commit): (&RefName, Option<Oid>),
    why: &ReflogReason<'_>,
) -> Result<()> {
    let planned = match commit.filter(|_| name.as_bytes() == b"HEAD") {
        Some(commit) => commit.to_string(),
        None => format!("ref: {name}"),
    };
    let wanted = [WantedLock {
        path: session.repo.git_dir().join("HEAD.lock"),
        planned: Some(planned),
    }];
    lock_notes::announce(note, &wanted)?;
    let pointed = session.repo.point_head(&session.world, name, commit, why);
    pointed.map_err(|error| refused(session, note, &wanted, error))?;
    lock_notes::forget(note)
}

/// Lists the locks that git holds for these changes with what it writes into them, and no lock that it
/// does not need: that one would be somebody else's.
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
    if head.map_or(true, |head| {
        changes.iter().any(|change| change.name == head)
    }) {
        locks.push(wanted(repo.git_dir().join("HEAD.lock"), None));
    }
    if changes.iter().any(|change| change.new.is_none()) {
        let packed = |name| repo.common_dir().join(name);
        locks.push(wanted(packed("packed-refs.lock"), None));
        locks.push(wanted(packed("packed-refs.new"), Some(PACKED.to_owned())));
    }
    locks
}
