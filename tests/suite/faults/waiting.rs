//! A command beside another process that holds a database or a lock: it waits for as long as the other lives, says so,
//! and ends where the other is stopped, where the user sets a limit, and on a signal.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use git_colony::testing::World;
use rustix::process::{Pid, Signal, kill_process};

use crate::agents::new_and_merge::{agent, hub};
use crate::support::{HANG_TIMEOUT, Sandbox, View, end_of};

/// What holds a database as a command of ours does while it writes.
const HOLD_DATABASE: &str = "
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute('BEGIN IMMEDIATE')
print('held', flush=True)
sys.stdin.readline()
held.execute('ROLLBACK')
";

/// What holds a lock of ours.
const HOLD_LOCK: &str = "
import fcntl, sys
held = open(sys.argv[1], 'a')
fcntl.flock(held, fcntl.LOCK_EX)
print('held', flush=True)
sys.stdin.readline()
";

/// Another process that holds something.
struct Holder {
    process: Child,
    input: Option<ChildStdin>,
}

impl Holder {
    fn start(program: &str, path: &Path) -> Holder {
        let mut python = Command::new("python3");
        python.arg("-c").arg(program).arg(path).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = python.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "held\n", "{}", path.display());
        Holder { input: process.stdin.take(), process }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    fn release(&mut self) {
        self.input.take().unwrap().write_all(b"\n").unwrap();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// A world that passes on what the user reads.
fn heard(sandbox: &View) -> (World, Receiver<String>) {
    let (sender, receiver) = channel();
    let sender = Mutex::new(sender);
    let mut world = sandbox.world();
    world.narrate = Arc::new(move |text| {
        sender.lock().unwrap().send(text.to_owned()).ok();
    });
    (world, receiver)
}

fn next_wait(heard: &Receiver<String>) -> String {
    loop {
        let text = heard.recv_timeout(HANG_TIMEOUT).expect("it says that it waits");
        if text.starts_with("waiting for ") {
            return text;
        }
    }
}

/// A mapped and indexed repository with an event, and something new to map.
fn library() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "words to find\n");
    sandbox.colony(&["checkpoint", "-m", "first"]);
    sandbox.colony(&["map"]);
    sandbox.colony(&["search", "words"]);
    let page = sandbox.json(&["pages"])["pages"][0]["page_id"].as_str().unwrap().to_owned();
    sandbox.colony(&["pages", "request", &page]);
    sandbox.write("b.txt", "more words\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "second"]);
    (sandbox, page)
}

const HELD: [(&str, &str, &[&str]); 5] = [
    (HOLD_DATABASE, "colony/cache/1/derived.db", &["map"]),
    (HOLD_DATABASE, "colony/cache/search-1.db", &["search", "words", "--refresh"]),
    (HOLD_DATABASE, "colony/state/1.db", &["pages", "lock", "PAGE"]),
    (HOLD_DATABASE, "colony/state/events-1.db", &["checkpoint", "-m", "heard"]),
    (HOLD_LOCK, "colony/lock", &["checkpoint", "-m", "locked"]),
];

#[test]
fn who_meets_a_holder_waits_until_it_ends() {
    for (number, (program, path, args)) in HELD.into_iter().enumerate() {
        let (sandbox, page) = library();
        let args: Vec<_> =
            args.iter().map(|arg| if *arg == "PAGE" { page.as_str() } else { arg }).collect();
        let mut holder = Holder::start(program, &sandbox.path(&format!(".git/{path}")));
        let (world, heard) = heard(&sandbox);
        let run = std::thread::scope(|scope| {
            let run = scope.spawn(|| sandbox.run_in(world, &args));
            let told = next_wait(&heard);
            let who = format!("(process {})", holder.process.id());
            assert!(told.ends_with(&who), "{told}");
            assert!(!run.is_finished(), "{path}");
            // One ends its work, the next is killed.
            if number % 2 == 0 {
                holder.release();
            } else {
                holder.signal(Signal::KILL);
            }
            run.join().unwrap()
        });
        assert_eq!(run.code, 0, "{path}: {}", run.stderr);
        assert!(!heard.try_iter().any(|text| text.starts_with("warning")), "{path}");
    }
}

#[test]
fn a_user_who_sets_a_limit_or_interrupts_waits_no_longer() {
    let (sandbox, _) = library();
    let _holder = Holder::start(HOLD_DATABASE, &sandbox.path(".git/colony/cache/1/derived.db"));
    let refused = sandbox.json(&["--timeout", "0.2", "map"]);
    assert_eq!(refused["results"][0]["code"], "locked", "{refused:#}");

    let (world, heard) = heard(&sandbox);
    let interrupt = world.interrupt.clone();
    let run = std::thread::scope(|scope| {
        let run = scope.spawn(|| sandbox.run_in(world, &["--json", "map"]));
        next_wait(&heard);
        interrupt.raise(2);
        run.join().unwrap()
    });
    assert_eq!(run.code, 130, "{}", run.stdout);
    assert!(run.stdout.contains("\"code\": \"interrupted\""), "{}", run.stdout);
}

#[test]
fn a_limit_bounds_also_what_follows_a_command() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    let hub = hub(&desk);
    let _refs = Holder::start(HOLD_LOCK, &hub.join("colony/refs-lock"));
    let _events = Holder::start(HOLD_DATABASE, &hub.join("colony/state/events-1.db"));
    std::fs::write(ada.path("a.txt"), "changed\n").unwrap();
    let (world, heard) = heard(&ada);
    let args = ["--timeout", "0.2", "checkpoint", "-m", "alone"];
    assert_eq!(ada.run_in(world, &args).code, 0);
    assert!(!heard.try_iter().any(|text| text.starts_with("waiting for ")));
}

