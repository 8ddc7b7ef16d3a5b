//! A program that has the terminal while this one waits: a command of a screen, a shell. It shares our process group, so
//! that the keys of the terminal reach it as they reach any program: Ctrl-C is for it alone, Ctrl-Z stops both.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_current_process_group};

use crate::model::{Error, Result, World};

use super::pager::PagerStreams;

/// How often it is looked whether it has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// How long Ctrl-C, which has ended the program, may take to reach this process.
const SIGNAL_TIMEOUT: Duration = Duration::from_millis(200);

/// The signal of Ctrl-C.
const SIGINT: i32 = 2;

/// A program to start, its arguments, and the variables that are set for it.
#[derive(Debug)]
pub struct Foreground<'a> {
    /// The program.
    pub program: &'a Path,
    /// Its arguments.
    pub args: &'a [OsString],
    /// The directory it runs in.
    pub directory: &'a Path,
    /// Variables beside those of the world.
    pub variables: &'a [(&'a str, &'a str)],
}

/// Runs a program to its end; returns how it ended. A signal that is not of the keyboard ends it, too.
pub fn run(
    world: &World,
    foreground: &Foreground<'_>,
    terminal: &PagerStreams<'_>,
) -> Result<ExitStatus> {
    let cannot = |e| Error::io(format!("cannot start '{}'", foreground.program.display()), e);
    let mut child = start(world, foreground, terminal).map_err(cannot)?;
    // Ctrl-C reaches us, too, and is not for us.
    let completing = world.interrupt.complete();
    world.interrupt.spare(child.id());
    let status = wait(world, &mut child);
    world.interrupt.spare(0);
    if status.as_ref().is_ok_and(|status| was_interrupted(*status)) {
        let end = Instant::now() + SIGNAL_TIMEOUT;
        while world.interrupt.signal().is_none() && Instant::now() < end {
            std::thread::sleep(POLL_INTERVAL);
        }
    }
    world.interrupt.forget(SIGINT);
    drop(completing);
    status.map_err(|e| Error::io("cannot wait for a program", e))
}

#[expect(clippy::disallowed_methods, reason = "part of the gate for processes")]
fn start(
    world: &World,
    foreground: &Foreground<'_>,
    terminal: &PagerStreams<'_>,
) -> std::io::Result<Child> {
    let mut command = Command::new(foreground.program);
    command.args(foreground.args).env_clear().envs(world.variables.iter());
    for (name, value) in foreground.variables {
        if !world.variables.contains_key(OsStr::new(name)) {
            command.env(name, value);
        }
    }
    command.current_dir(foreground.directory);
    command.stdout(terminal.stdout.try_clone()?).stderr(terminal.stderr.try_clone()?).spawn()
}

fn wait(world: &World, child: &mut Child) -> std::io::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if world.interrupt.signal().is_some_and(|signal| signal != SIGINT) {
            super::ask_to_end(&[child.id()]);
            return child.wait();
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Returns `true` if Ctrl-C ended a program, also as shells report it.
fn was_interrupted(status: ExitStatus) -> bool {
    status.signal() == Some(SIGINT) || status.code() == Some(128 + SIGINT)
}

/// Stops this process and all of its group, as Ctrl-Z does; returns when it goes on.
pub fn suspend() {
    // Where nothing can start it again, as in a group without a shell, the system does not stop it.
    kill_current_process_group(Signal::TSTP).ok();
}
