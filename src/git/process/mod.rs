//! The one gate for child processes: git with a scrubbed environment, killed when this program is
//! interrupted.

mod attend;
pub mod bounded;
pub mod captured;
pub(crate) mod command_config;
pub mod detached;
pub mod early_end;
mod end;
pub mod foreground;
pub mod git_version;
mod inherited_file;
pub mod pager;
mod program;
pub(crate) mod resource_limits;
mod restart;
pub(crate) mod run_hook;
pub mod shell_command;
mod streaming;
pub(crate) mod trace;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crate::model::interrupt::Interrupt;
use crate::model::{Code, Error, Result, World};

use super::{full_disk, lock_file};
use attend::{ChildResult, Group, Terms, attend};
use command_config::CommandConfig;
use early_end::{EarlyEnd, Limits};
use inherited_file::InPlaceOf;
use resource_limits::Resources;
use streaming::Listener;

use trace::Trace;

pub(super) use end::descendants;
pub use end::{ask_group_to_end, kill_group};
pub use end::{ask_to_end, end_children, end_own_children, kill};
pub use program::on_path;
pub use restart::restart;
pub use run_hook::{CommitHook, run_commit_hook, run_hook};

/// The variable that names the current operation to child processes. A changing command of
/// git-colony that finds it set (in a hook, say) does nothing.
pub const OPERATION_VARIABLE: &str = "COLONY_OPERATION";

/// With this variable a merge driver of git-colony writes only the merged file: set when git only
/// previews a merge.
pub const PREVIEW_VARIABLE: &str = "COLONY_MERGE_PREVIEW";

/// The variables through which the caller's settings could run programs, name another repository or read our pathspecs
/// in another way.
const SCRUBBED: [&str; 11] = [
    "COLONY_REPOSITORY_ROOT",
    "GIT_CONFIG",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_GLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_LITERAL_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_PAGER",
    "GIT_TRACE",
    "VOX_REPOSITORY_ROOT",
];

/// Returns `true` for a variable that no child inherits: those above, and those that point to one repository.
fn is_scrubbed(name: &OsStr) -> bool {
    let mut all = SCRUBBED.iter().chain(&World::OF_REPOSITORY);
    all.any(|known| name == OsStr::new(known))
}

/// A git command to run.
pub struct Git {
    command: Command,
    interrupt: Interrupt,
    input: Option<Arc<Vec<u8>>>,
    keeps_output: bool,
    most_output_bytes: u64,
    most_time: Option<Duration>,
    resources: Option<Resources>,
    config: CommandConfig,
    listener: Option<Listener>,
    kept_open: Option<File>,
    trace: Trace,
}

/// The result of a finished command.
pub struct Output {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Why it ended early, if it did.
    pub early_end: Option<EarlyEnd>,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error, lossily decoded and trimmed.
    pub stderr: String,
}

impl Output {
    /// Returns the error for a command that failed: why it ended early, else git's message.
    pub fn failed(&self, wanted: &str) -> Error {
        match self.early_end {
            Some(EarlyEnd::Signal(_)) if !self.stderr.is_empty() => failed(wanted, &self.stderr),
            Some(end) => Error::new(Code::GitFailed, format!("cannot {wanted}: {end}")),
            None => failed(wanted, &self.stderr),
        }
    }

    /// Returns `true` if it exited with 0.
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }
}

impl Git {
    /// Starts from the world's environment less everything that points at a repository.
    pub fn new(world: &World) -> Git {
        let mut command = program::command(world, "git");
        command.env_clear();
        command.envs(world.variables.iter().filter(|(name, _)| !is_scrubbed(name)));
        // git looks up its own commands, such as git-lfs, in it.
        command.env("PATH", program::search_path(world));
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0");
        // What a hook of ours says is part of what git says.
        command.env_remove(trace::VARIABLE);
        command.current_dir(&world.cwd).stdin(Stdio::null());
        Git {
            command,
            interrupt: world.interrupt.clone(),
            input: None,
            keeps_output: true,
            most_output_bytes: u64::MAX,
            most_time: None,
            resources: None,
            config: CommandConfig::inherited(world),
            listener: None,
            kept_open: None,
            trace: Trace::of(world),
        }
    }

    /// Adds one argument.
    pub fn arg(&mut self, arg: impl AsRef<OsStr>) -> &mut Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    pub fn args<S: AsRef<OsStr>>(&mut self, args: impl IntoIterator<Item = S>) -> &mut Self {
        self.command.args(args);
        self
    }

    /// Sets a variable for the child.
    pub fn env(&mut self, name: &str, value: impl Into<OsString>) -> &mut Self {
        self.command.env(name, value.into());
        self
    }

    /// Removes a variable for the child.
    pub fn env_remove(&mut self, name: &str) -> &mut Self {
        self.command.env_remove(name);
        self
    }

    /// Sets a git configuration value for the child and its children, after the caller's values. It
    /// does not appear in arguments or files.
    pub fn config(&mut self, key: &str, value: impl Into<OsString>) -> &mut Self {
        self.config.add(key, value.into());
        self
    }

    /// Sets the directory it runs in.
    pub fn current_dir(&mut self, directory: &Path) -> &mut Self {
        self.command.current_dir(directory);
        self
    }

    /// Gives it bytes on standard input.
    pub fn input(&mut self, bytes: Vec<u8>) -> &mut Self {
        self.input = Some(Arc::new(bytes));
        self
    }

