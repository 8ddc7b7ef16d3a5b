//! This program in the background: a process that outlives the one that starts it.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::model::{Error, Result, World};

use super::end;

/// The steps, of 19, by which a process in the background lowers its priority.
const PRIORITY_STEPS: i32 = 15;

/// Lets this process wait for others that want the processors. Where the system refuses that, it does not.
pub fn give_way() {
    rustix::process::nice(PRIORITY_STEPS).ok();
}

/// Starts a line for the shell in a directory, with the environment of the caller and some variables, without its streams;
/// the output goes to `log`. It leads a process group of its own. Returns its process.
#[expect(clippy::disallowed_methods, reason = "this is a gate for processes")]
pub fn start_shell(
    world: &World,
    line: &str,
    directory: &Path,
    variables: &[(&str, &str)],
    log: &File,
) -> Result<u32> {
    let cannot = |error| Error::io("cannot start a process in the background", error);
    let prepared = |program: &str| -> std::io::Result<Command> {
        let mut command = Command::new(program);
        command.current_dir(directory).stdin(Stdio::null());
        command.env_clear().envs(world.variables.iter()).envs(variables.iter().copied());
        command.stdout(log.try_clone()?).stderr(log.try_clone()?);
        Ok(command)
    };
    let words = ["-c", "--", line];
    // In a session of its own it ends the lease of its clone with itself, and not with the terminal of the caller.
    let apart = prepared("setsid").and_then(|mut command| command.arg("sh").args(words).spawn());
    let child = match apart {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let mut command = prepared("sh").map_err(cannot)?;
            command.args(words).process_group(0).spawn().map_err(cannot)?
        }
        started => started.map_err(cannot)?,
    };
    // A server that ends, ends what it has started; this is not a part of it.
    end::spare(child.id());
    Ok(child.id())
}

/// Starts this program with arguments, in the environment of the caller and without its streams; what it reports goes
/// to `log`. Ctrl-C in the terminal of the caller does not reach it.
#[expect(clippy::disallowed_methods, reason = "this is a gate for processes")]
pub fn start(world: &World, args: &[impl AsRef<OsStr>], log: Option<File>) -> Result<()> {
    let mut command = Command::new(&world.program);
    command.args(args).env_clear().envs(world.variables.iter());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log.map_or_else(Stdio::null, Stdio::from));
    let started = command.process_group(0).spawn();
    let child =
        started.map_err(|error| Error::io("cannot start a process in the background", error))?;
    // A server that ends, ends what it has started; this is not a part of it.
    end::spare(child.id());
    Ok(())
}
