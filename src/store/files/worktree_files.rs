//! Moves files of the working tree aside into our folders, and into place, never over anything.
//!
//! Every path is walked from the root of the working tree, one component at a time, without following links:
//! a parent that is a symlink is never entered. A move never replaces its destination.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::model::RepoPath;

use super::exclusive_move::{Moved, move_by_copy, rename_exclusively};

/// The root of a worktree, opened.
pub struct WorktreeFiles {
    root: OwnedFd,
    /// The directories on the way to the last path, outermost first: neighboring paths share them.
    opened: RefCell<Vec<(RepoPath, OwnedFd)>>,
}

/// The kind of entry at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathState {
    /// Nothing, or a parent is missing or not a directory.
    Nothing,
    /// A directory, with its permission bits.
    Directory(u32),
    /// Anything else: a file, a link, a pipe.
    Other,
}

impl WorktreeFiles {
    /// Opens the root.
    pub fn open(root: &Path) -> io::Result<WorktreeFiles> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
        let root = rustix::fs::open(root, flags, Mode::empty())?;
        Ok(WorktreeFiles { root, opened: RefCell::new(Vec::new()) })
    }

    /// Returns the kind of entry at a path. No symlink on the way is followed.
    pub fn state(&self, path: &RepoPath) -> io::Result<PathState> {
        self.in_parent(path, |parent| {
            match rustix::fs::statat(parent, name_of(path), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
                    Ok(PathState::Directory(stat.st_mode & 0o7777))
                }
                Ok(_) => Ok(PathState::Other),
                Err(Errno::NOENT | Errno::NOTDIR) => Ok(PathState::Nothing),
                Err(e) => Err(e.into()),
            }
        })
        .map(|state| state.unwrap_or(PathState::Nothing))
    }

    /// Returns the time of the last change to a file's content or metadata; `None` for a missing file.
    pub fn changed_at(&self, path: &RepoPath) -> io::Result<Option<SystemTime>> {
        let changed = self.in_parent(path, |parent| {
            match rustix::fs::statat(parent, name_of(path), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => Ok(Some(stat)),
                Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
                Err(e) => Err(e.into()),
            }
        })?;
        let since = |stat: rustix::fs::Stat| {
            let seconds = Duration::from_secs(u64::try_from(stat.st_ctime).ok()?);
            let nanos = Duration::from_nanos(stat.st_ctime_nsec);
            SystemTime::UNIX_EPOCH.checked_add(seconds + nanos)
        };
        Ok(changed.flatten().and_then(since))
    }

    /// Moves a path of the working tree to `destination`, a free path in a folder of ours.
    pub fn move_out(&self, path: &RepoPath, destination: &Path) -> io::Result<Moved> {
        let moved = self.in_parent(path, |parent| {
            let to = rustix::fs::CWD;
            match rename_exclusively(parent, name_of(path), to, destination.as_os_str()) {
                Err(e) if e.raw_os_error() == Some(Errno::XDEV.raw_os_error()) => {
                    let source = proc_path(parent).join(name_of(path));
                    move_by_copy(&source, destination)
                }
                other => other,
            }
        })?;
        Ok(moved.unwrap_or(Moved::SourceMissing))
    }

    /// Moves `source`, a file in a folder of ours, to a path of the working tree; missing parents are
    /// created.
    pub fn move_in(&self, source: &Path, path: &RepoPath) -> io::Result<Moved> {
        let put = || {
            self.in_parent(path, |parent| {
                let from = rustix::fs::CWD;
                match rename_exclusively(from, source.as_os_str(), parent, name_of(path)) {
                    Err(e) if e.raw_os_error() == Some(Errno::XDEV.raw_os_error()) => {
                        move_by_copy(source, &proc_path(parent).join(name_of(path)))
                    }
                    other => other,
                }
            })
        };
        if let Some(moved) = put()? {
            return Ok(moved);
        }
        match std::fs::symlink_metadata(source) {
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Moved::SourceMissing),
            Err(e) => return Err(e),
        }
        if !self.make_parents(path)? {
            return Ok(Moved::Occupied);
        }
        Ok(put()?.unwrap_or(Moved::Occupied))
    }

    /// Creates a directory with the given permission bits; an existing one keeps its own.
    pub fn make_directory(&self, path: &RepoPath, mode: Option<u32>) -> io::Result<()> {
        if !self.make_parents(path)? {
            return Ok(());
        }
        self.in_parent(path, |parent| {
            let name = name_of(path);
            match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
                Ok(()) => {}
                Err(Errno::EXIST) => return Ok(()),
                Err(e) => return Err(e.into()),
            }
            if let Some(mode) = mode {
                let bits = Mode::from_raw_mode(mode);
                rustix::fs::chmodat(parent, name, bits, AtFlags::empty())?;
            }
            Ok(())
        })
        .map(|_| ())
    }

    /// Removes a directory if it is empty; anything else stays.
    pub fn remove_empty_directory(&self, path: &RepoPath) -> io::Result<()> {
        self.opened.borrow_mut().clear();
        self.in_parent(path, |parent| {
            match rustix::fs::unlinkat(parent, name_of(path), AtFlags::REMOVEDIR) {
                Ok(())
                | Err(
                    Errno::NOTEMPTY | Errno::EXIST | Errno::NOENT | Errno::NOTDIR | Errno::BUSY,
                ) => Ok(()),
                Err(e) => Err(e.into()),
            }
        })
        .map(|_| ())
    }

    /// Lists everything below a directory: files and links in order, then directories with their permission
    /// bits, deepest first. Symlinks are not followed.
    pub fn walk(&self, directory: &RepoPath) -> io::Result<Walk> {
        let mut walk = Walk::default();
        self.walk_into(directory, &mut walk)?;
        Ok(walk)
    }

    fn walk_into(&self, directory: &RepoPath, walk: &mut Walk) -> io::Result<()> {
        let Some(entries) = self.in_parent(directory, |parent| {
            let fd = open_directory(parent, name_of(directory))?;
            rustix::fs::Dir::read_from(&fd).map_err(io::Error::from)
        })?
        else {
            return Ok(());
        };
        let mut names: Vec<Vec<u8>> = Vec::new();
        for entry in entries {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(name);
            }
        }
        names.sort();
        for name in names {
            let path = RepoPath::new([directory.as_bytes(), b"/", &name].concat());
            match self.state(&path)? {
                PathState::Nothing => {}
                PathState::Other => walk.files.push(path),
                PathState::Directory(mode) => {
                    if name.eq_ignore_ascii_case(b".git") {
                        walk.repositories.push(directory.clone());
                    }
                    self.walk_into(&path, walk)?;
                    walk.directories.push((path, mode));
                }
            }
            if name == b".git" && walk.files.last().is_some_and(|last| last.name() == b".git") {
                walk.repositories.push(directory.clone());
            }
        }
        Ok(())
    }

    /// Creates the parents of a path; returns `false` if one of them is not a directory.
    fn make_parents(&self, path: &RepoPath) -> io::Result<bool> {
        for parent in path.ancestors() {
            match self.state(&parent)? {
                PathState::Directory(_) => {}
                PathState::Other => return Ok(false),
                PathState::Nothing => {
                    self.in_parent(&parent, |fd| {
                        let mode = Mode::from_raw_mode(0o777);
                        match rustix::fs::mkdirat(fd, name_of(&parent), mode) {
                            Ok(()) | Err(Errno::EXIST) => Ok(()),
                            Err(e) => Err(e.into()),
                        }
                    })?;
                }
            }
        }
        Ok(true)
    }

    /// Calls a function with the directory that holds `path`; returns `None` if the directory does not exist.
    fn in_parent<T>(
        &self,
        path: &RepoPath,
        act: impl FnOnce(&OwnedFd) -> io::Result<T>,
    ) -> io::Result<Option<T>> {
        let Some(parent) = path.parent() else {
            return act(&self.root).map(Some);
        };
        let mut opened = self.opened.borrow_mut();
        if !opened.iter().any(|(known, _)| *known == parent) {
            opened.retain(|(known, _)| parent.is_at_or_below(known));
            if !self.open_from(&mut opened, &parent)? {
                return Ok(None);
            }
        }
        match opened.iter().find(|(known, _)| *known == parent) {
            Some((_, fd)) => act(fd).map(Some),
            None => Ok(None),
        }
    }

    /// Opens `directory` component by component, starting at the directories already open; returns `false` if
    /// a part is missing or not a directory.
    fn open_from(
        &self,
        opened: &mut Vec<(RepoPath, OwnedFd)>,
        directory: &RepoPath,
    ) -> io::Result<bool> {
        for part in directory.ancestors().chain([directory.clone()]) {
            if opened.iter().any(|(known, _)| *known == part) {
                continue;
            }
            let above = opened.last().map_or(&self.root, |(_, fd)| fd);
            match open_directory(above, name_of(&part)) {
                Ok(fd) => opened.push((part, fd)),
                Err(e) => {
                    let gone = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::MLINK]
                        .iter()
                        .any(|g| e.raw_os_error() == Some(g.raw_os_error()));
                    return if gone { Ok(false) } else { Err(e) };
                }
            }
        }
        Ok(true)
    }
}

/// The content of a directory.
#[derive(Default)]
pub struct Walk {
    /// Everything that is not a directory.
    pub files: Vec<RepoPath>,
    /// Directories with their permission bits, deepest first.
    pub directories: Vec<(RepoPath, u32)>,
    /// Directories that are repositories themselves.
    pub repositories: Vec<RepoPath>,
}

fn open_directory(parent: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    Ok(rustix::fs::openat(parent, name, flags, Mode::empty())?)
}

fn name_of(path: &RepoPath) -> &OsStr {
    OsStr::from_bytes(path.name())
}

/// Returns a path to an open directory, for the rare copy between file systems.
fn proc_path(directory: &OwnedFd) -> std::path::PathBuf {
    use std::os::fd::AsRawFd as _;
    std::path::PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()))
}
