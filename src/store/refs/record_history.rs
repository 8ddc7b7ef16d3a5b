//! What the history of a blackboard has seen: the values that it has, and those that were replaced or deleted.
//!
//! A value that only one of two versions has was added on that side, or deleted on the other: deleted, if the other's
//! history has seen it. A value is known by its blob, and no two writes make the same one. A history that is cut off
//! takes along a list of what it had seen, so that nothing deleted comes back.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::git::{Oid, Repo, TreeEntry};
use crate::model::{Code, Error, RepoPath, Result, ResultExt as _};

/// The entry of a tree with the list. No encoded name begins like this.
const LIST: &str = "%removed";

/// The trailer of a commit with a list: the number of its lines.
const REMOVED: &str = "Removed: ";

/// The maximum number of values that a list has: the newest.
const MAX_LISTED: usize = 50_000;

/// The maximum size of a list, in bytes.
const MAX_BYTES: u64 = 2 << 20;

/// The maximum number of commits that are read of histories to be joined. Those of ours are cut off long before.
const MAX_WALKED: usize = 50_000;

/// The maximum number of keys that are read of all versions in a history.
const MAX_READ: usize = 5_000_000;

/// The number of hex digits of a blob in a list.
const DIGITS: usize = 16;

/// Values, by the first digits of their blobs, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    order: Vec<u64>,
    known: BTreeSet<u64>,
}

impl Values {
    /// Returns `true` if there are none.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Returns `true` if a blob is one of them.
    pub fn has(&self, blob: Oid) -> bool {
        self.known.contains(&digits(blob))
    }

    /// Returns `true` if they include all others.
    pub fn include(&self, others: &Values) -> bool {
        self.known.is_superset(&others.known)
    }

    /// Returns these without others.
    #[must_use]
    pub fn without(&self, others: &Values) -> Values {
        let mut left = Values::default();
        let kept = self.order.iter().filter(|value| !others.known.contains(value));
        kept.for_each(|value| left.add(*value));
        left
    }

    fn add(&mut self, value: u64) {
        if self.known.insert(value) {
            self.order.push(value);
        }
    }

    /// Adds others, as newer ones.
    pub fn extend(&mut self, others: &Values) {
        others.order.iter().for_each(|value| self.add(*value));
    }

    /// Writes them as an entry for a tree, with the trailer for its commit.
    pub(super) fn write(&self, repo: &Repo) -> Result<(RepoPath, TreeEntry, String)> {
        let newest = self.order.len().saturating_sub(MAX_LISTED);
        let listed = self.order.get(newest..).unwrap_or_default();
        let lines: Vec<String> = listed.iter().map(|value| format!("{value:016x}\n")).collect();
        let entry = TreeEntry::file(repo.write_blob(lines.concat().as_bytes())?);
        Ok((RepoPath::from(LIST), entry, format!("{REMOVED}{}\n", listed.len())))
    }
}

fn digits(blob: Oid) -> u64 {
    let hex = blob.to_string();
    u64::from_str_radix(hex.get(..DIGITS).unwrap_or_default(), 16).unwrap_or_default()
}

/// Returns `true` for the list in the tree of a blackboard, which is not a key.
pub(super) fn is_list(name: &RepoPath) -> bool {
    name.as_bytes() == LIST.as_bytes()
}

/// The commits and trees of histories of one blackboard, each read once: to join the outboxes of many writers, the same
/// history is compared with each of them.
pub struct Histories<'r> {
    repo: &'r Repo,
    /// The commits; `None` for one that is not here.
    commits: BTreeMap<Oid, Option<Node>>,
    /// The keys of each tree, as numbers in `keys`, and how many entries it has.
    trees: BTreeMap<Oid, (Vec<usize>, usize)>,
    /// The number of the directory of each key that a tree has.
    numbers: BTreeMap<Oid, usize>,
    /// The values in each of these directories.
    keys: Vec<Vec<u64>>,
}

