//! A removed clone, kept whole for some days.
//!
//! A clone leaves its path by one rename, to `agents/<agent>/removed/<time>`, or for one for reading to `removed/<time>`.
//! Its record there says that it was removed: no command changes anything in it or publishes its refs, and its hooks go
//! on. `agents restore` renames it back. When its days are over it is renamed into the trash, where no path of anybody
//! leads, kept once more and deleted; a process that dies before that leaves it there for the next one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clones::clone_folders::hub_of;
use crate::clones::damaged;
use crate::clones::found::{FoundClone, clones};
use crate::clones::hub::Hub;
use crate::clones::hub::kept_refs::{keep_published, whose};
use crate::git::plain_file;
use crate::git::{Oid, Repo};
use crate::model::time::{self, Moment};
use crate::model::{Code, Error, Result, ResultExt as _, World};
use crate::store::files::atomic;
use crate::store::files::places::Places;
use crate::store::files::shared_root::{SharedRoot, removal_note};
use crate::store::key;
use crate::store::lease::processes::{self, Process};
use crate::store::membership::{self, Membership, Role};

use super::kept_work::keep_beside;
use super::log_transfer::{self, Broken};
use super::removal_folders::{below, move_to_free, remove_empty_folders, size_of, sync_above};
use super::removed_clone::RemovedClone;

/// The suffix of a clone in the trash.
const CLONE: &str = "clone";

/// The suffix of a folder that another process wrote at the path of a removed clone.
const LATE: &str = "-late";

/// How long to wait for a process that may be about to end.
const END_TIMEOUT: Duration = Duration::from_millis(500);

/// How long to wait before the next scan of all processes.
const POLL_INTERVAL: Duration = Duration::from_millis(25);

const SECONDS_PER_DAY: i64 = 24 * 60 * 60;

/// The record of the removal, in the git directory of the clone.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct RemovalNote {
    /// Its old path.
    place: PathBuf,
    /// The prefix of its refs that the hub keeps.
    kept: String,
    /// When it was removed, RFC 3339 UTC.
    removed_at: String,
    /// The number of days that it is kept, unless the settings of its repository say something else.
    keep_days: u64,
    /// What its deletion frees, in bytes.
    size: u64,
    /// Whether work that no checkpoint keeps may be deleted.
    lets_go: bool,
}

/// How a clone is removed.
#[derive(Clone, Copy)]
pub struct Removal {
    /// Whether what no checkpoint keeps may be deleted in the end.
    pub lets_go: bool,
    /// The commit with the uncommitted work.
    pub uncommitted: Option<Oid>,
    /// The number of days that it is kept.
    pub keep_days: u64,
}

/// A removed clone.
#[derive(Clone, Debug)]
pub struct KeptClone {
    /// Its path now.
    pub folder: PathBuf,
    /// Its record as a clone.
    pub member: Membership,
    /// Its old path.
    pub place: PathBuf,
    /// The prefix of its refs that the hub keeps.
    pub kept: String,
    /// When it was removed, RFC 3339 UTC.
    pub removed_at: String,
    /// The number of days that it is kept, unless the settings of its repository say something else.
    pub keep_days: u64,
    /// What its deletion frees, in bytes.
    pub size: u64,
    /// Whether work that no checkpoint keeps may be deleted.
    pub lets_go: bool,
}

