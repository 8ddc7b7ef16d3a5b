//! Locks on pages: a locked page does not leave the resident set of the lock's owner, and stays readable when
//! its files change. Each owner has a lock of its own on a page.
//!
//! A lock ends at its time by the clock of the machine. A clock that is set back so never ends one early, and lets
//! it last longer; where it would last more than a year, it ends a year from now.

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::store::cache::database::Unusable;

use super::resident_set::{NewLock, Wanted};
use super::{MAX_LOCK_SECONDS, PageKey, State, drop_unused, stored_pages};

/// A lock on a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageLock {
    /// The page.
    pub page: PageKey,
    /// The agent; empty for the user.
    pub owner: String,
    /// When it ends: at this time it is no longer held.
    pub until: i64,
    /// The reason for it.
    pub reason: String,
    /// When it was taken first.
    pub created: i64,
}

/// The result of an unlock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unlocked {
    /// The lock is deleted.
    Deleted,
    /// The page was not locked.
    NotLocked,
    /// Only others have locked it.
    OfOthers(Vec<PageLock>),
}

/// The result of an extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extended {
    /// The lock ends at this time now.
    Until(i64),
    /// The owner had no lock on the page, or it had ended.
    NotLocked,
}

impl State {
    /// Locks pages; a page that is locked by the same owner keeps the later end. Returns the end of each lock,
    /// or `None` for a page that has left meanwhile and is not locked.
    pub fn lock(
        &mut self,
        owner: &str,
        wanted: &[Wanted],
        lock: NewLock<'_>,
        now: i64,
    ) -> Result<Vec<Option<i64>>, Unusable> {
        self.update(|connection| {
            sweep(connection, now)?;
            let lock_page = |wanted: &Wanted| {
                match &wanted.page {
                    Some(page) => stored_pages::keep(connection, page)?,
                    None if stored_pages::find(connection, wanted.id)?.is_none() => {
                        return Ok(None);
                    }
                    None => {}
                }
                take(connection, owner, wanted.id, lock, now).map(Some)
            };
            wanted.iter().map(lock_page).collect()
        })
    }

    /// Deletes an owner's locks on pages.
    pub fn unlock(
        &mut self,
        owner: &str,
        pages: &[PageKey],
        now: i64,
    ) -> Result<Vec<Unlocked>, Unusable> {
        self.update(|connection| {
            sweep(connection, now)?;
            let unlock_page = |page: &PageKey| {
                let sql = "DELETE FROM locks WHERE page = ?1 AND agent = ?2";
                let deleted = connection.execute(sql, params![page.as_slice(), owner])?;
                let others = on_page(connection, *page, now)?;
                Ok(match (deleted, others.is_empty()) {
                    (0, true) => Unlocked::NotLocked,
                    (0, false) => Unlocked::OfOthers(others),
                    _ => Unlocked::Deleted,
                })
            };
            let results = pages.iter().map(unlock_page).collect::<Result<Vec<_>, Unusable>>()?;
            drop_unused(connection)?;
            Ok(results)
        })
    }

    /// Moves the end of an owner's lock on a page by some milliseconds.
    pub fn extend(
        &mut self,
        owner: &str,
        page: PageKey,
        by: i64,
        now: i64,
    ) -> Result<Extended, Unusable> {
        self.update(|connection| {
            let own = of_owner(connection, owner, now)?;
            let Some(lock) = own.into_iter().find(|lock| lock.page == page) else {
                return Ok(Extended::NotLocked);
            };
            let until = lock.until.saturating_add(by).min(latest_end(now));
            let sql = "UPDATE locks SET until = ?3 WHERE page = ?1 AND agent = ?2";
            connection.execute(sql, params![page.as_slice(), owner, until])?;
            Ok(Extended::Until(until))
        })
    }

    /// Lists the locks that are held at a time, by page and owner.
    pub fn locks(&mut self, now: i64) -> Result<Vec<PageLock>, Unusable> {
        self.read(|connection| {
            let sql = format!("{COLUMNS} WHERE until > ?1 ORDER BY page, agent");
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map([now], lock)?;
            let bounded =
                |lock: PageLock| PageLock { until: lock.until.min(latest_end(now)), ..lock };
            Ok(rows.map(|row| row.map(bounded)).collect::<Result<_, _>>()?)
        })
    }
}

const COLUMNS: &str = "SELECT page, agent, until, reason, created FROM locks";

fn lock(row: &rusqlite::Row<'_>) -> rusqlite::Result<PageLock> {
    Ok(PageLock {
        page: row.get(0)?,
        owner: row.get(1)?,
        until: row.get(2)?,
        reason: row.get(3)?,
        created: row.get(4)?,
    })
}

/// Returns the locks of an owner that are held at a time.
pub(super) fn of_owner(
    connection: &Connection,
    owner: &str,
    now: i64,
) -> Result<Vec<PageLock>, Unusable> {
    let sql = format!("{COLUMNS} WHERE agent = ?1 AND until > ?2 ORDER BY page");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(params![owner, now], lock)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn on_page(connection: &Connection, page: PageKey, now: i64) -> Result<Vec<PageLock>, Unusable> {
    let sql = format!("{COLUMNS} WHERE page = ?1 AND until > ?2 ORDER BY agent");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(params![page.as_slice(), now], lock)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Locks a page whose content is stored. A lock that is held never ends earlier for it.
pub(super) fn take(
    connection: &Connection,
    owner: &str,
    page: PageKey,
    new: NewLock<'_>,
    now: i64,
) -> Result<i64, Unusable> {
    let sql = format!("{COLUMNS} WHERE page = ?1 AND agent = ?2 AND until > ?3");
    let mut statement = connection.prepare_cached(&sql)?;
    let held = statement.query_row(params![page.as_slice(), owner, now], lock).optional()?;
    let until = held.as_ref().map_or(new.until, |held| held.until.max(new.until));
    let created = held.map_or(now, |held| held.created);
    let sql = "INSERT OR REPLACE INTO locks (page, agent, until, reason, created)
        VALUES (?1, ?2, ?3, ?4, ?5)";
    connection.prepare_cached(sql)?.execute(params![
        page.as_slice(),
        owner,
        until,
        new.reason,
        created
    ])?;
    Ok(until)
}

/// Returns the latest time at which a lock may end.
fn latest_end(now: i64) -> i64 {
    now + i64::from(MAX_LOCK_SECONDS) * 1_000
}

/// Deletes the locks that have ended, and bounds those that were taken by a clock far ahead.
pub(super) fn sweep(connection: &Connection, now: i64) -> Result<(), Unusable> {
    if !connection.prepare_cached("SELECT 1 FROM locks LIMIT 1")?.exists([])? {
        return Ok(());
    }
    connection.prepare_cached("DELETE FROM locks WHERE until <= ?1")?.execute([now])?;
    connection
        .prepare_cached("UPDATE locks SET until = ?1 WHERE until > ?1")?
        .execute([latest_end(now)])?;
    Ok(())
}
