//! Prunes old operations, with the files they moved aside. No other code does.

use std::path::Path;

use chrono::{DateTime, Duration};

use crate::git::{Oid, RefName, Repo};
use crate::model::Result;
use crate::model::id::OperationId;
use crate::model::time::Moment;
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::files::places::Places;
use crate::store::refs::ref_names;

use super::log::{self, Log, LogEntry};
use super::operation_kind::Kind;
use super::recover;

/// Returns the expired operations of this worktree, oldest first.
pub fn expired<'a>(log: &'a Log, now: &Moment, keep_days: u64, keep: u64) -> Vec<&'a LogEntry> {
    let over = log.entries.len().saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX));
    let oldest = oldest(now, keep_days);
    let is_old = |entry: &LogEntry| {
        DateTime::parse_from_rfc3339(&entry.record.created_at).is_ok_and(|made| made <= oldest)
    };
    // Only a run from the oldest on is deleted: an undo without its operation could not be redone.
    let count = log.entries.iter().take_while(|entry| is_old(entry)).count().max(over);
    log.entries.iter().take(count).collect()
}

/// Lists the backups of refs that the migrations to git-lfs among the operations made.
pub fn backups(repo: &Repo, entries: &[&LogEntry]) -> Result<Vec<(RefName, Oid)>> {
    let mut refs = Vec::new();
    let is_migration = |entry: &&&LogEntry| entry.record.kind == Kind::LfsMigrate;
    for entry in entries.iter().filter(is_migration) {
        let below = repo.refs_below(&ref_names::backups_of(entry.record.op))?;
        refs.extend(below.into_iter().map(|refs| (refs.name, refs.id)));
    }
    Ok(refs)
}

/// Deletes operations: their refs in one transaction, with the backups of migrations, then the files they
/// kept.
pub fn remove(session: &Session, places: &Places, entries: &[&LogEntry]) -> Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    remember_last(session, places)?;
    let name = |entry: &&LogEntry| ref_names::operation(&entry.worktree, entry.record.op);
    let mut refs: Vec<_> = entries.iter().map(|entry| (name(entry), entry.commit)).collect();
    refs.extend(backups(&session.repo, entries)?);
    recover::delete_refs(session, places, &refs, "prune")?;
    entries.iter().try_for_each(|entry| atomic::remove_folder(&places.kept_by(entry.record.op)))
}

/// Records the newest id, so that it is never used again: new checkpoints would sort before old ones.
pub fn remember_last(session: &Session, places: &Places) -> Result<()> {
    let last = log::next_id(&session.repo, places).0.saturating_sub(1);
    atomic::write_durably(&places.sequence(), OperationId(last).to_string().as_bytes())
}

/// Returns old folders of kept files without an operation: left by an interrupted prune, or by a canceled
/// operation that could not move everything back.
pub fn orphans(
    session: &Session,
    places: &Places,
    now: &Moment,
    keep_days: u64,
) -> Result<Vec<OperationId>> {
    let refs = session.repo.refs_below(&ref_names::operations_of(&places.key))?;
    let known: Vec<_> = refs.iter().filter_map(|r| ref_names::parse_operation(&r.name)).collect();
    let folders = std::fs::read_dir(&places.kept).into_iter().flatten().flatten();
    let expired = folders.filter_map(|entry| {
        let id = OperationId::parse(entry.file_name().to_str()?)?;
        let orphaned = !known.iter().any(|(_, known)| *known == id);
        (orphaned && is_past(&entry.path(), now, keep_days)).then_some(id)
    });
    Ok(expired.collect())
}

/// Returns `true` if nothing was added to a folder for this many days.
pub fn is_past(folder: &Path, now: &Moment, keep_days: u64) -> bool {
    let changed = folder.metadata().and_then(|metadata| metadata.modified());
    changed.is_ok_and(|changed| DateTime::<chrono::Utc>::from(changed) <= oldest(now, keep_days))
}

/// Returns the time after which things are kept.
pub fn oldest(now: &Moment, keep_days: u64) -> Moment {
    *now - Duration::days(i64::try_from(keep_days).unwrap_or(i64::MAX).min(36_500))
}
