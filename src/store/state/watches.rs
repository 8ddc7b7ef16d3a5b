//! The watches of working trees. They last until they are stopped, longer than the process that watches.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Row, params};

use crate::model::RepoPath;
use crate::store::cache::database::Unusable;

use super::State;

/// The mode of a watch that was stopped.
const STOPPED: &str = "stopped";

/// How long the note of a stop stays, in milliseconds; a process reads it within a second, unless it is stopped itself.
const KEEP_NOTE: i64 = 86_400_000;

/// A watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// Its id.
    pub id: String,
    /// The working tree it belongs to.
    pub worktree: PathBuf,
    /// The scope it is for.
    pub scope: Option<String>,
    /// The paths that are watched; empty for those of the scope.
    pub paths: Vec<RepoPath>,
    /// What it does, by the name of its mode.
    pub mode: String,
    /// The quiet time after a change, in milliseconds.
    pub debounce: i64,
    /// Who started it; empty for the user.
    pub agent: String,
    /// When it was started.
    pub started: i64,
    /// When it fired last.
    pub fired: Option<i64>,
    /// How often it has fired.
    pub count: u32,
}

/// The result of adding a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Added {
    /// It was added.
    New,
    /// There is one with this id.
    IdExists,
    /// The working tree has the maximum of watches.
    TooMany,
}

impl State {
    /// Adds a watch, if its working tree has fewer than `most`.
    pub fn add_watch(&mut self, watch: &Watch, most: u64) -> Result<Added, Unusable> {
        self.update(|connection| {
            forget_removed(connection)?;
            let sql = "DELETE FROM watches WHERE id = ?1 AND worktree = ?2 AND mode = ?3";
            let worktree = watch.worktree.as_os_str().as_bytes();
            connection.execute(sql, params![watch.id, worktree, STOPPED])?;
            let all = of_worktree(connection, &watch.worktree)?;
            if all.len() as u64 >= most {
                return Ok(Added::TooMany);
            }
            let sql =
                "INSERT OR IGNORE INTO watches VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
            let paths = joined(&watch.paths);
            let added = connection.execute(
                sql,
                params![
                    watch.id,
                    worktree,
                    watch.scope,
                    paths,
                    watch.mode,
                    watch.debounce,
                    watch.agent,
                    watch.started,
                    watch.fired,
                    watch.count
                ],
            )?;
            Ok(if added == 0 { Added::IdExists } else { Added::New })
        })
    }

    /// Lists the watches of a working tree, the oldest first.
    pub fn watches(&mut self, worktree: &Path) -> Result<Vec<Watch>, Unusable> {
        self.read(|connection| of_worktree(connection, worktree))
    }

    /// Counts a firing of a watch; returns `false` if it was stopped meanwhile.
    pub fn note_fired(&mut self, watch: &Watch, now: i64) -> Result<bool, Unusable> {
        let worktree = watch.worktree.as_os_str().as_bytes();
        self.update(|connection| {
            let sql = "UPDATE watches SET fired = ?3, count = count + 1
                WHERE id = ?1 AND worktree = ?2 AND mode != ?4";
            Ok(connection.execute(sql, params![watch.id, worktree, now, STOPPED])? > 0)
        })
    }

    /// Stops a watch of a working tree; returns `false` if there is none with this id. Its process learns from a
    /// note that the watch was stopped, and not lost with the database.
    pub fn stop_watch(&mut self, worktree: &Path, id: &str, now: i64) -> Result<bool, Unusable> {
        let worktree = worktree.as_os_str().as_bytes();
        self.update(|connection| {
            let sql = "DELETE FROM watches WHERE mode = ?1 AND fired < ?2";
            connection.execute(sql, params![STOPPED, now - KEEP_NOTE])?;
            let sql = "UPDATE watches SET mode = ?3, fired = ?4
                WHERE id = ?1 AND worktree = ?2 AND mode != ?3";
            Ok(connection.execute(sql, params![id, worktree, STOPPED, now])? > 0)
        })
    }

    /// Returns `true` if a watch was stopped within the last day.
    pub fn was_stopped(&mut self, watch: &Watch) -> Result<bool, Unusable> {
        let worktree = watch.worktree.as_os_str().as_bytes();
        self.read(|connection| {
            let sql = "SELECT EXISTS (SELECT 1 FROM watches
                WHERE id = ?1 AND worktree = ?2 AND mode = ?3)";
            Ok(connection.query_row(sql, params![watch.id, worktree, STOPPED], |row| row.get(0))?)
        })
    }
}

/// Deletes the watches of working trees that are gone.
fn forget_removed(connection: &Connection) -> Result<(), Unusable> {
    let mut statement = connection.prepare("SELECT DISTINCT worktree FROM watches")?;
    let worktrees = statement.query_map([], |row| row.get::<_, Vec<u8>>(0))?;
    for worktree in worktrees.collect::<rusqlite::Result<Vec<_>>>()? {
        if !Path::new(OsStr::from_bytes(&worktree)).is_dir() {
            connection.execute("DELETE FROM watches WHERE worktree = ?1", [worktree])?;
        }
    }
    Ok(())
}

fn of_worktree(connection: &Connection, worktree: &Path) -> Result<Vec<Watch>, Unusable> {
    let sql = "SELECT id, worktree, scope, paths, mode, debounce, agent, started, fired, count
        FROM watches WHERE worktree = ?1 AND mode != ?2 ORDER BY started, id";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![worktree.as_os_str().as_bytes(), STOPPED], watch)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn watch(row: &Row<'_>) -> rusqlite::Result<Watch> {
    let joined: Vec<u8> = row.get(3)?;
    let paths = joined.split(|&byte| byte == 0).filter(|path| !path.is_empty());
    Ok(Watch {
        id: row.get(0)?,
        worktree: PathBuf::from(OsString::from_vec(row.get(1)?)),
        scope: row.get(2)?,
        paths: paths.map(RepoPath::new).collect(),
        mode: row.get(4)?,
        debounce: row.get(5)?,
        agent: row.get(6)?,
        started: row.get(7)?,
        fired: row.get(8)?,
        count: row.get(9)?,
    })
}

/// Joins paths by zero bytes, which no path has.
fn joined(paths: &[RepoPath]) -> Vec<u8> {
    let parts: Vec<&[u8]> = paths.iter().map(RepoPath::as_bytes).collect();
    parts.join(&0)
}
