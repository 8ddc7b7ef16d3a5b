//! Notes of the lock files that a git of ours holds or is about to take. If that git is killed, they
//! distinguish its locks from those of others.
//!
//! git deletes its locks when it fails or when we die; only a git that is killed leaves them. Once it holds
//! them all and waits, the note records their inodes and the times of their last change; a lock file that
//! still has both is ours. An inode alone proves nothing: after git has released a lock, another process's
//! lock on the same ref may get the same inode.
//!
//! Before git starts, the note records the locks it is about to take, except those that exist already. If git
//! is killed on the way, such a lock is ours if it is newer than the note and holds nothing, or what git was
//! to write into it, and no git that may hold it is running here. A note is replaced by a rename: the old
//! content is valid until the new one is complete.
//!
//! A git that talks to a remote takes locks that cannot be named beforehand: then the note names folders of
//! refs, and each lock below one counts as announced.
//!
//! A note is not made durable: after a power cut, a lock without a note is reported and stays. Two kinds of
//! locks need no note: the lock of a configuration, which its inode proves ours (`config_file`), and the
//! `index.lock` of an operation (`lock`). No git of ours starts a `gc`, and a git that signs works in a
//! folder of ours that is swept.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::git::Repo;
use crate::git::plain_file::{self, Symlinks};
use crate::model::{Code, Error, Result};
use crate::store::files::atomic;
use crate::store::lease::processes;
use crate::store::refs::own_refs;

use super::FileIdentity;

/// The beginning of a file of packed refs.
pub(in crate::store) const PACKED: &str = "# pack-refs with:";

/// The beginning of an index file.
pub(in crate::store) const INDEX: &str = "DIRC";

/// Stands for ids, one per line, or a symbolic ref: what git writes into a lock that it takes by itself.
pub(in crate::store) const IDS: &str = "ids";

/// The number of bytes read from a lock: enough for an id, a branch, or the beginning of packed refs.
const MAX_READ_BYTES: u64 = 4_200;

/// A lock that git is about to take, and what git writes into it.
pub(in crate::store) struct WantedLock {
    pub(in crate::store) path: PathBuf,
    pub(in crate::store) planned: Option<String>,
}

impl WantedLock {
    pub(in crate::store) fn exists(&self) -> bool {
        self.path.symlink_metadata().is_ok()
    }
}

/// Records the locks that git is about to take; those that exist already belong to others.
pub(in crate::store) fn announce(note: &Path, wanted: &[WantedLock]) -> Result<()> {
    announce_in(note, &[], wanted)
}

/// Records the folders of refs in which git may take any lock, and the other locks it may take.
pub(in crate::store) fn announce_in(
    note: &Path,
    folders: &[PathBuf],
    others: &[WantedLock],
) -> Result<()> {
    let about = |path: &Path, planned: Option<&String>, is_folder| Noted {
        path: path.to_owned(),
        identity: None,
        changed: None,
        planned: planned.cloned(),
        is_folder,
    };
    let folders = folders.iter().map(|folder| about(folder, None, true));
    let free = others
        .iter()
        .filter(|lock| !lock.exists())
        .map(|lock| about(&lock.path, lock.planned.as_ref(), false));
    write(note, &folders.chain(free).collect::<Vec<_>>())
}

/// Records that git holds the locks.
pub(in crate::store) fn identify(note: &Path, held: Vec<WantedLock>) -> Result<()> {
    let noted = held.into_iter().filter_map(|lock| Noted::of(lock.path));
    write(note, &noted.collect::<Vec<_>>())
}

/// Deletes the note of locks that git has released.
pub fn forget(note: &Path) -> Result<()> {
    atomic::remove_file(note)
}

/// Deletes the locks that a killed git left and that are proven ours, and then the note.
pub fn clear(repo: &Repo, note: &Path) -> Result<()> {
    let own = [repo.workdir(), repo.git_dir(), repo.common_dir()];
    let within = [repo.git_dir(), repo.common_dir()];
    clear_unless(note, &within, || processes::git_may_lock_refs_in(&own))
}

