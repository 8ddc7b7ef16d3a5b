//! Finds the commits of a history that are related to decisions: they are few, and expensive to
//! find. They are cached for one tip, as derived data that may be deleted at any time; for another
//! tip only the difference between the two histories is walked.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::design::decision;
use crate::git::history::commits::Past;
use crate::git::{Oid, Repo};
use crate::model::Result;
use crate::store::cache::Cache;

use super::TRAILER;
use super::decision_history::Reader;

/// The cache file, with the version of its rules.
const FILE: &str = "decisions-1.json";

/// The cached result.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Remembered {
    tip: Option<Oid>,
    /// The related commits of its history, newest first.
    commits: Vec<Oid>,
}

/// Returns the commits in the history of `tip` that change a decision, name one or revert a commit,
/// newest first.
pub(in crate::design) fn commits(
    repo: &Repo,
    reader: &mut Reader<'_>,
    tip: Oid,
) -> Result<Vec<Oid>> {
    let cache = Cache::of(repo, FILE);
    // A shallow history may grow at its end.
    let is_whole = !repo.is_shallow();
    let known: Remembered = if is_whole { cache.read() } else { Remembered::default() };
    if known.tip == Some(tip) {
        return Ok(known.commits);
    }
    let there = known.tip.filter(|known| repo.peel_to_commit(*known) == Some(*known));
    let new = repo.history_beyond(tip, there.as_slice())?;
    let mut counting = Vec::new();
    // Oldest first: the trees of a parent are cached when its child is read.
    for commit in new.into_iter().rev() {
        let past = repo.read_past(commit)?;
        if counts(reader, &past)? {
            counting.push(commit);
        }
    }
    counting.reverse();
    let mut commits = counting;
    if let Some(other) = there {
        let gone: HashSet<_> = repo.history_beyond(other, &[tip])?.into_iter().collect();
        let mut old = known.commits;
        old.retain(|commit| !gone.contains(commit));
        commits = in_order(repo, commits, old)?;
    }
    if is_whole {
        cache.write(&Remembered { tip: Some(tip), commits: commits.clone() });
    }
    Ok(commits)
}

fn counts(reader: &mut Reader<'_>, past: &Past) -> Result<bool> {
    // Reads the folder in any case: that of a parent is needed next.
    let changes = !reader.changes(past)?.is_empty();
    let message = &past.message;
    Ok(changes
        || !decision::trailers(message, TRAILER).is_empty()
        || !decision::reverts(message).is_empty())
}

/// Merges two lists by committer time, each in its own order.
fn in_order(repo: &Repo, new: Vec<Oid>, old: Vec<Oid>) -> Result<Vec<Oid>> {
    let dated = |commits: Vec<Oid>| -> Result<Vec<(i64, Oid)>> {
        let date = |id: Oid| Ok((repo.read_commit(id)?.committer.seconds, id));
        commits.into_iter().map(date).collect()
    };
    let (new, old) = (dated(new)?, dated(old)?);
    let (mut new, mut old) = (new.into_iter().peekable(), old.into_iter().peekable());
    let mut all = Vec::new();
    loop {
        let next = match (new.peek(), old.peek()) {
            (Some((ours, _)), Some((theirs, _))) if ours < theirs => old.next(),
            (None, _) => old.next(),
            _ => new.next(),
        };
        match next {
            Some((_, commit)) => all.push(commit),
            None => return Ok(all),
        }
    }
}
