//! The rule for scopes that two repositories have changed.
//!
//! Of two changes of a mapping the later counts, and the other is kept beside it, unless they are equal.

use std::collections::BTreeSet;

use crate::git::{Oid, Repo, TreeEntry};
use crate::model::{RepoPath, Result, time};
use crate::records::rules::{Merge, Side, Sides, Version, merge};
use crate::repo_map::scope_record::{FILE, ScopeRecord};
use crate::store::refs::superseded;

/// Decides about one scope; `None` if it is deleted.
pub(in crate::records) fn join_one(
    repo: &Repo,
    sides: &Sides<TreeEntry>,
) -> Result<Option<TreeEntry>> {
    if sides.ours == sides.theirs {
        return Ok(sides.ours);
    }
    let version = |entry: Option<TreeEntry>| entry.map(|entry| version(repo, &entry)).transpose();
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
    let file =
        if entry.is_directory() { repo.leaf_in(entry.id, &RepoPath::from(FILE))? } else { None };
    let blob = file.filter(TreeEntry::is_plain_file).map_or(entry.id, |file| file.id);
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

fn say_the_same(repo: &Repo, blob: Oid, other: Oid) -> Result<bool> {
    let (record, other) = (ScopeRecord::read(repo, blob)?, ScopeRecord::read(repo, other)?);
    Ok(record.zip(other).is_some_and(|(record, other)| record.has_same_content(&other)))
}
