//! The page table: which pages the directories of a scope were packed into. It is derived data and can be
//! computed again from the commit.
//!
//! Pages are stored as the page module wrote them: this module knows where they belong, not what they
//! contain.

mod rows;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use rusqlite::{OptionalExtension as _, params};

use crate::git::Repo;
use crate::model::RepoPath;
use crate::store::session::Session;

use super::database::{Database, Unusable};
use super::database_wait::Waiter;
use super::schema::{Journal, Schema};
use rows::{
    DIRECTORY_COLUMNS, SCOPE_COLUMNS, directory_row, find, insert, remove_all, remove_below,
    remove_one, scope_row, seal, write_scope,
};

/// The version of the schema, which is in the path.
pub const SCHEMA_VERSION: u32 = 1;

/// The tables of the file: those of a map, and the relations that a [`super::relation_cache::RelationCache`] keeps in it.
pub(super) const SCHEMA: Schema = Schema {
    tables: "
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
        PRIMARY KEY (scope, path));
    CREATE INDEX IF NOT EXISTS below ON directories (scope, parent, path);
    CREATE TABLE IF NOT EXISTS pages (
        scope INTEGER NOT NULL, page BLOB NOT NULL, path BLOB NOT NULL,
        PRIMARY KEY (scope, page, path)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS relations (key TEXT PRIMARY KEY, value BLOB NOT NULL);
    SELECT digest FROM scopes LIMIT 0;
    SELECT digest, left_out FROM directories LIMIT 0;
    CREATE INDEX IF NOT EXISTS failing ON directories (scope, path) WHERE left_out IS NOT NULL",
    journal: Journal::Ahead,
};

/// Stands for the revision that an invalidated scope was mapped from. No revision has such a name.
const INVALID: &str = "..";

impl ScopeRow {
    /// Returns `true` if its pages were marked as stale.
    pub fn is_invalidated(&self) -> bool {
        self.follows.as_deref() == Some(INVALID)
    }
}

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
    /// A digest of everything but the commit that the pages depend on.
    pub recipe: Vec<u8>,
    /// The commit that was mapped.
    pub revision: String,
    /// The revision it was mapped from, where that can move: `HEAD` or a branch.
    pub follows: Option<String>,
    /// The repository that has its objects; `None` for this one.
    pub place: Option<PathBuf>,
    /// The totals of all its directories.
    pub totals: Totals,
}

/// Numbers of pages, records and tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Pages.
    pub pages: u64,
    /// Records.
    pub records: u64,
    /// Tokens, the sum over the records.
    pub tokens: u64,
}

/// Where a page was found.
pub struct FoundPage {
    /// Its scope.
    pub scope: ScopeRow,
    /// Its id.
    pub id: [u8; 16],
    /// Its directory, from the root of the repository.
    pub directory: RepoPath,
}

/// A directory of a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryRow {
    /// Its path from the root of the repository.
    pub path: RepoPath,
    /// The directory above it; `None` for the scope's first directory.
    pub parent: Option<RepoPath>,
    /// Its tree.
    pub tree: String,
    /// A digest of the rules that directories above it set.
    pub rules: Vec<u8>,
    /// The ids of its pages.
    pub page_ids: Vec<[u8; 16]>,
    /// Its pages, as the page module wrote them.
    pub packed: Vec<u8>,
    /// Its files that should have a record and have none, as the page module wrote them; `None` if there are
    /// none.
    pub left_out: Option<Vec<u8>>,
    /// The totals of the directory.
    pub totals: Totals,
}

/// The changes to the directories of a scope.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Delete all existing directories first.
    pub afresh: bool,
    /// Deleted directories, with everything below them.
    pub gone: Vec<RepoPath>,
    /// Directories that are new or were packed again.
    pub packed: Vec<DirectoryRow>,
}

