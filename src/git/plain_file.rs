//! Opens and reads files: only regular ones, without ever blocking, and up to a limit.
//!
//! Files of git, of git-colony and of the user's folders are read here. Files of the working tree are read by
//! [`safe_open`](super::worktree::safe_open), which refuses symlinks on the way as well.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::model::Error;

/// The limit for files that have no limit of their own: no file of git or of git-colony is that large.
const MAX_BYTES: u64 = 1 << 30;

/// The reason why a file is not read.
#[derive(Debug)]
pub enum Fault {
    /// The file, or a directory above it, is a symlink.
    Link,
    /// It is a directory, a pipe, a device.
    NoPlainFile,
    /// It is larger than this many bytes.
    TooLarge(u64),
    /// The error of the system.
    Unreadable(io::Error),
    /// An interrupt.
    Interrupted(Error),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Link => write!(f, "it is reached through a symlink"),
            Fault::NoPlainFile => write!(f, "it is not a plain file"),
            Fault::TooLarge(limit) => write!(f, "it is larger than {}", Size(*limit)),
            Fault::Unreadable(why) => write!(f, "it cannot be read: {why}"),
            Fault::Interrupted(error) => write!(f, "{}", error.message()),
        }
    }
}

impl From<Fault> for io::Error {
    fn from(fault: Fault) -> io::Error {
        let kind = match &fault {
            Fault::Link | Fault::NoPlainFile => ErrorKind::InvalidInput,
            Fault::TooLarge(_) => ErrorKind::FileTooLarge,
            Fault::Interrupted(_) => ErrorKind::Interrupted,
            Fault::Unreadable(_) => ErrorKind::Other,
        };
        match fault {
            Fault::Unreadable(error) => error,
            fault => io::Error::new(kind, fault.to_string()),
        }
    }
}

/// A limit, formatted in the largest unit that divides it.
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

/// Whether a symlink at a path counts as the file it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symlinks {
    /// It does.
    Followed,
    /// It is refused.
    Refused,
}

/// Reads a file; `None` if there is none.
pub fn find(path: &Path, symlinks: Symlinks, limit_bytes: u64) -> Result<Option<Vec<u8>>, Fault> {
    let Some(file) = open_in(CWD, path.as_os_str(), symlinks, limit_bytes)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    // One byte more, to detect a file that has grown.
    let read = file.take(limit_bytes.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(Fault::Unreadable)?;
    if bytes.len() as u64 > limit_bytes {
        return Err(Fault::TooLarge(limit_bytes));
    }
    Ok(Some(bytes))
}

/// Reads the first `most_bytes` of a file; `None` if there is none.
pub fn find_beginning(
    path: &Path,
    symlinks: Symlinks,
    most_bytes: u64,
) -> Result<Option<Vec<u8>>, Fault> {
    let file = open_in(CWD, path.as_os_str(), symlinks, u64::MAX)?;
    let read = |file: File| {
        let mut bytes = Vec::new();
        file.take(most_bytes).read_to_end(&mut bytes).map(|_| bytes)
    };
    file.map(read).transpose().map_err(Fault::Unreadable)
}

/// Reads a file of git or of git-colony, which may be a symlink.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    find_own(path)?.ok_or_else(|| ErrorKind::NotFound.into())
}

/// Reads such a file; `None` if there is none.
pub fn find_own(path: impl AsRef<Path>) -> io::Result<Option<Vec<u8>>> {
    Ok(find(path.as_ref(), Symlinks::Followed, MAX_BYTES)?)
}

/// Reads such a file as text.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

/// Opens a file below a folder for reading; `None` if there is none. Does not open anything but a regular
/// file within the limit.
pub(in crate::git) fn open_in(
    folder: impl AsFd,
    name: &OsStr,
    symlinks: Symlinks,
    limit_bytes: u64,
) -> Result<Option<File>, Fault> {
    let (at, own) = match symlinks {
        Symlinks::Followed => (AtFlags::empty(), OFlags::empty()),
        Symlinks::Refused => (AtFlags::SYMLINK_NOFOLLOW, OFlags::NOFOLLOW),
    };
    let stat = match rustix::fs::statat(&folder, name, at) {
        Ok(stat) => stat,
        Err(Errno::NOENT | Errno::NAMETOOLONG) => return Ok(None),
        Err(error) => return Err(Fault::Unreadable(error.into())),
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile
            if u64::try_from(stat.st_size).is_ok_and(|size| size <= limit_bytes) => {}
        FileType::RegularFile => return Err(Fault::TooLarge(limit_bytes)),
        FileType::Symlink => return Err(Fault::Link),
        _ => return Err(Fault::NoPlainFile),
    }
    // The file may have been replaced meanwhile; opening a pipe must not block.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | own;
    let file = match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT | Errno::NAMETOOLONG) => return Ok(None),
        Err(Errno::LOOP | Errno::MLINK) => return Err(Fault::Link),
        Err(error) => return Err(Fault::Unreadable(error.into())),
    };
    let metadata = file.metadata().map_err(Fault::Unreadable)?;
    if metadata.is_file() { Ok(Some(file)) } else { Err(Fault::NoPlainFile) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_regular_file_within_the_limit_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::File::create(at("file")).unwrap().set_len(5).unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("device")).unwrap();
        rustix::fs::mkfifoat(CWD, at("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        let content = |name: &str, limit| find(&at(name), Symlinks::Followed, limit);
        assert!(content("none", 5).unwrap().is_none());
        assert_eq!(content("file", 5).unwrap().unwrap(), [0; 5]);
        assert_eq!(content("link", 5).unwrap().unwrap(), [0; 5]);
        assert!(matches!(content("file", 4), Err(Fault::TooLarge(4))));
        for name in ["pipe", "device", "."] {
            assert!(matches!(content(name, 5), Err(Fault::NoPlainFile)), "{name}");
            assert_eq!(read(at(name)).unwrap_err().kind(), ErrorKind::InvalidInput);
        }
        let refused = find(&at("link"), Symlinks::Refused, 5);
        assert!(matches!(refused, Err(Fault::Link)));
        let beginning = find_beginning(&at("file"), Symlinks::Refused, 3);
        assert_eq!(beginning.unwrap().unwrap(), [0; 3]);
        assert_eq!(read(at("none")).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
