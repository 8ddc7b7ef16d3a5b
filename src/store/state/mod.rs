//! The state of a colony on this machine: the pages that each agent has in its context, page locks, the tiers of
//! projects, watches, and the event log.
//!
//! Members of a hub share one database. It is of one machine and nothing in it lasts: where the file is lost
//! or damaged, locks end, resident sets are empty, and it is created again. A command that cannot write it
//! grants no lock. Times are in milliseconds since 1970 and come from the caller.

mod context_fragments;
pub mod event_log;
mod event_position;
mod event_reader;
#[cfg(test)]
mod event_tests;
mod page_locks;
mod place;
mod readings;
mod resident_set;
mod stored_pages;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tier_tests;
mod tier_view;
mod watches;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use super::cache::cache_place::may_write;
use super::cache::database::{Database, Unusable};
use super::cache::database_wait::Waiter;
use super::cache::schema::{Journal, Schema};
use super::session::Session;

pub use context_fragments::TierOwner;
pub use event_position::Position;
pub use event_reader::{Batch, Event, EventReader};
pub use page_locks::{Extended, PageLock, Unlocked};
pub use place::folder;
pub use readings::{Reading, ReadingCursor, Readings, ReadingsOf, ReadingsPart};
pub use resident_set::{Counters, Held, Holding, NewLock, Request, Requested, Resident, Wanted};
pub use stored_pages::StoredPage;
pub use tier_view::{Fragment, FragmentName, NewFragment, Tier, TierView};
pub use watches::{Added, Watch};

/// The longest time of a lock, a year: no lock ends later from now, however the clock moves.
pub const MAX_LOCK_SECONDS: u32 = 31_536_000;

/// How often a transaction is tried while other processes delete the file.
const ATTEMPTS: usize = 4;

/// The version of the schema, which is the name of the file.
pub const SCHEMA_VERSION: u32 = 1;

