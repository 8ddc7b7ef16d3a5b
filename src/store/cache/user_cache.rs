//! Caches expensive results for all repositories of a user, by what they depend on. Each kind has a file of its
//! own in the user's cache directory, which may be deleted at any time.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::time::Duration;

use rusqlite::OptionalExtension as _;

use crate::model::World;

use super::database::{Database, Unusable};
use super::database_wait::Waiter;
use super::schema::{Journal, Schema};

/// The table has the name of the first kind in all files.
/// The version of the schema, which is in the names of the files.
pub const SCHEMA_VERSION: u32 = 1;

const SCHEMA: Schema = Schema {
    tables: "CREATE TABLE IF NOT EXISTS cuts (
    key BLOB PRIMARY KEY, day INTEGER NOT NULL, value BLOB NOT NULL)",
    journal: Journal::Ahead,
};

/// How long to wait while another process holds the cache: without it, the work is done again.
const CACHE_TIMEOUT: Duration = Duration::from_secs(5);

const SECONDS_PER_DAY: i64 = 86_400;

/// A larger entry is dropped.
const MAX_ENTRY_BYTES: usize = 256 << 20;

/// The kinds of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserCacheKind {
    /// How texts were cut into chunks.
    Cuts,
    /// The text of documents.
    Texts,
}

impl UserCacheKind {
    /// Returns the name of the file.
    fn file(self) -> String {
        let name = match self {
            UserCacheKind::Cuts => "cuts",
            UserCacheKind::Texts => "texts",
        };
        format!("{name}-{SCHEMA_VERSION}.db")
    }

    /// Returns the size in bytes above which the oldest half is deleted.
    fn most_bytes(self) -> i64 {
        match self {
            UserCacheKind::Cuts => 512 << 20,
            UserCacheKind::Texts => 2 << 30,
        }
    }
}

/// The entries of one kind; where their file cannot be used, there are none.
pub struct UserCache {
    database: Option<Database>,
    day: i64,
    most_bytes: i64,
}

/// The key of an entry.
pub type CacheKey = [u8; 16];

/// Returns the key for a text that names everything an entry depends on.
pub fn key(text: &str) -> CacheKey {
    let mut key = [0; 16];
    let mut hasher = blake3::Hasher::new();
    hasher.update(text.as_bytes()).finalize_xof().fill(&mut key);
    key
}

impl UserCache {
    /// Opens the cache in `XDG_CACHE_HOME`, else in `~/.cache`.
    pub fn open(world: &World, kind: UserCacheKind) -> UserCache {
        let open = |path: PathBuf| {
            // Cached content may be private.
            let mut private = std::fs::DirBuilder::new();
            private.recursive(true).mode(0o700);
            private.create(path.parent()?).ok()?;
            Database::open(&path, SCHEMA, &Waiter::hasty(CACHE_TIMEOUT)).ok()
        };
        UserCache {
            database: path(world, kind).and_then(open),
            day: world.now().timestamp().div_euclid(SECONDS_PER_DAY),
            most_bytes: kind.most_bytes(),
        }
    }

    /// Opens the cache for a dry run: entries are read, none is added.
    pub fn rehearse(world: &World, kind: UserCacheKind) -> UserCache {
        let waiter = Waiter::hasty(CACHE_TIMEOUT);
        let rehearse = |path: PathBuf| Database::rehearse(&path, SCHEMA, &waiter).ok();
        UserCache {
            database: path(world, kind).and_then(rehearse),
            day: 0,
            most_bytes: kind.most_bytes(),
        }
    }

    /// Returns an entry; a damaged one counts as missing.
    pub fn find(&self, key: CacheKey) -> Option<Vec<u8>> {
        let connection = self.database.as_ref()?.reader();
        let mut statement =
            connection.prepare_cached("SELECT value FROM cuts WHERE key = ?1").ok()?;
        let stored = statement
            .query_row([key.as_slice()], |row| row.get::<_, Vec<u8>>(0))
            .optional()
            .ok()
            .flatten()?;
        let (digest, value) = stored.split_first_chunk::<8>()?;
        (*digest == digest_of(key, value)).then(|| value.to_vec())
    }

    /// Adds entries; one that cannot be written is dropped.
    pub fn remember(&mut self, entries: &[(CacheKey, Vec<u8>)]) {
        let day = self.day;
        let Some(database) = self.database.as_mut().filter(|_| !entries.is_empty()) else {
            return;
        };
        let written = database.transaction(|connection| {
            let sql = "INSERT OR REPLACE INTO cuts (key, day, value) VALUES (?1, ?2, ?3)";
            let mut statement = connection.prepare_cached(sql)?;
            let small = entries.iter().filter(|(_, value)| value.len() <= MAX_ENTRY_BYTES);
            for (key, value) in small {
                let value = [digest_of(*key, value).as_slice(), value].concat();
                statement.execute((key.as_slice(), day, value))?;
            }
            Ok(())
        });
        if written.is_ok() {
            drop(self.shrink());
        }
    }

    /// Deletes the oldest half of a cache that has become too large.
    fn shrink(&mut self) -> Result<(), Unusable> {
        let Some(database) = self.database.as_mut() else {
            return Ok(());
        };
        let size = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
        let bytes: i64 = database.reader().query_row(size, [], |row| row.get(0))?;
        if bytes <= self.most_bytes {
            return Ok(());
        }
        database.transaction(|connection| {
            connection.execute(
                "DELETE FROM cuts WHERE day <= (SELECT day FROM cuts ORDER BY day
                    LIMIT 1 OFFSET (SELECT count(*) / 2 FROM cuts))",
                [],
            )?;
            Ok(())
        })?;
        database.reader().execute_batch("VACUUM")?;
        Ok(())
    }
}

/// Returns a digest that detects damaged values.
fn digest_of(key: CacheKey, value: &[u8]) -> [u8; 8] {
    let mut digest = [0; 8];
    let mut hasher = blake3::Hasher::new();
    hasher.update(&key).update(value);
    hasher.finalize_xof().fill(&mut digest);
    digest
}

fn path(world: &World, kind: UserCacheKind) -> Option<PathBuf> {
    Some(world.cache_folder()?.join(kind.file()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(day: i64, most_bytes: i64, path: &std::path::Path) -> UserCache {
        UserCache {
            database: Database::open(path, SCHEMA, &Waiter::hasty(CACHE_TIMEOUT)).ok(),
            day,
            most_bytes,
        }
    }

    #[test]
    fn an_entry_is_found_by_its_own_key_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache.db");
        let mut cache = cache(1, i64::MAX, &path);
        cache.remember(&[(key("a"), b"body".to_vec())]);
        assert_eq!(cache.find(key("a")).as_deref(), Some(&b"body"[..]));
        assert_eq!(cache.find(key("b")), None);
        let connection = cache.database.as_ref().unwrap().reader();
        let (own, other) = (key("a"), key("b"));
        let copied = "INSERT INTO cuts SELECT ?1, day, value FROM cuts WHERE key = ?2";
        connection.execute(copied, (other.as_slice(), own.as_slice())).unwrap();
        assert_eq!(cache.find(other), None);
    }

    #[test]
    fn the_oldest_half_goes_when_there_is_too_much() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache.db");
        for day in 1..=4 {
            let body = (key(&day.to_string()), vec![0; 50_000]);
            cache(day, 180_000, &path).remember(&[body]);
        }
        let cache = cache(5, i64::MAX, &path);
        let left = (1..=4).filter(|day| cache.find(key(&day.to_string())).is_some());
        assert_eq!(left.collect::<Vec<_>>(), [4]);
    }
}
