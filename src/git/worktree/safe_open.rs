//! Opens what stands in the worktree: the one way to read a file that a stranger may have put there.
//!
//! No link is followed on the way, so that a folder that becomes one while a command runs leads
//! nowhere; nothing is waited for; nothing but a regular file is read, up to a limit, and no longer than
//! until somebody asks to stop.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::git::Repo;
use crate::model::world::Interrupt;
use crate::model::{Code, Error, RepoPath, text};

/// `.gitattributes` and `.gitignore`: a line of them takes a hundred times its bytes in memory.
pub const MAX_RULES_BYTES: u64 = 4 << 20;

/// Records of ours in the tree: the manifest, the registry of tools.
pub const MAX_RECORD_BYTES: u64 = 1 << 20;

/// How much is read before the next look at whether somebody asked to stop.
const BLOCK_BYTES: u64 = 1 << 20;

/// Why a file is not read.
#[derive(Debug)]
pub enum Fault {
    /// It, or a folder above it, is a symbolic link.
    Link,
    /// It is a directory, a pipe, a device.
    NoPlainFile,
    /// It is larger than this many bytes.
    TooLarge(u64),
    /// What the system says.
    Unreadable(std::io::Error),
    /// Somebody asked to stop.
    Interrupted(Error),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Link => write!(f, "it is reached through a symbolic link"),
            Fault::NoPlainFile => write!(f, "it is not a plain file"),
            Fault::TooLarge(limit) => write!(f, "it is larger than {}", Size(*limit)),
            Fault::Unreadable(why) => write!(f, "it cannot be read: {why}"),
            Fault::Interrupted(error) => write!(f, "{}", error.message()),
        }
    }
}

impl Fault {
    /// Makes the error of a command that needs the file.
    pub fn error(self, code: Code, path: &RepoPath) -> Error {
        match self {
            Fault::Interrupted(error) => error,
            Fault::Unreadable(why) => Error::io(format!("cannot read '{path}'"), why),
            fault => Error::new(
                code,
                format!("cannot read '{path}': {fault}; nothing has changed"),
            )
            .detail("path", path)
            .hint(look_at(path)),
        }
    }
}

/// Returns the command that shows what stands at a path.
pub fn look_at(path: &RepoPath) -> String {
    format!("ls -ld {}", text::shell_word(&path.to_string()))
}

/// A limit, in the largest unit it is a multiple of.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes > 0 && bytes % (1 << 20) == 0 => write!(f, "{} MiB", bytes >> 20),
            bytes if bytes > 0 && bytes % (1 << 10) == 0 => write!(f, "{} KiB", bytes >> 10),
            bytes => write!(f, "{bytes} bytes"),
        }
    }
}

impl Repo {
    /// Reads a file of the worktree; `None` where nothing stands.
    ///
    /// # Errors
    /// Why it is not read.
    pub fn read_file(&self, path: &RepoPath, limit_bytes: u64) -> Result<Option<Vec<u8>>, Fault> {
        // A byte more tells a file that has grown since it was looked at.
        let most_bytes = limit_bytes.saturating_add(1);
        let Some(file) = open(self.workdir(), path, limit_bytes)? else {
            return Ok(None);
        };
        let bytes = read(&self.interrupt, file, most_bytes)?;
        if bytes.len() as u64 > limit_bytes {
            return Err(Fault::TooLarge(limit_bytes));
        }
        Ok(Some(bytes))
    }

    /// Reads the first `most_bytes` of a file of the worktree; `None` where nothing stands.
    ///
    /// # Errors
    /// Why it is not read; never for its size.
    pub fn read_beginning(
        &self,
        path: &RepoPath,
        most_bytes: u64,
    ) -> Result<Option<Vec<u8>>, Fault> {
        beginning(&self.interrupt, self.workdir(), path, most_bytes)
    }

    /// Returns the text of `.gitattributes` at the root; nothing where it is not there or not to be read.
    pub fn root_attributes(&self) -> String {
        let bytes = self.read_file(&RepoPath::from(".gitattributes"), MAX_RULES_BYTES);
        String::from_utf8_lossy(&bytes.ok().flatten().unwrap_or_default()).into_owned()
    }
}

