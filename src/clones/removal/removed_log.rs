//! The operation logs of removed clones, in the hub, with the files that their operations moved aside.
//!
//! For each worktree of such a clone, by its key, the hub has the same refs and files as the clone had, so
//! that a new clone can take them over as they are:
//!
//! - `refs/colony-local/ops/<key>/<operation>`: the operations, with everything that their commits keep
//!   alive;
//! - `refs/colony-local/auto/<key>/<time>-<8 hex>`: the automatic checkpoints;
//! - `colony-kept/<key>/`: the files that they moved aside, and hard links of large files;
//! - `colony-kept/<key>/removed.json`: whose worktree it was, [`RemovedClone`].
//!
//! While the clone itself is kept, its kept files are still in it. `log_transfer` copies
//! all this; only `prune`, and removing the hub with `--force`, delete it.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::found;
use crate::clones::hub::Hub;
use crate::clones::new_clone::copy_files::{FileTransfer, copy_path};
use crate::git::durable;
use crate::git::refs::FoundRef;
use crate::git::{RefChange, RefName, Repo};
use crate::model::id::{OperationId, WorktreeKey};
use crate::model::time::{self, Moment};
use crate::model::{Code, Error, Result, World};
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::files::moved_aside::{self, AsideFile};
use crate::store::files::places::Places;
use crate::store::files::shared_root::SharedRoot;
use crate::store::operation::{Log, prune};
use crate::store::refs::ref_names;

use super::kept_clone;
use super::removed_clone::{NOTE, RemovedClone, RemovedNote};

/// A removed clone with the logs of its worktrees.
#[derive(Clone, Debug)]
pub struct RemovedLog {
    /// The clone.
    pub clone: RemovedClone,
    /// Its worktrees, the main one first.
    pub worktrees: Vec<Places>,
    /// Whether the first of them is the main worktree.
    pub has_main: bool,
}

/// Lists the removed clones of a hub that have a log there, newest first.
pub fn list(root: &SharedRoot, hub: &Path) -> Vec<RemovedLog> {
    let mut logs: Vec<RemovedLog> = Vec::new();
    let of_kept = kept_clone::kept_files_of(root, hub).into_iter();
    for folder in [Places::kept_in(hub)].into_iter().chain(of_kept) {
        for (key, kept) in moved_aside::worktrees(&folder) {
            let Some(note) = RemovedNote::read(&kept) else {
                continue;
            };
            let place = Places::of_removed(key, kept);
            match logs.iter_mut().find(|log| log.clone.clone == note.clone.clone) {
                Some(log) if note.is_main => {
                    log.worktrees.insert(0, place);
                    log.has_main = true;
                }
                Some(log) => log.worktrees.push(place),
                None => logs.push(RemovedLog {
                    clone: note.clone,
                    worktrees: vec![place],
                    has_main: note.is_main,
                }),
            }
        }
    }
    let age = |log: &RemovedLog| (log.clone.removed_at.clone(), log.clone.kept_as.clone());
    logs.sort_by_key(|log| std::cmp::Reverse(age(log)));
    logs
}

/// Finds the removed clones of an agent, or the one with this beginning of its id, newest first; at least
/// one.
pub fn find(root: &SharedRoot, hub: &Path, name: &str) -> Result<Vec<RemovedLog>> {
    let all = list(root, hub);
    let of_agent = |log: &&RemovedLog| log.clone.agent.as_deref() == Some(name);
    let mut fitting: Vec<_> = all.iter().filter(of_agent).cloned().collect();
    if fitting.is_empty() && name.len() >= 4 {
        let begins = |log: &&RemovedLog| log.clone.clone.starts_with(name);
        fitting = all.iter().filter(begins).cloned().collect();
    }
    if !fitting.is_empty() {
        return Ok(fitting);
    }
    let mut names: Vec<_> = all.into_iter().map(|log| log.clone.name()).collect();
    names.sort();
    names.dedup();
    Err(Error::new(
        Code::CloneNotFound,
        format!("no removed clone is named '{name}', or its log is pruned"),
    )
    .detail("removed", names))
}

impl RemovedLog {
    /// Returns the log of the clone's main worktree, once all of it is in the hub and no clone continues it.
    pub fn log_to_continue(&self, root: &SharedRoot, hub: &Path) -> Result<Option<&Places>> {
        let is_in_hub = |main: &&Places| main.kept.starts_with(Places::kept_in(hub));
        let first = self.worktrees.first().filter(|_| self.has_main);
        let Some(main) = first.filter(is_in_hub) else {
            return Ok(None);
        };
        for clone in found::clones(root, Some(hub)) {
            if Places::key_of(&clone.git_dir())?.as_ref() == Some(&main.key) {
                return Ok(None);
            }
        }
        Ok(Some(main))
    }
}

