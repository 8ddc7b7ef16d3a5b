//! What a database file has: its tables and its journal.

/// What a file has, and how `SQLite` keeps its transactions whole.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// Statements that create the tables that are missing.
    pub tables: &'static str,
    /// Chosen when the file is created.
    pub journal: Journal,
}

/// Where a transaction is written first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Journal {
    /// To a log of new pages. Readers never wait, however long a transaction takes, and each command that is alone
    /// with the file creates two more and deletes them.
    Ahead,
    /// The old pages, to a file that exists until the transaction ends. Readers wait for that end, and a command takes
    /// half as long: for transactions of some pages.
    Rollback,
}

impl Schema {
    /// Returns the number that a file with these tables has: never that of a file without tables.
    pub(super) fn mark(&self) -> i32 {
        let digest = blake3::hash(self.tables.as_bytes());
        let number = digest.as_bytes().iter().take(4);
        number.fold(0, |number, byte| (number << 8) | i32::from(*byte)) | 1
    }
}
