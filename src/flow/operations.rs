//! The log of operations as people read it.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::restore_target;
use crate::design::undo::HeadSwitch;
use crate::git::{Oid, RefChange};
use crate::model::id::{OperationId, WorktreeKey};
use crate::model::{RepoPath, Result};
use crate::store::Session;
use crate::store::operation::log::LogEntry;
use crate::store::operation::{Kind, Log, late};
use crate::store::places::Places;

/// One operation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OperationInfo {
    /// Its id.
    pub op: OperationId,
    /// The worktree it belongs to.
    pub worktree: WorktreeKey,
    /// What it did.
    pub kind: Kind,
    /// The same for people.
    pub summary: String,
    /// When, RFC 3339 UTC.
    pub created_at: String,
    /// Who.
    pub author: String,
    /// The refs it moved.
    pub refs: Vec<RefChange>,
    /// How many files it moved aside.
    pub files_moved_aside: usize,
    /// How many files it put in place.
    pub files_placed: usize,
    /// Whether its effect has been taken back; `None` for undo and redo.
    pub undone: Option<bool>,
}

/// The operations, oldest first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OperationsReport {
    /// The operations.
    pub ops: Vec<OperationInfo>,
    /// How many.
    pub count: usize,
}

/// One operation in full.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OperationReport {
    /// What the list says of it.
    #[serde(flatten)]
    pub info: OperationInfo,
    /// The commit that holds its record.
    pub commit: Oid,
    /// The worktree before, as a commit.
    pub snapshot: Option<Oid>,
    /// The operation it took back.
    pub inverts: Option<OperationId>,
    /// Where HEAD went, if that was another branch.
    pub head: Option<HeadSwitch>,
    /// The files it moved aside, with where each is kept now; also those written meanwhile.
    pub kept: Vec<KeptFile>,
}

/// A file that was moved aside.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct KeptFile {
    /// Where it stood.
    pub path: RepoPath,
    /// Where it is kept, also by a redo of the operation; `None` when it went back or was pruned.
    pub kept_at: Option<String>,
}

/// Lists the operations of this worktree, or of all.
///
/// # Errors
/// `repository-broken`.
pub fn list(session: &Session, all_worktrees: bool) -> Result<OperationsReport> {
    let log = if all_worktrees {
        Log::read_all(&session.repo)?
    } else {
        match Places::find(&session.repo)? {
            Some(places) => Log::read(&session.repo, &places)?,
            None => Log::default(),
        }
    };
    let ops: Vec<_> = if all_worktrees {
        let mut ops = Vec::new();
        for entries in log.entries.chunk_by(|a, b| a.worktree == b.worktree) {
            let one = Log {
                entries: entries.to_vec(),
            };
            ops.extend(one.entries.iter().map(|entry| info(&one, entry)));
        }
        ops
    } else {
        log.entries.iter().map(|entry| info(&log, entry)).collect()
    };
    Ok(OperationsReport {
        count: ops.len(),
        ops,
    })
}

/// Shows one operation of this worktree.
///
/// # Errors
/// `operation-not-found`.
pub fn show(session: &Session, id: OperationId) -> Result<OperationReport> {
    let not_found = || restore_target::not_found(id);
    let places = Places::find(&session.repo)?.ok_or_else(not_found)?;
    let log = Log::read(&session.repo, &places)?;
    let entry = log.find(id).ok_or_else(not_found)?;
    let again = log.repetition_of(id);
    let kept = entry.record.files.aside.iter().map(|path| {
        let at = std::iter::once(entry)
            .chain(again)
            .find_map(|entry| kept_at(&places, entry, path));
        KeptFile {
            path: path.clone(),
            kept_at: at.map(|at| at.display().to_string()),
        }
    });
    let late = late::list(&session.repo, &places, &entry.record).into_iter();
    let late = late.map(|late| KeptFile {
        path: late.path,
        kept_at: Some(late.kept_at),
    });
    Ok(OperationReport {
        info: info(&log, entry),
        commit: entry.commit,
        snapshot: entry.record.snapshot,
        inverts: entry.record.inverts,
        head: entry.record.switches_head().then(|| HeadSwitch {
            old: entry.record.before.head.name.clone(),
            new: entry.record.after.head.name.clone(),
        }),
        kept: kept.chain(late).collect(),
    })
}

/// Returns where an operation keeps what stood at a path, if it is there.
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
