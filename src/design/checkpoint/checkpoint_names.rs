//! Finds a checkpoint by the names that a person uses: id, label, a prefix of either, a place in the list.

use crate::git::Repo;
use crate::model::id::OperationId;
use crate::model::text::nearest;
use crate::model::{Code, Error, Result, time};

use super::checkpoints::{Checkpoint, CheckpointKind, list};
use super::{deleted_names, published_checkpoints};

/// Finds a checkpoint by id, label, a unique prefix of either, `@{n}` or `auto@{n}`; one that an
/// agent has published by `<agent>/` and one of the first three.
pub fn find(repo: &Repo, name: &str) -> Result<Checkpoint> {
    if let Some((which, back)) = parse_position(name) {
        let mut all = list(repo, which)?.sound;
        let count = all.len();
        return match count.checked_sub(back + 1).filter(|at| *at < count) {
            Some(at) => Ok(all.swap_remove(at)),
            None if which == CheckpointKind::Automatic => {
                Err(not_found(name).hint("git colony checkpoints --auto"))
            }
            None => Err(not_found(name)),
        };
    }
    let (named, automatic) =
        (list(repo, CheckpointKind::Named)?, list(repo, CheckpointKind::Automatic)?);
    let damaged = named
        .damaged
        .iter()
        .chain(&automatic.damaged)
        .find(|checkpoint| fits(&checkpoint.checkpoint_id, name));
    let all = [named.sound, automatic.sound].concat();
    if let Some(checkpoint) = only(name, fitting(&all, name))? {
        return Ok(checkpoint);
    }
    if let Some(damaged) = damaged {
        return Err(damaged.refusal());
    }
    if let Some(checkpoint) = published_checkpoints::find(repo, name)? {
        return Ok(checkpoint);
    }
    if let Some(deleted) = deleted_names::explain(repo, name) {
        return Err(deleted);
    }
    if all.is_empty() && !repo.remote_names().is_empty() {
        let hint = "git colony sync --fetch   # fetches the checkpoints of the remote";
        return Err(not_found(name).hint(hint));
    }
    let is_revision = is_plain(name) && repo.resolve_commit(name).is_ok();
    Err(if is_revision {
        let hint = format!("git colony checkpoints tag -m 'as of {name}' {name}   # makes one");
        not_found(name).hint(hint)
    } else {
        match nearest(name, all.iter().map(|checkpoint| checkpoint.label.as_str())) {
            Some(label) => not_found(name).detail("nearest", label),
            None => not_found(name),
        }
    })
}

/// Returns `true` for a place in the list, `@{2}` or `auto@{0}`.
pub(in crate::design) fn is_position(name: &str) -> bool {
    parse_position(name).is_some()
}

/// Finds the checkpoint with a whole id, with or without `checkpoint/` and `auto/`; `None` for any other name, also for a
/// label that looks like one: a remote may have written it.
pub(in crate::design) fn of_whole_id(repo: &Repo, name: &str) -> Result<Option<Checkpoint>> {
    let short = name.strip_prefix("checkpoint/").or_else(|| name.strip_prefix("auto/"));
    let time = short.unwrap_or(name).rsplit_once('-').map(|(time, _)| time);
    if time.and_then(time::parse_compact).is_none() {
        return Ok(None);
    }
    let is_it = |id: &str| id == name || id.split_once('/').is_some_and(|(_, short)| short == name);
    let [named, automatic] =
        [list(repo, CheckpointKind::Named)?, list(repo, CheckpointKind::Automatic)?];
    let mut fitting = [named.sound, automatic.sound].concat();
    fitting.retain(|checkpoint| is_it(&checkpoint.checkpoint_id));
    let found = only(name, fitting)?;
    let mut damaged = named.damaged.iter().chain(&automatic.damaged);
    match damaged.find(|checkpoint| is_it(&checkpoint.checkpoint_id)) {
        Some(damaged) if found.is_none() => Err(damaged.refusal()),
        _ => Ok(found),
    }
}

