//! What the system says of files and directories that are not opened: no symlink on the way is followed here either.

use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::model::RepoPath;

use super::{Fault, Parent};

/// What an entry of a directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symlink.
    Symlink,
    /// A pipe, a socket, a device.
    Other,
}

impl From<FileType> for EntryKind {
    fn from(file_type: FileType) -> EntryKind {
        match file_type {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Directory,
            FileType::Symlink => EntryKind::Symlink,
            _ => EntryKind::Other,
        }
    }
}

/// What the system says of a file that is not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStat {
    /// What it is.
    pub kind: EntryKind,
    /// Its size.
    pub size_bytes: u64,
    /// The time of its last change, in nanoseconds since 1970.
    pub modified: i64,
    /// The same for its content, owner or mode: no program can set it.
    pub changed: i64,
    /// The number of its inode.
    pub inode: u64,
}

/// Describes the entry at a path below a folder; `None` if there is none.
pub fn stat_below(folder: &Path, path: &RepoPath) -> Result<Option<FileStat>, Fault> {
    match Parent::of(folder, path)? {
        Some(parent) => stat_in(&parent),
        None => Ok(None),
    }
}

pub(super) fn stat_in(parent: &Parent) -> Result<Option<FileStat>, Fault> {
    let time = |seconds: i64, nanos: u64| {
        let nanos = i64::try_from(nanos).unwrap_or_default();
        seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
    };
    match rustix::fs::statat(parent.folder(), &parent.name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(FileStat {
            kind: FileType::from_raw_mode(stat.st_mode).into(),
            size_bytes: u64::try_from(stat.st_size).unwrap_or_default(),
            modified: time(stat.st_mtime, stat.st_mtime_nsec),
            changed: time(stat.st_ctime, stat.st_ctime_nsec),
            inode: stat.st_ino,
        })),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(Fault::Unreadable(error.into())),
    }
}

/// Returns `true` if a plain file exists at a path below a folder, not behind a symlink.
pub fn is_file_below(folder: &Path, path: &RepoPath) -> bool {
    type_below(folder, path).is_some_and(FileType::is_file)
}

/// Returns `true` if a directory exists at a path below a folder, not behind a symlink.
pub fn is_directory_below(folder: &Path, path: &RepoPath) -> bool {
    path.as_bytes().is_empty() || type_below(folder, path).is_some_and(FileType::is_dir)
}

fn type_below(folder: &Path, path: &RepoPath) -> Option<FileType> {
    let parent = Parent::of(folder, path).ok()??;
    let stat = rustix::fs::statat(parent.folder(), &parent.name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(stat.st_mode))
}

/// Lists the directories in a directory below a folder, sorted; symlinks are not among them. An empty path is the
/// folder itself.
pub fn directories_below(folder: &Path, path: &RepoPath) -> std::io::Result<Vec<RepoPath>> {
    let mut entries = entries_below(folder, path)?;
    entries.retain(|(_, kind)| *kind == EntryKind::Directory);
    Ok(entries.into_iter().map(|(path, _)| path).collect())
}

/// Lists the entries of a directory below a folder, sorted. An empty path is the folder itself.
pub fn entries_below(
    folder: &Path,
    path: &RepoPath,
) -> std::io::Result<Vec<(RepoPath, EntryKind)>> {
    let here = if path.as_bytes().is_empty() {
        Some(rustix::fs::open(folder, DIRECTORY, Mode::empty())?)
    } else {
        let opened = match Parent::of(folder, path) {
            Ok(parent) => parent,
            Err(Fault::Unreadable(error)) => return Err(error),
            Err(_) => None,
        };
        let open = |parent: Parent| {
            let own = DIRECTORY | OFlags::NOFOLLOW;
            rustix::fs::openat(parent.folder(), &parent.name, own, Mode::empty())
        };
        match opened.map(open).transpose() {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => None,
            opened => opened?,
        }
    };
    let Some(here) = here else {
        return Ok(Vec::new());
    };
    let mut entries = Vec::new();
    for entry in rustix::fs::Dir::read_from(&here)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => rustix::fs::statat(&here, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |file_type| FileType::from_raw_mode(file_type.st_mode)),
            known => known,
        };
        entries.push((path.join(&RepoPath::new(name)), kind.into()));
    }
    entries.sort_by(|(entry_path, _), (other, _)| entry_path.cmp(other));
    Ok(entries)
}

/// How a directory is opened that will be listed.
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
