//! Opens what stands in the worktree without following a link on the way: a folder that becomes one
//! while a command runs leads nowhere.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::model::RepoPath;

/// Opens a file for reading; `None` where none stands there, or only behind a link.
///
/// # Errors
/// As the system has it.
pub(super) fn open_file(workdir: &Path, path: &RepoPath) -> std::io::Result<Option<File>> {
    let Some(folder) = open_folder(workdir, path)? else {
        return Ok(None);
    };
    // What blocks when it is opened, a pipe, is no file.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let opened = rustix::fs::openat(folder, name_of(path), flags, Mode::empty());
    let Some(file) = found(opened)?.map(File::from) else {
        return Ok(None);
    };
    Ok(file.metadata()?.is_file().then_some(file))
}

/// Reads where a link leads; `None` where none stands there, or only behind another one.
///
/// # Errors
/// As the system has it.
pub(super) fn read_link(workdir: &Path, path: &RepoPath) -> std::io::Result<Option<Vec<u8>>> {
    let Some(folder) = open_folder(workdir, path)? else {
        return Ok(None);
    };
    match rustix::fs::readlinkat(folder, name_of(path), Vec::new()) {
        // It is something else by now.
        Err(Errno::INVAL) => Ok(None),
        read => Ok(found(read)?.map(std::ffi::CString::into_bytes)),
    }
}

/// Opens the folder that a path is in.
fn open_folder(workdir: &Path, path: &RepoPath) -> std::io::Result<Option<OwnedFd>> {
    let top = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
    let below = top | OFlags::NOFOLLOW;
    let mut folder = rustix::fs::open(workdir, top, Mode::empty())?;
    for part in path.as_path().parent().unwrap_or(Path::new("")) {
        match found(rustix::fs::openat(&folder, part, below, Mode::empty()))? {
            Some(next) => folder = next,
            None => return Ok(None),
        }
    }
    Ok(Some(folder))
}

fn name_of(path: &RepoPath) -> &std::ffi::OsStr {
    path.as_path().file_name().unwrap_or_default()
}

/// Sets apart what is not there, or is a link.
fn found<T>(result: rustix::io::Result<T>) -> std::io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
