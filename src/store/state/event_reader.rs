//! Reads an event log that other processes write, and that anybody may delete.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension as _};
use serde_json::Value;

use crate::store::cache::database::{Database, Unusable};
use crate::store::cache::database_wait::Waiter;
use crate::store::membership::Membership;
use crate::store::session::Session;

use super::event_log::{self, ATTEMPTS, SCHEMA};
use super::event_position::Position;
use super::place;

/// Which look asks `SQLite` in any case: two writes within a tick of the file system's clock look like one.
const SURE_LOOK: u32 = 10;

/// An event of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Its position.
    pub position: Position,
    /// When it happened, in milliseconds since 1970.
    pub at: i64,
    /// Its namespace.
    pub namespace: String,
    /// The agent that caused it; empty for the user.
    pub agent: String,
    /// Its key: a prefix, and what it is about verbatim.
    pub key: String,
    /// Its value.
    pub value: Value,
}

/// Some events of the log, the oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The events.
    pub events: Vec<Event>,
    /// The position to read on from.
    pub position: Position,
    /// The position of the oldest event that the log has.
    pub oldest: Option<Position>,
    /// Whether events after the position that was asked for are lost.
    pub has_gap: bool,
    /// Whether the log has further events that are wanted.
    pub has_more: bool,
}

/// Reads the log of a colony, again and again.
pub struct EventReader {
    path: PathBuf,
    waiter: Waiter,
    database: Option<Database>,
    /// What `SQLite` said of changes by others when it was last read.
    version: Option<i64>,
    /// The files as they were at the last look.
    file_stats: FileStats,
    /// How many looks since have asked only for the files.
    looks: u32,
}

/// What the file system says of the files of a database: it changes with almost every write.
type FileStats = [Option<(u64, i64, i64, u64)>; 2];

impl EventReader {
    /// Returns a reader of the log of a repository's colony, which need not exist.
    pub fn of(session: &Session) -> EventReader {
        EventReader::at(event_log::path(session), Waiter::of(session))
    }

    /// Returns a reader of another log, if the repository has joined a hub since, or left it.
    pub fn elsewhere(&self, session: &Session) -> Option<EventReader> {
        let membership = Membership::find(&session.repo).ok()?;
        let path = event_log::path_in(&place::folder_of(session, membership.as_ref()));
        (path != self.path).then(|| EventReader::at(path, self.waiter.clone()))
    }

    pub(super) fn at(path: PathBuf, waiter: Waiter) -> EventReader {
        EventReader {
            path,
            waiter,
            database: None,
            version: None,
            file_stats: FileStats::default(),
            looks: 0,
        }
    }

    /// Returns `true` if there may be something new since the log was last read. Mostly costs two system calls;
    /// `SQLite`, which knows for certain, is asked where a file has changed, and now and then.
    pub fn has_news(&mut self) -> bool {
        let Some(database) = &self.database else {
            return self.is_there();
        };
        let file_stats = look_at(&self.path);
        self.looks += 1;
        if file_stats == self.file_stats && self.looks < SURE_LOOK {
            return false;
        }
        (self.file_stats, self.looks) = (file_stats, 0);
        !database.is_in_place() || version(database.reader()).ok() != self.version
    }

    /// Reads the events after a position that are wanted, the oldest first.
    pub fn read(
        &mut self,
        since: &Position,
        limit: usize,
        is_wanted: &dyn Fn(&Event) -> bool,
    ) -> Result<Batch, Unusable> {
        self.read_batch(since, |log| log.after(since, limit, is_wanted))
    }

    /// Reads the newest events that are wanted, the oldest of them first.
    pub fn newest(
        &mut self,
        limit: usize,
        is_wanted: &dyn Fn(&Event) -> bool,
    ) -> Result<Batch, Unusable> {
        self.read_batch(&Position::FIRST, |log| log.newest(limit, is_wanted))
    }

    fn is_there(&self) -> bool {
        std::fs::symlink_metadata(&self.path).is_ok()
    }

