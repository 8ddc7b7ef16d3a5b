//! The objects that are here: read by id, never written.

use std::path::PathBuf;

use super::Repo;
use super::lfs_pointer::Pointer;

/// The local store of git-lfs.
pub struct Objects {
    folder: PathBuf,
}

impl Objects {
    /// Returns the store of a repository: `lfs.storage`, else `lfs` in the common git directory.
    pub fn of(repo: &Repo) -> Objects {
        // A relative folder starts at the git directory, as git-lfs has it.
        let storage = repo.config("lfs.storage").filter(|path| !path.is_empty());
        let folder = repo.common_dir().join(storage.as_deref().unwrap_or("lfs"));
        Objects {
            folder: folder.join("objects"),
        }
    }

    /// Returns the file that holds an object; `None` when it is not here or has another size.
    pub fn find(&self, pointer: &Pointer) -> Option<PathBuf> {
        let oid = pointer.oid.as_str();
        let path = self
            .folder
            .join(oid.get(..2)?)
            .join(oid.get(2..4)?)
            .join(oid);
        let metadata = std::fs::symlink_metadata(&path).ok()?;
        (metadata.is_file() && metadata.len() == pointer.size_bytes).then_some(path)
    }

    /// Tells whether an object is here; an empty one needs no file.
    pub fn has(&self, pointer: &Pointer) -> bool {
        pointer.size_bytes == 0 || self.find(pointer).is_some()
    }
}
