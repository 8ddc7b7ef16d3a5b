//! A clone on its way out: renamed aside first, so that no path of its agent leads there any more, and
//! deleted when all of it is kept and nobody can write into it.
//!
//! The states, each reached by one rename: *standing*; *leaving*, where it is kept again until it holds
//! still; *trash*, where it is whole in the hub and goes. Whoever comes next takes a clone further whose
//! taker has died: a lock beside it says so. What is written into it even while it is deleted stays, and
//! it goes back to *leaving*.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::clones::clone_folders::membership_at;
use crate::clones::found::{FoundClone, clones};
use crate::clones::hub::Hub;
use crate::git::{Oid, Repo};
use crate::model::{Code, Error, Result, ResultExt as _, World, time};
use crate::store::files::atomic;
use crate::store::files::places::Places;
use crate::store::files::shared_root::SharedRoot;
use crate::store::lease::processes::{self, Process};
use crate::store::lock::WorktreeLock;
use crate::store::membership::{self, Membership, Role};

use super::kept_refs::{keep_beside, keep_published};
use super::last_writes::{self, Deleted};
use super::log_transfer::{self, Broken};
use super::removed_clone::RemovedClone;

/// What the name of a clone in the trash ends with.
const CLONE: &str = "clone";

/// What the name of its git directory ends with, when that is all that is left of it.
const RUBBISH: &str = "git";

/// How long to wait for a process that may be about to end.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long to wait before looking at all processes again.
const PAUSE: Duration = Duration::from_millis(25);

/// What is written down in a clone before it leaves.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LeavingNote {
    /// Where it stood.
    place: PathBuf,
    /// The prefix of what the hub keeps of it.
    kept: String,
    /// Whether what no checkpoint keeps may go.
    lets_go: bool,
    /// Whether all of it was kept and some of it may be deleted.
    #[serde(default)]
    is_kept: bool,
}

/// A clone that has left its place.
#[derive(Debug)]
pub struct Leaving {
    /// Where it is now.
    pub folder: PathBuf,
    /// Its record.
    pub member: Membership,
    /// Where it was.
    pub place: PathBuf,
    /// The prefix of what the hub keeps of it.
    pub kept: String,
    /// Whether what no checkpoint keeps may go.
    pub lets_go: bool,
    /// The moment up to which all of it was kept, where some of it may be deleted since.
    pub kept_until: Option<SystemTime>,
    lock_path: PathBuf,
    _lock: WorktreeLock,
}

