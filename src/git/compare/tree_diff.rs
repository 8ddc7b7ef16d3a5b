//! Comparing trees without renames (those: `git_diff`): which paths differ, and how.

use std::collections::{HashMap, HashSet};

use gix::diff::tree::recorder::Change as RecordedChange;
use gix::objs::tree::{EntryKind, EntryMode};

use crate::git::{Oid, Repo, TreeEntry};
use crate::model::{RepoPath, Result};

use super::bounded_diff::changed_files;
use super::tree_weight::MAX_CHANGES;

/// One path that differs between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeChange {
    /// The path of a file, symlink or submodule; never a directory.
    pub path: RepoPath,
    /// The entry in the first tree.
    pub old: Option<TreeEntry>,
    /// The entry in the second tree.
    pub new: Option<TreeEntry>,
}

impl Repo {
    /// Lists the paths that differ between two trees, sorted by path.
    ///
    /// Costs reading the trees that differ, and no blob.
    pub fn diff_trees(&self, old: Oid, new: Oid) -> Result<Vec<TreeChange>> {
        if old == new {
            return Ok(Vec::new());
        }
        let changes = changed_files(&self.inner, &self.tree_cache, (old, new), MAX_CHANGES)?
            .map_err(|why| why.error((old, new)))?;
        let mut by_path = std::collections::BTreeMap::<RepoPath, TreeChange>::new();
        for record in changes {
            let change = from_record(record);
            match by_path.entry(change.path.clone()) {
                std::collections::btree_map::Entry::Vacant(slot) => drop(slot.insert(change)),
                // A file that became a directory is a deletion and additions below it; a path that
                // occurs twice is a type change in two halves.
                std::collections::btree_map::Entry::Occupied(mut slot) => {
                    let known = slot.get_mut();
                    known.old = known.old.or(change.old);
                    known.new = known.new.or(change.new);
                }
            }
        }
        Ok(by_path
            .into_values()
            .filter(|change| change.old.is_some() || change.new.is_some())
            .collect())
    }

    /// Lists every path of a tree.
    pub fn list_tree(&self, tree: Oid) -> Result<Vec<TreeChange>> {
        self.diff_trees(self.empty_tree(), tree)
    }

    /// Lists the files of a tree that have no counterpart in another. A pair of trees is compared
    /// once, even if it occurs in several places, so that a tree costs no more than its objects.
    pub fn new_files(&self, old: Oid, new: Oid) -> Result<Vec<(RepoPath, TreeEntry)>> {
        let mut files = Vec::new();
        let mut seen = HashSet::from([(old, new)]);
        let mut waiting = vec![(None::<RepoPath>, old, new)];
        while let Some((folder, old, new)) = waiting.pop() {
            let before: HashMap<RepoPath, TreeEntry> = self.entries_of(old)?.into_iter().collect();
            for (name, entry) in self.entries_of(new)? {
                let there = before.get(&name).copied();
                let path = || folder.as_ref().map_or(name.clone(), |parent| parent.join(&name));
                if entry.is_directory() {
                    let there = there.filter(TreeEntry::is_directory);
                    let pair = (there.map_or(self.empty_tree(), |tree| tree.id), entry.id);
                    if pair.0 != pair.1 && seen.insert(pair) {
                        waiting.push((Some(path()), pair.0, pair.1));
                    }
                } else if there.is_none_or(|earlier| earlier.is_directory()) {
                    files.push((path(), entry));
                }
            }
        }
        files.sort_by(|file, other| file.0.cmp(&other.0));
        Ok(files)
    }
}

fn from_record(record: RecordedChange) -> TreeChange {
    use RecordedChange as C;
    match record {
        C::Addition { entry_mode, oid, path, .. } => {
            TreeChange { path: RepoPath::new(path), old: None, new: leaf(entry_mode, oid) }
        }
        C::Deletion { entry_mode, oid, path, .. } => {
            TreeChange { path: RepoPath::new(path), old: leaf(entry_mode, oid), new: None }
        }
        C::Modification { previous_entry_mode, previous_oid, entry_mode, oid, path } => {
            TreeChange {
                path: RepoPath::new(path),
                old: leaf(previous_entry_mode, previous_oid),
                new: leaf(entry_mode, oid),
            }
        }
    }
}

fn leaf(mode: EntryMode, id: gix::ObjectId) -> Option<TreeEntry> {
    let kind = mode.kind();
    (kind != EntryKind::Tree).then(|| TreeEntry { kind, id: id.into() })
}
