//! Which lock files git holds for us, so that they can be told from others' should git be killed.
//!
//! git drops its locks when it fails or when we die; only a git that is killed leaves them. Between
//! `prepare` and `commit` their inodes are written down, and when each was changed last; a lock file
//! that still is like that is ours. An inode alone proves nothing: once git has let go of it, the
//! lock that somebody else takes on the same ref may get the same one.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::git::refs::{PreparedRefs, Reason};
use crate::git::{RefChange, Repo};
use crate::model::{Code, Error, Result};

use super::lock::FileIdentity;
use super::{Session, atomic};

#[derive(Serialize, Deserialize)]
struct Noted {
    path: PathBuf,
    identity: FileIdentity,
    /// When the inode was changed last, in seconds and nanoseconds; git does not touch it until it
    /// lets go of the lock.
    changed: Option<(i64, i64)>,
}

impl Noted {
    /// Looks at a lock file; `None` when it is not there.
    fn of(path: PathBuf) -> Option<Noted> {
        let metadata = std::fs::symlink_metadata(&path).ok()?;
        Some(Noted {
            identity: FileIdentity::of(&path)?,
            changed: Some((metadata.ctime(), metadata.ctime_nsec())),
            path,
        })
    }

    fn still_stands(&self) -> bool {
        let now = Noted::of(self.path.clone());
        now.is_some_and(|now| now.identity == self.identity && now.changed == self.changed)
    }
}

/// Locks refs in one transaction and writes down whose locks they are, into `note`.
///
/// # Errors
/// `ref-moved`, `locked`, `io`.
pub fn prepare(
    session: &Session,
    note: &Path,
    changes: &[RefChange],
    why: &Reason<'_>,
) -> Result<PreparedRefs> {
    let prepared = session.repo.prepare_refs(&session.world, changes, why)?;
    let found = candidates(&session.repo, changes)
        .into_iter()
        .filter_map(Noted::of);
    let json = serde_json::to_vec(&found.collect::<Vec<_>>())
        .map_err(|e| Error::new(Code::Io, "cannot write down the ref locks").caused_by(e))?;
    atomic::write_plainly(note, &json)?;
    Ok(prepared)
}

/// Forgets locks that git has let go of.
///
/// # Errors
/// `io`.
pub fn forget(note: &Path) -> Result<()> {
    atomic::remove_file(note)
}

/// Removes the locks a killed git left, proven ours, and then the note.
///
/// # Errors
/// `io`.
pub fn clear(note: &Path) -> Result<()> {
    let Ok(json) = std::fs::read(note) else {
        return Ok(());
    };
    // A note that was cut off proves nothing: what it would have named is reported by git.
    let noted: Vec<Noted> = serde_json::from_slice(&json).unwrap_or_default();
    for lock in noted.iter().filter(|lock| lock.still_stands()) {
        atomic::remove_file(&lock.path)?;
    }
    atomic::remove_file(note)
}

/// Lists the locks that git holds for these changes, and no lock that it does not need: that one
/// would be somebody else's.
fn candidates(repo: &Repo, changes: &[RefChange]) -> Vec<PathBuf> {
    let with_lock = |path: PathBuf| {
        let mut name = path.into_os_string();
        name.push(".lock");
        PathBuf::from(name)
    };
    let named = changes
        .iter()
        .map(|change| with_lock(change.name.under(repo.common_dir())));
    // A branch that is checked out moves with HEAD's reflog.
    let head = repo.head().map(|head| head.moving_ref());
    let moves_head = head.map_or(true, |head| {
        changes.iter().any(|change| change.name == head)
    });
    let moves_head = moves_head.then(|| repo.git_dir().join("HEAD.lock"));
    let deletes = changes.iter().any(|change| change.new.is_none());
    let packed = deletes.then(|| repo.common_dir().join("packed-refs.lock"));
    named.chain(moves_head).chain(packed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note_of(lock: &Noted, folder: &Path) -> PathBuf {
        let note = folder.join("note");
        let json = serde_json::to_vec(&[lock]).unwrap();
        atomic::write_plainly(&note, &json).unwrap();
        note
    }

    #[test]
    fn a_lock_that_stands_as_noted_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("main.lock");
        atomic::write_plainly(&path, b"").unwrap();
        let lock = Noted::of(path.clone()).unwrap();
        clear(&note_of(&lock, folder.path())).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_lock_of_somebody_else_with_the_same_inode_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("main.lock");
        atomic::write_plainly(&path, b"").unwrap();
        let mut lock = Noted::of(path.clone()).unwrap();
        lock.changed = lock.changed.map(|(seconds, _)| (seconds - 1, 0));
        clear(&note_of(&lock, folder.path())).unwrap();
        assert!(path.exists());
    }
}
