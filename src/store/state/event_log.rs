//! The event log of a colony on this machine: what agents, people and watches have done, as keys and values.
//!
//! Members of a hub write and read one log. It is bounded: a reader whose position is gone reads from the oldest
//! event on, and is informed. A position names the log that it is of, so a log that was deleted and created
//! again is noticed, too. Writing is best effort: its failure is a warning.
//! The log has a file of its own, since a request for pages may hold the other one for longer than that.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::model::time;
use crate::model::world::Announcement;
use crate::store::cache::database::{Database, Unusable};
use crate::store::cache::database_wait::Waiter;
use crate::store::cache::schema::{Journal, Schema};
use crate::store::session::Session;

use super::place;

/// How long a command waits for other processes that write.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum events of the log.
const MAX_EVENTS: i64 = 100_000;

/// After how many events those that are too many or too old are deleted.
const TRIM_INTERVAL: i64 = if cfg!(test) { 1 } else { 50 };

/// How long an event stays, in milliseconds.
const MAX_AGE: i64 = 90 * 86_400_000;

/// Events that stay however old they are: a process whose clock is far ahead must not empty the log.
const MIN_EVENTS: i64 = if cfg!(test) { 2 } else { 1_000 };

/// Maximum bytes of a value as JSON; lists in a longer one are cut.
const MAX_VALUE_BYTES: usize = 16_384;

/// The length of a list that is cut.
const CUT_LIST: usize = 32;

/// Maximum bytes of a key; a longer one is not written.
const MAX_KEY_BYTES: usize = 4_096;

/// Prefix of the keys of events that come at most once a second, in bursts of [`BURST`].
const QUIESCENCE: &str = "convergence:quiescence:";

/// How many quiescences may come at once.
const BURST: i64 = 4;

/// How often a transaction is tried while other processes delete the file.
pub(super) const ATTEMPTS: usize = 4;

/// The version of the schema, which is in the name of the file.
pub const SCHEMA_VERSION: u32 = 1;

