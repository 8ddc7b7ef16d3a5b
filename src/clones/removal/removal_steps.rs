//! The removal of a clone. It is renamed aside first, so that no path of its agent leads there any more, and
//! deleted when all of it is kept and no process can write into it.
//!
//! The states, each reached by one rename: *standing*; *leaving*, where it is kept again until nothing
//! changes any more; *trash*, where everything is in the hub and it is deleted. The next command continues
//! the removal of a process that has died: a lock beside the clone shows that. Files that are written into it
//! even during the deletion stay, and it returns to *leaving*.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::clones::clone_folders::membership_at;
use crate::clones::found::{FoundClone, clones};
use crate::clones::hub::Hub;
use crate::git::plain_file;
use crate::git::{Oid, Repo};
use crate::model::{Code, Error, Result, ResultExt as _, World, time};
use crate::store::files::atomic;
use crate::store::files::places::Places;
use crate::store::files::shared_root::{SharedRoot, leaving_note};
use crate::store::lease::processes::{self, Process};
use crate::store::lock::WorktreeLock;
use crate::store::lock::wait::WaitLimit;
use crate::store::membership::{self, Membership, Role};

use super::kept_refs::{keep_beside, keep_published};
use super::last_writes::{self, Deleted};
use super::log_transfer::{self, Broken};
use super::removed_clone::RemovedClone;

/// The suffix of a clone in the trash.
const CLONE: &str = "clone";

/// The suffix of its git directory, when that is all that is left of it.
const LEFT_GIT_DIR: &str = "git";

/// How long to wait for a process that may be about to end.
const PRUNE_TIMEOUT: Duration = Duration::from_millis(500);

/// How long to wait before the next scan of all processes.
const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// The record that a clone gets before it leaves its path.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LeavingNote {
    /// Its old path.
    place: PathBuf,
    /// The prefix of its refs that the hub keeps.
    kept: String,
    /// Whether work that no checkpoint keeps may be deleted.
    lets_go: bool,
    /// Whether all of it was kept, so that some of it may be deleted.
    is_kept: bool,
}

/// A clone that has left its path.
#[derive(Debug)]
pub struct Leaving {
    /// Its path now.
    pub folder: PathBuf,
    /// Its record.
    pub member: Membership,
    /// Its old path.
    pub place: PathBuf,
    /// The prefix of its refs that the hub keeps.
    pub kept: String,
    /// Whether work that no checkpoint keeps may be deleted.
    pub lets_go: bool,
    /// The time up to which all of it was kept, if some of it may be deleted already.
    pub kept_until: Option<SystemTime>,
    lock_path: PathBuf,
    _lock: WorktreeLock,
}

/// The work of a clone that nothing published has.
#[derive(Clone, Copy)]
pub struct UnsavedWork {
    /// Whether what no checkpoint keeps may be deleted.
    pub lets_go: bool,
    /// The commit with the uncommitted work.
    pub uncommitted: Option<Oid>,
}

impl Leaving {
    /// Keeps the published refs of a clone under other names, and the refs of one for reading, and renames
    /// its folder: from then on the clone is gone for all other commands. Returns it, and whether the hub had any of its refs.
    pub fn begin(
        world: &World,
        root: &SharedRoot,
        clone: &FoundClone,
        repo: &Repo,
        work: UnsavedWork,
    ) -> Result<(Leaving, bool)> {
        let UnsavedWork { lets_go, uncommitted } = work;
        let hub = Hub::open(&clone.member.hub)?;
        let below = clone.member.published_below();
        let (kept, mut has_kept) = keep_published(world, &hub, &below, uncommitted)?;
        if clone.member.role == Role::Reader {
            has_kept |= keep_beside(world, repo, &clone.member, &kept)? > 0;
        }
        // Problems with that are reported while the clone is still at its path.
        let broken = if lets_go { Broken::LeaveOut } else { Broken::Refuse };
        log_transfer::keep_operations(world, repo, &clone.member.hub, broken)?;
        world.reach("clone-kept")?;
        let note =
            LeavingNote { place: clone.path.clone(), kept: kept.clone(), lets_go, is_kept: false };
        note.write(&clone.path)?;
        let aside = root.leaving();
        atomic::make_directory(&aside)?;
        let folder = aside.join(format!("{:016x}", (world.entropy)()));
        let (lock_path, lock) = lock(world, &folder)?;
        atomic::rename(&clone.path, &folder)?;
        for folder in [clone.path.parent(), Some(aside.as_path())] {
            folder.map_or(Ok(()), atomic::sync_directory)?;
        }
        let leaving = Leaving {
            folder,
            member: clone.member.clone(),
            place: note.place,
            kept,
            lets_go,
            kept_until: None,
            lock_path,
            _lock: lock,
        };
        Ok((leaving, has_kept))
    }

