//! The operation log, for people.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::hub::{Hub, locate};
use crate::clones::removal::removed_clone::RemovedClone;
use crate::clones::removal::removed_log::{self, RemovedLog};
use crate::design::meaning;
use crate::design::undo::undo_report::HeadSwitch;
use crate::git::{Oid, RefChange, Repo};
use crate::model::id::{OperationId, WorktreeKey};
use crate::model::{RepoPath, Result, text};
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::files::shared_root::SharedRoot;
use crate::store::operation::log::LogEntry;
use crate::store::operation::{Kind, Log, late_files};

/// One operation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OperationInfo {
    /// Its id.
    pub op: OperationId,
    /// The worktree it belongs to.
    pub worktree: WorktreeKey,
    /// What it did.
    pub kind: Kind,
    /// The same as text for people.
    pub summary: String,
    /// When it was made, RFC 3339 UTC.
    pub created_at: String,
    /// Who made it.
    pub author: String,
    /// The refs it moved.
    pub refs: Vec<RefChange>,
    /// The number of files it moved aside.
    pub files_moved_aside: usize,
    /// The number of files it put in place.
    pub files_placed: usize,
    /// Whether it was undone; `None` for undo and redo.
    pub undone: Option<bool>,
}

/// The operations, oldest first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OperationsReport {
    /// The operations.
    pub ops: Vec<OperationInfo>,
    /// Their number.
    pub count: usize,
    /// How many there are, also where fewer were asked for.
    pub total: usize,
    /// The removed clones of the name that was asked for, newest first: the operations are those of the
    /// first. Empty where no removed clone was asked for.
    pub removed: Vec<RemovedClone>,
}

impl OperationsReport {
    /// Returns the report with the newest operations only, of several worktrees too.
    #[must_use]
    pub fn newest(mut self, limit: usize) -> OperationsReport {
        let mut by_age: Vec<_> = self.ops.drain(..).enumerate().collect();
        by_age.sort_by(|(at, operation), (beside, other)| {
            (&operation.created_at, at).cmp(&(&other.created_at, beside))
        });
        let mut kept = by_age.split_off(by_age.len().saturating_sub(limit));
        kept.sort_by_key(|(at, _)| *at);
        self.ops = kept.into_iter().map(|(_, info)| info).collect();
        self.count = self.ops.len();
        self
    }
}

/// One operation in full.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OperationReport {
    /// The fields of the list.
    #[serde(flatten)]
    pub info: OperationInfo,
    /// The commit that holds its record.
    pub commit: Oid,
    /// The working tree before, as a commit.
    pub snapshot: Option<Oid>,
    /// The operation it undid.
    pub inverts: Option<OperationId>,
    /// The new branch of HEAD, if it changed.
    pub head: Option<HeadSwitch>,
    /// The files it moved aside, with the current place of each; also those written meanwhile.
    pub kept: Vec<KeptFile>,
    /// The removed clone that made it, if one was requested.
    pub removed: Option<RemovedClone>,
}

/// A file that was moved aside.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct KeptFile {
    /// Its original path.
    pub path: RepoPath,
    /// Its current place, which may be that of a redo; `None` if it was put back or pruned.
    pub kept_at: Option<String>,
}

/// Lists the operations of this worktree, or of all.
pub fn list(session: &Session, all_worktrees: bool) -> Result<OperationsReport> {
    let log = if all_worktrees { Log::read_all(&session.repo)? } else { Log::here(&session.repo)? };
    Ok(report(&log, Vec::new()))
}

/// Lists the operations of a removed clone, named by its agent or its id, from the hub.
pub fn list_removed(session: &Session, name: &str) -> Result<OperationsReport> {
    let (hub, found) = removed(session, name)?;
    let mut log = Log::default();
    for places in found.iter().take(1).flat_map(|log| &log.worktrees) {
        log.entries.extend(Log::read(&hub, places)?.entries);
    }
    let clones = found.into_iter().map(|log| log.clone);
    Ok(report(&log, clones.collect()))
}

