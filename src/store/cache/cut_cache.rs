//! Caches how texts were cut into chunks, by the text and the way of cutting. The file is in the user's cache
//! directory; all repositories share it.

use std::path::PathBuf;

use rusqlite::OptionalExtension as _;

use crate::model::World;

use super::database::{Database, Unusable};

const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS cuts (
    key BLOB PRIMARY KEY, day INTEGER NOT NULL, value BLOB NOT NULL) WITHOUT ROWID";

/// The size in bytes above which the oldest half is deleted.
const MAX_BYTES: i64 = 512 << 20;

/// A cache of cuts; where its file cannot be used, it stays empty.
pub struct CutCache {
    database: Option<Database>,
    day: i64,
}

/// The key of an entry.
pub type CutKey = [u8; 16];

impl CutCache {
    /// Opens the cache in `XDG_CACHE_HOME`, else in `~/.cache`.
    pub fn open(world: &World) -> CutCache {
        let database = path(world).and_then(|path| Database::open(&path, SCHEMA).ok());
        CutCache {
            database,
            day: world.now().timestamp() / 86_400,
        }
    }

    /// Opens the cache for a dry run: entries are read, none is added.
    pub fn rehearse(world: &World) -> CutCache {
        let database = path(world).and_then(|path| Database::rehearse(&path, SCHEMA).ok());
        CutCache { database, day: 0 }
    }

    /// Returns an entry; a damaged one counts as missing.
    pub fn find(&self, key: CutKey) -> Option<Vec<u8>> {
        let connection = self.database.as_ref()?.reader();
        let mut statement = connection
            .prepare_cached("SELECT value FROM cuts WHERE key = ?1")
            .ok()?;
        let found = statement.query_row([key.as_slice()], |row| row.get::<_, Vec<u8>>(0));
        let found = found.optional().ok().flatten()?;
        let (digest, value) = found.split_first_chunk::<8>()?;
        (*digest == digest_of(key, value)).then(|| value.to_vec())
    }

    /// Adds entries; one that cannot be written is dropped.
    pub fn remember(&mut self, cuts: &[(CutKey, Vec<u8>)]) {
        let day = self.day;
        let Some(database) = self.database.as_mut().filter(|_| !cuts.is_empty()) else {
            return;
        };
        let written = database.transaction(|connection| {
            let sql = "INSERT OR REPLACE INTO cuts (key, day, value) VALUES (?1, ?2, ?3)";
            let mut statement = connection.prepare_cached(sql)?;
            for (key, value) in cuts {
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
        if bytes <= MAX_BYTES {
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
fn digest_of(key: CutKey, value: &[u8]) -> [u8; 8] {
    let mut digest = [0; 8];
    let mut hasher = blake3::Hasher::new();
    hasher.update(&key).update(value);
    hasher.finalize_xof().fill(&mut digest);
    digest
}

fn path(world: &World) -> Option<PathBuf> {
    Some(world.cache_folder()?.join("cuts-1.db"))
}
