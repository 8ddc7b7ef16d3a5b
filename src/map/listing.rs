//! The directories and files of a tree, as far as they can be looked at: bounded by depth and number.
//!
//! It goes level by level, so that what is left out is deep, not late in the alphabet. Links and
//! submodules are entries like files: nothing is read through them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::{Oid, Repo, TreeEntry};
use crate::model::{RepoPath, Result};

/// What stands somewhere in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// A directory.
    Directory,
    /// A file.
    File,
    /// A symbolic link.
    Link,
    /// The commit of a submodule.
    Submodule,
}

/// One entry, with what is below it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MapEntry {
    /// Its path; `.` is the root.
    pub path: RepoPath,
    /// What it is.
    pub kind: EntryKind,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// The object.
    pub id: Oid,
    /// The size of a file.
    pub bytes: Option<u64>,
    /// The tokens of a file, or of all files below a directory, shown or not; not there
    /// for what is in no page, nor where they were not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// What is below it, directories first, each by name. Empty also where it is too deep to be shown.
    pub children: Vec<MapEntry>,
}

/// The look at a tree.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TreeReport {
    /// The commit.
    pub commit: Option<Oid>,
    /// The root.
    pub root: MapEntry,
    /// How many entries are shown, the root not counted.
    pub count: usize,
    /// Whether entries were left out, for their number or their depth.
    pub truncated: bool,
}

/// How far a look goes.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Directories below one another; what is in a directory at this depth is left out.
    pub max_depth: usize,
    /// Entries.
    pub max_nodes: usize,
}

/// Looks at the tree of a commit; `None` is a branch without one.
///
/// # Errors
/// `object-missing`.
pub fn list(repo: &Repo, commit: Option<Oid>, bounds: Bounds) -> Result<TreeReport> {
    let tree = repo.tree_of(commit)?;
    let root = MapEntry {
        path: RepoPath::default(),
        kind: EntryKind::Directory,
        is_dir: true,
        id: tree,
        bytes: None,
        tokens: None,
        children: Vec::new(),
    };
    // The children of each directory, by its path: put together when all is known.
    let mut below: BTreeMap<RepoPath, Vec<MapEntry>> = BTreeMap::new();
    let mut level = vec![(root.path.clone(), tree)];
    let (mut count, mut truncated) = (0, false);
    for _ in 0..bounds.max_depth {
        let mut next = Vec::new();
        for (path, tree) in level {
            if count == bounds.max_nodes {
                truncated = true;
                break;
            }
            let mut children = Vec::new();
            for entry in sorted(repo, &path, tree)? {
                if count == bounds.max_nodes {
                    truncated = true;
                    break;
                }
                count += 1;
                if entry.is_dir {
                    next.push((entry.path.clone(), entry.id));
                }
                children.push(entry);
            }
            below.insert(path, children);
        }
        level = next;
    }
    // A tree without entries is never below another: each has something that is not shown.
    truncated |= !level.is_empty();
    let mut root = assemble(root, &mut below);
    root.path = RepoPath::from(".");
    Ok(TreeReport {
        commit,
        root,
        count,
        truncated,
    })
}

/// Puts the tokens of files into a look at their tree, and their sums to the directories.
pub fn put_tokens(report: &mut TreeReport, files: &BTreeMap<RepoPath, u64>) {
    let mut all: BTreeMap<RepoPath, u64> = files.clone();
    for (path, tokens) in files {
        for directory in path.ancestors() {
            *all.entry(directory).or_default() += tokens;
        }
    }
    for entry in &mut report.root.children {
        put(entry, &all);
    }
    report.root.tokens = Some(files.values().sum());
}

fn put(entry: &mut MapEntry, all: &BTreeMap<RepoPath, u64>) {
    let nothing = entry.is_dir.then_some(0);
    entry.tokens = all.get(&entry.path).copied().or(nothing);
    for child in &mut entry.children {
        put(child, all);
    }
}

fn assemble(mut entry: MapEntry, below: &mut BTreeMap<RepoPath, Vec<MapEntry>>) -> MapEntry {
    let children = below.remove(&entry.path).unwrap_or_default().into_iter();
    entry.children = children.map(|child| assemble(child, below)).collect();
    entry
}

fn sorted(repo: &Repo, path: &RepoPath, tree: Oid) -> Result<Vec<MapEntry>> {
    let entries = repo.entries_of(tree)?.into_iter();
    let mut entries: Vec<MapEntry> = entries
        .map(|(name, entry)| MapEntry {
            path: path.join(&name),
            kind: kind_of(&entry),
            is_dir: entry.is_directory(),
            id: entry.id,
            bytes: entry
                .is_file()
                .then(|| repo.object_size(entry.id))
                .flatten(),
            tokens: None,
            children: Vec::new(),
        })
        .collect();
    entries.sort_by(|a, b| (!a.is_dir, &a.path).cmp(&(!b.is_dir, &b.path)));
    Ok(entries)
}

fn kind_of(entry: &TreeEntry) -> EntryKind {
    if entry.is_directory() {
        EntryKind::Directory
    } else if entry.is_link() {
        EntryKind::Link
    } else if entry.is_submodule() {
        EntryKind::Submodule
    } else {
        EntryKind::File
    }
}
