//! Lets go of old operations, with what they moved aside. Nothing else does.

use chrono::{DateTime, Duration};

use crate::model::id::OperationId;
use crate::model::{Result, time::Moment};
use crate::store::places::Places;
use crate::store::{Session, atomic, ref_names};

use super::log::{Log, LogEntry};
use super::recover;

/// Returns the operations of this worktree that are past their time, oldest first.
pub fn expired<'a>(log: &'a Log, now: &Moment, keep_days: u64, keep: u64) -> Vec<&'a LogEntry> {
    let over = log
        .entries
        .len()
        .saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX));
    let days = i64::try_from(keep_days).unwrap_or(i64::MAX).min(36_500);
    let oldest = *now - Duration::days(days);
    let is_old = |entry: &LogEntry| {
        DateTime::parse_from_rfc3339(&entry.record.created_at).is_ok_and(|made| made <= oldest)
    };
    // Only a run from the oldest on goes: an undo without its operation could not be redone.
    let count = log
        .entries
        .iter()
        .take_while(|entry| is_old(entry))
        .count()
        .max(over);
    log.entries.iter().take(count).collect()
}

/// Removes operations: their refs in one transaction, then what they kept.
///
/// # Errors
/// `ref-moved`, `git-failed`, `io`.
pub fn remove(session: &Session, places: &Places, entries: &[&LogEntry]) -> Result<()> {
    let refs: Vec<_> = entries
        .iter()
        .map(|entry| {
            (
                ref_names::operation(&entry.worktree, entry.record.op),
                entry.commit,
            )
        })
        .collect();
    recover::delete_refs(session, &refs, "prune")?;
    entries
        .iter()
        .try_for_each(|entry| atomic::remove_folder(&places.kept_by(entry.record.op)))
}

/// Returns folders of kept files that no operation of this worktree speaks for.
pub fn orphans(places: &Places, log: &Log) -> Vec<OperationId> {
    let folders = std::fs::read_dir(&places.kept)
        .into_iter()
        .flatten()
        .flatten();
    let ids = folders.filter_map(|entry| OperationId::parse(entry.file_name().to_str()?));
    ids.filter(|id| log.find(*id).is_none()).collect()
}
