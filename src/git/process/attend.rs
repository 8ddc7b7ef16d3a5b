//! A child from its start to its end: it gets its input, its output is read up to limits, and it is ended when
//! its time is over. The one runner of this gate.

use std::io::{Read as _, Write as _};
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::model::interrupt::Interrupt;
use crate::model::{Error, Result};

use super::streaming::{End, Listener, OnOutput, Pipe, Reader};
use super::{ask_to_end, descendants, kill};

/// The time between SIGTERM and SIGKILL.
const TERM_TIMEOUT: Duration = Duration::from_secs(1);

/// The interval between checks.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What a child gets, and what it may use.
pub(super) struct Terms<'a> {
    /// Its standard input, if that is a pipe.
    pub(super) input: Option<Arc<Vec<u8>>>,
    /// When this much of its standard output is read, its pipe is closed, which ends a program that continues
    /// to write.
    pub(super) most_output_bytes: u64,
    /// The same for its standard error.
    pub(super) most_error_bytes: u64,
    /// After this time it is ended, with all its children.
    pub(super) most_time: Option<Duration>,
    /// Ends it, too. Signals are watched for by a thread that ends all children; this is for where it is not.
    pub(super) interrupt: Option<&'a Interrupt>,
    /// What happens to its process group when it has ended.
    pub(super) group: Group,
    /// Gets its standard output, which is not stored then.
    pub(super) on_output: Option<OnOutput<'a>>,
    /// Gets its standard error, too.
    pub(super) on_error: Option<&'a mut Listener>,
}

/// What happens to the process group of a child that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// It is the caller's own.
    Shared,
    /// It is the child's, and is killed.
    Killed,
}

/// The result of a child.
pub(super) struct ChildResult {
    pub(super) status: ExitStatus,
    /// Whether it was ended because its time was over.
    pub(super) is_late: bool,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

/// Attends a child to its end.
pub(super) fn attend(child: &mut Child, mut terms: Terms<'_>) -> Result<ChildResult> {
    give(child, terms.input.take());
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    let (of_out, of_err) = (Pipe::of(stdout.as_ref()), Pipe::of(stderr.as_ref()));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let (over, id) = (End::new(), child.id());
    let (ended, end) = mpsc::channel::<()>();
    let (done, is_read) = mpsc::channel::<()>();
    let (read, is_late) = std::thread::scope(|scope| {
        let watch = Watch {
            until: terms.most_time.map(|time| Instant::now() + time),
            interrupt: terms.interrupt,
        };
        let late = scope.spawn(move || watch.end(id, &end));
        let (over, pipes) = (&over, [&of_out, &of_err]);
        scope.spawn(move || {
            // If this fails, the readers wait for the end of the output.
            if wait_for(id) {
                if terms.group == Group::Killed {
                    // The child is not reaped yet, so its number still is that of its group.
                    pid(id).map(|id| kill_process_group(id, Signal::KILL).ok());
                }
                drop(ended);
                over.announce(pipes, &is_read);
            }
        });
        let (pipe, most) = (stderr.take(), terms.most_error_bytes);
        let (of_err, err, on_error) = (&of_err, &mut err, terms.on_error);
        let heard = scope.spawn(move || {
            let to = Reader {
                stores: true,
                listener: on_error.map(|listener| &mut **listener as OnOutput<'_>),
            };
            pipe.map(|pipe| over.read(of_err, pipe.take(most), err, to))
        });
        let to = Reader { stores: terms.on_output.is_none(), listener: terms.on_output };
        let read = stdout.take().map(|pipe| {
            let pipe = pipe.take(terms.most_output_bytes);
            over.read(&of_out, pipe, &mut out, to)
        });
        drop(heard.join());
        drop(done);
        (read, late.join().unwrap_or(false))
    });
    read.transpose().map_err(|e| Error::io("cannot read the output of a program", e))?;
    let status = child.wait();
    Ok(ChildResult {
        status: status.map_err(|e| Error::io("cannot wait for a program", e))?,
        is_late,
        stdout: out,
        stderr: err,
    })
}

/// Writes the input on a thread that is not waited for: a process that outlives the child may hold the pipe.
fn give(child: &mut Child, input: Option<Arc<Vec<u8>>>) {
    if let (Some(mut pipe), Some(bytes)) = (child.stdin.take(), input) {
        // A child that stops reading reports why on standard error and in its exit code.
        std::thread::spawn(move || pipe.write_all(&bytes));
    }
}

/// Waits for the end of a child without reaping it; returns `false` if that is impossible.
fn wait_for(child: u32) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    pid(child).is_some_and(|pid| waitid(WaitId::Pid(pid), options).is_ok())
}

/// What ends a child early.
struct Watch<'a> {
    until: Option<Instant>,
    interrupt: Option<&'a Interrupt>,
}

impl Watch<'_> {
    /// Ends a child and all its children when its time is over, or at an interrupt; returns `true` for the first.
    fn end(&self, child: u32, end: &Receiver<()>) -> bool {
        let is_running = |pause| end.recv_timeout(pause) == Err(RecvTimeoutError::Timeout);
        let is_over = || self.until.is_some_and(|until| Instant::now() >= until);
        let is_stopped = || self.interrupt.is_some_and(|signal| signal.check().is_err());
        if self.until.is_none() && self.interrupt.is_none() {
            return false;
        }
        while !is_over() && !is_stopped() {
            let left = self.until.map(|until| until.duration_since(Instant::now()));
            if !is_running(left.unwrap_or(POLL_INTERVAL).min(POLL_INTERVAL)) {
                return false;
            }
        }
        let is_late = is_over();
        // The child has not been reaped, so its number is still its own.
        let all = [descendants(child), vec![child]].concat();
        ask_to_end(&all);
        is_running(TERM_TIMEOUT);
        kill(&[descendants(child), all].concat());
        is_late
    }
}

fn pid(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw)
}
