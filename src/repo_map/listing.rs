//! The directories and files of a tree, with limits for depth and number.
//!
//! The listing goes level by level, so that deep entries are left out first, not those late in the
//! alphabet. Symlinks and submodules are entries like files: nothing is read through them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::{Oid, Repo, TreeEntry};
use crate::model::{RepoPath, Result};

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// A directory.
    Directory,
    /// A file.
    File,
    /// A symlink.
    Link,
    /// The commit of a submodule.
    Submodule,
}

/// An entry, with the entries below it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MapEntry {
    /// Its path; `.` is the root.
    pub path: RepoPath,
    /// Its kind.
    pub kind: EntryKind,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// The object.
    pub id: Oid,
    /// The size of a file.
    pub bytes: Option<u64>,
    /// The tokens of a file, or of all files below a directory, shown or not; absent for files that
    /// are in no page, and if tokens were not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Its children, directories first, each by name. Also empty below the maximum depth.
    pub children: Vec<MapEntry>,
}

/// A listing of a tree.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TreeReport {
    /// The repository, if it was named by its URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin_url: Option<String>,
    /// The commit.
    pub commit: Option<Oid>,
    /// The root.
    pub root: MapEntry,
    /// The number of entries shown, without the root.
    pub count: usize,
    /// Whether entries were left out because of their number or depth.
    pub truncated: bool,
}

/// The limits of a listing.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The maximum depth; the contents of a directory at this depth are left out.
    pub max_depth: usize,
    /// The maximum number of entries.
    pub max_nodes: usize,
}

/// Lists the tree of a commit; `None` is a branch without one.
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
    // The children of each directory, by its path: assembled at the end.
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
    // Git trees have no empty subtrees: each directory left here has an entry that is not shown.
    truncated |= !level.is_empty();
    let mut root = assemble(root, &mut below);
    root.path = RepoPath::from(".");
    Ok(TreeReport { origin_url: None, commit, root, count, truncated })
}

/// Adds the tokens of files to a listing of their tree, and their sums to the directories: those with most come first.
pub fn put_tokens(report: &mut TreeReport, files: &BTreeMap<RepoPath, u64>) {
    let mut all: BTreeMap<RepoPath, u64> = files.clone();
    for (path, tokens) in files {
        for directory in path.ancestors() {
            *all.entry(directory).or_default() += tokens;
        }
    }
    put_below(&mut report.root.children, &all);
    report.root.tokens = Some(files.values().sum());
}

fn put_below(entries: &mut [MapEntry], all: &BTreeMap<RepoPath, u64>) {
    for entry in &mut *entries {
        let nothing = entry.is_dir.then_some(0);
        entry.tokens = all.get(&entry.path).copied().or(nothing);
        put_below(&mut entry.children, all);
    }
    // A stable sort: equal ones stay in their order.
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.tokens));
}

fn assemble(mut entry: MapEntry, below: &mut BTreeMap<RepoPath, Vec<MapEntry>>) -> MapEntry {
    let children = below.remove(&entry.path).unwrap_or_default().into_iter();
    entry.children = children.map(|child| assemble(child, below)).collect();
    entry
}

fn sorted(repo: &Repo, path: &RepoPath, tree: Oid) -> Result<Vec<MapEntry>> {
    let mut entries: Vec<MapEntry> = repo
        .entries_of(tree)?
        .into_iter()
        .map(|(name, entry)| MapEntry {
            path: path.join(&name),
            kind: kind_of(&entry),
            is_dir: entry.is_directory(),
            id: entry.id,
            bytes: entry.is_file().then(|| repo.object_size(entry.id)).flatten(),
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
