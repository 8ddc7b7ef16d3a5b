//! The large files in the local store: read by id, never changed.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::git::Repo;
use crate::model::{Error, Result};

use super::lfs_pointer::Pointer;

/// The local object store of git-lfs.
#[derive(Clone, Debug)]
pub struct LfsObjects {
    folder: PathBuf,
}

/// The state of an object.
pub enum Content {
    /// Its bytes.
    Here(Vec<u8>),
    /// It is missing, or has another size.
    Missing,
    /// The file holds other content.
    Damaged,
}

/// Returns the git-lfs id of an object with these bytes.
pub fn digest_of(bytes: &[u8]) -> Option<String> {
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha256);
    hasher.update(bytes);
    hasher.try_finalize().ok().map(|id| id.to_string())
}

impl LfsObjects {
    /// Returns the store of a repository: `lfs.storage`, or `lfs` in the common git directory.
    pub fn of(repo: &Repo) -> LfsObjects {
        // As in git-lfs, a relative folder starts at the git directory.
        let storage = repo.config("lfs.storage").filter(|path| !path.is_empty());
        let folder = repo.common_dir().join(storage.as_deref().unwrap_or("lfs"));
        LfsObjects { folder: folder.join("objects") }
    }

    /// Returns the file that holds an object; `None` if it is missing or has another size.
    pub fn find(&self, pointer: &Pointer) -> Option<PathBuf> {
        let oid = pointer.oid.as_str();
        let path = self.folder.join(oid.get(..2)?).join(oid.get(2..4)?).join(oid);
        let metadata = std::fs::symlink_metadata(&path).ok()?;
        (metadata.is_file() && metadata.len() == pointer.size_bytes).then_some(path)
    }

    /// Reads a whole object and verifies its id.
    pub fn read(&self, pointer: &Pointer) -> Content {
        if pointer.size_bytes == 0 {
            return Content::Here(Vec::new());
        }
        let bytes = self.find(pointer).and_then(|path| std::fs::read(path).ok());
        let Some(bytes) = bytes else {
            return Content::Missing;
        };
        if digest_of(&bytes).as_deref() == Some(pointer.oid.as_str()) {
            Content::Here(bytes)
        } else {
            Content::Damaged
        }
    }

    /// Copies an object into a file and verifies its id; returns `false` if the content is another.
    pub fn copy(&self, pointer: &Pointer, mut into: File) -> Result<bool> {
        let cannot = |e| Error::io("cannot copy a large file", e);
        let Some(mut from) = self.find(pointer).and_then(|path| File::open(path).ok()) else {
            return Ok(false);
        };
        let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha256);
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = from.read(&mut buffer).map_err(cannot)?;
            let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else {
                break;
            };
            hasher.update(bytes);
            into.write_all(bytes).map_err(cannot)?;
        }
        let id = hasher.try_finalize().map(|id| id.to_string());
        Ok(id.is_ok_and(|id| id == pointer.oid.as_str()))
    }

    /// Returns the store in a folder of objects.
    pub fn in_folder(folder: PathBuf) -> LfsObjects {
        LfsObjects { folder }
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Hard-links every object into another store that lacks it; copies it if hard links are not
    /// possible.
    pub fn link_all_into(&self, other: &Path) -> Result<()> {
        self.link_from_into(self, other)
    }

    /// Like [`LfsObjects::link_all_into`], but prefers the file that `first` has of an object.
    pub fn link_from_into(&self, first: &LfsObjects, other: &Path) -> Result<()> {
        for file in self.files() {
            let Ok(rest) = file.strip_prefix(&self.folder) else {
                continue;
            };
            let (better, place) = (first.folder.join(rest), other.join(rest));
            if !better.is_file() || link(&better, &place).is_err() {
                link(&file, &place)?;
            }
        }
        Ok(())
    }

    /// Lists the files of all objects.
    pub fn files(&self) -> Vec<PathBuf> {
        // A process that died may have left partial files beside the objects.
        let is_object = |file: &PathBuf| {
            let name = file.file_name().unwrap_or_default().as_encoded_bytes();
            name.len() == 64 && name.iter().all(u8::is_ascii_hexdigit)
        };
        let mut files = files_below(&self.folder, 3);
        files.retain(is_object);
        files
    }

    /// Hard-links one object into another store; returns `true` if it exists there now.
    pub fn link_into(&self, pointer: &Pointer, other: &Path) -> Result<bool> {
        let Some(file) = self.find(pointer) else {
            return Ok(pointer.size_bytes == 0);
        };
        let rest = file.strip_prefix(&self.folder).unwrap_or(&file);
        link(&file, &other.join(rest)).map(|()| true)
    }

    /// Copies one object into another store if its content matches its id; returns `true` if it
    /// does.
    pub fn copy_into(&self, pointer: &Pointer, other: &Path) -> Result<bool> {
        let Some(file) = self.find(pointer) else {
            return Ok(false);
        };
        let cannot = |e| Error::io("cannot copy a large file", e);
        let place = other.join(file.strip_prefix(&self.folder).unwrap_or(&file));
        let folder = place.parent().unwrap_or(other);
        std::fs::create_dir_all(folder).map_err(cannot)?;
        let copy = tempfile::NamedTempFile::new_in(folder).map_err(cannot)?;
        if !self.copy(pointer, copy.reopen().map_err(cannot)?)? {
            return Ok(false);
        }
        copy.as_file().sync_all().map_err(cannot)?;
        copy.persist(place).map_err(|e| cannot(e.error))?;
        Ok(true)
    }

    /// Returns `true` if an object exists here; an empty one needs no file.
    pub fn has(&self, pointer: &Pointer) -> bool {
        pointer.size_bytes == 0 || self.find(pointer).is_some()
    }
}

/// Lists the files that are exactly `depth` components below a folder.
fn files_below(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    if depth == 1 {
        return paths.filter(|path| path.is_file()).collect();
    }
    paths.flat_map(|path| files_below(&path, depth - 1)).collect()
}

fn link(file: &Path, place: &Path) -> Result<()> {
    if place.exists() {
        return Ok(());
    }
    let cannot = |e| Error::io(format!("cannot share '{}'", file.display()), e);
    let folder = place.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder).map_err(cannot)?;
    match std::fs::hard_link(file, place) {
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) if e.kind() == std::io::ErrorKind::StorageFull => Err(cannot(e)),
        // Another file system: copy, and rename only when complete.
        Err(_) => {
            let copy = tempfile::NamedTempFile::new_in(folder).map_err(cannot)?;
            std::fs::copy(file, copy.path()).map_err(cannot)?;
            copy.as_file().sync_all().map_err(cannot)?;
            copy.persist(place).map_err(|e| cannot(e.error)).map(drop)
        }
        Ok(()) => Ok(()),
    }
}
