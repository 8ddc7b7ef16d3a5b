//! Signals and streams of real processes: who is told to stop stops with all that it has started, who
//! is stopped keeps others waiting, and an answer that nobody can read is no reason to panic.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{Sandbox, end_of, eventually, is_running, program_path, write_program};

/// A sandbox with a stand-in for git: the n-th git that is started hangs instead.
struct Stage {
    sandbox: Sandbox,
    folder: PathBuf,
}

impl Stage {
    fn new() -> Stage {
        let sandbox = Sandbox::new();
        sandbox.git(&["config", "commit.gpgsign", "false"]);
        let folder = sandbox.outside().join("stand-in");
        fs::create_dir(&folder).unwrap();
        Stage { sandbox, folder }
    }

    /// Lets the git of a number hang from now on, counted from 1.
    fn hang_at(&self, number: usize) {
        let path = std::env::var_os("PATH").unwrap();
        let git = std::env::split_paths(&path).map(|folder| folder.join("git"));
        let git = git.into_iter().find(|path| path.exists()).unwrap();
        let script = format!(
            "#!/bin/sh\n\
             echo >>'{folder}/count'\n\
             if [ $(wc -l <'{folder}/count') -eq {number} ]; then\n\
             echo $$ >'{folder}/new'\n\
             mv '{folder}/new' '{folder}/hanging'\n\
             exec sleep 600\n\
             fi\n\
             exec '{git}' \"$@\"\n",
            folder = self.folder.display(),
            git = git.display(),
        );
        for name in ["count", "hanging"] {
            fs::remove_file(self.folder.join(name)).ok();
        }
        write_program(&self.folder.join("git"), script);
    }

