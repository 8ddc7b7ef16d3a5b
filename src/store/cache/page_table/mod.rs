//! The page table: which pages the directories of a scope were packed into. Derived data; what is in
//! it can be worked out again from the commit.
//!
//! Pages are kept as the page module wrote them: this module knows where they belong, not what they
//! say.

mod rows;

use std::path::{Path, PathBuf};

use rusqlite::{OptionalExtension as _, params};

use crate::git::Repo;
use crate::model::RepoPath;

use super::database::{Database, Unusable};
use rows::{
    DIRECTORY_COLUMNS, SCOPE_COLUMNS, directory_row, find, insert, remove_all, remove_below,
    remove_one, scope_row, seal, totals, write_scope,
};

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS scopes (
        id INTEGER PRIMARY KEY, worktree TEXT NOT NULL, scope TEXT NOT NULL,
        recipe BLOB NOT NULL, revision TEXT NOT NULL, generation INTEGER NOT NULL,
        follows TEXT, place BLOB,
        pages INTEGER NOT NULL, records INTEGER NOT NULL, tokens INTEGER NOT NULL,
        digest BLOB NOT NULL,
        UNIQUE (worktree, scope));
    CREATE TABLE IF NOT EXISTS directories (
        scope INTEGER NOT NULL, path BLOB NOT NULL, parent BLOB, tree TEXT NOT NULL,
        rules BLOB NOT NULL, left_out BLOB,
        pages INTEGER NOT NULL, records INTEGER NOT NULL, tokens INTEGER NOT NULL,
        digest BLOB NOT NULL, packed BLOB NOT NULL,
        PRIMARY KEY (scope, path)) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS below ON directories (scope, parent);
    CREATE TABLE IF NOT EXISTS pages (
        scope INTEGER NOT NULL, page BLOB NOT NULL, path BLOB NOT NULL,
        PRIMARY KEY (scope, page, path)) WITHOUT ROWID;
    SELECT digest FROM scopes LIMIT 0;
    SELECT digest, left_out FROM directories LIMIT 0;
    CREATE INDEX IF NOT EXISTS failing ON directories (scope, path) WHERE left_out IS NOT NULL";

/// The page table of a repository.
pub struct PageTable {
    database: Database,
}

/// A scope that was mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeRow {
    id: i64,
    generation: i64,
    /// Its name.
    pub scope: String,
    /// A digest of everything but the commit that decides on its pages.
    pub recipe: Vec<u8>,
    /// The commit that was mapped.
    pub revision: String,
    /// The revision it was mapped from, where that may move: `HEAD` or a branch.
    pub follows: Option<String>,
    /// The repository its objects are in; `None` for this one.
    pub place: Option<PathBuf>,
    /// What all its directories hold.
    pub totals: Totals,
}

/// How much there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Pages.
    pub pages: u64,
    /// Records.
    pub records: u64,
    /// Tokens, the sum over the records.
    pub tokens: u64,
}

/// A directory of a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryRow {
    /// Where it is, from the root of the repository.
    pub path: RepoPath,
    /// The directory above it; `None` for the one the scope starts in.
    pub parent: Option<RepoPath>,
    /// Its tree.
    pub tree: String,
    /// A digest of the rules from above.
    pub rules: Vec<u8>,
    /// The ids of its pages.
    pub page_ids: Vec<[u8; 16]>,
    /// Its pages, as the page module wrote them.
    pub packed: Vec<u8>,
    /// Its files that have no record and should have one, as the page module wrote them; `None` for none.
    pub left_out: Option<Vec<u8>>,
    /// How much that is.
    pub totals: Totals,
}

/// What becomes of the directories of a scope.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// All that were there go first.
    pub afresh: bool,
    /// Directories that are gone, with all below them.
    pub gone: Vec<RepoPath>,
    /// Directories that are new or were packed anew.
    pub packed: Vec<DirectoryRow>,
}

