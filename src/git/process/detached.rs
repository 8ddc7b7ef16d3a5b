//! This program in the background: a process that outlives the one that starts it.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::model::{Error, Result, World};

use super::{end, program};

/// The steps, of 19, by which a process in the background lowers its priority.
const PRIORITY_STEPS: i32 = 15;

/// Lets this process wait for others that want the processors. Where the system refuses that, it does not.
pub fn give_way() {
    rustix::process::nice(PRIORITY_STEPS).ok();
}

/// A line for the shell that runs in the background.
pub struct Program<'a> {
    /// The line.
    pub line: &'a str,
    /// Where it runs.
    pub directory: &'a Path,
    /// Variables, beside the environment of the caller.
    pub variables: &'a [(&'a str, &'a str)],
    /// The log, which exists: it gets the output.
    pub log: &'a Path,
}

impl Program<'_> {
    /// Starts it without the streams of the caller. It leads a process group of its own; beside it, this program writes
    /// its output to the log, and ends with it. Returns its process.
    #[expect(clippy::disallowed_methods, reason = "this is a gate for processes")]
    pub fn start(&self, world: &World) -> Result<u32> {
        let cannot = |error| Error::io("cannot start a process in the background", error);
        let writer = ["keep-log".as_ref(), self.log.as_os_str()];
        let mut command = Command::new(&world.program);
        command.args(writer).env_clear().envs(world.variables.iter());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command.current_dir(self.directory);
        let mut writer = command.process_group(0).spawn().map_err(cannot)?;
        end::spare(writer.id());
        let output = writer.stdin.take().map(OwnedFd::from);
        let child = self.start_shell(world, output.as_ref()).map_err(cannot)?;
        // A server that ends, ends what it has started; this is not a part of it.
        end::spare(child.id());
        Ok(child.id())
    }

    fn start_shell(&self, world: &World, output: Option<&OwnedFd>) -> std::io::Result<Child> {
        let prepared = |name: &str| -> std::io::Result<Command> {
            let mut command = program::command(world, name);
            command.current_dir(self.directory).stdin(Stdio::null()).env_clear();
            command.envs(world.variables.iter()).envs(self.variables.iter().copied());
            if let Some(output) = output {
                command.stdout(output.try_clone()?).stderr(output.try_clone()?);
            }
            Ok(command)
        };
        let words = ["-c", "--", self.line];
        // In a session of its own it ends the lease of its clone with itself, and not with the terminal of the caller.
        let apart =
            prepared("setsid").and_then(|mut command| command.arg("sh").args(words).spawn());
        match apart {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                prepared("sh")?.args(words).process_group(0).spawn()
            }
            started => started,
        }
    }
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
