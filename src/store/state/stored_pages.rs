//! The content of the pages that an agent has or that are locked: what it takes to read them again.

use std::collections::BTreeSet;
use std::path::PathBuf;

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::store::cache::database::Unusable;

use super::{PageKey, State};

/// A page with what it takes to read it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPage {
    /// Its id.
    pub id: PageKey,
    /// Its scope.
    pub scope: String,
    /// The repository that has its objects; `None` for the one that asks.
    pub place: Option<PathBuf>,
    /// Its tokens.
    pub tokens: u64,
    /// The page, as the page module wrote it.
    pub packed: Vec<u8>,
}

impl State {
    /// Returns the pages with these ids that an agent has or that are locked.
    pub fn pages(&mut self, ids: &[PageKey]) -> Result<Vec<StoredPage>, Unusable> {
        self.read(|connection| find_all(connection, ids))
    }

    /// Returns those of some ids of pages that an agent has or that are locked. Their content is not read.
    pub fn known(&mut self, ids: &[PageKey]) -> Result<BTreeSet<PageKey>, Unusable> {
        self.read(|connection| {
            // One look at the file for all of them.
            let snapshot = connection.unchecked_transaction()?;
            let mut statement = snapshot.prepare_cached("SELECT 1 FROM pages WHERE id = ?1")?;
            let mut known = BTreeSet::new();
            for id in ids {
                if statement.exists([id.as_slice()])? {
                    known.insert(*id);
                }
            }
            Ok(known)
        })
    }

    /// Returns the pages that an agent has or that are locked whose ids are in a range.
    pub fn pages_between(
        &mut self,
        from: PageKey,
        to: PageKey,
    ) -> Result<Vec<StoredPage>, Unusable> {
        self.read(|connection| {
            let sql = "SELECT id FROM pages WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT 3";
            let mut statement = connection.prepare_cached(sql)?;
            let ids =
                statement.query_map(params![from.as_slice(), to.as_slice()], |row| row.get(0))?;
            find_all(connection, &ids.collect::<Result<Vec<PageKey>, _>>()?)
        })
    }
}

/// Stores the content of a page, which never changes.
pub(super) fn keep(connection: &Connection, page: &StoredPage) -> Result<(), Unusable> {
    let place = page.place.as_ref().map(|place| place.as_os_str().as_encoded_bytes());
    connection
        .prepare_cached(
            "INSERT INTO pages (id, scope, place, tokens, packed) VALUES (?1, ?2, ?3, ?4, ?5)
                ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            page.id.as_slice(),
            page.scope,
            place,
            i64::try_from(page.tokens).unwrap_or(i64::MAX),
            page.packed
        ])?;
    Ok(())
}

/// Returns those of some pages that are stored.
fn find_all(connection: &Connection, ids: &[PageKey]) -> Result<Vec<StoredPage>, Unusable> {
    let pages = ids.iter().map(|id| find(connection, *id).transpose());
    pages.flatten().collect()
}

pub(super) fn find(connection: &Connection, id: PageKey) -> Result<Option<StoredPage>, Unusable> {
    use std::os::unix::ffi::OsStringExt as _;
    let sql = "SELECT scope, place, tokens, packed FROM pages WHERE id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let row = statement.query_row([id.as_slice()], |row| {
        let place: Option<Vec<u8>> = row.get(1)?;
        Ok(StoredPage {
            id,
            scope: row.get(0)?,
            place: place.map(|bytes| PathBuf::from(std::ffi::OsString::from_vec(bytes))),
            tokens: row.get::<_, i64>(2)?.unsigned_abs(),
            packed: row.get(3)?,
        })
    });
    Ok(row.optional()?)
}
