//! The state of a repository for a shell prompt: fast, whatever the size.
//!
//! Nothing is cached, so nothing here can be out of date. Branch, newest checkpoint and problems
//! are read from names of refs and files; changes are counted within the time that the setting
//! `colony.lineTime` allows, and left out if the scan has not ended by then.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::checkpoint::checkpoints;
use crate::git::{ObjectWrites, Repo};
use crate::migrate;
use crate::model::interrupt::Interrupt;
use crate::model::{World, time};
use crate::store::files::places::Places;
use crate::store::lock::IndexLock;
use crate::store::operation::recover;
use crate::store::settings::setting_layers::Layers;
use crate::store::settings::{self, Flags};

/// The fields of a prompt; all empty outside of a repository.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct LineReport {
    /// The branch, or `detached:<8 hex>`.
    pub branch: Option<String>,
    /// The git operation in progress.
    pub in_progress: Option<&'static str>,
    /// The number of staged, changed, untracked or conflicted paths; `None` if counting took too
    /// long.
    pub changes: Option<usize>,
    /// When the newest checkpoint was made, automatic ones of this worktree included.
    pub last_checkpoint_at: Option<String>,
    /// How long ago that was.
    pub last_checkpoint_seconds: Option<i64>,
    /// Whether `status` reports a problem.
    pub attention: bool,
}

/// Reads the state without a lock, a write or an error: unreadable parts are left out.
pub fn line(world: &World) -> LineReport {
    let Ok(repo) = Repo::open(world, ObjectWrites::InMemory) else {
        return LineReport::default();
    };
    let Ok(head) = repo.head() else {
        let attention = true;
        return LineReport { attention, ..LineReport::default() };
    };
    let places = Places::find(&repo).ok().flatten();
    let newest = checkpoints::newest_moment(&repo, places.as_ref().map(|places| &places.key));
    let pending = places.as_ref().and_then(|places| recover::pending(places).ok().flatten());
    let in_progress = repo.in_progress();
    let no_flags = Flags::default();
    let layers = Layers::read(world, &repo, &no_flags);
    let limit = settings::line_time(&layers);
    let attention = pending.is_some()
        || in_progress.is_some()
        || migrate::under_way(&repo).is_ok_and(|migration| migration.is_some())
        || IndexLock::path_in(&repo).exists()
        || !layers.repository_problems().is_empty()
        || repo.lacks_filter("lfs")
        || repo.has_half_filter("lfs");
    LineReport {
        branch: Some(head.label()),
        in_progress,
        last_checkpoint_at: newest.as_ref().map(time::rfc3339),
        last_checkpoint_seconds: newest.map(|newest| (world.now() - newest).num_seconds().max(0)),
        attention,
        changes: changes_within(limit, world, repo),
    }
}

/// Counts uncommitted paths; gives up after `limit`, even if a filter hangs.
fn changes_within(limit: Duration, world: &World, repo: Repo) -> Option<usize> {
    if limit.is_zero() {
        return None;
    }
    let (counted, wait) = mpsc::channel();
    let interrupt = Interrupt::default();
    let world = World {
        interrupt: interrupt.clone(),
        // A prompt has no place for warnings.
        narrate: Arc::new(|_| ()),
        ..world.clone()
    };
    let count_changes = move || {
        let changes = repo.scan(&world).ok().map(|scan| {
            scan.staged.len() + scan.unstaged.len() + scan.untracked.len() + scan.conflicts.len()
        });
        // After the limit nothing receives the result.
        counted.send(changes).ok();
    };
    std::thread::Builder::new().name("look".to_owned()).spawn(count_changes).ok()?;
    let changes = wait.recv_timeout(limit).ok().flatten();
    interrupt.raise(0);
    changes
}