pub(super) const SCHEMA: Schema = Schema {
    tables: "
    CREATE TABLE IF NOT EXISTS log (
        one INTEGER PRIMARY KEY CHECK (one = 1), epoch TEXT NOT NULL,
        tokens INTEGER NOT NULL, refilled INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS events (
        number INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, namespace TEXT NOT NULL,
        agent TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL);
    SELECT tokens FROM log LIMIT 0;
    SELECT value FROM events LIMIT 0",
    // Those who follow a log read all of it, and no command may lose its event to them.
    journal: Journal::Ahead,
};

/// Writes an event when the command has ended and its work is published. In a dry run, writes nothing.
pub fn announce(session: &Session, key: impl Into<String>, value: Value) {
    if let Some(event) = event_of(session, key.into(), value) {
        session.world.changes.announce(event);
    }
}

/// Writes an event at once: for commands that run for long. In a dry run, writes nothing.
pub fn emit(session: &Session, key: impl Into<String>, value: Value) {
    let event = event_of(session, key.into(), value);
    write_all(&session.world, event.into_iter().collect());
}

/// Writes an event of nobody at once: files that change are not what the agent does that watches them, and it
/// hears of them, too.
pub fn emit_to_all(session: &Session, key: impl Into<String>, value: Value) {
    let event = event_of(session, key.into(), value)
        .map(|event| Announcement { agent: String::new(), ..event });
    write_all(&session.world, event.into_iter().collect());
}

/// Writes the announced events of a command. A failure is reported, and stops nothing.
pub fn write_announced(world: &crate::model::World) {
    let events = world.changes.take_announced();
    if !world.is_dead() {
        write_all(world, events);
    }
}

fn event_of(session: &Session, key: String, mut value: Value) -> Option<Announcement> {
    if session.is_dry() || key.len() > MAX_KEY_BYTES {
        return None;
    }
    let at = session.world.now();
    if let Value::Object(members) = &mut value {
        members.entry("ts").or_insert_with(|| json!(time::rfc3339(&at)));
    }
    Some(Announcement {
        log: path(session),
        home: place::home(session),
        namespace: session.settings.events_namespace.clone(),
        agent: session.settings.agent.clone().unwrap_or_default(),
        key,
        value,
        at,
    })
}

fn write_all(world: &crate::model::World, events: Vec<Announcement>) {
    let waiter = Waiter::in_world(world).at_most(WRITE_TIMEOUT);
    let mut logs: BTreeMap<PathBuf, Vec<Announcement>> = BTreeMap::new();
    // A hub may have gone with its last clone: its log does not bring it back.
    for event in events.into_iter().filter(|event| event.home.exists()) {
        logs.entry(event.log.clone()).or_default().push(event);
    }
    for (log, events) in logs {
        if let Err(why) = write(&log, &events, &waiter) {
            (world.narrate)(&format!("warning: cannot write the event log: {why}"));
        }
    }
}

/// Returns the path of the log.
pub(super) fn path(session: &Session) -> PathBuf {
    path_in(&place::folder(session))
}

/// Returns the path of the log in a folder of state.
pub(super) fn path_in(folder: &Path) -> PathBuf {
    folder.join(format!("events-{SCHEMA_VERSION}.db"))
}

/// Writes events in one transaction.
pub(super) fn write(log: &Path, events: &[Announcement], waiter: &Waiter) -> Result<(), Unusable> {
    let mut database = Database::open(log, SCHEMA, waiter)?;
    for _ in 1..ATTEMPTS {
        match database.transaction(|connection| append(connection, events)) {
            Err(error) if error.can_be_opened_again() => {
                database = open_again(&database, log, waiter)?;
            }
            done => return done,
        }
    }
    database.transaction(|connection| append(connection, events))
}

/// Another process may have created it again already; that one stays.
pub(super) fn open_again(
    database: &Database,
    log: &Path,
    waiter: &Waiter,
) -> Result<Database, Unusable> {
    if database.is_in_place() {
        Database::recreate(log, SCHEMA, waiter)
    } else {
        Database::open(log, SCHEMA, waiter)
    }
}

fn append(connection: &Connection, events: &[Announcement]) -> Result<(), Unusable> {
    let sql = "INSERT INTO events (at, namespace, agent, key, value) VALUES (?1, ?2, ?3, ?4, ?5)";
    let mut statement = connection.prepare(sql)?;
    for event in events {
        let at = event.at.timestamp_millis();
        if event.key.starts_with(QUIESCENCE) {
            begin(connection)?;
            if !take_token(connection, at)? {
                continue;
            }
        }
        let value = bounded(&event.value);
        statement.execute(params![at, event.namespace, event.agent, event.key, value])?;
        let number = connection.last_insert_rowid();
        if number == 1 {
            begin(connection)?;
        }
        if number.rem_euclid(TRIM_INTERVAL) == 0 {
            trim(connection, number, at)?;
        }
    }
    Ok(())
}

/// Gives a new log its epoch. `SQLite` draws it: the name of a file's content is not a fact about a command.
fn begin(connection: &Connection) -> Result<(), Unusable> {
    connection.execute(
        "INSERT OR IGNORE INTO log VALUES (1, lower(hex(randomblob(8))), ?1, 0)",
        [BURST],
    )?;
    Ok(())
}

/// Takes a token for a quiescence: there are at most [`BURST`], and a new one comes each second.
fn take_token(connection: &Connection, now: i64) -> Result<bool, Unusable> {
    let sql = "SELECT tokens, refilled FROM log";
    let (tokens, refilled): (i64, i64) =
        connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    // A clock that was set back refills nothing until it is past that time, or once it is far from it.
    let passed = now.saturating_sub(refilled);
    let new = if passed < -60_000 { BURST } else { passed.max(0) / 1_000 };
    let tokens = tokens.saturating_add(new).min(BURST);
    let refilled = match new {
        0 => refilled,
        _ if tokens == BURST => now,
        _ => refilled + new * 1_000,
    };
    let is_allowed = tokens > 0;
    connection.execute(
        "UPDATE log SET tokens = ?1, refilled = ?2",
        [tokens - i64::from(is_allowed), refilled],
    )?;
    Ok(is_allowed)
}

/// Deletes the oldest events where there are too many, and those before the first that is young enough; never the
/// newest [`MIN_EVENTS`].
fn trim(connection: &Connection, newest: i64, now: i64) -> Result<(), Unusable> {
    let sql = "DELETE FROM events WHERE number <= ?1";
    connection.prepare_cached(sql)?.execute([newest - MAX_EVENTS])?;
    let sql = "DELETE FROM events WHERE number <
        (SELECT number FROM events WHERE at >= ?1 ORDER BY number LIMIT 1) AND number <= ?2";
    connection.prepare_cached(sql)?.execute([now - MAX_AGE, newest - MIN_EVENTS])?;
    Ok(())
}

/// Returns a value as JSON, with its lists cut until it is short enough.
fn bounded(value: &Value) -> String {
    let text = value.to_string();
    if text.len() <= MAX_VALUE_BYTES {
        return text;
    }
    let mut value = value.clone();
    let mut length = CUT_LIST;
    loop {
        if let Value::Object(members) = &mut value {
            for list in members.values_mut().filter_map(Value::as_array_mut) {
                list.truncate(length);
            }
            members.insert("truncated".to_owned(), json!(true));
        }
        let text = value.to_string();
        if text.len() <= MAX_VALUE_BYTES {
            return text;
        }
        if length == 0 {
            return json!({"truncated": true}).to_string();
        }
        length /= 2;
    }
}
