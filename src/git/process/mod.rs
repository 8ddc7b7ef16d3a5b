//! The one gate for child processes: git with a scrubbed environment, killed when this program is
//! interrupted.

pub mod bounded;
pub(crate) mod command_config;
pub mod git_version;
mod inherited_file;
pub mod pager;
pub(crate) mod resource_limits;
pub(crate) mod run_hook;
pub mod shell_command;
mod streaming;
pub(crate) mod trace;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::model::world::Interrupt;
use crate::model::{Code, Error, Result, World};

use super::{full_disk, lock_file};
use command_config::CommandConfig;
use inherited_file::InPlaceOf;
use resource_limits::Resources;
use streaming::{End, Listener, Pipe};

use trace::Trace;

pub use run_hook::{CommitHook, run_commit_hook, run_hook};

/// The variable that names the current operation to child processes. A changing command of
/// git-colony that finds it set (in a hook, say) does nothing.
pub const OPERATION_VARIABLE: &str = "COLONY_OPERATION";

/// With this variable a merge driver of git-colony writes only the merged file: set when git only
/// previews a merge.
pub const PREVIEW_VARIABLE: &str = "COLONY_MERGE_PREVIEW";

/// The variables that tie git to one repository (`git rev-parse --local-env-vars`), and those
/// through which the caller's settings could run programs. Never inherited.
pub(super) const SCRUBBED: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_DIR",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PAGER",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_TRACE",
    "GIT_WORK_TREE",
];

/// A git command to run.
pub struct Git {
    command: Command,
    interrupt: Interrupt,
    input: Option<Vec<u8>>,
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
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error, lossily decoded and trimmed.
    pub stderr: String,
}

impl Output {
    /// Returns `true` if it exited with 0.
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }
}