/// What a scope is after a mapping.
#[derive(Clone, Debug)]
pub struct Mapped<'a> {
    /// Whose worktree.
    pub worktree: &'a str,
    /// Its name.
    pub scope: &'a str,
    /// See [`ScopeRow::recipe`].
    pub recipe: &'a [u8],
    /// The commit.
    pub revision: &'a str,
    /// See [`ScopeRow::follows`].
    pub follows: Option<&'a str>,
    /// See [`ScopeRow::place`].
    pub place: Option<&'a Path>,
}

impl PageTable {
    /// Opens the page table of a repository; in a dry run nothing that is written stays.
    ///
    /// # Errors
    /// When `SQLite` cannot use the file.
    pub fn open(repo: &Repo) -> Result<PageTable, Unusable> {
        let database = if repo.keeps_objects() {
            Database::open(&place(repo), SCHEMA)
        } else {
            Database::rehearse(&place(repo), SCHEMA)
        };
        Ok(PageTable {
            database: database?,
        })
    }

    /// Takes the page table of a repository away and makes it anew; in a dry run it is left alone.
    ///
    /// # Errors
    /// When `SQLite` cannot use the file.
    pub fn open_anew(repo: &Repo) -> Result<PageTable, Unusable> {
        if !repo.keeps_objects() {
            return PageTable::in_memory();
        }
        Ok(PageTable {
            database: Database::open_anew(&place(repo), SCHEMA)?,
        })
    }

    /// Tells whether a repository has a page table, or something else in its place: to look for what is in
    /// none makes none.
    pub fn exists(repo: &Repo) -> bool {
        let missing = |error: std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
        !std::fs::symlink_metadata(place(repo)).is_err_and(missing)
    }