impl Leaving {
    /// Keeps the refs of a clone whose work is published under second names, and what one for reading has, and renames its folder: from
    /// there on the clone is gone for everybody. `uncommitted` is the commit that holds what was uncommitted
    /// in it. Returns it, and whether the hub had anything of it.
    ///
    /// # Errors
    /// `hub-missing`, `ref-moved`, `locked`, `io`; none of them has changed the clone.
    pub fn begin(
        world: &World,
        root: &SharedRoot,
        (clone, repo): (&FoundClone, &Repo),
        (lets_go, uncommitted): (bool, Option<Oid>),
    ) -> Result<(Leaving, bool)> {
        let hub = Hub::open(&clone.member.hub)?;
        let below = clone.member.published_below();
        let (kept, mut has_kept) = keep_published(world, &hub, (&below, uncommitted))?;
        if clone.member.role == Role::Reader {
            has_kept |= keep_beside(world, repo, (&clone.member, &kept))? > 0;
        }
        // What stands in the way of that is told while the clone stands.
        let broken = if lets_go {
            Broken::LeaveOut
        } else {
            Broken::Refuse
        };
        log_transfer::keep_operations(world, repo, &clone.member.hub, broken)?;
        world.reach("clone-kept")?;
        let note = LeavingNote {
            place: clone.path.clone(),
            kept: kept.clone(),
            lets_go,
            is_kept: false,
        };
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

    /// Takes up the clones that others have left on their way out; those that somebody takes care of
    /// are not among them.
    pub fn resume(world: &World, root: &SharedRoot) -> Vec<Leaving> {
        let mut held = BTreeMap::new();
        for folder in folders(&root.trash()) {
            // Its taker has died while it deleted: it has to hold still anew.
            let name = folder.file_stem().filter(|_| is_one(&folder));
            if let Some(back) = name.map(|name| root.leaving().join(name))
                && let Ok(lock) = lock(world, &back)
            {
                // Another may have been faster.
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
            // Without its moment nothing proves that it was kept.
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

    /// Takes the published names of the clone out of sight, and the folders that it has left empty.
    ///
    /// # Errors
    /// `hub-missing`, `git-failed`.
    pub fn let_go_of_names(&self, world: &World, root: &SharedRoot) -> Result<()> {
        let hub = Hub::open(&self.member.hub)?;
        let below = self.member.published_below();
        let standing = clones(root, Some(hub.store.path()));
        let mut standing = standing.iter();
        // A new clone of that name publishes there by now, and sets right what it finds.
        if !standing.any(|clone| clone.member.published_below() == below) {
            hub.delete_refs_below(world, &below)?;
        }
        remove_empty_folders(root, &self.place);
        Ok(())
    }

    /// Keeps what the repository has beside what is kept already, and its operations.
    ///
    /// # Errors
    /// As [`crate::clones::hub::publish::publish`].
    pub fn keep_again(&self, world: &World, repo: &Repo) -> Result<()> {
        keep_beside(world, repo, (&self.member, &self.kept))?;
        let broken = if self.lets_go {
            Broken::LeaveOut
        } else {
            Broken::Refuse
        };
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

    /// Returns the file system's time, before which everything was written that is looked at next.
    ///
    /// # Errors
    /// `no-space`, `io`.
    pub fn stamp(&self) -> Result<SystemTime> {
        let path = stamp_in(&self.folder);
        atomic::write_plainly(&path, b"what is younger than this may be kept nowhere\n")?;
        let written = fs::metadata(&path).and_then(|metadata| metadata.modified());
        written.map_err(|e| Error::io("cannot tell the file system's time", e))
    }

    /// Tells whether a file of the worktree was written since.
    ///
    /// # Errors
    /// `interrupted`.
    pub fn was_written_since(&self, world: &World, since: SystemTime) -> Result<bool> {
        last_writes::has_any(world, &self.folder, since)
    }

    /// Finds a process that can still write into the clone, as far as the system tells; waits a moment
    /// for one that is about to end.
    ///
    /// # Errors
    /// `interrupted`.
    pub fn held_by(&self, world: &World) -> Result<Option<Process>> {
        let mut left = PATIENCE;
        loop {
            let user = processes::at_work_in(&self.folder);
            if user.is_none() || left.is_zero() {
                return Ok(user);
            }
            world.interrupt.check()?;
            std::thread::sleep(PAUSE);
            left = left.saturating_sub(PAUSE);
        }
    }

    /// Deletes the clone, but for what was written since; then it stays where it was, with that in it.
    ///
    /// # Errors
    /// `io`, `interrupted`.
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
            // Half a repository is none that could be taken up again: it goes as one, as rubbish.
            let rubbish = away.with_extension(RUBBISH);
            atomic::rename(&away.join(".git"), &rubbish)?;
            if atomic::remove_empty_folder(&away)? {
                world.reach("clone-is-rubbish")?;
                delete_rubbish(&rubbish)?;
                atomic::remove_file(&self.lock_path)?;
                return Ok(Deleted::All);
            }
            atomic::rename(&rubbish, &away.join(".git"))?;
            deleted = Deleted::NotAll;
        }
        atomic::rename(&away, &self.folder)?;
        Ok(deleted)
    }
}

/// Lists the hubs that clones on their way out still borrow from, or have something for.
pub fn hubs(root: &SharedRoot) -> Vec<PathBuf> {
    let members = git_directories(root).into_iter();
    members.map(|(_, member)| member.hub).collect()
}

/// Lists the folders of what operations moved aside in clones of a hub that are on their way out.
pub(in crate::clones) fn kept_of(root: &SharedRoot, hub: &Path) -> Vec<PathBuf> {
    let own = git_directories(root).into_iter();
    let own = own.filter(|(_, member)| member.hub == hub);
    own.map(|(git_dir, _)| Places::kept_in(&git_dir)).collect()
}

fn git_directories(root: &SharedRoot) -> Vec<(PathBuf, Membership)> {
    let folders = [folders(&root.leaving()), folders(&root.trash())].concat();
    let found = folders.into_iter().filter_map(|folder| {
        let git_dir = match folder.extension() {
            Some(end) if end == RUBBISH => folder,
            _ => folder.join(".git"),
        };
        let member = Membership::read(&membership::path_in(&git_dir));
        Some((git_dir, member.ok()??))
    });
    found.collect()
}

/// Deletes the git directory of a clone that is no more. The files that operations moved aside are the
/// user's: they come into the hub first.
pub(in crate::clones) fn delete_rubbish(git_dir: &Path) -> Result<()> {
    log_transfer::bring_files(git_dir)?;
    atomic::remove_folder(git_dir)
}

/// Tells whether a folder of the trash is the git directory of a clone that is no more.
pub(in crate::clones) fn is_rubbish(folder: &Path) -> bool {
    folder.extension().is_some_and(|end| end == RUBBISH)
}

/// Tells whether a folder of the trash is a clone on its way out that is not deleted yet. One without a
/// repository is, while anything is in it: that was written at the very end.
pub(in crate::clones) fn is_one(folder: &Path) -> bool {
    let is_clone = folder.extension().is_some_and(|end| end == CLONE);
    is_clone && !matches!(atomic::remove_empty_folder(folder), Ok(true))
}

impl LeavingNote {
    fn write(&self, clone: &Path) -> Result<()> {
        let json = serde_json::to_vec_pretty(self);
        let json = json.or_code(Code::Io, || "cannot note that a clone leaves")?;
        atomic::write_durably(&note_in(clone), &json)
    }

    fn read(folder: &Path) -> Option<LeavingNote> {
        serde_json::from_slice(&atomic::read_file(&note_in(folder)).ok()?).ok()
    }
}

fn note_in(clone: &Path) -> PathBuf {
    clone.join(".git").join("colony").join("leaving.json")
}

fn stamp_in(clone: &Path) -> PathBuf {
    clone.join(".git").join("colony").join("leaving.stamp")
}

/// Locks a clone on its way out, without waiting.
fn lock(world: &World, folder: &Path) -> Result<(PathBuf, WorktreeLock)> {
    let path = folder.with_extension("lock");
    let lock = WorktreeLock::take_at(world, &path, (Duration::ZERO, ""))?;
    Ok((path, lock))
}

/// Removes the locks of clones that are gone.
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