/// Reads the first `most_bytes` of a file below a folder; `None` where nothing stands.
pub(in crate::git) fn beginning(
    interrupt: &Interrupt,
    folder: &Path,
    path: &RepoPath,
    most_bytes: u64,
) -> Result<Option<Vec<u8>>, Fault> {
    let file = open(folder, path, u64::MAX)?;
    file.map(|file| read(interrupt, file, most_bytes))
        .transpose()
}

/// Reads a file to its end or to a limit; stops where somebody asks to.
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

/// Opens a file for reading; `None` where none stands there, or only behind a link.
///
/// # Errors
/// As the system has it.
pub(in crate::git) fn open_file(workdir: &Path, path: &RepoPath) -> std::io::Result<Option<File>> {
    match open(workdir, path, u64::MAX) {
        Ok(file) => Ok(file),
        Err(Fault::Unreadable(error)) => Err(error),
        Err(_) => Ok(None),
    }
}

/// Returns why a file may not be read, where that is a matter of permissions.
pub(in crate::git) fn forbidden(workdir: &Path, path: &RepoPath) -> Option<std::io::Error> {
    let error = open_file(workdir, path).err()?;
    (error.kind() == std::io::ErrorKind::PermissionDenied).then_some(error)
}

/// Reads where a link leads; `None` where none stands there, or only behind another one.
///
/// # Errors
/// As the system has it.
pub(in crate::git) fn read_link(
    workdir: &Path,
    path: &RepoPath,
) -> std::io::Result<Option<Vec<u8>>> {
    let folder = match open_folder(workdir, path) {
        Ok(Some(folder)) => folder,
        Ok(None) | Err(Fault::Link) => return Ok(None),
        Err(Fault::Unreadable(error)) => return Err(error),
        Err(other) => return Err(std::io::Error::other(other.to_string())),
    };
    match rustix::fs::readlinkat(folder, name_of(path), Vec::new()) {
        // It is something else by now.
        Err(Errno::INVAL | Errno::NOENT) => Ok(None),
        read => Ok(Some(read?.into_bytes())),
    }
}

/// Opens a file for reading; `None` where nothing stands. What is not a plain file, or larger than the
/// limit, is not even opened.
fn open(workdir: &Path, path: &RepoPath, limit_bytes: u64) -> Result<Option<File>, Fault> {
    let Some(folder) = open_folder(workdir, path)? else {
        return Ok(None);
    };
    let name = name_of(path);
    let found = match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => found,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(Fault::Unreadable(error.into())),
    };
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile
            if u64::try_from(found.st_size).is_ok_and(|size| size <= limit_bytes) => {}
        FileType::RegularFile => return Err(Fault::TooLarge(limit_bytes)),
        FileType::Symlink => return Err(Fault::Link),
        _ => return Err(Fault::NoPlainFile),
    }
    // Something else may stand there by now; a pipe would let us wait for ever.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP | Errno::MLINK) => return Err(Fault::Link),
        Err(error) => return Err(Fault::Unreadable(error.into())),
    };
    let metadata = file.metadata().map_err(Fault::Unreadable)?;
    if metadata.is_file() {
        Ok(Some(file))
    } else {
        Err(Fault::NoPlainFile)
    }
}

/// Opens the folder that a path is in; `None` where there is none.
fn open_folder(workdir: &Path, path: &RepoPath) -> Result<Option<OwnedFd>, Fault> {
    // What is in a folder that may not be listed may still be read.
    let top = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let below = top | OFlags::NOFOLLOW;
    let system = |error: Errno| Fault::Unreadable(error.into());
    let mut folder = rustix::fs::open(workdir, top, Mode::empty()).map_err(system)?;
    for part in path.as_path().parent().unwrap_or(Path::new("")) {
        match rustix::fs::openat(&folder, part, below, Mode::empty()) {
            Ok(next) => folder = next,
            Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) if is_link(&folder, part) => {
                return Err(Fault::Link);
            }
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(error) => return Err(system(error)),
        }
    }
    Ok(Some(folder))
}

fn is_link(folder: impl AsFd, name: &std::ffi::OsStr) -> bool {
    let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink)
}

fn name_of(path: &RepoPath) -> &std::ffi::OsStr {
    path.as_path().file_name().unwrap_or_default()
}
