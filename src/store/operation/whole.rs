//! Whether all that an operation has written is still there, once its ref holds it.
//!
//! Until then nothing pointed to it, and a `git gc --prune=now` beside us may take it: one that has
//! looked before may do so even later. So a gc that is at work is waited for, in bounded time. What
//! looks after the ref was created sees it.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::git::Oid;
use crate::model::{Code, Error, Result};
use crate::store::{Session, processes};

use super::record::Record;

/// How long to wait for a gc to end.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(10);

/// Checks that the objects of an operation are there, its own record among them.
///
/// # Errors
/// `object-missing` naming a path, or what else is missing; nothing was undone yet.
pub(super) fn require(session: &Session, commit: Oid, record: &Record) -> Result<()> {
    wait_for_gc(session);
    let repo = &session.repo;
    // What was read before is not asked for in memory: only the store knows whether it is there.
    let require = |id: Oid, what: &dyn std::fmt::Display| match repo.object_size(id) {
        Some(_) => Ok(()),
        None => Err(removed(what)),
    };
    let of_record = repo.read_commit(commit).map_err(|_| removed(&record.op))?;
    let json = repo.entry_in(of_record.tree, "op.json");
    let own = [Some(commit), Some(of_record.tree), json.ok().flatten()];
    for id in own.into_iter().chain([Some(record.index_before)]) {
        require(id.ok_or_else(|| removed(&record.op))?, &record.op)?;
    }
    let before = repo.tree_of(record.before.head.commit)?;
    let mut trees = vec![repo.state_tree(record.index_before)?];
    let refs = record.refs.iter().filter_map(|change| change.new);
    refs.clone().try_for_each(|id| require(id, &record.op))?;
    let commits = [record.snapshot, record.after.head.commit];
    for commit in commits.into_iter().flatten() {
        require(commit, &record.op)?;
        trees.push(repo.tree_of(Some(commit))?);
    }
    trees.dedup();
    for tree in trees {
        require(tree, &record.op)?;
        let mut folders = BTreeSet::new();
        for change in repo.diff_trees(before, tree)? {
            let Some(new) = change.new.filter(|entry| !entry.is_submodule()) else {
                continue;
            };
            require(new.id, &change.path)?;
            folders.extend(change.path.ancestors());
        }
        for folder in folders {
            let id = repo.entry_in(tree, folder.as_path())?;
            id.map_or(Ok(()), |id| require(id, &folder))?;
        }
    }
    Ok(())
}

fn removed(what: &dyn std::fmt::Display) -> Error {
    Error::new(
        Code::ObjectMissing,
        format!("git removed '{what}' while it was being kept; nothing has changed"),
    )
    .hint("run the command again once git gc has ended")
}

/// Waits while a gc is at work that git has noted, as far as the system tells that it still runs.
fn wait_for_gc(session: &Session) {
    let note = session.repo.common_dir().join("gc.pid");
    let is_at_work = || {
        let text = std::fs::read_to_string(&note).ok()?;
        processes::find(text.split_whitespace().next()?.parse().ok()?)
    };
    let mut waited = Duration::ZERO;
    while waited < PATIENCE && is_at_work().is_some() {
        if session.world.interrupt.check().is_err() {
            return;
        }
        std::thread::sleep(PAUSE);
        waited += PAUSE;
    }
}
