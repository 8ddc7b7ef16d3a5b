//! Moves one entry if its destination is free: nothing is ever replaced, also between file systems.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use rustix::fs::{AtFlags, RenameFlags};
use rustix::io::Errno;

/// The result of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// It is at its destination now.
    Yes,
    /// There was nothing to move.
    SourceMissing,
    /// The destination exists; nothing was moved.
    Occupied,
}

pub(in crate::store) fn rename_exclusively(
    from: impl std::os::fd::AsFd,
    source: &OsStr,
    to: impl std::os::fd::AsFd,
    destination: &OsStr,
) -> io::Result<Moved> {
    let (from, to) = (from.as_fd(), to.as_fd());
    match rustix::fs::renameat_with(from, source, to, destination, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(Moved::Yes),
        Err(Errno::EXIST) => Ok(Moved::Occupied),
        Err(Errno::NOENT) => Ok(Moved::SourceMissing),
        // Some file systems cannot guarantee it; check first there.
        Err(Errno::INVAL | Errno::NOSYS) => {
            match rustix::fs::statat(to, destination, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) => return Ok(Moved::Occupied),
                Err(Errno::NOENT) => {}
                Err(e) => return Err(e.into()),
            }
            rustix::fs::renameat(from, source, to, destination)?;
            Ok(Moved::Yes)
        }
        Err(e) => Err(e.into()),
    }
}

/// Moves an entry between two places of ours if the destination is free; a file also to another file system.
pub(in crate::store) fn move_to_free(source: &Path, destination: &Path) -> io::Result<Moved> {
    let cwd = rustix::fs::CWD;
    match rename_exclusively(cwd, source.as_os_str(), cwd, destination.as_os_str()) {
        Err(e) if e.kind() == io::ErrorKind::CrossesDevices => {
            match std::fs::symlink_metadata(source)? {
                metadata if metadata.is_dir() => Err(e),
                _ => move_by_copy(source, destination),
            }
        }
        other => other,
    }
}

/// Moves a file or symlink between file systems: copies it beside its destination, makes it durable, moves it
/// into place exclusively, and only then removes the source.
pub(super) fn move_by_copy(source: &Path, destination: &Path) -> io::Result<Moved> {
    let metadata = match std::fs::symlink_metadata(source) {
        Ok(metadata) => metadata,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Moved::SourceMissing),
        Err(e) => return Err(e),
    };
    if std::fs::symlink_metadata(destination).is_ok() {
        return Ok(Moved::Occupied);
    }
    let mut name = OsStr::new(".colony-copy-").to_owned();
    name.push(destination.file_name().unwrap_or_default());
    let beside = destination.with_file_name(name);
    match std::fs::remove_file(&beside) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    if metadata.is_symlink() {
        std::os::unix::fs::symlink(std::fs::read_link(source)?, &beside)?;
    } else if metadata.is_file() {
        std::fs::copy(source, &beside)?;
        let copy = std::fs::File::open(&beside)?;
        copy.set_modified(metadata.modified()?)?;
        copy.sync_all()?;
    } else {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "only files and links can be moved to another file system",
        ));
    }
    let cwd = rustix::fs::CWD;
    let moved = rename_exclusively(cwd, beside.as_os_str(), cwd, destination.as_os_str())?;
    match moved {
        Moved::Yes => std::fs::remove_file(source)?,
        Moved::Occupied | Moved::SourceMissing => std::fs::remove_file(&beside)?,
    }
    Ok(moved)
}
