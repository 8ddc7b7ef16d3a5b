//! Reads and writes the rows of the page table, and detects altered ones.
//!
//! Each row has a digest of its values. A row that does not match is damaged and the table is created again:
//! no answer shows numbers that no mapping has written.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::model::RepoPath;
use crate::store::cache::database::Unusable;

use super::{DirectoryRow, Mapped, ScopeRow, Totals};

pub(super) const SCOPE_COLUMNS: &str = "SELECT pages, records, tokens, id, generation, scope, recipe, revision, follows, place, digest FROM scopes";

pub(super) const DIRECTORY_COLUMNS: &str = "SELECT pages, records, tokens, path, parent, tree, rules, digest, packed, left_out FROM directories";

pub(super) fn scope_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<ScopeRow> {
    let scope = unchecked_scope(row)?;
    sound(scope.digest().to_vec() == row.get::<_, Vec<u8>>(10)?)?;
    Ok(scope)
}

fn unchecked_scope(row: &rusqlite::Row<'_>) -> rusqlite::Result<ScopeRow> {
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

pub(super) fn directory_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<DirectoryRow> {
    let directory = DirectoryRow {
        totals: totals(row)?,
        path: RepoPath::new(row.get::<_, Vec<u8>>(3)?),
        parent: row.get::<_, Option<Vec<u8>>>(4)?.map(RepoPath::new),
        tree: row.get(5)?,
        rules: row.get(6)?,
        page_ids: Vec::new(),
        packed: row.get(8)?,
        left_out: row.get(9)?,
    };
    sound(directory.digest().to_vec() == row.get::<_, Vec<u8>>(7)?)?;
    Ok(directory)
}

/// Fails if a row is not as it was written.
fn sound(is_sound: bool) -> rusqlite::Result<()> {
    let damaged = || {
        let corrupt = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
        rusqlite::Error::SqliteFailure(corrupt, Some("it is damaged".to_owned()))
    };
    is_sound.then_some(()).ok_or_else(damaged)
}

impl ScopeRow {
    /// Returns the digest that detects an altered row.
    fn digest(&self) -> [u8; 8] {
        let place = self.place.as_ref().map(|place| place.as_os_str().as_bytes());
        digest_of(&[
            self.scope.as_bytes(),
            &self.recipe,
            self.revision.as_bytes(),
            self.follows.as_deref().unwrap_or_default().as_bytes(),
            place.unwrap_or_default(),
            &self.totals.bytes(),
        ])
    }
}

impl DirectoryRow {
    /// Returns the digest that detects an altered row.
    fn digest(&self) -> [u8; 8] {
        digest_of(&[
            self.path.as_bytes(),
            self.parent.as_ref().map_or(b"", RepoPath::as_bytes),
            self.tree.as_bytes(),
            &self.rules,
            &self.totals.bytes(),
            &self.packed,
            self.left_out.as_deref().unwrap_or_default(),
        ])
    }
}

impl Totals {
    fn bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        let numbers = [self.pages, self.records, self.tokens];
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }
}

fn digest_of(parts: &[&[u8]]) -> [u8; 8] {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut digest = [0; 8];
    hasher.finalize_xof().fill(&mut digest);
    digest
}

/// Returns the first three columns.
fn totals(row: &rusqlite::Row<'_>) -> rusqlite::Result<Totals> {
    let number = |at: usize| row.get::<_, i64>(at).map(i64::unsigned_abs);
    Ok(Totals { pages: number(0)?, records: number(1)?, tokens: number(2)? })
}

pub(super) fn find(
    connection: &Connection,
    worktree: &str,
    scope: &str,
) -> Result<Option<ScopeRow>, Unusable> {
    let sql = format!("{SCOPE_COLUMNS} WHERE worktree = ?1 AND scope = ?2");
    let mut statement = connection.prepare_cached(&sql)?;
    let row = statement.query_row([worktree, scope], scope_row);
    Ok(row.optional()?)
}

pub(super) fn write_scope(connection: &Connection, mapped: &Mapped<'_>) -> Result<i64, Unusable> {
    let sql = "INSERT INTO scopes
            (worktree, scope, recipe, revision, follows, place,
            generation, pages, records, tokens, digest)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, 0, 0, 0, x'')
        ON CONFLICT (worktree, scope) DO UPDATE SET
            recipe = ?3, revision = ?4, follows = ?5, place = ?6,
            generation = generation + 1
        RETURNING id";
    let mut statement = connection.prepare_cached(sql)?;
    let Mapped { worktree, scope, recipe, revision, follows, place } = mapped;
    let place = place.map(|path| path.as_os_str().as_bytes());
    let parameters = params![worktree, scope, recipe, revision, follows, place];
    Ok(statement.query_row(parameters, |row| row.get(0))?)
}

/// Writes the digest of a scope, as the last step.
pub(super) fn seal(connection: &Connection, id: i64) -> Result<(), Unusable> {
    let sql = format!("{SCOPE_COLUMNS} WHERE id = ?1");
    let scope = connection.query_row(&sql, [id], unchecked_scope)?;
    let sql = "UPDATE scopes SET digest = ?2 WHERE id = ?1";
    connection.execute(sql, params![id, scope.digest()])?;
    Ok(())
}

pub(super) fn remove_all(connection: &Connection, scope: i64) -> Result<(), Unusable> {
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
    connection.prepare_cached(sql)?.execute(params![scope, from, to])?;
    for table in ["directories", "pages"] {
        let sql = format!("DELETE FROM {table} WHERE scope = ?1 AND path >= ?2 AND path < ?3");
        connection.prepare_cached(&sql)?.execute(params![scope, from, to])?;
    }
    Ok(())
}

/// Removes one directory.
pub(super) fn remove_one(
    connection: &Connection,
    scope: i64,
    path: &RepoPath,
) -> Result<(), Unusable> {
    // No other path sorts between a path and that path followed by a NUL.
    let to = [path.as_bytes(), b"\0"].concat();
    remove(connection, scope, path.as_bytes(), &to)
}

/// Removes a directory with everything below it.
pub(super) fn remove_below(
    connection: &Connection,
    scope: i64,
    path: &RepoPath,
) -> Result<(), Unusable> {
    remove_one(connection, scope, path)?;
    // Every path that begins with the path and a slash; '0' is the character after it.
    let from = [path.as_bytes(), b"/"].concat();
    let to = [path.as_bytes(), b"0"].concat();
    remove(connection, scope, &from, &to)
}

pub(super) fn insert(
    connection: &Connection,
    scope: i64,
    row: &DirectoryRow,
) -> Result<(), Unusable> {
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let Totals { pages, records, tokens } = row.totals;
    let (pages, records, tokens) = (number(pages), number(records), number(tokens));
    let sql = "INSERT INTO directories
            (scope, path, parent, tree, rules, packed, pages, records, tokens, digest, left_out)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
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
        row.digest(),
        row.left_out,
    ])?;
    let sql = "UPDATE scopes SET pages = pages + ?2, records = records + ?3, tokens = tokens + ?4
        WHERE id = ?1";
    connection.prepare_cached(sql)?.execute(params![scope, pages, records, tokens])?;
    let sql = "INSERT OR IGNORE INTO pages (scope, page, path) VALUES (?1, ?2, ?3)";
    let mut statement = connection.prepare_cached(sql)?;
    for id in &row.page_ids {
        statement.execute(params![scope, id.as_slice(), row.path.as_bytes()])?;
    }
    Ok(())
}
