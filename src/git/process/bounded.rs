//! Programs that read hostile files: run with limits and a minimal environment, and killed with all
//! their children.
//!
//! A program gets bytes on standard input and nothing else: no files, no shell, and of the
//! environment only `PATH` and `LANG`. A command of the user is run by a shell, in an empty
//! directory, and also gets `HOME` and what the caller names; nothing of a repository is part of
//! its text.

use std::ffi::OsString;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;

use crate::git::scratch::Scratch;
use crate::model::{Result, World};

use super::attend::{ChildResult, Group, Terms, attend};
use super::program::on_path;
use super::resource_limits::limit_address_space;
use super::trace::Trace;

/// The signals that end a program from outside.
const FROM_OTHERS: [Signal; 4] = [Signal::HUP, Signal::INT, Signal::KILL, Signal::TERM];

/// The amount of standard error that is kept.
const MAX_ERROR_BYTES: u64 = 64 << 10;

/// The resources that a program may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Wall-clock time.
    pub time: Duration,
    /// Address space, on Linux only; of a shell command memory of its own, without mapped files.
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
pub fn run(
    world: &World,
    program: &Path,
    args: &[&str],
    input: Vec<u8>,
    limits: Limits,
) -> Result<Option<Finished>> {
    let memory = Some(limits.memory_bytes);
    attended(world, command(world, program, args), input, limits, memory)
}

/// Runs a shell command of the user in an empty directory, which is deleted afterwards; `None` if
/// no shell can be started.
pub fn run_command(
    world: &World,
    text: &str,
    variables: &[(&str, OsString)],
    input: Vec<u8>,
    limits: Limits,
) -> Result<Option<Finished>> {
    let scratch = Scratch::new(world)?;
    // The shell limits itself before it starts anything: its children have these limits from the start.
    let kibibytes = (limits.memory_bytes >> 10).to_string();
    let limited = "ulimit -c 0 2>/dev/null; ulimit -d \"$1\" 2>/dev/null; exec sh -c -- \"$0\"";
    let shell = on_path(world, "sh").unwrap_or_else(|| "sh".into());
    let mut command = command(world, &shell, &["-c", limited, text, &kibibytes]);
    command.current_dir(scratch.path());
    if let Some(home) = world.variable("HOME") {
        command.env("HOME", home);
    }
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    attended(world, command, input, limits, None)
}

fn attended(
    world: &World,
    mut command: Command,
    input: Vec<u8>,
    limits: Limits,
    address_space: Option<u64>,
) -> Result<Option<Finished>> {
    world.interrupt.check()?;
    let traced = Trace::of(world).begin(&command);
    let Ok(mut child) = command.spawn() else {
        return Ok(None);
    };
    let id = child.id();
    world.interrupt.adopt(id);
    if let Some(bytes) = address_space {
        limit_address_space(id, bytes);
    }
    let terms = Terms {
        input: Some(Arc::new(input)),
        most_output_bytes: limits.output_bytes.saturating_add(1),
        most_error_bytes: MAX_ERROR_BYTES,
        most_time: Some(limits.time),
        interrupt: None,
        group: Group::Killed,
        on_output: None,
        on_error: None,
    };
    let attended = attend(&mut child, terms);
    if let (Some(traced), Ok(attended)) = (traced, &attended) {
        traced.ended(attended.status.code());
    }
    world.interrupt.release(id);
    world.interrupt.check()?;
    Ok(Some(finished(attended?, limits)))
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
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Says how a program ended.
fn finished(attended: ChildResult, limits: Limits) -> Finished {
    let ChildResult { status, stdout, .. } = attended;
    let end = if attended.is_late {
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
    Finished { end, stdout, stderr: String::from_utf8_lossy(&attended.stderr).trim().to_owned() }
}
