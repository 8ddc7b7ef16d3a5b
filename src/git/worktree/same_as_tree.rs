//! Compares a file with a tree's entry from outside: no filter runs, nothing is written.
//!
//! A file that a filter changes is comparable only if git-lfs stores it, by its digest. Any other
//! such file counts as different, since only its filter could decide.

use std::os::unix::fs::PermissionsExt as _;

use crate::git::lfs::lfs_objects::digest_of;
use crate::git::lfs::lfs_pointer::Pointer;
use crate::git::{Repo, TreeEntry};
use crate::model::RepoPath;

use super::{file_writer, safe_open};

/// The maximum size of a file to read; larger ones count as different.
const MAX_READ_BYTES: u64 = 64 << 20;

impl Repo {
    /// Returns `true` if the file at `path` certainly has the content of `entry`, or if both are
    /// absent.
    pub fn is_surely_as(&self, path: &RepoPath, entry: Option<TreeEntry>) -> bool {
        let Ok(metadata) = file_writer::metadata_without_links(self, path) else {
            return false;
        };
        let (metadata, entry) = match (metadata, entry) {
            (Some(metadata), Some(entry)) => (metadata, entry),
            (metadata, entry) => return metadata.is_none() && entry.is_none(),
        };
        if metadata.is_symlink() && entry.is_link() {
            let target = safe_open::read_link(self.workdir(), path).ok().flatten();
            let id = target.and_then(|target| self.hash_blob(&target).ok());
            return id == Some(entry.id);
        }
        let keeps_mode = self.config_bool("core.fileMode").unwrap_or(true);
        let is_executable = metadata.permissions().mode() & 0o100 != 0;
        let has_mode = !keeps_mode || entry.is_plain_file() != is_executable;
        metadata.is_file() && entry.is_file() && has_mode && self.has_bytes_of(path, &entry)
    }

    /// Compares a file with a blob, or with the large file of the pointer in it.
    fn has_bytes_of(&self, path: &RepoPath, entry: &TreeEntry) -> bool {
        let Ok(Some(bytes)) = self.read_file(path, MAX_READ_BYTES) else {
            return false;
        };
        if self.hash_blob(&bytes).ok() == Some(entry.id) {
            return true;
        }
        let pointer = Pointer::of_blob(self, entry.id);
        pointer.is_some_and(|pointer| {
            pointer.size_bytes == bytes.len() as u64
                && digest_of(&bytes).as_deref() == Some(pointer.oid.as_str())
        })
    }
}
