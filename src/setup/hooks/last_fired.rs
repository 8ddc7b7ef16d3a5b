//! The times when hooks were last run: one small file per hook, written without a lock and without waiting.

use chrono::SecondsFormat;

use crate::git::Repo;
use crate::git::plain_file;
use crate::model::time::{self, Moment};
use crate::model::{Result, World};
use crate::store::files::atomic;
use crate::store::files::places::HookPlaces;

/// Records that a hook runs now. `name` is one of ours, never one from outside.
pub fn note(repo: &Repo, world: &World, name: &'static str) -> Result<()> {
    if world.owner_beside_root.is_some() {
        return Ok(());
    }
    let folder = HookPlaces::of(repo).fired();
    atomic::make_directory(&folder)?;
    // An agent may work, ask and work again within a second.
    let line = format!("{}\n", world.now().to_rfc3339_opts(SecondsFormat::Nanos, true));
    atomic::write_quickly(&folder.join(name), line.as_bytes())
}

/// Returns when a hook was last run, RFC 3339 UTC; `None` if it never was or the record is damaged.
pub fn last(repo: &Repo, name: &str) -> Option<String> {
    moment(repo, name).map(|moment| time::rfc3339(&moment))
}

/// Returns the same to the nanosecond.
pub(super) fn moment(repo: &Repo, name: &str) -> Option<Moment> {
    let text = plain_file::read_text(HookPlaces::of(repo).fired().join(name)).ok()?;
    time::parse_rfc3339(text.trim())
}

/// Deletes the records of when hooks were last run.
pub(super) fn forget(repo: &Repo, names: &[&str]) -> Result<()> {
    let folder = HookPlaces::of(repo).fired();
    for name in names {
        atomic::remove_file(&folder.join(name))?;
    }
    atomic::remove_empty_folder(&folder)?;
    Ok(())
}
