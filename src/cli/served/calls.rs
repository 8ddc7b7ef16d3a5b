//! The calls that are running: how many, in which order, and how each is stopped.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::git::process::end_own_children;
use crate::model::interrupt::Interrupt;
use crate::model::{Code, Error, Result};

/// The signal that a call that is stopped believes in: that of Ctrl-C.
const SIGINT: i32 = 2;

/// The calls of a server.
#[derive(Clone)]
pub(in crate::cli) struct Calls {
    /// How many may run or wait at once.
    limit: usize,
    running: Arc<Mutex<Running>>,
    /// Calls that change something follow each other.
    turn: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct Running {
    next: u64,
    interrupts: BTreeMap<u64, Interrupt>,
    is_over: bool,
}

/// One call. If it is dropped before it has ended, it is stopped: its client has lost interest.
pub(in crate::cli) struct Call {
    calls: Calls,
    number: u64,
    pub(in crate::cli) interrupt: Interrupt,
}

impl Calls {
    /// Returns an empty list for at most `limit` calls.
    pub(in crate::cli) fn up_to(limit: usize) -> Calls {
        Calls { limit, running: Arc::default(), turn: Arc::default() }
    }

    /// Begins a call.
    pub(in crate::cli) fn begin(&self) -> Result<Call> {
        let mut running = self.lock();
        if running.is_over {
            return Err(Error::new(Code::ServerBusy, "the server is shutting down"));
        }
        if running.interrupts.len() >= self.limit {
            let message = format!("{} calls are running or waiting, the maximum", self.limit);
            return Err(Error::new(Code::ServerBusy, message).detail("limit", self.limit));
        }
        running.next += 1;
        let (number, interrupt) = (running.next, Interrupt::default());
        running.interrupts.insert(number, interrupt.clone());
        Ok(Call { calls: self.clone(), number, interrupt })
    }

    /// Waits for the calls before that change something.
    pub(in crate::cli) async fn turn(&self) -> tokio::sync::OwnedMutexGuard<()> {
        Arc::clone(&self.turn).lock_owned().await
    }

    /// Stops all calls, and lets none begin.
    pub(in crate::cli) fn stop(&self) {
        let interrupts: Vec<_> = {
            let mut running = self.lock();
            running.is_over = true;
            running.interrupts.values().cloned().collect()
        };
        interrupts.iter().for_each(stop);
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        // A panic elsewhere leaves the list valid.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call {
    /// Stops it, unless its work must be completed.
    pub(in crate::cli) fn stop(&self) {
        stop(&self.interrupt);
    }

    /// Notes that it has ended.
    pub(in crate::cli) fn end(self) {
        self.calls.lock().interrupts.remove(&self.number);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if self.calls.lock().interrupts.remove(&self.number).is_some() {
            stop(&self.interrupt);
        }
    }
}

/// Stops a call: other calls in this process, and what they have started, go on.
pub(in crate::cli) fn stop(interrupt: &Interrupt) {
    interrupt.raise(SIGINT);
    let interrupt = interrupt.clone();
    let end = move || end_own_children(&interrupt);
    // Without a thread the call ends when it looks at its interrupt the next time.
    std::thread::Builder::new().name("call-stop".to_owned()).spawn(end).ok();
}