impl KeptClone {
    /// Keeps the published refs of a clone under other names, and the refs of one for reading, and renames
    /// its folder: from then on the clone is gone for all other commands. Returns it, and whether the hub had any of its refs.
    pub fn set_aside(
        world: &World,
        root: &SharedRoot,
        clone: &FoundClone,
        repo: &Repo,
        removal: Removal,
    ) -> Result<(KeptClone, bool)> {
        let Removal { lets_go, uncommitted, keep_days } = removal;
        let hub = Hub::open(&clone.member.hub)?;
        let below = clone.member.published_below();
        let (kept, mut has_kept) = keep_published(world, &hub, &below, uncommitted)?;
        if clone.member.role == Role::Reader {
            has_kept |= keep_beside(world, repo, &clone.member, &kept)? > 0;
        }
        let mut removed = KeptClone {
            folder: clone.path.clone(),
            member: clone.member.clone(),
            place: clone.path.clone(),
            kept,
            removed_at: time::rfc3339(&world.now()),
            keep_days,
            size: size_of(&clone.path),
            lets_go,
        };
        // Problems with that are reported while the clone is still at its path.
        removed.keep(world, repo)?;
        world.reach("clone-kept")?;
        removed.write_note()?;
        removed.folder = match removed.move_to(&removed.folders(root), &removed.stamp()) {
            Ok(folder) => folder,
            Err(error) => {
                // A clone that stays at its path was not removed.
                removed.forget(world, &hub).ok();
                return Err(error);
            }
        };
        world.reach("clone-gone")?;
        removed.unpublish(world, root)?;
        Ok((removed, has_kept))
    }

    /// Keeps the refs of the repository that are not kept already, and its operations.
    pub fn keep(&self, world: &World, repo: &Repo) -> Result<()> {
        keep_beside(world, repo, &self.member, &self.kept)?;
        let broken = if self.lets_go { Broken::LeaveOut } else { Broken::Refuse };
        log_transfer::keep_operations(world, repo, &self.member, broken)?;
        let clone = RemovedClone {
            clone: self.member.id.clone(),
            agent: self.member.agent.clone(),
            path: self.place.clone(),
            kept_as: self.kept.clone(),
            removed_at: self.removed_at.clone(),
        };
        log_transfer::note(repo, &clone)
    }

    /// Deletes the record of a removal that has failed, and its refs in the hub; its log stays there.
    fn forget(&self, world: &World, hub: &Hub) -> Result<()> {
        if !self.place.join(".git").is_dir() {
            return Ok(());
        }
        atomic::remove_file(&removal_note(&self.place))?;
        hub.delete_refs_below(world, &self.kept)
    }

