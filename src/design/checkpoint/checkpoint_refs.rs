//! Deletes named checkpoints. Only refs change, in one operation; it keeps the objects.

use crate::git::refs::FoundRef;
use crate::git::{RefChange, Repo};
use crate::model::id::OperationId;
use crate::model::{Code, Error, Result, text};
use crate::store::Session;
use crate::store::large_files::retained_objects;
use crate::store::operation::plan::{Intent, Plan, Touches};
use crate::store::operation::{Kind, Operation};
use crate::store::refs::ref_names;

use super::checkpoint_names;
use super::checkpoints::Checkpoint;
use super::tag_message::TagMessage;

/// Returns `true` if git-colony made a checkpoint: a tag of a person may have the name of one.
pub fn is_own(repo: &Repo, reference: &FoundRef) -> bool {
    let in_our_place = reference.name.as_bytes().starts_with(ref_names::CHECKPOINTS.as_bytes());
    let is_ours = |message: &[u8]| TagMessage::is_ours(&String::from_utf8_lossy(message));
    in_our_place || repo.find_tag(reference.id).is_some_and(|tag| is_ours(&tag.message))
}

/// Finds named checkpoints to delete.
pub fn find_named(repo: &Repo, names: &[String]) -> Result<Vec<Checkpoint>> {
    let mut checkpoints: Vec<Checkpoint> = Vec::new();
    for name in names {
        let checkpoint = checkpoint_names::find(repo, name)?;
        if !checkpoint.checkpoint_id.starts_with("checkpoint/") {
            return Err(Error::new(
                Code::InvalidValue,
                format!("'{name}' is not a checkpoint that is deleted by name"),
            )
            .unchanged()
            .hint("git colony prune   # deletes automatic ones; an agent's go with its clone"));
        }
        let is_known = |known: &Checkpoint| known.checkpoint_id == checkpoint.checkpoint_id;
        if !checkpoints.iter().any(is_known) {
            checkpoints.push(checkpoint);
        }
    }
    Ok(checkpoints)
}

/// Returns the refs of a checkpoint, in both places, with what they hold.
pub fn refs_of(repo: &Repo, checkpoint: &Checkpoint) -> Result<Vec<RefChange>> {
    let id = &checkpoint.checkpoint_id;
    let name = id.strip_prefix("checkpoint/").unwrap_or(id);
    let mut refs = Vec::new();
    for name in [ref_names::checkpoint(name), ref_names::checkpoint_tag(name)] {
        if let Some(old) = repo.find_ref(&name)? {
            refs.push(RefChange { name, old: Some(old), new: None });
        }
    }
    Ok(refs)
}

/// Deletes checkpoints, in one operation that undo can undo.
pub fn delete(session: &Session, checkpoints: &[Checkpoint]) -> Result<OperationId> {
    let intent = Intent { kind: Kind::CheckpointDelete, touches: Touches::Refs };
    let operation = Operation::begin(session, intent)?;
    let mut refs = Vec::new();
    for checkpoint in checkpoints {
        refs.extend(refs_of(&session.repo, checkpoint)?);
    }
    if refs.is_empty() {
        return Err(Error::new(
            Code::CheckpointNotFound,
            "another command has deleted these checkpoints already",
        )
        .unchanged());
    }
    let summary = match checkpoints {
        [checkpoint] => format!("delete checkpoint '{}'", checkpoint.label),
        several => format!("delete {}", text::count(several.len(), "checkpoint")),
    };
    let tags = refs.iter().filter_map(|change| change.old);
    retained_objects::hold_checkpoints(session, &tags.collect::<Vec<_>>())?;
    let done = operation.commit(Plan::of_refs(session, summary, refs)?)?;
    Ok(done.record.op)
}
