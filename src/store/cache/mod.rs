//! Derived data in files of ours. They may be deleted at any time; who waits for one waits for a living holder only.

pub(super) mod cache_place;
pub mod database;
pub mod database_wait;
pub mod first_commit;
pub mod page_table;
pub mod relation_cache;
pub mod schema;
pub mod search_index;
pub mod user_cache;

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::git::Repo;
use crate::git::plain_file::{self, Symlinks};
use crate::git::scratch::own_user;

use super::files::atomic;

/// A larger file is not ours and is not read.
const MAX_BYTES: u64 = 32 << 20;

/// One file of derived data, shared by the worktrees of a repository.
pub struct Cache {
    path: PathBuf,
    /// `false` in a dry run, which does not even write this.
    is_written: bool,
}

impl Cache {
    /// Returns the cache with this name; its file need not exist.
    pub fn of(repo: &Repo, name: &str) -> Cache {
        Cache {
            path: repo.common_dir().join("colony/cache").join(name),
            is_written: repo.keeps_objects(),
        }
    }

    /// Returns the cache with this name for a command that writes nothing else: its `repo` keeps no objects either.
    /// Nothing is created in the repository of another user, who could not write into our folder afterwards.
    pub fn of_reader(repo: &Repo, name: &str) -> Cache {
        let owner = std::fs::metadata(repo.common_dir()).map(|metadata| metadata.uid());
        Cache { is_written: owner.is_ok_and(|owner| owner == own_user()), ..Cache::of(repo, name) }
    }

    /// Reads the cache; a file that cannot be read counts as empty.
    pub fn read<T: DeserializeOwned + Default>(&self) -> T {
        let content = plain_file::find(&self.path, Symlinks::Refused, MAX_BYTES);
        let bytes = content.ok().flatten();
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Replaces the cache; where it cannot be written, it is missing next time.
    pub fn write(&self, value: &impl Serialize) {
        let Some(folder) = self.path.parent().filter(|_| self.is_written) else {
            return;
        };
        let Ok(json) = serde_json::to_vec(value) else {
            return;
        };
        if plain_file::read(&self.path).is_ok_and(|old| old == json) {
            return;
        }
        let written = atomic::make_directory(folder);
        drop(written.and_then(|()| atomic::write_quickly(&self.path, &json)));
    }
}
