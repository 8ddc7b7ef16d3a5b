//! Records with many keys that clones share: the mappings of scopes, knowledge, blackboards.
//!
//! Each is a ref whose tree has one entry for each key, and a change of a key is a commit on top. Such a ref is
//! never deleted and never moved back: whatever takes a change back is a new commit on the key. The history is
//! for people; nothing is decided by it alone, for that of a blackboard is cut off when it is long.

use std::collections::{BTreeMap, BTreeSet};

use crate::git::object::NewCommit;
use crate::git::{Oid, RefChange, RefName, Repo, Signature, TreeEntry};
use crate::model::{Code, Error, RepoPath, Result};

use super::ref_names;

/// The number of commits at which the history of a blackboard starts from scratch.
pub const MAX_COMMITS: u64 = 1_000;

/// The trailer with the number of commits.
const COMMITS: &str = "Commits: ";

/// The maximum number of keys of a record that are read.
pub const MAX_KEYS: usize = 100_000;

/// The entries of a record, by key.
pub type Keys = BTreeMap<RepoPath, TreeEntry>;

/// Returns `true` for the ref of a record with many keys: a shared one, or the mappings of one worktree, which
/// are changed in the same way.
pub fn has_keys(name: &RefName) -> bool {
    let whole = [ref_names::SCOPES, ref_names::KNOWLEDGE];
    let is_of_worktree = || {
        let place = ref_names::LOCAL_SCOPES.as_bytes();
        name.as_bytes().starts_with(place)
    };
    let is_whole = whole.iter().any(|one| name.as_bytes() == one.as_bytes());
    is_whole || is_blackboard(name) || is_of_worktree()
}

fn is_blackboard(name: &RefName) -> bool {
    name.as_bytes().starts_with(ref_names::BLACKBOARDS.as_bytes())
}

/// Returns the keys of a record at a commit; none for `None`. Those of the knowledge base are one level down, below
/// directories named by their first two digits: it has many, and a commit would rewrite them all.
pub fn keys(repo: &Repo, name: &RefName, commit: Option<Oid>) -> Result<Keys> {
    let entries = repo.entries_of(repo.tree_of(commit)?)?;
    if name.as_bytes() != ref_names::KNOWLEDGE.as_bytes() {
        return Ok(entries.into_iter().collect());
    }
    let mut keys = Keys::new();
    for (folder, entry) in entries {
        if !entry.is_directory() {
            keys.insert(folder, entry);
            continue;
        }
        let below = repo.entries_of(entry.id)?.into_iter();
        keys.extend(below.map(|(key, entry)| (folder.join(&key), entry)));
        if keys.len() > MAX_KEYS {
            let message = format!("the knowledge base has more than {MAX_KEYS} records");
            return Err(Error::new(Code::RepositoryBroken, message));
        }
    }
    Ok(keys)
}

/// Writes a new version of a record as an unreferenced commit. That of a blackboard counts the commits of its
/// history, and has no parent once these are too many.
pub fn write(repo: &Repo, name: &RefName, mut commit: NewCommit<'_>) -> Result<Oid> {
    if is_blackboard(name) {
        let mut longest = 0;
        for parent in &commit.parents {
            longest = longest.max(commits(repo, *parent)?);
        }
        if longest >= MAX_COMMITS {
            commit.parents.clear();
            longest = 0;
        }
        commit.message = format!("{}\n\n{COMMITS}{}\n", commit.message, longest + 1);
    }
    repo.write_commit(commit)
}

/// Returns the number of commits that a commit of a blackboard counts.
fn commits(repo: &Repo, commit: Oid) -> Result<u64> {
    let message = repo.message_of(commit)?;
    let line = message.lines().rev().find_map(|line| line.strip_prefix(COMMITS));
    Ok(line.and_then(|count| count.trim().parse().ok()).unwrap_or(0))
}

/// A change of a record that takes another one back, key by key.
#[derive(Clone, Debug)]
pub struct TakenBack {
    /// The ref.
    name: RefName,
    /// The version to build on.
    now: Option<Oid>,
    current: Keys,
    joined: Keys,
    /// The keys that have changed again since, as they are stored.
    pub changed_since: BTreeSet<RepoPath>,
}

impl TakenBack {
    /// Gives the keys that differ between the two versions of `back` the entries of the second one, on top of
    /// `now`. A key that has changed since the first is given it, too, and named.
    pub fn plan(repo: &Repo, back: &RefChange, now: Option<Oid>) -> Result<TakenBack> {
        let keys = |commit| keys(repo, &back.name, commit);
        let (from, to) = (keys(back.old)?, keys(back.new)?);
        let current = keys(now)?;
        let mut joined = current.clone();
        let mut changed_since = BTreeSet::new();
        let names: BTreeSet<&RepoPath> = from.keys().chain(to.keys()).collect();
        for name in names {
            let [from, to, now] = [&from, &to, &current].map(|keys| keys.get(name));
            if from == to || now == to {
                continue;
            }
            if now != from {
                changed_since.insert(name.clone());
            }
            match to {
                Some(entry) => joined.insert(name.clone(), *entry),
                None => joined.remove(name),
            };
        }
        Ok(TakenBack { name: back.name.clone(), now, current, joined, changed_since })
    }

    /// Writes it as a commit on top, and returns the move of the ref; old and new are the same if nothing has
    /// to change.
    pub fn write(self, repo: &Repo, who: &Signature) -> Result<RefChange> {
        let mut new = self.now;
        if self.joined != self.current {
            let entries = self.joined.iter().map(|(name, entry)| (name, Some(*entry)));
            let commit = NewCommit {
                tree: repo.edit_tree(repo.empty_tree(), entries)?,
                parents: self.now.into_iter().collect(),
                signature: who,
                message: "take a change back".to_owned(),
            };
            new = Some(write(repo, &self.name, commit)?);
        }
        Ok(RefChange { name: self.name, old: self.now, new })
    }
}