const SCHEMA: Schema = Schema {
    tables: "
    CREATE TABLE IF NOT EXISTS pages (
        id BLOB PRIMARY KEY, scope TEXT NOT NULL, place BLOB, tokens INTEGER NOT NULL,
        packed BLOB NOT NULL);
    CREATE TABLE IF NOT EXISTS residents (
        agent TEXT NOT NULL, page BLOB NOT NULL, priority INTEGER NOT NULL,
        loaded INTEGER NOT NULL, used INTEGER NOT NULL,
        loaded_at INTEGER NOT NULL, used_at INTEGER NOT NULL,
        PRIMARY KEY (agent, page)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS locks (
        page BLOB NOT NULL, agent TEXT NOT NULL, until INTEGER NOT NULL,
        reason TEXT NOT NULL, created INTEGER NOT NULL,
        PRIMARY KEY (page, agent)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS counters (
        agent TEXT NOT NULL, scope TEXT NOT NULL, hits INTEGER NOT NULL,
        faults INTEGER NOT NULL, evictions INTEGER NOT NULL,
        PRIMARY KEY (agent, scope)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS watches (
        id TEXT NOT NULL, worktree BLOB NOT NULL, scope TEXT, paths BLOB NOT NULL,
        mode TEXT NOT NULL, debounce INTEGER NOT NULL, agent TEXT NOT NULL,
        started INTEGER NOT NULL, fired INTEGER, count INTEGER NOT NULL,
        PRIMARY KEY (worktree, id)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS context_fragments (
        repository TEXT NOT NULL, agent TEXT NOT NULL, project TEXT NOT NULL,
        resource TEXT NOT NULL, path BLOB NOT NULL, hash TEXT NOT NULL,
        tokens INTEGER NOT NULL, bytes INTEGER NOT NULL, used INTEGER NOT NULL,
        used_at INTEGER NOT NULL, accesses INTEGER NOT NULL,
        PRIMARY KEY (repository, agent, project, resource, path)) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS fragments_by_use ON context_fragments (
        repository, agent, project, used DESC, resource, path, hash, tokens, bytes, used_at,
        accesses);
    CREATE TABLE IF NOT EXISTS readings (
        repository TEXT NOT NULL, project TEXT NOT NULL, resource TEXT NOT NULL,
        part INTEGER NOT NULL, files BLOB NOT NULL,
        PRIMARY KEY (repository, project, resource, part));
    SELECT used FROM residents LIMIT 0;
    SELECT evictions FROM counters LIMIT 0",
    journal: Journal::Rollback,
};

/// The id of a page.
pub type PageKey = [u8; 16];

/// The open state.
pub struct State {
    database: Database,
    path: PathBuf,
    mode: Mode,
    waiter: Waiter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Changes last.
    Kept,
    /// Changes are rolled back.
    Dry,
}

impl State {
    /// Opens or creates the state of a repository's colony. In a dry run, nothing that is written stays. Another
    /// process that holds it is waited for as long as the user allows.
    pub fn open(session: &Session) -> Result<State, Unusable> {
        let mode = if session.is_dry() { Mode::Dry } else { Mode::Kept };
        State::open_at(&path(session), mode, Waiter::of(session))
    }

    /// Does the same, and waits for another process at most this long.
    pub fn open_within(session: &Session, timeout: Duration) -> Result<State, Unusable> {
        let mode = if session.is_dry() { Mode::Dry } else { Mode::Kept };
        State::open_at(&path(session), mode, Waiter::of(session).at_most(timeout))
    }

    /// Does the same for an answer, which is given also where the state cannot be written.
    pub fn open_for_answer(session: &Session) -> Result<State, Unusable> {
        let path = path(session);
        let kept = !session.is_dry() && may_write(&path);
        if kept {
            match State::open_at(&path, Mode::Kept, Waiter::of(session)) {
                Err(why) if !why.is_busy() => {}
                opened => return opened,
            }
        }
        State::open_at(&path, Mode::Dry, Waiter::of(session))
    }

    /// Opens the state for reading; `None` where there is none yet. Looking creates nothing.
    pub fn find(session: &Session) -> Result<Option<State>, Unusable> {
        let path = path(session);
        let is_missing = std::fs::symlink_metadata(&path)
            .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        if is_missing {
            return Ok(None);
        }
        State::open_at(&path, Mode::Kept, Waiter::of(session)).map(Some)
    }

    fn open_at(path: &Path, mode: Mode, waiter: Waiter) -> Result<State, Unusable> {
        let database = match mode {
            Mode::Kept => Database::open(path, SCHEMA, &waiter),
            Mode::Dry => Database::rehearse(path, SCHEMA, &waiter),
        };
        Ok(State { database: database?, path: path.to_owned(), mode, waiter })
    }

    /// Runs a transaction. Where the file was deleted or is damaged, it is opened or created again, and the
    /// transaction runs on that.
    fn update<T>(
        &mut self,
        work: impl Fn(&Connection) -> Result<T, Unusable>,
    ) -> Result<T, Unusable> {
        for _ in 1..ATTEMPTS {
            match self.database.transaction(&work) {
                Err(error) if error.can_be_opened_again() => self.open_again()?,
                done => return done,
            }
        }
        self.database.transaction(&work)
    }

    /// Reads; as [`State::update`] where the file is damaged.
    fn read<T>(
        &mut self,
        work: impl Fn(&Connection) -> Result<T, Unusable>,
    ) -> Result<T, Unusable> {
        match work(self.database.reader()) {
            Err(error) if error.can_be_opened_again() => {
                self.open_again()?;
                work(self.database.reader())
            }
            done => done,
        }
    }

    fn open_again(&mut self) -> Result<(), Unusable> {
        // Another process may have created it again already; that one stays.
        self.database = match self.mode {
            Mode::Kept if self.database.is_in_place() => {
                Database::recreate(&self.path, SCHEMA, &self.waiter)?
            }
            Mode::Kept => Database::open(&self.path, SCHEMA, &self.waiter)?,
            Mode::Dry => Database::in_memory(SCHEMA)?,
        };
        Ok(())
    }

    /// Forgets an agent: its resident set, its locks, its counters, its watches and its tiers.
    pub fn forget(&mut self, agent: &str) -> Result<(), Unusable> {
        self.update(|connection| {
            for table in ["residents", "locks", "counters", "watches", "context_fragments"] {
                connection.execute(&format!("DELETE FROM {table} WHERE agent = ?1"), [agent])?;
            }
            drop_unused(connection)
        })
    }
}

/// Returns the path of the database.
pub fn path(session: &Session) -> PathBuf {
    folder(session).join(format!("{SCHEMA_VERSION}.db"))
}

/// Deletes the pages that nobody has or locks.
fn drop_unused(connection: &Connection) -> Result<(), Unusable> {
    connection.execute(
        "DELETE FROM pages WHERE id NOT IN (SELECT page FROM residents)
            AND id NOT IN (SELECT page FROM locks)",
        [],
    )?;
    Ok(())
}
