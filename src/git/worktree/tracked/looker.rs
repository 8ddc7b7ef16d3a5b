//! Stat data of paths of a working tree, without following a symlink: one `lstat` each, by directory.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use gix::bstr::{BStr, ByteSlice as _};
use rustix::fs::{AtFlags, FileType, Mode as FileMode, OFlags};
use rustix::io::Errno;

use crate::model::{Code, RepoPath, Result, ResultExt as _};

/// The result of checking a path.
pub(super) enum PathStat {
    /// Stat data; `None` if it does not exist, or only behind a symlink.
    Found(Option<rustix::fs::Stat>),
    /// This directory may not be searched.
    Unsearchable(RepoPath, Errno),
}

/// Keeps the directory of the last path open: entries of one directory follow each other.
pub(super) struct Looker {
    root: OwnedFd,
    directory: Vec<u8>,
    opened: Opened,
}

/// A directory on the way to a path.
enum Opened {
    Directory(OwnedFd),
    Root,
    Missing,
    Unsearchable(RepoPath, Errno),
}

/// Checking entries of a directory does not require permission to list it.
const LOOK_IN: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Looker {
    /// Opens the working tree.
    pub(super) fn open(workdir: &Path) -> Result<Looker> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(workdir, flags, FileMode::empty())
            .or_code(Code::Io, || "cannot open the working tree")?;
        Ok(Looker { root, directory: Vec::new(), opened: Opened::Root })
    }

    /// Returns `true` if there is certainly nothing at a path, and no file or symlink above it.
    pub(super) fn is_free(&mut self, path: &RepoPath) -> Result<bool> {
        for above in path.ancestors() {
            match self.stat(BStr::new(above.as_bytes()))? {
                PathStat::Found(Some(stat))
                    if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {}
                PathStat::Found(None) => return Ok(true),
                PathStat::Found(Some(_)) | PathStat::Unsearchable(..) => return Ok(false),
            }
        }
        let path_stat = self.stat(BStr::new(path.as_bytes()))?;
        Ok(matches!(path_stat, PathStat::Found(None)))
    }

    /// Reads the stat data of a path without following symlinks.
    pub(super) fn stat(&mut self, path: &BStr) -> Result<PathStat> {
        let (directory, name) = match path.rfind_byte(b'/') {
            Some(at) => (
                path.get(..at).expect("the slash is in the path"),
                path.get(at + 1..).expect("the slash is in the path"),
            ),
            None => (&b""[..], path.as_bytes()),
        };
        if directory != self.directory.as_slice() {
            self.opened = open_below(&self.root, directory)?;
            self.directory = directory.to_vec();
        }
        let parent = match &self.opened {
            Opened::Directory(opened) => opened,
            Opened::Root => &self.root,
            Opened::Missing => return Ok(PathStat::Found(None)),
            Opened::Unsearchable(at, error) => {
                return Ok(PathStat::Unsearchable(at.clone(), *error));
            }
        };
        match rustix::fs::statat(parent, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(PathStat::Found(Some(stat))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(PathStat::Found(None)),
            Err(e @ Errno::ACCESS) if !directory.is_empty() => {
                Ok(PathStat::Unsearchable(RepoPath::from(directory), e))
            }
            Err(e) => Err(e).or_code(Code::Io, || format!("cannot look at '{path}'")),
        }
    }
}

/// Opens a directory without following symlinks.
fn open_below(root: &OwnedFd, directory: &[u8]) -> Result<Opened> {
    let mut current: Option<OwnedFd> = None;
    let mut above = 0;
    for part in directory.split(|&byte| byte == b'/') {
        if part.is_empty() {
            return Ok(if directory.is_empty() { Opened::Root } else { Opened::Missing });
        }
        let parent = current.as_ref().unwrap_or(root);
        match rustix::fs::openat(parent, OsStr::from_bytes(part), LOOK_IN, FileMode::empty()) {
            Ok(opened) => current = Some(opened),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => {
                return Ok(Opened::Missing);
            }
            Err(e @ Errno::ACCESS) if above > 0 => {
                let unsearchable = directory.get(..above - 1).expect("the slash is in the path");
                return Ok(Opened::Unsearchable(RepoPath::from(unsearchable), e));
            }
            Err(e) => {
                return Err(e).or_code(Code::Io, || {
                    format!("cannot open directory '{}'", directory.as_bstr())
                });
            }
        }
        above += part.len() + 1;
    }
    Ok(current.map_or(Opened::Root, Opened::Directory))
}
