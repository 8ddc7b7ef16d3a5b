//! Opens files of the working tree: the only safe way to read a file that may come from a stranger.
//!
//! No symlink on the way is followed, so a directory that is replaced by one during a command leads
//! nowhere. Opening never blocks. Only regular files are read, up to a limit, and until an
//! interrupt.

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::git::Repo;
use crate::git::plain_file::{self, Symlinks};
use crate::model::world::Interrupt;
use crate::model::{Code, Error, RepoPath, text};

pub use crate::git::plain_file::Fault;

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
    ///
    /// # Errors
    /// The reason why it is not read.
    pub fn read_file(&self, path: &RepoPath, limit_bytes: u64) -> Result<Option<Vec<u8>>, Fault> {
        read_below(&self.interrupt, self.workdir(), path, limit_bytes)
    }

    /// Reads the first `most_bytes` of a file of the working tree; `None` if there is none.
    ///
    /// # Errors
    /// The reason why it is not read; never its size.
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
///
/// # Errors
/// The reason why it is not read.
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
    let found =
        rustix::fs::statat(parent.folder(), &parent.name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(found.st_mode))
}

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
    fn from(found: FileType) -> EntryKind {
        match found {
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
///
/// # Errors
/// The reason why it cannot be reached.
pub fn stat_below(folder: &Path, path: &RepoPath) -> Result<Option<FileStat>, Fault> {
    match Parent::of(folder, path)? {
        Some(parent) => stat_in(&parent),
        None => Ok(None),
    }
}

fn stat_in(parent: &Parent) -> Result<Option<FileStat>, Fault> {
    let time = |seconds: i64, nanos: u64| {
        let nanos = i64::try_from(nanos).unwrap_or_default();
        seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
    };
    match rustix::fs::statat(parent.folder(), &parent.name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(FileStat {
            kind: FileType::from_raw_mode(found.st_mode).into(),
            size_bytes: u64::try_from(found.st_size).unwrap_or_default(),
            modified: time(found.st_mtime, found.st_mtime_nsec),
            changed: time(found.st_ctime, found.st_ctime_nsec),
            inode: found.st_ino,
        })),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(Fault::Unreadable(error.into())),
    }
}

/// Reaches many files below a folder: the directory of the last one stays open.
pub struct FilesBelow {
    top: PathBuf,
    last: RefCell<Option<(RepoPath, Rc<OwnedFd>)>>,
}

impl FilesBelow {
    /// Returns those below a folder.
    pub fn of(top: PathBuf) -> FilesBelow {
        FilesBelow {
            top,
            last: RefCell::default(),
        }
    }

    /// Returns the folder.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// Does the same as [`stat_below`].
    ///
    /// # Errors
    /// The reason why it cannot be reached.
    pub fn stat(&self, path: &RepoPath) -> Result<Option<FileStat>, Fault> {
        match self.parent_of(path)? {
            Some(parent) => stat_in(&parent),
            None => Ok(None),
        }
    }

    /// Does the same as [`read_below`].
    ///
    /// # Errors
    /// The reason why it is not read.
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

/// Lists the directories in a directory below a folder, sorted; symlinks are not among them. An empty path is the
/// folder itself.
///
/// # Errors
/// Those of the system; nothing is found behind a symlink.
pub fn directories_below(folder: &Path, path: &RepoPath) -> std::io::Result<Vec<RepoPath>> {
    let mut entries = entries_below(folder, path)?;
    entries.retain(|(_, kind)| *kind == EntryKind::Directory);
    Ok(entries.into_iter().map(|(path, _)| path).collect())
}

/// Lists the entries of a directory below a folder, sorted. An empty path is the folder itself.
///
/// # Errors
/// As [`directories_below`].
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
    let mut found = Vec::new();
    for entry in rustix::fs::Dir::read_from(&here)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => rustix::fs::statat(&here, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |found| {
                    FileType::from_raw_mode(found.st_mode)
                }),
            known => known,
        };
        found.push((path.join(&RepoPath::new(name)), kind.into()));
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(found)
}

/// How a directory is opened that will be listed.
const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// Reads the first `most_bytes` of a file below a folder; `None` if there is none.
///
/// # Errors
/// The reason why it is not read; never its size.
pub fn beginning(
    interrupt: &Interrupt,
    folder: &Path,
    path: &RepoPath,
    most_bytes: u64,
) -> Result<Option<Vec<u8>>, Fault> {
    let file = open(folder, path, u64::MAX)?;
    file.map(|file| read(interrupt, file, most_bytes))
        .transpose()
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
///
/// # Errors
/// Those of the system.
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
///
/// # Errors
/// Those of the system.
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
        Ok(Some(Parent {
            folder: Some(Rc::new(folder)),
            name: name.to_owned(),
        }))
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
    let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink)
}