/// Lists the operations and automatic checkpoints of a worktree in the hub.
pub fn refs_of(hub: &Hub, key: &WorktreeKey) -> Result<Vec<FoundRef>> {
    let mut refs = hub.store.refs_below(&ref_names::operations_of(key))?;
    refs.extend(hub.store.refs_below(&ref_names::automatic_of(key))?);
    Ok(refs)
}

/// Gives the log of a worktree in the hub to a new clone, which has its refs already: copies the files that
/// were moved aside.
pub fn give(world: &World, hub: &Hub, places: &Places, git_dir: &Path) -> Result<()> {
    let key = places.key.as_str();
    let folder = Places::kept_in(Path::new("")).join(key);
    let kept = folder.to_string_lossy();
    copy_path(world, hub.store.path(), git_dir, &kept, FileTransfer::Copy)?;
    atomic::remove_file(&Places::kept_in(git_dir).join(key).join(NOTE))?;
    Places::give_key(git_dir, &places.key)
}

/// Deletes the log of a worktree that a clone continues.
pub fn delete_log(world: &World, hub: &Hub, places: &Places, clone: &Path) -> Result<()> {
    // Anything but a file was not copied: it stays here, and its log with it.
    let there = Places::kept_in(&clone.join(".git"));
    let is_there = |file: &AsideFile| {
        let place = file.at.strip_prefix(Places::kept_in(hub.store.path()));
        place.is_ok_and(|place| there.join(place).symlink_metadata().is_ok())
    };
    let mut files = moved_aside::list(&Places::kept_in(hub.store.path()))
        .into_iter()
        .filter(|file| file.worktree == places.key);
    if !files.all(|file| is_there(&file)) {
        return Ok(());
    }
    // It is durable there before it is deleted here.
    durable::sync_file_system(clone)?;
    let gone = refs_of(hub, &places.key)?.into_iter().map(|operation| RefChange {
        name: operation.name,
        old: Some(operation.id),
        new: None,
    });
    hub.move_refs(world, &gone.collect::<Vec<_>>())?;
    atomic::remove_folder(&places.kept)
}

/// Deletes the log in the hub of a clone that is no longer removed, and the notes that it was. The logs of other agents
/// stay, whatever the clone claims.
pub fn take_back(
    world: &World,
    root: &SharedRoot,
    hub: &Hub,
    agent: &str,
    repo: &Repo,
) -> Result<()> {
    let others: Vec<_> = list(root, hub.store.path())
        .into_iter()
        .filter(|log| log.clone.agent.as_deref() != Some(agent))
        .flat_map(|log| log.worktrees)
        .map(|places| places.key)
        .collect();
    let is_of_others = |name: &RefName| {
        let name = name.to_string();
        others.iter().any(|key| name.split('/').any(|part| part == key.as_str()))
    };
    let mut gone = Vec::new();
    for below in [ref_names::OPERATIONS, ref_names::AUTOMATIC] {
        for own in repo.refs_below(below)?.into_iter().filter(|own| !is_of_others(&own.name)) {
            if hub.store.find_ref(&own.name)? == Some(own.id) {
                gone.push(RefChange { name: own.name, old: Some(own.id), new: None });
            }
        }
    }
    hub.move_refs(world, &gone)?;
    for (_, folder) in moved_aside::worktrees(&Places::kept_in(repo.common_dir())) {
        atomic::remove_file(&folder.join(NOTE))?;
        atomic::remove_empty_folder(&folder)?;
    }
    Ok(())
}

/// The size of the logs of removed clones in a hub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Amount {
    /// Operations.
    pub operations: usize,
    /// Files that they moved aside.
    pub files: usize,
}

/// Counts the logs of removed clones in a hub.
pub fn amount(hub: &Hub) -> Result<Amount> {
    Ok(Amount {
        operations: hub.store.refs_below(ref_names::OPERATIONS)?.len(),
        files: moved_aside::list(&Places::kept_in(hub.store.path())).len(),
    })
}

/// Returns `true` if a hub holds work of removed clones, or their operation logs.
pub fn holds_kept_work(hub: &Hub) -> Result<bool> {
    let holds_refs = !hub.store.refs_below(ref_names::KEPT_WORK)?.is_empty();
    Ok(holds_refs || amount(hub)? != Amount::default())
}

/// How long logs are kept.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The number of days.
    pub days: u64,
    /// The number of operations of each worktree.
    pub operations: u64,
    /// The number of days for automatic checkpoints.
    pub automatic_days: u64,
}

/// What prune deleted, or would delete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Operations and files.
    pub amount: Amount,
    /// The number of automatic checkpoints.
    pub automatic: usize,
    /// The size of the files in bytes.
    pub freed: u64,
}

