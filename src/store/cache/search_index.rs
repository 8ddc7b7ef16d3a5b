//! The index of words: which documents have them, in segments that are written once.
//!
//! Clones of a hub share it, and each repository without a hub has its own. A document is a file with its content, so
//! that branches and clones share what they have in common. Words and passages are stored as the search module wrote
//! them: this module knows where they belong, not what they contain.

use std::path::{Path, PathBuf};

use rusqlite::{OptionalExtension as _, Row, params};

use crate::store::session::Session;

use super::cache_place;
use super::database::{Database, Unusable};
use super::database_wait::Waiter;
use super::schema::{Journal, Schema};

/// The version of the schema, which is in the name of the file.
pub const SCHEMA_VERSION: u32 = 1;

const SCHEMA: Schema = Schema {
    tables: "
    CREATE TABLE IF NOT EXISTS documents (
        id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, passages BLOB NOT NULL);
    CREATE TABLE IF NOT EXISTS words (
        word TEXT NOT NULL, base INTEGER NOT NULL, places BLOB NOT NULL,
        PRIMARY KEY (word, base));
    CREATE TABLE IF NOT EXISTS views (
        key BLOB PRIMARY KEY, day INTEGER NOT NULL, documents BLOB NOT NULL);",
    journal: Journal::Ahead,
};

/// The days that a view is kept after its last use.
const VIEW_DAYS: i64 = 30;

/// Documents beyond this number, for each document in use, make the index start from scratch.
const MAX_UNUSED: i64 = 8;

/// An index with fewer documents never starts from scratch.
const MIN_DOCUMENTS: i64 = 20_000;

/// The name of a document or a view: a digest of all that it depends on.
pub type IndexKey = [u8; 16];

/// The documents of a segment and their words.
#[derive(Clone, Debug, Default)]
pub struct NewSegment {
    /// The documents, by their numbers within the segment: each with its key and its passages.
    pub documents: Vec<(IndexKey, Vec<u8>)>,
    /// The words, in order, each with its places.
    pub words: Vec<(Box<str>, Vec<u8>)>,
}

/// The places of a word in one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordPlaces {
    /// The number of the first document of the segment.
    pub base: u32,
    /// The places.
    pub bytes: Vec<u8>,
}

/// The index.
pub struct SearchIndex {
    database: Database,
}

impl SearchIndex {
    /// Opens the index that a repository shares with the clones of its hub, if it has one. In a dry run, nothing that is
    /// written stays.
    pub fn open(session: &Session) -> Result<SearchIndex, Unusable> {
        let open = if session.is_dry() { Database::rehearse } else { Database::open };
        let database = open(&SearchIndex::place(session), SCHEMA, &Waiter::of(session))?;
        Ok(SearchIndex { database })
    }

    /// Deletes the index and creates it again.
    pub fn recreate(session: &Session) -> Result<SearchIndex, Unusable> {
        if session.is_dry() {
            return SearchIndex::in_memory();
        }
        let database =
            Database::recreate(&SearchIndex::place(session), SCHEMA, &Waiter::of(session))?;
        Ok(SearchIndex { database })
    }

    /// Returns `true` if there is an index. Looking for one does not create it.
    pub fn exists(session: &Session) -> bool {
        SearchIndex::place(session).exists()
    }

    /// Returns the path of the index: where it is shared, or in a folder of the user if nothing can be written there.
    pub fn place(session: &Session) -> PathBuf {
        let (home, name) = SearchIndex::home(session);
        cache_place::of(&session.world, home, &name)
    }

    /// Returns the path of the index where it is shared.
    pub fn own_place(session: &Session) -> PathBuf {
        let (home, name) = SearchIndex::home(session);
        home.join(name)
    }

    fn home(session: &Session) -> (&Path, String) {
        let hub = session.membership.as_ref().map(|member| member.hub.as_path());
        let home = hub.unwrap_or_else(|| session.repo.common_dir());
        (home, format!("colony/cache/search-{SCHEMA_VERSION}.db"))
    }

    /// Opens an index for this run only.
    pub fn in_memory() -> Result<SearchIndex, Unusable> {
        Ok(SearchIndex { database: Database::in_memory(SCHEMA)? })
    }

