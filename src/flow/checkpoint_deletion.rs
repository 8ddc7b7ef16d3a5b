//! Deletes checkpoints and moves those that are git tags, here and on remotes.

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::sync::travelers;
use crate::design::checkpoint::checkpoint_refs::{self, MovedCheckpoint, StayingTag};
use crate::git::remote::{Pushed, Remote};
use crate::git::{Oid, RefChange, RefName, Repo};
use crate::model::id::OperationId;
use crate::model::{Code, Error, Result, Untouched};
use crate::store::Session;
use crate::store::refs::ref_names;

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

/// The checkpoints that were moved.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MoveReport {
    /// The checkpoints that were git tags here.
    pub moved: Vec<MovedCheckpoint>,
    /// The tags that stay.
    pub left: Vec<StayingTag>,
    /// The remote, if one was named.
    pub remote: Option<String>,
    /// The result for each ref there.
    pub remote_refs: Vec<RemoteMove>,
    /// The operation; `None` in a dry run, or if nothing had to be moved here.
    pub op: Option<OperationId>,
    /// True if nothing was changed because of a dry run.
    pub dry_run: bool,
}

/// The result for a checkpoint on a remote.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RemoteMove {
    /// Its id.
    pub checkpoint_id: String,
    /// Whether its tag is deleted there; in a dry run, whether it would be.
    pub moved: bool,
    /// Why it was not moved.
    pub reason: Option<String>,
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
            let note = travelers::note_of(&remote, &change.name);
            let noted = note.map(|note| repo.find_ref(&note)).transpose()?.flatten();
            if noted.is_some() && !remotes.contains(&remote) {
                remotes.push(remote.clone());
            }
        }
    }
    Ok(remotes)
}

/// Moves checkpoints that are git tags to refs of ours, and on a remote, if one is named; in a dry
/// run, only plans that.
pub fn move_tags(session: &Session, remote: Option<&str>) -> Result<MoveReport> {
    session.refuse_reader()?;
    let remote =
        remote.map(|name| Remote::find(&session.repo, &session.world, name)).transpose()?;
    let (moves, op) = if session.is_dry() {
        (checkpoint_refs::plan_moves(session)?, None)
    } else {
        checkpoint_refs::move_tags(session)?
    };
    let mut report = MoveReport {
        op,
        remote: remote.as_ref().map(|remote| remote.name().to_owned()),
        remote_refs: Vec::new(),
        dry_run: session.is_dry(),
        moved: Vec::new(),
        left: Vec::new(),
    };
    let planned: Vec<(RefName, Oid)> =
        moves.refs.iter().filter_map(|change| Some((change.name.clone(), change.new?))).collect();
    report.moved = moves.moved;
    report.left = moves.left;
    if let Some(remote) = &remote {
        report.remote_refs = move_on_remote(session, remote, &planned)?;
    }
    Ok(report)
}

/// Moves the checkpoints on the remote that are the same here; a tag without a copy here stays.
fn move_on_remote(
    session: &Session,
    remote: &Remote<'_>,
    planned: &[(RefName, Oid)],
) -> Result<Vec<RemoteMove>> {
    if session.settings.checkpoint_git_tags {
        return Err(Error::new(
            Code::InvalidValue,
            "colony.checkpoint.gitTags keeps the tags that '--remote' would delete",
        )
        .untouched(Untouched::There)
        .hint("git config --unset colony.checkpoint.gitTags   # then run it again"));
    }
    let offered = remote.list(|_| true)?;
    let mut told = Vec::new();
    let mut changes = Vec::new();
    for (tag, id) in &offered {
        let place = ref_names::CHECKPOINT_TAGS.as_bytes();
        let Some(name) =
            ref_names::parse_checkpoint(tag).filter(|_| tag.as_bytes().starts_with(place))
        else {
            continue;
        };
        let goal = ref_names::checkpoint(&name);
        let here = session.repo.find_ref(&goal)?.or_else(|| {
            let planned = planned.iter().find(|(name, _)| *name == goal);
            planned.map(|(_, id)| *id)
        });
        let there = offered.get(&goal).copied();
        let reason = if here != Some(*id) {
            Some("it differs from the one here".to_owned())
        } else if there.is_some_and(|there| there != *id) {
            Some(format!("'{goal}' is another object there"))
        } else {
            None
        };
        if reason.is_none() {
            if there.is_none() {
                changes.push(RefChange { name: goal, old: None, new: Some(*id) });
            }
            changes.push(RefChange { name: tag.clone(), old: Some(*id), new: None });
        }
        told.push(RemoteMove {
            checkpoint_id: format!("checkpoint/{name}"),
            moved: reason.is_none(),
            reason,
        });
    }
    if !session.is_dry() {
        push(remote, &changes, &mut told)?;
    }
    Ok(told)
}

/// Pushes the new refs to the remote, and then deletes the tags of those it accepted.
fn push(remote: &Remote<'_>, changes: &[RefChange], told: &mut [RemoteMove]) -> Result<()> {
    let (new, gone): (Vec<RefChange>, Vec<RefChange>) =
        changes.iter().cloned().partition(|change| change.new.is_some());
    for step in [new, gone] {
        let is_refused = |told: &[RemoteMove], change: &RefChange| {
            let id = id_of(&change.name);
            told.iter().any(|one| one.checkpoint_id == id && !one.moved)
        };
        let step: Vec<_> = step.into_iter().filter(|change| !is_refused(told, change)).collect();
        if step.is_empty() {
            continue;
        }
        for (name, result) in remote.push(&step)? {
            let reason = match result {
                Pushed::Done => continue,
                Pushed::Moved => "it was moved there meanwhile".to_owned(),
                Pushed::Refused(why) => why,
            };
            let id = id_of(&name);
            for one in told.iter_mut().filter(|one| one.checkpoint_id == id) {
                one.moved = false;
                one.reason = Some(reason.clone());
            }
        }
    }
    Ok(())
}

fn id_of(name: &RefName) -> String {
    let name = ref_names::parse_checkpoint(name).unwrap_or_default();
    format!("checkpoint/{name}")
}
