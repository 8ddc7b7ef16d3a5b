//! Mapping operations: queued, run by one worker, followed and canceled.
//!
//! An operation lives in the memory of the server: closing the page changes nothing, the end of the server cancels it. It
//! takes no turn of changing calls: 'map' itself waits for the locks that it needs.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::sync::broadcast::Sender;

use crate::cli::served::calls::{self, Call, Calls};
use crate::cli::served::run_action::{Answered, Own, Place};
use crate::model::interrupt::{Interrupt, unpoisoned};
use crate::model::progress::{Progress, Step};
use crate::model::time;
use crate::model::{Code, Error, Result};

use super::stream::Message;

/// How many operations are listed.
const MAX_OPERATIONS: usize = 100;

/// How often the progress of one is passed on.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

/// The state of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    Pending,
    Running,
    Mapped,
    Partial,
    Error,
    Canceled,
}

/// The progress of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Done {
    what: String,
    done: u64,
    total: Option<u64>,
}

/// A mapping operation, as it is answered.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Operation {
    pub(super) op_id: String,
    pub(super) kind: &'static str,
    pub(super) status: Status,
    pub(super) origin_url: Value,
    pub(super) branch: Value,
    pub(super) commit: Value,
    pub(super) enabled_sources: Value,
    /// Whether the files of the working tree are mapped.
    pub(super) worktree: bool,
    pub(super) started_at: String,
    pub(super) completed_at: Option<String>,
    pub(super) message: String,
    pub(super) scope_id: Value,
    pub(super) progress: Option<Done>,
    pub(super) results: Value,
    pub(super) knowledge: Value,
    pub(super) op: Value,
    pub(super) code: Value,
    pub(super) hint: Value,
}

impl Operation {
    pub(super) fn value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn is_over(&self) -> bool {
        !matches!(self.status, Status::Pending | Status::Running)
    }

    /// Takes what the command answered.
    fn end(&mut self, answered: &Answered, at: String) {
        let object = &answered.object;
        let member = |name: &str| object.get(name).cloned().unwrap_or_default();
        let results = object.get("results").and_then(Value::as_array);
        let rows: Vec<&Map<String, Value>> =
            results.into_iter().flatten().filter_map(Value::as_object).collect();
        let failed: Vec<_> = rows.iter().filter(|row| !is_mapped(row)).collect();
        let knowledge_failed = object.get("knowledge_error").and_then(Value::as_str);
        self.status = match (failed.len(), rows.len()) {
            _ if object.get("code").is_some_and(|code| code == "interrupted") => Status::Canceled,
            _ if answered.is_failure() => Status::Error,
            (0, 0) => Status::Error,
            (0, _) if knowledge_failed.is_none() => Status::Mapped,
            (failed, all) if failed == all => Status::Error,
            _ => Status::Partial,
        };
        let why = failed.iter().map(|row| told(row)).chain(knowledge_failed.map(str::to_owned));
        let reasons: Vec<_> = why.collect();
        self.message =
            if reasons.is_empty() { answered.message().to_owned() } else { reasons.join("; ") };
        self.results = object.get("results").cloned().unwrap_or_else(|| json!([]));
        self.scope_id =
            rows.first().and_then(|row| row.get("scope_id")).cloned().unwrap_or_default();
        self.knowledge = member("knowledge");
        self.op = member("op");
        self.code = member("code");
        self.hint = member("hint");
        self.progress = None;
        self.completed_at = Some(at);
    }
}

fn is_mapped(row: &Map<String, Value>) -> bool {
    row.get("status").is_some_and(|status| status == "mapped" || status == "already_mapped")
}

/// Names a row that has failed.
fn told(row: &Map<String, Value>) -> String {
    let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
    match text("message") {
        "" => format!("{}: {}", text("name"), text("status")),
        message => format!("{}: {message}", text("name")),
    }
}

/// The operations of a server.
#[derive(Clone, Default)]
pub(super) struct Maps(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    /// Newest first.
    operations: VecDeque<Operation>,
    waiting: VecDeque<Job>,
    /// What stops the one that runs.
    running: Option<(String, Interrupt)>,
    worker: Option<JoinHandle<()>>,
    is_over: bool,
}

/// What a worker does.
pub(super) struct Job {
    pub(super) op_id: String,
    pub(super) words: Vec<OsString>,
    pub(super) place: Place,
    pub(super) calls: Calls,
    pub(super) sender: Sender<Message>,
}

impl Maps {
    /// Returns all, newest first.
    pub(super) fn all(&self) -> Vec<Value> {
        unpoisoned(&self.0).operations.iter().map(Operation::value).collect()
    }

    /// Returns one.
    pub(super) fn find(&self, id: &str) -> Option<Value> {
        let kept = unpoisoned(&self.0);
        kept.operations.iter().find(|operation| operation.op_id == id).map(Operation::value)
    }

