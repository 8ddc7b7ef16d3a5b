//! The changes that watches have not fired for, and after which quiet time they fire.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::model::RepoPath;
use crate::store::state::Watch;

/// A watch fires at the latest after this many quiet times, however long the changes go on.
const MAX_QUIET_TIMES: u32 = 10;

/// The changes, by the ids of their watches.
#[derive(Default)]
pub(super) struct PendingChanges(BTreeMap<String, Pending>);

/// The changes for one watch.
struct Pending {
    paths: BTreeSet<RepoPath>,
    first: Instant,
    last: Instant,
}

impl PendingChanges {
    /// Adds paths that have changed for a watch.
    pub(super) fn add(
        &mut self,
        watch: &Watch,
        paths: impl IntoIterator<Item = RepoPath>,
        now: Instant,
    ) {
        let pending = self.0.entry(watch.id.clone()).or_insert_with(|| Pending {
            paths: BTreeSet::new(),
            first: now,
            last: now,
        });
        pending.last = now;
        pending.paths.extend(paths);
    }

    /// Returns when a watch fires: after its quiet time, but not ever later; `None` if nothing has changed for it.
    pub(super) fn fires_at(&self, watch: &Watch) -> Option<Instant> {
        let pending = self.0.get(&watch.id)?;
        let debounce = Duration::from_millis(u64::try_from(watch.debounce).unwrap_or_default());
        Some((pending.last + debounce).min(pending.first + debounce * MAX_QUIET_TIMES))
    }

    /// Removes the changes for a watch, and returns their paths.
    pub(super) fn take(&mut self, watch: &Watch) -> Option<BTreeSet<RepoPath>> {
        Some(self.0.remove(&watch.id)?.paths)
    }

    /// Forgets the changes for all but these watches.
    pub(super) fn keep<'w>(&mut self, watches: impl Iterator<Item = &'w Watch>) {
        let ids: BTreeSet<&String> = watches.map(|watch| &watch.id).collect();
        self.0.retain(|id, _| ids.contains(id));
    }
}
