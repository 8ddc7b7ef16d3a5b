//! Faults that strike a real process at a chosen system call, by strace.
//!
//! strace follows one process only: the program's main thread, or the one `git update-ref` that a
//! stand-in for git hands to it. It counts the calls of one name, and strikes once.
//!
//! Nobody waits here: the program and the gits it started end before a run returns.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use super::command::ChangingCommand;
use super::repository::{self, Repository};

/// One fault.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    /// Who is struck, and how.
    pub(crate) blow: Blow,
    /// The name of a system call.
    pub(crate) call: &'static str,
    /// Which of the calls of that name, from 1.
    pub(crate) at: usize,
}

/// Who is struck, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Blow {
    /// The program is killed as it makes the call.
    Kill,
    /// The same, and its user works on with plain git before the next command recovers.
    KillAndWorkOn,
    /// The program is killed as it makes the call, and its git before it can drop its locks.
    KillBoth,
    /// Its first `git update-ref` is killed as it makes the call; the program lives.
    KillGit,
    /// The call fails with this error.
    Fail(&'static str),
}

/// How a run under a fault ended.
pub(crate) struct Struck {
    /// False when the command made fewer calls and was never struck.
    pub(crate) happened: bool,
    /// A git was killed before the program could write down which locks it held.
    pub(crate) locks_unknown: bool,
    /// Its exit code; `None` for a killed one.
    pub(crate) exit_code: Option<i32>,
    /// What it printed.
    pub(crate) said: String,
}

impl Fault {
    /// Runs the command and strikes it.
    pub(crate) fn strike(&self, repository: &Repository, command: &ChangingCommand) -> Struck {
        let inject = inject(self.call, &self.blow.effect(), self.at);
        let (output, log) = trace(repository, command, self.blow, &inject);
        let locks_unknown = match self.blow {
            Blow::KillGit => !log.lines().any(is_answer_to_prepare),
            Blow::KillBoth => !note_of_locks_is_written(repository),
            Blow::Kill | Blow::KillAndWorkOn | Blow::Fail(_) => false,
        };
        Struck {
            happened: log.contains("killed by SIGKILL") || log.contains("(INJECTED)"),
            locks_unknown,
            exit_code: output.status.code(),
            said: repository::words(&output),
        }
    }
}

impl Blow {
    /// Tells whether the program is killed, so that the next command has to recover.
    pub(crate) fn kills_the_program(self) -> bool {
        matches!(self, Blow::Kill | Blow::KillAndWorkOn | Blow::KillBoth)
    }

    fn effect(self) -> String {
        match self {
            Blow::Fail(error) => format!("error={error}"),
            _ => "signal=KILL".to_owned(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} {}", self.blow, self.call, self.at)
    }
}

impl fmt::Display for Blow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Blow::Kill => f.write_str("killed"),
            Blow::KillAndWorkOn => f.write_str("killed, then git commit"),
            Blow::KillBoth => f.write_str("both killed"),
            Blow::KillGit => f.write_str("git killed"),
            Blow::Fail(error) => f.write_str(error),
        }
    }
}

fn is_answer_to_prepare(line: &str) -> bool {
    line.starts_with(r#"write(1, "prepare: ok\n""#) && line.ends_with("= 12")
}

fn note_of_locks_is_written(repository: &Repository) -> bool {
    let ours = fs::read_dir(repository.root.join(".git/colony"));
    let ours = ours.into_iter().flatten().flatten();
    let mut notes = ours.filter(|entry| entry.path().extension().is_some_and(|e| e == "locks"));
    notes.any(|entry| entry.metadata().is_ok_and(|note| note.len() > 0))
}

/// Returns those of the calls that whoever is to be struck makes.
pub(crate) fn calls_made(
    repository: &Repository,
    command: &ChangingCommand,
    blow: Blow,
    calls: &[&'static str],
) -> Vec<&'static str> {
    let all = ["-e".to_owned(), format!("trace=?{}", calls.join(",?"))];
    let (_, log) = trace(repository, command, blow, &all);
    let made: BTreeSet<_> = log
        .lines()
        .filter_map(|line| line.split_once('('))
        .map(|(name, _)| name)
        .collect();
    let calls = calls.iter().copied();
    calls.filter(|call| made.contains(call)).collect()
}

/// Runs the command with strace at whoever is to be struck; returns what strace wrote, too.
fn trace(
    repository: &Repository,
    command: &ChangingCommand,
    blow: Blow,
    options: &[String],
) -> (Output, String) {
    let scratch = repository::temporary_folder();
    let (log, tools) = (scratch.path().join("log"), scratch.path());
    let strace = strace(&log, options);
    let tracer = match blow {
        Blow::Kill | Blow::KillAndWorkOn | Blow::Fail(_) => strace,
        Blow::KillBoth => {
            // git unlinks a lock when the pipe to it closes, and one of its own after a commit.
            let before_it_cleans_up = inject("unlink", "signal=KILL", 1);
            stand_in_for_git(tools, &tools.join("log-of-git"), &before_it_cleans_up);
            strace
        }
        Blow::KillGit => {
            stand_in_for_git(tools, &log, options);
            Vec::new()
        }
    };
    let mut colony = repository.traced_colony(&tracer, tools);
    let output = repository::run(colony.args(command.args));
    (output, fs::read_to_string(log).unwrap_or_default())
}

fn strace(log: &Path, options: &[String]) -> Vec<String> {
    let log = log.to_str().expect("our names are UTF-8").to_owned();
    let mut strace = vec!["strace".to_owned(), "-o".to_owned(), log];
    strace.extend_from_slice(options);
    strace
}

fn inject(call: &str, effect: &str, at: usize) -> Vec<String> {
    // A question mark: not every machine has every call. What git answers is traced as well.
    let trace = format!("trace=?{call},?write");
    let inject = format!("inject=?{call}:{effect}:when={at}");
    ["-e".to_owned(), trace, "-e".to_owned(), inject].to_vec()
}

/// Puts a `git` into a folder that runs its first `update-ref` under strace.
fn stand_in_for_git(folder: &Path, log: &Path, options: &[String]) {
    let script = format!(
        "#!/bin/sh\n\
         if [ \"$1\" = update-ref ] && [ ! -e {log} ]; then\n\
         exec {strace} {git} \"$@\"\n\
         fi\n\
         exec {git} \"$@\"\n",
        log = log.display(),
        strace = strace(log, options).join(" "),
        git = real_git().display(),
    );
    let path = folder.join("git");
    fs::write(&path, script).expect("the folder is empty");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it was just written");
}

fn real_git() -> PathBuf {
    std::env::split_paths(&repository::search_path())
        .map(|folder| folder.join("git"))
        .find(|path| path.is_file())
        .expect("git is on the PATH")
}

/// Fails in words where strace is missing or may not trace.
pub(crate) fn require_strace() {
    let mut strace = repository::command("strace", Path::new("/"));
    let output = strace.args(["-o", "/dev/null", "true"]).output();
    let output = output.unwrap_or_else(|error| {
        panic!(
            "cannot start strace: {error}\n\
             install it with 'apt-get install strace', or run 'tests/run', which does"
        )
    });
    assert!(
        output.status.success(),
        "strace cannot trace here: {}\n\
         allow ptrace: in a container with --cap-add=SYS_PTRACE, else by kernel.yama.ptrace_scope",
        repository::words(&output)
    );
}
