//! Opens files of the working tree: the only safe way to read a file that may come from a stranger.
//!
//! No symlink on the way is followed, so a directory that is replaced by one during a command leads
//! nowhere. Opening never blocks. Only regular files are read, up to a limit, and until an
//! interrupt.

mod entries;
mod files_below;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};
use std::rc::Rc;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::git::Repo;
use crate::git::plain_file::{self, Symlinks};
use crate::model::interrupt::Interrupt;
use crate::model::{Code, Error, RepoPath, text};

pub use crate::git::plain_file::Fault;
pub use entries::{
    EntryKind, FileStat, directories_below, entries_below, is_directory_below, is_file_below,
    stat_below,
};
pub use files_below::FilesBelow;

/// The limit for `.gitattributes` and `.gitignore`: their lines take a hundred times their size in
/// memory.
pub const MAX_RULES_BYTES: u64 = 4 << 20;

/// The limit for git-colony's records in the tree: the manifest, the registry of tools.
pub const MAX_RECORD_BYTES: u64 = 1 << 20;

/// The number of bytes to read between checks for an interrupt.
const BLOCK_BYTES: u64 = 1 << 20;

impl Fault {
    /// Returns the error of a command that needs the file.
    pub fn error(self, code: Code, path: &RepoPath) -> Error {
        match self {
            Fault::Interrupted(error) => error,
            Fault::Unreadable(why) => Error::io(format!("cannot read '{path}'"), why),
            fault => Error::new(code, format!("cannot read '{path}': {fault}"))
                .unchanged()
                .detail("path", path)
                .hint(look_at(path)),
        }
    }
}

/// Returns a command that shows the file at a path.
pub fn look_at(path: &RepoPath) -> String {
    format!("ls -ld {}", text::shell_word(&path.to_string()))
}

impl Repo {
    /// Reads a file of the working tree; `None` if there is none.
    pub fn read_file(&self, path: &RepoPath, limit_bytes: u64) -> Result<Option<Vec<u8>>, Fault> {
        read_below(&self.interrupt, self.workdir(), path, limit_bytes)
    }

    /// Reads the first `most_bytes` of a file of the working tree; `None` if there is none.
    pub fn read_beginning(
        &self,
        path: &RepoPath,
        most_bytes: u64,
    ) -> Result<Option<Vec<u8>>, Fault> {
        beginning(&self.interrupt, self.workdir(), path, most_bytes)
    }

    /// Returns the text of the root `.gitattributes`; empty if it does not exist or cannot be read.
    pub fn root_attributes(&self) -> String {
        let bytes = self.read_file(&RepoPath::from(".gitattributes"), MAX_RULES_BYTES);
        String::from_utf8_lossy(&bytes.ok().flatten().unwrap_or_default()).into_owned()
    }
}

/// Reads a file below a folder, which need not be a working tree of git; `None` if there is none.
pub fn read_below(
    interrupt: &Interrupt,
    folder: &Path,
    path: &RepoPath,
    limit_bytes: u64,
) -> Result<Option<Vec<u8>>, Fault> {
    match Parent::of(folder, path)? {
        Some(parent) => read_in(interrupt, &parent, limit_bytes),
        None => Ok(None),
    }
}

fn read_in(
    interrupt: &Interrupt,
    parent: &Parent,
    limit_bytes: u64,
) -> Result<Option<Vec<u8>>, Fault> {
    let Some(file) = parent.open(limit_bytes)? else {
        return Ok(None);
    };
    // One byte more, to detect a file that has grown.
    let bytes = read(interrupt, file, limit_bytes.saturating_add(1))?;
    if bytes.len() as u64 > limit_bytes {
        return Err(Fault::TooLarge(limit_bytes));
    }
    Ok(Some(bytes))
}

/// Reads the first `most_bytes` of a file below a folder; `None` if there is none.
pub fn beginning(
    interrupt: &Interrupt,
    folder: &Path,
    path: &RepoPath,
    most_bytes: u64,
) -> Result<Option<Vec<u8>>, Fault> {
    let file = open(folder, path, u64::MAX)?;
    file.map(|file| read(interrupt, file, most_bytes)).transpose()
}

/// Reads a file to its end or to a limit; stops at an interrupt.
fn read(interrupt: &Interrupt, file: File, most_bytes: u64) -> Result<Vec<u8>, Fault> {
    let mut file = file.take(most_bytes);
    let mut bytes = Vec::new();
    loop {
        interrupt.check().map_err(Fault::Interrupted)?;
        let read = file.by_ref().take(BLOCK_BYTES).read_to_end(&mut bytes);
        if read.map_err(Fault::Unreadable)? == 0 {
            return Ok(bytes);
        }
    }
}

