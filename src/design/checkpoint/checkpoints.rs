//! Lists checkpoints and finds one by the names that a person uses.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::refs::FoundRef;
use crate::git::{Oid, RefName, Repo};
use crate::model::id::{OperationId, SessionId, WorktreeKey};
use crate::model::text::nearest;
use crate::model::time::{self, Moment};
use crate::model::{Code, Error, Result};
use crate::store::refs::ref_names;

use super::damaged_checkpoint::DamagedCheckpoint;
use super::left_out::LeftOut;
use super::published_checkpoints;
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
    /// HEAD when it was made, for one off the branch.
    #[serde(skip)]
    pub base: Option<Oid>,
    #[serde(skip)]
    moment: Option<Moment>,
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
pub enum Which {
    /// Those that were made on request.
    Named,
    /// The automatic ones, of every worktree.
    Automatic,
}

/// Lists checkpoints. Within one worktree the order is that of its log, whatever the clock said.
///
/// # Errors
/// `repository-broken` when refs cannot be listed.
pub fn list(repo: &Repo, which: Which) -> Result<Listed> {
    let mut all: Vec<FoundRef> = Vec::new();
    for place in places_of(which) {
        let known: BTreeSet<(String, Oid)> = all.iter().map(identity).collect();
        let below = repo.refs_below(place)?.into_iter();
        // A checkpoint with refs in both places is one checkpoint, unless the objects differ.
        all.extend(below.filter(|found| !known.contains(&identity(found))));
    }
    let mut listed = Listed::default();
    for found in all {
        match read(repo, &found, which) {
            Ok(checkpoint) => listed.sound.push(checkpoint),
            Err(reason) => listed.damaged.push(DamagedCheckpoint {
                checkpoint_id: id_of(&found.name, which),
                name: found.name,
                reason,
            }),
        }
    }
    listed.sound = in_order(listed.sound);
    Ok(listed)
}

/// Lists the checkpoints of a session, automatic ones too, oldest first: by its id or the beginning of it.
///
/// # Errors
/// As [`list`].
pub fn list_of_session(repo: &Repo, name: &str) -> Result<Listed> {
    let mut listed = list(repo, Which::Named)?;
    listed.sound.extend(list(repo, Which::Automatic)?.sound);
    let id = |one: &Checkpoint| Some(one.session.as_ref()?.as_str().to_owned());
    let is_whole = listed
        .sound
        .iter()
        .any(|one| id(one).is_some_and(|id| id == name));
    listed.sound.retain(|one| {
        id(one)
            .is_some_and(|id| id == name || !is_whole && !name.is_empty() && id.starts_with(name))
    });
    listed.sound.sort_by_key(|one| one.moment);
    Ok(listed)
}

/// Returns the key by which two refs are one checkpoint.
pub(in crate::design) fn identity(found: &FoundRef) -> (String, Oid) {
    (last_part(&found.name), found.id)
}

/// Reads at most `limit` checkpoints, newest first by the time in their names; does not open the
/// others.
pub fn newest(repo: &Repo, which: Which, limit: usize) -> Vec<Checkpoint> {
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
    let names = names_in(repo, Which::Named)
        .into_iter()
        .chain(automatic.into_iter().flatten());
    let moment = |name: &RefName| time::parse_compact(last_part(name).split('-').next()?);
    names.filter_map(|name| moment(&name)).max()
}

/// Returns the ref names of checkpoints, for named ones of both places; opens none.
pub fn names_in(repo: &Repo, which: Which) -> Vec<RefName> {
    let places = places_of(which).iter();
    places
        .flat_map(|place| repo.ref_names_below(place))
        .collect()
}

fn places_of(which: Which) -> &'static [&'static str] {
    match which {
        Which::Named => &ref_names::CHECKPOINT_PLACES,
        Which::Automatic => &[ref_names::AUTOMATIC],
    }
}

fn last_part(name: &RefName) -> String {
    let name = name.to_string();
    name.rsplit('/').next().unwrap_or_default().to_owned()
}

/// Reads a checkpoint, or returns why it is damaged.
pub(in crate::design) fn read(
    repo: &Repo,
    found: &FoundRef,
    which: Which,
) -> Result<Checkpoint, String> {
    let sha = repo.peel(found.id).map_err(|flaw| flaw.to_string())?;
    let commit = repo.read_commit(sha).map_err(|error| error.message())?;
    let checkpoint_id = id_of(&found.name, which);
    let tag = repo.find_tag(found.id);
    let message = match &tag {
        Some(tag) => TagMessage::read(&String::from_utf8_lossy(&tag.message)),
        // A lightweight tag made by hand.
        None => TagMessage::read(checkpoint_id.trim_start_matches("checkpoint/")),
    };
    let tagger = tag.and_then(|tag| tag.tagger).unwrap_or(commit.committer);
    let moment = tagger.moment();
    let label = if message.label.is_empty() && which == Which::Named && message.operation.is_none()
    {
        checkpoint_id.clone()
    } else {
        message.label
    };
    Ok(Checkpoint {
        git_ref: found.name.to_string().replacen("refs/", "", 1),
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
        base: message.base,
        moment,
        operation: message.operation,
    })
}

