//! Recovers an operation whose owner died: completes it after its commit point, else cancels it.

use std::io::ErrorKind;
use std::path::Path;

use crate::git::plain_file;
use crate::git::refs::ReflogReason;
use crate::git::{Oid, RefChange, RefName};
use crate::model::id::OperationId;
use crate::model::{Code, Error, Result};
use crate::store::files::atomic;
use crate::store::files::config_file::ConfigFile;
use crate::store::files::leftovers;
use crate::store::files::places::Places;
use crate::store::lock::{FileIdentity, IndexLock, lock_notes, ref_locks};
use crate::store::refs::{own_refs, ref_names};
use crate::store::{Session, large_files, migration};

use super::commit_point::Pending;
use super::finish::Finish;
use super::operation_record::Record;
use super::{empty_objects, object_check};

/// The prefix of a folder that a sweep could not delete at once.
const LEFT: &str = "left-";
/// The number of staged files that one sweep deletes: a fraction of a second, some seconds on a busy disk. A
/// command may sweep twice.
const MAX_DELETED: usize = 3_000;

/// Reads the operation that is in progress or was left by a dead owner; `None` without one.
pub fn pending(places: &Places) -> Result<Option<Pending>> {
    let bytes = match plain_file::find_own(places.pending()) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(None),
        // Something else than a file was put there, and not by us.
        Err(e) if e.kind() == ErrorKind::InvalidInput => return Ok(None),
        Err(e) => {
            return Err(Error::io("cannot read the record of an interrupted operation", e));
        }
    };
    // A record truncated by a power cut was never followed by anything visible.
    let Ok(pending) = serde_json::from_slice::<Pending>(&bytes) else {
        return Ok(None);
    };
    if pending.format > super::operation_record::FORMAT {
        return Err(Error::new(
            Code::NewerFormat,
            format!("a newer git-colony left operation {} unfinished", pending.op),
        )
        .hint("finish it with the version that started it"));
    }
    Ok(Some(pending))
}

/// Finishes or cancels the operation of a dead owner. The caller holds the worktree lock.
pub fn recover(session: &Session, places: &Places) -> Result<()> {
    empty_objects::repair(session, places)?;
    if let Some(pending) = pending(places)? {
        finish_or_cancel(session, places, &pending)?;
    }
    // Only from here on no file of ours belongs to an operation.
    sweep(session, places)
}

fn finish_or_cancel(session: &Session, places: &Places, pending: &Pending) -> Result<()> {
    let name = ref_names::operation(&places.key, pending.op);
    let committed = session.repo.find_ref(&name)?;
    let read = |commit| Some((commit, Record::read(&session.repo, commit).ok()?));
    // The commit point decides: without the ref of the operation, nothing that the user sees has changed.
    let Some((commit, record)) = committed.and_then(read) else {
        if committed.is_some() {
            refuse_if_files_moved(places, pending.op)?;
            // Its objects did not reach the disk before a power cut.
            drop_operation_ref(session, places, pending.op)?;
        }
        return discard(session, places, pending.op);
    };
    // The file that becomes the index was created before the working tree was read.
    let made = std::fs::metadata(places.new_index(pending.op)).and_then(|file| file.modified());
    let began = made.unwrap_or(std::time::SystemTime::UNIX_EPOCH);
    let finish = Finish { session, places, record: &record, began };
    if finish.is_done(pending.index_lock)? {
        // Any later change came after the operation.
        return release(session, places, pending.op);
    }
    let _completing = session.world.interrupt.complete();
    // A gc may have run when the owner died, before the owner's check.
    let has_all = object_check::has_all_objects(session, commit, &record);
    // Plain git may have changed refs since: go forward only if each ref is at one of its two recorded
    // commits, else go back. Both directions skip the steps that are done.
    let outcome = if has_all && may_go_forward(session, &record, pending)? {
        finish.again(pending.index_lock)
    } else {
        finish.cancel()
    };
    outcome.map_err(|error| {
        let mut needed = Error::new(
            Code::RecoveryNeeded,
            format!(
                "cannot finish the interrupted operation '{}': {}",
                record.summary,
                error.message()
            ),
        );
        for (name, value) in error.details() {
            needed = needed.detail(name, value);
        }
        // The hint for a lock can be pasted.
        let way = error.hint_text().filter(|_| error.code() == Code::Locked);
        needed
            .hint(way.unwrap_or("clear the paths named above, then: git colony checkpoint --auto"))
    })
}

