//! The gate to `SQLite`, for files of derived data, which may be deleted at any time.
//!
//! A database that cannot be read is created again; where none can be created, the program works without.
//! Everything in it can be computed again from the repository.
//!
//! A table with large values has rowids: without them `SQLite` reads whole values while it looks for a key beside them.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::model::{Code, Error};
use crate::store::files::atomic;

use super::database_wait::{self, Waiter, Waiting};
use super::schema::{Journal, Schema};

/// The pragma of a number that `SQLite` keeps in the file for us.
const MARK: &str = "user_version";

/// What `SQLite` says of tables that are not as we made them.
const DAMAGES: [&str; 4] = ["no such column", "has no column", "no such table", "access to view"];

/// What the names of journals have behind that of the database.
const JOURNALS: [&str; 2] = ["-wal", "-journal"];

/// How often to open a file that other processes keep deleting.
const MAX_ATTEMPTS: usize = 4;

/// A database of derived data.
pub struct Database {
    connection: Connection,
    path: PathBuf,
    /// Device and inode of the file that is open.
    file: (u64, u64),
    lasting: Lasting,
    waiting: Arc<Waiting>,
}

/// Whether transactions are committed or rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lasting {
    Kept,
    RolledBack,
}

/// An error of `SQLite`; the caller works without the database.
#[derive(Debug)]
pub struct Unusable {
    why: String,
    cause: Cause,
}

/// What a caller can do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// Wait for another process.
    Busy,
    /// End: a signal came while it waited for another process.
    Interrupted,
    /// Create the file again.
    Damaged,
    /// Open the file again: it was deleted or replaced.
    Replaced,
    /// Nothing.
    Other,
}

impl Unusable {
    /// Makes an error with this explanation.
    pub fn because(why: impl Into<String>) -> Unusable {
        Unusable { why: why.into(), cause: Cause::Other }
    }

    /// Returns `true` if the only problem is that another process has held the database for long.
    pub fn is_busy(&self) -> bool {
        matches!(self.cause, Cause::Busy | Cause::Interrupted)
    }

    /// Returns the error of a command that has waited for another process: `locked`, or `interrupted`; `None` where
    /// something else is wrong. `what` names the database.
    pub fn waited(&self, what: &str) -> Option<Error> {
        match self.cause {
            Cause::Busy => Some(
                Error::new(Code::Locked, format!("another process holds {what}"))
                    .unchanged()
                    .hint("run the command again, or give it more time with --timeout SECONDS"),
            ),
            Cause::Interrupted => database_wait::interruption(),
            Cause::Damaged | Cause::Replaced | Cause::Other => None,
        }
    }

    /// Returns `true` if the file can be created again, or was.
    pub fn can_be_opened_again(&self) -> bool {
        matches!(self.cause, Cause::Damaged | Cause::Replaced)
    }
}

impl From<rusqlite::Error> for Unusable {
    fn from(error: rusqlite::Error) -> Self {
        let cause = if is_busy(&error) {
            if database_wait::interruption().is_some() { Cause::Interrupted } else { Cause::Busy }
        } else if is_stopped(&error) && database_wait::interruption().is_some() {
            Cause::Interrupted
        } else if is_damage(&error) || is_stopped(&error) {
            // Nothing of ours takes that many steps.
            Cause::Damaged
        } else if is_moved(&error) {
            Cause::Replaced
        } else {
            Cause::Other
        };
        Unusable { why: error.to_string(), cause }
    }
}

impl std::fmt::Display for Unusable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.why)
    }
}

impl Database {
    /// Opens or creates the file and its tables. A file that is not a database is moved out
    /// of the way and created again, once.
    pub fn open(path: &Path, schema: Schema, waiter: &Waiter) -> Result<Database, Unusable> {
        for _ in 1..MAX_ATTEMPTS {
            match Database::open_once(path, schema, waiter) {
                // Another process deleted or replaced it while it was being opened.
                Err(_) if std::fs::symlink_metadata(path).is_err() => {}
                Err(error) if error.cause == Cause::Replaced => {}
                opened => return opened,
            }
        }
        Database::open_once(path, schema, waiter)
    }

    fn open_once(path: &Path, schema: Schema, waiter: &Waiter) -> Result<Database, Unusable> {
        if std::fs::symlink_metadata(path).is_err()
            && let Some(folder) = path.parent()
        {
            let made = atomic::make_directory(folder);
            made.map_err(|error| Unusable::because(format!("{}: {error}", folder.display())))?;
        }
        require_plain(path)?;
        match Database::try_open(path, schema, waiter) {
            Ok(database) => Ok(database),
            Err(error) if is_damage(&error) => Database::recreate(path, schema, waiter),
            Err(error) => match Unusable::from(error) {
                // Others are creating it: it is not one that cannot be written.
                busy if busy.is_busy() => Err(busy),
                why => Database::try_read_only(path, schema, waiter).map_err(|_| why),
            },
        }
    }

