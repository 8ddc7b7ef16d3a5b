//! The folders of clones below the shared root, and the records in them.

use std::path::{Path, PathBuf};

use crate::store::key;
use crate::store::membership::{self, Membership};

/// Lists the subfolders with encoded names.
pub(super) fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut folders: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| key::decode(name).is_some()) && path.is_dir()
        })
        .collect();
    folders.sort();
    folders
}

/// Reads the record of the clone at `place`, if it exists and is its own.
pub fn membership_at(place: &Path) -> Option<Membership> {
    let path = membership::path_in(&place.join(".git"));
    let member = Membership::read(&path).ok().flatten()?;
    (!member.is_misplaced_at(place)).then_some(member)
}
