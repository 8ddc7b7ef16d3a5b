//! Lists checkpoints, in order.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::refs::FoundRef;
use crate::git::{Oid, RefName, Repo};
use crate::model::Result;
use crate::model::id::{OperationId, SessionId, WorktreeKey};
use crate::model::time::{self, Moment};
use crate::store::operation::SubmoduleSnapshot;
use crate::store::refs::ref_names;

use super::damaged_checkpoint::DamagedCheckpoint;
use super::left_out::LeftOut;
use super::tag_message::{Mode, TagMessage};

/// A checkpoint as it is listed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Checkpoint {
    /// `checkpoint/<time>-<8 hex>` or `auto/<time>-<8 hex>`.
    pub checkpoint_id: String,
    /// The short name of its ref, as plain git prints it.
    #[serde(rename = "ref")]
    pub git_ref: String,
    /// The commit.
    pub sha: Oid,
    /// Its label.
    pub label: String,
    /// Why it was made.
    pub rationale: String,
    /// Who made it.
    pub author: String,
    /// When, RFC 3339 UTC.
    pub created_at: String,
    /// How it relates to the branch.
    pub mode: Mode,
    /// The branch that was checked out.
    pub branch: Option<String>,
    /// The session of the agent that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The agent that has published it; absent for one of this repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The paths that were left out.
    pub left_out: Vec<LeftOut>,
    /// The states of submodules with edits inside, which their own repositories keep.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub submodules: Vec<SubmoduleSnapshot>,
    /// HEAD when it was made, for one off the branch.
    #[serde(skip)]
    pub base: Option<Oid>,
    #[serde(skip)]
    pub(super) moment: Option<Moment>,
    #[serde(skip)]
    operation: Option<(WorktreeKey, OperationId)>,
}

/// Every checkpoint of a kind.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// Those that can be restored, oldest first.
    pub sound: Vec<Checkpoint>,
    /// Those that cannot be restored, by name.
    pub damaged: Vec<DamagedCheckpoint>,
}

/// Which checkpoints are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointKind {
    /// Those that were made on request.
    Named,
    /// The automatic ones, of every worktree.
    Automatic,
}

/// Lists checkpoints. Within one worktree the order is that of its log, whatever the clock said.
pub fn list(repo: &Repo, which: CheckpointKind) -> Result<Listed> {
    let mut all: Vec<FoundRef> = Vec::new();
    for place in places_of(which) {
        let known: BTreeSet<(String, Oid)> = all.iter().map(identity).collect();
        let below = repo.refs_below(place)?.into_iter();
        // A checkpoint with refs in both places is one checkpoint, unless the objects differ.
        all.extend(below.filter(|reference| !known.contains(&identity(reference))));
    }
    let mut listed = Listed::default();
    for reference in all {
        match read(repo, &reference, which) {
            Ok(checkpoint) => listed.sound.push(checkpoint),
            Err(reason) => listed.damaged.push(DamagedCheckpoint {
                checkpoint_id: id_of(&reference.name, which),
                name: reference.name,
                reason,
            }),
        }
    }
    listed.sound = in_order(listed.sound);
    Ok(listed)
}

/// Lists the checkpoints of a session, automatic ones too, oldest first: by its id or the beginning of it.
pub fn list_of_session(repo: &Repo, name: &str) -> Result<Listed> {
    let mut listed = list(repo, CheckpointKind::Named)?;
    listed.sound.extend(list(repo, CheckpointKind::Automatic)?.sound);
    let id = |checkpoint: &Checkpoint| Some(checkpoint.session.as_ref()?.as_str().to_owned());
    let is_whole =
        listed.sound.iter().any(|checkpoint| id(checkpoint).is_some_and(|id| id == name));
    listed.sound.retain(|checkpoint| {
        id(checkpoint)
            .is_some_and(|id| id == name || !is_whole && !name.is_empty() && id.starts_with(name))
    });
    listed.sound.sort_by_key(|checkpoint| checkpoint.moment);
    Ok(listed)
}

/// Returns the key by which two refs are one checkpoint.
pub(in crate::design) fn identity(reference: &FoundRef) -> (String, Oid) {
    (last_part(&reference.name), reference.id)
}

/// Reads at most `limit` checkpoints, newest first by the time in their names; does not open the
/// others.
pub fn newest(repo: &Repo, which: CheckpointKind, limit: usize) -> Vec<Checkpoint> {
    let mut names = names_in(repo, which);
    names.sort_by_key(|name| std::cmp::Reverse(last_part(name)));
    names.dedup_by_key(|name| last_part(name));
    let read = |name: RefName| {
        let id = repo.find_ref(&name).ok().flatten()?;
        read(repo, &FoundRef { name, id }, which).ok()
    };
    names.into_iter().take(limit).filter_map(read).collect()
}

/// Returns when the newest checkpoint of any kind was made, by the time in its name; only the
/// automatic ones of the given worktree count. Opens no object.
pub fn newest_moment(repo: &Repo, key: Option<&WorktreeKey>) -> Option<Moment> {
    let automatic = key.map(|key| repo.ref_names_below(&ref_names::automatic_of(key)));
    let names =
        names_in(repo, CheckpointKind::Named).into_iter().chain(automatic.into_iter().flatten());
    let moment = |name: &RefName| time::parse_compact(last_part(name).split('-').next()?);
    names.filter_map(|name| moment(&name)).max()
}

