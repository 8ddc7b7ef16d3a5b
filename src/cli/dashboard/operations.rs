//! The operations of a server: queued, run by workers, followed and canceled.
//!
//! An operation lives in the memory of the server: closing the page changes nothing, the end of the server cancels it. It
//! takes no turn of changing calls: its command itself waits for the locks that it needs. Those that map and those that
//! test have a queue each: a map does not wait for the end of long tests.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::broadcast::Sender;

use crate::cli::served::calls::{self, Call, Calls};
use crate::cli::served::run_action::{Answered, Own, Place};
use crate::model::interrupt::{Interrupt, unpoisoned};
use crate::model::progress::{Progress, Step};
use crate::model::time;
use crate::model::{Code, Error, Result};

use super::operation::{Done, Kind, Operation, OperationEnd, Status};
use super::stream::Message;

/// How many operations are listed.
const MAX_OPERATIONS: usize = 100;

/// The interval that the messages of one operation are counted in.
const MESSAGE_INTERVAL: Duration = Duration::from_millis(500);

/// How many lines are passed on at once in it. The next message has the others.
const MAX_SENT: usize = 20;

/// The operations of a server.
#[derive(Clone, Default)]
pub(super) struct Operations(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    /// Newest first.
    operations: VecDeque<Operation>,
    maps: Queue,
    tests: Queue,
    is_over: bool,
}

/// Operations that follow each other.
#[derive(Default)]
struct Queue {
    waiting: VecDeque<Job>,
    /// What stops the one that runs.
    running: Option<(String, Interrupt)>,
    worker: Option<JoinHandle<()>>,
}

impl Kept {
    fn queue(&mut self, kind: Kind) -> &mut Queue {
        match kind {
            Kind::Map => &mut self.maps,
            Kind::Try | Kind::Land => &mut self.tests,
        }
    }

    fn find(&mut self, id: &str) -> Option<&mut Operation> {
        self.operations.iter_mut().find(|operation| operation.op_id == id)
    }
}

/// What a worker does.
#[derive(Clone)]
pub(super) struct Job {
    pub(super) op_id: String,
    pub(super) words: Vec<OsString>,
    /// Reads how it ended from the answer of the command.
    pub(super) ended: fn(&Answered) -> OperationEnd,
    pub(super) place: Place,
    pub(super) calls: Calls,
    pub(super) sender: Sender<Message>,
}

impl Operations {
    /// Returns all of a kind, or of every kind, newest first.
    pub(super) fn all(&self, kind: Option<Kind>) -> Vec<Value> {
        let kept = unpoisoned(&self.0);
        let of_kind = |operation: &&Operation| kind.is_none_or(|kind| operation.kind == kind);
        kept.operations.iter().filter(of_kind).map(Operation::value).collect()
    }

    /// Returns one.
    pub(super) fn find(&self, id: &str, kind: Option<Kind>) -> Option<Value> {
        let mut kept = unpoisoned(&self.0);
        let operation = kept.find(id)?;
        kind.is_none_or(|kind| operation.kind == kind).then(|| operation.value())
    }

    /// Cancels one: it never begins, or ends before its commit point; past that it is completed.
    pub(super) fn cancel(&self, id: &str, now: String) -> Option<Value> {
        let mut kept = unpoisoned(&self.0);
        let kind = kept.find(id)?.kind;
        let queue = kept.queue(kind);
        queue.waiting.retain(|job| job.op_id != id);
        let running = queue.running.as_ref().filter(|(running, _)| running == id);
        let interrupt = running.map(|(_, interrupt)| interrupt.clone());
        let operation = kept.find(id)?;
        if operation.status == Status::Pending && interrupt.is_none() {
            operation.status = Status::Canceled;
            "canceled before its turn".clone_into(&mut operation.message);
            operation.completed_at = Some(now);
        }
        if let Some(interrupt) = interrupt {
            calls::stop(&interrupt);
        }
        Some(operation.value())
    }

    /// Adds one, which begins when those before in its queue have ended.
    pub(super) fn add(&self, operation: Operation, job: Job) -> Result<()> {
        let mut kept = unpoisoned(&self.0);
        if kept.is_over {
            return Err(Error::new(Code::ServerBusy, "the server is shutting down"));
        }
        let open = kept.operations.iter().filter(|operation| !operation.is_over()).count();
        if open >= MAX_OPERATIONS {
            let message = format!("{MAX_OPERATIONS} operations wait, the maximum");
            return Err(Error::new(Code::ServerBusy, message));
        }
        let kind = operation.kind;
        kept.operations.push_front(operation);
        while kept.operations.len() > MAX_OPERATIONS {
            let Some(last) = kept.operations.iter().rposition(Operation::is_over) else { break };
            kept.operations.remove(last);
        }
        let queue = kept.queue(kind);
        queue.waiting.push_back(job);
        if queue.worker.as_ref().is_none_or(JoinHandle::is_finished) {
            let operations = self.clone();
            let thread = std::thread::Builder::new().name("operations".to_owned());
            let started = thread.spawn(move || while operations.work(kind) {});
            queue.worker =
                Some(started.map_err(|error| Error::io("cannot start a thread", error))?);
        }
        Ok(())
    }

