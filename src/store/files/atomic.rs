//! The gate for files of our own: written completely or not at all, and durable where that is asked for.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::git::shared_access;
use crate::model::{Error, Result};

/// Writes a file of ours. A reader sees all of it or the old content, and it survives a power cut.
pub fn write_durably(path: &Path, bytes: &[u8]) -> Result<()> {
    write_durably_from(path.parent().unwrap_or(Path::new("/")), path, bytes)
}

/// Does the same through a file in another folder of the same file system.
///
/// For a place outside of our own folders: the leftovers of a dead process are then in a folder that is
/// swept.
pub fn write_durably_from(stage: &Path, path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    write_new(stage, path, bytes, |file| shared_access::share(file, folder))
}

/// Writes a program of ours, of mode 755, that can be run as soon as this returns.
///
/// A process that another thread starts has the file open for writing, too, until it runs its own program, and
/// nothing can run ours until then (ETXTBSY). A lock lasts until its last copy is closed: the second waits for that.
/// A file system without locks goes without.
pub fn write_program(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    write_new(folder, path, bytes, |file| {
        file.lock().ok();
        file.set_permissions(PermissionsExt::from_mode(0o755))
    })?;
    File::open(path).and_then(|program| program.lock_shared()).ok();
    Ok(())
}

fn write_new(
    stage: &Path,
    path: &Path,
    bytes: &[u8],
    prepare: impl FnOnce(&File) -> std::io::Result<()>,
) -> Result<()> {
    let cannot = |e| Error::io(format!("cannot write '{}'", path.display()), e);
    let mut file = tempfile::Builder::new()
        .prefix("tmp-")
        .permissions(PermissionsExt::from_mode(0o666))
        .tempfile_in(stage)
        .map_err(cannot)?;
    prepare(file.as_file()).map_err(cannot)?;
    file.write_all(bytes).map_err(cannot)?;
    file.as_file().sync_all().map_err(cannot)?;
    file.persist(path).map_err(|e| cannot(e.error))?;
    sync_directory(path.parent().unwrap_or(Path::new("/")))
}

/// Writes a file of ours that is not needed after a power cut.
pub fn write_plainly(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || {
        let mut file = File::create(path)?;
        shared_access::share(&file, path.parent().unwrap_or(Path::new("/")))?;
        file.write_all(bytes)
    };
    write().map_err(|e| Error::io(format!("cannot write '{}'", path.display()), e))
}

/// Makes the names in a directory durable.
pub fn sync_directory(path: &Path) -> Result<()> {
    File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(|e| Error::io(format!("cannot sync '{}'", path.display()), e))
}

/// Creates a directory and its parents.
pub fn make_directory(path: &Path) -> Result<()> {
    shared_access::make_all_directories(path)
        .map_err(|e| Error::io(format!("cannot make directory '{}'", path.display()), e))
}

/// Creates a directory in an existing parent; an existing directory is fine.
pub fn make_last_directory(path: &Path) -> Result<()> {
    match shared_access::make_directory(path) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => {
            Err(Error::io(format!("cannot make directory '{}'", path.display()), e))
        }
        _ => Ok(()),
    }
}

/// Renames within one of our own folders, or moves our lock into place.
#[expect(clippy::disallowed_methods, reason = "this is the gate for renames")]
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to)
        .map_err(|e| Error::io(format!("cannot put '{}' in place", to.display()), e))
}

/// Renames unless the destination exists; returns `true` if it renamed.
pub fn rename_to_free(from: &Path, to: &Path) -> Result<bool> {
    use super::exclusive_move::{Moved, rename_exclusively};
    let here = rustix::fs::CWD;
    match rename_exclusively(here, from.as_os_str(), here, to.as_os_str()) {
        Ok(moved) => Ok(moved == Moved::Yes),
        Err(e) => {
            Err(Error::io(format!("cannot rename '{}' to '{}'", from.display(), to.display()), e))
        }
    }
}

/// Writes a file of ours. A reader sees all of it or the old content; a power cut may lose it.
pub fn write_quickly(path: &Path, bytes: &[u8]) -> Result<()> {
    write_quickly_by(path, bytes, ("tmp-", ""))
}

