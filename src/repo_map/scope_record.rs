//! The records of the mapped scopes: one file each, all of them in the tree of one ref.
//!
//! `refs/colony/scopes` has the mappings of the default branch and is synced; those of other
//! branches are at a private ref of the worktree. The tree contains `<encoded scope
//! id>/scope.json`. A commit is created only when a record changes, on top of the previous one, so
//! the ref is only fast-forwarded. Commits at which a scope is frozen are parents too, and survive
//! the deletion of their branch. Records from others are limited and checked: an unreadable one is
//! reported and does not block anything. If two repositories have changed a record, the replaced
//! one is kept as `superseded/<blob>.json`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::git::{Oid, RefName, Repo, TreeEntry};
use crate::model::{Error, RepoPath, Result};
use crate::store::files::places::Places;
use crate::store::key;
use crate::store::refs::ref_names;

use super::resolved::ResolvedRow;
use super::row::{SourceKind, SourceRow};

/// The format that this version reads and writes.
pub const FORMAT: u32 = 1;

/// The reason for a record in a newer format.
const NEWER: &str = "it was written by a newer git-colony";

/// The file of a record.
pub const FILE: &str = "scope.json";

/// The maximum size of a record.
const MAX_BYTES: u64 = 256 * 1024;

/// The maximum number of records.
pub const MAX_RECORDS: usize = 10_000;

/// The maximum length of an id.
const MAX_ID: usize = 1024;

/// The suffix of the id of a scope of the working tree; names of rows cannot contain it.
const OF_WORKTREE: &str = "@worktree";

/// Returns the id of the private scope for a scope's uncommitted files.
pub fn of_worktree(scope_id: &str) -> String {
    format!("{scope_id}{OF_WORKTREE}")
}

/// Returns the scope that a private one belongs to.
pub fn committed(scope_id: &str) -> Option<&str> {
    scope_id.strip_suffix(OF_WORKTREE)
}

/// Finds the scopes that a typed word matches: the one with that id, otherwise that of the row with
/// that name, which `row` returns, otherwise those whose id ends with that name, otherwise those
/// that begin with the word. A scope and its uncommitted files count as one: the scope.
pub fn meant<'a>(
    ids: &(impl Iterator<Item = &'a str> + Clone),
    word: &str,
    row: impl FnOnce() -> Option<String>,
) -> Vec<String> {
    let fitting = |fits: &dyn Fn(&str) -> bool| -> Vec<String> {
        let all: BTreeSet<&str> = ids.clone().filter(|id| fits(id)).collect();
        let is_own = |id: &&&str| committed(id).is_none_or(|of| !all.contains(of));
        all.iter().filter(is_own).map(|id| (*id).to_owned()).collect()
    };
    let exact = fitting(&|id| id == word);
    if !exact.is_empty() {
        return exact;
    }
    let row = row();
    let of_row = |id: &str| row.is_some() && committed(id).or(Some(id)) == row.as_deref();
    let ends = |id: &str| id.strip_suffix(word).is_some_and(|base| base.ends_with(':'));
    let begins = |id: &str| !word.is_empty() && id.starts_with(word);
    let ways: [&dyn Fn(&str) -> bool; 3] = [&of_row, &ends, &begins];
    let mut matches = ways.iter().map(|fits| fitting(fits));
    matches.find(|ids| !ids.is_empty()).unwrap_or_default()
}

/// A mapped scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopeRecord {
    /// The format of the record.
    pub format: u32,
    /// The scope.
    pub scope_id: String,
    /// The row from which it was mapped.
    pub row: SourceRow,
    /// The limits in effect.
    pub config: ScopeConfig,
    /// The revision that it follows.
    pub wanted: WantedRevision,
    /// The commit at which it stays, if its row is static.
    pub frozen: Option<Oid>,
    /// Whether it shows the files of the working tree: such a record is never synced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub worktree: bool,
    /// The local repository that it is read from, by `map repo --path`: such a record is never
    /// synced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The repository whose map has the row, by `map --url`: such a record is never synced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map_of: Option<String>,
    /// When it was first mapped, RFC 3339 UTC.
    pub created_at: String,
    /// When the record last changed, RFC 3339 UTC.
    pub updated_at: String,
}

