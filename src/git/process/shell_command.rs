//! Commands of a shell that are no git: each in a process group of its own, which ends with it.
//!
//! They get the caller's environment less what ties git to a repository, what is ours, and the tokens
//! that we know of. Whether a command may run at all is decided elsewhere.

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

use super::{SCRUBBED, descendants};

/// Tokens under their usual names, whatever the settings call ours.
const TOKENS: [&str; 3] = ["GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN"];

/// How long a group has between being asked to end and being ended, and how long what is left of its
/// output is waited for.
const GRACE: Duration = Duration::from_secs(1);

/// How often to look.
const BEAT: Duration = Duration::from_millis(10);

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With an exit code; `None` where a signal ended it.
    Exited(Option<i32>),
    /// It had not ended in time, and was ended.
    OutOfTime,
}

/// Runs a command by `sh -c` in the world's directory; its output goes to the person, line by line.
///
/// Nothing that it has started in its process group outlives it.
///
/// # Errors
/// `interrupted`; `io` when no shell can be started; those of [`credentials::sources`].
pub fn run_shell(world: &World, command: &str, limit: Option<Duration>) -> Result<Ending> {
    world.interrupt.check()?;
    let cannot = |e| Error::io("cannot start a shell", e);
    let (reader, writer) = std::io::pipe().map_err(cannot)?;
    rustix::io::ioctl_fionbio(&reader, true).map_err(|e| cannot(e.into()))?;
    let child = shell(world, command)?
        .stdout(writer.try_clone().map_err(cannot)?)
        .stderr(writer)
        .spawn()
        .map_err(cannot)?;
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

/// Makes the command of a shell; both streams are still to be set.
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

/// Tells whether a variable belongs to the command that is run here and not to what it starts.
fn is_tied(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let ours = name.starts_with(b"COLONY_") && name != b"COLONY_SHARED_ROOT";
    // Configuration of one command may hold credentials.
    let config = [
        b"GIT_CONFIG_COUNT".as_slice(),
        b"GIT_CONFIG_KEY_",
        b"GIT_CONFIG_VALUE_",
        b"GIT_CONFIG_PARAMETERS",
    ];
    ours || config.iter().any(|start| name.starts_with(start))
        || SCRUBBED.iter().any(|known| name == known.as_bytes())
}

/// A command with all that it has started.
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
                std::thread::sleep(BEAT);
            }
        }
        // The process is not reaped yet: its number still stands for this group and no other.
        self.signal(Signal::KILL);
        let status = self.child.wait()?;
        let patience = Instant::now() + GRACE;
        while !self.lines.ended && Instant::now() < patience {
            if !self.lines.tell()? {
                std::thread::sleep(BEAT);
            }
        }
        self.lines.finish();
        Ok(if late {
            Ending::OutOfTime
        } else {
            Ending::Exited(status.code())
        })
    }

    /// Tells whether the shell has ended, and leaves it to be reaped.
    fn has_ended(&self) -> std::io::Result<bool> {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        Ok(waitid(WaitId::Pid(self.pid), look)?.is_some())
    }

    /// Ends it politely, then for good, with what has left the group meanwhile.
    fn end(&mut self) -> std::io::Result<()> {
        let below = descendants(self.child.id());
        self.signal(Signal::TERM);
        let patience = Instant::now() + GRACE;
        while !self.has_ended()? && Instant::now() < patience {
            if !self.lines.tell()? {
                std::thread::sleep(BEAT);
            }
        }
        for pid in below {
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
            // One that is gone already is what we want.
            pid.map(|pid| kill_process(pid, Signal::KILL).ok());
        }
        Ok(())
    }

    fn signal(&self, signal: Signal) {
        // A group that is gone already is what we want.
        kill_process_group(self.pid, signal).ok();
    }
}

/// What a command says, told as it comes.
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

    /// Tells what there is; false when there was nothing.
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
