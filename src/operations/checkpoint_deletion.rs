//! Deletes named checkpoints, and reports the remotes that keep them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::checkpoint::checkpoint_refs;
use crate::git::{Oid, RefChange, Repo};
use crate::model::Result;
use crate::model::id::OperationId;
use crate::records::exchanged_refs;
use crate::store::Session;

/// A checkpoint that was deleted.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DeletedCheckpoint {
    /// Its id.
    pub checkpoint_id: String,
    /// Its commit, which the operation keeps.
    pub sha: Oid,
    /// Its label.
    pub label: String,
    /// The remotes that had it at the last sync; it stays there.
    pub published: Vec<String>,
}

/// The checkpoints that were deleted.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CheckpointDeleteReport {
    /// The checkpoints.
    pub deleted: Vec<DeletedCheckpoint>,
    /// The operation; `None` in a dry run.
    pub op: Option<OperationId>,
    /// True if nothing was changed because of a dry run.
    pub dry_run: bool,
}

/// Deletes named checkpoints; in a dry run, only lists them.
pub fn delete(session: &Session, names: &[String]) -> Result<CheckpointDeleteReport> {
    let found = checkpoint_refs::find_named(&session.repo, names)?;
    let mut deleted = Vec::new();
    for checkpoint in &found {
        deleted.push(DeletedCheckpoint {
            checkpoint_id: checkpoint.checkpoint_id.clone(),
            sha: checkpoint.sha,
            label: checkpoint.label.clone(),
            published: published(
                &session.repo,
                &checkpoint_refs::refs_of(&session.repo, checkpoint)?,
            )?,
        });
    }
    let op = (!session.is_dry()).then(|| checkpoint_refs::delete(session, &found));
    Ok(CheckpointDeleteReport { deleted, op: op.transpose()?, dry_run: session.is_dry() })
}

/// Lists the remotes that had one of the refs at the last sync.
fn published(repo: &Repo, refs: &[RefChange]) -> Result<Vec<String>> {
    let mut remotes = Vec::new();
    for remote in repo.remote_names() {
        for change in refs {
            let note = exchanged_refs::note_of(&remote, &change.name);
            let noted = note.map(|note| repo.find_ref(&note)).transpose()?.flatten();
            if noted.is_some() && !remotes.contains(&remote) {
                remotes.push(remote.clone());
            }
        }
    }
    Ok(remotes)
}