/// Does the same through a file with this beginning and end of its name, which a sweep of the folder leaves
/// alone while it is being written.
pub fn write_quickly_by(path: &Path, bytes: &[u8], (begin, end): (&str, &str)) -> Result<()> {
    let cannot = |e| Error::io(format!("cannot write '{}'", path.display()), e);
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::Builder::new()
        .prefix(begin)
        .suffix(end)
        .permissions(PermissionsExt::from_mode(0o666))
        .tempfile_in(folder)
        .map_err(cannot)?;
    file.write_all(bytes).map_err(cannot)?;
    shared_access::share(file.as_file(), folder).map_err(cannot)?;
    file.persist(path).map_err(|e| cannot(e.error))?;
    Ok(())
}

/// Creates a file that must not exist yet.
pub fn create_new(path: &Path) -> std::io::Result<std::fs::File> {
    let file = std::fs::OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
    shared_access::share(&file, path.parent().unwrap_or(Path::new("/")))?;
    Ok(file)
}

/// Removes an empty folder; returns `true` if the folder is gone.
pub fn remove_empty_folder(path: &Path) -> Result<bool> {
    match fs::remove_dir(path) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(e) if e.kind() == std::io::ErrorKind::DirectoryNotEmpty => Ok(false),
        Err(e) => Err(Error::io(format!("cannot remove '{}'", path.display()), e)),
    }
}

/// Removes a file of ours; a missing file is fine.
pub fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io(format!("cannot remove '{}'", path.display()), e))
        }
        _ => Ok(()),
    }
}

/// Removes a folder of ours with everything in it; a missing folder is fine.
pub fn remove_folder(path: &Path) -> Result<()> {
    /// The child of a dead owner may write there until it finds its folder gone.
    const MAX_ATTEMPTS: usize = 100;
    let mut tries = 0..MAX_ATTEMPTS;
    let mut is_closed = true;
    loop {
        return match fs::remove_dir_all(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            // As the caches of some package managers, whose folders are read-only.
            Err(e) if e.kind() == ErrorKind::PermissionDenied && is_closed => {
                is_closed = false;
                open_folders(path);
                continue;
            }
            Err(e) if e.kind() == ErrorKind::DirectoryNotEmpty && tries.next().is_some() => {
                continue;
            }
            Err(e) => Err(Error::io(format!("cannot remove '{}'", path.display()), e)),
            Ok(()) => Ok(()),
        };
    }
}

/// Lets the user change the folders below a path, as far as they are theirs; links are not followed.
fn open_folders(path: &Path) {
    const OWN: u32 = 0o700;
    let mut open = vec![path.to_owned()];
    while let Some(folder) = open.pop() {
        let Ok(metadata) = fs::symlink_metadata(&folder) else {
            continue;
        };
        if !metadata.is_dir() {
            continue;
        }
        let mode = metadata.permissions().mode();
        if mode & OWN != OWN {
            fs::set_permissions(&folder, PermissionsExt::from_mode(mode | OWN)).ok();
        }
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        open.extend(entries.map(|entry| entry.path()));
    }
}

/// Removes a file or folder of ours, but at most `budget` files, which counts down; returns `true` if it is
/// gone. Symlinks are not followed.
pub fn remove_some(path: &Path, budget: &mut usize) -> Result<bool> {
    let cannot = |e| Error::io(format!("cannot remove '{}'", path.display()), e);
    let metadata = match fs::symlink_metadata(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(true),
        metadata => metadata.map_err(cannot)?,
    };
    if !metadata.is_dir() {
        if *budget == 0 {
            return Ok(false);
        }
        *budget -= 1;
        return remove_file(path).map(|()| true);
    }
    for entry in fs::read_dir(path).map_err(cannot)? {
        if !remove_some(&entry.map_err(cannot)?.path(), budget)? {
            return Ok(false);
        }
    }
    remove_empty_folder(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_deleted_in_parts_and_links_are_not_followed() {
        let temporary = tempfile::tempdir().unwrap();
        let (folder, elsewhere) = (temporary.path().join("a"), temporary.path().join("b"));
        fs::create_dir_all(folder.join("below")).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        for name in ["1", "2", "below/3"] {
            File::create(folder.join(name)).unwrap();
        }
        File::create(elsewhere.join("kept")).unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder.join("link")).unwrap();
        let remove = |mut budget| remove_some(&folder, &mut budget).unwrap();
        assert!(!remove(0) && !remove(2));
        assert!(folder.exists());
        assert!(remove(2) && remove(2));
        assert!(!folder.exists() && elsewhere.join("kept").exists());
    }
}
