//! The output of programs that are started with new agents.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Read as _;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::agents::new_and_merge::agent;
use crate::support::waiting::{end_of, eventually};
use crate::support::{Sandbox, View};

/// A program that prints a line, and another one when it is told to go on.
const IN_TWO_PARTS: &str = "echo one; until [ -e .git/go ]; do sleep 0.02; done; printf 'two \\342'; sleep 0.5; printf '\\202\\254\\n'";

/// Makes an agent with a program; returns its clone once the program has printed something.
fn started(desk: &View, line: &str) -> View {
    let made = desk.json(&["agents", "new", "ada", "--detach", "-x", line]);
    let clone = desk.at(made["path"].as_str().unwrap().into());
    eventually("its output", || !log(&clone).is_empty());
    clone
}

fn log(clone: &View) -> Vec<u8> {
    fs::read(clone.path(".git/colony/run.log")).unwrap()
}

fn go_on(clone: &View) {
    clone.write(".git/go", "");
}

/// Follows the output until a text was printed; returns the process and what it has printed.
fn follow_until(desk: &View, args: &[&str], text: &str) -> (Child, String) {
    let args = [args, &["agents", "output", "--follow", "ada"]].concat();
    let mut follower = desk.with_program().process("git-colony");
    let follower = follower.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = follower.spawn().unwrap();
    let mut printed = String::new();
    while !printed.contains(text) {
        let mut part = [0; 4096];
        let count = child.stdout.as_mut().unwrap().read(&mut part).unwrap();
        assert_ne!(count, 0, "it has ended: {printed}");
        printed.push_str(std::str::from_utf8(&part[..count]).unwrap());
    }
    (child, printed)
}

fn rest(child: &mut Child) -> (String, String) {
    let (mut stdout, mut stderr) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    (stdout, stderr)
}

#[test]
fn the_output_of_a_program_is_shown_while_it_runs_and_after() {
    let desk = Sandbox::new();
    let clone = started(&desk, IN_TWO_PARTS);
    let shown = desk.run(&["agents", "output", "ada"]);
    let pid = desk.json(&["agents", "stop", "ada", "-n"])["pid"].clone();
    assert_eq!(shown.stdout, "one\n");
    assert_eq!(shown.stderr, format!("ada: its program runs (process {pid})\n"));
    go_on(&clone);
    eventually("its end", || desk.json(&["agents", "output", "ada"])["pid"].is_null());
    eventually("the whole output", || log(&clone).ends_with("\u{20ac}\n".as_bytes()));
    let answer = desk.json(&["agents", "output", "ada"]);
    assert_eq!(answer["output"], "one\ntwo \u{20ac}\n");
    assert_eq!(answer["log"], json!(clone.path(".git/colony/run.log")));
    let shown = desk.run(&["agents", "output", "--follow", "ada"]);
    assert_eq!((shown.code, &*shown.stderr), (0, "ada: its program has ended\n"));
    assert_eq!(shown.stdout, "one\ntwo \u{20ac}\n");
}

#[test]
fn the_output_is_followed_until_the_program_ends() {
    let desk = Sandbox::new();
    let clone = started(&desk, IN_TWO_PARTS);
    let (mut text, printed) = follow_until(&desk, &[], "one\n");
    let (mut json, objects) = follow_until(&desk, &["--json"], "\n");
    assert_eq!(printed, "one\n");
    let first: Value = serde_json::from_str(&objects).unwrap();
    assert_eq!(first["output"], "one\n");
    go_on(&clone);
    let (stdout, stderr) = rest(&mut text);
    assert_eq!(stdout, "two \u{20ac}\n");
    assert!(stderr.ends_with("ada: its program has ended\n"), "{stderr}");
    assert_eq!(end_of(&mut text).code(), Some(0));
    let parts = rest(&mut json).0;
    let parts = serde_json::Deserializer::from_str(&parts).into_iter::<Value>();
    let parts: String =
        parts.map(|part| part.unwrap()["output"].as_str().unwrap().to_owned()).collect();
    assert_eq!(parts, "two \u{20ac}\n");
    assert_eq!(end_of(&mut json).code(), Some(0));
}

#[test]
fn a_log_that_becomes_shorter_repeats_nothing() {
    let desk = Sandbox::new();
    let many = "awk 'BEGIN { for (i = 0; i < 50000; i++) print \"line \" i \" of many that a program prints\" }'";
    let clone = started(
        &desk,
        &format!(
            "echo one; until [ -e .git/go ]; do sleep 0.02; done; {many}; sleep 0.5; echo end"
        ),
    );
    let (mut follower, _) = follow_until(&desk, &[], "one\n");
    go_on(&clone);
    let (stdout, _) = rest(&mut follower);
    let lines: Vec<&str> = stdout.lines().collect();
    let mut sorted = lines.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), lines.len(), "a line twice");
    assert!(stdout.ends_with("line 49999 of many that a program prints\nend\n"));
}

#[test]
fn without_a_program_there_is_no_output_and_a_link_is_not_read() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    let shown = desk.run(&["agents", "output", "ada"]);
    assert_eq!((shown.code, &*shown.stdout), (1, ""));
    assert_eq!(shown.stderr, "ada: 'agents new -x' has started nothing in the background\n");
    assert_eq!(desk.error(&["agents", "output", "nobody"]), "clone-not-found");
    let log = ada.path(".git/colony/run.log");
    std::os::unix::fs::symlink(desk.path("a.txt"), &log).unwrap();
    let refused = desk.run(&["agents", "output", "ada"]);
    assert_eq!(refused.code, 128);
    assert!(refused.stderr.contains("symlink"), "{}", refused.stderr);
    fs::remove_file(&log).unwrap();
    fs::write(&log, "\u{1b}[2J").unwrap();
    assert_eq!(desk.json(&["agents", "output", "ada"])["output"], "\u{1b}[2J");
}
