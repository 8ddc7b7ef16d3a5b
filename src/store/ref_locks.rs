//! Which lock files git holds for us, so that they can be told from others' should git be killed.
//!
//! git drops its locks when it fails or when we die; only a git that is killed leaves them. Between
//! `prepare` and `commit` their inodes are written down, and when each was changed last; a lock file
//! that still is like that is ours. An inode alone proves nothing: once git has let go of it, the
//! lock that somebody else takes on the same ref may get the same one.
//!
//! Before `prepare` it is written down which locks git is about to take, without those that stand
//! already. Should git be killed on the way, a lock of these that is younger than the note and holds
//! nothing, or what that ref was to hold, is ours as long as no git that may hold one is at work here.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::git::refs::{PreparedRefs, Reason};
use crate::git::{Oid, RefChange, Repo};
use crate::model::text::{self, shell_word};
use crate::model::{Code, Error, Result};

use super::lock::FileIdentity;
use super::{Session, atomic, processes};

/// How many locks a message names.
const NAMED: usize = 3;

#[derive(Serialize, Deserialize)]
struct Noted {
    #[serde(with = "written_path")]
    path: PathBuf,
    /// `None` for one that git was about to take.
    identity: Option<FileIdentity>,
    /// When the inode was changed last, in seconds and nanoseconds; git does not touch it until it
    /// lets go of the lock.
    changed: Option<(i64, i64)>,
    /// What the ref is to hold.
    #[serde(default)]
    planned: Option<Oid>,
}

/// A path in a note: as text, or in hex where it is none.
mod written_path {
    use std::ffi::OsString;
    use std::fmt::Write as _;
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    use std::path::{Path, PathBuf};

    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    /// No path of a lock is relative.
    const HEX: &str = "hex:";

    pub(super) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        if let Some(text) = path.to_str() {
            return to.serialize_str(text);
        }
        let mut hex = HEX.to_owned();
        for byte in path.as_os_str().as_bytes() {
            write!(hex, "{byte:02x}").ok();
        }
        to.serialize_str(&hex)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        let text = String::deserialize(from)?;
        let Some(hex) = text.strip_prefix(HEX) else {
            return Ok(PathBuf::from(text));
        };
        let byte = |digits: &[u8]| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 16).ok()
        };
        let bytes: Option<Vec<u8>> = hex.as_bytes().chunks(2).map(byte).collect();
        let bytes = bytes.ok_or_else(|| D::Error::custom("a path that is neither text nor hex"))?;
        Ok(PathBuf::from(OsString::from_vec(bytes)))
    }
}

impl Noted {
    /// Looks at a lock file; `None` when it is not there.
    fn of(path: PathBuf) -> Option<Noted> {
        let metadata = std::fs::symlink_metadata(&path).ok()?;
        Some(Noted {
            identity: Some(FileIdentity::from(&metadata)),
            changed: Some((metadata.ctime(), metadata.ctime_nsec())),
            planned: None,
            path,
        })
    }

    fn still_stands(&self) -> bool {
        let now = Noted::of(self.path.clone());
        now.is_some_and(|now| now.identity == self.identity && now.changed == self.changed)
    }

    /// Tells whether a lock that git was about to take stands as it takes it, and since then.
    fn was_taken_since(&self, began: (i64, i64)) -> bool {
        let young = Noted::of(self.path.clone()).is_some_and(|now| now.changed >= Some(began));
        let holds = std::fs::read_to_string(&self.path).unwrap_or_else(|_| "?".to_owned());
        let planned = self.planned.map(|id| id.to_string());
        young && (holds.is_empty() || Some(holds.trim_end()) == planned.as_deref())
    }
}

/// Locks refs in one transaction and writes down whose locks they are, into `note`.
///
/// # Errors
/// `ref-moved`, `locked` with every lock that stands in the way, `io`.
pub fn prepare(
    session: &Session,
    note: &Path,
    changes: &[RefChange],
    why: &Reason<'_>,
) -> Result<PreparedRefs> {
    let repo = &session.repo;
    let wanted = candidates(repo, changes);
    let standing = |(path, _): &&(PathBuf, Option<Oid>)| path.symlink_metadata().is_ok();
    let free = wanted.iter().filter(|wanted| !standing(wanted));
    let about = free.map(|(path, planned)| Noted {
        path: path.clone(),
        identity: None,
        changed: None,
        planned: *planned,
    });
    write(note, &about.collect::<Vec<_>>())?;
    let prepared = match repo.prepare_refs(&session.world, changes, why) {
        Ok(prepared) => prepared,
        Err(error) => {
            // A git that says why not has let go of what it held; one that was killed has not.
            match error.code() {
                Code::RefMoved | Code::Locked => forget(note)?,
                _ => clear(repo, note)?,
            }
            let left = wanted.iter().filter(standing).map(|(path, _)| path.clone());
            return Err(name_all(error, &left.collect::<Vec<_>>()));
        }
    };
    let found = wanted.into_iter().filter_map(|(path, _)| Noted::of(path));
    write(note, &found.collect::<Vec<_>>())?;
    Ok(prepared)
}

