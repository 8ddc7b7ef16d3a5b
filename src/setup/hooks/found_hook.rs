//! The file at a path in a hooks folder.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::git::plain_file::{self, Symlinks};

use super::script::{self, Content};

/// The number of bytes read to classify a hook.
const READ_BYTES: u64 = 1 << 20;

/// A hook as it was found.
#[derive(Clone, Debug)]
pub(super) struct FoundHook {
    /// Its kind.
    pub(super) content: Content,
    /// Whether git would run it.
    pub(super) executable: bool,
    /// Its first bytes; for a symlink, those of its target.
    pub(super) bytes: Vec<u8>,
}

impl FoundHook {
    /// Reads a path; `None` if nothing is there, not even a dangling symlink.
    pub(super) fn at(path: &Path) -> Option<FoundHook> {
        let link = std::fs::symlink_metadata(path).ok()?;
        let metadata = std::fs::metadata(path).ok();
        let is_file = metadata.as_ref().is_some_and(std::fs::Metadata::is_file);
        // A file that cannot be read is not ours.
        let beginning = plain_file::find_beginning(path, Symlinks::Followed, READ_BYTES);
        let bytes = beginning.ok().flatten().unwrap_or_default();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let hook = name.split('.').next().unwrap_or_default();
        let content = match script::classify(&bytes, hook) {
            // A symlink to a script of ours was created by another program.
            Content::Ours | Content::Edited if link.is_symlink() => Content::Foreign,
            other => other,
        };
        let mode = metadata.map_or(0, |metadata| metadata.permissions().mode());
        Some(FoundHook { content, executable: is_file && mode & 0o111 != 0, bytes })
    }

    /// Returns the kind of the file at a path.
    pub(super) fn content_at(path: &Path) -> Option<Content> {
        FoundHook::at(path).map(|standing| standing.content)
    }
}
