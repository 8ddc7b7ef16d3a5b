//! `watch`: what a process does when files change, as a process of its own.

mod changes;
mod lifetime;
mod names;

use std::io::{BufRead as _, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{Sandbox, View, end_of, eventually};

/// A quiet time that is over before the next line of a test.
const SOON: &str = "0.05";

/// A process that watches in the foreground. It ends with the test.
struct Watcher {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Watcher {
    /// Starts it, and waits until it watches.
    fn start(view: &View, args: &[&str]) -> Watcher {
        let mut command = view.program();
        command.args(["--json", "watch"]).args(args);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut watcher = Watcher { child, lines };
        if !args.contains(&"--resume") {
            assert_eq!(watcher.next()["event"], "watching");
        }
        until(|| view.json(&["watches"])["running"] == true);
        watcher
    }

    /// Returns the next thing that it does.
    fn next(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap()
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Waits for its end, and returns the exit code.
    fn end(mut self) -> Option<i32> {
        end_of(&mut self.child).code()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Waits until something is so.
fn until(is_so: impl FnMut() -> bool) {
    eventually("what watches do", is_so);
}

/// A mapped repository with two rows: everything below `src`, and a static one.
fn mapped() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".colony/repo_map.yaml",
        "schema_version: 1\nsources:\n  - name: code\n    type: git_repo\n    start_dir: src\n  - name: old\n    type: git_repo\n    start_dir: old\n    static: true\n",
    );
    sandbox.write("src/a.rs", "fn a() {}\n");
    sandbox.write("old/b.txt", "b\n");
    sandbox.write(".gitignore", "*.log\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "map"]);
    sandbox.colony(&["map"]);
    sandbox
}

fn keys(view: &View) -> Vec<String> {
    let file = view.path(".git/colony/state/events-1.db");
    let log = rusqlite::Connection::open(file).unwrap();
    let mut all = log.prepare("SELECT key FROM events ORDER BY number").unwrap();
    let keys = all.query_map([], |row| row.get(0)).unwrap();
    keys.map(Result::unwrap).collect()
}