/// Does the same for locks in some git directories, unless a git that may hold one is running.
fn clear_unless(note: &Path, within: &[&Path], git_is_at_work: impl Fn() -> bool) -> Result<()> {
    let Ok(json) = plain_file::read(note) else {
        return Ok(());
    };
    let began =
        std::fs::symlink_metadata(note).map(|metadata| (metadata.mtime(), metadata.mtime_nsec()));
    // A truncated note proves nothing: git reports the locks it would have named.
    let noted: Vec<Noted> = serde_json::from_slice(&json).unwrap_or_default();
    // A damaged note must not name files outside of this repository.
    let is_own = |noted: &Noted| within.iter().any(|own| noted.path.starts_with(own));
    let noted: Vec<Noted> = noted
        .into_iter()
        .filter(is_own)
        .flat_map(Noted::each)
        .filter(|noted| is_lock(&noted.path))
        .collect();
    for lock in noted.iter().filter(|lock| lock.identity.is_some()) {
        if lock.is_unchanged() {
            atomic::remove_file(&lock.path)?;
        }
    }
    let about = noted.iter().filter(|lock| lock.identity.is_none());
    let began = began.unwrap_or((i64::MAX, 0));
    let taken: Vec<_> = about.filter(|lock| lock.was_taken_since(began)).collect();
    if !taken.is_empty() && git_is_at_work() {
        // The next command checks again.
        return Ok(());
    }
    for lock in taken {
        atomic::remove_file(&lock.path)?;
    }
    atomic::remove_file(note)
}

fn write(note: &Path, noted: &[Noted]) -> Result<()> {
    let json = serde_json::to_vec(noted)
        .map_err(|e| Error::new(Code::Io, "cannot record the locks of git").caused_by(e))?;
    let name = note.file_name().unwrap_or_default().to_string_lossy();
    if own_refs::is_note(&name) {
        // A sweep of an operation at the same time keeps every file named like a note.
        return atomic::write_quickly_by(note, &json, (own_refs::NOTE, own_refs::NOTE_END));
    }
    atomic::write_quickly(note, &json)
}

#[derive(Serialize, Deserialize)]
struct Noted {
    #[serde(with = "written_path")]
    path: PathBuf,
    /// `None` for a lock that git was about to take.
    identity: Option<FileIdentity>,
    /// The last change of the inode, in seconds and nanoseconds; git does not touch it while it holds the
    /// lock.
    changed: Option<(i64, i64)>,
    /// The content that git writes: an object id, `ref: ` and a branch, or the beginning of packed refs.
    planned: Option<String>,
    /// `true` for a folder of refs, in which git may take any lock.
    is_folder: bool,
}

/// A path in a note, whose bytes may be any.
mod written_path {
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::{Path, PathBuf};

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use crate::model::RepoPath;

    pub(super) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        RepoPath::new(path.as_os_str().as_bytes()).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        RepoPath::deserialize(from).map(|path| path.as_path().to_owned())
    }
}

impl Noted {
    /// Examines a lock file; `None` if it does not exist.
    fn of(path: PathBuf) -> Option<Noted> {
        let metadata = std::fs::symlink_metadata(&path).ok()?;
        Some(Noted {
            identity: Some(FileIdentity::from(&metadata)),
            changed: Some((metadata.ctime(), metadata.ctime_nsec())),
            planned: None,
            is_folder: false,
            path,
        })
    }

    /// Returns the locks in a folder, or the one lock itself.
    fn each(self) -> Vec<Noted> {
        if !self.is_folder {
            return vec![self];
        }
        let mut paths = Vec::new();
        collect_locks(&self.path, &mut paths);
        let noted = |path| Noted {
            path,
            identity: None,
            changed: None,
            planned: Some(IDS.to_owned()),
            is_folder: false,
        };
        paths.into_iter().map(noted).collect()
    }

    fn is_unchanged(&self) -> bool {
        let now = Noted::of(self.path.clone());
        now.is_some_and(|now| now.identity == self.identity && now.changed == self.changed)
    }

    /// Returns `true` if a lock that git was about to take exists, was created since then, and holds what git
    /// writes.
    fn was_taken_since(&self, began: (i64, i64)) -> bool {
        let young = Noted::of(self.path.clone()).is_some_and(|now| now.changed >= Some(began));
        young && self.holds_what_was_planned().unwrap_or(false)
    }