    /// Finds a document by its key: its number and its passages.
    pub fn find(&self, key: IndexKey) -> Result<Option<(u32, Vec<u8>)>, Unusable> {
        let sql = "SELECT id, passages FROM documents WHERE key = ?1";
        let mut statement = self.database.reader().prepare_cached(sql)?;
        let row = statement.query_row([key.as_slice()], |row| Ok((row.get(0)?, opened(row, 1)?)));
        row.optional()?.map(|(id, value)| Ok((id, value?))).transpose()
    }

    /// Returns the number of a document.
    pub fn id(&self, key: IndexKey) -> Result<Option<u32>, Unusable> {
        let sql = "SELECT id FROM documents WHERE key = ?1";
        let mut statement = self.database.reader().prepare_cached(sql)?;
        let id = statement.query_row([key.as_slice()], |row| row.get(0));
        Ok(id.optional()?)
    }

    /// Returns the passages of a document by its number.
    pub fn document(&self, id: u32) -> Result<Option<Vec<u8>>, Unusable> {
        let sql = "SELECT passages FROM documents WHERE id = ?1";
        let mut statement = self.database.reader().prepare_cached(sql)?;
        let document = statement.query_row([id], |row| opened(row, 0));
        document.optional()?.transpose()
    }

    /// Returns the places of a word, by segment.
    pub fn places(&self, word: &str) -> Result<Vec<WordPlaces>, Unusable> {
        let sql = "SELECT base, rowid FROM words WHERE word = ?1 ORDER BY base";
        let mut statement = self.database.reader().prepare_cached(sql)?;
        let rows = statement.query_map([word], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let places = rows.map(|row| {
            let (base, row) = row?;
            let bytes = self.large("words", "places", row)?;
            Ok(WordPlaces { base, bytes })
        });
        places.collect()
    }

    /// Adds a segment. Returns `false`, and adds nothing, if another process has added one of its documents meanwhile.
    pub fn add(&mut self, segment: &NewSegment) -> Result<bool, Unusable> {
        self.database.transaction(|connection| {
            let next = "SELECT coalesce(max(id), -1) + 1 FROM documents";
            let base: i64 = connection.query_row(next, [], |row| row.get(0))?;
            let sql = "INSERT OR IGNORE INTO documents (id, key, passages) VALUES (?1, ?2, ?3)";
            let mut insert = connection.prepare_cached(sql)?;
            // All are checked before one is written: a transaction that returns is committed.
            let sql = "SELECT 1 FROM documents WHERE key = ?1";
            let mut known = connection.prepare_cached(sql)?;
            for (key, _) in &segment.documents {
                if known.exists([key.as_slice()])? {
                    return Ok(false);
                }
            }
            for (id, (key, passages)) in (base..).zip(&segment.documents) {
                insert.execute(params![id, key.as_slice(), sealed(passages)])?;
            }
            let sql = "INSERT OR REPLACE INTO words (word, base, places) VALUES (?1, ?2, ?3)";
            let mut insert = connection.prepare_cached(sql)?;
            for (word, places) in &segment.words {
                insert.execute(params![word.as_ref(), base, sealed(places)])?;
            }
            Ok(true)
        })
    }

    /// Returns a view.
    pub fn view(&self, key: IndexKey) -> Result<Option<Vec<u8>>, Unusable> {
        let sql = "SELECT rowid FROM views WHERE key = ?1";
        let mut statement = self.database.reader().prepare_cached(sql)?;
        let view = statement.query_row([key.as_slice()], |row| row.get(0));
        let row = view.optional()?;
        row.map(|row| self.large("views", "documents", row)).transpose()
    }

    /// Reads a value that may be large, into the memory in which it stays.
    fn large(&self, table: &str, column: &str, row: i64) -> Result<Vec<u8>, Unusable> {
        let reader = self.database.reader();
        let blob = reader.blob_open("main", table, column, row, true)?;
        let damaged = || Unusable::because("it is damaged");
        let length = blob.len().checked_sub(DIGEST).ok_or_else(damaged)?;
        let (mut seal, mut value) = ([0; DIGEST], vec![0; length]);
        blob.read_at_exact(&mut seal, 0)?;
        blob.read_at_exact(&mut value, DIGEST)?;
        (digest(&value) == seal).then_some(value).ok_or_else(damaged)
    }

    /// Stores a view, and deletes those that were not used for long.
    pub fn put_view(&mut self, key: IndexKey, documents: &[u8], day: i64) -> Result<(), Unusable> {
        self.database.transaction(|connection| {
            connection.execute("DELETE FROM views WHERE day < ?1", [day - VIEW_DAYS])?;
            let sql = "INSERT OR REPLACE INTO views (key, day, documents) VALUES (?1, ?2, ?3)";
            connection.execute(sql, params![key.as_slice(), day, sealed(documents)])?;
            Ok(())
        })
    }

    /// Returns `true` if it has a view.
    pub fn has_view(&self, key: IndexKey) -> Result<bool, Unusable> {
        let sql = "SELECT 1 FROM views WHERE key = ?1";
        let mut statement = self.database.reader().prepare_cached(sql)?;
        Ok(statement.exists([key.as_slice()])?)
    }

    /// Returns the number that the next document has.
    pub fn next_id(&self) -> Result<u32, Unusable> {
        let sql = "SELECT coalesce(max(id), -1) + 1 FROM documents";
        Ok(self.database.reader().query_row(sql, [], |row| row.get(0))?)
    }

    /// Returns `true` if the index has far more documents than a search uses.
    pub fn is_overgrown(&self, used: usize) -> Result<bool, Unusable> {
        let sql = "SELECT count(*) FROM documents";
        let all: i64 = self.database.reader().query_row(sql, [], |row| row.get(0))?;
        let used = i64::try_from(used).unwrap_or(i64::MAX);
        Ok(all > MIN_DOCUMENTS.max(used.saturating_mul(MAX_UNUSED)))
    }
}

/// The length of the digest before a value.
const DIGEST: usize = 8;

/// Returns a value with a digest of it, which tells when the file was damaged.
fn sealed(value: &[u8]) -> Vec<u8> {
    [digest(value).as_slice(), value].concat()
}

/// Returns the value of a column without its digest; the inner error is that it is damaged.
fn opened(row: &Row<'_>, column: usize) -> rusqlite::Result<Result<Vec<u8>, Unusable>> {
    let sealed = row.get_ref(column)?.as_blob()?.split_first_chunk::<DIGEST>();
    let value = sealed.filter(|(seal, value)| digest(value) == **seal);
    Ok(value.map(|(_, value)| value.to_vec()).ok_or_else(|| Unusable::because("it is damaged")))
}

fn digest(value: &[u8]) -> [u8; DIGEST] {
    let mut digest = [0; DIGEST];
    blake3::Hasher::new().update(value).finalize_xof().fill(&mut digest);
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index() -> SearchIndex {
        let mut index = SearchIndex::in_memory().unwrap();
        let segment = NewSegment {
            documents: vec![([1; 16], b"passages".to_vec())],
            words: vec![("word".into(), b"places".to_vec())],
        };
        assert!(index.add(&segment).unwrap());
        // Another process has added it.
        assert!(!index.add(&segment).unwrap());
        index.put_view([2; 16], b"documents", 7).unwrap();
        index
    }

    #[test]
    fn values_are_read_as_they_were_written() {
        let index = index();
        let stored = index.find([1; 16]).unwrap().unwrap();
        assert_eq!(stored, (0, b"passages".to_vec()));
        assert_eq!(index.document(0).unwrap().unwrap(), b"passages");
        let places = WordPlaces { base: 0, bytes: b"places".to_vec() };
        assert_eq!(index.places("word").unwrap(), [places]);
        assert_eq!(index.view([2; 16]).unwrap().unwrap(), b"documents");
        assert!(index.find([3; 16]).unwrap().is_none());
        assert!(index.places("other").unwrap().is_empty());
    }

    #[test]
    fn a_damaged_value_is_not_used() {
        let index = index();
        for (table, column) in
            [("documents", "passages"), ("words", "places"), ("views", "documents")]
        {
            let sql = format!("UPDATE {table} SET {column} = {column} || x'00'");
            index.database.reader().execute(&sql, []).unwrap();
        }
        assert!(index.find([1; 16]).is_err());
        assert!(index.document(0).is_err());
        assert!(index.places("word").is_err());
        assert!(index.view([2; 16]).is_err());
    }
}
