//! `events --follow` and `--wait`, as processes of their own.

use std::fs;
use std::io::{BufRead as _, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{Sandbox, View, end_of};

/// A process that follows the events, and its output line by line.
struct Following {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Following {
    /// Follows from a position on, so that nothing depends on when the process has started.
    fn start(view: &View, since: &str) -> Following {
        let mut command = view.program();
        command.args(["--json", "events", "--follow", "--since", since]);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Following { child, lines }
    }

    fn next(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap()
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Waits for the end, and returns the exit code.
    fn end(mut self) -> Option<i32> {
        end_of(&mut self.child).code()
    }
}

#[test]
fn events_come_as_lines_until_ctrl_c() {
    let sandbox = Sandbox::new();
    let mut following = Following::start(&sandbox, "0:0");
    sandbox.colony(&["checkpoint", "-m", "first"]);
    let first = following.next();
    assert!(first["key"].as_str().unwrap().starts_with("checkpoint_emitted:"));
    sandbox.colony(&["fork", "a"]);
    assert_eq!(following.next()["key"], "branch_changed:fork/a");
    following.signal(Signal::INT);
    assert_eq!(following.end(), Some(130));
}

#[test]
fn a_deleted_or_damaged_log_is_a_gap_and_goes_on() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "first"]);
    let mut following = Following::start(&sandbox, "0:0");
    following.next();
    fs::remove_dir_all(sandbox.path(".git/colony/state")).unwrap();
    assert_eq!(following.next(), json!({"gap": true, "oldest": null, "position": "0:0"}));
    sandbox.colony(&["tag", "-m", "second"]);
    assert_eq!(following.next()["value"]["label"], "second");
    for suffix in ["-wal", "-shm", ""] {
        let path = sandbox.path(&format!(".git/colony/state/events-1.db{suffix}"));
        drop(fs::remove_file(path));
    }
    sandbox.write(".git/colony/state/events-1.db", [7; 9_000]);
    sandbox.colony(&["tag", "-m", "third"]);
    assert_eq!(following.next()["gap"], true);
    loop {
        // The log may have been empty for a moment.
        let line = following.next();
        if line["gap"] != true {
            assert_eq!(line["value"]["label"], "third");
            break;
        }
    }
    following.signal(Signal::TERM);
    assert_eq!(following.end(), Some(143));
}

#[test]
fn a_closed_pipe_ends_it_quietly_without_another_event() {
    let sandbox = Sandbox::new();
    for form in [&["events", "--follow"][..], &["--json", "events", "--follow"]] {
        let mut command = sandbox.program();
        command.args(form);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        assert_eq!((ended.status.code(), ended.stderr), (Some(0), Vec::new()));
    }
}

#[test]
fn a_closed_pipe_ends_it_at_the_next_event() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.program();
    command.args(["events", "--follow", "--since", "0:0"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    sandbox.colony(&["checkpoint", "-m", "first"]);
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr), (Some(0), Vec::new()));
}

#[test]
fn an_event_is_printed_before_the_next_one_happens() {
    let sandbox = Sandbox::new();
    let mut following = Following::start(&sandbox, "0:0");
    sandbox.colony(&["checkpoint", "-m", "first"]);
    following.next();
    for _ in 0..9 {
        assert_eq!(sandbox.run(&["pages", "request", "00000000"]).code, 1);
        assert!(following.next()["key"].as_str().unwrap().starts_with("page_fault:"));
    }
    following.signal(Signal::INT);
    following.end();
}

#[test]
fn waiting_ends_with_an_event_or_in_time() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "first"]);
    let wait = ["--json", "--timeout", "0.05", "events", "--wait"];
    let nothing = sandbox.run(&wait);
    assert_eq!(nothing.code, 1, "{}", nothing.stderr);
    let nothing: Value = serde_json::from_str(&nothing.stdout).unwrap();
    assert_eq!((&nothing["timed_out"], &nothing["count"]), (&json!(true), &json!(0)));
    let position = nothing["position"].as_str().unwrap();
    sandbox.colony(&["tag", "-m", "second"]);
    let found = sandbox.json(&["events", "--wait", "--since", position]);
    assert_eq!(found["count"], 1);
    // An agent is not woken by itself.
    let ada = ["--agent", "ada", "--timeout", "0.05"];
    sandbox.colony(&[&ada[..2], &["tag", "-m", "third"]].concat());
    let position = found["position"].as_str().unwrap();
    let own = [&ada[..], &["events", "--wait", "--since", position]].concat();
    assert_eq!(sandbox.run(&own).code, 1);
    assert_eq!(sandbox.run(&[&own[..], &["--all"]].concat()).code, 0);
}

#[test]
fn a_wait_hears_of_what_comes_while_it_waits() {
    let sandbox = Sandbox::new();
    std::thread::scope(|scope| {
        let waiting = scope
            .spawn(|| sandbox.json(&["--timeout", "600", "events", "--wait", "--since", "0:0"]));
        sandbox.colony(&["checkpoint", "-m", "first"]);
        assert_eq!(waiting.join().unwrap()["count"], 1);
    });
}
