//! Faults that strike a real process at a chosen system call, by strace.
//!
//! strace follows one process only: the program's main thread, or the one `git update-ref` that a
//! stand-in for git hands to it. It counts the calls of one name, and strikes once.
//!
//! Nobody waits here: the program and the gits it started end before a run returns.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use super::command::ChangingCommand;
use super::repository::{self, Repository, write_program};

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
    /// The same, and its user runs the very command again.
    KillAndRepeat,
    /// The program is killed as it makes the call, and its git before it can drop its locks.
    KillBoth,
    /// Its first `git update-ref` is killed as it makes the call; the program lives.
    KillGit,
    /// A git that moves refs or HEAD is killed as it makes the call, and the program before it can tell.
    KillGroup,
    /// Any other git is, be it started by git-lfs; the calls of all are counted together.
    KillAnyGit,
    /// git-lfs is, when it makes the call on the one or the other of its hooks.
    KillLfs,
    /// The call fails with this error.
    Fail(&'static str),
    /// The same, and it may be one by which the program reads, so that it cannot see what is left.
    FailAnywhere(&'static str),
    /// The call fails with EIO where it is one on this file.
    FailOf(&'static str),
}

/// How a run under a fault ended.
pub(crate) struct Struck {
    /// False when the command made fewer calls and was never struck.
    pub(crate) happened: bool,
    /// A git was killed that took locks of its own accord.
    pub(crate) locks_unknown: bool,
    /// Its exit code; `None` for a killed one.
    pub(crate) exit_code: Option<i32>,
    /// What it printed.
    pub(crate) said: String,
}

impl Fault {
    /// Runs the command and strikes it.
    pub(crate) fn strike(&self, repository: &Repository, command: &ChangingCommand) -> Struck {
        let inject = self.inject(repository);
        let (output, log) = trace(repository, command, self.blow, &inject);
        let locks_unknown = match self.blow {
            Blow::KillAnyGit | Blow::KillLfs => true,
            // It is written down which locks git is about to take.
            Blow::KillGit
            | Blow::KillBoth
            | Blow::KillGroup
            | Blow::Kill
            | Blow::KillAndWorkOn
            | Blow::KillAndRepeat
            | Blow::Fail(_)
            | Blow::FailAnywhere(_)
            | Blow::FailOf(_) => false,
        };
        Struck {
            happened: log.contains("killed by SIGKILL") || log.contains("(INJECTED)"),
            locks_unknown,
            exit_code: output.status.code(),
            said: repository::words(&output),
        }
    }
}

/// What strace is asked for, and what the stand-in for git finds out before.
struct Tracing {
    options: Vec<String>,
    script: String,
}

impl Fault {
    fn inject(&self, repository: &Repository) -> Tracing {
        let (call, at) = (self.call, self.at);
        let mut tracing = Tracing::inject(call, &self.blow.effect(), &at.to_string());
        match self.blow {
            Blow::KillAnyGit => tracing = Tracing::of_all(call, at),
            Blow::KillGroup => tracing = Tracing::of_a_group(Some(self)),
            Blow::KillLfs => {
                let hook = HOOKS_OF_LFS.get(at - 1).copied().unwrap_or("none");
                let path = repository.root.join(".git/hooks").join(hook);
                let path = path.to_str().expect("our names are UTF-8").to_owned();
                tracing = Tracing::inject(call, &self.blow.effect(), "1");
                tracing.options.extend(["-f", "-P"].map(str::to_owned));
                tracing.options.push(path);
            }
            Blow::FailOf(file) => {
                // strace knows it by the name that the program gives, and by its path once it is open.
                let path = repository.root.join(file);
                let path = path.to_str().expect("our names are UTF-8");
                let name = Path::new(file).file_name().and_then(|name| name.to_str());
                for seen in [path, name.expect("it has a name")] {
                    tracing.options.extend(["-P", seen].map(str::to_owned));
                }
            }
            _ => {}
        }
        tracing
    }
}

const HOOKS_OF_LFS: [&str; 4] = ["pre-push", "post-checkout", "post-commit", "post-merge"];

impl Tracing {
    fn inject(call: &str, effect: &str, at: &str) -> Tracing {
        // A question mark: not every machine has every call. What git answers is traced as well.
        let trace = format!("trace=?{call},?write");
        let inject = format!("inject=?{call}:{effect}:when={at}");
        Tracing {
            options: ["-e".to_owned(), trace, "-e".to_owned(), inject].to_vec(),
            script: String::new(),
        }
    }

    /// Counts the calls of all gits together.
    fn of_all(call: &str, at: usize) -> Tracing {
        let mut tracing = Tracing::inject(call, "signal=KILL", "$left");
        tracing.script = format!(
            "made=$(cat \"$logs\"/* 2>/dev/null | grep -c '^{call}(')\n\
             left=$(({at} - made))\n\
             [ \"$left\" -gt 0 ] || exec $git \"$@\"\n"
        );
        tracing
    }

    fn of_a_group(fault: Option<&Fault>) -> Tracing {
        match fault {
            Some(fault) => Tracing::of_all(fault.call, fault.at),
            None => Tracing::watch(&CALLS_OF_A_GROUP),
        }
    }

    fn watch(calls: &[&str]) -> Tracing {
        Tracing {
            options: ["-e".to_owned(), format!("trace=?{}", calls.join(",?"))].to_vec(),
            script: String::new(),
        }
    }
}

impl Blow {
    /// Tells whether the program is killed, so that the next command has to recover.
    pub(crate) fn kills_the_program(self) -> bool {
        matches!(
            self,
            Blow::Kill
                | Blow::KillAndWorkOn
                | Blow::KillAndRepeat
                | Blow::KillBoth
                | Blow::KillGroup
        )
    }

    fn effect(self) -> String {
        match self {
            Blow::Fail(error) | Blow::FailAnywhere(error) => format!("error={error}"),
            Blow::FailOf(_) => "error=EIO".to_owned(),
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
            Blow::KillAndRepeat => f.write_str("killed, then run again"),
            Blow::KillBoth => f.write_str("both killed"),
            Blow::KillGit => f.write_str("git killed"),
            Blow::KillGroup => f.write_str("group killed"),
            Blow::KillAnyGit => f.write_str("any git killed"),
            Blow::KillLfs => f.write_str("git-lfs killed"),
            Blow::Fail(error) => f.write_str(error),
            Blow::FailAnywhere(error) => write!(f, "{error} anywhere"),
            Blow::FailOf(file) => write!(f, "EIO of {file}"),
        }
    }
}

/// Returns those of the calls that whoever is to be struck makes.
pub(crate) fn calls_made(
    repository: &Repository,
    command: &ChangingCommand,
    blow: Blow,
    calls: &[&'static str],
) -> Vec<&'static str> {
    if blow == Blow::KillLfs {
        return calls.to_vec();
    }
    let (_, log) = trace(repository, command, blow, &Tracing::watch(calls));
    let made: BTreeSet<_> =
        log.lines().filter_map(|line| line.split_once('(')).map(|(name, _)| name).collect();
    let calls = calls.iter().copied();
    calls.filter(|call| made.contains(call)).collect()
}

/// The calls of git by which it takes, fills, uses and removes its locks.
const CALLS_OF_A_GROUP: [&str; 7] =
    ["openat", "write", "close", "rename", "unlink", "mkdir", "rmdir"];

/// Returns every moment at which a git that moves refs or HEAD may be killed with the program: each of
/// its calls from where it makes its first file. What it does before leaves nothing.
pub(crate) fn moments_of_a_group(repository: &Repository, command: &ChangingCommand) -> Vec<Fault> {
    let (_, log) = trace(repository, command, Blow::KillGroup, &Tracing::of_a_group(None));
    moments_in(&log)
}

/// Reads the logs of several gits, one after the other; the calls of all are counted together.
pub(crate) fn moments_in(logs: &str) -> Vec<Fault> {
    let (mut made, mut moments) = (BTreeMap::<&str, usize>::new(), Vec::new());
    let mut has_begun = false;
    for line in logs.lines() {
        has_begun |= line.contains("O_CREAT");
        has_begun &= !line.starts_with("+++");
        let name = line.split_once('(').map(|(name, _)| name);
        let Some(&call) = CALLS_OF_A_GROUP.iter().find(|call| Some(**call) == name) else {
            continue;
        };
        let at = made.entry(call).or_default();
        *at += 1;
        if has_begun {
            moments.push(Fault { blow: Blow::KillGroup, call, at: *at });
        }
    }
    moments
}

/// Runs the command with strace at whoever is to be struck; returns what strace wrote, too.
fn trace(
    repository: &Repository,
    command: &ChangingCommand,
    blow: Blow,
    tracing: &Tracing,
) -> (Output, String) {
    let scratch = repository::temporary_folder();
    let (log, tools) = (scratch.path().join("log"), scratch.path());
    let strace = strace(&log, &tracing.options);
    let tracer = match blow {
        Blow::Kill
        | Blow::KillAndWorkOn
        | Blow::KillAndRepeat
        | Blow::Fail(_)
        | Blow::FailAnywhere(_)
        | Blow::FailOf(_) => strace,
        Blow::KillBoth => {
            // git unlinks a lock when the pipe to it closes, and one of its own after a commit.
            let before_it_cleans_up = Tracing::inject("unlink", "signal=KILL", "1");
            stand_in_for_git(tools, &tools.join("log-of-git"), &before_it_cleans_up);
            strace
        }
        Blow::KillGit => {
            stand_in_for_git(tools, &log, tracing);
            Vec::new()
        }
        Blow::KillGroup => {
            stand_in_for_a_group(tools, &log, tracing);
            Vec::new()
        }
        Blow::KillAnyGit => {
            stand_in_for_every_git(tools, &log, tracing);
            Vec::new()
        }
        Blow::KillLfs => {
            stand_in_for_lfs(tools, &log, tracing);
            Vec::new()
        }
    };
    let mut colony = repository.traced_colony(&tracer, tools);
    let output = repository::run(colony.args(command.args));
    (output, read_logs(&log))
}

/// Puts a `git` into a folder that strikes at one moment, or only notes all in the folder `logs`.
pub(crate) fn strike_group(folder: &Path, logs: &Path, fault: Option<&Fault>) {
    stand_in_for_a_group(folder, logs, &Tracing::of_a_group(fault));
}

/// Reads what strace wrote: one file, or a folder of them.
pub(crate) fn read_logs(log: &Path) -> String {
    let mut logs: Vec<PathBuf> = match fs::read_dir(log) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(_) => vec![log.to_owned()],
    };
    logs.sort();
    let texts = logs.iter().map(|log| fs::read_to_string(log).unwrap_or_default());
    texts.collect()
}

fn strace(log: &Path, options: &[String]) -> Vec<String> {
    let log = log.to_str().expect("our names are UTF-8").to_owned();
    let mut strace = vec!["strace".to_owned(), "-o".to_owned(), log];
    strace.extend_from_slice(options);
    strace
}

/// Puts a `git` into a folder that runs its first `update-ref` under strace.
fn stand_in_for_git(folder: &Path, log: &Path, tracing: &Tracing) {
    let script = format!(
        "#!/bin/sh\n\
         if [ \"$1\" = update-ref ] && [ ! -e {log} ]; then\n\
         exec {strace} {git} \"$@\"\n\
         fi\n\
         exec {git} \"$@\"\n",
        log = log.display(),
        strace = strace(log, &tracing.options).join(" "),
        git = real("git").display(),
    );
    put(folder, &script);
}

/// Puts a `git` into a folder that runs every git but `update-ref` under strace, each with a log of
/// its own. git-lfs is run without the git above it, and so runs this one, too.
fn stand_in_for_every_git(folder: &Path, logs: &Path, tracing: &Tracing) {
    fs::create_dir(logs).expect("the folder is empty");
    let script = format!(
        "#!/bin/sh\n\
         git={git} logs={logs}\n\
         case \"$1\" in\n\
         update-ref) exec $git \"$@\" ;;\n\
         lfs) shift; exec {lfs} \"$@\" ;;\n\
         esac\n\
         {before}\
         exec {strace}/$(date +%s%N).$$ $git \"$@\"\n",
        logs = logs.display(),
        git = real("git").display(),
        lfs = real("git-lfs").display(),
        before = tracing.script,
        strace = format_args!("strace {} -o {}", tracing.options.join(" "), logs.display()),
    );
    put(folder, &script);
}

/// Puts a `git` into a folder that runs every git that moves refs or HEAD under strace, and kills whoever
/// started one that was killed. It holds the pipes of that git, so that nobody hears of its end before.
fn stand_in_for_a_group(folder: &Path, logs: &Path, tracing: &Tracing) {
    fs::create_dir(logs).expect("the folder is empty");
    let script = format!(
        "#!/bin/sh\n\
         git={git} logs={logs}\n\
         case \" $* \" in\n\
         *' update-ref '*|*' symbolic-ref '*) ;;\n\
         *) exec $git \"$@\" ;;\n\
         esac\n\
         {before}\
         log=$logs/$(date +%s%N).$$\n\
         strace {options} -o \"$log\" $git \"$@\"\n\
         code=$?\n\
         ! grep -q 'killed by SIGKILL' \"$log\" || kill -KILL $PPID\n\
         exit $code\n",
        git = real("git").display(),
        logs = logs.display(),
        before = tracing.script,
        options = tracing.options.join(" "),
    );
    put(folder, &script);
}

/// Puts a `git` into a folder that runs git-lfs under strace, with all its threads.
fn stand_in_for_lfs(folder: &Path, log: &Path, tracing: &Tracing) {
    let script = format!(
        "#!/bin/sh\n\
         if [ \"$1\" = lfs ] && [ ! -e {log} ] && [ \"$2\" != version ]; then\n\
         shift\n\
         exec {strace} {lfs} \"$@\"\n\
         fi\n\
         exec {git} \"$@\"\n",
        log = log.display(),
        strace = strace(log, &tracing.options).join(" "),
        lfs = real("git-lfs").display(),
        git = real("git").display(),
    );
    put(folder, &script);
}

fn put(folder: &Path, script: &str) {
    write_program(&folder.join("git"), script);
}

fn real(program: &str) -> PathBuf {
    std::env::split_paths(&repository::search_path())
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
        .unwrap_or_else(|| panic!("{program} is not on the PATH"))
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