/// A scope after a mapping.
#[derive(Clone, Debug)]
pub struct Mapped<'a> {
    /// The worktree of the scope.
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
    /// Opens the page table of a repository. In a dry run, nothing that is written stays.
    pub fn open(session: &Session) -> Result<PageTable, Unusable> {
        let open = if session.is_dry() { Database::rehearse } else { Database::open };
        let database = open(&place(&session.repo), SCHEMA, &Waiter::of(session))?;
        Ok(PageTable { database })
    }

    /// Deletes the page table of a repository and creates it again; in a dry run it stays.
    pub fn recreate(session: &Session) -> Result<PageTable, Unusable> {
        if session.is_dry() {
            return PageTable::in_memory();
        }
        let database = Database::recreate(&place(&session.repo), SCHEMA, &Waiter::of(session))?;
        Ok(PageTable { database })
    }

    /// Returns `true` if a repository has a page table, or anything else at its path. Looking something up
    /// must not create one.
    pub fn exists(repo: &Repo) -> bool {
        let missing = |error: std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
        !std::fs::symlink_metadata(place(repo)).is_err_and(missing)
    }

    /// Opens a page table for this run only.
    pub fn in_memory() -> Result<PageTable, Unusable> {
        Ok(PageTable { database: Database::in_memory(SCHEMA)? })
    }

    /// Finds a scope of a worktree.
    pub fn find(&self, worktree: &str, scope: &str) -> Result<Option<ScopeRow>, Unusable> {
        find(self.database.reader(), worktree, scope)
    }

    /// Lists the scopes of a worktree, by name.
    pub fn scopes(&self, worktree: &str) -> Result<Vec<ScopeRow>, Unusable> {
        let sql = format!("{SCOPE_COLUMNS} WHERE worktree = ?1 ORDER BY scope");
        let mut statement = self.database.reader().prepare_cached(&sql)?;
        let rows = statement.query_map([worktree], scope_row)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns `true` if the totals of a scope are the sum of those of its directories. One statement reads both, since
    /// another process may be mapping the scope, or delete it.
    pub fn adds_up(&self, scope: &ScopeRow) -> Result<bool, Unusable> {
        let sql = "SELECT scopes.pages = coalesce(sum(below.pages), 0)
                AND scopes.records = coalesce(sum(below.records), 0)
                AND scopes.tokens = coalesce(sum(below.tokens), 0)
            FROM scopes LEFT JOIN directories AS below ON below.scope = scopes.id
            WHERE scopes.id = ?1 GROUP BY scopes.id";
        let mut statement = self.database.reader().prepare_cached(sql)?;
        let adds_up = statement.query_row([scope.id], |row| row.get(0));
        Ok(adds_up.optional()?.unwrap_or(true))
    }

    /// Finds a directory of a scope.
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

    /// Lists the directories of a scope that are directly below one, by path.
    pub fn below(&self, scope: &ScopeRow, path: &RepoPath) -> Result<Vec<RepoPath>, Unusable> {
        let sql = "SELECT path FROM directories WHERE scope = ?1 AND parent = ?2 ORDER BY path";
        let mut statement = self.database.reader().prepare_cached(sql)?;
        let rows = statement.query_map(params![scope.id, path.as_bytes()], |row| {
            Ok(RepoPath::new(row.get::<_, Vec<u8>>(0)?))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the first directory of a scope; `None` where the scope is empty.
    pub fn start(&self, scope: &ScopeRow) -> Result<Option<RepoPath>, Unusable> {
        let sql = "SELECT path FROM directories WHERE scope = ?1 AND parent IS NULL";
        let mut statement = self.database.reader().prepare_cached(sql)?;
        let row = statement.query_row([scope.id], |row| row.get::<_, Vec<u8>>(0));
        Ok(row.optional()?.map(RepoPath::new))
    }

    /// Passes each directory of a scope, by path, to `each` until that returns `false`.
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

    /// Lists what the directories of a scope record about files without a record, by path.
    pub fn left_out(&self, scope: &ScopeRow) -> Result<Vec<Vec<u8>>, Unusable> {
        let sql = "SELECT left_out FROM directories
            WHERE scope = ?1 AND left_out IS NOT NULL ORDER BY path";
        let mut statement = self.database.reader().prepare_cached(sql)?;
        let rows = statement.query_map([scope.id], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Finds the pages of some scopes by the beginning of their ids.
    pub fn find_pages(
        &self,
        scopes: &[ScopeRow],
        from: [u8; 16],
        to: [u8; 16],
    ) -> Result<Vec<FoundPage>, Unusable> {
        let mut pages = Vec::new();
        for scope in scopes {
            let sql = "SELECT page, path FROM pages WHERE scope = ?1 AND page BETWEEN ?2 AND ?3";
            let mut statement = self.database.reader().prepare_cached(sql)?;
            let parameters = params![scope.id, from.as_slice(), to.as_slice()];
            let rows = statement.query_map(parameters, |row| {
                Ok(FoundPage {
                    scope: scope.clone(),
                    id: row.get(0)?,
                    directory: RepoPath::new(row.get::<_, Vec<u8>>(1)?),
                })
            })?;
            for row in rows {
                pages.push(row?);
            }
        }
        Ok(pages)
    }

    /// Records a mapping, if the scope is still `before`; returns the scope otherwise.
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

    /// Marks a scope: its pages stay, and are stale until the next mapping.
    pub fn invalidate(&mut self, worktree: &str, scope: &str) -> Result<(), Unusable> {
        self.database.transaction(|connection| {
            let Some(row) = find(connection, worktree, scope)? else {
                return Ok(());
            };
            let sql = "UPDATE scopes SET follows = ?2 WHERE id = ?1";
            connection.execute(sql, params![row.id, INVALID])?;
            seal(connection, row.id)
        })
    }

    /// Deletes a scope; returns `true` if it existed.
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
    let name = format!("colony/cache/{SCHEMA_VERSION}/derived.db");
    repo.common_dir().join(name)
}