    /// Takes over clones whose removal others have left unfinished; not those that another process is
    /// removing.
    pub fn resume(world: &World, root: &SharedRoot) -> Vec<Leaving> {
        let mut held = BTreeMap::new();
        for folder in folders(&root.trash()) {
            // The process died while it deleted the clone: all of it must be kept again.
            let name = folder.file_stem().filter(|_| is_one(&folder));
            if let Some(back) = name.map(|name| root.leaving().join(name))
                && let Ok(lock) = lock(world, &back)
            {
                // Another process may have been faster.
                atomic::rename(&folder, &back).ok();
                held.insert(back, lock);
            }
        }
        let mut found = Vec::new();
        for folder in folders(&root.leaving()) {
            let held = held.remove(&folder);
            let Ok((lock_path, lock)) = held.map_or_else(|| lock(world, &folder), Ok) else {
                continue;
            };
            let Some((note, member)) = LeavingNote::read(&folder).zip(membership_at(&folder))
            else {
                continue;
            };
            // Without its time, nothing proves that it was kept.
            let written = fs::metadata(stamp_in(&folder)).and_then(|stamp| stamp.modified());
            found.push(Leaving {
                kept_until: written.ok().filter(|_| note.is_kept),
                folder,
                member,
                place: note.place,
                kept: note.kept,
                lets_go: note.lets_go,
                lock_path,
                _lock: lock,
            });
        }
        drop(held);
        sweep_locks(&root.leaving());
        found
    }

    /// Deletes the published refs of the clone, and the folders that it has left empty.
    pub fn unpublish(&self, world: &World, root: &SharedRoot) -> Result<()> {
        let hub = Hub::open(&self.member.hub)?;
        let below = self.member.published_below();
        let remaining = clones(root, Some(hub.store.path()));
        // A new clone with this name publishes there by now, and corrects what it finds.
        if !remaining.iter().any(|clone| clone.member.published_below() == below) {
            hub.delete_refs_below(world, &below)?;
        }
        remove_empty_folders(root, &self.place);
        Ok(())
    }

    /// Keeps the refs of the repository that are not kept already, and its operations.
    pub fn keep_again(&self, world: &World, repo: &Repo) -> Result<()> {
        keep_beside(world, repo, &self.member, &self.kept)?;
        let broken = if self.lets_go { Broken::LeaveOut } else { Broken::Refuse };
        log_transfer::keep_operations(world, repo, &self.member.hub, broken)?;
        let clone = RemovedClone {
            clone: self.member.id.clone(),
            agent: self.member.agent.clone(),
            path: self.place.clone(),
            kept_as: self.kept.clone(),
            removed_at: time::rfc3339(&world.now()),
        };
        log_transfer::note(repo, &clone)
    }

    /// Returns the file system's time: everything that the next scan finds was written before it.
    pub fn stamp(&self) -> Result<SystemTime> {
        let path = stamp_in(&self.folder);
        atomic::write_plainly(&path, b"files newer than this may not be kept anywhere\n")?;
        let written = fs::metadata(&path).and_then(|metadata| metadata.modified());
        written.map_err(|e| Error::io("cannot determine the file system's time", e))
    }

    /// Returns `true` if a file of the working tree was written since.
    pub fn was_written_since(&self, world: &World, since: SystemTime) -> Result<bool> {
        last_writes::has_any(world, &self.folder, since)
    }

    /// Finds a process that can still write into the clone, as far as the system shows; waits a moment for
    /// one that is about to end.
    pub fn held_by(&self, world: &World) -> Result<Option<Process>> {
        let mut left = PRUNE_TIMEOUT;
        loop {
            let user = processes::running_in(&self.folder);
            if user.is_none() || left.is_zero() {
                return Ok(user);
            }
            world.interrupt.check()?;
            std::thread::sleep(POLL_INTERVAL);
            left = left.saturating_sub(POLL_INTERVAL);
        }
    }

    /// Deletes the clone, except files that were written since; then it stays in its folder with these.
    pub fn delete(self, world: &World, root: &SharedRoot, since: SystemTime) -> Result<Deleted> {
        let trash = root.trash();
        atomic::make_directory(&trash)?;
        let note = LeavingNote {
            place: self.place.clone(),
            kept: self.kept.clone(),
            lets_go: self.lets_go,
            is_kept: true,
        };
        note.write(&self.folder)?;
        let name = self.folder.file_name().unwrap_or_default();
        let away = trash.join(name).with_extension(CLONE);
        atomic::rename(&self.folder, &away)?;
        world.reach("clone-in-trash")?;
        let mut deleted = last_writes::delete_others(world, &away, since)?;
        if deleted == Deleted::All {
            // Half a repository is of no use: its git directory is deleted separately.
            let left = away.with_extension(LEFT_GIT_DIR);
            atomic::rename(&away.join(".git"), &left)?;
            if atomic::remove_empty_folder(&away)? {
                world.reach("clone-is-rubbish")?;
                delete_git_dir(&left)?;
                atomic::remove_file(&self.lock_path)?;
                return Ok(Deleted::All);
            }
            atomic::rename(&left, &away.join(".git"))?;
            deleted = Deleted::NotAll;
        }
        atomic::rename(&away, &self.folder)?;
        Ok(deleted)
    }
}