    /// Discards its standard output: it may be as large as any file.
    pub fn discard_output(&mut self) -> &mut Self {
        self.keeps_output = false;
        self
    }

    /// Reads at most this many bytes of its standard output; then the command is ended.
    pub fn limit_output(&mut self, bytes: u64) -> &mut Self {
        self.most_output_bytes = bytes;
        self
    }

    /// Passes its standard error to `listener` as it arrives, in pieces of any size.
    pub fn listen(&mut self, listener: impl FnMut(&[u8]) + Send + 'static) -> &mut Self {
        self.listener = Some(Box::new(listener));
        self
    }

    /// Has it and all its children keep a file open, with the locks on it; not together with input.
    /// In a conversation its standard error is then merged into standard output.
    pub fn keep_open(&mut self, file: &File) -> Result<&mut Self> {
        let file = file.try_clone();
        self.kept_open = Some(file.map_err(|e| Error::io("cannot hand a lock on", e))?);
        Ok(self)
    }

    /// Ends it after this time, on Linux together with all its children.
    pub fn limit_time(&mut self, time: Duration) -> &mut Self {
        self.most_time = Some(time);
        self
    }

    /// Has the system limit its resources; on Linux only. The limits hold even if this program is
    /// killed.
    pub(super) fn limit_resources(&mut self, resources: Resources) -> &mut Self {
        self.resources = Some(resources);
        self
    }

    /// Runs it to its end and collects both streams.
    pub fn run(&mut self) -> Result<Output> {
        self.interrupt.check()?;
        let traced = self.trace.begin(&self.command);
        let mut child = self.start_heard(self.input.is_some())?;
        let terms = Terms {
            input: self.input.clone(),
            most_output_bytes: self.most_output_bytes,
            most_error_bytes: u64::MAX,
            most_time: self.most_time,
            interrupt: None,
            group: Group::Shared,
            on_output: None,
            on_error: self.listener.as_mut(),
        };
        let limits = Limits::of(&terms);
        let attended = attend(&mut child, terms);
        self.interrupt.release(child.id());
        let attended = attended?;
        let early_end = EarlyEnd::of(&attended, &limits);
        let ChildResult { status, stdout, stderr, .. } = attended;
        if let Some(traced) = traced {
            traced.ended(status.code());
        }
        self.interrupt.check()?;
        let mut stderr = String::from_utf8_lossy(&stderr).trim().to_owned();
        if !status.success() {
            if let Some(error) = git_version::too_old(&self.command, status.code(), &stderr) {
                return Err(error);
            }
            stderr = full_disk::with_reason(stderr, &self.command);
        }
        Ok(Output { code: status.code(), early_end, stdout, stderr })
    }

    /// Runs it and returns its output, or git's message as the error.
    pub fn run_checked(&mut self, wanted: &str) -> Result<Vec<u8>> {
        let output = self.run()?;
        if output.success() {
            return Ok(output.stdout);
        }
        Err(output.failed(wanted))
    }

    /// Starts it with all three streams piped, for a conversation.
    pub fn converse(&mut self) -> Result<Child> {
        if let Some(traced) = self.trace.begin(&self.command) {
            traced.goes_on();
        }
        let Some(file) = &self.kept_open else {
            let command = self.command.stdin(Stdio::piped());
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            return self.start();
        };
        self.command.envs(self.config.variables()?);
        let mut command = inherited_file::keeping(file, &self.command, InPlaceOf::Errors)?;
        self.started(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn())
    }

    /// Starts it with the streams that [`Git::run`] reads and writes.
    fn start_heard(&mut self, has_input: bool) -> Result<Child> {
        let piped = |wanted| {
            if wanted { Stdio::piped() } else { Stdio::null() }
        };
        let stdout = piped(self.keeps_output);
        match &self.kept_open {
            Some(file) if !has_input => {
                self.command.envs(self.config.variables()?);
                let mut command = inherited_file::keeping(file, &self.command, InPlaceOf::Input)?;
                self.started(command.stdout(stdout).stderr(Stdio::piped()).spawn())
            }
            _ => {
                let command = self.command.stdin(piped(has_input));
                command.stdout(stdout).stderr(Stdio::piped());
                self.start()
            }
        }
    }

    fn start(&mut self) -> Result<Child> {
        self.command.envs(self.config.variables()?);
        let child = self.command.spawn();
        self.started(child)
    }

    fn started(&self, child: std::io::Result<Child>) -> Result<Child> {
        let child = child.map_err(|e| {
            Error::new(Code::GitFailed, "cannot start git")
                .caused_by(e)
                .hint("git --version   # git has to be on the PATH")
        })?;
        self.interrupt.adopt(child.id());
        if let Some(resources) = self.resources {
            resources.impose(child.id());
        }
        Ok(child)
    }
}

/// Returns the error for a git command that failed; `locked` if a lock file was in its way.
pub fn failed(wanted: &str, stderr: &str) -> Error {
    if let Some(lock) = lock_file::named_in(stderr) {
        return lock_file::in_the_way(&format!("cannot {wanted}"), &lock);
    }
    let said = stderr.lines().last().unwrap_or("git gave no reason");
    Error::new(Code::GitFailed, format!("cannot {wanted}: {said}"))
}

/// Returns `true` if this process is in the foreground of a terminal; `false` also if it is not a terminal.
pub fn is_in_foreground(terminal: impl std::os::fd::AsFd) -> bool {
    rustix::termios::tcgetpgrp(terminal).is_ok_and(|group| group == rustix::process::getpgrp())
}