/// An operation that moves files has its objects on disk before its commit point. If its record cannot be
/// read, the damage has another cause, and the record may still be needed.
fn refuse_if_files_moved(places: &Places, id: OperationId) -> Result<()> {
    let kept = std::fs::read_dir(places.kept_by(id)).into_iter().flatten().flatten();
    let moved = kept.filter(|entry| entry.file_name() != "index").count();
    if moved == 0 && !places.stage(id).exists() {
        return Ok(());
    }
    Err(Error::new(
        Code::RecoveryNeeded,
        format!("cannot read the record of the interrupted operation {id}"),
    )
    .unchanged()
    .hint("git fsck   # then repair the objects it names"))
}

fn may_go_forward(session: &Session, record: &Record, pending: &Pending) -> Result<bool> {
    for change in &record.refs {
        let now = session.repo.find_ref(&change.name)?;
        if now != change.old && now != change.new {
            return Ok(false);
        }
    }
    let head = session.repo.head()?.moving_ref();
    if record.switches_head() && head != record.before.head.name && head != record.after.head.name {
        return Ok(false);
    }
    let Some(ours) = pending.index_lock else {
        return Ok(true);
    };
    let lock = FileIdentity::of(&IndexLock::path_in(&session.repo));
    let index = FileIdentity::of(&session.repo.index_path());
    Ok(lock == Some(ours) || index == Some(ours))
}

/// Deletes the leftovers of an operation that did not happen from our own folders; nothing the user can see.
pub fn discard(session: &Session, places: &Places, id: OperationId) -> Result<()> {
    atomic::remove_file(&places.kept_index(id))?;
    large_files::discard(session, &places.large_files(id))?;
    // Deleted only if it is empty: files that could not be moved back stay.
    std::fs::remove_dir(places.kept_by(id)).ok();
    release(session, places, id)
}

/// Deletes the traces of a completed operation, its pending record first: without it, the operation is over.
pub fn release(session: &Session, places: &Places, id: OperationId) -> Result<()> {
    let recorded = pending(places)?.and_then(|pending| pending.index_lock);
    // First, so that a successor does not repeat an operation whose staged files are half deleted.
    atomic::remove_file(&places.pending())?;
    if let Some(recorded) = recorded {
        remove_index_lock(session, recorded)?;
    }
    // After an interrupt, do not make the user wait for the deletion of many files: a sweep renames them
    // aside.
    if session.world.interrupt.check().is_ok() {
        atomic::remove_folder(&places.stage(id))?;
    }
    large_files::release(session, &places.large_files(id))?;
    sweep(session, places)
}

/// Deletes `index.lock` if its inode proves it ours.
fn remove_index_lock(session: &Session, ours: FileIdentity) -> Result<()> {
    let lock = IndexLock::path_in(&session.repo);
    if FileIdentity::of(&lock) == Some(ours) { atomic::remove_file(&lock) } else { Ok(()) }
}

/// Deletes the ref of an operation that did not happen.
pub fn drop_operation_ref(session: &Session, places: &Places, id: OperationId) -> Result<()> {
    let name = ref_names::operation(&places.key, id);
    let Some(old) = session.repo.find_ref(&name)? else {
        return Ok(());
    };
    delete_refs(session, places, &[(name, old)], "cancel")
}

