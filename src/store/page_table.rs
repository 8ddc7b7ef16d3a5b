//! The page table: which pages the directories of a scope were packed into. Derived data; what is in
//! it can be worked out again from the commit.
//!
//! Pages are kept as the page module wrote them: this module knows where they belong, not what they
//! say.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::git::Repo;
use crate::model::RepoPath;

use super::database::{Database, Unusable};

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS scopes (
        id INTEGER PRIMARY KEY, worktree TEXT NOT NULL, scope TEXT NOT NULL,
        recipe BLOB NOT NULL, revision TEXT NOT NULL, generation INTEGER NOT NULL,
        follows TEXT, place BLOB,
        pages INTEGER NOT NULL, records INTEGER NOT NULL, tokens INTEGER NOT NULL,
        UNIQUE (worktree, scope));
    CREATE TABLE IF NOT EXISTS directories (
        scope INTEGER NOT NULL, path BLOB NOT NULL, parent BLOB, tree TEXT NOT NULL,
        rules BLOB NOT NULL, packed BLOB NOT NULL,
        pages INTEGER NOT NULL, records INTEGER NOT NULL, tokens INTEGER NOT NULL,
        PRIMARY KEY (scope, path)) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS below ON directories (scope, parent);
    CREATE TABLE IF NOT EXISTS pages (
        scope INTEGER NOT NULL, page BLOB NOT NULL, path BLOB NOT NULL,
        PRIMARY KEY (scope, page, path)) WITHOUT ROWID";

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

    /// Tells whether a repository has a page table: to look for what is in none makes none.
    pub fn exists(repo: &Repo) -> bool {
        place(repo).exists()
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

    /// Writes down a mapping, unless the scope is no longer `before`; returns what it then holds.
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn write(
        &mut self,
        before: Option<&ScopeRow>,
        mapped: &Mapped<'_>,
        changes: &Changes,
    ) -> Result<Option<Totals>, Unusable> {
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
            let now = find(connection, mapped.worktree, mapped.scope)?;
            Ok(now.map(|now| now.totals))
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

pub(super) fn place(repo: &Repo) -> PathBuf {
    repo.common_dir().join("colony/cache/1/derived.db")
}

const SCOPE_COLUMNS: &str = "SELECT pages, records, tokens, id, generation, scope, recipe, revision, follows, place FROM scopes";

const DIRECTORY_COLUMNS: &str =
    "SELECT pages, records, tokens, path, parent, tree, rules, packed FROM directories";

fn scope_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<ScopeRow> {
    Ok(ScopeRow {
        totals: totals(row)?,
        id: row.get(3)?,
        generation: row.get(4)?,
        scope: row.get(5)?,
        recipe: row.get(6)?,
        revision: row.get(7)?,
        follows: row.get(8)?,
        place: row
            .get::<_, Option<Vec<u8>>>(9)?
            .map(|bytes| PathBuf::from(OsString::from_vec(bytes))),
    })
}

fn directory_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<DirectoryRow> {
    Ok(DirectoryRow {
        totals: totals(row)?,
        path: RepoPath::new(row.get::<_, Vec<u8>>(3)?),
        parent: row.get::<_, Option<Vec<u8>>>(4)?.map(RepoPath::new),
        tree: row.get(5)?,
        rules: row.get(6)?,
        page_ids: Vec::new(),
        packed: row.get(7)?,
    })
}

/// The first three columns.
fn totals(row: &rusqlite::Row<'_>) -> rusqlite::Result<Totals> {
    let number = |at: usize| row.get::<_, i64>(at).map(i64::unsigned_abs);
    Ok(Totals {
        pages: number(0)?,
        records: number(1)?,
        tokens: number(2)?,
    })
}

fn find(
    connection: &Connection,
    worktree: &str,
    scope: &str,
) -> Result<Option<ScopeRow>, Unusable> {
    let sql = format!("{SCOPE_COLUMNS} WHERE worktree = ?1 AND scope = ?2");
    let mut statement = connection.prepare_cached(&sql)?;
    let row = statement.query_row([worktree, scope], scope_row);
    Ok(row.optional()?)
}

fn write_scope(connection: &Connection, mapped: &Mapped<'_>) -> Result<i64, Unusable> {
    let sql = "INSERT INTO scopes
            (worktree, scope, recipe, revision, follows, place,
            generation, pages, records, tokens)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, 0, 0, 0)
        ON CONFLICT (worktree, scope) DO UPDATE SET
            recipe = ?3, revision = ?4, follows = ?5, place = ?6,
            generation = generation + 1
        RETURNING id";
    let mut statement = connection.prepare_cached(sql)?;
    let Mapped {
        worktree,
        scope,
        recipe,
        revision,
        follows,
        place,
    } = mapped;
    let place = place.map(|path| path.as_os_str().as_bytes());
    let parameters = params![worktree, scope, recipe, revision, follows, place];
    Ok(statement.query_row(parameters, |row| row.get(0))?)
}

fn remove_all(connection: &Connection, scope: i64) -> Result<(), Unusable> {
    connection.execute("DELETE FROM directories WHERE scope = ?1", [scope])?;
    connection.execute("DELETE FROM pages WHERE scope = ?1", [scope])?;
    let sql = "UPDATE scopes SET pages = 0, records = 0, tokens = 0 WHERE id = ?1";
    connection.execute(sql, [scope])?;
    Ok(())
}

/// Removes the directories from one path to before another.
fn remove(connection: &Connection, scope: i64, from: &[u8], to: &[u8]) -> Result<(), Unusable> {
    let sql = "UPDATE scopes SET (pages, records, tokens) =
        (SELECT scopes.pages - coalesce(sum(d.pages), 0),
            scopes.records - coalesce(sum(d.records), 0),
            scopes.tokens - coalesce(sum(d.tokens), 0)
        FROM directories d WHERE d.scope = ?1 AND d.path >= ?2 AND d.path < ?3)
        WHERE id = ?1";
    connection
        .prepare_cached(sql)?
        .execute(params![scope, from, to])?;
    for table in ["directories", "pages"] {
        let sql = format!("DELETE FROM {table} WHERE scope = ?1 AND path >= ?2 AND path < ?3");
        connection
            .prepare_cached(&sql)?
            .execute(params![scope, from, to])?;
    }
    Ok(())
}

/// Removes one directory.
fn remove_one(connection: &Connection, scope: i64, path: &RepoPath) -> Result<(), Unusable> {
    // Nothing stands between a path and the same with a NUL behind it.
    let to = [path.as_bytes(), b"\0"].concat();
    remove(connection, scope, path.as_bytes(), &to)
}

/// Removes a directory with all below it.
fn remove_below(connection: &Connection, scope: i64, path: &RepoPath) -> Result<(), Unusable> {
    remove_one(connection, scope, path)?;
    // All that begins with the path and a slash; '0' is the character behind it.
    let from = [path.as_bytes(), b"/"].concat();
    let to = [path.as_bytes(), b"0"].concat();
    remove(connection, scope, &from, &to)
}

fn insert(connection: &Connection, scope: i64, row: &DirectoryRow) -> Result<(), Unusable> {
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let Totals {
        pages,
        records,
        tokens,
    } = row.totals;
    let (pages, records, tokens) = (number(pages), number(records), number(tokens));
    let sql = "INSERT INTO directories
            (scope, path, parent, tree, rules, packed, pages, records, tokens)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    connection.prepare_cached(sql)?.execute(params![
        scope,
        row.path.as_bytes(),
        row.parent.as_ref().map(RepoPath::as_bytes),
        row.tree,
        row.rules,
        row.packed,
        pages,
        records,
        tokens,
    ])?;
    let sql = "UPDATE scopes SET pages = pages + ?2, records = records + ?3, tokens = tokens + ?4
        WHERE id = ?1";
    connection
        .prepare_cached(sql)?
        .execute(params![scope, pages, records, tokens])?;
    let sql = "INSERT OR IGNORE INTO pages (scope, page, path) VALUES (?1, ?2, ?3)";
    let mut statement = connection.prepare_cached(sql)?;
    for id in &row.page_ids {
        statement.execute(params![scope, id.as_slice(), row.path.as_bytes()])?;
    }
    Ok(())
}