impl Git {
    /// Starts from the world's environment less everything that points at a repository.
    #[expect(clippy::disallowed_methods, reason = "this is the gate for processes")]
    pub fn new(world: &World) -> Git {
        let mut command = Command::new("git");
        command.env_clear();
        let scrubbed = |name: &OsStr| SCRUBBED.iter().any(|known| name == OsStr::new(known));
        command.envs(world.variables.iter().filter(|(name, _)| !scrubbed(name)));
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
        self.input = Some(bytes);
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
    ///
    /// # Errors
    /// `io`.
    pub fn keep_open(&mut self, file: &File) -> Result<&mut Self> {
        let file = file.try_clone();
        self.kept_open = Some(file.map_err(|e| Error::io("cannot hand a lock on", e))?);
        Ok(self)
    }

    /// Kills it after this time, on Linux together with all its children.
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
    ///
    /// # Errors
    /// `git-failed` when git cannot be started, `interrupted` when a signal ended this process.
    pub fn run(&mut self) -> Result<Output> {
        self.interrupt.check()?;
        let input = self.input.take();
        let traced = self.trace.begin(&self.command);
        let mut child = self.start_heard(input.is_some())?;
        let (mut stdin, mut stdout, mut stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let cannot = |e| Error::io("cannot read the output of git", e);
        let (of_out, of_err) = (Pipe::of(stdout.as_ref()), Pipe::of(stderr.as_ref()));
        let over = End::new();
        let most = self.most_output_bytes;
        let (ended, end) = mpsc::channel::<()>();
        let (done, is_read) = mpsc::channel::<()>();
        let (limit, id) = (self.most_time, child.id());
        std::thread::scope(|scope| {
            if let Some(limit) = limit {
                scope.spawn(move || end_late(id, limit, &end));
            }
            let (over, pipes) = (&over, [&of_out, &of_err]);
            scope.spawn(move || over.announce(id, pipes, &is_read));
            scope.spawn(|| {
                if let (Some(pipe), Some(bytes)) = (stdin.take(), &input) {
                    // A child that stops reading reports why on standard error and in its exit
                    // code.
                    drop({ pipe }.write_all(bytes));
                }
            });
            let listener = &mut self.listener;
            let heard = scope.spawn(|| {
                let pipe = stderr.take();
                pipe.map(|pipe| over.read((&of_err, pipe), &mut err, listener.as_mut()))
            });
            // The pipe closes here, which ends a git that continues to write.
            let read = stdout.take();
            let read = read.map(|pipe| over.read((&of_out, pipe.take(most)), &mut out, None));
            // When both streams are closed, the child has ended or is about to.
            drop(heard.join());
            drop((ended, done));
            read
        })
        .transpose()
        .map_err(cannot)?;
        // Keep the input for another run.
        self.input = input;
        let status = child.wait();
        self.interrupt.release(child.id());
        let status = status.map_err(|e| Error::io("cannot wait for git", e))?;
        if let Some(traced) = traced {
            traced.ended(status.code());
        }
        self.interrupt.check()?;
        let mut stderr = String::from_utf8_lossy(&err).trim().to_owned();
        if !status.success() {
            if let Some(error) = git_version::too_old(&self.command, (status.code(), &stderr)) {
                return Err(error);
            }
            stderr = full_disk::with_reason(stderr, &self.command);
        }
        Ok(Output {
            code: status.code(),
            stdout: out,
            stderr,
        })
    }

    /// Runs it and returns its output, or git's message as the error.
    ///
    /// # Errors
    /// `git-failed` with git's message.
    pub fn run_checked(&mut self, wanted: &str) -> Result<Vec<u8>> {
        let output = self.run()?;
        if output.success() {
            return Ok(output.stdout);
        }
        Err(failed(wanted, &output.stderr))
    }

    /// Starts it with all three streams piped, for a conversation.
    ///
    /// # Errors
    /// `git-failed` when git cannot be started.
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
            if wanted {
                Stdio::piped()
            } else {
                Stdio::null()
            }
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

/// Kills a child and all its children if it has not ended within the limit.
fn end_late(child: u32, limit: Duration, end: &mpsc::Receiver<()>) {
    if end.recv_timeout(limit) != Err(mpsc::RecvTimeoutError::Timeout) {
        return;
    }
    // The child has not been reaped, so its number is still its own.
    kill(&[descendants(child), vec![child]].concat());
}

/// Returns the error for a git command that failed; `locked` if a lock file was in its way.
pub fn failed(wanted: &str, stderr: &str) -> Error {
    if let Some(lock) = lock_file::named_in(stderr) {
        return lock_file::in_the_way(&format!("cannot {wanted}"), &lock);
    }
    let said = stderr.lines().last().unwrap_or("git gave no reason");
    Error::new(Code::GitFailed, format!("cannot {wanted}: {said}"))
}

/// Ends the children of a program that was asked to stop, and their children: by SIGTERM, then by
/// SIGKILL.
///
/// gix, not this gate, starts filters, so on Linux all descendants are looked up.
pub fn end_children(interrupt: &Interrupt) {
    let spared = interrupt.spared();
    let spared = spared.map(|child| [descendants(child), vec![child]].concat());
    let spared = spared.unwrap_or_default();
    let living = || {
        let mut living = descendants(std::process::id());
        living.retain(|child| !spared.contains(child));
        living
    };
    let mut children = living();
    children.extend(interrupt.children());
    ask_to_end(&children);
    for _ in 0..20 {
        if interrupt.children().is_empty() && living().is_empty() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    kill(&living());
}

/// Sends SIGTERM to processes.
pub fn ask_to_end(pids: &[u32]) {
    signal_all(pids, Signal::TERM);
}

/// Sends SIGKILL to processes.
pub fn kill(pids: &[u32]) {
    signal_all(pids, Signal::KILL);
}

fn signal_all(pids: &[u32], signal: Signal) {
    for pid in pids {
        let pid = i32::try_from(*pid).ok().and_then(Pid::from_raw);
        // The process may be gone already.
        pid.map(|pid| kill_process(pid, signal).ok());
    }
}

/// Lists all descendants of a process; empty if the system does not provide them.
pub(super) fn descendants(pid: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let lists =
        threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let children: Vec<u32> = lists
        .flat_map(|list| {
            list.split(' ')
                .filter_map(|pid| pid.trim().parse().ok())
                .collect::<Vec<_>>()
        })
        .collect();
    let below = children
        .iter()
        .flat_map(|child| descendants(*child))
        .collect::<Vec<_>>();
    children.into_iter().chain(below).collect()
}