/// Opens the hub for reading, and finds its removed clones with a name.
fn removed(session: &Session, name: &str) -> Result<(Repo, Vec<RemovedLog>)> {
    let root = SharedRoot::of(&session.world)?;
    let hub = locate::place_of(session, &root)?;
    let repo = Hub::open(&hub)?.store.to_read()?;
    Ok((repo, removed_log::find(&root, &hub, name)?))
}

fn report(log: &Log, removed: Vec<RemovedClone>) -> OperationsReport {
    let mut ops = Vec::new();
    for entries in log.entries.chunk_by(|a, b| a.worktree == b.worktree) {
        let worktree_log = Log { entries: entries.to_vec() };
        ops.extend(worktree_log.entries.iter().map(|entry| info(&worktree_log, entry)));
    }
    OperationsReport { count: ops.len(), total: ops.len(), ops, removed }
}

/// Shows one operation of this worktree.
pub fn show(session: &Session, id: OperationId) -> Result<OperationReport> {
    let not_found = || meaning::no_operation(id);
    let places = Places::find(&session.repo)?.ok_or_else(not_found)?;
    let log = Log::read(&session.repo, &places)?;
    describe(&session.repo, &places, &log, id).ok_or_else(not_found)
}

/// Shows one operation of the newest removed clone with a name, of its main worktree first.
pub fn show_removed(session: &Session, name: &str, id: OperationId) -> Result<OperationReport> {
    let (hub, found) = removed(session, name)?;
    for found in found.iter().take(1) {
        for places in &found.worktrees {
            let log = Log::read(&hub, places)?;
            if let Some(mut report) = describe(&hub, places, &log, id) {
                report.removed = Some(found.clone.clone());
                return Ok(report);
            }
        }
    }
    Err(meaning::no_operation(id)
        .hint(format!("git colony ops --removed {}", text::shell_word(name))))
}

fn describe(repo: &Repo, places: &Places, log: &Log, id: OperationId) -> Option<OperationReport> {
    let entry = log.find(id)?;
    let again = log.repetition_of(id);
    let kept = entry.record.files.aside.iter().map(|path| {
        let at = std::iter::once(entry).chain(again).find_map(|entry| kept_at(places, entry, path));
        KeptFile { path: path.clone(), kept_at: at.map(|at| at.display().to_string()) }
    });
    let late = late_files::list(repo, places, &entry.record)
        .into_iter()
        .map(|late| KeptFile { path: late.path, kept_at: Some(late.kept_at) });
    Some(OperationReport {
        info: info(log, entry),
        commit: entry.commit,
        snapshot: entry.record.snapshot,
        inverts: entry.record.inverts,
        head: entry.record.switches_head().then(|| HeadSwitch {
            old: entry.record.before.head.name.clone(),
            new: entry.record.after.head.name.clone(),
        }),
        kept: kept.chain(late).collect(),
        removed: None,
    })
}

/// Returns where an operation keeps the file of a path, if it exists.
fn kept_at(places: &Places, entry: &LogEntry, path: &RepoPath) -> Option<PathBuf> {
    let aside = &entry.record.files.aside;
    let number = aside.iter().position(|aside| aside == path)?;
    let at = places.kept_by(entry.record.op).join(number.to_string());
    std::fs::symlink_metadata(&at).is_ok().then_some(at)
}

fn info(log: &Log, entry: &LogEntry) -> OperationInfo {
    let record = &entry.record;
    OperationInfo {
        op: record.op,
        worktree: entry.worktree.clone(),
        kind: record.kind,
        summary: record.summary.clone(),
        created_at: record.created_at.clone(),
        author: record.author.clone(),
        refs: record.refs.clone(),
        files_moved_aside: record.files.aside.len(),
        files_placed: record.files.place.len(),
        undone: log.undone().get(&record.op).copied(),
    }
}
