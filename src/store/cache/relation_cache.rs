//! Caches expensive facts about files of a repository. The keys are the blobs and commits that the facts
//! depend on, so an entry never becomes wrong. Derived data, beside the page table.

use std::time::Duration;

use rusqlite::OptionalExtension as _;

use crate::git::Repo;

use super::database::Database;
use super::database_wait::Waiter;
use super::page_table;

/// How long to wait while another process holds the file: without it, facts are computed again.
const CACHE_TIMEOUT: Duration = Duration::from_secs(5);

/// With more entries than this, all are deleted.
const MAX_ENTRIES: i64 = 500_000;

/// The cache; where its file cannot be used, it stays empty.
pub struct RelationCache {
    database: Option<Database>,
    is_written: bool,
}

impl RelationCache {
    /// Opens or creates the cache.
    pub fn open(repo: &Repo) -> RelationCache {
        let waiter = Waiter::hasty(CACHE_TIMEOUT);
        RelationCache {
            database: Database::open(&page_table::place(repo), page_table::SCHEMA, &waiter).ok(),
            is_written: repo.keeps_objects(),
        }
    }

    /// Returns an entry.
    pub fn find(&self, key: &str) -> Option<Vec<u8>> {
        let connection = self.database.as_ref()?.reader();
        let sql = "SELECT value FROM relations WHERE key = ?1";
        let mut statement = connection.prepare_cached(sql).ok()?;
        let value = statement.query_row([key], |row| row.get(0));
        value.optional().ok().flatten()
    }

    /// Adds entries; one that cannot be written is dropped.
    pub fn remember(&mut self, entries: &[(String, Vec<u8>)]) {
        let wanted = self.is_written && !entries.is_empty();
        let Some(database) = self.database.as_mut().filter(|_| wanted) else {
            return;
        };
        let written = database.transaction(|connection| {
            let sql = "SELECT count(*) FROM relations";
            let count: i64 = connection.query_row(sql, [], |row| row.get(0))?;
            if count > MAX_ENTRIES {
                connection.execute("DELETE FROM relations", [])?;
            }
            let sql = "INSERT OR REPLACE INTO relations (key, value) VALUES (?1, ?2)";
            let mut statement = connection.prepare_cached(sql)?;
            for (key, value) in entries {
                statement.execute((key, value))?;
            }
            Ok(())
        });
        // It is computed again next time.
        drop(written);
    }
}
