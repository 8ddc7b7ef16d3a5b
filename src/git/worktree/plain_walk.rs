//! A walk of a directory without the help of git: regular files, sorted by path, up to a number. Symlinks are not
//! followed, and nothing is opened but directories.

use std::cmp::Ordering;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir};

use crate::model::interrupt::Interrupt;
use crate::model::{Error, RepoPath, Result};

/// Deeper directories are left out.
const MAX_DEPTH: usize = 128;

/// The size of the buffer for the entries of a directory.
const BUFFER_BYTES: usize = 32 << 10;

/// What a walk leaves out.
#[derive(Clone, Copy)]
pub struct WalkRules<'a> {
    /// The directories that are not entered; the root is never asked about.
    pub skips: &'a dyn Fn(&RepoPath) -> bool,
    /// The maximum number of files.
    pub most_files: usize,
}

/// The result of a walk.
#[derive(Clone, Debug, Default)]
pub struct WalkedFiles {
    /// The files, sorted by path.
    pub files: Vec<RepoPath>,
    /// Whether there are more than the maximum number.
    pub is_cut: bool,
}

/// Lists the regular files below a directory. A directory that cannot be read counts as empty.
pub fn files_below(
    interrupt: &Interrupt,
    root: &Path,
    rules: WalkRules<'_>,
) -> Result<WalkedFiles> {
    let mut files = Vec::new();
    let mut keep = |directory: &RepoPath, name: &[u8]| {
        files.push(directory.join(&RepoPath::new(name)));
    };
    let is_cut = each_file_below(interrupt, root, rules, &mut keep)?;
    Ok(WalkedFiles { files, is_cut })
}

/// Calls a function with the directory and the name of each of these files, in the same order. Returns `true` if there
/// are more than the maximum number.
pub fn each_file_below(
    interrupt: &Interrupt,
    root: &Path,
    rules: WalkRules<'_>,
    visit: &mut dyn FnMut(&RepoPath, &[u8]),
) -> Result<bool> {
    let cannot =
        |e: rustix::io::Errno| Error::io(format!("cannot read '{}'", root.display()), e.into());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let top = rustix::fs::open(root, flags, Mode::empty()).map_err(cannot)?;
    let mut walk = Walk {
        interrupt,
        rules,
        visit,
        buffer: vec![MaybeUninit::uninit(); BUFFER_BYTES],
        visited: 0,
        is_cut: false,
    };
    walk.directory(&top, &RepoPath::default(), 0)?;
    Ok(walk.is_cut)
}

struct Walk<'a> {
    interrupt: &'a Interrupt,
    rules: WalkRules<'a>,
    visit: &'a mut dyn FnMut(&RepoPath, &[u8]),
    /// What the system fills with entries, for all directories.
    buffer: Vec<MaybeUninit<u8>>,
    visited: usize,
    is_cut: bool,
}

impl Walk<'_> {
    fn directory(&mut self, here: &OwnedFd, path: &RepoPath, depth: usize) -> Result<()> {
        self.interrupt.check()?;
        let entries = Entries::of(here, &mut self.buffer);
        for entry in &entries.list {
            if self.is_cut {
                return Ok(());
            }
            let name = entries.name(entry);
            if !entry.is_directory {
                self.is_cut = self.visited >= self.rules.most_files;
                if !self.is_cut {
                    self.visited += 1;
                    (self.visit)(path, name);
                }
                continue;
            }
            let path = path.join(&RepoPath::new(name));
            if depth < MAX_DEPTH && !(self.rules.skips)(&path) {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let below = rustix::fs::openat(here, name, flags, Mode::empty());
                if let Ok(below) = below {
                    self.directory(&below, &path, depth + 1)?;
                }
            }
        }
        Ok(())
    }
}

/// The regular files and directories of a directory, in the order of their paths.
#[derive(Default)]
struct Entries {
    /// The names, one after the other.
    names: Vec<u8>,
    list: Vec<Entry>,
}

/// A name among all, by its place.
struct Entry {
    start: usize,
    end: usize,
    is_directory: bool,
}

impl Entries {
    fn of(here: &OwnedFd, buffer: &mut [MaybeUninit<u8>]) -> Entries {
        let mut entries = Entries::default();
        let mut directory = RawDir::new(here, buffer);
        while let Some(Ok(entry)) = directory.next() {
            let name = entry.file_name().to_bytes();
            let kind = match entry.file_type() {
                FileType::Unknown => rustix::fs::statat(here, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                known => known,
            };
            let is_dots = name == b"." || name == b"..";
            if is_dots || !matches!(kind, FileType::RegularFile | FileType::Directory) {
                continue;
            }
            let start = entries.names.len();
            entries.names.extend_from_slice(name);
            entries.list.push(Entry {
                start,
                end: entries.names.len(),
                is_directory: kind == FileType::Directory,
            });
        }
        let Entries { names, mut list } = entries;
        list.sort_unstable_by(|a, b| a.in_order(b, &names));
        Entries { names, list }
    }

    fn name(&self, entry: &Entry) -> &[u8] {
        entry.of(&self.names)
    }
}

impl Entry {
    fn of<'n>(&self, names: &'n [u8]) -> &'n [u8] {
        names.get(self.start..self.end).unwrap_or_default()
    }

    /// Compares two names as git does: a path in a directory has a slash behind its name.
    fn in_order(&self, other: &Entry, names: &[u8]) -> Ordering {
        let (a, b) = (self.of(names), other.of(names));
        let shared = a.len().min(b.len());
        let next = |entry: &Entry, name: &[u8]| {
            let end = entry.is_directory.then_some(b'/');
            name.get(shared).copied().or(end)
        };
        let starts = a.get(..shared).cmp(&b.get(..shared));
        starts.then_with(|| next(self, a).cmp(&next(other, b)))
    }
}
