//! What stands at a name in a hooks folder.

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::script::{self, Content};

/// No hook that we judge by its text is longer.
const READ_BYTES: u64 = 1 << 20;

/// A hook as it is found.
#[derive(Clone, Debug)]
pub(super) struct FoundHook {
    /// Whose it is.
    pub(super) content: Content,
    /// Whether git would run it.
    pub(super) executable: bool,
    /// Its first bytes; those of its target for a link.
    pub(super) bytes: Vec<u8>,
}

impl FoundHook {
    /// Looks at a path; `None` when nothing is there, not even a link that leads nowhere.
    pub(super) fn at(path: &Path) -> Option<FoundHook> {
        let link = std::fs::symlink_metadata(path).ok()?;
        let metadata = std::fs::metadata(path).ok();
        let is_file = metadata.as_ref().is_some_and(std::fs::Metadata::is_file);
        let mut bytes = Vec::new();
        if is_file && let Ok(file) = std::fs::File::open(path) {
            // What cannot be read is judged by what was read: it is not ours.
            drop(file.take(READ_BYTES).read_to_end(&mut bytes));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let hook = name.split('.').next().unwrap_or_default();
        let content = match script::classify(&bytes, hook) {
            // A link to a script of ours was made by somebody else.
            Content::Ours | Content::Edited if link.is_symlink() => Content::Foreign,
            other => other,
        };
        let mode = metadata.map_or(0, |metadata| metadata.permissions().mode());
        Some(FoundHook {
            content,
            executable: is_file && mode & 0o111 != 0,
            bytes,
        })
    }

    /// Returns whose the file at a path is.
    pub(super) fn content_at(path: &Path) -> Option<Content> {
        FoundHook::at(path).map(|standing| standing.content)
    }
}