/// Returns the prefixes that clones of a hub published to before they left their paths.
pub(in crate::clones) fn published_by_left(root: &SharedRoot, hub: &Path) -> Vec<String> {
    let own = git_directories(root).into_iter().filter(|(_, member)| member.hub == hub);
    own.map(|(_, member)| member.published_below()).collect()
}

/// Lists the hubs that clones being removed still borrow from, or keep work in.
pub fn hubs(root: &SharedRoot) -> Vec<PathBuf> {
    let members = git_directories(root).into_iter();
    members.map(|(_, member)| member.hub).collect()
}

/// Lists the folders of files that operations moved aside, in clones of a hub that are being removed.
pub(in crate::clones) fn kept_of(root: &SharedRoot, hub: &Path) -> Vec<PathBuf> {
    let own = git_directories(root).into_iter().filter(|(_, member)| member.hub == hub);
    own.map(|(git_dir, _)| Places::kept_in(&git_dir)).collect()
}

fn git_directories(root: &SharedRoot) -> Vec<(PathBuf, Membership)> {
    let folders = [folders(&root.leaving()), folders(&root.trash())].concat();
    let found = folders.into_iter().filter_map(|folder| {
        let git_dir = match folder.extension() {
            Some(end) if end == LEFT_GIT_DIR => folder,
            _ => folder.join(".git"),
        };
        let member = Membership::read(&membership::path_in(&git_dir));
        Some((git_dir, member.ok()??))
    });
    found.collect()
}

/// Deletes the git directory of a clone that is gone. The files that operations moved aside belong to the
/// user: they are moved into the hub first.
pub(in crate::clones) fn delete_git_dir(git_dir: &Path) -> Result<()> {
    log_transfer::move_kept_files(git_dir)?;
    atomic::remove_folder(git_dir)
}

/// Returns `true` if a folder of the trash is the git directory of a clone that is gone.
pub(in crate::clones) fn is_left_git_dir(folder: &Path) -> bool {
    folder.extension().is_some_and(|end| end == LEFT_GIT_DIR)
}

/// Returns `true` if a folder of the trash is a clone that is not deleted yet. A folder without a repository
/// counts while it has any files: they were written at the very end.
pub(in crate::clones) fn is_one(folder: &Path) -> bool {
    let is_clone = folder.extension().is_some_and(|end| end == CLONE);
    is_clone && !matches!(atomic::remove_empty_folder(folder), Ok(true))
}

impl LeavingNote {
    fn write(&self, clone: &Path) -> Result<()> {
        let json = serde_json::to_vec_pretty(self)
            .or_code(Code::Io, || "cannot record the removal of a clone")?;
        atomic::write_durably(&leaving_note(clone), &json)
    }

    fn read(folder: &Path) -> Option<LeavingNote> {
        serde_json::from_slice(&plain_file::read(leaving_note(folder)).ok()?).ok()
    }
}

fn stamp_in(clone: &Path) -> PathBuf {
    clone.join(".git").join("colony").join("leaving.stamp")
}

/// Locks a clone that is being removed, without waiting.
fn lock(world: &World, folder: &Path) -> Result<(PathBuf, WorktreeLock)> {
    let path = folder.with_extension("lock");
    let lock = WorktreeLock::take_at(world, &path, WaitLimit::AtMost(Duration::ZERO), "")?;
    Ok((path, lock))
}

/// Deletes the locks of clones that are gone.
fn sweep_locks(leaving: &Path) {
    let entries = fs::read_dir(leaving).into_iter().flatten().flatten();
    for lock in entries.map(|entry| entry.path()) {
        let is_lock = lock.extension().is_some_and(|end| end == "lock");
        if is_lock && !lock.with_extension("").exists() {
            let file = fs::File::open(&lock);
            if file.is_ok_and(|file| file.try_lock().is_ok()) {
                atomic::remove_file(&lock).ok();
            }
        }
    }
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut folders: Vec<_> = entries.map(|entry| entry.path()).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    folders
}

/// Removes the folders of an agent without a clone.
fn remove_empty_folders(root: &SharedRoot, path: &Path) {
    let above = path.ancestors().skip(1);
    for folder in above.take_while(|folder| *folder != root.path()) {
        // The folder of all agents stays, empty or not.
        if folder == root.agents() || !matches!(atomic::remove_empty_folder(folder), Ok(true)) {
            return;
        }
    }
}
