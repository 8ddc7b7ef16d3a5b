//! The times of the files in which tests run. Tools that keep what they have made of a file beside it compare its size and
//! the second in which it was written: Python does so for its bytecode. So a file of the same size is not replaced within
//! that second, or a test would see the file before.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::git::compare::tree_diff::TreeChange;
use crate::git::{Oid, Repo, TreeEntry};
use crate::model::{RepoPath, Result, World};
use crate::store::files::atomic;

/// How often the clock of the file system is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// More looks than a second has.
const MAX_LOOKS: usize = 100;

/// When files were written, as far as this process has done it.
#[derive(Default)]
pub(super) struct FileTimes(HashMap<RepoPath, Written>);

/// A file as it was written.
struct Written {
    id: Oid,
    modified: SystemTime,
}

/// A working tree, and a file beside it that may be written at any time.
#[derive(Clone, Copy)]
pub(super) struct Watched<'a> {
    pub(super) tree: &'a Path,
    pub(super) probe: &'a Path,
}

impl FileTimes {
    /// Waits until no file that changes gets the time that it has, if it keeps its size.
    pub(super) fn wait(
        &self,
        world: &World,
        repo: &Repo,
        watched: Watched<'_>,
        changes: &[TreeChange],
    ) -> Result<()> {
        let times = changes.iter().filter_map(|change| self.time_of_alike(repo, watched, change));
        let Some(newest) = times.max() else {
            return Ok(());
        };
        for _ in 0..MAX_LOOKS {
            world.interrupt.check()?;
            atomic::write_plainly(watched.probe, b"")?;
            if modified(watched.probe).is_none_or(|now| second(now) != second(newest)) {
                break;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// Records the files that were written for some changes.
    pub(super) fn record(&mut self, watched: Watched<'_>, changes: &[TreeChange]) {
        let written = changes.iter().filter_map(|change| {
            let id = change.new.filter(TreeEntry::is_plain_file)?.id;
            let modified = modified(&watched.tree.join(change.path.as_path()))?;
            Some((change.path.clone(), Written { id, modified }))
        });
        self.0.extend(written);
    }

    /// Returns when a file was written that is replaced by another one of the same size.
    fn time_of_alike(
        &self,
        repo: &Repo,
        watched: Watched<'_>,
        change: &TreeChange,
    ) -> Option<SystemTime> {
        let new = change.new.filter(TreeEntry::is_plain_file)?.id;
        let (old, at) = match (self.0.get(&change.path), change.old) {
            (Some(written), _) => (written.id, written.modified),
            (None, Some(old)) => (old.id, modified(&watched.tree.join(change.path.as_path()))?),
            (None, None) => return None,
        };
        let is_alike = old != new && repo.object_size(old) == repo.object_size(new);
        is_alike.then_some(at)
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::symlink_metadata(path).and_then(|file| file.modified()).ok()
}

fn second(time: SystemTime) -> Option<u64> {
    time.duration_since(SystemTime::UNIX_EPOCH).ok().map(|since| since.as_secs())
}
