//! One key of a blackboard: its values, and the version that stands for them.
//!
//! The name of a file is the id of its content, so that equal files of two clones are one, and different ones
//! never collide. What others wrote is checked: a file that is not a value of this key is reported.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::git::{Oid, Repo, TreeEntry};
use crate::model::{RepoPath, Result};
use crate::store::refs::record_history::value_file;
use crate::store::refs::stored_name;

/// The reason why a value in a newer format is not read.
pub(super) const NEWER: &str = "it was written by a newer git-colony";

/// The format that this version writes, and the newest that it reads.
pub const FORMAT: u32 = 1;

/// The maximum size of a value, in bytes.
pub const MAX_VALUE: usize = 1 << 20;

/// The maximum size of the file of a value: JSON may need six bytes for one.
const MAX_FILE: u64 = 8 << 20;

/// The maximum number of values of a key that are read.
const MAX_VALUES: usize = 100;

/// The version of a key that has no value.
pub const NO_VERSION: &str = "0";

/// A value as it is stored, with all names in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StoredValue {
    format: u32,
    scope: String,
    key: String,
    writes: u64,
    author: String,
    updated_at: String,
    value: String,
    /// The commit of the blackboard before: so no two writes make the same file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

/// A value of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Value {
    /// The text.
    pub value: String,
    /// How many times the key had been written then.
    pub writes: u64,
    /// Who wrote it, `name <email>`.
    pub author: String,
    /// When it was written, RFC 3339 UTC.
    pub updated_at: String,
}

/// A place of a value: the blackboard and the key.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The blackboard.
    pub scope: &'a str,
    /// The key.
    pub key: &'a str,
}

/// A key with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Its values, the earliest first; more than one if clones have written it without knowledge of each other.
    pub values: Vec<Value>,
}

impl Entry {
    /// Reads the key that an entry of a blackboard holds; the inner error is the problem with it.
    pub fn read(
        repo: &Repo,
        scope: &str,
        name: &RepoPath,
        entry: &TreeEntry,
    ) -> Result<std::result::Result<Entry, String>> {
        if !entry.is_directory() {
            return Ok(Err("it is not a directory".to_owned()));
        }
        let mut key: Option<String> = None;
        // Two clones that wrote the same text agree.
        let mut values: BTreeMap<String, Value> = BTreeMap::new();
        for (file, leaf) in repo.entries_of(entry.id)?.into_iter().take(MAX_VALUES) {
            if !leaf.is_plain_file() {
                return Ok(Err(format!("'{file}' is not a plain file")));
            }
            let stored = match read_file(repo, &leaf)? {
                Ok(stored) => stored,
                Err(reason) => return Ok(Err(format!("'{file}' is not a value: {reason}"))),
            };
            let is_here = stored.scope == scope && stored_name::of(&stored.key) == name.to_string();
            if !is_here || key.as_ref().is_some_and(|key| *key != stored.key) {
                return Ok(Err(format!("'{file}' belongs to another key")));
            }
            key = Some(stored.key);
            let value = Value {
                value: stored.value,
                writes: stored.writes,
                author: stored.author,
                updated_at: stored.updated_at,
            };
            let known = values.get(&value.value);
            if known.is_none_or(|known| rank(known) < rank(&value)) {
                values.insert(value.value.clone(), value);
            }
        }
        let Some(key) = key else {
            return Ok(Err("it has no value".to_owned()));
        };
        let mut values: Vec<Value> = values.into_values().collect();
        values.sort_by(|value, other| rank(value).cmp(&rank(other)));
        Ok(Ok(Entry { key, values }))
    }

    /// Returns the version: how many times the key was written, and the beginning of a digest of its values.
    pub fn version(&self) -> String {
        let mut digest = blake3::Hasher::new();
        let mut texts: Vec<&str> = self.values.iter().map(|value| value.value.as_str()).collect();
        texts.sort_unstable();
        for text in texts {
            digest.update(blake3::hash(text.as_bytes()).as_bytes());
        }
        let digest: String = digest.finalize().to_hex().chars().take(8).collect();
        format!("{}-{digest}", self.writes())
    }

    /// Returns how many times the key was written.
    pub fn writes(&self) -> u64 {
        self.values.iter().map(|value| value.writes).max().unwrap_or(0)
    }

    /// Returns `true` if the key has values of several clones.
    pub fn is_in_conflict(&self) -> bool {
        self.values.len() > 1
    }
}

fn rank(value: &Value) -> (&str, u64, &str, &str) {
    let Value { value, writes, author, updated_at } = value;
    (updated_at, *writes, author, value)
}

fn read_file(repo: &Repo, leaf: &TreeEntry) -> Result<std::result::Result<StoredValue, String>> {
    if repo.object_size(leaf.id).is_some_and(|size| size > MAX_FILE) {
        return Ok(Err("it is too large".to_owned()));
    }
    Ok(parse(&repo.read_blob(leaf.id)?))
}

fn parse(bytes: &[u8]) -> std::result::Result<StoredValue, String> {
    let value: serde_json::Value =
        serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let format = value.get("format").and_then(serde_json::Value::as_u64);
    if format > Some(u64::from(FORMAT)) {
        return Err(NEWER.to_owned());
    }
    let stored: StoredValue = serde_json::from_value(value).map_err(|error| error.to_string())?;
    if stored.value.len() > MAX_VALUE {
        return Err("it is too large".to_owned());
    }
    Ok(stored)
}

/// Writes the directory of a key with this one value; `after` is the commit of the blackboard on which it is written.
pub fn write(repo: &Repo, place: Place<'_>, value: &Value, after: Option<Oid>) -> Result<Oid> {
    let Value { value, writes, author, updated_at } = value.clone();
    let stored = StoredValue {
        format: FORMAT,
        scope: place.scope.to_owned(),
        key: place.key.to_owned(),
        writes,
        author,
        updated_at,
        value,
        after: after.map(|commit| commit.to_string()),
    };
    let (path, file) = value_file(repo, &stored)?;
    repo.edit_tree(repo.empty_tree(), [(&path, Some(file))])
}

/// Returns the name of the blackboard that a key says it belongs to; `None` for one that cannot be read.
pub(super) fn scope_in(repo: &Repo, entry: &TreeEntry) -> Result<Option<String>> {
    let first = repo.entries_of(entry.id)?.into_iter().next();
    let Some((_, leaf)) = first.filter(|(_, leaf)| leaf.is_plain_file()) else {
        return Ok(None);
    };
    Ok(read_file(repo, &leaf)?.ok().map(|stored| stored.scope))
}
