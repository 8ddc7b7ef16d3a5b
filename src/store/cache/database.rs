//! The home of `SQLite`: files of derived data, which anybody may delete at any time.
//!
//! A database that cannot be read is made anew, one that cannot be made is done without: everything
//! in it can be worked out again from the repository.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::store::files::atomic;

/// How long another process may hold the database.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often a file is opened that somebody deletes meanwhile.
const TRIES: usize = 4;

/// A database of derived data.
pub struct Database {
    connection: Connection,
    path: PathBuf,
    /// Device and inode of the file that is open.
    file: (u64, u64),
    lasting: Lasting,
}

/// Whether what transactions write stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lasting {
    Kept,
    RolledBack,
}

/// Something `SQLite` said; whoever asked does without.
#[derive(Debug)]
pub struct Unusable {
    why: String,
    is_busy: bool,
}

impl Unusable {
    /// Says what is wrong.
    pub fn because(why: impl Into<String>) -> Unusable {
        Unusable {
            why: why.into(),
            is_busy: false,
        }
    }

    /// Tells whether nothing is wrong but that another process has held it for long.
    pub fn is_busy(&self) -> bool {
        self.is_busy
    }
}

impl From<rusqlite::Error> for Unusable {
    fn from(error: rusqlite::Error) -> Self {
        let code = error.sqlite_error_code();
        Unusable {
            why: error.to_string(),
            is_busy: matches!(
                code,
                Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked)
            ),
        }
    }
}

impl std::fmt::Display for Unusable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.why)
    }
}

impl Database {
    /// Opens the file, or makes it; `schema` makes the tables that are not there. What is there and no
    /// database is moved out of the way and made anew once.
    ///
    /// # Errors
    /// When it cannot be used: no rights, no space, a file system without locks.
    pub fn open(path: &Path, schema: &str) -> Result<Database, Unusable> {
        for _ in 1..TRIES {
            match Database::open_once(path, schema) {
                // Somebody has deleted it while it was opened.
                Err(_) if std::fs::symlink_metadata(path).is_err() => {}
                opened => return opened,
            }
        }
        Database::open_once(path, schema)
    }

    fn open_once(path: &Path, schema: &str) -> Result<Database, Unusable> {
        if let Some(folder) = path.parent() {
            let made = atomic::make_directory(folder);
            made.map_err(|error| Unusable::because(format!("{}: {error}", folder.display())))?;
        }
        require_plain(path)?;
        match Database::try_open(path, schema) {
            Ok(database) => Ok(database),
            Err(error) if is_damage(&error) => Database::open_anew(path, schema),
            Err(error) => Database::try_read_only(path, schema).map_err(|_| error.into()),
        }
    }

    /// Opens a file that cannot be written; who writes is told then.
    fn try_read_only(path: &Path, schema: &str) -> Result<Database, Unusable> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(PATIENCE)?;
        connection.execute_batch(schema)?;
        Ok(Database {
            connection,
            path: path.to_owned(),
            file: identity(path).unwrap_or_default(),
            lasting: Lasting::Kept,
        })
    }

    /// Takes the file away, whatever is in it, and makes it anew. What is no file is not ours and stays.
    ///
    /// # Errors
    /// As [`Database::open`].
    pub fn open_anew(path: &Path, schema: &str) -> Result<Database, Unusable> {
        require_plain(path)?;
        for name in names(path) {
            drop(std::fs::remove_file(name));
        }
        let database = Database::try_open(path, schema)?;
        if database.connection.is_readonly("main")? {
            return Err(Unusable::because("it can neither be written nor deleted"));
        }
        Ok(database)
    }

    /// Opens the file for transactions that are rolled back; where there is none that can be used, an
    /// empty one in memory.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn rehearse(path: &Path, schema: &str) -> Result<Database, Unusable> {
        let is_there = require_plain(path).is_ok() && path.exists();
        let opened = is_there.then(|| Database::try_open(path, schema).ok());
        match opened.flatten() {
            Some(database) => Ok(Database {
                lasting: Lasting::RolledBack,
                ..database
            }),
            None => Database::in_memory(schema),
        }
    }

    /// A database that nobody else sees, for where there is no other.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn in_memory(schema: &str) -> Result<Database, Unusable> {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch(schema)?;
        Ok(Database {
            connection,
            path: PathBuf::new(),
            file: (0, 0),
            lasting: Lasting::Kept,
        })
    }

    fn try_open(path: &Path, schema: &str) -> Result<Database, rusqlite::Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(PATIENCE)?;
        // Derived data: what a power cut takes is worked out again.
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "OFF")?;
        connection.execute_batch(schema)?;
        let file = identity(path).unwrap_or_default();
        Ok(Database {
            connection,
            path: path.to_owned(),
            file,
            lasting: Lasting::Kept,
        })
    }

    /// Returns the connection to read with.
    pub(in crate::store) fn reader(&self) -> &Connection {
        &self.connection
    }

    /// Runs one transaction: all of it counts or nothing.
    ///
    /// # Errors
    /// What `work` returns; when the file was deleted or replaced meanwhile (it would go on in two
    /// halves).
    pub(in crate::store) fn transaction<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> Result<T, Unusable>,
    ) -> Result<T, Unusable> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        if self.file != (0, 0) && identity(&self.path) != Some(self.file) {
            return Err(Unusable::because("the file was taken away"));
        }
        let result = work(&transaction)?;
        match self.lasting {
            Lasting::Kept => transaction.commit()?,
            Lasting::RolledBack => transaction.rollback()?,
        }
        Ok(result)
    }
}

/// The names of the files that make up a database.
fn names(path: &Path) -> impl Iterator<Item = PathBuf> {
    ["", "-wal", "-shm", "-journal"].into_iter().map(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    })
}

/// Refuses what is no file where one would be opened: a link leads elsewhere, a pipe is waited for without
/// end.
fn require_plain(path: &Path) -> Result<(), Unusable> {
    for name in names(path) {
        let metadata = std::fs::symlink_metadata(&name);
        if metadata.is_ok_and(|metadata| !metadata.is_file()) {
            let why = format!("'{}' is no file", name.display());
            return Err(Unusable::because(why));
        }
    }
    Ok(())
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase)
    ) || matches!(error,
        rusqlite::Error::SqliteFailure(_, Some(text)) | rusqlite::Error::SqlInputError { msg: text, .. }
            if text.contains("no such column") || text.contains("has no column"))
}
