//! The files that `.colonyignore` and `.voxignore` hide, by git's rules for ignore files, in every directory.

use std::path::Path;

use crate::git::object::reader::IgnoreLists;
use crate::git::worktree::safe_open::{MAX_RULES_BYTES, read_below};
use crate::model::RepoPath;
use crate::model::world::Interrupt;

/// The names of ignore files, the stronger one last.
pub const NAMES: [&str; 2] = [".voxignore", ".colonyignore"];

/// The ignore files of a directory tree, read as far as paths were asked about. Neighboring paths share them, so it
/// is asked in the order of paths.
pub struct HiddenFiles<'a> {
    interrupt: &'a Interrupt,
    root: &'a Path,
    /// The directories on the way to the last path, outermost first; the root is the first.
    open: Vec<Level>,
}

struct Level {
    directory: RepoPath,
    /// The rules for its files.
    lists: IgnoreLists,
    is_hidden: bool,
}

impl<'a> HiddenFiles<'a> {
    /// Reads the ignore files at a root.
    pub fn of(interrupt: &'a Interrupt, root: &'a Path) -> HiddenFiles<'a> {
        let mut hidden = HiddenFiles {
            interrupt,
            root,
            open: Vec::new(),
        };
        let lists = hidden.with_own(IgnoreLists::default(), &RepoPath::default());
        hidden.open.push(Level {
            directory: RepoPath::default(),
            lists,
            is_hidden: false,
        });
        hidden
    }

    /// Returns `true` if a file is hidden.
    pub fn hides(&mut self, path: &RepoPath) -> bool {
        while self.open.len() > 1
            && self
                .open
                .last()
                .is_some_and(|level| path.below(&level.directory).is_none())
        {
            self.open.pop();
        }
        let ancestors: Vec<RepoPath> = path.ancestors().collect();
        for directory in ancestors {
            let Some(above) = self.open.last() else {
                return true;
            };
            let is_open = directory.as_bytes().is_empty()
                || above.directory == directory
                || above.directory.below(&directory).is_some();
            if is_open {
                continue;
            }
            let is_hidden = above.is_hidden || above.lists.ignores(&directory, true);
            let lists = above.lists.clone();
            let lists = if is_hidden {
                lists
            } else {
                self.with_own(lists, &directory)
            };
            self.open.push(Level {
                directory,
                lists,
                is_hidden,
            });
        }
        self.open
            .last()
            .is_none_or(|level| level.is_hidden || level.lists.ignores(path, false))
    }

    /// Adds the ignore files of a directory. One that cannot be read hides all of the directory.
    fn with_own(&self, mut lists: IgnoreLists, directory: &RepoPath) -> IgnoreLists {
        for name in NAMES {
            let path = directory.join(&RepoPath::from(name));
            let bytes = read_below(self.interrupt, self.root, &path, MAX_RULES_BYTES);
            match bytes {
                Ok(Some(bytes)) => lists.push(directory, &bytes),
                Ok(None) => {}
                Err(_) => lists.push(directory, b"*\n"),
            }
        }
        lists
    }
}
