//! How long automatic checkpoints and operations are kept, and what prune deletes.

use std::collections::BTreeMap;

use chrono::Duration;
use schemars::JsonSchema;
use serde::Serialize;

use crate::design::submodule::unused_states::{self, PruneSet};
use crate::git::refs::damaged_refs::DamagedRef;
use crate::git::{Oid, RefName};
use crate::model::Result;
use crate::model::id::{OperationId, SessionId};
use crate::model::time::{self, Moment};
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::files::{atomic, moved_aside};
use crate::store::large_files::retained_objects;
use crate::store::lock::WorktreeLock;
use crate::store::operation::removed_worktrees::{self, Expired};
use crate::store::operation::{Log, LogEntry, prune, recover};
use crate::store::refs::lost_refs::LostRef;
use crate::store::refs::ref_names;

use super::dropped_commits::{self, DroppedCommit, DroppedCommits};
use super::tag_message::TagMessage;

/// What prune deleted, and the operations that are left.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct PruneReport {
    /// Bytes of kept files that were deleted.
    pub freed: u64,
    /// Operations that were deleted.
    pub operations_removed: Vec<OperationId>,
    /// The number of automatic checkpoints that were deleted.
    pub automatic_removed: usize,
    /// The number of states of submodules that nothing names any more, and that were deleted.
    pub submodule_states_removed: usize,
    /// The number of backup refs of migrations to git-lfs that were deleted with these.
    pub backups_removed: usize,
    /// Colony refs to objects that git has deleted: their content is lost, and they were deleted
    /// too.
    pub lost: Vec<LostRef>,
    /// Colony refs that held no object id; they were deleted too.
    pub damaged: Vec<DamagedRef>,
    /// Commits that branches and tags pointed to and that nothing keeps any more, newest first; at
    /// most 20.
    pub commits_dropped: Vec<DroppedCommit>,
    /// The number of these commits.
    pub commits_dropped_count: usize,
    /// The number of operations of removed clones that were deleted from the hub.
    pub of_removed_clones: usize,
    /// The number of files moved aside by these operations that were deleted.
    pub files_of_removed_clones: usize,
    /// The number of folders of removed clones that were deleted.
    pub removed_clones: usize,
    /// The number of operations of removed worktrees that were deleted.
    pub of_removed_worktrees: usize,
    /// The sessions of this checkout that were deleted.
    pub sessions_removed: Vec<SessionId>,
    /// The number of operations that are left in this worktree.
    pub kept: usize,
    /// True if nothing was deleted because of a dry run.
    pub dry_run: bool,
}

/// What prune examines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Operations and automatic checkpoints, and refs that are known to be useless.
    Everything {
        /// Those with a missing object.
        lost: Vec<LostRef>,
        /// Those that hold no object id.
        damaged: Vec<DamagedRef>,
    },
    /// Operations only.
    Operations,
}

/// Deletes expired operations, kept files and automatic checkpoints; in a dry run, only lists them.
pub fn prune(session: &Session, scope: Scope, keep_days: Option<u64>) -> Result<PruneReport> {
    let dry_run = session.is_dry();
    let lock = (!dry_run)
        .then(|| WorktreeLock::take(&session.world, &session.repo, session.wait_limit()))
        .transpose()?;
    let (lost, damaged, takes_automatic) = match scope {
        Scope::Everything { lost, damaged } => (lost, damaged, true),
        Scope::Operations => (Vec::new(), Vec::new(), false),
    };
    let has_useless = !(lost.is_empty() && damaged.is_empty());
    let Some(places) = places_of(session, lock.as_ref().filter(|_| has_useless))? else {
        return Ok(PruneReport::nothing(lost, damaged, dry_run));
    };
    if lock.is_some() {
        recover::recover(session, &places)?;
        take_out(session, &places, &lost, &damaged)?;
    }
    let log = Log::read(&session.repo, &places)?;
    let now = session.world.now();
    let days = keep_days.unwrap_or(session.settings.keep_days);
    let expired = prune::expired(&log, &now, days, session.settings.keep_operations);
    let orphans = prune::orphans(session, &places, &now, days)?;
    let backups = prune::backups(&session.repo, &expired)?;
    let removed = removed_worktrees::expired(session, &now, days)?;
    let of_removed: Vec<&LogEntry> =
        removed.iter().flat_map(|operations| &operations.entries).collect();
    let ids: Vec<_> = expired.iter().map(|entry| entry.record.op).collect();
    let folders = ids.iter().chain(&orphans).map(|id| places.kept_by(*id));
    let own = folders.map(|folder| moved_aside::size_of(&folder));
    let freed: u64 = own.chain(removed.iter().map(Expired::size_bytes)).sum();
    let expired_refs =
        takes_automatic.then(|| expired_automatic(session, ref_names::AUTOMATIC, &now));
    let mut automatic = expired_refs.transpose()?.unwrap_or_default();
    automatic.retain(|(name, _)| lost.iter().all(|lost| lost.name != *name));
    let gone = [&expired[..], &of_removed].concat();
    let dropped = dropped_by(session, &gone, &[&backups[..], &automatic].concat());
    if lock.is_some() {
        prune::remove(session, &places, &expired)?;
        let mut folders = orphans.iter().map(|id| places.kept_by(*id));
        folders.try_for_each(|folder| atomic::remove_folder(&folder))?;
        removed.iter().try_for_each(|operations| operations.remove(session, &places))?;
        recover::delete_refs(session, &places, &automatic, "prune")?;
        retained_objects::forget_unheld(session)?;
    }
    let large = retained_objects::forget_unheld_named(session)?;
    let going = PruneSet { operations: &ids, refs: &automatic };
    let submodule_states_removed = unused_states::prune(session, &places, &going)?;
    Ok(PruneReport {
        freed: freed + large,
        automatic_removed: automatic.len(),
        submodule_states_removed,
        backups_removed: backups.len(),
        commits_dropped: dropped.named,
        commits_dropped_count: dropped.count,
        of_removed_worktrees: of_removed.len(),
        kept: log.entries.len() - ids.len(),
        operations_removed: ids,
        ..PruneReport::nothing(lost, damaged, dry_run)
    })
}

