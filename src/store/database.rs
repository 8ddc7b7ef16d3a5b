//! The home of `SQLite`: files of derived data, which anybody may delete at any time.
//!
//! A database that cannot be read is made anew, one that cannot be made is done without: everything
//! in it can be worked out again from the repository.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::atomic;

/// How long another process may hold the database.
const PATIENCE: Duration = Duration::from_secs(5);

/// A database of derived data.
pub struct Database {
    connection: Connection,
    path: PathBuf,
    /// Device and inode of the file that is open.
    file: (u64, u64),
}

/// Something `SQLite` said; whoever asked does without.
#[derive(Debug)]
pub struct Unusable(String);

impl From<rusqlite::Error> for Unusable {
    fn from(error: rusqlite::Error) -> Self {
        Unusable(error.to_string())
    }
}

impl std::fmt::Display for Unusable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Database {
    /// Opens the file, or makes it; `schema` makes the tables that are not there. What is there and no
    /// database is moved out of the way and made anew once.
    ///
    /// # Errors
    /// When it cannot be used: no rights, no space, a file system without locks.
    pub fn open(path: &Path, schema: &str) -> Result<Database, Unusable> {
        if let Some(folder) = path.parent() {
            atomic::make_directory(folder).map_err(|error| Unusable(error.to_string()))?;
        }
        match Database::try_open(path, schema) {
            Ok(database) => Ok(database),
            Err(error) if is_damage(&error) => {
                for suffix in ["", "-wal", "-shm"] {
                    let mut name = path.as_os_str().to_owned();
                    name.push(suffix);
                    drop(std::fs::remove_file(name));
                }
                Ok(Database::try_open(path, schema)?)
            }
            Err(error) => Err(error.into()),
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
        })
    }

    /// Returns the connection to read with.
    pub(super) fn reader(&self) -> &Connection {
        &self.connection
    }

    /// Runs one transaction: all of it counts or nothing.
    ///
    /// # Errors
    /// What `work` returns; when the file was deleted or replaced meanwhile (it would go on in two
    /// halves).
    pub(super) fn transaction<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> Result<T, Unusable>,
    ) -> Result<T, Unusable> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        if self.file != (0, 0) && identity(&self.path) != Some(self.file) {
            return Err(Unusable("the file was taken away".to_owned()));
        }
        let result = work(&transaction)?;
        transaction.commit()?;
        Ok(result)
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase)
    ) || matches!(error, rusqlite::Error::SqliteFailure(_, Some(text)) if text.contains("no such column") || text.contains("has no column"))
}
