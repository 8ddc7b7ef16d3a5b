//! What gave way to a record of a ref that travels: kept beside it as `superseded/<blob>.json`.
//!
//! Others wrote those trees. What is taken over of one is its plain files, so that trees of theirs that
//! hold themselves a thousand times over cost nobody anything.

use std::collections::BTreeSet;

use crate::git::{Oid, Repo, TreeEntry};
use crate::model::{RepoPath, Result};

/// Where they are.
const FOLDER: &str = "superseded";

/// No more of them are looked at beside one record.
const MOST: usize = 1000;

/// Lists what gave way to the record in a tree.
///
/// # Errors
/// `object-missing`; `repository-broken` for an entry that makes no sense.
pub fn beside(repo: &Repo, record: Oid) -> Result<BTreeSet<Oid>> {
    let Some(folder) = repo.tree_in(record, FOLDER)? else {
        return Ok(BTreeSet::new());
    };
    let files = repo.entries_of(folder)?.into_iter();
    let files = files.filter(|(_, entry)| entry.is_plain_file());
    Ok(files.take(MOST).map(|(_, file)| file.id).collect())
}

/// Writes the tree of a record with what gave way to it.
///
/// # Errors
/// As [`beside`]; `no-space`, `io`.
pub fn write(repo: &Repo, record: Oid, superseded: &BTreeSet<Oid>) -> Result<Oid> {
    let mut files = repo.entries_of(record)?;
    files.retain(|(_, entry)| entry.is_plain_file());
    files.extend(superseded.iter().map(|blob| {
        let path = format!("{FOLDER}/{blob}.json");
        (RepoPath::from(path.as_str()), TreeEntry::file(*blob))
    }));
    let edits = files.iter().map(|(path, entry)| (path, Some(*entry)));
    repo.edit_tree(repo.empty_tree(), edits)
}
