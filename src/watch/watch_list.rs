//! The watches that a process serves: read again when the state of the colony changes.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::store::lock::FileIdentity;
use crate::store::state::{self, State, Watch};
use crate::store::{Session, membership};

/// The watches of a working tree, as they were read last.
pub(super) struct WatchList {
    watches: Vec<Watch>,
    database: PathBuf,
    /// The record of the hub: with it, the database is another one.
    membership: PathBuf,
    /// Both when the watches were read.
    stamp: Option<Stamp>,
}

impl WatchList {
    /// Returns the list of a working tree, before it is read.
    pub(super) fn of(session: &Session) -> WatchList {
        WatchList {
            watches: Vec::new(),
            database: state::path(session),
            membership: membership::path_in(session.repo.common_dir()),
            stamp: None,
        }
    }

    /// Returns `true` if another process may have changed the list. Costs three look-ups of files.
    pub(super) fn may_have_changed(&self) -> bool {
        Some(self.stamp_now()) != self.stamp
    }

    /// Reads the list. A watch that is gone though it was not stopped is entered again: the database was
    /// deleted, as a whole or in part. Where it cannot be read, the list stays.
    pub(super) fn read(&mut self, session: &Session) {
        self.database = state::path(session);
        // Before the list is read: what changes meanwhile is read the next time.
        self.stamp = Some(self.stamp_now());
        let known = std::mem::take(&mut self.watches);
        let worktree = session.repo.workdir();
        let read = State::open(session).and_then(|mut state| {
            let watches = state.watches(worktree)?;
            let is_gone = |watch: &&Watch| watches.iter().all(|other| other.id != watch.id);
            let mut is_complete = true;
            for watch in known.iter().filter(is_gone) {
                if !state.was_stopped(watch)? {
                    state.add_watch(watch, u64::MAX)?;
                    is_complete = false;
                }
            }
            if is_complete { Ok(watches) } else { state.watches(worktree) }
        });
        self.watches = read.unwrap_or(known);
    }

    fn stamp_now(&self) -> Stamp {
        Stamp::of(&self.database, &self.membership)
    }
}

impl Deref for WatchList {
    type Target = [Watch];

    fn deref(&self) -> &[Watch] {
        &self.watches
    }
}

/// A database as it is from outside: it has changed when this has.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    file: Option<FileIdentity>,
    written: [Option<(SystemTime, u64)>; 3],
}

impl Stamp {
    fn of(path: &Path, membership: &Path) -> Stamp {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let written = |path: &Path| {
            let metadata = std::fs::symlink_metadata(path).ok()?;
            Some((metadata.modified().ok()?, metadata.len()))
        };
        Stamp {
            file: FileIdentity::of(path),
            written: [path, Path::new(&log), membership].map(written),
        }
    }
}
