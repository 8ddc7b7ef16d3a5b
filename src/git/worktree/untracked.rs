//! Finds untracked files that are not ignored, by one walk of the directories.
//!
//! Directories are read in order beside the sorted index, so that a tracked file needs no lookup;
//! ignore rules are consulted only for names that the index does not have.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use gix::bstr::{ByteSlice as _, ByteVec as _};
use gix::index::entry::Mode;
use rustix::io::Errno;

use crate::git::Repo;
use crate::git::attributes::ignore_stack::{IgnoreFilesOf, IgnoreStack};
use crate::model::interrupt::Interrupt;
use crate::model::{Error, RepoPath, Result, World};

use super::safe_path::RefusedNames;
use super::scan::{Untracked, UntrackedKind};
use super::{is_private, safe_open};

/// The maximum size of a `.git` file: it holds one path.
const MAX_LINK_BYTES: u64 = 8 * 1024;

/// Lists untracked files and nested repositories, sorted by path.
pub(in crate::git) fn find(
    world: &World,
    repo: &Repo,
    index: &gix::index::File,
) -> Result<Vec<Untracked>> {
    let mut walk = Walk::of(world, repo, index)?;
    walk.directory(0..index.entries().len())?;
    walk.untracked.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(walk.untracked)
}

/// Lists the ignored paths, sorted; does not enter ignored directories.
pub(in crate::git) fn ignored(
    world: &World,
    repo: &Repo,
    index: &gix::index::File,
) -> Result<Vec<RepoPath>> {
    let mut walk = Walk::of(world, repo, index)?;
    walk.ignored = Some(Vec::new());
    walk.directory(0..index.entries().len())?;
    let mut ignored = walk.ignored.unwrap_or_default();
    ignored.sort();
    Ok(ignored)
}

/// Adds the directories whose tracked files could not be checked; such a directory is listed
/// without its contents.
pub(in crate::git) fn add_unsearchable(
    world: &World,
    untracked: &mut Vec<Untracked>,
    directories: &BTreeMap<RepoPath, Errno>,
) {
    if directories.is_empty() {
        return;
    }
    for (path, error) in directories {
        let is_known = |entry: &Untracked| {
            entry.kind == UntrackedKind::Unreadable && path.is_at_or_below(&entry.path)
        };
        if untracked.iter().any(is_known) {
            continue;
        }
        untracked.retain(|entry| !entry.path.is_at_or_below(path));
        untracked.push(Untracked::unreadable(world, path.clone(), error));
    }
    untracked.sort_by(|a, b| a.path.cmp(&b.path));
}

struct Walk<'a> {
    world: &'a World,
    workdir: &'a Path,
    folds_case: bool,
    refused: RefusedNames,
    index: &'a gix::index::File,
    ignores: IgnoreStack<'a>,
    untracked: Vec<Untracked>,
    /// The ignored paths, if they were asked for.
    ignored: Option<Vec<RepoPath>>,
    /// The current directory of the walk, with a trailing slash; empty at the root.
    path: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OnDisk {
    File,
    Directory,
    Other,
}

