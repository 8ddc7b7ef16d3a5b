//! Writing records of scopes: one commit on top of the previous one, as an operation, which undo can undo.
//!
//! Three writes are outside of any operation, and no step of undo: those for the files of the working tree, those
//! of a clone for reading, and those of a hook that runs inside an operation. Records that are the same already are
//! left alone, and make no operation.

use std::collections::BTreeSet;

use crate::git::object::NewCommit;
use crate::git::refs::{ReflogReason, lost_race};
use crate::git::{Oid, RefChange, RefName, Repo, TreeEntry};
use crate::model::id::OperationId;
use crate::model::{Code, RepoPath, Result, ResultExt as _, time};
use crate::store::operation::commit_point::refuse_nested;
use crate::store::operation::object_check::{self, Written};
use crate::store::operation::plan::{Intent, Plan, Touches};
use crate::store::operation::{Kind, Operation};
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

/// Changes of the records at one ref.
#[derive(Clone, Debug)]
pub struct RecordChanges {
    /// The ref.
    pub name: RefName,
    /// The changes.
    pub changes: Vec<Change>,
}

/// The changes that were made, or would be in a dry run.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// The refs with changed records.
    pub refs: Vec<RefName>,
    /// The scopes with a new record.
    pub scopes: BTreeSet<String>,
    /// The operation; `None` if nothing changed, in a dry run, and outside of operations.
    pub op: Option<OperationId>,
}

/// Applies changes as one operation; without an effect, makes none.
///
/// If another process moves a ref meanwhile, the changes are applied again on top.
pub fn record(session: &Session, kind: Kind, records: &[RecordChanges]) -> Result<Recorded> {
    if refuse_nested(session).is_err() || session.refuse_reader().is_err() {
        return record_outside(session, records);
    }
    lost_race::retried(|| record_once(session, kind, records))
}

/// Returns what changes at a ref would do; without a ref, nothing is recorded yet.
pub fn outlook(session: &Session, name: Option<&RefName>, changes: &[Change]) -> Result<Recorded> {
    let known = name.map(|name| Scopes::load(&session.repo, name)).transpose()?;
    let changes = changes.iter().filter(|change| {
        let known = known.as_ref();
        known.is_none_or(|known| has_effect(known, change))
    });
    Ok(Recorded { scopes: put(changes), ..Recorded::default() })
}

/// Applies changes at a ref outside of any operation; returns the scopes with a new record.
///
/// If another process moves the ref meanwhile, the changes are applied again on top.
pub fn write(session: &Session, name: &RefName, changes: &[Change]) -> Result<BTreeSet<String>> {
    lost_race::retried(|| write_once(session, &Scopes::load(&session.repo, name)?, changes))
}

fn record_once(session: &Session, kind: Kind, records: &[RecordChanges]) -> Result<Recorded> {
    // A record that is the same already needs no operation.
    if effective(session, records)?.is_empty() {
        return Ok(Recorded::default());
    }
    let touches = Touches::Refs;
    let operation = Operation::begin(session, Intent { kind, touches })?;
    // Before the lock was taken, another command may have changed the records.
    let parts = effective(session, records)?;
    if parts.is_empty() {
        return Ok(Recorded::default());
    }
    let moves = parts.iter().map(|part| part.write(session)).collect::<Result<Vec<_>>>()?;
    match Plan::of_refs(session, summary(&parts), moves) {
        // With a sparse index there are no operations, but there may be mappings.
        Err(error) if error.code() == Code::Unsupported => {
            drop(operation);
            record_outside(session, records)
        }
        plan => {
            let done = operation.commit(plan?)?;
            Ok(Recorded { op: done.op, ..Recorded::of(&parts) })
        }
    }
}

fn record_outside(session: &Session, records: &[RecordChanges]) -> Result<Recorded> {
    let parts = effective(session, records)?;
    if !session.is_dry() {
        for part in &parts {
            write(session, &part.scopes.name, &part.changes)?;
        }
    }
    Ok(Recorded::of(&parts))
}

