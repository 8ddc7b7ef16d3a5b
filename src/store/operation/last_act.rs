//! The last commands of a worktree that its operation log does not cover: an undo names those that came after
//! the operation it undoes.
//!
//! One small file beside the log, which may be deleted at any time. No decision depends on it. Of two entries
//! written at the same moment, one may be lost.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::git::Repo;
use crate::git::plain_file;
use crate::model::id::OperationId;
use crate::model::{Result, time};
use crate::store::files::atomic;
use crate::store::files::places::Places;
use crate::store::{Session, membership};

use super::log::next_id;

/// The number of entries that are kept.
const MAX_ACTS: usize = 20;

/// A command that undo does not cover, and how to undo it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastAct {
    /// The command.
    pub command: String,
    /// The command that undoes it, or explains how.
    pub way_back: String,
    /// The time, RFC 3339 UTC.
    pub at: String,
}

/// One line of the file, oldest first.
#[derive(Serialize, Deserialize)]
struct Note {
    #[serde(flatten)]
    act: LastAct,
    /// The id of the next operation; `None` before the first.
    next: Option<OperationId>,
}

impl LastAct {
    /// Returns the entry as text.
    pub fn to_text(&self) -> String {
        let (command, way_back) = (&self.command, &self.way_back);
        format!(
            "not undone: '{command}', which came later and undo does not cover; to reverse it: {way_back}"
        )
    }
}

/// Records a command that undo does not cover; in a dry run, nothing. In a repository without an operation log
/// and outside of a colony, it records nothing: nothing of ours may be left behind there, and an undo has no older
/// operation.
pub fn note(session: &Session, command: String, way_back: String) {
    if session.is_dry() {
        return;
    }
    let repo = &session.repo;
    let write = || -> Result<()> {
        let is_member = membership::path_in(repo.common_dir()).exists();
        if Places::find(repo)?.is_none() && !is_member {
            return Ok(());
        }
        let act = LastAct { command, way_back, at: time::rfc3339(&session.world.now()) };
        let next = next(repo)?;
        let mut notes = read(repo);
        // It replaces the entry of the command that it undoes or repeats.
        let command = format!("git colony {}", act.command);
        notes.retain(|note| note.act.way_back != command && note.act.command != act.command);
        notes.push(Note { act, next });
        let from = notes.len().saturating_sub(MAX_ACTS);
        let newest = notes.split_off(from);
        let json = serde_json::to_vec(&newest).expect("a note has texts and times only");
        let path = path(repo);
        path.parent().map_or(Ok(()), atomic::make_directory)?;
        atomic::write_quickly(&path, &json)
    };
    // Losing it costs an undo only a piece of advice.
    write().ok();
}

/// Returns the entries, newest first, for which `is_news` returns `true` for the next operation; `None` means
/// that there is none yet.
pub fn list(repo: &Repo, is_news: impl Fn(Option<OperationId>) -> bool) -> Vec<LastAct> {
    let notes = read(repo).into_iter().rev().filter(|note| is_news(note.next));
    notes.map(|note| note.act).collect()
}

fn read(repo: &Repo) -> Vec<Note> {
    let bytes = plain_file::read(path(repo)).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

fn next(repo: &Repo) -> Result<Option<OperationId>> {
    let places = Places::find(repo)?;
    Ok(places.map(|places| next_id(repo, &places)))
}

fn path(repo: &Repo) -> PathBuf {
    repo.git_dir().join("colony").join("last-acts.json")
}