impl<'a> Walk<'a> {
    fn of(world: &'a World, repo: &'a Repo, index: &'a gix::index::File) -> Result<Walk<'a>> {
        Ok(Walk {
            world,
            workdir: repo.workdir(),
            folds_case: repo.folds_case(),
            refused: RefusedNames::of(repo),
            index,
            ignores: repo.ignore_stack(index, IgnoreFilesOf::Worktree)?,
            untracked: Vec::new(),
            ignored: None,
            path: Vec::new(),
        })
    }

    /// Walks one directory; `tracked` are the index entries at or below it.
    fn directory(&mut self, tracked: std::ops::Range<usize>) -> Result<()> {
        self.world.interrupt.check()?;
        let depth = self.path.len();
        let entries = match self.read() {
            Ok(entries) => entries,
            Err(error) if self.path.is_empty() => {
                return Err(Error::io("cannot read the working tree", error));
            }
            Err(error) => {
                self.unreadable(self.here(), &error);
                return Ok(());
            }
        };
        let mut has_looked_for_rules = depth == 0;
        for (name, kind) in entries {
            if name == b".git" || self.folds_case && name.eq_ignore_ascii_case(b".git") {
                continue;
            }
            self.path.extend_from_slice(&name);
            match self.below(&tracked, kind) {
                IndexedBelow::Tracked => {}
                IndexedBelow::Directory(range) => {
                    self.path.push(b'/');
                    self.directory(range)?;
                }
                IndexedBelow::Unknown => {
                    // A directory whose ignore file cannot be reached is left out as a whole.
                    if !std::mem::replace(&mut has_looked_for_rules, true) {
                        self.path.truncate(depth);
                        let rules = self.here().join(&RepoPath::from(".gitignore"));
                        if let Err(error) = metadata_of(&rules.under(self.workdir)) {
                            self.unreadable(self.here(), &error);
                            return Ok(());
                        }
                        self.path.extend_from_slice(&name);
                    }
                    self.unknown(kind)?;
                }
            }
            self.path.truncate(depth);
        }
        Ok(())
    }

    /// Returns the current directory of the walk.
    fn here(&self) -> RepoPath {
        RepoPath::new(self.path.strip_suffix(b"/").unwrap_or_default())
    }

    fn read(&self) -> std::io::Result<Vec<(Vec<u8>, OnDisk)>> {
        let entries = match std::fs::read_dir(self.here().under(self.workdir)) {
            Ok(entries) => entries,
            // Deleted since its parent was read.
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(e),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry?;
            let kind = match entry.file_type()? {
                kind if kind.is_dir() => OnDisk::Directory,
                kind if kind.is_file() || kind.is_symlink() => OnDisk::File,
                _ => OnDisk::Other,
            };
            let name = Vec::from_os_string(entry.file_name()).unwrap_or_default();
            names.push((name, kind));
        }
        Ok(names)
    }

    /// Returns what the index has at the current path.
    fn below(&self, tracked: &std::ops::Range<usize>, kind: OnDisk) -> IndexedBelow {
        let entries = self.index.entries().get(tracked.clone()).unwrap_or_default();
        let backing = self.index.path_backing();
        let first =
            entries.partition_point(|entry| entry.path_in(backing).as_bytes() < &self.path[..]);
        let at = entries.get(first).filter(|entry| entry.path_in(backing) == self.path.as_bstr());
        if let Some(entry) = at
            && (kind != OnDisk::Directory || entry.mode == Mode::COMMIT)
        {
            return IndexedBelow::Tracked;
        }
        if kind != OnDisk::Directory {
            return if self.is_folded(kind) {
                IndexedBelow::Tracked
            } else {
                IndexedBelow::Unknown
            };
        }
        let mut prefix = self.path.clone();
        prefix.push(b'/');
        let start =
            entries.partition_point(|entry| entry.path_in(backing).as_bytes() < &prefix[..]);
        let (_, rest) = entries.split_at(start);
        let count = rest.partition_point(|entry| entry.path_in(backing).starts_with(&prefix));
        if count == 0 {
            return IndexedBelow::Unknown;
        }
        IndexedBelow::Directory(tracked.start + start..tracked.start + start + count)
    }

    /// Returns `true` if the file is tracked under a spelling that this file system does not
    /// distinguish.
    fn is_folded(&self, kind: OnDisk) -> bool {
        if !self.folds_case || kind != OnDisk::File {
            return false;
        }
        let backing = self.index.path_backing();
        let path = self.path.to_lowercase();
        self.index.entries().iter().any(|entry| entry.path_in(backing).to_lowercase() == path)
    }

    /// Records an unreadable path with a warning and continues, as git does.
    fn unreadable(&mut self, path: RepoPath, error: &std::io::Error) {
        if self.ignored.is_none() {
            self.untracked.push(Untracked::unreadable(self.world, path, error));
        }
    }

    /// Returns `true` if git would ignore the current path, or it is private.
    fn is_ignored(&mut self, is_directory: bool) -> Result<bool> {
        let is_private = is_private(&self.path, self.folds_case);
        Ok(is_private || self.ignores.ignores(&self.path, is_directory)?)
    }

    fn unknown(&mut self, kind: OnDisk) -> Result<()> {
        let mode = match kind {
            OnDisk::Directory => Mode::DIR,
            OnDisk::File => Mode::FILE,
            OnDisk::Other => return Ok(()),
        };
        if self.is_ignored(kind == OnDisk::Directory)? {
            if let Some(ignored) = &mut self.ignored {
                ignored.push(RepoPath::new(self.path.clone()));
            }
            return Ok(());
        }
        let path = RepoPath::new(self.path.clone());
        let metadata = match metadata_of(&path.under(self.workdir)) {
            Ok(metadata) => metadata,
            Err(error) => {
                self.unreadable(path, &error);
                return Ok(());
            }
        };
        let is_link = metadata.as_ref().is_some_and(std::fs::Metadata::is_symlink);
        let mode = if is_link { Mode::SYMLINK } else { mode };
        if self.refused.has(path.name(), mode) {
            self.untracked.push(Untracked { path, kind: UntrackedKind::Refused, size_bytes: 0 });
            return Ok(());
        }
        if kind == OnDisk::Directory {
            if is_repository(&path.under(self.workdir)) {
                self.untracked.push(Untracked {
                    path,
                    kind: UntrackedKind::Repository,
                    size_bytes: 0,
                });
                return Ok(());
            }
            self.path.push(b'/');
            return self.directory(0..0);
        }
        let size_bytes = metadata.map_or(0, |metadata| metadata.len());
        self.untracked.push(Untracked { path, kind: UntrackedKind::File, size_bytes });
        Ok(())
    }
}

/// Warns about an unreadable path, as git does.
pub(in crate::git) fn warn_unreadable(world: &World, path: &RepoPath, error: &dyn fmt::Display) {
    let warning = format!("warning: cannot read '{path}', which is left out: {error}");
    (world.narrate)(&warning);
}

impl Untracked {
    /// Records an unreadable path, with a warning.
    fn unreadable(world: &World, path: RepoPath, error: &dyn fmt::Display) -> Untracked {
        warn_unreadable(world, &path, error);
        Untracked { path, kind: UntrackedKind::Unreadable, size_bytes: 0 }
    }
}

/// Reads the metadata of a path; `None` if it is gone.
fn metadata_of(path: &Path) -> std::io::Result<Option<std::fs::Metadata>> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(e),
    }
}