    fn start(&self, args: &[&str]) -> Child {
        let mut path = self.folder.clone().into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        command(&self.sandbox, args)
            .env("PATH", path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Waits until a git hangs; `None` when the program ends before.
    fn hanging(&self, child: &mut Child) -> Option<u32> {
        let hanging = || fs::read_to_string(self.folder.join("hanging")).ok();
        eventually("a git hangs, or the program ends", || {
            hanging().is_some() || child.try_wait().unwrap().is_some()
        });
        hanging().map(|pid| pid.trim().parse().unwrap())
    }
}

fn command(sandbox: &Sandbox, args: &[&str]) -> Command {
    let mut command = sandbox.program();
    command
        .env("COLONY_SHARED_ROOT", sandbox.outside().join("shared"))
        .stdin(Stdio::null())
        .args(args);
    command
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Stops a command at each git that it starts, in the short form at one of so many: nothing has changed,
/// or all has.
fn stop_at_gits(args: &[&str], one_of: usize, prepare: impl Fn(&Stage)) {
    let is_long = std::env::var_os("COLONY_TEST_LONG").is_some();
    let mut hung = 0;
    for number in (1..).step_by(if is_long { 1 } else { one_of }) {
        let stage = Stage::new();
        let sandbox = &stage.sandbox;
        prepare(&stage);
        let before = sandbox.visible_state();
        stage.hang_at(number);
        let mut child = stage.start(args);
        let Some(pid) = stage.hanging(&mut child) else {
            break;
        };
        hung += 1;
        let (sent, code) = match hung % 2 {
            0 => (Signal::INT, 130),
            _ => (Signal::TERM, 143),
        };
        signal(&child, sent);
        let ended = end_of(&mut child).code();
        assert!(!is_running(pid), "{args:?}: the git at {number} goes on");
        sandbox.check_invariants_of_git();
        if sandbox.visible_state() == before {
            assert_eq!(ended, Some(code), "{args:?}: the git at {number}");
        }
        // What was begun is in nobody's way.
        let again = command(sandbox, args).output().unwrap();
        let said = String::from_utf8_lossy(&again.stderr);
        assert!(!said.contains("error: cannot finish"), "{said}");
        let next = command(sandbox, &["checkpoint", "-m", "next"]).output();
        let next = next.unwrap();
        let said = String::from_utf8_lossy(&next.stderr);
        assert!(next.status.success(), "{args:?}: the git at {number}: {said}");
        sandbox.check_invariants_of_git();
    }
    assert!(hung > 0, "{args:?} starts no git");
}

/// Row 5 of the attacks.
#[test]
fn a_checkpoint_that_is_told_to_stop_ends_with_its_gits() {
    stop_at_gits(&["checkpoint", "-m", "x"], 1, |stage| {
        stage.sandbox.write("a.txt", "two\n");
    });
}

#[test]
fn a_restore_that_is_told_to_stop_ends_with_its_gits() {
    stop_at_gits(&["restore", "base"], 1, |stage| {
        stage.sandbox.colony(&["checkpoint", "-m", "base"]);
        stage.sandbox.write("a.txt", "two\n");
        stage.sandbox.colony(&["checkpoint", "-m", "later"]);
        stage.sandbox.write("a.txt", "three\n");
    });
}

#[test]
fn an_init_that_is_told_to_stop_ends_with_its_gits() {
    stop_at_gits(&["init"], 5, |_| {});
}

#[test]
fn an_agents_new_that_is_told_to_stop_ends_with_its_gits() {
    stop_at_gits(&["agents", "new", "ada"], 3, |_| {});
}

#[test]
fn a_clone_that_is_told_to_stop_ends_with_its_gits() {
    let remote = Sandbox::new();
    let url = format!("file://{}", remote.root.display());
    stop_at_gits(&["clone", &url, "--agent", "ada"], 3, |_| {});
}

/// Row 6 of the attacks: the terminal is closed.
#[test]
fn a_command_whose_terminal_is_closed_ends_with_its_gits() {
    let stage = Stage::new();
    stage.sandbox.write("a.txt", "two\n");
    let before = stage.sandbox.visible_state();
    stage.hang_at(1);
    let mut child = stage.start(&["checkpoint", "-m", "x"]);
    let pid = stage.hanging(&mut child).unwrap();
    signal(&child, Signal::HUP);
    let code = end_of(&mut child).code();
    assert!(!matches!(code, None | Some(0 | 101)), "{code:?}");
    assert!(!is_running(pid));
    assert_eq!(stage.sandbox.visible_state(), before);
    stage.sandbox.check_invariants();
}

#[test]
fn streams_that_are_closed_or_full_are_no_reason_to_panic() {
    let sandbox = Sandbox::new();
    for number in 0..40 {
        sandbox.git(&["branch", &format!("branch-{number}")]);
    }
    let redirections =
        [">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full", "2>/dev/full", ">/dev/full 2>/dev/full"];
    for redirection in redirections {
        for args in [
            "topology",
            "--json topology",
            "help --all",
            "--json checkpoints show none",
            "no-such-command",
            "checkpoint -m kept",
        ] {
            let program = program_path();
            let line = format!("exec '{}' {args} {redirection}", program.display());
            let mut shell = sandbox.process("sh");
            let status = shell
                .current_dir(&sandbox.root)
                .args(["-c", &line])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .unwrap();
            let code = status.code();
            assert!(!matches!(code, None | Some(101)), "{line}: {code:?}");
        }
    }
    // What was to be changed was changed, whoever could read that.
    let count = sandbox.json(&["checkpoints"])["count"].as_u64().unwrap();
    assert_eq!(count, redirections.len() as u64);
    sandbox.check_invariants();
}

/// Row 19 of the attacks: who holds the lock is stopped, as by Ctrl-Z.
#[test]
fn a_stopped_lock_holder_keeps_others_waiting_until_its_death() {
    let stage = Stage::new();
    let sandbox = &stage.sandbox;
    sandbox.write("a.txt", "two\n");
    stage.hang_at(1);
    let mut holder = stage.start(&["checkpoint", "-m", "of the holder"]);
    let git = stage.hanging(&mut holder).unwrap();
    signal(&holder, Signal::STOP);
    let answer = |args: &[&str]| -> Value {
        let output = command(sandbox, &[&["--json"], args].concat()).output();
        serde_json::from_slice(&output.unwrap().stdout).unwrap()
    };
    // Who looks waits for nobody.
    assert_eq!(answer(&["status"])["ok"], true);
    let refused = answer(&["--timeout", "0.2", "checkpoint", "-m", "impatient"]);
    assert_eq!(refused["code"], "locked", "{refused:#}");
    assert_eq!(answer(&["checkpoint", "--auto"])["reason"], "busy");
    let patient = ["--timeout", "600", "checkpoint", "-m", "patient"];
    let mut patient =
        command(sandbox, &patient).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    signal(&holder, Signal::KILL);
    assert_eq!(holder.wait().unwrap().code(), None);
    let orphan = Pid::from_raw(i32::try_from(git).unwrap()).unwrap();
    kill_process(orphan, Signal::KILL).unwrap();
    assert_eq!(end_of(&mut patient).code(), Some(0));
    let listed = sandbox.json(&["checkpoints"]);
    let labels = listed["checkpoints"].as_array().unwrap();
    let labels: Vec<_> = labels.iter().map(|one| &one["label"]).collect();
    assert_eq!(labels, ["patient"]);
    sandbox.check_invariants();
}

#[test]
fn short_commands_start_no_thread_for_signals() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["map"]);
    let listed = sandbox.json(&["pages"]);
    let id = listed["pages"][0]["page_id"].as_str().unwrap();
    let traced = |args: &[&str]| {
        let trace = sandbox.outside().join("trace");
        let mut strace = sandbox.process("strace");
        let options = ["-f", "-qq", "-e", "trace=clone,clone3,rt_sigaction", "-o"];
        strace.args(options).arg(&trace).arg(program_path());
        assert!(strace.args(args).output().unwrap().status.success());
        fs::read_to_string(trace).unwrap()
    };
    for args in [&["version"][..], &["id"], &["pages", "request", id]] {
        let calls = traced(args);
        assert!(calls.contains("SIGPIPE"), "strace saw nothing");
        assert!(!calls.contains("clone") && !calls.contains("SIGTERM"), "{args:?}: {calls}");
    }
    let calls = traced(&["status"]);
    assert!(calls.contains("clone") && calls.contains("SIGTERM"), "{calls}");
}
