//! Programs that read hostile files: run with limits and a minimal environment, and killed with all
//! their children.
//!
//! A program gets bytes on standard input and nothing else: no files, no shell, and of the
//! environment only `PATH` and `LANG`.

use std::io::{Read, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::model::{Error, Result, World};

use super::resource_limits::limit_address_space;
use super::trace::Trace;

/// The signals that end a program from outside.
const FROM_OTHERS: [Signal; 4] = [Signal::HUP, Signal::INT, Signal::KILL, Signal::TERM];

/// The amount of standard error that is kept.
const MAX_ERROR_BYTES: u64 = 64 << 10;

/// How long the streams of a program may stay open after it has ended.
const STREAM_TIMEOUT: Duration = Duration::from_secs(2);

/// The resources that a program may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Wall-clock time.
    pub time: Duration,
    /// Address space; on Linux only.
    pub memory_bytes: u64,
    /// Standard output.
    pub output_bytes: u64,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal of its own: it crashed, or ran out of memory.
    Crashed,
    /// By a signal from another process.
    Killed,
    /// It was killed at the time limit.
    TimedOut,
    /// It was killed because it wrote too much.
    TooMuchOutput,
}

/// The result of a program.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub end: End,
    /// Its standard output, at most up to the limit.
    pub stdout: Vec<u8>,
    /// The beginning of its standard error, lossily decoded and trimmed.
    pub stderr: String,
}

/// Runs a program, named by its absolute path, to its end or its limits; `None` if it cannot be
/// started.
///
/// # Errors
/// `interrupted` when a signal ended this process.
pub fn run(
    world: &World,
    program: &Path,
    args: &[&str],
    input: Vec<u8>,
    limits: Limits,
) -> Result<Option<Finished>> {
    world.interrupt.check()?;
    let mut command = command(world, program, args);
    let traced = Trace::of(world).begin(&command);
    let Ok(mut child) = command.spawn() else {
        return Ok(None);
    };
    let id = child.id();
    world.interrupt.adopt(id);
    limit_address_space(id, limits.memory_bytes);
    let finished = attend(&mut child, input, limits);
    if let Some(traced) = traced {
        let code = child.try_wait().ok().flatten();
        traced.ended(code.and_then(|status| status.code()));
    }
    world.interrupt.release(id);
    world.interrupt.check()?;
    finished.map(Some)
}

#[expect(clippy::disallowed_methods, reason = "this is a gate for processes")]
fn command(world: &World, program: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("LANG", "C.UTF-8");
    if let Some(path) = world.variable("PATH") {
        command.env("PATH", path);
    }
    // A process group of its own, so that all its children can be killed with it.
    command.process_group(0).current_dir("/").args(args);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn pid(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw)
}

/// Writes to a child, reads its output and waits for its end.
fn attend(child: &mut Child, input: Vec<u8>, limits: Limits) -> Result<Finished> {
    let stdin = child.stdin.take();
    // A child that stops reading reports why on standard error and in its exit code.
    std::thread::spawn(move || stdin.map(|mut pipe| pipe.write_all(&input)));
    let stdout = listen(child.stdout.take(), limits.output_bytes.saturating_add(1));
    let stderr = listen(child.stderr.take(), MAX_ERROR_BYTES);
    let id = pid(child.id());
    let (ended, end) = mpsc::channel();
    // Wait without reaping: until it is reaped, the number of its group cannot be reused.
    std::thread::spawn(move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let seen = id.is_some_and(|id| waitid(WaitId::Pid(id), options).is_ok());
        // The receiver is gone after a timeout.
        ended.send(seen).ok();
    });
    let in_time = end.recv_timeout(limits.time).is_ok();
    if let Some(id) = id {
        // Its children have no purpose any more.
        kill_process_group(id, Signal::KILL).ok();
    }
    let status = child
        .wait()
        .map_err(|e| Error::io("cannot wait for a program", e))?;
    let stdout = stdout.recv_timeout(STREAM_TIMEOUT).unwrap_or_default();
    let stderr = stderr.recv_timeout(STREAM_TIMEOUT).unwrap_or_default();
    let end = if !in_time {
        End::TimedOut
    } else if stdout.len() as u64 > limits.output_bytes {
        End::TooMuchOutput
    } else {
        let killed = |signal| FROM_OTHERS.iter().any(|other| other.as_raw() == signal);
        match (status.code(), status.signal()) {
            (Some(code), _) => End::Exited(code),
            (None, Some(signal)) if killed(signal) => End::Killed,
            (None, _) => End::Crashed,
        }
    };
    Ok(Finished {
        end,
        stdout,
        stderr: String::from_utf8_lossy(&stderr).trim().to_owned(),
    })
}

/// Reads a stream up to a limit and then closes it, which ends a program that continues to write.
fn listen(stream: Option<impl Read + Send + 'static>, most: u64) -> mpsc::Receiver<Vec<u8>> {
    let (heard, bytes) = mpsc::channel();
    std::thread::spawn(move || {
        let mut all = Vec::new();
        if let Some(stream) = stream {
            // What was read before a failure counts.
            stream.take(most).read_to_end(&mut all).ok();
        }
        drop(heard.send(all));
    });
    bytes
}