    /// Cancels one: it never begins, or ends before its commit point; past that it is completed.
    pub(super) fn cancel(&self, id: &str, now: String) -> Option<Value> {
        let mut kept = unpoisoned(&self.0);
        kept.waiting.retain(|job| job.op_id != id);
        let running = kept.running.as_ref().filter(|(running, _)| running == id);
        let interrupt = running.map(|(_, interrupt)| interrupt.clone());
        let operation = kept.operations.iter_mut().find(|operation| operation.op_id == id)?;
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

    /// Adds one, which begins when those before have ended.
    pub(super) fn add(&self, operation: Operation, job: Job) -> Result<()> {
        let mut kept = unpoisoned(&self.0);
        if kept.is_over {
            return Err(Error::new(Code::ServerBusy, "the server is shutting down"));
        }
        let open = kept.operations.iter().filter(|operation| !operation.is_over()).count();
        if open >= MAX_OPERATIONS {
            let message = format!("{MAX_OPERATIONS} mapping operations wait, the maximum");
            return Err(Error::new(Code::ServerBusy, message));
        }
        kept.operations.push_front(operation);
        while kept.operations.len() > MAX_OPERATIONS {
            let Some(last) = kept.operations.iter().rposition(Operation::is_over) else { break };
            kept.operations.remove(last);
        }
        kept.waiting.push_back(job);
        if kept.worker.as_ref().is_none_or(JoinHandle::is_finished) {
            let maps = self.clone();
            let thread = std::thread::Builder::new().name("maps".to_owned());
            let started = thread.spawn(move || while maps.work() {});
            kept.worker = Some(started.map_err(|error| Error::io("cannot start a thread", error))?);
        }
        Ok(())
    }

    /// Does the next one; returns `false` if there is none.
    fn work(&self) -> bool {
        let (job, call) = {
            let mut kept = unpoisoned(&self.0);
            let Some(job) = kept.waiting.pop_front() else {
                // The next one starts a worker.
                kept.worker = None;
                return false;
            };
            let call = job.calls.begin();
            let interrupt = call.as_ref().map(|call| call.interrupt.clone()).unwrap_or_default();
            kept.running = Some((job.op_id.clone(), interrupt));
            (job, call)
        };
        let answered = match &call {
            Ok(call) => {
                self.change(&job, |operation| {
                    operation.status = Status::Running;
                    operation.message.clear();
                });
                let own = Own {
                    action: None,
                    interrupt: call.interrupt.clone(),
                    progress: self.progress(&job),
                    frozen: None,
                };
                job.place.run(job.words.clone(), None, own)
            }
            Err(error) => Answered::of_error(error),
        };
        unpoisoned(&self.0).running = None;
        let now = time::rfc3339(&job.place.world.now());
        self.change(&job, |operation| operation.end(&answered, now.clone()));
        drop(call.map(Call::end));
        true
    }

    /// Changes an operation, and sends it to the clients.
    fn change(&self, job: &Job, change: impl FnOnce(&mut Operation)) {
        let mut kept = unpoisoned(&self.0);
        let mut all = kept.operations.iter_mut();
        if let Some(operation) = all.find(|operation| operation.op_id == job.op_id) {
            change(operation);
            // Without a client it is sent to nobody.
            job.sender.send(Message::operation(&operation.value())).ok();
        }
    }

    /// Returns where an operation reports its progress.
    fn progress(&self, job: &Job) -> Progress {
        let (maps, id, sender) = (self.clone(), job.op_id.clone(), job.sender.clone());
        let last = Mutex::new(None::<Instant>);
        Progress::new(move |step| {
            let done = match *step {
                Step::Files { what, done } => Done {
                    what: what.to_owned(),
                    done: u64::try_from(done).unwrap_or(u64::MAX),
                    total: None,
                },
                Step::Part { what, done, total, .. } => {
                    Done { what: what.to_owned(), done, total: Some(total) }
                }
                Step::Said(_) | Step::Ended => return,
            };
            let mut last = unpoisoned(&last);
            if last.is_some_and(|last| last.elapsed() < PROGRESS_INTERVAL) {
                return;
            }
            *last = Some(Instant::now());
            let mut kept = unpoisoned(&maps.0);
            if let Some(operation) =
                kept.operations.iter_mut().find(|operation| operation.op_id == id)
            {
                operation.progress = Some(done);
                sender.send(Message::operation(&operation.value())).ok();
            }
        })
    }

    /// Lets none begin, and waits for the one that runs, which was stopped.
    pub(super) fn finish(&self) {
        let worker = {
            let mut kept = unpoisoned(&self.0);
            kept.is_over = true;
            kept.waiting.clear();
            kept.worker.take()
        };
        // It returns nothing; a panic was printed already.
        worker.map(JoinHandle::join).transpose().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_knows_each_status() {
        let words = include_str!("web/words.js");
        let (_, table) = words.split_once("OPERATIONS = {").unwrap();
        let (table, _) = table.split_once("};").unwrap();
        let known: Vec<_> =
            table.lines().filter_map(|line| line.trim().split_once(": [")).collect();
        let all = [
            Status::Pending,
            Status::Running,
            Status::Mapped,
            Status::Partial,
            Status::Error,
            Status::Canceled,
        ];
        let names = all.map(|status| serde_json::to_value(status).unwrap());
        assert_eq!(known.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names);
    }
}
