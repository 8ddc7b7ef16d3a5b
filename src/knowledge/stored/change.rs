//! Changes of the knowledge base: one commit on top, as one operation, which undo reverts record by record.

use std::collections::BTreeMap;

use crate::git::object::NewCommit;
use crate::git::refs::lost_race;
use crate::git::{Oid, RefChange, RefName, Repo, TreeEntry};
use crate::model::id::OperationId;
use crate::model::{RepoPath, Result};
use crate::store::Session;
use crate::store::operation::plan::{Intent, Plan, Touches};
use crate::store::operation::{Kind, Operation};
use crate::store::refs::{ref_names, shared_record};

/// Records to write (their trees) and to delete (`None`), by their places.
pub type Edits = BTreeMap<RepoPath, Option<Oid>>;

/// Makes the changes, all of them or none; returns `None` if nothing had to change, and in a dry run. Other records
/// stay, also those that another process has written meanwhile.
pub fn apply(
    session: &Session,
    kind: Kind,
    summary: &str,
    edits: &Edits,
) -> Result<Option<OperationId>> {
    session.refuse_reader()?;
    lost_race::retried(|| apply_once(session, kind, summary, edits))
}

fn apply_once(
    session: &Session,
    kind: Kind,
    summary: &str,
    edits: &Edits,
) -> Result<Option<OperationId>> {
    if Version::read(&session.repo)?.with(edits).is_none() {
        return Ok(None);
    }
    let touches = Touches::Refs;
    let operation = Operation::begin(session, Intent { kind, touches })?;
    // Before the lock was taken, another command may have changed the records.
    let now = Version::read(&session.repo)?;
    let Some(keys) = now.with(edits) else {
        return Ok(None);
    };
    let commit = NewCommit {
        tree: tree_of(&session.repo, &keys)?,
        parents: now.tip.into_iter().collect(),
        signature: &session.record_signature(),
        message: summary.to_owned(),
    };
    let moved = RefChange {
        new: Some(shared_record::write(&session.repo, &now.name, commit)?),
        name: now.name,
        old: now.tip,
    };
    let plan = Plan::of_refs(session, summary.to_owned(), vec![moved])?;
    Ok(operation.commit(plan)?.op)
}

/// The keys of the ref at one moment.
struct Version {
    name: RefName,
    tip: Option<Oid>,
    keys: shared_record::Keys,
}

impl Version {
    fn read(repo: &Repo) -> Result<Version> {
        let name = RefName::from(ref_names::KNOWLEDGE);
        let tip = repo.find_ref(&name)?;
        Ok(Version { keys: shared_record::keys(repo, &name, tip)?, name, tip })
    }

    /// Returns the keys after the changes; `None` if they are the same.
    fn with(&self, edits: &Edits) -> Option<shared_record::Keys> {
        let mut keys = self.keys.clone();
        for (key, tree) in edits {
            match tree.map(TreeEntry::directory) {
                Some(entry) => drop(keys.insert(key.clone(), entry)),
                None => drop(keys.remove(key)),
            }
        }
        (keys != self.keys).then_some(keys)
    }
}

fn tree_of(repo: &Repo, keys: &shared_record::Keys) -> Result<Oid> {
    let entries = keys.iter().map(|(key, entry)| (key, Some(*entry)));
    repo.edit_tree(repo.empty_tree(), entries)
}