/// Returns the ref names of checkpoints, for named ones of both places; opens none.
pub fn names_in(repo: &Repo, which: CheckpointKind) -> Vec<RefName> {
    let places = places_of(which).iter();
    places.flat_map(|place| repo.ref_names_below(place)).collect()
}

fn places_of(which: CheckpointKind) -> &'static [&'static str] {
    match which {
        CheckpointKind::Named => &ref_names::CHECKPOINT_PLACES,
        CheckpointKind::Automatic => &[ref_names::AUTOMATIC],
    }
}

fn last_part(name: &RefName) -> String {
    let name = name.to_string();
    name.rsplit('/').next().unwrap_or_default().to_owned()
}

/// Reads a checkpoint, or returns why it is damaged.
pub(in crate::design) fn read(
    repo: &Repo,
    reference: &FoundRef,
    which: CheckpointKind,
) -> Result<Checkpoint, String> {
    let sha = repo.peel(reference.id).map_err(|flaw| flaw.to_string())?;
    let commit = repo.read_commit(sha).map_err(|error| error.message())?;
    let checkpoint_id = id_of(&reference.name, which);
    let tag = repo.find_tag(reference.id);
    let message = match &tag {
        Some(tag) => TagMessage::of(&tag.message),
        // A lightweight tag made by hand.
        None => TagMessage::read(checkpoint_id.trim_start_matches("checkpoint/")),
    };
    let tagger = tag.and_then(|tag| tag.tagger).unwrap_or(commit.committer);
    let moment = tagger.moment();
    let label = if message.label.is_empty()
        && which == CheckpointKind::Named
        && message.operation.is_none()
    {
        checkpoint_id.clone()
    } else {
        message.label
    };
    Ok(Checkpoint {
        git_ref: reference.name.to_string().replacen("refs/", "", 1),
        checkpoint_id,
        sha,
        label,
        rationale: message.rationale,
        author: format!("{} <{}>", tagger.name, tagger.email),
        created_at: moment.as_ref().map(time::rfc3339).unwrap_or_default(),
        mode: message.mode,
        branch: message.branch,
        session: message.session,
        agent: None,
        left_out: message.left_out,
        submodules: message.submodules,
        base: message.base,
        moment,
        operation: message.operation,
    })
}

fn id_of(name: &RefName, which: CheckpointKind) -> String {
    match which {
        CheckpointKind::Named => {
            let of_place = ref_names::parse_checkpoint(name);
            format!("checkpoint/{}", of_place.unwrap_or_default())
        }
        CheckpointKind::Automatic => format!("auto/{}", last_part(name)),
    }
}

/// Merges the logs of all worktrees by time without reordering any of them.
pub(in crate::design) fn in_order(checkpoints: Vec<Checkpoint>) -> Vec<Checkpoint> {
    let mut groups: BTreeMap<Option<WorktreeKey>, Vec<Checkpoint>> = BTreeMap::new();
    for checkpoint in checkpoints {
        let key = checkpoint.operation.as_ref().map(|(key, _)| key.clone());
        groups.entry(key).or_default().push(checkpoint);
    }
    let mut queues: Vec<std::collections::VecDeque<Checkpoint>> = Vec::new();
    for (_, mut group) in groups {
        group.sort_by(|a, b| {
            let key = |c: &Checkpoint| {
                (c.operation.as_ref().map(|(_, id)| *id), c.moment, c.checkpoint_id.clone())
            };
            key(a).cmp(&key(b))
        });
        queues.push(group.into());
    }
    let mut ordered = Vec::new();
    loop {
        let heads = queues.iter_mut().filter(|queue| !queue.is_empty());
        let next =
            heads.min_by_key(|queue| queue.front().map(|c| (c.moment, c.checkpoint_id.clone())));
        match next.and_then(std::collections::VecDeque::pop_front) {
            Some(checkpoint) => ordered.push(checkpoint),
            None => return ordered,
        }
    }
}

/// Returns the tree of the newest checkpoint of any kind, by the time in its name; `None` if it is
/// damaged.
pub fn newest_tree(repo: &Repo, key: &WorktreeKey) -> Result<Option<Oid>> {
    let commit = newest_of(repo, key)?.and_then(|id| repo.peel_to_commit(id));
    // A damaged checkpoint equals no state.
    Ok(commit.and_then(|commit| repo.tree_of(Some(commit)).ok()))
}

/// Returns the states of submodules that the newest checkpoint names.
pub(in crate::design) fn newest_submodules(
    repo: &Repo,
    key: &WorktreeKey,
) -> Result<Vec<SubmoduleSnapshot>> {
    let tag = newest_of(repo, key)?.and_then(|id| repo.find_tag(id));
    let message = tag.map(|tag| TagMessage::of(&tag.message));
    Ok(message.map(|message| message.submodules).unwrap_or_default())
}

/// Returns the tag of the newest checkpoint of any kind, by the time in its name.
fn newest_of(repo: &Repo, key: &WorktreeKey) -> Result<Option<Oid>> {
    let mut newest: Option<(String, Oid)> = None;
    let automatic = ref_names::automatic_of(key);
    for place in [&ref_names::CHECKPOINT_PLACES[..], &[automatic.as_str()]].concat() {
        if let Some(last) = repo.refs_below(place)?.pop() {
            let name = last_part(&last.name);
            if newest.as_ref().is_none_or(|(known, _)| *known < name) {
                newest = Some((name, last.id));
            }
        }
    }
    Ok(newest.map(|(_, id)| id))
}
