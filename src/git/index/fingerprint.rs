//! A digest of an index for later comparison, and whether files agree with their entries by stat
//! data. Reads no content.

use std::path::Path;

use gix::bstr::BStr;
use gix::index::entry::{Flags, Stage};

use crate::git::Repo;
use crate::model::{RepoPath, Result};

use super::{Index, MEANINGFUL, stat_of};

impl Repo {
    /// Returns the fingerprint of the index on disk.
    pub fn index_fingerprint(&self) -> Result<String> {
        Ok(self.shared_index()?.fingerprint())
    }
}

impl Index {
    /// Returns a digest of the paths, modes, blobs, stages and flags of the index. Stat data is
    /// left out, so a mere refresh does not change it.
    pub fn fingerprint(&self) -> String {
        self.file.fingerprint()
    }

    /// Returns `true` if the stat data shows that the file at `path` is unchanged since the index
    /// was written; without an entry, if no file exists there.
    pub fn agrees_with_file(&self, path: &RepoPath, workdir: &Path) -> bool {
        let name = BStr::new(path.as_bytes());
        let entry = self.file.entry_by_path_and_stage(name, Stage::Unconflicted);
        let metadata = std::fs::symlink_metadata(path.under(workdir)).ok();
        match (entry, metadata) {
            (Some(entry), Some(metadata)) => {
                let stat = stat_of(&metadata);
                entry.stat.mtime == stat.mtime && entry.stat.size == stat.size
            }
            (entry, metadata) => entry.is_none() && metadata.is_none(),
        }
    }
}

/// Computes the fingerprint of an index.
pub(super) fn fingerprint_of(file: &gix::index::File) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = Vec::with_capacity(64 * 1024);
    let paths = file.path_backing();
    for entry in file.entries() {
        let flags = entry.flags & (MEANINGFUL | Flags::STAGE_MASK);
        let path = entry.path_in(paths);
        buffer.extend_from_slice(&entry.mode.bits().to_be_bytes());
        buffer.extend_from_slice(&flags.bits().to_be_bytes());
        buffer.extend_from_slice(entry.id.as_slice());
        buffer.extend_from_slice(&(path.len() as u64).to_be_bytes());
        buffer.extend_from_slice(path);
        if buffer.len() > 60 * 1024 {
            hasher.update(&buffer);
            buffer.clear();
        }
    }
    hasher.update(&buffer);
    let hex = hasher.finalize().to_hex();
    hex.as_str().chars().take(40).collect()
}