    /// Does the next one of a queue; returns `false` if there is none.
    fn work(&self, kind: Kind) -> bool {
        let (job, call) = {
            let mut kept = unpoisoned(&self.0);
            let queue = kept.queue(kind);
            let Some(job) = queue.waiting.pop_front() else {
                // The next one starts a worker.
                queue.worker = None;
                return false;
            };
            let call = job.calls.begin();
            let interrupt = call.as_ref().map(|call| call.interrupt.clone()).unwrap_or_default();
            queue.running = Some((job.op_id.clone(), interrupt));
            (job, call)
        };
        let answered = match &call {
            Ok(call) => {
                self.change(&job, |operation| {
                    operation.status = Status::Running;
                    operation.message.clear();
                });
                job.place.run(job.words.clone(), None, self.heard(&job, call.interrupt.clone()))
            }
            Err(error) => Answered::of_error(error),
        };
        unpoisoned(&self.0).queue(kind).running = None;
        let now = time::rfc3339(&job.place.world.now());
        self.change(&job, |operation| operation.end(&answered, (job.ended)(&answered), now));
        drop(call.map(Call::end));
        true
    }

    /// Changes an operation, and sends it to the clients.
    fn change(&self, job: &Job, change: impl FnOnce(&mut Operation)) {
        let mut kept = unpoisoned(&self.0);
        if let Some(operation) = kept.find(&job.op_id) {
            change(operation);
            // Without a client it is sent to nobody.
            job.sender.send(Message::operation(&operation.value())).ok();
        }
    }

    /// Returns what a command has of its own: whatever it tells goes into its operation.
    fn heard(&self, job: &Job, interrupt: Interrupt) -> Own {
        let listener = Arc::new(Listener {
            operations: self.clone(),
            job: job.clone(),
            progress: Mutex::default(),
            lines: Mutex::default(),
        });
        let hears_lines = Arc::clone(&listener);
        Own {
            interrupt,
            progress: Progress::new(move |step| listener.hear_step(step)),
            heard: Some(Arc::new(move |line| hears_lines.hear_line(line))),
            ..Own::default()
        }
    }

    /// Lets none begin, and waits for those that run, which were stopped.
    pub(super) fn finish(&self) {
        let workers = {
            let mut kept = unpoisoned(&self.0);
            kept.is_over = true;
            let Kept { maps, tests, .. } = &mut *kept;
            [maps, tests].map(|queue| {
                queue.waiting.clear();
                queue.worker.take()
            })
        };
        for worker in workers.into_iter().flatten() {
            // It returns nothing; a panic was printed already.
            worker.join().ok();
        }
    }
}

/// Puts what a command tells into its operation.
struct Listener {
    operations: Operations,
    job: Job,
    progress: Mutex<Pace>,
    lines: Mutex<Pace>,
}

/// Counts the messages of an interval.
#[derive(Default)]
struct Pace {
    since: Option<Instant>,
    sent: usize,
}

impl Pace {
    /// Counts one; returns `false` if that is more than `most`.
    fn allows(&mut self, most: usize) -> bool {
        if self.since.is_none_or(|since| since.elapsed() >= MESSAGE_INTERVAL) {
            *self = Pace { since: Some(Instant::now()), sent: 0 };
        }
        self.sent += 1;
        self.sent <= most
    }
}

impl Listener {
    /// Adds a line.
    fn hear_line(&self, line: &str) {
        if unpoisoned(&self.lines).allows(MAX_SENT) {
            self.operations.change(&self.job, |operation| operation.say(line));
        } else if let Some(operation) = unpoisoned(&self.operations.0).find(&self.job.op_id) {
            operation.say(line);
        }
    }

    /// Shows the progress. A line that the next one overwrites is the message meanwhile.
    fn hear_step(&self, step: &Step<'_>) {
        if *step == Step::Ended || !unpoisoned(&self.progress).allows(1) {
            return;
        }
        self.operations.change(&self.job, |operation| match *step {
            Step::Files { what, done } => {
                let done = u64::try_from(done).unwrap_or(u64::MAX);
                operation.progress = Some(Done { what: what.to_owned(), done, total: None });
            }
            Step::Part { what, done, total, .. } => {
                operation.progress = Some(Done { what: what.to_owned(), done, total: Some(total) });
            }
            Step::Said(text) => text.clone_into(&mut operation.message),
            Step::Ended => {}
        });
    }
}
