//! Caches expensive results for all repositories of a user. It may be deleted at any time.
//!
//! An entry has a digest of its key and its bytes: one that is truncated, altered or filed under another name
//! counts as missing.

use std::ffi::OsStr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::model::World;
use crate::store::files::atomic;
use crate::store::key;

/// A larger entry is neither written nor read.
const MAX_ENTRY_BYTES: u64 = 256 << 20;

/// After a sweep, all entries of a kind together have at most this size.
const MAX_BYTES: u64 = 2 << 30;

/// An entry that was not read for this many days is swept.
const MAX_DAYS: i64 = 90;

const SECONDS_PER_DAY: i64 = 86_400;

/// The entries of one kind.
pub struct UserCache {
    folder: PathBuf,
    now: i64,
}

impl UserCache {
    /// Opens the entries of a kind; `None` where the user has no cache directory.
    pub fn open(world: &World, kind: &str) -> Option<UserCache> {
        Some(UserCache {
            folder: world.cache_folder()?.join(kind),
            now: world.now().timestamp(),
        })
    }

    /// Reads an entry.
    pub fn read(&self, key: &str) -> Option<Vec<u8>> {
        let path = self.path(key);
        let metadata = std::fs::symlink_metadata(&path).ok()?;
        if !metadata.is_file() || metadata.len() > MAX_ENTRY_BYTES {
            return None;
        }
        let bytes = std::fs::read(&path).ok()?;
        let (digest, body) = bytes.split_first_chunk::<32>()?;
        if *digest != digest_of(key, body) {
            return None;
        }
        // Its time of use keeps the entry. Once a day is enough.
        if self.age_in_days(&metadata) >= 1 {
            let now = filetime::FileTime::from_unix_time(self.now, 0);
            filetime::set_file_mtime(&path, now).ok();
        }
        Some(body.to_vec())
    }

    /// Writes an entry; one that cannot be written is dropped.
    pub fn write(&self, key: &str, body: &[u8]) {
        if body.len() as u64 > MAX_ENTRY_BYTES {
            return;
        }
        let path = self.path(key);
        let Some(folder) = path.parent() else { return };
        let bytes = [digest_of(key, body).as_slice(), body].concat();
        // Cached content may be private.
        let mut private = std::fs::DirBuilder::new();
        private.recursive(true).mode(0o700);
        if private.create(folder).is_ok() && atomic::write_quickly(&path, &bytes).is_ok() {
            self.sweep_daily();
        }
    }

    fn path(&self, key: &str) -> PathBuf {
        let digest = blake3::hash(key.as_bytes()).to_hex();
        let shelf = digest.get(..2).unwrap_or_default();
        // The name is readable; the shelf spreads the entries over folders.
        self.folder.join(shelf).join(key::encode(key))
    }

    /// Once a day, deletes old entries, and the oldest ones where there are too many.
    fn sweep_daily(&self) {
        let mark = self.folder.join("swept");
        let metadata = std::fs::symlink_metadata(&mark).ok();
        if metadata.is_some_and(|metadata| self.age_in_days(&metadata) < 1) {
            return;
        }
        // The mark comes first, so that another process does not sweep at the same time.
        if atomic::write_quickly(&mark, b"").is_err() {
            return;
        }
        let now = filetime::FileTime::from_unix_time(self.now, 0);
        filetime::set_file_mtime(&mark, now).ok();
        self.sweep();
    }

    fn sweep(&self) {
        let mut entries: Vec<(i64, u64, PathBuf)> = Vec::new();
        for shelf in list(&self.folder) {
            for path in list(&shelf) {
                if let Ok(metadata) = std::fs::symlink_metadata(&path) {
                    entries.push((self.age_in_days(&metadata), metadata.len(), path));
                }
            }
        }
        entries.sort();
        let mut total = 0;
        for (age, bytes, path) in entries {
            total += bytes;
            if age > MAX_DAYS || total > MAX_BYTES {
                // Another process may have been faster.
                atomic::remove_file(&path).ok();
            }
        }
    }

    fn age_in_days(&self, metadata: &std::fs::Metadata) -> i64 {
        let modified = filetime::FileTime::from_last_modification_time(metadata);
        (self.now - modified.unix_seconds()) / SECONDS_PER_DAY
    }
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .filter(|path| path.file_name() != Some(OsStr::new("swept")))
        .collect()
}

fn digest_of(key: &str, body: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    // The length separates key and body.
    hasher.update(&(key.len() as u64).to_le_bytes());
    hasher.update(key.as_bytes()).update(body);
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = SECONDS_PER_DAY;

    fn cache(folder: &Path, day: i64) -> UserCache {
        UserCache {
            folder: folder.to_owned(),
            now: day * DAY,
        }
    }

    /// Writes an entry with the time of that day.
    fn put(folder: &Path, day: i64, key: &str) {
        let cache = cache(folder, day);
        cache.write(key, b"body");
        let time = filetime::FileTime::from_unix_time(cache.now, 0);
        filetime::set_file_mtime(cache.path(key), time).unwrap();
    }

    #[test]
    fn an_entry_is_found_by_its_own_key_only() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path(), 20_000);
        cache.write("a", b"body");
        assert_eq!(cache.read("a").as_deref(), Some(&b"body"[..]));
        let other = cache.path("b");
        atomic::make_directory(other.parent().unwrap()).unwrap();
        std::fs::copy(cache.path("a"), &other).unwrap();
        assert_eq!(cache.read("b"), None);
        assert_eq!(cache.read("c"), None);
    }

    #[test]
    fn unread_entries_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), 20_000, "old");
        put(folder.path(), 20_000, "read");
        assert!(cache(folder.path(), 20_080).read("read").is_some());
        put(folder.path(), 20_095, "new");
        let cache = cache(folder.path(), 20_095);
        assert_eq!(cache.read("old"), None);
        assert!(cache.read("read").is_some() && cache.read("new").is_some());
    }
}