#[test]
fn a_stopped_holder_is_not_waited_for_without_end() {
    let (sandbox, _) = library();
    let holder = Holder::start(HOLD_DATABASE, &sandbox.path(".git/colony/cache/1/derived.db"));
    holder.signal(Signal::STOP);
    let refused = sandbox.json(&["map"]);
    assert_eq!(refused["results"][0]["code"], "locked", "{refused:#}");
    holder.signal(Signal::CONT);
    drop(holder);
    assert_eq!(sandbox.json(&["map"])["ok"], true);
}

/// Puts a view that never ends in the place of each table of a database.
fn make_endless(path: &Path) {
    let database = rusqlite::Connection::open(path).unwrap();
    let names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let mut tables = database.prepare(names).unwrap();
    let tables = tables.query_map([], |row| row.get::<_, String>(0)).unwrap();
    for table in tables.map(Result::unwrap).collect::<Vec<_>>() {
        let columns =
            format!("SELECT group_concat('x AS ' || name) FROM pragma_table_info('{table}')");
        let columns: String = database.query_row(&columns, [], |row| row.get(0)).unwrap();
        let numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)";
        let endless =
            format!("DROP TABLE {table}; CREATE VIEW {table} AS {numbers} SELECT {columns} FROM n");
        database.execute_batch(&endless).unwrap();
    }
}

#[test]
fn views_that_never_end_keep_no_command_from_its_end() {
    for (_, path, _) in &HELD[..4] {
        let (sandbox, _) = library();
        make_endless(&sandbox.path(&format!(".git/{path}")));
        for args in [
            &["doctor"][..],
            &["pages"],
            &["pages", "resident"],
            &["watches"],
            &["events"],
            &["search", "words"],
            &["fleet"],
            &["checkpoint", "-m", "kept"],
            &["map"],
        ] {
            let mut program = sandbox.program();
            let mut child = program.args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
            let status = end_of(child.as_mut().unwrap());
            assert!(status.code().is_some(), "{path} {args:?} {status}");
        }
        assert_eq!(sandbox.json(&["map"])["ok"], true, "{path}");
    }
}
