//! Writing records of scopes: one commit on top of the previous one, with retries after concurrent
//! writes.

use std::collections::BTreeSet;

use crate::git::object::NewCommit;
use crate::git::refs::{ReflogReason, lost_race};
use crate::git::{Oid, RefChange, RefName, Repo, TreeEntry};
use crate::model::{Code, RepoPath, Result, ResultExt as _, time};
use crate::store::operation::object_check::{self, Written};
use crate::store::{Session, key};

use super::scope_record::{FILE, ScopeRecord, Scopes};

/// A record to write or remove.
#[derive(Clone, Debug)]
pub enum Change {
    /// Write it; an equal record stays as it is.
    Put(Box<ScopeRecord>),
    /// Remove the record of a scope.
    Remove(String),
}

/// Applies changes at a ref; returns whether anything changed.
///
/// If another process moves the ref meanwhile, the changes are applied again on top.
///
/// # Errors
/// `ref-moved` after the last attempt; `locked`, `no-space`, `io`, `git-failed`.
pub fn write(session: &Session, name: &RefName, changes: &[Change]) -> Result<bool> {
    lost_race::retried(|| write_once(session, &Scopes::load(&session.repo, name)?, changes))
}

/// Returns `true` if the changes would have an effect; applies nothing.
pub fn would_change(scopes: &Scopes, changes: &[Change]) -> bool {
    changes.iter().any(|change| match change {
        Change::Put(record) => {
            let known = scopes.records.get(&record.scope_id);
            !known.is_some_and(|known| record.has_same_content(known))
        }
        Change::Remove(id) => scopes.records.contains_key(id),
    })
}

fn write_once(session: &Session, scopes: &Scopes, changes: &[Change]) -> Result<bool> {
    let (repo, world) = (&session.repo, &session.world);
    if !would_change(scopes, changes) {
        return Ok(false);
    }
    let now = time::rfc3339(&world.now());
    let mut edits = Vec::new();
    let mut parents: Vec<Oid> = scopes.tip.into_iter().collect();
    for change in changes {
        let entry = match change {
            Change::Remove(_) => continue,
            Change::Put(record) => {
                let known = scopes.records.get(&record.scope_id);
                if known.is_some_and(|known| record.has_same_content(known)) {
                    continue;
                }
                let created = known.map_or(&record.created_at, |known| &known.created_at);
                let record = ScopeRecord {
                    created_at: created.clone(),
                    updated_at: now.clone(),
                    ..(**record).clone()
                };
                // Commits of other repositories are not here; their hubs keep them.
                let frozen = record.frozen.filter(|id| repo.read_commit(*id).is_ok());
                parents.extend(frozen.filter(|id| !parents.contains(id)));
                TreeEntry::file(blob_of(repo, &record)?)
            }
        };
        edits.push((path_of(change_id(change)), entry));
    }
    let edits = edits.iter().map(|(path, entry)| (path, Some(*entry)));
    let who = session.record_signature();
    let commit = repo.write_commit(NewCommit {
        tree: repo.edit_tree(without(repo, scopes.tree, changes)?, edits)?,
        parents,
        signature: &who,
        message: message_of(changes),
    })?;
    let change = RefChange {
        name: scopes.name.clone(),
        old: scopes.tip,
        new: Some(commit),
    };
    let why = ReflogReason {
        text: "git-colony: scopes",
        who: &who,
        operation: "scopes",
    };
    let written = Written {
        what: &scopes.name,
        base: scopes.tree,
        records: vec![commit],
        files: Vec::new(),
        others: Vec::new(),
    };
    object_check::move_ref(session, &change, &why, &written)?;
    session.note_change();
    Ok(true)
}

/// Removes scopes from a tree of records, including all entries beside their records.
fn without(repo: &Repo, tree: Oid, changes: &[Change]) -> Result<Oid> {
    let gone: BTreeSet<RepoPath> = changes
        .iter()
        .filter(|change| matches!(change, Change::Remove(_)))
        .map(|change| RepoPath::from(key::encode(change_id(change)).as_str()))
        .collect();
    if gone.is_empty() {
        return Ok(tree);
    }
    let mut kept = repo.entries_of(tree)?;
    kept.retain(|(name, _)| !gone.contains(name));
    let kept = kept.iter().map(|(name, entry)| (name, Some(*entry)));
    repo.edit_tree(repo.empty_tree(), kept)
}

fn change_id(change: &Change) -> &String {
    match change {
        Change::Put(record) => &record.scope_id,
        Change::Remove(id) => id,
    }
}

fn message_of(changes: &[Change]) -> String {
    match changes {
        [Change::Put(record)] => format!("map {}", key::encode(&record.scope_id)),
        [Change::Remove(id)] => format!("unmap {}", key::encode(id)),
        many => format!("map {} scopes", many.len()),
    }
}

fn path_of(id: &str) -> RepoPath {
    RepoPath::from(format!("{}/{FILE}", key::encode(id)).as_str())
}

fn blob_of(repo: &Repo, record: &ScopeRecord) -> Result<Oid> {
    let mut json = serde_json::to_vec_pretty(record)
        .or_code(Code::Io, || "cannot write the record of a scope")?;
    json.push(b'\n');
    repo.write_blob(&json)
}
