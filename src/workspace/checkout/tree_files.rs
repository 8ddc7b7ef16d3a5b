//! The files of a commit: regular ones, in the order of their paths. The tree may come from a stranger: a few objects
//! can expand to more files than fit in memory.

use crate::git::{Objects, Oid, TreeEntry};
use crate::model::interrupt::Interrupt;
use crate::model::{RepoPath, Result};

/// Longer paths are left out: no system has such a file.
const MAX_PATH_BYTES: usize = 4096;

/// A file of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFile {
    /// Its path from the root.
    pub path: RepoPath,
    /// Its blob.
    pub blob: Oid,
}

/// The result of a listing.
#[derive(Clone, Debug, Default)]
pub struct ListedTree {
    /// The files, sorted by path.
    pub files: Vec<TreeFile>,
    /// Whether there may be more than the maximum number.
    pub is_cut: bool,
}

/// Lists at most `most_files` files of a tree. Every directory that git writes has an entry, so at most that number of
/// directories and entries of other kinds are read for them.
pub fn files_in(
    interrupt: &Interrupt,
    objects: &Objects,
    tree: Oid,
    most_files: usize,
) -> Result<ListedTree> {
    let mut listed = ListedTree::default();
    let mut directories = 0;
    // The entries that are not listed yet, the next one last.
    let mut waiting = entries(objects, tree, &RepoPath::default())?;
    while let Some((path, entry)) = waiting.pop() {
        if entry.is_file() {
            if listed.files.len() >= most_files {
                listed.is_cut = true;
                break;
            }
            let blob = entry.id;
            listed.files.push(TreeFile { path, blob });
        } else if entry.is_directory() && path.as_bytes().len() < MAX_PATH_BYTES {
            interrupt.check()?;
            directories += 1;
            if directories > most_files {
                listed.is_cut = true;
                break;
            }
            waiting.extend(entries(objects, entry.id, &path)?);
        }
    }
    Ok(listed)
}

/// Returns the entries of a directory, the last first.
fn entries(
    objects: &Objects,
    tree: Oid,
    directory: &RepoPath,
) -> Result<Vec<(RepoPath, TreeEntry)>> {
    let entries = objects.list(tree)?.into_iter().rev();
    let named = entries.map(|named| {
        let path = directory.join(&RepoPath::new(named.name));
        (path, named.entry)
    });
    // A tree that git did not write may name what no path can.
    Ok(named.filter(|(path, _)| path.is_safe()).collect())
}