/// Leaves out the changes that would have no effect.
fn effective(session: &Session, records: &[RecordChanges]) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    for RecordChanges { name, changes } in records {
        let scopes = Scopes::load(&session.repo, name)?;
        let mut changes = changes.clone();
        changes.retain(|change| has_effect(&scopes, change));
        if !changes.is_empty() {
            parts.push(Part { scopes, changes });
        }
    }
    Ok(parts)
}

/// Changes at one ref, each with an effect.
struct Part {
    scopes: Scopes,
    changes: Vec<Change>,
}

impl Part {
    fn write(&self, session: &Session) -> Result<RefChange> {
        Ok(RefChange {
            name: self.scopes.name.clone(),
            old: self.scopes.tip,
            new: Some(new_version(session, &self.scopes, &self.changes)?),
        })
    }
}

impl Recorded {
    fn of(parts: &[Part]) -> Recorded {
        let changes = parts.iter().flat_map(|part| &part.changes);
        Recorded {
            refs: parts.iter().map(|part| part.scopes.name.clone()).collect(),
            scopes: put(changes),
            op: None,
        }
    }
}

fn summary(parts: &[Part]) -> String {
    let changes = parts.iter().flat_map(|part| &part.changes);
    let (put, removed): (Vec<_>, Vec<_>) = changes.partition(|change| is_put(change));
    let telling = |verb: &str, changes: &[&Change]| {
        let ids: BTreeSet<&String> = changes.iter().map(|change| change_id(change)).collect();
        match ids.first() {
            Some(only) if ids.len() == 1 => Some(format!("{verb} scope '{only}'")),
            first => first.map(|_| format!("{verb} {} scopes", ids.len())),
        }
    };
    let phrases = [telling("map", &put), telling("unmap", &removed)];
    phrases.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn has_effect(scopes: &Scopes, change: &Change) -> bool {
    match change {
        Change::Put(record) => {
            let known = scopes.records.get(&record.scope_id);
            !known.is_some_and(|known| record.has_same_content(known))
        }
        Change::Remove(id) => scopes.records.contains_key(id),
    }
}

fn write_once(session: &Session, scopes: &Scopes, changes: &[Change]) -> Result<BTreeSet<String>> {
    let effective = changes.iter().filter(|change| has_effect(scopes, change));
    if effective.clone().next().is_none() {
        return Ok(BTreeSet::new());
    }
    let commit = new_version(session, scopes, changes)?;
    let change = RefChange { name: scopes.name.clone(), old: scopes.tip, new: Some(commit) };
    let who = session.record_signature();
    let why = ReflogReason { text: "git-colony: scopes", who: &who, operation: "scopes" };
    let written = Written {
        what: &scopes.name,
        base: scopes.tree,
        records: vec![commit],
        files: Vec::new(),
        others: Vec::new(),
    };
    object_check::move_ref(session, &change, &why, &written)?;
    session.note_change();
    Ok(put(effective))
}

/// Writes a new version of the records as a commit that no ref points to yet.
fn new_version(session: &Session, scopes: &Scopes, changes: &[Change]) -> Result<Oid> {
    let (repo, world) = (&session.repo, &session.world);
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
    repo.write_commit(NewCommit {
        tree: repo.edit_tree(without(repo, scopes.tree, changes)?, edits)?,
        parents,
        signature: &session.record_signature(),
        message: message_of(changes),
    })
}

/// Removes scopes from a tree of records, including all entries beside their records.
fn without(repo: &Repo, tree: Oid, changes: &[Change]) -> Result<Oid> {
    let gone: BTreeSet<RepoPath> = changes
        .iter()
        .filter(|change| !is_put(change))
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

/// Returns the scopes of the changes that write a record.
fn put<'a>(changes: impl Iterator<Item = &'a Change>) -> BTreeSet<String> {
    let put = changes.filter(|change| is_put(change));
    put.map(|change| change_id(change).clone()).collect()
}

fn is_put(change: &Change) -> bool {
    matches!(change, Change::Put(_))
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
