//! Derived data in a file of ours: anybody may delete it at any time, and nobody waits for it.

pub mod cut_cache;
pub mod database;
pub mod page_table;
pub mod relation_cache;
pub mod user_cache;

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::git::Repo;

use super::files::atomic;

/// A larger file is not read: it is none of ours.
const MOST_BYTES: u64 = 32 << 20;

/// One file of derived data, shared by the worktrees of a repository.
pub struct Cache {
    path: PathBuf,
    /// A dry run writes nothing, not even this.
    is_written: bool,
}

impl Cache {
    /// Names the file; it need not exist.
    pub fn of(repo: &Repo, name: &str) -> Cache {
        Cache {
            path: repo.common_dir().join("colony/cache").join(name),
            is_written: repo.keeps_objects(),
        }
    }

    /// Names a file that all clones of a hub share.
    pub fn of_hub(repo: &Repo, hub: &Path, name: &str) -> Cache {
        Cache {
            path: hub.join("colony/cache").join(name),
            is_written: repo.keeps_objects(),
        }
    }

    /// Reads what is there; whatever cannot be read counts as nothing.
    pub fn read<T: DeserializeOwned + Default>(&self) -> T {
        let metadata = std::fs::symlink_metadata(&self.path).ok();
        let sound = metadata.is_some_and(|m| m.is_file() && m.len() <= MOST_BYTES);
        let bytes = sound.then(|| std::fs::read(&self.path).ok()).flatten();
        bytes
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default()
    }

    /// Writes it anew; a cache that cannot be written is one that is not there.
    pub fn write(&self, value: &impl Serialize) {
        let Some(folder) = self.path.parent().filter(|_| self.is_written) else {
            return;
        };
        let Ok(json) = serde_json::to_vec(value) else {
            return;
        };
        if std::fs::read(&self.path).is_ok_and(|old| old == json) {
            return;
        }
        let written = atomic::make_directory(folder);
        drop(written.and_then(|()| atomic::write_quickly(&self.path, &json)));
    }
}
