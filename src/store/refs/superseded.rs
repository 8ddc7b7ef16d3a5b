//! The records that a newer record of a shared ref has replaced: kept beside it as `superseded/<blob>.json`.
//!
//! Others wrote these trees. Only the plain files of a tree are copied, so that a forged tree which contains
//! itself a thousand times costs nothing.

use std::collections::BTreeSet;

use crate::git::{Oid, Repo, TreeEntry};
use crate::model::{RepoPath, Result};

/// The folder of these records.
const FOLDER: &str = "superseded";

/// The number of them that are read beside one record.
const MAX_ENTRIES: usize = 1000;

/// Lists the records that the record in a tree has replaced.
pub fn beside(repo: &Repo, record: Oid) -> Result<BTreeSet<Oid>> {
    let Some(folder) = repo.tree_in(record, FOLDER)? else {
        return Ok(BTreeSet::new());
    };
    let files = repo.entries_of(folder)?.into_iter().filter(|(_, entry)| entry.is_plain_file());
    Ok(files.take(MAX_ENTRIES).map(|(_, file)| file.id).collect())
}

/// Returns the path of a record that another one has replaced.
pub fn place_of(record: Oid) -> RepoPath {
    RepoPath::from(format!("{FOLDER}/{record}.json").as_str())
}

/// Writes the tree of a record with the records it has replaced.
pub fn write(repo: &Repo, record: Oid, superseded: &BTreeSet<Oid>) -> Result<Oid> {
    let mut files = repo.entries_of(record)?;
    files.retain(|(_, entry)| entry.is_plain_file());
    files.extend(superseded.iter().map(|blob| (place_of(*blob), TreeEntry::file(*blob))));
    let edits = files.iter().map(|(path, entry)| (path, Some(*entry)));
    repo.edit_tree(repo.empty_tree(), edits)
}