/// Deletes expired operations of removed clones, with the files they moved aside; in a dry run, only counts
/// them.
pub fn prune(session: &Session, hub: &Hub, limits: Limits) -> Result<Pruned> {
    let world = &session.world;
    let now = world.now();
    let kept = Places::kept_in(hub.store.path());
    let Expired { mut refs, folders } = Expired::find(hub, limits, &now)?;
    let automatic = expired_automatic(hub, limits, &now)?;
    let folder_goes = |file: &Path| folders.iter().any(|folder| file.starts_with(folder));
    let files = moved_aside::list(&kept).into_iter();
    let pruned = Pruned {
        amount: Amount {
            operations: refs.len(),
            files: files.filter(|file| folder_goes(&file.at)).count(),
        },
        automatic: automatic.len(),
        freed: folders.iter().map(|at| moved_aside::size_of(at)).sum(),
    };
    if session.is_dry() {
        return Ok(pruned);
    }
    refs.extend(automatic);
    hub.move_refs(world, &refs)?;
    for folder in &folders {
        atomic::remove_folder(folder)?;
    }
    for (key, folder) in moved_aside::worktrees(&kept) {
        remove_if_over(hub, &key, &folder, limits, &now)?;
    }
    Ok(pruned)
}

/// Finds expired automatic checkpoints, by the time in their names.
fn expired_automatic(hub: &Hub, limits: Limits, now: &Moment) -> Result<Vec<RefChange>> {
    let oldest = prune::oldest(now, limits.automatic_days);
    let is_past = |name: &str| {
        let name = name.rsplit('/').next().unwrap_or_default();
        let made = name.split('-').next().and_then(time::parse_compact);
        made.is_some_and(|made| made <= oldest)
    };
    let mut refs = hub.store.refs_below(ref_names::AUTOMATIC)?;
    refs.retain(|reference| is_past(&reference.name.to_string()));
    let gone = refs.into_iter().map(|reference| RefChange {
        name: reference.name,
        old: Some(reference.id),
        new: None,
    });
    Ok(gone.collect())
}

/// Expired operations.
#[derive(Default)]
struct Expired {
    /// Their refs, as deletions.
    refs: Vec<RefChange>,
    /// The folders of the files that these operations moved aside, and folders whose ref is gone already.
    folders: Vec<PathBuf>,
}

impl Expired {
    fn find(hub: &Hub, limits: Limits, now: &Moment) -> Result<Expired> {
        let mut expired = Expired::default();
        let kept = Places::kept_in(hub.store.path());
        let log = Log::read_all(&hub.store.to_read()?)?;
        for entries in log.entries.chunk_by(|a, b| a.worktree == b.worktree) {
            let worktree_log = Log { entries: entries.to_vec() };
            for entry in prune::expired(&worktree_log, now, limits.days, limits.operations) {
                let (key, op) = (&entry.worktree, entry.record.op);
                expired.refs.push(RefChange {
                    name: ref_names::operation(key, op),
                    old: Some(entry.commit),
                    new: None,
                });
                expired.folders.push(kept.join(key.as_str()).join(op.digits()));
            }
        }
        for (key, folder) in moved_aside::worktrees(&kept) {
            let known = known(hub, &key)?;
            let orphans = moved_aside::operations(&folder)
                .into_iter()
                .filter(|id| !known.contains(id))
                .map(|id| folder.join(id.digits()));
            let past = orphans.filter(|orphan| prune::is_past(orphan, now, limits.days));
            expired.folders.extend(past);
        }
        expired.folders.retain(|folder| folder.exists());
        Ok(expired)
    }
}

fn known(hub: &Hub, key: &WorktreeKey) -> Result<Vec<OperationId>> {
    let refs = hub.store.refs_below(&ref_names::operations_of(key))?;
    let ids = refs.iter().filter_map(|operation| ref_names::parse_operation(&operation.name));
    Ok(ids.map(|(_, id)| id).collect())
}

/// Removes the folder of a worktree if it has only hard links of large files and these have expired as well.
fn remove_if_over(
    hub: &Hub,
    key: &WorktreeKey,
    folder: &Path,
    limits: Limits,
    now: &Moment,
) -> Result<()> {
    if !known(hub, key)?.is_empty() || !moved_aside::operations(folder).is_empty() {
        return Ok(());
    }
    let removed =
        RemovedNote::read(folder).and_then(|note| time::parse_rfc3339(&note.clone.removed_at));
    let oldest = prune::oldest(now, limits.days);
    if removed.is_some_and(|removed| removed <= oldest) {
        atomic::remove_folder(folder)?;
    }
    Ok(())
}