/// The limits of a row, including those that it inherits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ScopeConfig {
    /// The maximum number of records of a page.
    pub flush_threshold: u32,
    /// The maximum number of tokens of a page.
    pub flush_token_budget: u32,
    /// The target size of a chunk of prose, in tokens.
    pub chunk_target_tokens: u32,
    /// The overlap of two chunks, in tokens.
    pub chunk_overlap_tokens: u32,
    /// Whether its pages are never evicted.
    pub pinned: bool,
}

/// A revision by name: a record does not change with every commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WantedRevision {
    /// The URL of the repository, without credentials; `None` for the map's own repository without
    /// a remote.
    pub origin_url: Option<String>,
    /// The branch.
    pub branch: Option<String>,
    /// The commit as written in the row; `HEAD` is the tip of the branch.
    pub commit: String,
}

impl ScopeRecord {
    /// Creates the record of a row that was mapped now.
    pub fn of(row: &SourceRow, resolved: &ResolvedRow, now: &str) -> ScopeRecord {
        let commit = row.commit.clone();
        ScopeRecord {
            format: FORMAT,
            scope_id: resolved.scope_id.clone(),
            row: row.clone(),
            config: ScopeConfig {
                flush_threshold: resolved.limits.records,
                flush_token_budget: resolved.limits.tokens,
                chunk_target_tokens: resolved.chunk.target,
                chunk_overlap_tokens: resolved.chunk.overlap,
                pinned: resolved.pinned,
            },
            wanted: WantedRevision {
                origin_url: resolved.origin_url.clone(),
                branch: resolved.branch.clone(),
                commit: commit.unwrap_or_else(|| "HEAD".to_owned()),
            },
            frozen: resolved.frozen.then_some(resolved.commit),
            worktree: false,
            place: None,
            map_of: None,
            created_at: now.to_owned(),
            updated_at: now.to_owned(),
        }
    }

    /// Returns `true` if no row of this repository's map made the scope: the row of `map repo` has
    /// the name of the scope.
    pub fn is_of_no_map(&self) -> bool {
        let is_elsewhere = self.map_of.is_some() || self.row.kind == SourceKind::Blackboard;
        is_elsewhere || (self.row.name == self.scope_id && self.row.origin_url.is_some())
    }

    /// Returns the commit at which the scope stays: of a static row, or as it was named in full.
    pub fn fixed_commit(&self) -> Option<Oid> {
        self.frozen.or_else(|| Oid::parse(&self.wanted.commit))
    }

    /// Reads the record in a blob; `None` for anything else.
    pub fn read(repo: &Repo, blob: Oid) -> Result<Option<ScopeRecord>> {
        if repo.object_size(blob).is_none_or(|size| size > MAX_BYTES) {
            return Ok(None);
        }
        Ok(serde_json::from_slice(&repo.read_blob(blob)?).ok())
    }

    /// Returns `true` if two records describe the same scope in the same way, regardless of their
    /// times.
    pub fn has_same_content(&self, other: &ScopeRecord) -> bool {
        let ScopeRecord { created_at, updated_at, .. } = other.clone();
        let same_times = ScopeRecord { created_at, updated_at, ..self.clone() };
        same_times == *other
    }
}

/// An unreadable record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct UnreadableRecord {
    /// The scope, or the name of the entry.
    pub name: String,
    /// The reason.
    pub reason: String,
}

/// The records at one ref.
#[derive(Clone, Debug)]
pub struct Scopes {
    /// The ref.
    pub name: RefName,
    pub(super) tip: Option<Oid>,
    pub(super) tree: Oid,
    /// The records, by scope id.
    pub records: BTreeMap<String, ScopeRecord>,
    /// The other entries.
    pub unreadable: Vec<UnreadableRecord>,
}

impl Scopes {
    /// Reads the mapped scopes of a worktree: its own ones, and those that are shared (`true`).
    pub fn all(repo: &Repo) -> Result<Vec<(Scopes, bool)>> {
        let places = Scopes::places(repo)?.into_iter();
        places.map(|(name, shared)| Ok((Scopes::load(repo, &name)?, shared))).collect()
    }

    /// Returns the ids of the mapped scopes of a worktree.
    pub fn recorded_ids(repo: &Repo) -> Result<BTreeSet<String>> {
        let records = Scopes::all(repo)?.into_iter();
        Ok(records.flat_map(|(scopes, _)| scopes.records.into_keys()).collect())
    }

    /// Returns the refs with the records of a worktree's scopes, and whether they are shared.
    pub fn places(repo: &Repo) -> Result<Vec<(RefName, bool)>> {
        let own = Places::find(repo)?
            .map(|places| ref_names::local_scopes(&places.key))
            .into_iter()
            .map(|name| (name, false));
        Ok(own.chain([(RefName::from(ref_names::SCOPES), true)]).collect())
    }

