//! A clone under construction: in a folder of its own first, renamed to its path when everything is set up.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::clones::hub::maker_note;
use crate::git::{ObjectWrites, durable};
use crate::model::{Code, Error, Result, World};
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::membership::Membership;
use crate::store::settings::Flags;

/// A clone under construction; removed when dropped.
pub struct Staged {
    pub(super) place: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) lock_path: PathBuf,
    pub(super) _lock: File,
    pub(super) done: bool,
    pub(super) keep: bool,
    /// Its record.
    pub member: Membership,
    /// Whether git-lfs stores files of the tree.
    pub uses_lfs: bool,
    /// The directories it checks out beside the files at the top; none for the whole tree.
    pub sparse: Vec<String>,
}

impl Staged {
    /// Returns the folder it is created in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Opens the clone before it is at its path.
    pub fn session(&self, world: &World) -> Result<Session> {
        let world = world.standing_in(&self.folder);
        Session::open(world, &Flags::default(), ObjectWrites::Durable)
    }

    /// Renames the clone to its path: from here on it exists.
    pub fn finish(mut self, world: &World) -> Result<PathBuf> {
        let above = self.place.parent().unwrap_or(Path::new("/"));
        atomic::make_directory(above)?;
        // After a power cut it is there as a whole, or not at all.
        durable::sync_file_system(&self.folder)?;
        if !atomic::rename_to_free(&self.folder, &self.place)? {
            refuse_taken(&self.place, self.member.agent.as_deref())?;
        }
        if !self.member.hub.is_dir() {
            // 'clones gc' moved the hub aside before it could see this clone.
            atomic::rename(&self.place, &self.folder)?;
            return Err(hub_was_removed());
        }
        maker_note::write(&self.member)?;
        self.done = true;
        atomic::remove_file(&self.lock_path)?;
        world.reach("clone-in-place")?;
        Ok(self.place.clone())
    }

    /// Gives the git directory of the clone to the folder at its path, which has lost its own; the files of that folder
    /// stay as they are. A git directory there that git cannot use is moved to `aside`.
    pub fn finish_around_files(self, world: &World, aside: &Path) -> Result<PathBuf> {
        let (new, lost) = (self.folder.join(".git"), self.place.join(".git"));
        durable::sync_file_system(&self.folder)?;
        if lost.symlink_metadata().is_ok() {
            atomic::make_directory(aside.parent().unwrap_or(Path::new("/")))?;
            atomic::rename(&lost, aside)?;
            world.reach("git-dir-aside")?;
        }
        if !atomic::rename_to_free(&new, &lost)? {
            let shown = lost.display().to_string();
            return Err(Error::new(Code::AgentExists, format!("'{shown}' is there again"))
                .unchanged()
                .detail("path", shown));
        }
        if !self.member.hub.is_dir() {
            atomic::rename(&lost, &new)?;
            return Err(hub_was_removed());
        }
        maker_note::write(&self.member)?;
        world.reach("clone-in-place")?;
        // The working trees of submodules lead to their repositories. These move last: the staging folder is deleted
        // where anything before fails.
        let modules = aside.join("modules");
        if modules.is_dir() {
            atomic::rename_to_free(&modules, &lost.join("modules"))?;
        }
        // Only copies of files are left in its folder: they go when it is dropped.
        Ok(self.place.clone())
    }
}

fn hub_was_removed() -> Error {
    Error::new(Code::HubMissing, "the hub was removed while the clone was created")
        .hint("run the command again")
}

impl Drop for Staged {
    fn drop(&mut self) {
        // What cannot be removed now is swept when the next clone is created.
        if !self.done && !self.keep {
            atomic::remove_folder(&self.folder).ok();
            atomic::remove_file(&self.lock_path).ok();
        }
    }
}

/// Deletes leftovers of dead processes that created clones: their locks are free.
pub(super) fn sweep(staging: &Path) {
    let entries = std::fs::read_dir(staging).into_iter().flatten().flatten();
    for lock in entries.map(|entry| entry.path()) {
        if lock.extension().is_none_or(|extension| extension != "lock") {
            continue;
        }
        let Ok(file) = File::open(&lock) else {
            continue;
        };
        if file.try_lock().is_ok() {
            atomic::remove_folder(&lock.with_extension("")).ok();
            atomic::remove_file(&lock).ok();
        }
    }
}

pub(super) fn refuse_taken(place: &Path, agent: Option<&str>) -> Result<()> {
    if std::fs::symlink_metadata(place).is_err() {
        return Ok(());
    }
    let shown = place.display();
    let error = Error::new(Code::AgentExists, format!("'{shown}' exists already"))
        .detail("path", shown.to_string());
    Err(match agent {
        Some(agent) => error.hint(format!("git colony agents path {agent}")),
        None => error.hint("git colony clones"),
    })
}