    fn holds_what_was_planned(&self) -> std::io::Result<bool> {
        let beginning = plain_file::find_beginning(&self.path, Symlinks::Refused, MAX_READ_BYTES)?;
        let bytes = beginning.ok_or(std::io::ErrorKind::NotFound)?;
        let planned = self.planned.as_deref().unwrap_or_default();
        let holds = match planned {
            PACKED | INDEX => bytes.starts_with(planned.as_bytes()),
            IDS => bytes.starts_with(b"ref: refs/") || are_ids(&bytes),
            _ => bytes.trim_ascii_end() == planned.as_bytes(),
        };
        Ok(bytes.is_empty() || holds)
    }
}

fn is_lock(path: &Path) -> bool {
    let is_plain = path.components().all(|part| part != Component::ParentDir);
    is_plain
        && (path.extension().is_some_and(|end| end == "lock") || path.ends_with("packed-refs.new"))
}

fn are_ids(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    lines.all(|line| line.iter().all(u8::is_ascii_hexdigit))
}

/// Collects the lock files below a folder of refs.
pub(in crate::store) fn collect_locks(folder: &Path, locks: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect_locks(&path, locks),
            Ok(kind) if kind.is_file() && path.extension().is_some_and(|end| end == "lock") => {
                locks.push(path);
            }
            _ => {}
        }
    }
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
    fn a_lock_that_matches_its_note_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("main.lock");
        atomic::write_plainly(&path, b"").unwrap();
        let lock = Noted::of(path.clone()).unwrap();
        clear_unless(&note_of(&lock, folder.path()), &[folder.path()], || true).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_lock_of_another_process_with_the_same_inode_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("main.lock");
        atomic::write_plainly(&path, b"").unwrap();
        let mut lock = Noted::of(path.clone()).unwrap();
        lock.changed = lock.changed.map(|(seconds, _)| (seconds - 1, 0));
        clear_unless(&note_of(&lock, folder.path()), &[folder.path()], || true).unwrap();
        assert!(path.exists());
    }

    /// Whether the lock was created before or after the note.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum LockAge {
        Before,
        After,
    }

    /// Records that git was about to take a lock, and returns `true` if the lock still exists after the note
    /// was used.
    fn is_left(holds: &str, made: LockAge, git_is_at_work: bool) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("main.lock");
        let lock = Noted {
            path: path.clone(),
            identity: None,
            changed: None,
            planned: Some("a1".repeat(20)),
            is_folder: false,
        };
        let note = note_of(&lock, folder.path());
        atomic::write_plainly(&path, holds.as_bytes()).unwrap();
        if made == LockAge::Before {
            let later = filetime::FileTime::from_unix_time(i64::from(i32::MAX), 0);
            filetime::set_file_mtime(&note, later).unwrap();
        }
        clear_unless(&note, &[folder.path()], || git_is_at_work).unwrap();
        path.exists()
    }

    #[test]
    fn an_announced_lock_is_removed_if_it_matches_and_no_git_runs() {
        let planned = format!("{}\n", "a1".repeat(20));
        for holds in ["", &planned] {
            assert!(!is_left(holds, LockAge::After, false));
            assert!(is_left(holds, LockAge::After, true));
            assert!(is_left(holds, LockAge::Before, false));
        }
        assert!(is_left("another's", LockAge::After, false));
        assert!(is_left(&"b2".repeat(20), LockAge::After, false));
    }

    #[test]
    fn every_lock_of_git_in_a_folder_of_refs_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let refs = folder.path().join("remotes");
        atomic::make_directory(&refs.join("origin/deep")).unwrap();
        let locks = [
            ("origin/main.lock", "a1".repeat(20) + "\n"),
            ("origin/deep/er.lock", String::new()),
            ("origin/HEAD.lock", "ref: refs/remotes/origin/main\n".to_owned()),
            ("origin/other.lock", "another's\n".to_owned()),
        ];
        let note = folder.path().join("note");
        announce_in(&note, std::slice::from_ref(&refs), &[]).unwrap();
        for (name, holds) in &locks {
            atomic::write_plainly(&refs.join(name), holds.as_bytes()).unwrap();
        }
        clear_unless(&note, &[folder.path()], || true).unwrap();
        assert!(locks.iter().all(|(name, _)| refs.join(name).exists()));
        clear_unless(&note, &[folder.path()], || false).unwrap();
        let left: Vec<_> = locks
            .iter()
            .filter(|(name, _)| refs.join(name).exists())
            .map(|(name, _)| *name)
            .collect();
        assert_eq!(left, ["origin/other.lock"]);
        assert!(!note.exists());
    }
}
