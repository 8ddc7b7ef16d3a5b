//! The last thing done in a worktree that is no step of its log: an undo names it before it takes an older step.
//!
//! One small file beside the log, which may be deleted at any time. It counts as long as no operation came
//! after it, and nothing is decided by it.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::git::Repo;
use crate::model::id::OperationId;
use crate::model::{Result, time};

use super::operation::log::next_id;
use super::places::Places;
use super::{Session, atomic, membership};

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

/// What the file holds.
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
        let json = serde_json::to_vec(&Note { act, next }).unwrap_or_default();
        let path = path(repo);
        path.parent().map_or(Ok(()), atomic::make_directory)?;
        atomic::write_quickly(&path, &json)
    };
    // Only an undo loses by it, and what it loses is advice.
    write().ok();
}

/// Returns the last thing done here, unless the newest operation came after it.
pub fn find(repo: &Repo, newest: Option<OperationId>) -> Option<LastAct> {
    let note: Note = serde_json::from_slice(&atomic::read_file(&path(repo)).ok()?).ok()?;
    let is_last = newest.is_none_or(|newest| note.next.is_some_and(|next| newest < next));
    is_last.then_some(note.act)
}

fn next(repo: &Repo) -> Result<Option<OperationId>> {
    let places = Places::find(repo)?;
    Ok(places.map(|places| next_id(repo, &places)))
}

fn path(repo: &Repo) -> PathBuf {
    repo.git_dir().join("colony").join("last-act.json")
}
