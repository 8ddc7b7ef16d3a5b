//! The faults of a ref of a remote: why its object is not joined with ours.

use std::collections::BTreeSet;

use crate::design::fork::fork_record::ForkRecord;
use crate::design::fork::machines;
use crate::git::worktree::safe_path;
use crate::git::{Oid, RefName, Repo};
use crate::model::Result;
use crate::records::exchanged_refs::{self, Kind};
use crate::repo_map::scope_record::Scopes;
use crate::store::migration;
use crate::store::refs::shared_record;

/// Returns the problem with a ref of a remote; `known` are its earlier values.
pub(super) fn find(repo: &Repo, name: &RefName, id: Oid, known: &[Oid]) -> Option<String> {
    let commit = repo.peel_to_commit(id);
    let is_commit = commit == Some(id);
    match exchanged_refs::kind_of(name)? {
        Kind::Checkpoint | Kind::CheckpointTag if commit.is_none() => {
            Some("it does not name a commit".to_owned())
        }
        Kind::Checkpoint | Kind::CheckpointTag => None,
        _ if !is_commit => Some("it is not a commit".to_owned()),
        Kind::ForkRecord => {
            let label = exchanged_refs::label_of(name)?;
            let read = ForkRecord::read(repo, id, &label);
            read.err().map(|error| error.message())
        }
        Kind::Scopes => unless_read(Scopes::flaw(repo, id, known)),
        Kind::Migrations => unless_read(migration::flaw(repo, id)),
        Kind::Machine => machines::flaw(repo, name, id),
        Kind::Knowledge | Kind::Blackboard => unless_read(unreadable(repo, name, id)),
        Kind::ForkBranch => None,
    }
}

/// Returns the problem with the tree of a shared record; its keys are checked where they are read.
fn unreadable(repo: &Repo, name: &RefName, commit: Oid) -> Result<Option<String>> {
    let keys = shared_record::keys(repo, name, Some(commit))?;
    let max = shared_record::MAX_KEYS;
    if keys.len() > max {
        return Ok(Some(format!("it has more than {max} keys")));
    }
    let mut open = vec![repo.tree_of(Some(commit))?];
    let mut seen: BTreeSet<Oid> = open.iter().copied().collect();
    while let Some(tree) = open.pop() {
        for (name, entry) in repo.entries_of(tree)? {
            // Our own names are plain ASCII; git refuses some of the others.
            let text = std::str::from_utf8(name.as_bytes()).unwrap_or_default();
            if safe_path::refusal(text).is_some() {
                let name = name.to_string();
                return Ok(Some(format!("git refuses the name '{name}' in its tree")));
            }
            if entry.is_directory() && seen.insert(entry.id) {
                open.push(entry.id);
            }
        }
    }
    Ok(None)
}

fn unless_read(flaw: Result<Option<String>>) -> Option<String> {
    flaw.unwrap_or_else(|error| Some(error.message()))
}