/// Deletes refs of ours in one transaction.
pub fn delete_refs(
    session: &Session,
    places: &Places,
    refs: &[(RefName, Oid)],
    reason: &str,
) -> Result<()> {
    if refs.is_empty() {
        return Ok(());
    }
    let delete =
        |(name, old): &(RefName, Oid)| RefChange { name: name.clone(), old: Some(*old), new: None };
    let changes: Vec<_> = refs.iter().map(delete).collect();
    let who = session.record_signature();
    let text = format!("colony: {reason}");
    let why = ReflogReason { text: &text, who: &who, operation: reason };
    let note = places.colony.join("delete.locks");
    ref_locks::move_refs(session, &note, &changes, &why)
}

/// Deletes leftovers of dead processes from our folder, and locks that are proven theirs.
///
/// The caller holds the lock of the worktree, and no operation is in progress.
fn sweep(session: &Session, places: &Places) -> Result<()> {
    own_refs::sweep(session)?;
    sweep_temporary(session);
    let is_stopped = session.world.interrupt.check().is_err();
    let mut budget = if is_stopped { 0 } else { MAX_DELETED };
    for entry in std::fs::read_dir(&places.colony).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let path = entry.path();
        let of_operation = name.split_once('.').filter(|(id, _)| OperationId::parse(id).is_some());
        match of_operation {
            Some((_, "stage")) => clear_stage(session, places, &path, &mut budget)?,
            Some((_, "sign")) => atomic::remove_folder(&path)?,
            // By now, it is unknown whether its operation happened.
            Some((_, "lfs")) => large_files::settle(session, &path)?,
            Some((_, "index")) => {
                if let Some(ours) = FileIdentity::of(&path) {
                    remove_index_lock(session, ours)?;
                }
                atomic::remove_file(&path)?;
            }
            // The next command deletes the rest.
            _ if name.starts_with(LEFT) => {
                delete_some(&path, &mut budget)?;
            }
            _ if name == "config.new" => ConfigFile::sweep(&session.repo)?,
            _ if name == "automatic.lfs" => atomic::remove_folder(&path)?,
            _ if name == migration::FOLDER => migration::sweep(session)?,
            // Notes of refs that move outside of operations were checked above, and may be in use.
            _ if own_refs::is_note(name) => {}
            _ if path.extension().is_some_and(|end| end == "locks") => {
                lock_notes::clear(&session.repo, &path)?;
            }
            // The note about a merge or pick that git has ended.
            _ if name == "resolve" && session.repo.in_progress().is_none() => {
                atomic::remove_file(&path)?;
            }
            _ if name.starts_with("tmp-") || name == "pending" => atomic::remove_file(&path)?,
            _ => {}
        }
    }
    Ok(())
}

/// Deletes the temporary files of objects and caches that were being written when a process of ours died; git calls its
/// own differently, and deletes these when it prunes.
fn sweep_temporary(session: &Session) {
    let (common, now) = (session.repo.common_dir(), session.world.now());
    let is_object = |name: &str| leftovers::is_temporary(name, ".tmp", 6);
    leftovers::sweep_at(&common.join("objects"), is_object, &now);
    let is_cache = |name: &str| leftovers::is_temporary(name, "tmp-", 6);
    for folder in ["colony", "colony/cache"] {
        leftovers::sweep_at(&common.join(folder), is_cache, &now);
    }
}

/// Deletes the new files of an operation that is over. Where that takes long, the folder is renamed, because
/// the id may be used again, and later sweeps delete it.
fn clear_stage(session: &Session, places: &Places, stage: &Path, budget: &mut usize) -> Result<()> {
    if delete_some(stage, budget)? {
        return Ok(());
    }
    let aside = format!("{LEFT}{}", session.world.nonce8());
    atomic::rename(stage, &places.colony.join(aside))
}

/// Deletes as many files as the budget allows; returns `true` if all are deleted.
fn delete_some(path: &Path, budget: &mut usize) -> Result<bool> {
    // A path may have become too long for anything but a walk folder by folder.
    atomic::remove_some(path, budget).or_else(|_| atomic::remove_folder(path).map(|()| true))
}