enum IndexedBelow {
    /// The path is in the index.
    Tracked,
    /// A directory with these entries below it.
    Directory(std::ops::Range<usize>),
    /// Nothing at or below it is in the index.
    Unknown,
}

impl Repo {
    /// Returns `true` if the file system does not distinguish cases.
    pub(in crate::git) fn folds_case(&self) -> bool {
        self.config_bool("core.ignoreCase").unwrap_or(false)
    }

    /// Returns the outermost directory above a path that is a nested repository.
    pub fn repository_around(&self, path: &RepoPath) -> Option<RepoPath> {
        path.ancestors().find(|directory| is_repository(&directory.under(self.workdir())))
    }
}

/// Returns `true` if a directory is a nested repository: its `.git` is a git directory, or a file
/// that points to one.
pub(in crate::git) fn is_repository(directory: &Path) -> bool {
    let git = directory.join(".git");
    let target = match std::fs::symlink_metadata(&git) {
        Ok(metadata) if metadata.is_file() => {
            let name = RepoPath::from(".git");
            let text =
                safe_open::beginning(&Interrupt::default(), directory, &name, MAX_LINK_BYTES)
                    .ok()
                    .flatten()
                    .unwrap_or_default();
            let Some(target) = text.strip_prefix(b"gitdir:") else {
                return false;
            };
            directory.join(OsStr::from_bytes(target.trim_ascii()))
        }
        Ok(_) => git,
        Err(_) => return false,
    };
    target.join("HEAD").symlink_metadata().is_ok()
}