    /// Deletes the published refs of the clone, and the folders that it has left empty.
    fn unpublish(&self, world: &World, root: &SharedRoot) -> Result<()> {
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

    /// Renames the clone back to its path, which must be free.
    pub fn bring_back(&self) -> Result<()> {
        let above = self.place.parent().unwrap_or(Path::new("/"));
        atomic::make_directory(above)?;
        if !atomic::rename_to_free(&self.folder, &self.place)? {
            let shown = self.place.display().to_string();
            return Err(Error::new(Code::AgentExists, format!("'{shown}' is there again"))
                .unchanged()
                .detail("path", shown));
        }
        sync_above([self.folder.as_path(), &self.place])?;
        atomic::remove_file(&removal_note(&self.place))?;
        // The folder of an agent's removed clones is of no use without one.
        self.folder.parent().map_or(Ok(true), atomic::remove_empty_folder).map(drop)
    }

    /// Finds a process that can still write into the clone, as far as the system shows; waits a moment for
    /// one that is about to end.
    pub fn held_by(&self, world: &World) -> Result<Option<Process>> {
        let mut left = END_TIMEOUT;
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

    /// Renames the clone into the trash, where it is kept once more before it is deleted.
    pub fn into_trash(mut self, world: &World, root: &SharedRoot) -> Result<KeptClone> {
        if !self.is_in_trash() {
            let name = format!("{:016x}", (world.entropy)());
            let away = root.trash().join(name).with_extension(CLONE);
            atomic::make_directory(&root.trash())?;
            atomic::rename(&self.folder, &away)?;
            self.folder = away;
        }
        world.reach("clone-in-trash")?;
        Ok(self)
    }

    /// Renames the clone from the trash to where removed clones are kept.
    pub fn out_of_trash(mut self, root: &SharedRoot) -> Result<KeptClone> {
        if self.is_in_trash() {
            self.folder = self.move_to(&self.folders(root), &self.stamp())?;
        }
        Ok(self)
    }

    /// Deletes the clone, all of which is kept, as far as that is allowed; returns the rest of it. The files that operations
    /// moved aside belong to the user: they are moved into the hub first.
    pub fn delete(self, world: &World, root: &SharedRoot) -> Result<Option<PathBuf>> {
        log_transfer::move_kept_files(&self.folder.join(".git"))?;
        let rubbish = self.folder.with_extension("");
        atomic::rename(&self.folder, &rubbish)?;
        remove_empty_folders(root, &self.folders(root).join("x"));
        world.reach("clone-is-rubbish")?;
        Ok(atomic::remove_folder(&rubbish).is_err().then_some(rubbish))
    }

    /// Returns what its deletion frees, in bytes, where its record may lie.
    pub fn measured_size(&self) -> u64 {
        size_of(&self.folder)
    }

    /// Returns `true` from its end on, where it is kept for that many days.
    pub fn is_over(&self, now: &Moment, days: u64) -> bool {
        let days = i64::try_from(days).unwrap_or(i64::MAX);
        let removed = time::parse_rfc3339(&self.removed_at);
        let end =
            removed.map(|at| at.timestamp().saturating_add(days.saturating_mul(SECONDS_PER_DAY)));
        self.is_in_trash() || end.is_none_or(|end| end <= now.timestamp())
    }

    fn is_in_trash(&self) -> bool {
        self.folder.extension().is_some_and(|end| end == CLONE)
    }

    /// Returns the folder of the removed clones that this one is kept with.
    fn folders(&self, root: &SharedRoot) -> PathBuf {
        match &self.member.agent {
            Some(agent) => root.removed_of(agent),
            None => root.removed(),
        }
    }

    /// Returns the time of its removal, as in the names of its refs.
    fn stamp(&self) -> String {
        let name = self.kept.trim_end_matches('/').rsplit('/').next();
        name.unwrap_or_default().to_owned()
    }

    /// Renames the clone to a free name in a folder; returns its new path.
    fn move_to(&self, folder: &Path, name: &str) -> Result<PathBuf> {
        let to = move_to_free(&self.folder, folder, name)?;
        sync_above([self.folder.as_path(), &to])?;
        Ok(to)
    }

    fn write_note(&self) -> Result<()> {
        let note = RemovalNote {
            place: self.place.clone(),
            kept: self.kept.clone(),
            removed_at: self.removed_at.clone(),
            keep_days: self.keep_days,
            size: self.size,
            lets_go: self.lets_go,
        };
        let json = serde_json::to_vec_pretty(&note)
            .or_code(Code::Io, || "cannot record the removal of a clone")?;
        atomic::write_durably(&removal_note(&self.folder), &json)
    }

    /// Reads a removed clone. Its agent may have written all of it: where it goes back to is decided by where it is.
    fn read(root: &SharedRoot, folder: PathBuf) -> Option<KeptClone> {
        let note = plain_file::read(removal_note(&folder)).ok()?;
        let note: RemovalNote = serde_json::from_slice(&note).ok()?;
        let member = Membership::read(&membership::path_in(&folder.join(".git"))).ok()??;
        let clone = KeptClone {
            folder,
            place: note.place,
            kept: note.kept,
            removed_at: note.removed_at,
            keep_days: note.keep_days,
            size: note.size,
            lets_go: note.lets_go,
            member,
        };
        let above = match &clone.member.agent {
            Some(agent) => root.clones_of(agent),
            None => root.shared_clones(),
        };
        let is_agent = clone.member.role == Role::Agent;
        let scope = clone.place.file_name().and_then(|name| name.to_str());
        let kept = clone.kept.strip_prefix(&whose(&clone.member.published_below()));
        let stamp = kept.and_then(|kept| kept.strip_suffix('/'));
        let is_own = clone.place.parent() == Some(above.as_path())
            && scope.is_some_and(|scope| key::decode(scope).is_some())
            && is_agent == clone.member.agent.is_some()
            && clone.member.role != Role::Desk
            && clone.member.hub.parent() == Some(root.hubs().as_path())
            && stamp.is_some_and(|stamp| !stamp.is_empty() && !stamp.contains('/'))
            && time::parse_rfc3339(&clone.removed_at).is_some()
            && (clone.is_in_trash() || clone.folder.parent() == Some(&clone.folders(root)));
        is_own.then_some(clone)
    }
}

/// Lists the removed clones that are kept, of one hub or of all, the oldest first.
pub fn list(root: &SharedRoot, hub: Option<&Path>) -> Vec<KeptClone> {
    let mut all: Vec<_> = folders(root)
        .into_iter()
        .filter_map(|folder| KeptClone::read(root, folder))
        .filter(|clone| hub.is_none_or(|hub| clone.member.hub == hub))
        .collect();
    all.sort_by(|a, b| (&a.removed_at, &a.kept).cmp(&(&b.removed_at, &b.kept)));
    all
}

/// Lists the folders beside the removed clones that nobody deletes: those of a damaged clone, and those that a process wrote
/// at the path of a removed one.
pub fn others(root: &SharedRoot) -> Vec<PathBuf> {
    let mut others = folders(root);
    others.retain(|folder| KeptClone::read(root, folder.clone()).is_none());
    others
}

/// Lists the hubs that removed clones borrow from, or keep work in.
pub fn hubs(root: &SharedRoot) -> Vec<PathBuf> {
    let of = |folder: PathBuf| {
        let git_dir = folder.join(".git");
        let member = Membership::read(&membership::path_in(&git_dir)).ok().flatten();
        // It borrows from the one, and keeps its work in the other, whatever its record says.
        [member.map(|member| member.hub), hub_of(&git_dir)]
    };
    folders(root).into_iter().flat_map(of).flatten().collect()
}

/// Lists the folders of files that operations moved aside, in removed clones of a hub.
pub(super) fn kept_files_of(root: &SharedRoot, hub: &Path) -> Vec<PathBuf> {
    let own = list(root, Some(hub)).into_iter();
    own.map(|clone| Places::kept_in(&clone.folder.join(".git"))).collect()
}

/// Returns `true` if a folder of the trash is a clone that is kept once more before it is deleted.
pub(super) fn is_one(folder: &Path) -> bool {
    folder.extension().is_some_and(|end| end == CLONE)
}

/// Moves files that another process has written at the path of a removed clone, by that path, beside the removed clones; returns where
/// it is now. A clone stays.
pub fn move_late_aside(world: &World, root: &SharedRoot, place: &Path) -> Result<Option<PathBuf>> {
    let clones = place.parent().unwrap_or(Path::new("/"));
    let agent = clones.parent().filter(|agent| agent.parent() == Some(root.agents().as_path()));
    let Some(agent) = agent.filter(|_| place.symlink_metadata().is_ok()) else {
        return Ok(None);
    };
    // A clone stays, however damaged it is.
    let record = membership::path_in(&place.join(".git"));
    if record.symlink_metadata().is_ok() || damaged::is_at(root, place) {
        return Ok(None);
    }
    let name = format!("{}{LATE}", time::compact(&world.now()));
    move_to_free(place, &SharedRoot::removed_in(agent), &name).map(Some)
}

/// Lists the folders in which removed clones may be.
fn folders(root: &SharedRoot) -> Vec<PathBuf> {
    let agents = below(&root.agents()).into_iter();
    let named = agents.filter(|agent| {
        let name = agent.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| key::decode(name).is_some())
    });
    let of_agents = named.flat_map(|agent| below(&SharedRoot::removed_in(&agent)));
    let of_readers = below(&root.removed()).into_iter();
    let in_trash = below(&root.trash()).into_iter().filter(|folder| is_one(folder));
    of_agents.chain(of_readers).chain(in_trash).collect()
}
