//! A blackboard as it is: its keys, and the blackboards of a repository.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::{Oid, RefName, Repo, TreeEntry};
use crate::model::text::words_after_options;
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::key;
use crate::store::refs::{ref_names, shared_record, stored_name};

use super::entry::{Entry, NEWER};

/// The maximum number of keys of a blackboard.
pub const MAX_KEYS: usize = 10_000;

/// The maximum length of the name of a blackboard or a key, in bytes.
pub const MAX_NAME: usize = 1_024;

/// An entry of a blackboard that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnreadableKey {
    /// The key, or the name of the entry.
    pub name: String,
    /// The reason.
    pub reason: String,
}

/// A blackboard at one commit; nothing of a key is read yet.
#[derive(Clone, Debug)]
pub struct Board {
    /// The blackboard.
    pub scope: String,
    /// Its ref.
    pub name: RefName,
    /// Its commit; `None` if there is no such blackboard.
    pub tip: Option<Oid>,
    pub(super) keys: shared_record::Keys,
}

impl Board {
    /// Opens a blackboard, which need not exist.
    pub fn open(repo: &Repo, scope: &str) -> Result<Board> {
        check_name("blackboard", scope)?;
        let full_name = format!("{}{}", ref_names::BLACKBOARDS, stored_name::of(scope));
        let name = RefName::from(full_name.as_str());
        let tip = repo.find_ref(&name)?;
        Ok(Board {
            scope: scope.to_owned(),
            keys: shared_record::keys(repo, &name, tip)?,
            name,
            tip,
        })
    }

    /// Reads a key; `None` if it has no value.
    pub fn find(&self, repo: &Repo, key: &str) -> Result<Option<Entry>> {
        check_name("key", key)?;
        let name = RepoPath::from(stored_name::of(key).as_str());
        let Some(entry) = self.keys.get(&name) else {
            return Ok(None);
        };
        Entry::read(repo, &self.scope, &name, entry)?.map(Some).map_err(|reason| {
            let message = format!("cannot read the key '{key}': {reason}");
            if reason.ends_with(NEWER) {
                return Error::new(Code::NewerFormat, message).unchanged();
            }
            let words = words_after_options(&[&self.scope, key]);
            let hint = format!("git colony blackboard delete {words}");
            Error::new(Code::RepositoryBroken, message).hint(hint)
        })
    }

    /// Reads all keys, by name, and lists the entries that cannot be read.
    pub fn read(&self, repo: &Repo) -> Result<(Vec<Entry>, Vec<UnreadableKey>)> {
        let (mut entries, mut unreadable) = (BTreeMap::new(), Vec::new());
        for (name, entry) in self.keys.iter().take(MAX_KEYS) {
            match Entry::read(repo, &self.scope, name, entry)? {
                Ok(entry) => drop(entries.insert(entry.key.clone(), entry)),
                Err(reason) => {
                    unreadable.push(UnreadableKey { name: stored_name::shown(name), reason });
                }
            }
        }
        Ok((entries.into_values().collect(), unreadable))
    }

    /// Returns `true` if something is stored under a name.
    pub(super) fn has(&self, stored: &RepoPath) -> bool {
        self.keys.contains_key(stored)
    }

    /// Writes the tree in which one stored name has another entry, or none.
    pub(super) fn with(
        &self,
        repo: &Repo,
        stored: &RepoPath,
        entry: Option<TreeEntry>,
    ) -> Result<Oid> {
        let mut keys = self.keys.clone();
        match entry {
            Some(entry) => keys.insert(stored.clone(), entry),
            None => keys.remove(stored),
        };
        let keys = keys.iter().map(|(name, entry)| (name, Some(*entry)));
        repo.edit_tree(repo.empty_tree(), keys)
    }

    /// Returns the number of keys.
    pub fn key_count(&self) -> usize {
        self.keys.len()
    }
}

/// Lists the blackboards that have keys, by name, and the refs that cannot be read as one: these do not hide the
/// others.
pub fn list(repo: &Repo) -> Result<(Vec<Board>, Vec<UnreadableKey>)> {
    let (mut boards, mut unreadable) = (BTreeMap::new(), Vec::new());
    for reference in repo.refs_below(ref_names::BLACKBOARDS)? {
        let stored = reference.name.to_string();
        let mut leave_out = |reason: String| {
            unreadable.push(UnreadableKey { name: stored.clone(), reason });
        };
        let keys = match shared_record::keys(repo, &reference.name, Some(reference.id)) {
            Ok(keys) if keys.is_empty() => continue,
            Ok(keys) => keys,
            Err(error) => {
                leave_out(error.message());
                continue;
            }
        };
        let encoded = stored.strip_prefix(ref_names::BLACKBOARDS);
        let scope = match encoded.and_then(key::decode) {
            Some(scope) => Some(scope),
            None => whole_name(repo, &keys)?,
        };
        let Some(scope) = scope else {
            leave_out("its name is not that of a blackboard".to_owned());
            continue;
        };
        let board =
            Board { scope: scope.clone(), name: reference.name, tip: Some(reference.id), keys };
        boards.insert(scope, board);
    }
    Ok((boards.into_values().collect(), unreadable))
}

/// Returns the name of a blackboard whose ref has a digest of it.
fn whole_name(repo: &Repo, keys: &shared_record::Keys) -> Result<Option<String>> {
    for entry in keys.values().filter(|entry| entry.is_directory()) {
        if let Some(scope) = super::entry::scope_in(repo, entry)? {
            return Ok(Some(scope));
        }
    }
    Ok(None)
}

fn check_name(what: &str, name: &str) -> Result<()> {
    if name.len() > MAX_NAME {
        let message = format!(
            "the name of a {what} has at most {MAX_NAME} bytes, this one has {}",
            name.len()
        );
        return Err(Error::new(Code::ValueTooLarge, message).unchanged());
    }
    if name.is_empty() || name.contains(char::is_control) {
        let message = format!("a {what} needs a name without control characters");
        return Err(Error::new(Code::InvalidValue, message).unchanged());
    }
    Ok(())
}
