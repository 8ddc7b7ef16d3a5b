//! Shell commands other than git: each in its own process group, which is killed when the command
//! ends.
//!
//! They get the caller's environment without the variables that tie git to a repository, those of
//! git-colony, and the known tokens. Whether a command may run at all is decided elsewhere.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::git::remote::credentials;
use crate::model::program_output::Listening;
use crate::model::{Error, Result, World};

use super::attend::{Group, Terms, attend};
use super::trace::Trace;
use super::{is_scrubbed, program};

/// The usual variables for tokens, in addition to those that the settings name.
const TOKENS: [&str; 3] = ["GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN"];

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With an exit code; `None` if a signal ended it.
    Exited(Option<i32>),
    /// It exceeded its time limit and was killed.
    OutOfTime,
}

/// Runs a command by `sh -c` in the world's directory; the user sees its output, line by line.
///
/// Nothing that it started in its process group outlives it.
pub fn run_shell(world: &World, command: &str, limit: Option<Duration>) -> Result<Ending> {
    let mut said = Listening::default();
    let mut tell = |bytes: &[u8]| said.take(bytes).iter().for_each(|said| said.tell(world));
    let ending = run_shell_heard(world, command, limit, &mut tell);
    if let Some(last) = said.finish() {
        last.tell(world);
    }
    world.progress.end();
    ending
}

/// Does the same, and hands on its output as it comes: what it writes to either stream.
pub fn run_shell_heard(
    world: &World,
    command: &str,
    limit: Option<Duration>,
    hear: &mut dyn FnMut(&[u8]),
) -> Result<Ending> {
    world.interrupt.check()?;
    let cannot = |e| Error::io("cannot start a shell", e);
    let (reader, writer) = std::io::pipe().map_err(cannot)?;
    let mut shell = shell(world, command)?;
    if let Some(traced) = Trace::of(world).begin(&shell) {
        traced.goes_on();
    }
    shell.stdout(writer.try_clone().map_err(cannot)?);
    let mut child = shell.stderr(writer).spawn().map_err(cannot)?;
    // Its ends of the pipe are the child's now.
    drop(shell);
    child.stdout = Some(ChildStdout::from(OwnedFd::from(reader)));
    world.interrupt.adopt(child.id());
    let terms = Terms {
        input: None,
        most_output_bytes: u64::MAX,
        most_error_bytes: 0,
        most_time: limit,
        interrupt: Some(&world.interrupt),
        group: Group::Killed,
        on_output: Some(hear),
        on_error: None,
    };
    let attended = attend(&mut child, terms);
    world.interrupt.release(child.id());
    let attended = attended?;
    world.interrupt.check()?;
    Ok(if attended.is_late { Ending::OutOfTime } else { Ending::Exited(attended.status.code()) })
}

/// Makes a shell command; the caller sets both streams.
fn shell(world: &World, text: &str) -> Result<Command> {
    let mut command = program::command(world, "sh");
    command.arg("-c").arg("--").arg(text);
    command.env_clear().envs(environment(world)?);
    command.current_dir(&world.cwd).stdin(Stdio::null());
    command.process_group(0);
    Ok(command)
}

/// Returns the caller's environment without what a program that runs code of a repository must not have.
pub(super) fn environment(world: &World) -> Result<BTreeMap<OsString, OsString>> {
    let ours = credentials::sources(world)?;
    let is_token = |name: &OsStr| {
        let names = ours.iter().map(|source| source.variable.as_str());
        names.chain(TOKENS).any(|token| name == OsStr::new(token))
    };
    let mut kept = BTreeMap::clone(&world.variables);
    kept.retain(|name, _| !is_tied(name) && !is_token(name));
    Ok(kept)
}

/// Returns `true` for a variable that concerns this command and must not be inherited.
fn is_tied(variable: &OsStr) -> bool {
    let name = variable.as_encoded_bytes();
    let ours =
        name.starts_with(b"COLONY_") && name != b"COLONY_SHARED_ROOT" && name != b"COLONY_TRY";
    // Configuration for one command may hold credentials.
    let config = [
        b"GIT_CONFIG_COUNT".as_slice(),
        b"GIT_CONFIG_KEY_",
        b"GIT_CONFIG_VALUE_",
        b"GIT_CONFIG_PARAMETERS",
    ];
    ours || config.iter().any(|start| name.starts_with(start)) || is_scrubbed(variable)
}
