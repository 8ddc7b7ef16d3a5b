//! Files of a checkout that are read for its clones: only those that no other user could have written.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::git::plain_file::{self, Symlinks};
use crate::git::scratch::own_user;

/// The maximum size of a file that is copied.
const MAX_BYTES: u64 = 1 << 20;

/// The files that were looked at, each with its stamp and whether it may be used.
#[derive(Default)]
pub(super) struct Sources {
    known: BTreeMap<PathBuf, (String, bool)>,
}

impl Sources {
    /// Notes a file, or that there is none; returns `true` if its content may be used.
    pub(super) fn note(&mut self, path: &Path) -> bool {
        let read = || (stamp(path), is_own(path));
        self.known.entry(path.to_owned()).or_insert_with(read).1
    }

    /// Reads a file that may be used; `None` if there is none.
    pub(super) fn read(&mut self, path: &Path) -> Option<Vec<u8>> {
        let may = self.note(path);
        // One that is too large, or no file, has no lines that a clone needs.
        let read = || plain_file::find(path, Symlinks::Followed, MAX_BYTES).ok().flatten();
        may.then(read).flatten()
    }

    /// Lists the files with their stamps.
    pub(super) fn stamps(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.known.iter().map(|(path, (stamp, _))| (path.as_path(), stamp.as_str()))
    }

    /// Lists the files that may not be used.
    pub(super) fn refused(&self) -> Vec<PathBuf> {
        let refused = self.known.iter().filter(|(_, (_, may))| !may);
        refused.map(|(path, _)| path.clone()).collect()
    }
}

/// Returns `true` if a file belongs to this user and no other may write to it; also if there is none. A group with the
/// number of the user is the user's own, by the convention of systems whose files are writable by it.
pub fn is_own(path: &Path) -> bool {
    let Ok(metadata) = std::fs::metadata(path) else {
        return true;
    };
    let user = own_user();
    let others = if metadata.gid() == user { 0o002 } else { 0o022 };
    metadata.uid() == user && metadata.mode() & others == 0
}

/// Returns a text that changes when a file does: its inode, size and times; `-` if there is none.
pub(super) fn stamp(path: &Path) -> String {
    std::fs::metadata(path).map_or_else(
        |_| "-".to_owned(),
        |metadata| {
            let (inode, size, mode) = (metadata.ino(), metadata.size(), metadata.mode());
            format!("{inode}:{size}:{mode:o}:{}.{:09}", metadata.mtime(), metadata.mtime_nsec())
        },
    )
}
