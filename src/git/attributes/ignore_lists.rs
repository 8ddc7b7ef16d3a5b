//! The ignore files on the way to a path: the innermost one with a matching pattern decides.

use std::sync::Arc;

use crate::model::RepoPath;

use super::pattern::PatternList;

/// Ignore files of directories, outermost first. It reads nothing.
#[derive(Clone, Default)]
pub struct IgnoreLists {
    lists: Vec<IgnoreList>,
}

#[derive(Clone)]
struct IgnoreList {
    directory: RepoPath,
    patterns: Arc<PatternList>,
}

impl IgnoreLists {
    /// Adds the file of a directory, which must be the same as or below that of every file so far.
    pub fn push(&mut self, directory: &RepoPath, bytes: &[u8]) {
        let patterns = PatternList::parse(bytes, false);
        if !patterns.is_empty() {
            let patterns = Arc::new(patterns);
            self.lists.push(IgnoreList { directory: directory.clone(), patterns });
        }
    }

    /// Returns `true` if a path is ignored, assuming that its parent directories are not.
    pub fn ignores(&self, path: &RepoPath, is_directory: bool) -> bool {
        let decides =
            |list: &IgnoreList| list.patterns.verdict(path.below(&list.directory)?, is_directory);
        self.lists.iter().rev().find_map(decides).unwrap_or(false)
    }
}
