//! The lines that changes add and delete, counted here: an overview of many branches starts no git for each.

use gix::diff::blob::{Algorithm, Diff, InternedInput};

use crate::git::{Repo, TreeEntry};

use super::tree_diff::TreeChange;

/// More files are not counted.
const MAX_FILES: usize = 200;

/// More bytes are not read.
const MAX_BYTES: u64 = 4 << 20;

/// A zero byte in the first bytes makes a file binary, as for git.
const LOOKED_AT: usize = 8_000;

/// Numbers of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Those that are new.
    pub added: u64,
    /// Those that are gone.
    pub deleted: u64,
}

impl Repo {
    /// Counts the lines of changes; `None` if that would take long, or if a file is not here: nothing is fetched for an
    /// overview. Binary files count nothing, as for git.
    pub fn line_counts(&self, changes: &[TreeChange]) -> Option<LineCounts> {
        let is_file = |entry: &TreeEntry| !entry.is_directory() && !entry.is_submodule();
        let sides = changes.iter().flat_map(|change| [change.old, change.new]).flatten();
        let mut sizes = sides.filter(is_file).map(|entry| self.object_size(entry.id));
        if changes.len() > MAX_FILES
            || sizes.try_fold(0, |all, size| Some(all + size?))? > MAX_BYTES
        {
            return None;
        }
        let read = |side: Option<TreeEntry>| match side.filter(is_file) {
            Some(entry) => self.read_blob(entry.id).ok(),
            None => Some(Vec::new()),
        };
        let mut counts = LineCounts::default();
        for change in changes {
            let (old, new) = (read(change.old)?, read(change.new)?);
            if is_binary(&old) || is_binary(&new) {
                continue;
            }
            let input = InternedInput::new(old.as_slice(), new.as_slice());
            let diff = Diff::compute(Algorithm::Myers, &input);
            counts.added += u64::from(diff.count_additions());
            counts.deleted += u64::from(diff.count_removals());
        }
        Some(counts)
    }
}

fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(LOOKED_AT).any(|byte| *byte == 0)
}
