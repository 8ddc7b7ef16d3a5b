//! Reading a file of the worktree that somebody else may have put there: no link is followed, no pipe
//! waited for, and no more read than a limit.

use std::io::Read as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Why a file is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It, or its folder, is a symbolic link.
    Link,
    /// It is a directory, a pipe, a device.
    NoPlainFile,
    /// It is larger than the limit.
    TooLarge,
    /// What the system says.
    Unreadable(String),
}

/// Reads the file `name` in `folder` below `directory`; `None` when there is none.
///
/// # Errors
/// Why it is not read.
pub fn read(
    directory: &Path,
    [folder, name]: [&str; 2],
    limit_bytes: u64,
) -> Result<Option<Vec<u8>>, Fault> {
    let as_folder = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::DIRECTORY;
    // A pipe would let us wait for ever.
    let plain = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = rustix::fs::open(directory.join(folder), as_folder, Mode::empty())
        .and_then(|folder| rustix::fs::openat(folder, name, plain, Mode::empty()));
    let file = match opened {
        Ok(file) => std::fs::File::from(file),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(rustix::io::Errno::NOTDIR) if !is_link(&directory.join(folder)) => return Ok(None),
        Err(rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR) => return Err(Fault::Link),
        Err(error) => return Err(Fault::Unreadable(error.to_string())),
    };
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Err(Fault::NoPlainFile);
    }
    let mut bytes = Vec::new();
    let read = file.take(limit_bytes + 1).read_to_end(&mut bytes);
    read.map_err(|error| Fault::Unreadable(error.to_string()))?;
    if bytes.len() as u64 > limit_bytes {
        return Err(Fault::TooLarge);
    }
    Ok(Some(bytes))
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|metadata| metadata.is_symlink())
}
