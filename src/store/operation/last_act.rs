//! The last things done in a worktree that are no steps of its log: an undo names those that came after the step
//! it takes back.
//!
//! One small file beside the log, which may be deleted at any time. Nothing is decided by it. Of two commands
//! that note something at the same moment one may be lost.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::git::Repo;
use crate::model::id::OperationId;
use crate::model::{Result, time};
use crate::store::files::atomic;
use crate::store::files::places::Places;
use crate::store::{Session, membership};

use super::log::next_id;

/// So many are kept.
const MAX_ACTS: usize = 20;

/// What was done, and how it is taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastAct {
    /// The command that did it.
    pub command: String,
    /// The command that takes it back, or that tells how.
    pub way_back: String,
    /// When it was done, RFC 3339 UTC.
    pub at: String,
}

/// One line of what the file holds, the oldest first.
#[derive(Serialize, Deserialize)]
struct Note {
    #[serde(flatten)]
    act: LastAct,
    /// The id of the operation that comes next; `None` before the first.
    next: Option<OperationId>,
}

impl LastAct {
    /// Returns the act in words.
    pub fn words(&self) -> String {
        let (command, way_back) = (&self.command, &self.way_back);
        format!("'{command}' came later and stays, as undo does not cover it: {way_back}")
    }
}

/// Notes that a command has done something that undo does not take back. Where a repository has no log and is
/// in no colony, nothing of ours may be left behind, and an undo has no older step.
pub fn note(session: &Session, command: String, way_back: String) {
    let repo = &session.repo;
    let write = || -> Result<()> {
        let is_member = membership::path_in(repo.common_dir()).exists();
        if Places::find(repo)?.is_none() && !is_member {
            return Ok(());
        }
        let act = LastAct {
            command,
            way_back,
            at: time::rfc3339(&session.world.now()),
        };
        let next = next(repo)?;
        let mut notes = read(repo);
        // What it takes back, or does once more, is no news any more.
        let command = format!("git colony {}", act.command);
        notes.retain(|note| note.act.way_back != command && note.act.command != act.command);
        notes.push(Note { act, next });
        let from = notes.len().saturating_sub(MAX_ACTS);
        let json = serde_json::to_vec(notes.get(from..).unwrap_or_default());
        let json = json.unwrap_or_default();
        let path = path(repo);
        path.parent().map_or(Ok(()), atomic::make_directory)?;
        atomic::write_quickly(&path, &json)
    };
    // Only an undo loses by it, and what it loses is advice.
    write().ok();
}

/// Returns what was done here, the newest first, as far as `is_news` says so of the operation that came next: to
/// come, where there is none yet.
pub fn list(repo: &Repo, is_news: impl Fn(Option<OperationId>) -> bool) -> Vec<LastAct> {
    let notes = read(repo).into_iter().rev();
    let notes = notes.filter(|note| is_news(note.next));
    notes.map(|note| note.act).collect()
}

fn read(repo: &Repo) -> Vec<Note> {
    let bytes = atomic::read_file(&path(repo)).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

fn next(repo: &Repo) -> Result<Option<OperationId>> {
    let places = Places::find(repo)?;
    Ok(places.map(|places| next_id(repo, &places)))
}

fn path(repo: &Repo) -> PathBuf {
    repo.git_dir().join("colony").join("last-acts.json")
}