fn id_of(name: &RefName, which: Which) -> String {
    match which {
        Which::Named => {
            let of_place = ref_names::parse_checkpoint(name);
            format!("checkpoint/{}", of_place.unwrap_or_default())
        }
        Which::Automatic => format!("auto/{}", last_part(name)),
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
                (
                    c.operation.as_ref().map(|(_, id)| *id),
                    c.moment,
                    c.checkpoint_id.clone(),
                )
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

/// Finds a checkpoint by id, label, a unique prefix of either, `@{n}` or `auto@{n}`; one that an
/// agent has published by `<agent>/` and one of the first three.
///
/// # Errors
/// `checkpoint-not-found`; `checkpoint-ambiguous` with the ids that match; `repository-broken` for
/// a damaged one.
pub fn find(repo: &Repo, name: &str) -> Result<Checkpoint> {
    if let Some((which, back)) = parse_position(name) {
        let mut all = list(repo, which)?.sound;
        let count = all.len();
        return match count.checked_sub(back + 1).filter(|at| *at < count) {
            Some(at) => Ok(all.swap_remove(at)),
            None if which == Which::Automatic => {
                Err(not_found(name).hint("git colony checkpoints --auto"))
            }
            None => Err(not_found(name)),
        };
    }
    let (named, automatic) = (list(repo, Which::Named)?, list(repo, Which::Automatic)?);
    let damaged = named
        .damaged
        .iter()
        .chain(&automatic.damaged)
        .find(|checkpoint| fits(&checkpoint.checkpoint_id, name));
    let all = [named.sound, automatic.sound].concat();
    if let Some(found) = pick(&all, name)? {
        return Ok(found);
    }
    if let Some(damaged) = damaged {
        return Err(damaged.refusal());
    }
    if let Some(found) = published_checkpoints::find(repo, name)? {
        return Ok(found);
    }
    if all.is_empty() && !repo.remote_names().is_empty() {
        let hint = "git colony sync --fetch   # fetches the checkpoints of the remote";
        return Err(not_found(name).hint(hint));
    }
    let is_revision = is_plain(name) && repo.resolve_commit(name).is_ok();
    Err(if is_revision {
        let hint = format!(
            "git colony tag -m 'as of {name}' {name}   # makes a checkpoint of that commit"
        );
        not_found(name).hint(hint)
    } else {
        match nearest(name, all.iter().map(|one| one.label.as_str())) {
            Some(label) => not_found(name).detail("nearest", label),
            None => not_found(name),
        }
    })
}

/// Returns `true` if a checkpoint has exactly this name: its id, a part of that, or its label.
///
/// # Errors
/// `repository-broken`.
pub fn is_whole_name(repo: &Repo, name: &str) -> Result<bool> {
    let [named, automatic] = [list(repo, Which::Named)?, list(repo, Which::Automatic)?];
    let mut all = named.sound.iter().chain(&automatic.sound);
    Ok(all.any(|checkpoint| checkpoint.is_named_fully(name)))
}

/// Finds the checkpoint that a name stands for.
pub(in crate::design) fn pick(all: &[Checkpoint], name: &str) -> Result<Option<Checkpoint>> {
    let short = |c: &Checkpoint| c.checkpoint_id.split_once('/').map(|(_, id)| id.to_owned());
    let tests: [&dyn Fn(&Checkpoint) -> bool; 4] = [
        &|c| c.checkpoint_id == name || short(c).as_deref() == Some(name),
        &|c| c.label == name,
        &|c| c.checkpoint_id.rsplit('-').next() == Some(name),
        &|c| {
            let by_id = fits(&c.checkpoint_id, name);
            by_id || c.label.starts_with(name)
        },
    ];
    for test in tests.into_iter().take(if name.is_empty() { 2 } else { 4 }) {
        let mut fitting: Vec<_> = all.iter().filter(|c| test(c)).cloned().collect();
        if fitting.len() > 1 {
            return Err(ambiguous(name, &fitting));
        }
        if let Some(only) = fitting.pop() {
            return Ok(Some(only));
        }
    }
    Ok(None)
}

impl Checkpoint {
    /// Returns `true` if the name is its whole id, one of the two parts of that, its label, or its
    /// place in the list.
    pub fn is_named_fully(&self, name: &str) -> bool {
        let tail = self.checkpoint_id.rsplit('-').next();
        let is_whole = |id: &str, name: &str| {
            let short = id.split_once('/').map(|(_, short)| short);
            id == name || short == Some(name) || self.label == name || tail == Some(name)
        };
        // The name of a published checkpoint begins with the agent.
        let of_agent = name.split_once('/').is_some_and(|(agent, rest)| {
            let id = self
                .checkpoint_id
                .strip_prefix(agent)
                .and_then(|id| id.strip_prefix('/'));
            id.is_some_and(|id| is_whole(id, rest))
        });
        parse_position(name).is_some() || is_whole(&self.checkpoint_id, name) || of_agent
    }
}

/// Returns `true` if an id, or a part of it, begins with a name.
fn fits(id: &str, name: &str) -> bool {
    let short = id.split_once('/').map_or("", |(_, short)| short);
    let tail = id.rsplit('-').next().unwrap_or_default();
    name.len() >= MIN_PREFIX && [id, short, tail].iter().any(|id| id.starts_with(name))
}

fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./-@~^".contains(c);
    !name.starts_with('-') && !name.is_empty() && name.chars().all(plain)
}

/// Returns what else a label would name, so that it could not name its checkpoint.
pub(in crate::design) fn mistaken_for(label: &str) -> Option<&'static str> {
    let position = label.strip_prefix("auto").unwrap_or(label);
    if label.trim().is_empty() {
        Some("nothing")
    } else if label.starts_with("op-") && OperationId::parse(label).is_some() {
        Some("an operation")
    } else if position.starts_with("@{") && position.ends_with('}') {
        Some("a position in the list")
    } else {
        None
    }
}