/// Opens a file for reading; `None` if it does not exist, or only behind a symlink.
pub(in crate::git) fn open_file(workdir: &Path, path: &RepoPath) -> std::io::Result<Option<File>> {
    match open(workdir, path, u64::MAX) {
        Ok(file) => Ok(file),
        Err(Fault::Unreadable(error)) => Err(error),
        Err(_) => Ok(None),
    }
}

/// Returns the reason why a file must not be read, if permissions forbid it.
pub(in crate::git) fn forbidden(workdir: &Path, path: &RepoPath) -> Option<std::io::Error> {
    let error = open_file(workdir, path).err()?;
    (error.kind() == std::io::ErrorKind::PermissionDenied).then_some(error)
}

/// Reads the target of a symlink; `None` if it does not exist, or only behind another one.
pub(in crate::git) fn read_link(
    workdir: &Path,
    path: &RepoPath,
) -> std::io::Result<Option<Vec<u8>>> {
    let parent = match Parent::of(workdir, path) {
        Ok(Some(parent)) => parent,
        Ok(None) | Err(Fault::Link) => return Ok(None),
        Err(Fault::Unreadable(error)) => return Err(error),
        Err(other) => return Err(std::io::Error::other(other.to_string())),
    };
    match rustix::fs::readlinkat(parent.folder(), &parent.name, Vec::new()) {
        // The symlink has been replaced meanwhile.
        Err(Errno::INVAL | Errno::NOENT) => Ok(None),
        read => Ok(Some(read?.into_bytes())),
    }
}

/// Opens a file for reading; `None` if there is none. Does not open anything but a regular file
/// within the limit.
fn open(workdir: &Path, path: &RepoPath, limit_bytes: u64) -> Result<Option<File>, Fault> {
    match Parent::of(workdir, path)? {
        Some(parent) => parent.open(limit_bytes),
        None => Ok(None),
    }
}

/// The directory of a path.
struct Parent {
    /// It; `None` at the top, where the name is a whole path.
    folder: Option<Rc<OwnedFd>>,
    /// The name in it.
    name: OsString,
}

impl Parent {
    /// Opens the directory of a path below a folder; `None` if there is none. At the top, nothing is opened: only the
    /// name itself could be a symlink there, which each caller refuses.
    fn of(workdir: &Path, path: &RepoPath) -> Result<Option<Parent>, Fault> {
        let name = path.as_path().file_name().unwrap_or_default();
        let above = path.as_path().parent().unwrap_or(Path::new(""));
        let mut parts = above.components();
        let mut folder = match above.components().next() {
            None if !name.is_empty() => {
                let name = workdir.join(name).into_os_string();
                return Ok(Some(Parent { folder: None, name }));
            }
            Some(Component::Normal(first)) => {
                parts.next();
                match open_part(CWD, workdir.join(first).as_os_str())? {
                    Some(folder) => folder,
                    None => return Ok(None),
                }
            }
            _ => rustix::fs::open(workdir, FOLDER, Mode::empty()).map_err(system)?,
        };
        for part in parts {
            match open_part(folder.as_fd(), part.as_os_str())? {
                Some(next) => folder = next,
                None => return Ok(None),
            }
        }
        Ok(Some(Parent { folder: Some(Rc::new(folder)), name: name.to_owned() }))
    }

    fn folder(&self) -> BorrowedFd<'_> {
        self.folder.as_ref().map_or(CWD, |folder| folder.as_fd())
    }

    fn open(&self, limit_bytes: u64) -> Result<Option<File>, Fault> {
        plain_file::open_in(self.folder(), &self.name, Symlinks::Refused, limit_bytes)
    }
}

/// How a directory is opened that need not be listed: one that cannot be may still contain readable files.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Opens a directory in another one; `None` if there is none.
fn open_part(folder: BorrowedFd<'_>, part: &OsStr) -> Result<Option<OwnedFd>, Fault> {
    let own = FOLDER | OFlags::NOFOLLOW;
    match rustix::fs::openat(folder, part, own, Mode::empty()) {
        Ok(opened) => Ok(Some(opened)),
        Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) if is_link(folder, part) => {
            Err(Fault::Link)
        }
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(system(error)),
    }
}

fn system(error: Errno) -> Fault {
    Fault::Unreadable(error.into())
}

fn is_link(folder: impl AsFd, name: &OsStr) -> bool {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}
