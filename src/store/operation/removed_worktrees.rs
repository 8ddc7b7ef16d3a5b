//! The operations of worktrees that do not exist any more, and the files they moved aside: for prune.
//!
//! A worktree exists as long as git has its folder, even if its files are gone. While these folders cannot be
//! listed, or a key cannot be read, none counts as removed.

use std::collections::BTreeSet;
use std::io::ErrorKind;

use crate::git::{Oid, RefName, Repo};
use crate::model::Result;
use crate::model::id::{OperationId, WorktreeKey};
use crate::model::time::Moment;
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::files::{atomic, moved_aside};
use crate::store::refs::ref_names;

use super::log::{Log, LogEntry};
use super::{prune, recover};

/// The expired operations of one removed worktree.
pub struct Expired {
    places: Places,
    /// The operations, oldest first.
    pub entries: Vec<LogEntry>,
    /// Old folders of kept files without an operation.
    orphans: Vec<OperationId>,
}

/// Finds the operations of removed worktrees that are older than this many days.
pub fn expired(session: &Session, now: &Moment, keep_days: u64) -> Result<Vec<Expired>> {
    let repo = &session.repo;
    let Some(living) = living(repo) else {
        return Ok(Vec::new());
    };
    let kept = Places::kept_in(repo.common_dir());
    let operations = repo.refs_below(ref_names::OPERATIONS)?.into_iter();
    let keys: BTreeSet<WorktreeKey> = operations
        .filter_map(|operation| Some(ref_names::parse_operation(&operation.name)?.0))
        .chain(moved_aside::worktrees(&kept).into_iter().map(|(key, _)| key))
        .collect();
    let mut expired = Vec::new();
    for key in keys.difference(&living) {
        let places = Places {
            key: key.clone(),
            colony: repo.common_dir().join("colony"),
            kept: kept.join(key.as_str()),
        };
        let log = Log::read(repo, &places)?;
        let old = prune::expired(&log, now, keep_days, u64::MAX);
        expired.push(Expired {
            entries: old.into_iter().cloned().collect(),
            orphans: prune::orphans(session, &places, now, keep_days)?,
            places,
        });
    }
    Ok(expired)
}

/// Returns the keys of the worktrees that exist; `None` if not all are known.
fn living(repo: &Repo) -> Option<BTreeSet<WorktreeKey>> {
    let mut folders = vec![repo.common_dir().to_owned(), repo.git_dir().to_owned()];
    match std::fs::read_dir(repo.common_dir().join("worktrees")) {
        Ok(entries) => {
            for entry in entries {
                folders.push(entry.ok()?.path());
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(_) => return None,
    }
    let keys = folders.iter().filter_map(|folder| Places::key_of(folder).transpose());
    keys.collect::<Result<_>>().ok()
}

impl Expired {
    /// Returns the size of the kept files, in bytes.
    pub fn size_bytes(&self) -> u64 {
        let folders = self.operations().map(|id| self.places.kept_by(id));
        folders.map(|folder| moved_aside::size_of(&folder)).sum()
    }

    fn operations(&self) -> impl Iterator<Item = OperationId> {
        let of_entries = self.entries.iter().map(|entry| entry.record.op);
        of_entries.chain(self.orphans.iter().copied())
    }

    /// Deletes the operations, then their files. The caller holds the lock of its own worktree, whose folders are
    /// `own`.
    pub fn remove(&self, session: &Session, own: &Places) -> Result<()> {
        let name = |entry: &LogEntry| ref_names::operation(&entry.worktree, entry.record.op);
        let refs: Vec<(RefName, Oid)> =
            self.entries.iter().map(|entry| (name(entry), entry.commit)).collect();
        recover::delete_refs(session, own, &refs, "prune")?;
        for id in self.operations() {
            atomic::remove_folder(&self.places.kept_by(id))?;
        }
        atomic::remove_empty_folder(&self.places.kept).map(drop)
    }
}
