//! The files that `.colonyignore` and `.voxignore` hide, by git's rules for ignore files, in every directory.

use std::path::{Path, PathBuf};

use crate::git::attributes::ignore_lists::IgnoreLists;
use crate::git::worktree::safe_open::{MAX_RULES_BYTES, is_directory_below, read_below};
use crate::git::{Objects, Oid};
use crate::model::RepoPath;
use crate::model::interrupt::Interrupt;

/// The names of ignore files, the stronger one last.
pub const NAMES: [&str; 2] = [".voxignore", ".colonyignore"];

/// The ignore files of a directory tree, read as far as paths were asked about. Neighboring paths share them, so it
/// is asked in the order of paths.
pub struct HiddenFiles<'a> {
    from: IgnoreFiles<'a>,
    /// The directories on the way to the last path, outermost first; the root is the first.
    open: Vec<Level>,
}

/// Where ignore files are read.
enum IgnoreFiles<'a> {
    /// Below a root on disk.
    Below(&'a Interrupt, PathBuf),
    /// In a tree.
    In(&'a Objects, Oid),
}

impl IgnoreFiles<'_> {
    fn has_directory(&self, directory: &RepoPath) -> bool {
        match self {
            IgnoreFiles::Below(_, root) => is_directory_below(root, directory),
            IgnoreFiles::In(objects, tree) => {
                let entry = objects.at(*tree, directory).ok().flatten();
                entry.is_some_and(|entry| entry.is_directory())
            }
        }
    }

    /// Reads one; `None` if there is none, an error if it cannot be read.
    fn read(&self, path: &RepoPath) -> Result<Option<Vec<u8>>, ()> {
        match self {
            IgnoreFiles::Below(interrupt, root) => {
                read_below(interrupt, root, path, MAX_RULES_BYTES).map_err(drop)
            }
            IgnoreFiles::In(objects, tree) => {
                let Some(entry) = objects.at(*tree, path).map_err(drop)? else {
                    return Ok(None);
                };
                let size = objects.size(entry.id).ok_or(())?;
                if !entry.is_file() || size > MAX_RULES_BYTES {
                    return Err(());
                }
                objects.blob(entry.id).map(Some).map_err(drop)
            }
        }
    }
}

struct Level {
    directory: RepoPath,
    /// The rules for its files.
    lists: IgnoreLists,
    is_hidden: bool,
}

impl<'a> HiddenFiles<'a> {
    /// Reads the ignore files at a root.
    pub fn of(interrupt: &'a Interrupt, root: &Path) -> HiddenFiles<'a> {
        HiddenFiles::from(IgnoreFiles::Below(interrupt, root.to_owned()))
    }

    /// Reads the ignore files of a tree.
    pub fn in_tree(objects: &'a Objects, tree: Oid) -> HiddenFiles<'a> {
        HiddenFiles::from(IgnoreFiles::In(objects, tree))
    }

    fn from(from: IgnoreFiles<'a>) -> HiddenFiles<'a> {
        let mut hidden = HiddenFiles { from, open: Vec::new() };
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
            && self.open.last().is_some_and(|level| path.below(&level.directory).is_none())
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
        self.open.last().is_none_or(|level| level.is_hidden || level.lists.ignores(path, false))
    }

    /// Adds the ignore files of a directory. One that cannot be read hides all of the directory; behind a symlink
    /// there are none, as nothing is read there.
    fn add_own(&self, level: &mut Level) {
        if !self.from.has_directory(&level.directory) {
            return;
        }
        for name in NAMES {
            let path = level.directory.join(&RepoPath::from(name));
            match self.from.read(&path) {
                Ok(Some(bytes)) => level.lists.push(&level.directory, &bytes),
                Ok(None) => {}
                Err(()) => level.is_hidden = true,
            }
        }
    }
}
