//! Deletes named checkpoints, and moves those that are git tags to the refs of checkpoints. Only
//! refs change, in one operation; it keeps the objects.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::refs::FoundRef;
use crate::git::{Oid, RefChange, Repo};
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

/// A checkpoint that was a git tag.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MovedCheckpoint {
    /// Its id.
    pub checkpoint_id: String,
    /// Its label.
    pub label: String,
    /// The tag object, or the commit of a lightweight tag.
    pub object: Oid,
}

/// A tag that stays where it is.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StayingTag {
    /// Its id as a checkpoint.
    pub checkpoint_id: String,
    /// The reason.
    pub reason: String,
}

/// The planned moves, and the tags that stay.
#[derive(Debug, Default)]
pub struct Moves {
    /// The checkpoints that get a ref of their own.
    pub moved: Vec<MovedCheckpoint>,
    /// The tags that stay.
    pub left: Vec<StayingTag>,
    /// The refs that change.
    pub refs: Vec<RefChange>,
}

/// Plans the moves of the checkpoints that are git tags. With `colony.checkpoint.gitTags` the tags
/// stay.
pub fn plan_moves(session: &Session) -> Result<Moves> {
    let repo = &session.repo;
    let mut moves = Moves::default();
    for tag in repo.refs_below(ref_names::CHECKPOINT_TAGS)? {
        let Some(name) = ref_names::parse_checkpoint(&tag.name) else {
            continue;
        };
        let checkpoint_id = format!("checkpoint/{name}");
        let goal = ref_names::checkpoint(&name);
        let there = repo.find_ref(&goal)?;
        let reason = if repo.peel_to_commit(tag.id).is_none() {
            Some("it does not name a commit".to_owned())
        } else if !is_own(repo, &tag) {
            Some("git-colony did not create it".to_owned())
        } else if there.is_some_and(|there| there != tag.id) {
            Some("another object has that name; 'git tag -d' deletes this one".to_owned())
        } else {
            None
        };
        if let Some(reason) = reason {
            moves.left.push(StayingTag { checkpoint_id, reason });
            continue;
        }
        let keeps_tag = session.settings.checkpoint_git_tags;
        if there.is_some() && keeps_tag {
            continue;
        }
        if there.is_none() {
            moves.refs.push(change(goal, None, Some(tag.id)));
        }
        if !keeps_tag {
            moves.refs.push(change(tag.name, Some(tag.id), None));
        }
        moves.moved.push(MovedCheckpoint {
            label: checkpoint_names::find(repo, &checkpoint_id)?.label,
            checkpoint_id,
            object: tag.id,
        });
    }
    Ok(moves)
}

/// Returns `true` if git-colony made a checkpoint: a tag of a person may have the name of one.
pub fn is_own(repo: &Repo, found: &FoundRef) -> bool {
    let in_our_place = found.name.as_bytes().starts_with(ref_names::CHECKPOINTS.as_bytes());
    let is_ours = |message: &[u8]| TagMessage::is_ours(&String::from_utf8_lossy(message));
    in_our_place || repo.find_tag(found.id).is_some_and(|tag| is_ours(&tag.message))
}

fn change(name: crate::git::RefName, old: Option<Oid>, new: Option<Oid>) -> RefChange {
    RefChange { name, old, new }
}

/// Moves the checkpoints that are git tags, in one operation, and returns the moves; an empty list
/// if there are none. Holds their large files before a tag is deleted.
pub fn move_tags(session: &Session) -> Result<(Moves, Option<OperationId>)> {
    let seen = plan_moves(session)?;
    if seen.refs.is_empty() {
        return Ok((seen, None));
    }
    let operation = begin(session, Kind::MoveTags)?;
    // Another command may have moved some before it released the lock.
    let moves = plan_moves(session)?;
    if moves.refs.is_empty() {
        return Ok((moves, None));
    }
    let summary =
        format!("move {} out of the tags of git", text::count(moves.moved.len(), "checkpoint"));
    let op = commit(session, operation, summary, moves.refs.clone())?;
    Ok((moves, Some(op)))
}

/// Finds named checkpoints to delete.
pub fn find_named(repo: &Repo, names: &[String]) -> Result<Vec<Checkpoint>> {
    let mut found: Vec<Checkpoint> = Vec::new();
    for name in names {
        let checkpoint = checkpoint_names::find(repo, name)?;
        if !checkpoint.checkpoint_id.starts_with("checkpoint/") {
            return Err(Error::new(
                Code::InvalidValue,
                format!("'{name}' is not a checkpoint that is deleted by name"),
            ).unchanged()
            .hint("git colony prune   # deletes old automatic checkpoints; those of an agent go with its clone"));
        }
        let is_known = |known: &Checkpoint| known.checkpoint_id == checkpoint.checkpoint_id;
        if !found.iter().any(is_known) {
            found.push(checkpoint);
        }
    }
    Ok(found)
}

/// Returns the refs of a checkpoint, in both places, with what they hold.
pub fn refs_of(repo: &Repo, checkpoint: &Checkpoint) -> Result<Vec<RefChange>> {
    let id = &checkpoint.checkpoint_id;
    let name = id.strip_prefix("checkpoint/").unwrap_or(id);
    let mut refs = Vec::new();
    for name in [ref_names::checkpoint(name), ref_names::checkpoint_tag(name)] {
        if let Some(old) = repo.find_ref(&name)? {
            refs.push(change(name, Some(old), None));
        }
    }
    Ok(refs)
}

/// Deletes checkpoints, in one operation that undo can undo.
pub fn delete(session: &Session, checkpoints: &[Checkpoint]) -> Result<OperationId> {
    let operation = begin(session, Kind::CheckpointDelete)?;
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
        [one] => format!("delete checkpoint '{}'", one.label),
        several => format!("delete {}", text::count(several.len(), "checkpoint")),
    };
    commit(session, operation, summary, refs)
}

fn begin(session: &Session, kind: Kind) -> Result<Operation<'_>> {
    let intent = Intent { kind, touches: Touches::Refs };
    Operation::begin(session, intent)
}

fn commit(
    session: &Session,
    operation: Operation<'_>,
    summary: String,
    refs: Vec<RefChange>,
) -> Result<OperationId> {
    let tags = refs.iter().filter_map(|change| change.old.or(change.new));
    retained_objects::hold_checkpoints(session, &tags.collect::<Vec<_>>())?;
    let done = operation.commit(Plan::of_refs(session, summary, refs)?)?;
    Ok(done.record.op)
}