/// Finds the checkpoints with exactly this name, the newest first: their id, a part of that, or their label.
pub(in crate::design) fn of_whole_name(repo: &Repo, name: &str) -> Result<Vec<Checkpoint>> {
    let [named, automatic] =
        [list(repo, CheckpointKind::Named)?, list(repo, CheckpointKind::Automatic)?];
    let published = published_checkpoints::of_agent_in(repo, name)?;
    let all = named.sound.into_iter().chain(automatic.sound).chain(published);
    let mut fitting: Vec<_> = all.filter(|checkpoint| checkpoint.is_named_fully(name)).collect();
    put_newest_first(&mut fitting);
    Ok(fitting)
}

/// Returns the checkpoint that fits a name; refuses several.
pub(in crate::design) fn only(
    name: &str,
    mut fitting: Vec<Checkpoint>,
) -> Result<Option<Checkpoint>> {
    if fitting.len() > 1 {
        return Err(ambiguous(name, &fitting));
    }
    Ok(fitting.pop())
}

/// Lists the checkpoints that a name may stand for.
pub(in crate::design) fn fitting(all: &[Checkpoint], name: &str) -> Vec<Checkpoint> {
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
    let count = if name.is_empty() { 2 } else { 4 };
    let ways = tests.into_iter().take(count).map(|test| all.iter().filter(|c| test(c)).cloned());
    ways.map(Iterator::collect::<Vec<_>>).find(|way| !way.is_empty()).unwrap_or_default()
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
            let id = self.checkpoint_id.strip_prefix(agent).and_then(|id| id.strip_prefix('/'));
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
    } else if OperationId::of_name(label).is_some() {
        Some("an operation")
    } else if position.starts_with("@{") && position.ends_with('}') {
        Some("a position in the list")
    } else if is_counted_from_head(label) {
        Some("a commit")
    } else if label.ends_with('@') {
        Some("the working tree of an agent")
    } else {
        None
    }
}

/// Returns `true` for HEAD, and for a commit counted from it, as git writes them.
pub(in crate::design) fn is_counted_from_head(name: &str) -> bool {
    let rest = name.strip_prefix("HEAD").or_else(|| name.strip_prefix('@'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['~', '^', '@']))
}

/// The minimum length of a prefix of an id.
const MIN_PREFIX: usize = 4;

fn parse_position(name: &str) -> Option<(CheckpointKind, usize)> {
    let (which, rest) = match name.strip_prefix("auto") {
        Some(rest) => (CheckpointKind::Automatic, rest),
        None => (CheckpointKind::Named, name),
    };
    let digits = rest.strip_prefix("@{")?.strip_suffix('}')?;
    Some((which, digits.parse().ok()?))
}

fn not_found(name: &str) -> Error {
    Error::new(Code::CheckpointNotFound, format!("no checkpoint or revision is named '{name}'"))
        .detail("name", name)
}

/// Within a second the order of the list decides which is newer.
fn put_newest_first(checkpoints: &mut [Checkpoint]) {
    checkpoints.reverse();
    checkpoints.sort_by_key(|checkpoint| std::cmp::Reverse(checkpoint.moment));
}

fn ambiguous(name: &str, fitting: &[Checkpoint]) -> Error {
    let mut fitting = fitting.to_vec();
    put_newest_first(&mut fitting);
    let of_one_id =
        fitting.windows(2).all(|pair| matches!(pair, [a, b] if a.checkpoint_id == b.checkpoint_id));
    if of_one_id {
        return two_objects(name, &fitting);
    }
    let ids: Vec<_> = fitting.iter().map(|c| c.checkpoint_id.as_str()).collect();
    let newest = ids.first().copied().unwrap_or_default();
    let message = format!("{} checkpoints fit '{name}'", ids.len());
    Error::new(Code::CheckpointAmbiguous, message)
        .detail("name", name)
        .detail("candidates", &ids)
        .hint(format!("git colony checkpoints show {newest}   # the newest of them"))
}

/// Makes the error for an id whose refs in the two places hold different objects.
fn two_objects(name: &str, fitting: &[Checkpoint]) -> Error {
    let refs: Vec<_> = fitting.iter().map(|c| c.git_ref.as_str()).collect();
    Error::new(Code::CheckpointAmbiguous, format!("'{name}' is two different checkpoints"))
        .detail("name", name)
        .detail("candidates", &refs)
        .hint(format!(
            "git show {}   # and the other one; 'git update-ref -d' deletes the wrong one",
            refs.join(" ")
        ))
}
