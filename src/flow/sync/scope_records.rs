//! Joins two records of scopes that both sides have changed: scope by scope.
//!
//! A scope that only one side has changed, or deleted, since the common ancestor gets the state of
//! that side; of two changes the later counts, and the other is kept beside it, unless they are
//! equal. Every repository makes the very same commit.

use std::collections::{BTreeMap, BTreeSet};

use crate::clones::sync::rules::{Merge, Side, Sides, Version, merge};
use crate::git::object::NewCommit;
use crate::git::{Oid, Repo, Signature, TreeEntry};
use crate::map::scope_record::{FILE, MAX_RECORDS, ScopeRecord};
use crate::model::{RepoPath, Result, time};
use crate::store::refs::superseded;

/// Joins two commits of scope records into one; `None` if there are too many records to read.
///
/// # Errors
/// `object-missing`, `repository-broken`, `no-space`, `io`.
pub(super) fn join(repo: &Repo, ours: Oid, theirs: Oid) -> Result<Option<Oid>> {
    let base = repo.merge_bases(ours, theirs)?.into_iter().min();
    let before = entries(repo, base)?;
    let (here, there) = (entries(repo, Some(ours))?, entries(repo, Some(theirs))?);
    let names: BTreeSet<&RepoPath> = here.keys().chain(there.keys()).collect();
    if names.len() > MAX_RECORDS {
        return Ok(None);
    }
    let mut joined = Vec::new();
    for name in names {
        let sides = Sides {
            base: before.get(name).copied(),
            ours: here.get(name).copied(),
            theirs: there.get(name).copied(),
        };
        joined.extend(join_one(repo, &sides)?.map(|entry| (name, Some(entry))));
    }
    let mut parents = vec![ours, theirs];
    parents.sort();
    let committed = |commit| Ok(repo.read_commit(commit)?.committer.seconds);
    let commit = repo.write_commit(NewCommit {
        tree: repo.edit_tree(repo.empty_tree(), joined)?,
        parents,
        signature: &Signature {
            name: "git-colony".to_owned(),
            email: "git-colony@localhost".to_owned(),
            seconds: committed(ours)?.max(committed(theirs)?),
            offset_seconds: 0,
        },
        message: "merge scopes".to_owned(),
    })?;
    Ok(Some(commit))
}

fn entries(repo: &Repo, commit: Option<Oid>) -> Result<BTreeMap<RepoPath, TreeEntry>> {
    let entries = repo.entries_of(repo.tree_of(commit)?)?;
    Ok(entries.into_iter().collect())
}

/// Decides about one scope; `None` if it is deleted.
fn join_one(repo: &Repo, sides: &Sides<TreeEntry>) -> Result<Option<TreeEntry>> {
    if sides.ours == sides.theirs {
        return Ok(sides.ours);
    }
    let version = |entry: Option<TreeEntry>| entry.map(|it| version(repo, &it)).transpose();
    let versions = Sides {
        base: version(sides.base)?,
        ours: version(sides.ours)?,
        theirs: version(sides.theirs)?,
    };
    let (side, lost) = match merge(&versions) {
        Merge::Same => (Side::Ours, None),
        Merge::Take(side) => (side, None),
        Merge::Prefer(Side::Ours) => (Side::Ours, versions.theirs),
        Merge::Prefer(Side::Theirs) => (Side::Theirs, versions.ours),
    };
    let (counts, kept) = match side {
        Side::Ours => (sides.ours, versions.ours),
        Side::Theirs => (sides.theirs, versions.theirs),
    };
    let Some(counts) = counts.filter(TreeEntry::is_directory) else {
        return Ok(counts);
    };
    let mut beside = BTreeSet::new();
    let records = [sides.ours, sides.theirs].into_iter().flatten();
    for record in records.filter(TreeEntry::is_directory) {
        beside.extend(superseded::beside(repo, record.id)?);
    }
    if let Some((lost, kept)) = lost.zip(kept)
        && !say_the_same(repo, lost.blob, kept.blob)?
    {
        beside.insert(lost.blob);
    }
    let tree = superseded::write(repo, counts.id, &beside)?;
    Ok(Some(TreeEntry::directory(tree)))
}

/// The version of a scope for comparison: its record, or the entry in its place.
fn version(repo: &Repo, entry: &TreeEntry) -> Result<Version> {
    let file = if entry.is_directory() {
        repo.leaf_in(entry.id, &RepoPath::from(FILE))?
    } else {
        None
    };
    let blob = file
        .filter(TreeEntry::is_plain_file)
        .map_or(entry.id, |file| file.id);
    let record = match file {
        Some(_) => ScopeRecord::read(repo, blob)?,
        None => None,
    };
    Ok(Version {
        updated_at: record.and_then(|record| time::parse_rfc3339(&record.updated_at)),
        blob,
        id: blob,
    })
}

fn say_the_same(repo: &Repo, one: Oid, other: Oid) -> Result<bool> {
    let (one, other) = (
        ScopeRecord::read(repo, one)?,
        ScopeRecord::read(repo, other)?,
    );
    Ok(one
        .zip(other)
        .is_some_and(|(one, other)| one.has_same_content(&other)))
}
