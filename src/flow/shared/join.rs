//! Joins two versions of a shared record, key by key: every repository makes the very same commit.
//!
//! A key that only one side has changed, or deleted, since both last agreed gets the state of that side; a
//! deletion loses against a change. Two changes are joined by the rule of the kind: the later mapping of a scope
//! counts, and of knowledge and blackboards everything that both sides have stays; of two knowledge records of one
//! name, which differ in who read the document and when, one. What both agreed on is the
//! noted tree, or a later commit that both have. Without either, everything of both sides is kept: a history that
//! was cut off proves nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::clones::sync::rules::Sides;
use crate::git::object::NewCommit;
use crate::git::{Oid, RefName, Repo, Signature, TreeEntry};
use crate::model::{RepoPath, Result};
use crate::store::refs::{ref_names, shared_record, superseded};

use super::scopes;

/// How deep directories are joined; a deeper one is one value.
const MAX_DEPTH: usize = 8;

/// Joins two commits of a record into one; `base` is the commit that both last agreed on, as far as it is noted. A
/// side that has changed nothing since follows the other. Returns `None` if there are too many keys to read, or
/// one of the two is missing.
pub(in crate::flow) fn join(
    repo: &Repo,
    name: &RefName,
    sides: &Sides<Oid>,
) -> Result<Option<Oid>> {
    let Some((ours, theirs)) = sides.ours.zip(sides.theirs) else {
        return Ok(None);
    };
    let base = agreed(repo, sides.base, (ours, theirs))?;
    if base == Some(ours) {
        return Ok(Some(theirs));
    }
    if base == Some(theirs) {
        return Ok(Some(ours));
    }
    let before = shared_record::keys(repo, name, base)?;
    let here = shared_record::keys(repo, name, Some(ours))?;
    let there = shared_record::keys(repo, name, Some(theirs))?;
    let names: BTreeSet<&RepoPath> = here.keys().chain(there.keys()).collect();
    if names.len() > shared_record::MAX_KEYS {
        return Ok(None);
    }
    // A record of the knowledge base is of one clone: its chunks fit its description.
    let is_knowledge = name.as_bytes() == ref_names::KNOWLEDGE.as_bytes();
    let depth = if is_knowledge { 0 } else { MAX_DEPTH };
    let mut joined = Joined::default();
    for key in names {
        let sides = Sides {
            base: before.get(key).copied(),
            ours: here.get(key).copied(),
            theirs: there.get(key).copied(),
        };
        if name.as_bytes() == ref_names::SCOPES.as_bytes() {
            let scope = scopes::join_one(repo, &sides)?;
            joined.entries.extend(scope.map(|entry| (key.clone(), entry)));
        } else {
            joined.add(repo, key, &sides, depth)?;
        }
    }
    if is_knowledge {
        joined.replaced.clear();
    }
    let mut parents = vec![ours, theirs];
    parents.sort();
    let committed = |commit| Ok(repo.read_commit(commit)?.committer.seconds);
    let commit = NewCommit {
        tree: joined.write(repo)?.unwrap_or_else(|| repo.empty_tree()),
        parents,
        signature: &Signature {
            name: "git-colony".to_owned(),
            email: "git-colony@localhost".to_owned(),
            seconds: committed(ours)?.max(committed(theirs)?),
            offset_seconds: 0,
        },
        message: format!("merge {}", kind_of(name)),
    };
    shared_record::write(repo, name, commit).map(Some)
}

/// Returns the word for the kind of a record.
fn kind_of(name: &RefName) -> &'static str {
    match name.as_bytes() {
        it if it == ref_names::SCOPES.as_bytes() => "scopes",
        it if it == ref_names::KNOWLEDGE.as_bytes() => "knowledge",
        _ => "blackboard",
    }
}

