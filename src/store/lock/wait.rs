//! How long a command waits for a lock that another process holds.
//!
//! The kernel releases our locks and those of `SQLite` when their holder ends, however it ends. Who waits for a database
//! waits for as long as the other lives, since it holds it for one transaction: a slow disk or a busy machine makes no
//! command fail. Who waits for a lock of ours gives every holder a turn, since a holder may wait for a lock of the waiting
//! one. `--timeout` bounds both, a signal ends both, and after a second the user reads which process holds it. A lock that is
//! a file, as git's are, stays when its git dies: the wait for one has an end in any case.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::model::interrupt::Interrupt;
use crate::model::{Error, World};

use super::proc_locks::LockHolders;

/// How long one holder may keep a lock of ours before the others give up.
const TURN: Duration = Duration::from_mins(1);

/// The same for work that takes long: a hub that is created, the network, a history that is rewritten.
const LONG_TURN: Duration = Duration::from_mins(10);

/// How many turns a wait may last: holders that come and go must not make it endless.
const MAX_TURNS: u32 = 5;

/// How long to wait for the holder of a database that is stopped.
const STOPPED_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to wait for a database that another thread of this process holds: its death would release nothing.
const OWN_TIMEOUT: Duration = Duration::from_mins(1);

/// How often to look who holds the lock.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The longest pause between two attempts.
const MAX_PAUSE: Duration = Duration::from_millis(25);

/// How long to wait for another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitLimit {
    /// For as long as the holder lives and is not stopped.
    WhileHeld,
    /// This long for each holder: a lock that changes hands is progress.
    Turn(Duration),
    /// At most this long.
    AtMost(Duration),
}

impl WaitLimit {
    /// The limit for a database: as long as `--timeout` allows, else while it is held.
    pub fn for_database(timeout: Option<Duration>) -> WaitLimit {
        timeout.map_or(WaitLimit::WhileHeld, WaitLimit::AtMost)
    }

    /// The same limit, but at most this long.
    pub fn at_most(self, limit: Duration) -> WaitLimit {
        match self {
            WaitLimit::AtMost(own) => WaitLimit::AtMost(own.min(limit)),
            WaitLimit::WhileHeld | WaitLimit::Turn(_) => WaitLimit::AtMost(limit),
        }
    }

    /// The limit for a lock of ours: as long as `--timeout` allows, else a turn for each holder.
    pub fn for_lock(timeout: Option<Duration>) -> WaitLimit {
        timeout.map_or(WaitLimit::Turn(TURN), WaitLimit::AtMost)
    }

    /// The limit for a lock of ours that is held while much is done.
    pub fn for_long_work(timeout: Option<Duration>) -> WaitLimit {
        timeout.map_or(WaitLimit::Turn(LONG_TURN), WaitLimit::AtMost)
    }
}

/// One wait: pauses that grow until the time is up.
#[derive(Debug)]
pub struct Wait {
    limit: WaitLimit,
    /// The files that have the lock.
    files: Vec<PathBuf>,
    pause: Duration,
    waited: Duration,
    next_look: Duration,
    /// Those that held the lock at the last look.
    holders: LockHolders,
    /// When the lock was last seen to make progress.
    progress_at: Duration,
    is_reported: bool,
}

impl Wait {
    /// Begins to wait for the lock of a file.
    pub fn new(limit: WaitLimit, path: &Path) -> Wait {
        Wait::for_files(limit, vec![path.to_owned()])
    }

    /// Begins to wait for a lock that is on one of these files.
    pub fn for_files(limit: WaitLimit, files: Vec<PathBuf>) -> Wait {
        Wait {
            limit,
            files,
            pause: Duration::from_millis(1),
            waited: Duration::ZERO,
            next_look: LOOK_INTERVAL,
            holders: LockHolders::default(),
            progress_at: Duration::ZERO,
            is_reported: false,
        }
    }

    /// Sleeps for a moment; `Err(None)` when the time is up, `Err(Some(_))` on a signal. `message` names the
    /// lock.
    pub fn longer(&mut self, world: &World, message: &str) -> Result<(), Option<Error>> {
        self.pause(&world.interrupt, &*world.narrate, message)
    }

    /// Does the same, with the parts of a world that it needs.
    pub fn pause(
        &mut self,
        interrupt: &Interrupt,
        narrate: &dyn Fn(&str),
        message: &str,
    ) -> Result<(), Option<Error>> {
        interrupt.check().map_err(Some)?;
        let left = self.deadline().saturating_sub(self.waited);
        if left.is_zero() {
            return Err(None);
        }
        let pause = self.pause.min(left);
        std::thread::sleep(pause);
        self.waited += pause;
        self.pause = (self.pause * 2).min(MAX_PAUSE);
        if self.waited >= self.next_look {
            self.next_look = self.waited + LOOK_INTERVAL;
            self.check_holders(narrate, message);
        }
        Ok(())
    }

    fn deadline(&self) -> Duration {
        match self.limit {
            WaitLimit::AtMost(limit) => limit,
            WaitLimit::Turn(turn) => (self.progress_at + turn).min(turn * MAX_TURNS),
            WaitLimit::WhileHeld if self.holders.is_own => self.progress_at + OWN_TIMEOUT,
            WaitLimit::WhileHeld => self.progress_at + STOPPED_TIMEOUT,
        }
    }

    /// Finds who holds the lock, notes progress, and reports the holder once.
    fn check_holders(&mut self, narrate: &dyn Fn(&str), message: &str) {
        let holders = LockHolders::of(&self.files);
        let is_progress = match self.limit {
            WaitLimit::WhileHeld => holders.may_release(),
            WaitLimit::Turn(_) | WaitLimit::AtMost(_) => holders != self.holders,
        };
        if is_progress {
            self.progress_at = self.waited;
        }
        if !self.is_reported {
            self.is_reported = true;
            match holders.others.first() {
                Some(pid) => narrate(&format!("{message} (process {pid})")),
                None => narrate(message),
            }
        }
        self.holders = holders;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_that_come_and_go_make_no_wait_endless() {
        let mut wait = Wait::new(WaitLimit::for_lock(None), Path::new("lock"));
        assert_eq!(wait.deadline(), TURN);
        wait.progress_at = TURN;
        assert_eq!(wait.deadline(), TURN * 2);
        wait.progress_at = TURN * 100;
        assert_eq!(wait.deadline(), TURN * MAX_TURNS);
    }
}
