//! How a command waits for a database that another process holds.
//!
//! `SQLite` asks a function without arguments of ours whether to try again, on the thread that uses the connection. So
//! the thread keeps whose connection it uses at the moment.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::model::interrupt::{Interrupt, unpoisoned};
use crate::model::{Error, World};
use crate::store::lock::wait::{Wait, WaitLimit};
use crate::store::session::Session;

/// The number of steps of its virtual machine after which `SQLite` asks whether to go on: about a millisecond.
const STEPS_AT_A_TIME: i32 = 100_000;

/// The maximum number of times that it goes on in one piece of work, which is about a minute: no work of ours comes near.
const MAX_CALLS: u32 = 60_000;

thread_local! {
    static IN_USE: RefCell<Option<Arc<Waiting>>> = const { RefCell::new(None) };
}

/// Who waits for a database, and how long.
#[derive(Clone)]
pub struct Waiter {
    interrupt: Interrupt,
    narrate: Arc<dyn Fn(&str) + Send + Sync>,
    limit: WaitLimit,
}

impl Waiter {
    /// A command that cannot answer without the database.
    pub fn of(session: &Session) -> Waiter {
        Waiter {
            limit: WaitLimit::for_database(session.settings.timeout),
            ..Waiter::in_world(&session.world)
        }
    }

    /// The same, as far as the world has a limit.
    pub fn in_world(world: &World) -> Waiter {
        Waiter {
            interrupt: world.interrupt.clone(),
            narrate: Arc::clone(&world.narrate),
            limit: WaitLimit::for_database(world.timeout),
        }
    }

    /// One that works without the database after this time, in silence.
    pub fn hasty(limit: Duration) -> Waiter {
        Waiter {
            interrupt: Interrupt::default(),
            narrate: Arc::new(|_| {}),
            limit: WaitLimit::AtMost(limit),
        }
    }

    /// The same, and at most this long.
    pub fn at_most(self, limit: Duration) -> Waiter {
        Waiter { limit: self.limit.at_most(limit), ..self }
    }
}

/// The wait for one database.
pub(super) struct Waiting {
    waiter: Waiter,
    files: Vec<PathBuf>,
    message: String,
    wait: Mutex<Wait>,
    /// How often the work at hand has made [`STEPS_AT_A_TIME`].
    calls: AtomicU32,
}

impl Waiting {
    pub(super) fn new(waiter: &Waiter, path: &Path, files: Vec<PathBuf>) -> Waiting {
        Waiting {
            waiter: waiter.clone(),
            message: format!("waiting for another process that uses '{}'", path.display()),
            wait: Mutex::new(Wait::for_files(waiter.limit, files.clone())),
            calls: AtomicU32::new(0),
            files,
        }
    }

    /// Lets a connection of this thread wait, from now on until another one is used.
    pub(super) fn attend(self: &Arc<Waiting>, connection: &mut Connection) -> rusqlite::Result<()> {
        self.use_here();
        // We make neither views nor triggers: a file that has some could keep any query from ending.
        for config in [
            DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW,
            DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER,
            DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA,
        ] {
            connection.set_db_config(config, false)?;
        }
        connection.progress_handler(STEPS_AT_A_TIME, Some(is_over))?;
        connection.busy_handler(Some(is_tried_again))
    }

    /// Gives the work that begins now the whole budget of steps.
    pub(super) fn begin_work(self: &Arc<Waiting>) {
        self.use_here();
        self.calls.store(0, Ordering::Relaxed);
    }

    /// Notes that this thread uses the database.
    pub(super) fn use_here(self: &Arc<Waiting>) {
        IN_USE.with_borrow_mut(|in_use| {
            if !in_use.as_ref().is_some_and(|current| Arc::ptr_eq(current, self)) {
                *in_use = Some(Arc::clone(self));
            }
        });
    }

    /// Begins a wait.
    pub(super) fn begin(&self) {
        *unpoisoned(&self.wait) = Wait::for_files(self.waiter.limit, self.files.clone());
    }

    /// Sleeps for a moment; returns `false` when the time is up or a signal came.
    pub(super) fn longer(&self) -> bool {
        let Waiter { interrupt, narrate, .. } = &self.waiter;
        unpoisoned(&self.wait).pause(interrupt, &**narrate, &self.message).is_ok()
    }
}

/// Returns the error of the signal that ended the last wait of this thread.
pub(super) fn interruption() -> Option<Error> {
    let in_use = IN_USE.with_borrow(Clone::clone);
    in_use.and_then(|waiting| waiting.waiter.interrupt.check().err())
}

/// Answers `SQLite`, which asks whether to end what it does: after a signal, or when the budget is used up.
fn is_over() -> bool {
    let in_use = IN_USE.with_borrow(Clone::clone);
    in_use.is_some_and(|waiting| {
        let calls = waiting.calls.fetch_add(1, Ordering::Relaxed);
        calls >= MAX_CALLS || waiting.waiter.interrupt.check().is_err()
    })
}

/// Answers `SQLite`, which has been in vain `count` times.
fn is_tried_again(count: i32) -> bool {
    let in_use = IN_USE.with_borrow(Clone::clone);
    in_use.is_some_and(|waiting| {
        if count == 0 {
            waiting.begin();
        }
        waiting.longer()
    })
}

/// Waits long enough for a slow machine, and not for ever.
#[cfg(test)]
pub fn waiter_of_tests() -> Waiter {
    waiter_of(Interrupt::default())
}

/// The same, until a signal comes.
#[cfg(test)]
pub fn waiter_of(interrupt: Interrupt) -> Waiter {
    Waiter { interrupt, ..Waiter::hasty(Duration::from_mins(2)) }
}