fn write(note: &Path, noted: &[Noted]) -> Result<()> {
    let json = serde_json::to_vec(noted)
        .map_err(|e| Error::new(Code::Io, "cannot write down the ref locks").caused_by(e))?;
    atomic::write_plainly(note, &json)
}

/// Names every lock at once that stands in the way.
fn name_all(error: Error, locks: &[PathBuf]) -> Error {
    if error.code() != Code::Locked || locks.len() < 2 {
        return error.detail("paths", locks);
    }
    let shown = |path: &PathBuf| format!("'{}'", path.display());
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
    why: &Reason<'_>,
) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let moved = prepare(session, note, changes, why).and_then(PreparedRefs::commit);
    match moved {
        Ok(()) => forget(note),
        Err(_) => clear(&session.repo, note).and(moved),
    }
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
pub fn clear(repo: &Repo, note: &Path) -> Result<()> {
    let own = [repo.workdir(), repo.git_dir(), repo.common_dir()];
    clear_unless(note, || processes::git_may_lock_refs_in(&own))
}

fn clear_unless(note: &Path, git_is_at_work: impl Fn() -> bool) -> Result<()> {
    let Ok(json) = std::fs::read(note) else {
        return Ok(());
    };
    let began = std::fs::symlink_metadata(note);
    let began = began.map(|metadata| (metadata.mtime(), metadata.mtime_nsec()));
    // A note that was cut off proves nothing: what it would have named is reported by git.
    let noted: Vec<Noted> = serde_json::from_slice(&json).unwrap_or_default();
    for lock in noted.iter().filter(|lock| lock.identity.is_some()) {
        if lock.still_stands() {
            atomic::remove_file(&lock.path)?;
        }
    }
    let about = noted.iter().filter(|lock| lock.identity.is_none());
    let began = began.unwrap_or((i64::MAX, 0));
    let taken: Vec<_> = about.filter(|lock| lock.was_taken_since(began)).collect();
    if !taken.is_empty() && git_is_at_work() {
        // Whoever looks again finds what can be told then.
        return Ok(());
    }
    for lock in taken {
        atomic::remove_file(&lock.path)?;
    }
    atomic::remove_file(note)
}

/// Lists the locks that git holds for these changes with what it writes into them, and no lock that it
/// does not need: that one would be somebody else's.
fn candidates(repo: &Repo, changes: &[RefChange]) -> Vec<(PathBuf, Option<Oid>)> {
    let with_lock = |path: PathBuf| {
        let mut name = path.into_os_string();
        name.push(".lock");
        PathBuf::from(name)
    };
    let named = changes
        .iter()
        .map(|change| (with_lock(change.name.under(repo.common_dir())), change.new));
    // A branch that is checked out moves with HEAD's reflog.
    let head = repo.head().map(|head| head.moving_ref());
    let moves_head = head.map_or(true, |head| {
        changes.iter().any(|change| change.name == head)
    });
    let moves_head = moves_head.then(|| (repo.git_dir().join("HEAD.lock"), None));
    let deletes = changes.iter().any(|change| change.new.is_none());
    let packed = deletes.then(|| (repo.common_dir().join("packed-refs.lock"), None));
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
        clear_unless(&note_of(&lock, folder.path()), || true).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_lock_of_somebody_else_with_the_same_inode_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("main.lock");
        atomic::write_plainly(&path, b"").unwrap();
        let mut lock = Noted::of(path.clone()).unwrap();
        lock.changed = lock.changed.map(|(seconds, _)| (seconds - 1, 0));
        clear_unless(&note_of(&lock, folder.path()), || true).unwrap();
        assert!(path.exists());
    }

    /// Which side of the note the lock was made on.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Made {
        Before,
        After,
    }

    /// Notes that git was about to take a lock, and tells whether it stands once the note was used.
    fn is_left(holds: &str, made: Made, git_is_at_work: bool) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("main.lock");
        let lock = Noted {
            path: path.clone(),
            identity: None,
            changed: None,
            planned: Oid::parse(&"a1".repeat(20)),
        };
        let note = note_of(&lock, folder.path());
        atomic::write_plainly(&path, holds.as_bytes()).unwrap();
        if made == Made::Before {
            let later = filetime::FileTime::from_unix_time(i64::from(i32::MAX), 0);
            filetime::set_file_mtime(&note, later).unwrap();
        }
        clear_unless(&note, || git_is_at_work).unwrap();
        path.exists()
    }

    #[test]
    fn what_git_was_about_to_take_is_removed_if_it_looks_so_and_no_git_is_at_work() {
        let planned = format!("{}\n", "a1".repeat(20));
        for holds in ["", &planned] {
            assert!(!is_left(holds, Made::After, false));
            assert!(is_left(holds, Made::After, true));
            assert!(is_left(holds, Made::Before, false));
        }
        assert!(is_left("somebody's", Made::After, false));
        assert!(is_left(&"b2".repeat(20), Made::After, false));
    }
}
