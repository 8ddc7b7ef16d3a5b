//! Records with many keys that clones share: the mappings of scopes, knowledge, blackboards.
//!
//! Each is a ref whose tree has one entry for each key, and a change of a key is a commit on top. Such a ref is
//! never deleted and never moved back: whatever takes a change back is a new commit on the key. The history
//! decides which keys are new and which were deleted. That of a blackboard is cut off when it is long: a new *era* begins, with
//! a list of what the earlier ones had seen.

use std::collections::{BTreeMap, BTreeSet};

use crate::git::object::NewCommit;
use crate::git::{Oid, RefChange, RefName, Repo, Signature, TreeEntry};
use crate::model::{Code, Error, RepoPath, Result};

use super::record_history::{self, Histories, Values, values_in};
use super::ref_names;

/// The number of commits at which the history of a blackboard starts from scratch.
pub const MAX_COMMITS: u64 = 1_000;

/// The number of commits in all at which a joint version starts from scratch.
const MAX_JOINED: usize = 4_000;

/// The trailer with the number of commits.
const COMMITS: &str = "Commits: ";

/// The trailer with the number of times that the history was cut off before.
const ERA: &str = "Era: ";

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
    let is_whole = whole.iter().any(|record| name.as_bytes() == record.as_bytes());
    is_whole || is_blackboard(name) || is_of_worktree()
}

/// Returns `true` for the ref of a blackboard.
pub fn is_blackboard(name: &RefName) -> bool {
    name.as_bytes().starts_with(ref_names::BLACKBOARDS.as_bytes())
}

/// Returns the keys of a record at a commit; none for `None`. Those of the knowledge base are one level down, below
/// directories named by their first two digits: it has many, and a commit would rewrite them all.
pub fn keys(repo: &Repo, name: &RefName, commit: Option<Oid>) -> Result<Keys> {
    let mut entries = repo.entries_of(repo.tree_of(commit)?)?;
    if name.as_bytes() != ref_names::KNOWLEDGE.as_bytes() {
        if is_blackboard(name) {
            entries.retain(|(key, _)| !record_history::is_list(key));
        }
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
/// history; once these are too many it has no parent, and lists what they have seen.
pub fn write(repo: &Repo, name: &RefName, commit: NewCommit<'_>) -> Result<Oid> {
    write_joint(repo, name, commit, &Joint::default())
}

/// A joint version, beyond its parents.
#[derive(Clone, Debug, Default)]
pub struct Joint {
    /// The values that it lists as deleted.
    pub removed: Values,
    /// The number of commits of the longer history: those of many writers are side by side, and their own count is that
    /// of the longest way.
    pub commits: usize,
}

/// Writes a joint version as an unreferenced commit.
pub fn write_joint(
    repo: &Repo,
    name: &RefName,
    mut commit: NewCommit<'_>,
    joint: &Joint,
) -> Result<Oid> {
    if !is_blackboard(name) {
        return repo.write_commit(commit);
    }
    let mut age = Age::default();
    for parent in &commit.parents {
        age = age.max(Age::of(repo, *parent)?);
    }
    let mut removed = joint.removed.clone();
    if age.commits >= MAX_COMMITS || joint.commits >= MAX_JOINED {
        let mut histories = Histories::new(repo);
        let mut seen = Values::default();
        for parent in &commit.parents {
            let commits = histories.first_commits(*parent, usize::MAX)?;
            seen.extend(&histories.seen(&commits)?);
        }
        seen.extend(&removed);
        removed = seen.without(&values_in(repo, commit.tree)?);
        commit.parents.clear();
        age = Age { era: age.era.saturating_add(1), commits: 0 };
    }
    let mut trailers = format!("{COMMITS}{}\n", age.commits + 1);
    if age.era > 0 {
        trailers = format!("{trailers}{ERA}{}\n", age.era);
    }
    if !removed.is_empty() {
        let (path, entry, trailer) = removed.write(repo)?;
        commit.tree = repo.edit_tree(commit.tree, [(&path, Some(entry))])?;
        trailers.push_str(&trailer);
    }
    commit.message = format!("{}\n\n{trailers}", commit.message);
    repo.write_commit(commit)
}

/// The age of a history of a blackboard, for comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Age {
    /// How often it was cut off.
    pub era: u64,
    /// The commits since then, along the longest way.
    commits: u64,
}

impl Age {
    /// Reads the age at a commit.
    pub fn of(repo: &Repo, commit: Oid) -> Result<Age> {
        let message = repo.message_of(commit)?;
        let number = |trailer: &str| {
            let line = message.lines().rev().find_map(|line| line.strip_prefix(trailer));
            line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
        };
        Ok(Age { era: number(ERA), commits: number(COMMITS) })
    }
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
    pub fn write(mut self, repo: &Repo, who: &Signature) -> Result<RefChange> {
        let mut new = self.now;
        if self.joined != self.current {
            if let Some(now) = self.now.filter(|_| is_blackboard(&self.name)) {
                let current = &self.current;
                let restored =
                    self.joined.iter_mut().filter(|(key, to)| current.get(*key) != Some(*to));
                for (_, entry) in restored {
                    *entry = record_history::written_after(repo, *entry, now)?;
                }
            }
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