    /// Reads in one transaction, again where the log was created again meanwhile. A log that is damaged is created again, and one that is missing stays missing.
    fn read_batch(
        &mut self,
        since: &Position,
        read: impl Fn(&OpenLog<'_>) -> Result<Batch, Unusable>,
    ) -> Result<Batch, Unusable> {
        for _ in 0..ATTEMPTS {
            if self.database.as_ref().is_some_and(|open| !open.is_in_place()) {
                self.database = None;
            }
            if self.database.is_none() && !self.is_there() {
                break;
            }
            let database = match self.database.take() {
                Some(open) => open,
                None => Database::open(&self.path, SCHEMA, &self.waiter)?,
            };
            let version = version(database.reader());
            match version.and_then(|version| Ok((version, OpenLog::read(&database, &read)?))) {
                Ok((version, batch)) => {
                    self.version = Some(version);
                    self.database = Some(database);
                    return Ok(batch);
                }
                Err(error) if error.can_be_opened_again() => {
                    self.database =
                        Some(event_log::open_again(&database, &self.path, &self.waiter)?);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Batch {
            events: Vec::new(),
            position: Position::FIRST,
            oldest: None,
            has_gap: *since != Position::FIRST,
            has_more: false,
        })
    }
}

/// Looks at the database and at the file that it writes first.
fn look_at(path: &Path) -> FileStats {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    [path, Path::new(&log)].map(|path| {
        let metadata = std::fs::symlink_metadata(path).ok()?;
        Some((metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.len()))
    })
}

fn version(connection: &Connection) -> Result<i64, Unusable> {
    let mut statement = connection.prepare_cached("PRAGMA data_version")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

/// The log during one transaction.
struct OpenLog<'a> {
    connection: &'a Connection,
    /// Empty while nothing is written.
    epoch: String,
    oldest: Option<u64>,
    /// The number of the newest event, kept or not.
    last: u64,
}

impl<'a> OpenLog<'a> {
    fn read(
        database: &'a Database,
        read: impl Fn(&OpenLog<'_>) -> Result<Batch, Unusable>,
    ) -> Result<Batch, Unusable> {
        let connection = database.reader();
        let transaction = connection.unchecked_transaction()?;
        let query_number = |sql: &str| {
            let number = connection
                .query_row(sql, [], |row| row.get::<_, Option<i64>>(0))
                .optional()
                .map(Option::flatten)?;
            Ok::<_, Unusable>(number.and_then(|number| u64::try_from(number).ok()))
        };
        let epoch: Option<String> =
            connection.query_row("SELECT epoch FROM log", [], |row| row.get(0)).optional()?;
        let batch = read(&OpenLog {
            connection,
            epoch: epoch.unwrap_or_default(),
            oldest: query_number("SELECT min(number) FROM events")?,
            last: query_number("SELECT seq FROM sqlite_sequence WHERE name = 'events'")?
                .unwrap_or(0),
        })?;
        transaction.commit()?;
        Ok(batch)
    }

    fn position(&self, number: u64) -> Position {
        if self.epoch.is_empty() {
            return Position::FIRST;
        }
        Position { epoch: self.epoch.clone(), number }
    }

    fn batch(&self, events: Vec<Event>, number: u64) -> Batch {
        Batch {
            events,
            position: self.position(number),
            oldest: self.oldest.map(|oldest| self.position(oldest)),
            has_gap: false,
            has_more: false,
        }
    }

    fn after(
        &self,
        since: &Position,
        limit: usize,
        is_wanted: &dyn Fn(&Event) -> bool,
    ) -> Result<Batch, Unusable> {
        let first = self.oldest.unwrap_or(self.last + 1);
        let is_known = *since == Position::FIRST || since.epoch == self.epoch;
        let has_gap = !is_known || since.number > self.last || since.number + 1 < first;
        let start = if has_gap { first - 1 } else { since.number };
        let mut statement = self.connection.prepare_cached(
            "SELECT number, at, namespace, agent, key, value FROM events
                WHERE number > ?1 ORDER BY number",
        )?;
        let mut rows = statement.query([as_row_id(start)])?;
        let (mut events, mut seen, mut has_more) = (Vec::new(), start, false);
        while let Some(row) = rows.next()? {
            let event = self.event(row)?;
            if !is_wanted(&event) {
                seen = event.position.number;
                continue;
            }
            if events.len() == limit {
                has_more = true;
                break;
            }
            seen = event.position.number;
            events.push(event);
        }
        // Events that are gone are not waited for again.
        let seen = if has_more { seen } else { seen.max(self.last) };
        Ok(Batch { has_gap, has_more, ..self.batch(events, seen) })
    }

    fn newest(&self, limit: usize, is_wanted: &dyn Fn(&Event) -> bool) -> Result<Batch, Unusable> {
        let mut statement = self.connection.prepare_cached(
            "SELECT number, at, namespace, agent, key, value FROM events ORDER BY number DESC",
        )?;
        let mut rows = statement.query([])?;
        let (mut events, mut has_more) = (Vec::new(), false);
        while limit > 0
            && let Some(row) = rows.next()?
        {
            let event = self.event(row)?;
            if !is_wanted(&event) {
                continue;
            }
            if events.len() == limit {
                has_more = true;
                break;
            }
            events.push(event);
        }
        events.reverse();
        Ok(Batch { has_more, ..self.batch(events, self.last) })
    }

    fn event(&self, row: &rusqlite::Row<'_>) -> rusqlite::Result<Event> {
        let number: i64 = row.get(0)?;
        let value: String = row.get(5)?;
        Ok(Event {
            position: self.position(u64::try_from(number).unwrap_or(0)),
            at: row.get(1)?,
            namespace: row.get(2)?,
            agent: row.get(3)?,
            key: row.get(4)?,
            value: serde_json::from_str(&value).unwrap_or(Value::Null),
        })
    }
}

fn as_row_id(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