    /// Opens a file that cannot be written; a transaction fails later.
    fn try_read_only(path: &Path, schema: Schema, waiter: &Waiter) -> Result<Database, Unusable> {
        let waiting = Arc::new(Waiting::new(waiter, path, names(path).collect()));
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let open = |name: &Path, flags| -> Result<Connection, rusqlite::Error> {
            let mut connection = Connection::open_with_flags(name, flags)?;
            waiting.attend(&mut connection)?;
            connection.execute_batch(schema.tables)?;
            Ok(connection)
        };
        let connection = open(path, flags).or_else(|error| {
            // Where SQLite cannot create the files beside it, it reads only what it takes for unchanging. Without a
            // journal that is all there is.
            let mut journals = JOURNALS.iter().map(|suffix| beside(path, suffix));
            if journals.any(|journal| journal.metadata().is_ok_and(|metadata| metadata.len() > 0)) {
                return Err(error);
            }
            let uri = format!("file:{}?immutable=1", uri_path(path));
            open(Path::new(&uri), flags | OpenFlags::SQLITE_OPEN_URI)
        })?;
        Ok(Database {
            connection,
            path: path.to_owned(),
            file: identity(path).unwrap_or_default(),
            lasting: Lasting::Kept,
            waiting: Arc::clone(&waiting),
        })
    }

    /// Deletes the file, whatever it holds, and creates it again. Anything but a plain file is not ours and
    /// stays.
    pub fn recreate(path: &Path, schema: Schema, waiter: &Waiter) -> Result<Database, Unusable> {
        require_plain(path)?;
        for name in names(path) {
            drop(std::fs::remove_file(name));
        }
        let database = Database::try_open(path, schema, waiter)?;
        if database.connection.is_readonly("main")? {
            return Err(Unusable::because("it can neither be written nor deleted"));
        }
        Ok(database)
    }

    /// Opens the file for transactions that are rolled back; where it cannot be written, opens a copy in memory, and where
    /// it cannot be used, an empty database.
    pub fn rehearse(path: &Path, schema: Schema, waiter: &Waiter) -> Result<Database, Unusable> {
        let is_there = require_plain(path).is_ok() && path.exists();
        if !is_there {
            return Database::in_memory(schema);
        }
        match Database::try_open(path, schema, waiter) {
            Ok(database) if database.connection.is_readonly("main")? => {
                Database::copied(path, schema).or_else(|_| Database::in_memory(schema))
            }
            Ok(database) => Ok(Database { lasting: Lasting::RolledBack, ..database }),
            Err(error) if is_busy(&error) => Err(error.into()),
            Err(_) => Database::in_memory(schema),
        }
    }

    /// Copies a file that cannot be written: the copy ends with the process.
    fn copied(path: &Path, schema: Schema) -> Result<Database, Unusable> {
        let copy = Database::in_memory(schema)?;
        let uri = format!("file:{}?immutable=1", uri_path(path));
        copy.connection.execute("ATTACH DATABASE ?1 AS source", [uri])?;
        let sql = "SELECT name FROM main.sqlite_master WHERE type = 'table'";
        let mut statement = copy.connection.prepare(sql)?;
        let tables: Vec<String> =
            statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        drop(statement);
        for table in tables {
            let sql = format!("INSERT INTO main.{table} SELECT * FROM source.{table}");
            copy.connection.execute(&sql, [])?;
        }
        copy.connection.execute("DETACH DATABASE source", [])?;
        Ok(copy)
    }

    /// Opens a database that only this process sees, where no file can be used.
    pub fn in_memory(schema: Schema) -> Result<Database, Unusable> {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch(schema.tables)?;
        let waiter = Waiter::hasty(Duration::ZERO);
        Ok(Database {
            connection,
            path: PathBuf::new(),
            file: (0, 0),
            lasting: Lasting::Kept,
            waiting: Arc::new(Waiting::new(&waiter, Path::new(""), Vec::new())),
        })
    }

