//! The large files of what is being kept: out of reach of `git lfs prune` until a ref holds them, and,
//! for what only refs of ours hold, for as long as these do.
//!
//! A prune deletes what no branch, tag or HEAD held when it looked, also when one does by then. So the
//! clean filters of an operation store in a folder of its own (`objects` below it), and what the index
//! had stored before gets a second name there (`staged`). Once the refs have moved, what the store lacks
//! comes from there. Nothing here touches a file of the worktree or the network.

pub mod large_file_locks;
pub mod retained_objects;

use std::path::Path;
use std::time::Duration;

use crate::git::lfs::lfs_objects::LfsObjects;
use crate::git::lfs::lfs_pointer::Pointer;
use crate::git::{Oid, Repo, TreeEntry};
use crate::model::{Code, Error, RepoPath, Result};

use super::Session;
use super::files::atomic;
use super::lease::processes;
use super::lock::FileIdentity;

/// How long to wait for a prune that may have looked before the refs moved.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(10);

/// What the clean filters stored in a folder.
fn cleaned(folder: &Path) -> LfsObjects {
    LfsObjects::in_folder(folder.join("objects"))
}

/// What the store of git-lfs had already.
fn staged(folder: &Path) -> LfsObjects {
    LfsObjects::in_folder(folder.join("staged"))
}

/// Has the clean filters store below `folder` until [`end`].
///
/// Where the store is on another file system they go on storing there: large files are not written
/// twice.
pub fn begin(session: &Session, folder: &Path) {
    let repo = &session.repo;
    let is_beside = is_on_one_device(folder, LfsObjects::of(repo).folder());
    if repo.keeps_objects() && repo.has_filter("lfs") && is_beside {
        repo.store_large_files_in(Some(folder.to_owned()));
    }
}

/// Tells whether two places, that need not exist yet, are on one file system.
pub(super) fn is_on_one_device(one: &Path, other: &Path) -> bool {
    let device = |path: &Path| {
        let here = path.ancestors().find_map(FileIdentity::of);
        here.map(|identity| identity.device)
    };
    device(one) == device(other)
}

/// Has the clean filters store in the store of git-lfs again.
pub fn end(session: &Session) {
    session.repo.store_large_files_in(None);
}

/// Makes sure of the large files that `after` has and `before` has not, both being trees: each gets a
/// second name below `folder`, and one that a prune has taken is stored again from its file.
///
/// What was never here stays away: a clone need not have every large file. `moves` are paths whose
/// files in the worktree are about to be others.
///
/// # Errors
/// `object-missing` for a file that stands in the worktree and can no longer be stored as it was.
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
        if cleaned(folder).has(&pointer) || name_again(&store, &pointer, folder)? {
            continue;
        }
        if !moves(&change.path) && stands_whole(session, &change.path, &pointer) {
            let again = repo.store_large_file(&session.world, &change.path)?;
            if again != Some(entry.id) || !(cleaned(folder).has(&pointer) || store.has(&pointer)) {
                return Err(gone(&change.path));
            }
        }
    }
    Ok(())
}

fn gone(path: &RepoPath) -> Error {
    Error::new(
        Code::ObjectMissing,
        format!("git-lfs no longer has '{path}' as it was being kept; nothing has changed"),
    )
    .detail("path", path)
    .hint("git add --renormalize .   # stores it again; then run the command again")
}

/// Gives an object of the store a second name; tells whether it is there at all.
fn name_again(store: &LfsObjects, pointer: &Pointer, folder: &Path) -> Result<bool> {
    match store.link_into(pointer, staged(folder).folder()) {
        Err(_) if !store.has(pointer) => Ok(false),
        outcome => outcome,
    }
}

/// Tells whether the file of the worktree may be the content a pointer stands for.
fn stands_whole(session: &Session, path: &RepoPath, pointer: &Pointer) -> bool {
    let path = path.under(session.repo.workdir());
    std::fs::symlink_metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.len() == pointer.size_bytes)
}

/// Returns the objects of a folder, of both kinds.
pub(super) fn all_in(folder: &Path) -> [LfsObjects; 2] {
    [cleaned(folder), staged(folder)]
}

/// Brings into the store what it lacks of a folder's objects.
///
/// # Errors
/// `no-space`, `io`.
pub fn put_back(session: &Session, folder: &Path) -> Result<()> {
    let store = LfsObjects::of(&session.repo);
    cleaned(folder).link_all_into(store.folder())?;
    staged(folder).link_all_into(store.folder())
}

/// Removes the folder of an operation that did not happen: what its filters stored is in the files they
/// read, what the store had stays there.
///
/// # Errors
/// `no-space`, `io`.
pub fn discard(session: &Session, folder: &Path) -> Result<()> {
    staged(folder).link_all_into(LfsObjects::of(&session.repo).folder())?;
    atomic::remove_folder(folder)
}

/// Removes the folder of an operation that has happened; while a prune is at work, which may have
/// looked before, only after that has ended. The next command removes what outlasts our patience.
///
/// # Errors
/// `no-space`, `io`.
pub fn release(session: &Session, folder: &Path) -> Result<()> {
    let mut waited = Duration::ZERO;
    while folder.exists() && waited < PATIENCE && is_being_pruned(&session.repo) {
        if session.world.interrupt.check().is_err() {
            break;
        }
        std::thread::sleep(PAUSE);
        waited += PAUSE;
    }
    settle(session, folder)
}

/// Does the same without waiting.
///
/// # Errors
/// As [`release`].
pub fn settle(session: &Session, folder: &Path) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    let is_safe = !is_being_pruned(&session.repo);
    put_back(session, folder)?;
    if is_safe {
        atomic::remove_folder(folder)?;
    }
    Ok(())
}

/// Tells whether `git lfs prune` runs in a worktree of the repository, as far as the system tells.
fn is_being_pruned(repo: &Repo) -> bool {
    let folders = processes::folders_of("git-lfs", "prune");
    folders.iter().any(|folder| is_in(folder, repo))
}

/// Tells whether git, standing in a folder, works in the repository.
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
    let text = std::fs::read_to_string(&git).unwrap_or_default();
    let linked = text.strip_prefix("gitdir: ").map(str::trim_end);
    linked.is_some_and(|linked| Path::new(linked).starts_with(common))
}
