//! The files that `.colonyignore` and `.voxignore` hide, by git's rules for ignore files, in every directory.

use std::path::Path;

use crate::git::object::reader::IgnoreLists;
use crate::git::worktree::safe_open::{MAX_RULES_BYTES, is_directory_below, read_below};
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
        let mut level = Level {
            directory: RepoPath::default(),
            lists: IgnoreLists::default(),
            is_hidden: false,
        };
        hidden.add_own(&mut level);
        hidden.open.push(level);
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
            let mut level = Level {
                lists: above.lists.clone(),
                is_hidden: above.is_hidden || above.lists.ignores(&directory, true),
                directory,
            };
            if !level.is_hidden {
                self.add_own(&mut level);
            }
            self.open.push(level);
        }
        self.open
            .last()
            .is_none_or(|level| level.is_hidden || level.lists.ignores(path, false))
    }

    /// Adds the ignore files of a directory. One that cannot be read hides all of the directory; behind a symlink
    /// there are none, as nothing is read there.
    fn add_own(&self, level: &mut Level) {
        if !is_directory_below(self.root, &level.directory) {
            return;
        }
        for name in NAMES {
            let path = level.directory.join(&RepoPath::from(name));
            match read_below(self.interrupt, self.root, &path, MAX_RULES_BYTES) {
                Ok(Some(bytes)) => level.lists.push(&level.directory, &bytes),
                Ok(None) => {}
                Err(_) => level.is_hidden = true,
            }
        }
    }
}
