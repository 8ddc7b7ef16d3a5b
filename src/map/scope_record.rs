//! Which scopes are mapped, written down: one record for each, all of them in the tree of one ref.
//!
//! `refs/colony/scopes` has the mappings of the default branch and travels; those of other branches are
//! at a ref of the worktree that never does. The tree holds `<encoded scope id>/scope.json`. A commit is
//! made only where a record changes, on top of the one before, so that the ref only moves on; commits
//! that a scope is frozen at are parents too, and stay whatever happens to their branch. What others
//! wrote is bounded and checked: a record that cannot be read is named, and stands in nobody's way. Where
//! two repositories have changed a record, the one that gave way is kept as `superseded/<blob>.json`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::git::{Oid, RefName, Repo, TreeEntry};
use crate::model::{Error, RepoPath, Result};
use crate::store::key;

use super::resolved::ResolvedRow;
use super::row::SourceRow;

/// The format this version writes and the newest it reads.
const FORMAT: u32 = 1;

/// What is said of a record that cannot be read yet.
const NEWER: &str = "it was written by a newer git-colony";

/// The file of a record.
pub const FILE: &str = "scope.json";

/// A longer file is no record.
const MOST_BYTES: u64 = 256 * 1024;

/// More records are not read.
pub const MOST_RECORDS: usize = 10_000;

/// A longer id is none of ours.
const LONGEST_ID: usize = 1024;

/// What follows the id of a scope where it is made of the worktree; no name of a row holds it.
const OF_WORKTREE: &str = "@worktree";

/// Returns the id of the private scope that the uncommitted work of a scope is mapped into.
pub fn of_worktree(scope_id: &str) -> String {
    format!("{scope_id}{OF_WORKTREE}")
}

/// Returns the scope whose uncommitted work a private one is.
pub fn committed(scope_id: &str) -> Option<&str> {
    scope_id.strip_suffix(OF_WORKTREE)
}

/// Finds the scopes that a typed word stands for: the one of that id, else those of a row with that name,
/// else those that begin so. A scope and its uncommitted work are one there: the scope.
pub fn meant<'a>(ids: &(impl Iterator<Item = &'a str> + Clone), word: &str) -> Vec<String> {
    let fitting = |fits: &dyn Fn(&str) -> bool| -> Vec<String> {
        let all: BTreeSet<&str> = ids.clone().filter(|id| fits(id)).collect();
        let is_own = |id: &&&str| committed(id).is_none_or(|of| !all.contains(of));
        all.iter()
            .filter(is_own)
            .map(|id| (*id).to_owned())
            .collect()
    };
    let of_row = |id: &str| {
        id.strip_suffix(word)
            .is_some_and(|base| base.ends_with(':'))
    };
    let ways: [&dyn Fn(&str) -> bool; 3] = [&|id| id == word, &of_row, &|id| {
        !word.is_empty() && id.starts_with(word)
    }];
    let found = ways.iter().map(|fits| fitting(fits));
    found
        .into_iter()
        .find(|ids| !ids.is_empty())
        .unwrap_or_default()
}

/// One scope that is mapped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopeRecord {
    /// The format of the record.
    pub format: u32,
    /// The scope.
    pub scope_id: String,
    /// The row it was mapped by.
    pub row: SourceRow,
    /// The limits that were in force.
    pub config: ScopeConfig,
    /// Which revision it follows.
    pub wanted: WantedRevision,
    /// The commit it stays at, where its row is static.
    #[serde(default)]
    pub frozen: Option<Oid>,
    /// Whether it is made of the files of the worktree: such a record never travels.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub worktree: bool,
    /// The repository of this machine that it is read in, where `map repo --path` was told one: such a record
    /// never travels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// When it was first mapped, RFC 3339 UTC.
    pub created_at: String,
    /// When the record last changed, RFC 3339 UTC.
    pub updated_at: String,
}

/// What a row came to with all that it inherits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ScopeConfig {
    /// Most records of a page.
    pub flush_threshold: u32,
    /// Most tokens of a page.
    pub flush_token_budget: u32,
    /// Tokens that a piece of prose aims at.
    pub chunk_target_tokens: u32,
    /// Tokens that two pieces of prose share.
    pub chunk_overlap_tokens: u32,
    /// Whether its pages are never evicted.
    pub pinned: bool,
}

/// A revision by its name: a record does not change with every commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WantedRevision {
    /// The repository, without credentials; `None` for the one with the map where it has no remote.
    pub origin_url: Option<String>,
    /// The branch.
    pub branch: Option<String>,
    /// The commit as the row has it; `HEAD` is the tip of the branch.
    pub commit: String,
}

impl ScopeRecord {
    /// Makes the record of a row that was mapped now.
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
            created_at: now.to_owned(),
            updated_at: now.to_owned(),
        }
    }

    /// Reads the record that a blob holds; `None` for anything else.
    ///
    /// # Errors
    /// `object-missing`.
    pub fn read(repo: &Repo, blob: Oid) -> Result<Option<ScopeRecord>> {
        if repo.object_size(blob).is_none_or(|size| size > MOST_BYTES) {
            return Ok(None);
        }
        Ok(serde_json::from_slice(&repo.read_blob(blob)?).ok())
    }

    /// Tells whether two records say the same of a scope, whenever they were written.
    pub fn says_what(&self, other: &ScopeRecord) -> bool {
        let ScopeRecord {
            created_at,
            updated_at,
            ..
        } = other.clone();
        let same_times = ScopeRecord {
            created_at,
            updated_at,
            ..self.clone()
        };
        same_times == *other
    }
}

