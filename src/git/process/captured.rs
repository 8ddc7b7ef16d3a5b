//! Programs of the user's tools that run code of a repository, such as cargo: named by their arguments, with both
//! streams captured up to a limit. Whether one may run at all is decided elsewhere.
//!
//! They get the environment of [`super::shell_command`]: without what ties git to a repository, and without tokens.
//! Nothing that one started in its process group outlives it.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::model::{Error, Result, World};

use super::attend::{Group, Terms, attend};
use super::early_end::{EarlyEnd, Limits};
use super::shell_command::environment;
use super::trace::Trace;

/// What a program may use.
#[derive(Clone, Copy, Debug)]
pub struct CaptureLimits {
    /// Wall-clock time.
    pub time: Duration,
    /// Bytes of each stream that are kept; a program that writes more is ended.
    pub output_bytes: u64,
}

/// The result of a program.
#[derive(Debug)]
pub struct Captured {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Why it ended early, if it did.
    pub early_end: Option<EarlyEnd>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// Whether a stream was cut.
    pub is_cut: bool,
}

/// Runs a program in the world's directory, to its end or its limits.
pub fn run_captured(
    world: &World,
    program: &Path,
    args: &[String],
    limits: CaptureLimits,
) -> Result<Captured> {
    world.interrupt.check()?;
    let mut command = command(world, program, args)?;
    let traced = Trace::of(world).begin(&command);
    let cannot = |e| Error::io(format!("cannot start '{}'", program.display()), e);
    let mut child = command.spawn().map_err(cannot)?;
    world.interrupt.adopt(child.id());
    let most = limits.output_bytes.saturating_add(1);
    let terms = Terms {
        input: None,
        most_output_bytes: most,
        most_error_bytes: most,
        most_time: Some(limits.time),
        interrupt: Some(&world.interrupt),
        group: Group::Killed,
        on_output: None,
        on_error: None,
    };
    let bounds = Limits::of(&terms);
    let attended = attend(&mut child, terms);
    world.interrupt.release(child.id());
    if let (Some(traced), Ok(attended)) = (traced, &attended) {
        traced.ended(attended.status.code());
    }
    world.interrupt.check()?;
    let attended = attended?;
    let is_long = |bytes: &[u8]| bytes.len() as u64 > limits.output_bytes;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Captured {
        code: attended.status.code(),
        early_end: EarlyEnd::of(&attended, &bounds),
        is_cut: is_long(&attended.stdout) || is_long(&attended.stderr),
        stdout: text(&attended.stdout),
        stderr: text(&attended.stderr),
    })
}

#[expect(clippy::disallowed_methods, reason = "this is a gate for processes")]
fn command(world: &World, program: &Path, args: &[String]) -> Result<Command> {
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(environment(world)?);
    command.current_dir(&world.cwd).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok(command)
}
