//! Reaches many files below a folder, as safely as one, and faster: most of them are beside the one before.

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::model::RepoPath;
use crate::model::interrupt::Interrupt;

use super::entries::stat_in;
use super::{Fault, FileStat, Parent, read_in};

/// Reaches many files below a folder: the directory of the last one stays open.
pub struct FilesBelow {
    top: PathBuf,
    last: RefCell<Option<(RepoPath, Rc<OwnedFd>)>>,
}

impl FilesBelow {
    /// Returns those below a folder.
    pub fn of(top: PathBuf) -> FilesBelow {
        FilesBelow { top, last: RefCell::default() }
    }

    /// Returns the folder.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// Does the same as [`super::stat_below`].
    pub fn stat(&self, path: &RepoPath) -> Result<Option<FileStat>, Fault> {
        match self.parent_of(path)? {
            Some(parent) => stat_in(&parent),
            None => Ok(None),
        }
    }

    /// Does the same as [`super::read_below`].
    pub fn read(
        &self,
        interrupt: &Interrupt,
        path: &RepoPath,
        limit_bytes: u64,
    ) -> Result<Option<Vec<u8>>, Fault> {
        match self.parent_of(path)? {
            Some(parent) => read_in(interrupt, &parent, limit_bytes),
            None => Ok(None),
        }
    }

    fn parent_of(&self, path: &RepoPath) -> Result<Option<Parent>, Fault> {
        let directory = path.parent().unwrap_or_default();
        if let Some((last, opened)) = &*self.last.borrow()
            && *last == directory
        {
            return Ok(Some(Parent {
                folder: Some(Rc::clone(opened)),
                name: path.as_path().file_name().unwrap_or_default().to_owned(),
            }));
        }
        let parent = Parent::of(&self.top, path)?;
        let opened = parent.as_ref().and_then(|parent| parent.folder.clone());
        *self.last.borrow_mut() = opened.map(|opened| (directory, opened));
        Ok(parent)
    }
}
