//! A walk of a directory without the help of git: regular files, sorted by path, up to a number. Symlinks are not
//! followed, and nothing is opened but directories.

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use crate::model::world::Interrupt;
use crate::model::{Error, RepoPath, Result};

/// Deeper directories are left out.
const MAX_DEPTH: usize = 128;

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
///
/// # Errors
/// `io` if the root cannot be read; `interrupted`.
pub fn files_below(
    interrupt: &Interrupt,
    root: &Path,
    rules: WalkRules<'_>,
) -> Result<WalkedFiles> {
    let cannot =
        |e: rustix::io::Errno| Error::io(format!("cannot read '{}'", root.display()), e.into());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let top = rustix::fs::open(root, flags, Mode::empty()).map_err(cannot)?;
    let mut walk = Walk {
        interrupt,
        rules,
        found: WalkedFiles::default(),
    };
    walk.directory(&top, &RepoPath::default(), 0)?;
    Ok(walk.found)
}

struct Walk<'a> {
    interrupt: &'a Interrupt,
    rules: WalkRules<'a>,
    found: WalkedFiles,
}

impl Walk<'_> {
    fn directory(&mut self, here: &OwnedFd, path: &RepoPath, depth: usize) -> Result<()> {
        self.interrupt.check()?;
        for (name, kind) in entries(here) {
            if self.found.is_cut {
                return Ok(());
            }
            let path = path.join(&RepoPath::new(name.as_slice()));
            if kind == FileType::RegularFile {
                self.found.is_cut = self.found.files.len() >= self.rules.most_files;
                if !self.found.is_cut {
                    self.found.files.push(path);
                }
            } else if depth < MAX_DEPTH && !(self.rules.skips)(&path) {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let below = rustix::fs::openat(here, name.as_slice(), flags, Mode::empty());
                if let Ok(below) = below {
                    self.directory(&below, &path, depth + 1)?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the regular files and directories of a directory, in the order of their paths.
fn entries(here: &OwnedFd) -> Vec<(Vec<u8>, FileType)> {
    let Ok(directory) = rustix::fs::Dir::read_from(here.as_fd()) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for entry in directory.flatten() {
        let name = entry.file_name().to_bytes();
        let kind = match entry.file_type() {
            FileType::Unknown => rustix::fs::statat(here, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |found| {
                    FileType::from_raw_mode(found.st_mode)
                }),
            known => known,
        };
        let is_dots = name == b"." || name == b"..";
        if matches!(kind, FileType::RegularFile | FileType::Directory) && !is_dots {
            found.push((name.to_vec(), kind));
        }
    }
    // As git does: a path in a directory has a slash behind its name.
    let end = |kind: FileType| (kind == FileType::Directory).then_some(b'/');
    found.sort_by(|(a, of_a), (b, of_b)| {
        let a = a.iter().copied().chain(end(*of_a));
        a.cmp(b.iter().copied().chain(end(*of_b)))
    });
    found
}
