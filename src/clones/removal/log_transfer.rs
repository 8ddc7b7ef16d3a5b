//! Copies the operation log of a removed clone into the hub, with the files that its operations moved aside.
//! [`super::removed_log`] describes where they are then.
//!
//! The operations come first, while the clone is complete; the files last, when its working tree is deleted
//! and its git directory is at a path that no command uses. Both can be repeated.

use std::path::Path;

use crate::clones::hub::Hub;
use crate::clones::hub::object_copies::copy_objects;
use crate::clones::hub::publish::large_objects_of;
use crate::git::lfs::lfs_objects::LfsObjects;
use crate::git::{RefChange, RefName, Repo, durable};
use crate::model::{Code, Error, Result, World};
use crate::store::files::places::Places;
use crate::store::files::{atomic, moved_aside};
use crate::store::large_files::retained_objects;
use crate::store::membership::{self, Membership};
use crate::store::refs::ref_names;

use super::removed_clone::{RemovedClone, RemovedNote};

/// What to do with an operation that lacks objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::clones) enum Broken {
    /// Fail.
    Refuse,
    /// Leave it out, with a warning.
    LeaveOut,
}

/// Creates the operations and automatic checkpoints of a repository, in all its worktrees, under the same
/// names in the hub.
pub(in crate::clones) fn keep_operations(
    world: &World,
    repo: &Repo,
    member: &Membership,
    broken: Broken,
) -> Result<()> {
    let hub = Hub::open(&member.hub)?;
    let mut changes = Vec::new();
    let mut log = repo.refs_below(ref_names::OPERATIONS)?;
    log.extend(repo.refs_below(ref_names::AUTOMATIC)?);
    for operation in log {
        let old = hub.store.find_ref(&operation.name)?;
        if old.is_some_and(|old| old != operation.id) && !is_of_agent(&hub, &operation.name, member)
        {
            let message = format!("the hub has another '{}', of another clone", operation.name);
            if broken == Broken::LeaveOut {
                (world.narrate)(&format!("warning: {message}"));
                continue;
            }
            return Err(Error::new(Code::RepositoryBroken, message).unchanged());
        }
        if old != Some(operation.id) {
            changes.push(RefChange { name: operation.name, old, new: Some(operation.id) });
        }
    }
    if changes.is_empty() {
        return Ok(());
    }
    match copy_objects(world, repo, &hub, &changes) {
        Err(error) if broken == Broken::LeaveOut && is_of_objects(&error) => {
            changes = leave_out_broken(world, repo, &hub, changes)?;
        }
        done => done?,
    }
    hub.move_refs(world, &changes)
}

/// Returns `true` if the hub knows an operation or automatic checkpoint as one of this agent: an agent may give its own
/// the names of others.
fn is_of_agent(hub: &Hub, name: &RefName, member: &Membership) -> bool {
    let name = name.to_string();
    let rest = [ref_names::OPERATIONS, ref_names::AUTOMATIC].iter().find_map(|below| {
        let (key, _) = name.strip_prefix(below)?.split_once('/')?;
        Some(key.to_owned())
    });
    let kept = Places::kept_in(hub.store.path());
    let note = rest.and_then(|key| RemovedNote::read(&kept.join(key)));
    note.is_some_and(|note| note.clone.agent == member.agent)
}

fn is_of_objects(error: &Error) -> bool {
    matches!(error.code(), Code::ObjectMissing | Code::GitFailed)
}

fn leave_out_broken(
    world: &World,
    repo: &Repo,
    hub: &Hub,
    changes: Vec<RefChange>,
) -> Result<Vec<RefChange>> {
    let mut whole = Vec::new();
    for change in changes {
        match copy_objects(world, repo, hub, std::slice::from_ref(&change)) {
            Ok(()) => whole.push(change),
            Err(error) if is_of_objects(&error) => (world.narrate)(&format!(
                "warning: '{}' is not kept: {}",
                change.name,
                error.message()
            )),
            Err(error) => return Err(error),
        }
    }
    Ok(whole)
}

/// Records in each worktree's folder of kept files whose it was, before the folder is moved into the hub.
pub(in crate::clones) fn note(repo: &Repo, clone: &RemovedClone) -> Result<()> {
    let kept = Places::kept_in(repo.common_dir());
    if kept.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir()) {
        let message = format!("'{}' is a link in place of a folder", kept.display());
        return Err(Error::new(Code::RepositoryBroken, message));
    }
    let main = Places::find(repo)?.map(|places| places.key);
    let operations = repo.refs_below(ref_names::OPERATIONS)?;
    let in_refs =
        operations.iter().filter_map(|operation| ref_names::parse_operation(&operation.name));
    let in_folders = moved_aside::worktrees(&kept).into_iter();
    let mut keys: Vec<_> =
        in_refs.map(|(key, _)| key).chain(in_folders.map(|(key, _)| key)).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        let note = RemovedNote { clone: clone.clone(), is_main: main.as_ref() == Some(&key) };
        note.write_into(&kept.join(key.as_str()))?;
    }
    Ok(())
}

/// Moves the files that operations moved aside, and large files that only checkpoints hold, out of a git
/// directory that is no longer used.
pub(in crate::clones) fn move_kept_files(git_dir: &Path) -> Result<()> {
    let kept = Places::kept_in(git_dir);
    let large = LfsObjects::in_folder(retained_objects::pool_in(git_dir));
    if moved_aside::worktrees(&kept).is_empty() && large.files().is_empty() {
        return Ok(());
    }
    let Some(member) = Membership::read(&membership::path_in(git_dir))? else {
        return Err(Error::new(
            Code::RepositoryBroken,
            format!("cannot determine the hub of '{}'", git_dir.display()),
        ));
    };
    let hub = Hub::open(&member.hub)?;
    large.link_all_into(&large_objects_of(hub.store.path()))?;
    let home = Places::kept_in(hub.store.path());
    atomic::make_directory(&home)?;
    for (key, folder) in moved_aside::worktrees(&kept) {
        moved_aside::move_all(&folder, &home.join(key.as_str()))?;
    }
    // They are durable there before the rest is deleted.
    durable::sync_file_system(&home)
}
