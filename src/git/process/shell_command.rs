//! Shell commands other than git: each in its own process group, which is killed when the command
//! ends.
//!
//! They get the caller's environment without the variables that tie git to a repository, those of
//! git-colony, and the known tokens. Whether a command may run at all is decided elsewhere.

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, PipeReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};

use crate::git::remote::credentials;
use crate::model::program_output::Listening;
use crate::model::{Error, Result, World};

use super::trace::Trace;
use super::{SCRUBBED, descendants};

/// The usual variables for tokens, in addition to those that the settings name.
const TOKENS: [&str; 3] = ["GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN"];

/// The time between SIGTERM and SIGKILL for a group, and the maximum wait for its remaining output.
const TERM_TIMEOUT: Duration = Duration::from_secs(1);

/// The interval between checks.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

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
///
/// # Errors
/// `interrupted`; `io` when no shell can be started; those of [`credentials::sources`].
pub fn run_shell(world: &World, command: &str, limit: Option<Duration>) -> Result<Ending> {
    world.interrupt.check()?;
    let cannot = |e| Error::io("cannot start a shell", e);
    let (reader, writer) = std::io::pipe().map_err(cannot)?;
    rustix::io::ioctl_fionbio(&reader, true).map_err(|e| cannot(e.into()))?;
    let mut shell = shell(world, command)?;
    if let Some(traced) = Trace::of(world).begin(&shell) {
        traced.goes_on();
    }
    shell.stdout(writer.try_clone().map_err(cannot)?);
    let child = shell.stderr(writer).spawn().map_err(cannot)?;
    // Its ends of the pipe are the child's now.
    drop(shell);
    world.interrupt.adopt(child.id());
    let mut group = Group {
        lines: Lines::new(world, reader),
        pid: Pid::from_child(&child),
        child,
    };
    let ending = group.wait(world, limit.map(|limit| Instant::now() + limit));
    world.interrupt.release(group.child.id());
    let ending = ending.map_err(|e| Error::io("cannot wait for a command", e))?;
    world.interrupt.check()?;
    Ok(ending)
}

/// Makes a shell command; the caller sets both streams.
#[expect(clippy::disallowed_methods, reason = "this is a gate for processes")]
fn shell(world: &World, text: &str) -> Result<Command> {
    let ours = credentials::sources(world)?;
    let is_token = |name: &OsStr| {
        let names = ours.iter().map(|source| source.variable.as_str());
        names.chain(TOKENS).any(|token| name == OsStr::new(token))
    };
    let kept = |name: &OsString| !is_tied(name) && !is_token(name);
    let mut command = Command::new("sh");
    command.arg("-c").arg("--").arg(text);
    command.env_clear();
    command.envs(world.variables.iter().filter(|(name, _)| kept(name)));
    command.current_dir(&world.cwd).stdin(Stdio::null());
    command.process_group(0);
    Ok(command)
}

/// Returns `true` for a variable that concerns this command and must not be inherited.
fn is_tied(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let ours = name.starts_with(b"COLONY_") && name != b"COLONY_SHARED_ROOT";
    // Configuration for one command may hold credentials.
    let config = [
        b"GIT_CONFIG_COUNT".as_slice(),
        b"GIT_CONFIG_KEY_",
        b"GIT_CONFIG_VALUE_",
        b"GIT_CONFIG_PARAMETERS",
    ];
    ours || config.iter().any(|start| name.starts_with(start))
        || SCRUBBED.iter().any(|known| name == known.as_bytes())
}

/// A command with all its children.
struct Group<'a> {
    child: Child,
    pid: Pid,
    lines: Lines<'a>,
}

impl Group<'_> {
    fn wait(&mut self, world: &World, until: Option<Instant>) -> std::io::Result<Ending> {
        let mut late = false;
        while !self.has_ended()? {
            let stop = world.interrupt.check().is_err();
            late = until.is_some_and(|until| Instant::now() >= until);
            if late || stop {
                self.end()?;
                break;
            }
            if !self.lines.tell()? {
                std::thread::sleep(POLL_INTERVAL);
            }
        }
        // The process is not reaped yet: its number still identifies this group.
        self.signal(Signal::KILL);
        let status = self.child.wait()?;
        let patience = Instant::now() + TERM_TIMEOUT;
        while !self.lines.ended && Instant::now() < patience {
            if !self.lines.tell()? {
                std::thread::sleep(POLL_INTERVAL);
            }
        }
        self.lines.finish();
        Ok(if late {
            Ending::OutOfTime
        } else {
            Ending::Exited(status.code())
        })
    }

    /// Returns `true` if the shell has ended; does not reap it.
    fn has_ended(&self) -> std::io::Result<bool> {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        Ok(waitid(WaitId::Pid(self.pid), look)?.is_some())
    }

    /// Ends the group by SIGTERM, then by SIGKILL, with the processes that have left it meanwhile.
    fn end(&mut self) -> std::io::Result<()> {
        let below = descendants(self.child.id());
        self.signal(Signal::TERM);
        let patience = Instant::now() + TERM_TIMEOUT;
        while !self.has_ended()? && Instant::now() < patience {
            if !self.lines.tell()? {
                std::thread::sleep(POLL_INTERVAL);
            }
        }
        for pid in below {
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
            // The process may be gone already.
            pid.map(|pid| kill_process(pid, Signal::KILL).ok());
        }
        Ok(())
    }

    fn signal(&self, signal: Signal) {
        // The group may be gone already.
        kill_process_group(self.pid, signal).ok();
    }
}

/// Passes on the output of a command, line by line.
struct Lines<'a> {
    world: &'a World,
    reader: PipeReader,
    said: Listening,
    ended: bool,
}

impl<'a> Lines<'a> {
    fn new(world: &'a World, reader: PipeReader) -> Lines<'a> {
        Lines {
            world,
            reader,
            said: Listening::default(),
            ended: false,
        }
    }

    /// Passes on the available output; returns `false` if there was none.
    fn tell(&mut self) -> std::io::Result<bool> {
        let mut bytes = [0_u8; 16 * 1024];
        let count = match self.reader.read(&mut bytes) {
            Ok(count) => count,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return Ok(false);
            }
            Err(e) => return Err(e),
        };
        self.ended = count == 0;
        let said = self.said.take(bytes.get(..count).unwrap_or_default());
        for said in said {
            said.tell(self.world);
        }
        Ok(count > 0)
    }

    fn finish(&mut self) {
        if let Some(last) = self.said.finish() {
            last.tell(self.world);
        }
        self.world.progress.end();
    }
}
