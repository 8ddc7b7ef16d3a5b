//! Keeps the large files of checkpoints and operations: out of reach of `git lfs prune` until a ref holds
//! them, and, for those that only refs of ours hold, as long as these refs exist.
//!
//! A prune deletes what no branch, tag or HEAD held when it scanned, even if one does by then. So the clean
//! filters of an operation store into a folder of its own (`objects` below it), and what the index had stored
//! before gets a hard link there (`staged`). Once the refs have moved, objects missing from the store come
//! from there. Nothing here touches a file of the working tree or the network.

pub mod retained_objects;

use std::path::Path;
use std::time::Duration;

use crate::git::lfs::lfs_objects::LfsObjects;
use crate::git::lfs::lfs_pointer::Pointer;
use crate::git::plain_file;
use crate::git::{Oid, Repo, TreeEntry};
use crate::model::{Code, Error, RepoPath, Result};

use super::Session;
use super::files::atomic;
use super::lease::processes;
use super::lock::FileIdentity;

/// How long to wait for a prune that may have scanned before the refs moved.
const PRUNE_TIMEOUT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Returns the objects that clean filters stored in a folder.
fn cleaned(folder: &Path) -> LfsObjects {
    LfsObjects::in_folder(folder.join("objects"))
}

/// Returns the objects that the git-lfs store already had.
fn staged(folder: &Path) -> LfsObjects {
    LfsObjects::in_folder(folder.join("staged"))
}

/// Lets the clean filters store below `folder` until [`end`].
///
/// Where the store is on another file system, they continue to store there: large files are not written
/// twice.
pub fn begin(session: &Session, folder: &Path) {
    let repo = &session.repo;
    let is_beside = is_on_one_device(folder, LfsObjects::of(repo).folder());
    if repo.keeps_objects() && repo.has_filter("lfs") && is_beside {
        repo.store_large_files_in(Some(folder.to_owned()));
    }
}

/// Returns `true` if two paths, which need not exist yet, are on one file system.
pub(super) fn is_on_one_device(folder: &Path, other: &Path) -> bool {
    let device = |path: &Path| {
        let here = path.ancestors().find_map(FileIdentity::of);
        here.map(|identity| identity.device)
    };
    device(folder) == device(other)
}

/// Lets the clean filters store in the git-lfs store again.
pub fn end(session: &Session) {
    session.repo.store_large_files_in(None);
}

/// Protects the large files that the tree `after` has and the tree `before` does not: each gets a hard link
/// below `folder`, and one that a prune has deleted is stored again from its file.
///
/// A large file that was never here is not fetched: a clone need not have all of them. `moves` are paths
/// whose files in the working tree are about to be replaced.
pub fn guard(
    session: &Session,
    folder: &Path,
    (before, after): (Oid, Oid),
    moves: &dyn Fn(&RepoPath) -> bool,
) -> Result<()> {
    let repo = &session.repo;
    if before == after || !repo.has_filter("lfs") {
        return Ok(());
    }
    let store = LfsObjects::of(repo);
    for change in repo.diff_trees(before, after)? {
        let new = change.new.filter(TreeEntry::is_file);
        let Some((entry, pointer)) =
            new.and_then(|entry| Some((entry, Pointer::of_blob(repo, entry.id)?)))
        else {
            continue;
        };
        if cleaned(folder).has(&pointer) || link_object(&store, &pointer, folder)? {
            continue;
        }
        if !moves(&change.path) && may_be_content(session, &change.path, &pointer) {
            let again = repo.store_large_file(&session.world, &change.path)?;
            if again != Some(entry.id) || !(cleaned(folder).has(&pointer) || store.has(&pointer)) {
                return Err(gone(&change.path));
            }
        }
    }
    Ok(())
}

fn gone(path: &RepoPath) -> Error {
    Error::new(Code::ObjectMissing, format!("git-lfs no longer has the kept content of '{path}'"))
        .unchanged()
        .detail("path", path)
        .hint("git add --renormalize .   # stores it again; then run the command again")
}

/// Gives an object of the store a hard link in `folder`; returns `true` if the store has it.
fn link_object(store: &LfsObjects, pointer: &Pointer, folder: &Path) -> Result<bool> {
    match store.link_into(pointer, staged(folder).folder()) {
        Err(_) if !store.has(pointer) => Ok(false),
        outcome => outcome,
    }
}

/// Returns `true` if the file of the working tree may be the content of a pointer.
fn may_be_content(session: &Session, path: &RepoPath, pointer: &Pointer) -> bool {
    let path = path.under(session.repo.workdir());
    std::fs::symlink_metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.len() == pointer.size_bytes)
}

/// Returns the objects of a folder, of both kinds.
pub(super) fn all_in(folder: &Path) -> [LfsObjects; 2] {
    [cleaned(folder), staged(folder)]
}

/// Copies objects of a folder that the store lacks into the store.
pub fn restore_objects(session: &Session, folder: &Path) -> Result<()> {
    let store = LfsObjects::of(&session.repo);
    cleaned(folder).link_all_into(store.folder())?;
    staged(folder).link_all_into(store.folder())
}

/// Removes the folder of an operation that did not happen. What its filters stored is still in the files they
/// read; what the store had is still there.
pub fn discard(session: &Session, folder: &Path) -> Result<()> {
    staged(folder).link_all_into(LfsObjects::of(&session.repo).folder())?;
    atomic::remove_folder(folder)
}

/// Removes the folder of an operation that has happened. While a prune runs that may have scanned before, it
/// waits for the end of the prune; after the timeout, the next command removes the folder.
pub fn release(session: &Session, folder: &Path) -> Result<()> {
    let mut waited = Duration::ZERO;
    while folder.exists() && waited < PRUNE_TIMEOUT && is_being_pruned(&session.repo) {
        if session.world.interrupt.check().is_err() {
            break;
        }
        std::thread::sleep(POLL_INTERVAL);
        waited += POLL_INTERVAL;
    }
    settle(session, folder)
}

/// Does the same without waiting.
pub fn settle(session: &Session, folder: &Path) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    let is_safe = !is_being_pruned(&session.repo);
    restore_objects(session, folder)?;
    if is_safe {
        atomic::remove_folder(folder)?;
    }
    Ok(())
}

/// Returns `true` if `git lfs prune` runs in a worktree of the repository, as far as the system shows.
fn is_being_pruned(repo: &Repo) -> bool {
    let folders = processes::folders_of("git-lfs", "prune");
    folders.iter().any(|folder| is_in(folder, repo))
}

/// Returns `true` if git, with this current directory, works in the repository.
fn is_in(folder: &Path, repo: &Repo) -> bool {
    let common = repo.common_dir();
    if folder.starts_with(common) {
        return true;
    }
    let git = folder.ancestors().map(|folder| folder.join(".git"));
    let Some(git) = git.into_iter().find(|git| git.exists()) else {
        return false;
    };
    if git == common || git == repo.git_dir() {
        return true;
    }
    // A linked worktree has a file there, with the path of its git directory.
    let text = plain_file::read_text(&git).unwrap_or_default();
    let linked = text.strip_prefix("gitdir: ").map(str::trim_end);
    linked.is_some_and(|linked| Path::new(linked).starts_with(common))
}