struct Node {
    tree: Oid,
    parents: Vec<Oid>,
    has_list: bool,
}

impl<'r> Histories<'r> {
    /// No commit is read yet.
    pub fn new(repo: &'r Repo) -> Histories<'r> {
        Histories {
            repo,
            commits: BTreeMap::new(),
            trees: BTreeMap::new(),
            numbers: BTreeMap::new(),
            keys: Vec::new(),
        }
    }

    /// Lists the commits of a history, the newest first. A commit that is not here ends it. Refuses more than 50,000,
    /// with `value-too-large`.
    pub fn commits(&mut self, tip: Oid) -> Result<Vec<Oid>> {
        let first_commits = self.first_commits(tip, MAX_WALKED + 1)?;
        if first_commits.len() <= MAX_WALKED {
            return Ok(first_commits);
        }
        let message = format!("a version of it has more than {MAX_WALKED} commits");
        Err(Error::new(Code::ValueTooLarge, message))
    }

    /// Lists the newest commits of a history, at most this number of them.
    pub fn first_commits(&mut self, tip: Oid, most: usize) -> Result<Vec<Oid>> {
        let mut commits = Vec::new();
        let mut known = BTreeSet::from([tip]);
        let mut open = VecDeque::from([tip]);
        while let Some(commit) = open.pop_front() {
            let Some(node) = self.node(commit)? else {
                continue;
            };
            commits.push(commit);
            open.extend(node.parents.iter().filter(|parent| known.insert(**parent)));
            if commits.len() == most {
                break;
            }
        }
        Ok(commits)
    }

    fn node(&mut self, commit: Oid) -> Result<Option<&Node>> {
        if !self.commits.contains_key(&commit) {
            let is_here = self.repo.object_size(commit).is_some();
            let node = is_here.then(|| self.read_node(commit)).transpose()?;
            self.commits.insert(commit, node);
        }
        Ok(self.commits.get(&commit).and_then(Option::as_ref))
    }

    fn read_node(&self, commit: Oid) -> Result<Node> {
        let read = self.repo.read_commit(commit)?;
        let message = self.repo.message_of(commit)?;
        let has_list = message.lines().any(|line| line.starts_with(REMOVED));
        Ok(Node { tree: read.tree, parents: read.parents, has_list })
    }

    /// Returns those of some commits that have no parent.
    pub fn roots(&mut self, commits: &[Oid]) -> Result<BTreeSet<Oid>> {
        let mut roots = BTreeSet::new();
        for commit in commits {
            if self.node(*commit)?.is_some_and(|node| node.parents.is_empty()) {
                roots.insert(*commit);
            }
        }
        Ok(roots)
    }

    /// Returns the values in the lists of some commits.
    fn listed(&mut self, commits: &[Oid]) -> Result<Values> {
        let mut values = Values::default();
        for commit in commits.iter().rev() {
            let node = self.node(*commit)?;
            if let Some(tree) = node.filter(|node| node.has_list).map(|node| node.tree) {
                add_list(self.repo, tree, &mut values)?;
            }
        }
        Ok(values)
    }

    /// Returns all values that some commits have or list.
    pub fn seen(&mut self, commits: &[Oid]) -> Result<Values> {
        let mut values = self.listed(commits)?;
        let (mut added, mut trees, mut read) = (Vec::new(), BTreeSet::new(), 0);
        for commit in commits.iter().rev() {
            let tree = self.node(*commit)?.map(|node| node.tree);
            if let Some(tree) = tree.filter(|tree| trees.insert(*tree)) {
                read += self.add_values(tree, &mut added, &mut values)?;
            }
            if read > MAX_READ {
                let message = format!("its versions have more than {MAX_READ} keys in all");
                return Err(Error::new(Code::ValueTooLarge, message));
            }
        }
        Ok(values)
    }

    /// Adds the values of all keys in a tree; `added` says which keys were added before. Returns the number of entries.
    fn add_values(
        &mut self,
        tree: Oid,
        added: &mut Vec<bool>,
        values: &mut Values,
    ) -> Result<usize> {
        self.read_tree(tree)?;
        let Some((keys, entries)) = self.trees.get(&tree) else {
            return Ok(0);
        };
        added.resize(self.keys.len(), false);
        for &number in keys {
            let (Some(added), Some(key)) = (added.get_mut(number), self.keys.get(number)) else {
                continue;
            };
            if !std::mem::replace(added, true) {
                for value in key {
                    values.add(*value);
                }
            }
        }
        Ok(*entries)
    }

    fn read_tree(&mut self, tree: Oid) -> Result<()> {
        if self.trees.contains_key(&tree) {
            return Ok(());
        }
        let entries = self.repo.entries_of(tree)?;
        let mut keys = Vec::new();
        for (_, key) in entries.iter().filter(|(_, key)| key.is_directory()) {
            if !self.numbers.contains_key(&key.id) {
                let files = self.repo.entries_of(key.id)?.into_iter();
                self.numbers.insert(key.id, self.keys.len());
                self.keys.push(files.map(|(_, file)| digits(file.id)).collect());
            }
            keys.extend(self.numbers.get(&key.id));
        }
        self.trees.insert(tree, (keys, entries.len()));
        Ok(())
    }
}

/// Returns the values in a tree.
pub fn values_in(repo: &Repo, tree: Oid) -> Result<Values> {
    let mut values = Values::default();
    Histories::new(repo).add_values(tree, &mut Vec::new(), &mut values)?;
    Ok(values)
}

/// Adds the values of the list in a tree. One that is too large to be ours, or no text, lists nothing.
fn add_list(repo: &Repo, tree: Oid, values: &mut Values) -> Result<()> {
    let list = repo.leaf_in(tree, &RepoPath::from(LIST))?.filter(TreeEntry::is_plain_file);
    let is_ours =
        |list: &TreeEntry| repo.object_size(list.id).is_some_and(|size| size <= MAX_BYTES);
    if let Some(list) = list.filter(is_ours) {
        let text = repo.read_blob(list.id)?;
        let lines = std::str::from_utf8(&text).unwrap_or_default().lines();
        lines
            .filter_map(|line| u64::from_str_radix(line, 16).ok())
            .for_each(|value| values.add(value));
    }
    Ok(())
}

/// The member of a value that names the commit of the blackboard on which it was written.
const AFTER: &str = "after";

/// Returns the directory of a key whose values are new ones on top of a commit: a restored value is a write of its own.
pub(super) fn written_after(repo: &Repo, key: TreeEntry, commit: Oid) -> Result<TreeEntry> {
    if !key.is_directory() {
        return Ok(key);
    }
    let mut files = Vec::new();
    for (path, file) in repo.entries_of(key.id)? {
        let json = if file.is_plain_file() { repo.read_blob(file.id)? } else { Vec::new() };
        match serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&json) {
            Ok(mut value) => {
                value.insert(AFTER.to_owned(), commit.to_string().into());
                files.push(value_file(repo, &value)?);
            }
            Err(_) => files.push((path, file)),
        }
    }
    let files = files.iter().map(|(path, file)| (path, Some(*file)));
    Ok(TreeEntry::directory(repo.edit_tree(repo.empty_tree(), files)?))
}

/// Writes the file of a value, whose name is its blob.
pub fn value_file(repo: &Repo, value: &impl serde::Serialize) -> Result<(RepoPath, TreeEntry)> {
    let mut json = serde_json::to_vec_pretty(value).or_code(Code::Io, || "cannot write a value")?;
    json.push(b'\n');
    let blob = repo.write_blob(&json)?;
    Ok((RepoPath::from(format!("{blob}.json").as_str()), TreeEntry::file(blob)))
}