/// The minimum length of a prefix of an id.
const MIN_PREFIX: usize = 4;

fn parse_position(name: &str) -> Option<(Which, usize)> {
    let (which, rest) = match name.strip_prefix("auto") {
        Some(rest) => (Which::Automatic, rest),
        None => (Which::Named, name),
    };
    let digits = rest.strip_prefix("@{")?.strip_suffix('}')?;
    Some((which, digits.parse().ok()?))
}

fn not_found(name: &str) -> Error {
    Error::new(
        Code::CheckpointNotFound,
        format!("no checkpoint or revision is named '{name}'"),
    )
    .detail("name", name)
}

fn ambiguous(name: &str, fitting: &[Checkpoint]) -> Error {
    // Within a second the order of the list decides which is newer.
    let mut fitting: Vec<_> = fitting.iter().rev().collect();
    fitting.sort_by_key(|checkpoint| std::cmp::Reverse(checkpoint.moment));
    let of_one_id = fitting
        .windows(2)
        .all(|pair| matches!(pair, [a, b] if a.checkpoint_id == b.checkpoint_id));
    if of_one_id {
        return two_objects(name, &fitting);
    }
    let ids: Vec<_> = fitting.iter().map(|c| c.checkpoint_id.as_str()).collect();
    let newest = ids.first().copied().unwrap_or_default();
    let shown: Vec<&str> = ids.iter().take(5).copied().collect();
    let message = format!(
        "{} checkpoints fit '{name}', the newest first: {}",
        ids.len(),
        shown.join(", ")
    );
    Error::new(Code::CheckpointAmbiguous, message)
        .detail("name", name)
        .detail("candidates", &ids)
        .hint(format!(
            "git colony checkpoints show {newest}   # the newest of them"
        ))
}

/// Makes the error for an id whose refs in the two places hold different objects.
fn two_objects(name: &str, fitting: &[&Checkpoint]) -> Error {
    let refs: Vec<_> = fitting.iter().map(|c| c.git_ref.as_str()).collect();
    Error::new(
        Code::CheckpointAmbiguous,
        format!(
            "'{name}' is two different checkpoints: {}",
            refs.join(" and ")
        ),
    )
    .detail("name", name)
    .detail("candidates", &refs)
    .hint(format!(
        "git show {}   # and the other one; 'git update-ref -d' deletes the wrong one",
        refs.join(" ")
    ))
}

/// Returns the tree of the newest checkpoint of any kind, by the time in its name; `None` if it is
/// damaged.
///
/// # Errors
/// `repository-broken`.
pub fn newest_tree(repo: &Repo, key: &WorktreeKey) -> Result<Option<Oid>> {
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
    let commit = newest.and_then(|(_, id)| repo.peel_to_commit(id));
    // A damaged checkpoint equals no state.
    Ok(commit.and_then(|commit| repo.tree_of(Some(commit)).ok()))
}