/// A record that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct UnreadableRecord {
    /// The scope, or what stands in its place.
    pub name: String,
    /// What is wrong with it.
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
    /// What is there beside them.
    pub unreadable: Vec<UnreadableRecord>,
}

impl Scopes {
    /// Reads the records at a ref; without one there are none.
    ///
    /// # Errors
    /// `repository-broken`, `object-missing`.
    pub fn load(repo: &Repo, name: &RefName) -> Result<Scopes> {
        let tip = repo.find_ref(name)?;
        let lost =
            |error: Error| error.hint("git colony doctor   # says what is lost, and the way on");
        let mut scopes = Scopes {
            name: name.clone(),
            tip,
            tree: repo.tree_of(tip).map_err(lost)?,
            records: BTreeMap::new(),
            unreadable: Vec::new(),
        };
        for (component, entry) in repo.entries_of(scopes.tree)? {
            if scopes.records.len() + scopes.unreadable.len() == MOST_RECORDS {
                scopes.unreadable.push(UnreadableRecord {
                    name: component.to_string(),
                    reason: format!("there are more than {MOST_RECORDS} records"),
                });
                break;
            }
            match read(repo, &component, &entry)? {
                Ok(record) => drop(scopes.records.insert(record.scope_id.clone(), record)),
                Err(reason) => scopes.unreadable.push(UnreadableRecord {
                    name: component.to_string(),
                    reason,
                }),
            }
        }
        Ok(scopes)
    }

    /// Says what of the records at a commit, as somebody else wrote it, is none; `None` where all is well. What
    /// a newer git-colony wrote is a record, and what is in `known` as well is no news.
    ///
    /// # Errors
    /// `repository-broken`, `object-missing`.
    pub fn flaw(repo: &Repo, commit: Oid, known: &[Oid]) -> Result<Option<String>> {
        let mut before = Vec::new();
        for commit in known {
            let entries = repo.entries_of(repo.tree_of(Some(*commit))?)?;
            before.push(entries.into_iter().collect::<BTreeMap<_, _>>());
        }
        let entries = repo.entries_of(repo.tree_of(Some(commit))?)?;
        if entries.len() > MOST_RECORDS {
            return Ok(Some(format!("it has more than {MOST_RECORDS} records")));
        }
        for (component, entry) in entries {
            if before
                .iter()
                .any(|known| known.get(&component) == Some(&entry))
            {
                continue;
            }
            let reason = match read(repo, &component, &entry)? {
                Ok(record) if record.worktree => "it is of a worktree".to_owned(),
                Ok(_) => continue,
                Err(reason) if reason == NEWER => continue,
                Err(reason) => reason,
            };
            return Ok(Some(format!(
                "'{component}' is no record of a scope: {reason}"
            )));
        }
        Ok(None)
    }

    /// Returns the commit that the records are at.
    pub fn commit(&self) -> Option<Oid> {
        self.tip
    }
}

/// Reads one record; the inner error is the record's.
fn read(
    repo: &Repo,
    component: &RepoPath,
    entry: &TreeEntry,
) -> Result<Result<ScopeRecord, String>> {
    let text = std::str::from_utf8(component.as_bytes()).ok();
    let id = text.and_then(key::decode);
    let id = id.filter(|id| !id.is_empty() && id.len() <= LONGEST_ID);
    let Some(id) = id.filter(|id| !id.contains(char::is_control)) else {
        return Ok(Err("its name stands for no scope".to_owned()));
    };
    if !entry.is_directory() {
        return Ok(Err("it is no directory".to_owned()));
    }
    let Some(file) = repo.leaf_in(entry.id, &RepoPath::from(FILE))? else {
        return Ok(Err(format!("it has no '{FILE}'")));
    };
    let size = repo.object_size(file.id);
    if !file.is_plain_file() || size.is_none_or(|size| size > MOST_BYTES) {
        return Ok(Err(format!("'{FILE}' is no plain file of at most 256 KiB")));
    }
    Ok(parse(&repo.read_blob(file.id)?, &id))
}

fn parse(bytes: &[u8], id: &str) -> Result<ScopeRecord, String> {
    let no_record = |error: serde_json::Error| format!("'{FILE}' is no record: {error}");
    let value: serde_json::Value = serde_json::from_slice(bytes).map_err(no_record)?;
    let format = value.get("format").and_then(serde_json::Value::as_u64);
    if format > Some(u64::from(FORMAT)) {
        return Err(NEWER.to_owned());
    }
    let record: ScopeRecord = serde_json::from_value(value).map_err(no_record)?;
    if record.scope_id != id {
        return Err("it speaks of another scope".to_owned());
    }
    Ok(record)
}