/// Returns the commit that both sides have agreed on: the noted one, or a later one that both histories have. A note
/// counts only where both sides were made from it: a remote may have been reset to an older state.
fn agreed(repo: &Repo, noted: Option<Oid>, (ours, theirs): (Oid, Oid)) -> Result<Option<Oid>> {
    let common = repo.merge_bases(ours, theirs)?.into_iter().min();
    let Some(noted) = noted.filter(|id| repo.read_commit(*id).is_ok()) else {
        return Ok(common);
    };
    if !(is_made_from(repo, ours, noted)? && is_made_from(repo, theirs, noted)?) {
        return Ok(common);
    }
    match common {
        Some(common) if !repo.has_more(noted, common)? => Ok(Some(common)),
        _ => Ok(Some(noted)),
    }
}

/// Returns `true` if a commit has another one in its history, or its history was cut off and shows nothing.
fn is_made_from(repo: &Repo, commit: Oid, older: Oid) -> Result<bool> {
    let common = repo.merge_bases(older, commit)?;
    Ok(common.is_empty() || common.contains(&older))
}

/// The entries of a directory that is being joined.
#[derive(Default)]
struct Joined {
    entries: BTreeMap<RepoPath, TreeEntry>,
    /// Entries that another one of the same name has replaced.
    replaced: Vec<TreeEntry>,
}

impl Joined {
    /// Adds what becomes of one name: everything that both sides have, without what one of them has deleted.
    fn add(
        &mut self,
        repo: &Repo,
        name: &RepoPath,
        sides: &Sides<TreeEntry>,
        depth: usize,
    ) -> Result<()> {
        let Sides { base, ours, theirs } = *sides;
        let entry = match (ours, theirs) {
            _ if ours == theirs || theirs == base => ours,
            _ if ours == base => theirs,
            (one, None) | (None, one) => one,
            (Some(ours), Some(theirs)) => {
                let are_folders = ours.is_directory() && theirs.is_directory();
                if are_folders && depth > 0 {
                    let base = base.filter(TreeEntry::is_directory);
                    let tree = Joined::folder(repo, &Sides { base, ..*sides }, depth - 1)?;
                    tree.map(TreeEntry::directory)
                } else {
                    let (stays, goes) =
                        if ours.id > theirs.id { (ours, theirs) } else { (theirs, ours) };
                    self.replaced.push(goes);
                    Some(stays)
                }
            }
        };
        self.entries.extend(entry.map(|entry| (name.clone(), entry)));
        Ok(())
    }

    /// Joins two directories; `None` if nothing is left.
    fn folder(repo: &Repo, sides: &Sides<TreeEntry>, depth: usize) -> Result<Option<Oid>> {
        let entries = |side: Option<TreeEntry>| -> Result<BTreeMap<RepoPath, TreeEntry>> {
            let tree = side.map_or_else(|| repo.empty_tree(), |entry| entry.id);
            Ok(repo.entries_of(tree)?.into_iter().collect())
        };
        let (base, ours, theirs) =
            (entries(sides.base)?, entries(sides.ours)?, entries(sides.theirs)?);
        let mut joined = Joined::default();
        for name in ours.keys().chain(theirs.keys()).collect::<BTreeSet<_>>() {
            let sides = Sides {
                base: base.get(name).copied(),
                ours: ours.get(name).copied(),
                theirs: theirs.get(name).copied(),
            };
            joined.add(repo, name, &sides, depth)?;
        }
        joined.write(repo)
    }

    fn write(&self, repo: &Repo) -> Result<Option<Oid>> {
        if self.entries.is_empty() {
            return Ok(None);
        }
        let replaced = self.replaced.iter().map(|entry| {
            let place = superseded::place_of(entry.id);
            (place, *entry)
        });
        let replaced: Vec<_> = replaced.collect();
        let entries = self.entries.iter().chain(replaced.iter().map(|(name, entry)| (name, entry)));
        let edits = entries.map(|(name, entry)| (name, Some(*entry)));
        repo.edit_tree(repo.empty_tree(), edits).map(Some)
    }
}