/// Returns our folders here; under a lock that is given, they are created.
fn places_of(session: &Session, lock: Option<&WorktreeLock>) -> Result<Option<Places>> {
    match (Places::find(&session.repo)?, lock) {
        (None, Some(_)) => Places::require(&session.repo, &session.world).map(Some),
        (places, _) => Ok(places),
    }
}

/// Finds the commits that become unreachable. An incomplete history is reported, and pruned
/// nevertheless.
fn dropped_by(session: &Session, expired: &[&LogEntry], refs: &[(RefName, Oid)]) -> DroppedCommits {
    let dropped = dropped_commits::find(session, expired, refs);
    dropped.unwrap_or_else(|error| {
        (session.world.narrate)(&error.message());
        DroppedCommits::default()
    })
}

/// Deletes useless refs; files that their operations moved aside stay until they expire.
fn take_out(
    session: &Session,
    places: &Places,
    lost: &[LostRef],
    damaged: &[DamagedRef],
) -> Result<()> {
    if lost.is_empty() && damaged.is_empty() {
        return Ok(());
    }
    prune::remember_last(session, places)?;
    for damaged in damaged {
        session.repo.remove_damaged_ref(damaged)?;
    }
    // Recovery may have deleted one of them.
    let refs: Vec<_> = lost
        .iter()
        .filter_map(|lost| {
            let stands = session.repo.find_ref(&lost.name).ok()? == Some(lost.id);
            stands.then(|| (lost.name.clone(), lost.id))
        })
        .collect();
    recover::delete_refs(session, places, &refs, "prune")
}

impl PruneReport {
    fn nothing(lost: Vec<LostRef>, damaged: Vec<DamagedRef>, dry_run: bool) -> PruneReport {
        PruneReport { lost, damaged, dry_run, ..PruneReport::default() }
    }
}

/// Thins the automatic checkpoints of this worktree once there are clearly more than the limit.
pub fn thin_automatic_if_many(session: &Session, places: &Places) -> Result<()> {
    let prefix = ref_names::automatic_of(&places.key);
    let refs = session.repo.refs_below(&prefix)?;
    let keep = session.settings.keep_auto_per_branch;
    // Some slack, so that not every checkpoint thins the list.
    if refs.len() as u64 <= keep + keep.div_ceil(5) {
        return Ok(());
    }
    // Age is counted to a day after the last checkpoint before today: a clock that is ahead makes none old.
    let now = session.world.now();
    let made = refs.iter().filter_map(|reference| {
        let name = reference.name.to_string();
        time::parse_compact(name.rsplit('/').next()?.split('-').next()?)
    });
    let last = made.filter(|made| made.date_naive() < now.date_naive()).max();
    let known = last.map_or(now, |last| now.min(last + Duration::days(1)));
    let expired = expired_automatic(session, &prefix, &known)?;
    let names_submodules = |(_, id): &(RefName, Oid)| {
        let tag = session.repo.find_tag(*id);
        tag.is_some_and(|tag| !TagMessage::of(&tag.message).submodules.is_empty())
    };
    let has_states = expired.iter().any(names_submodules);
    recover::delete_refs(session, places, &expired, "thin")?;
    if has_states {
        unused_states::prune(session, places, &PruneSet { operations: &[], refs: &[] })?;
    }
    retained_objects::forget_unheld(session)
}

/// Finds automatic checkpoints that are too old, or too many for their branch.
fn expired_automatic(session: &Session, prefix: &str, now: &Moment) -> Result<Vec<(RefName, Oid)>> {
    let days = i64::try_from(session.settings.keep_auto_days).unwrap_or(36_500).min(36_500);
    let oldest = *now - Duration::days(days);
    let keep = usize::try_from(session.settings.keep_auto_per_branch).unwrap_or(usize::MAX);
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut expired = Vec::new();
    // Names begin with the time, so the reverse order is newest first.
    for reference in session.repo.refs_below(prefix)?.into_iter().rev() {
        let tag = session.repo.find_tag(reference.id);
        let message = tag.as_ref().map(|tag| TagMessage::of(&tag.message));
        let branch = message.and_then(|message| message.branch).unwrap_or_default();
        let name = reference.name.to_string();
        let worktree = name.rsplit_once('/').map_or("", |(worktree, _)| worktree);
        let count = seen.entry(format!("{worktree}\0{branch}")).or_default();
        *count += 1;
        let made = tag.and_then(|tag| tag.tagger).and_then(|tagger| tagger.moment());
        if *count > keep || made.is_some_and(|made| made < oldest) {
            expired.push((reference.name, reference.id));
        }
    }
    Ok(expired)
}