    /// A page table for this run only.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn in_memory() -> Result<PageTable, Unusable> {
        Ok(PageTable {
            database: Database::in_memory(SCHEMA)?,
        })
    }

    /// Finds a scope of a worktree.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn find(&self, worktree: &str, scope: &str) -> Result<Option<ScopeRow>, Unusable> {
        find(self.database.reader(), worktree, scope)
    }

    /// Lists the scopes of a worktree, by name.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn scopes(&self, worktree: &str) -> Result<Vec<ScopeRow>, Unusable> {
        let sql = format!("{SCOPE_COLUMNS} WHERE worktree = ?1 ORDER BY scope");
        let mut statement = self.database.reader().prepare_cached(&sql)?;
        let rows = statement.query_map([worktree], scope_row)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Tells whether a scope holds as much as its directories together.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn adds_up(&self, scope: &ScopeRow) -> Result<bool, Unusable> {
        let sql = "SELECT coalesce(sum(pages), 0), coalesce(sum(records), 0),
            coalesce(sum(tokens), 0) FROM directories WHERE scope = ?1";
        let mut statement = self.database.reader().prepare_cached(sql)?;
        Ok(statement.query_row([scope.id], totals)? == scope.totals)
    }

    /// Finds a directory of a scope.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn directory(
        &self,
        scope: &ScopeRow,
        path: &RepoPath,
    ) -> Result<Option<DirectoryRow>, Unusable> {
        let sql = format!("{DIRECTORY_COLUMNS} WHERE scope = ?1 AND path = ?2");
        let mut statement = self.database.reader().prepare_cached(&sql)?;
        let row = statement.query_row(params![scope.id, path.as_bytes()], directory_row);
        Ok(row.optional()?)
    }

    /// Lists the directories of a scope that are right below one, by path.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn below(&self, scope: &ScopeRow, path: &RepoPath) -> Result<Vec<RepoPath>, Unusable> {
        let sql = "SELECT path FROM directories WHERE scope = ?1 AND parent = ?2 ORDER BY path";
        let mut statement = self.database.reader().prepare_cached(sql)?;
        let rows = statement.query_map(params![scope.id, path.as_bytes()], |row| {
            Ok(RepoPath::new(row.get::<_, Vec<u8>>(0)?))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the directory that a scope starts in; `None` where nothing is there.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn start(&self, scope: &ScopeRow) -> Result<Option<RepoPath>, Unusable> {
        let sql = "SELECT path FROM directories WHERE scope = ?1 AND parent IS NULL";
        let mut statement = self.database.reader().prepare_cached(sql)?;
        let row = statement.query_row([scope.id], |row| row.get::<_, Vec<u8>>(0));
        Ok(row.optional()?.map(RepoPath::new))
    }

    /// Gives each directory of a scope, by path, until `each` says `false`.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn each_directory(
        &self,
        scope: &ScopeRow,
        mut each: impl FnMut(DirectoryRow) -> bool,
    ) -> Result<(), Unusable> {
        let sql = format!("{DIRECTORY_COLUMNS} WHERE scope = ?1 ORDER BY path");
        let mut statement = self.database.reader().prepare_cached(&sql)?;
        let rows = statement.query_map([scope.id], directory_row)?;
        for row in rows {
            if !each(row?) {
                break;
            }
        }
        Ok(())
    }

    /// Lists what the directories of a scope have noted of files without a record, by path.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn left_out(&self, scope: &ScopeRow) -> Result<Vec<Vec<u8>>, Unusable> {
        let sql = "SELECT left_out FROM directories
            WHERE scope = ?1 AND left_out IS NOT NULL ORDER BY path";
        let mut statement = self.database.reader().prepare_cached(sql)?;
        let rows = statement.query_map([scope.id], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Finds the pages of a worktree whose ids begin so: scope, id, directory.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn find_pages(
        &self,
        worktree: &str,
        from: [u8; 16],
        to: [u8; 16],
    ) -> Result<Vec<(ScopeRow, [u8; 16], RepoPath)>, Unusable> {
        let mut found = Vec::new();
        for scope in self.scopes(worktree)? {
            let sql = "SELECT page, path FROM pages WHERE scope = ?1 AND page BETWEEN ?2 AND ?3";
            let mut statement = self.database.reader().prepare_cached(sql)?;
            let parameters = params![scope.id, from.as_slice(), to.as_slice()];
            let rows = statement.query_map(parameters, |row| {
                Ok((
                    row.get::<_, [u8; 16]>(0)?,
                    RepoPath::new(row.get::<_, Vec<u8>>(1)?),
                ))
            })?;
            for row in rows {
                let (id, path) = row?;
                found.push((scope.clone(), id, path));
            }
        }
        Ok(found)
    }

    /// Writes down a mapping, unless the scope is no longer `before`; returns what it then is.
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn write(
        &mut self,
        before: Option<&ScopeRow>,
        mapped: &Mapped<'_>,
        changes: &Changes,
    ) -> Result<Option<ScopeRow>, Unusable> {
        self.database.transaction(|connection| {
            let now = find(connection, mapped.worktree, mapped.scope)?;
            if now.as_ref() != before {
                return Ok(None);
            }
            let id = write_scope(connection, mapped)?;
            if changes.afresh {
                remove_all(connection, id)?;
            }
            for path in &changes.gone {
                remove_below(connection, id, path)?;
            }
            for row in &changes.packed {
                remove_one(connection, id, &row.path)?;
                insert(connection, id, row)?;
            }
            seal(connection, id)?;
            find(connection, mapped.worktree, mapped.scope)
        })
    }

    /// Forgets a scope; tells whether it was there.
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn forget(&mut self, worktree: &str, scope: &str) -> Result<bool, Unusable> {
        self.database.transaction(|connection| {
            let Some(row) = find(connection, worktree, scope)? else {
                return Ok(false);
            };
            remove_all(connection, row.id)?;
            connection.execute("DELETE FROM scopes WHERE id = ?1", [row.id])?;
            Ok(true)
        })
    }
}

pub(in crate::store) fn place(repo: &Repo) -> PathBuf {
    repo.common_dir().join("colony/cache/1/derived.db")
}