    /// Opens the file, again and again while others have it: where they create it, `SQLite` itself does not wait.
    fn try_open(path: &Path, schema: Schema, waiter: &Waiter) -> Result<Database, rusqlite::Error> {
        let waiting = Arc::new(Waiting::new(waiter, path, names(path).collect()));
        loop {
            match Database::try_open_once(path, schema, &waiting) {
                Err(error) if is_busy(&error) && waiting.longer() => {}
                opened => return opened,
            }
        }
    }

    fn try_open_once(
        path: &Path,
        schema: Schema,
        waiting: &Arc<Waiting>,
    ) -> Result<Database, rusqlite::Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        // SQLite gives its further files the access of this one. A failure is that of the next line as well.
        if !path.exists() {
            drop(atomic::create_new(path));
        }
        let mut connection = Connection::open_with_flags(path, flags)?;
        waiting.attend(&mut connection)?;
        // Derived data: what a power cut loses is computed again.
        connection.pragma_update(None, "synchronous", "OFF")?;
        let mark = schema.mark();
        // A file with the mark has its tables and its journal: to ask for each would be half of a short command.
        if mark != connection.pragma_query_value(None, MARK, |row| row.get::<_, i32>(0))? {
            if schema.journal == Journal::Ahead {
                connection.pragma_update(None, "journal_mode", "WAL")?;
            }
            // At once, so that no other process meets half of them.
            let tables = schema.tables;
            let all = format!("BEGIN IMMEDIATE; {tables}; PRAGMA {MARK} = {mark}; COMMIT");
            connection.execute_batch(&all)?;
        }
        let file = identity(path).unwrap_or_default();
        Ok(Database {
            connection,
            path: path.to_owned(),
            file,
            lasting: Lasting::Kept,
            waiting: Arc::clone(waiting),
        })
    }

    /// Returns the connection for reading.
    pub(in crate::store) fn reader(&self) -> &Connection {
        self.waiting.begin_work();
        &self.connection
    }

    /// Runs one transaction.
    pub(in crate::store) fn transaction<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> Result<T, Unusable>,
    ) -> Result<T, Unusable> {
        let result = self.attempt(work);
        // What went into a deleted file is lost, and what SQLite says of one is not the reason.
        if self.is_in_place() {
            result
        } else {
            Err(Unusable { why: "the file was deleted".to_owned(), cause: Cause::Replaced })
        }
    }

    fn attempt<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> Result<T, Unusable>,
    ) -> Result<T, Unusable> {
        self.waiting.begin_work();
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let result = work(&transaction)?;
        // The work may have used another database.
        self.waiting.use_here();
        match self.lasting {
            Lasting::Kept => transaction.commit()?,
            Lasting::RolledBack => transaction.rollback()?,
        }
        Ok(result)
    }

    /// Returns `true` if the file at the path is still the one that is open.
    pub fn is_in_place(&self) -> bool {
        self.file == (0, 0) || identity(&self.path) == Some(self.file)
    }
}

/// Returns a path as a part of a URI: every byte that could mean something there is escaped.
fn uri_path(path: &Path) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(byte);
    let escaped = path.as_os_str().as_bytes().iter().map(|byte| {
        if plain(byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") }
    });
    escaped.collect()
}

/// Returns the names of the files that make up a database.
fn names(path: &Path) -> impl Iterator<Item = PathBuf> {
    let suffixes = ["", "-shm"].into_iter().chain(JOURNALS);
    suffixes.map(|suffix| beside(path, suffix))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Refuses anything but a plain file: a symlink leads elsewhere, and opening a pipe blocks.
fn require_plain(path: &Path) -> Result<(), Unusable> {
    for name in names(path) {
        let metadata = std::fs::symlink_metadata(&name);
        if metadata.is_ok_and(|metadata| !metadata.is_file()) {
            let why = format!("'{}' is not a plain file", name.display());
            return Err(Unusable::because(why));
        }
    }
    Ok(())
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

fn is_busy(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
    matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked))
}

/// Returns `true` if our own answer has ended a query.
fn is_stopped(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted)
}

/// Returns `true` if `SQLite` has noticed that its file is no longer at its path.
fn is_moved(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    code == Some(rusqlite::ffi::SQLITE_READONLY_DBMOVED)
}

fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::{Error, ErrorCode};
    if let Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) = error.sqlite_error_code() {
        return true;
    }
    match error {
        Error::SqliteFailure(_, Some(text)) | Error::SqlInputError { msg: text, .. } => {
            DAMAGES.iter().any(|damage| text.contains(damage))
        }
        // A value that we did not write: `SQLite` keeps any type in any column.
        Error::InvalidColumnType(..)
        | Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::Utf8Error(..) => true,
        _ => false,
    }
}