    /// Reads the records at a ref; none if it does not exist.
    pub fn load(repo: &Repo, name: &RefName) -> Result<Scopes> {
        let tip = repo.find_ref(name)?;
        let lost = |error: Error| {
            error.hint("git colony doctor   # reports the damage and the next command")
        };
        let mut scopes = Scopes {
            name: name.clone(),
            tip,
            tree: repo.tree_of(tip).map_err(lost)?,
            records: BTreeMap::new(),
            unreadable: Vec::new(),
        };
        for (component, entry) in repo.entries_of(scopes.tree)? {
            if scopes.records.len() + scopes.unreadable.len() == MAX_RECORDS {
                scopes.unreadable.push(UnreadableRecord {
                    name: component.to_string(),
                    reason: format!("there are more than {MAX_RECORDS} records"),
                });
                break;
            }
            match read(repo, &component, &entry)? {
                Ok(record) => drop(scopes.records.insert(record.scope_id.clone(), record)),
                Err(reason) => {
                    let name = component.to_string();
                    scopes.unreadable.push(UnreadableRecord { name, reason });
                }
            }
        }
        Ok(scopes)
    }

    /// Returns the first invalid record at a commit that another user wrote; `None` if all are
    /// valid. Records in a newer format are valid, and so are entries that `known` also has.
    pub fn flaw(repo: &Repo, commit: Oid, known: &[Oid]) -> Result<Option<String>> {
        let mut before = Vec::new();
        for commit in known {
            let entries = repo.entries_of(repo.tree_of(Some(*commit))?)?;
            before.push(entries.into_iter().collect::<BTreeMap<_, _>>());
        }
        let entries = repo.entries_of(repo.tree_of(Some(commit))?)?;
        if entries.len() > MAX_RECORDS {
            return Ok(Some(format!("it has more than {MAX_RECORDS} records")));
        }
        for (component, entry) in entries {
            if before.iter().any(|known| known.get(&component) == Some(&entry)) {
                continue;
            }
            let reason = match read(repo, &component, &entry)? {
                Ok(record) if record.worktree => "it belongs to a worktree".to_owned(),
                Ok(_) => continue,
                Err(reason) if reason == NEWER => continue,
                Err(reason) => reason,
            };
            return Ok(Some(format!("'{component}' is not a record of a scope: {reason}")));
        }
        Ok(None)
    }

    /// Returns the commit of the records.
    pub fn commit(&self) -> Option<Oid> {
        self.tip
    }
}

/// Reads one record; the inner error concerns the record.
fn read(
    repo: &Repo,
    component: &RepoPath,
    entry: &TreeEntry,
) -> Result<Result<ScopeRecord, String>> {
    let text = std::str::from_utf8(component.as_bytes()).ok();
    let id = text.and_then(key::decode).filter(|id| !id.is_empty() && id.len() <= MAX_ID);
    let Some(id) = id.filter(|id| !id.contains(char::is_control)) else {
        return Ok(Err("its name is not an encoded scope id".to_owned()));
    };
    if !entry.is_directory() {
        return Ok(Err("it is not a directory".to_owned()));
    }
    let Some(file) = repo.leaf_in(entry.id, &RepoPath::from(FILE))? else {
        return Ok(Err(format!("it has no '{FILE}'")));
    };
    let size = repo.object_size(file.id);
    if !file.is_plain_file() || size.is_none_or(|size| size > MAX_BYTES) {
        return Ok(Err(format!("'{FILE}' is not a plain file of at most 256 KiB")));
    }
    Ok(parse(&repo.read_blob(file.id)?, &id))
}

fn parse(bytes: &[u8], id: &str) -> Result<ScopeRecord, String> {
    let no_record = |error: serde_json::Error| format!("'{FILE}' is not a record: {error}");
    let value: serde_json::Value = serde_json::from_slice(bytes).map_err(no_record)?;
    let format = value.get("format").and_then(serde_json::Value::as_u64);
    if format > Some(u64::from(FORMAT)) {
        return Err(NEWER.to_owned());
    }
    let record: ScopeRecord = serde_json::from_value(value).map_err(no_record)?;
    if record.scope_id != id {
        return Err("it belongs to another scope".to_owned());
    }
    Ok(record)
}
