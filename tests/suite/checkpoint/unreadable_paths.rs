//! A file or folder that cannot be read, and a path that is too long, are left out and named; every
//! command goes on, as git does.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::{Sandbox, program_path};

/// What overrides permissions for root.
const WITHOUT: &str = "-dac_override,-dac_read_search";

/// Runs the program as somebody for whom permissions count.
fn run(sandbox: &Sandbox, args: &[&str]) -> Output {
    let is_root = fs::metadata(&sandbox.root).unwrap().uid() == 0;
    let mut command = if is_root {
        let mut command = sandbox.process("setpriv");
        command.args(["--bounding-set", WITHOUT]).arg(program_path());
        command
    } else {
        sandbox.program()
    };
    command.args(args).output().unwrap()
}

fn shell(sandbox: &Sandbox, text: &str) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", text]).current_dir(&sandbox.root);
    command.output().unwrap()
}

/// Runs a command that has to succeed; returns its answer.
fn json(sandbox: &Sandbox, args: &[&str]) -> Value {
    let output = run(sandbox, &[&["--json"], args].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {output:?} {said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

const COMMANDS: [&[&str]; 8] = [
    &["status"],
    &["diff"],
    &["fleet"],
    &["checkpoint", "-m", "second"],
    &["checkpoint", "--auto"],
    &["undo"],
    &["redo"],
    &["restore", "first", "--force"],
];

/// Runs every command beside a path that cannot be read.
fn goes_on(sandbox: &Sandbox, unread: &str) {
    sandbox.write("a.txt", "two\n");
    for args in COMMANDS {
        let output = run(sandbox, args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {said}");
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8_lossy(&told).into_owned();
        // Redo compares, and looks at no file that is new.
        assert!(args == ["redo"] || told.contains(unread), "{args:?}: {told}");
    }
    sandbox.write("a.txt", "three\n");
    let answer = json(sandbox, &["checkpoint", "-m", "third"]);
    assert_eq!(answer["left_out"][0]["path"], unread, "{answer:#}");
    assert_eq!(answer["left_out"][0]["reason"], "unreadable");
    assert_eq!(answer["left_out"].as_array().unwrap().len(), 1);
    sandbox.write("a.txt", "four\n");
    let answer = json(sandbox, &["restore", "first", "--force"]);
    assert_eq!(answer["left_alone"][0]["path"], unread, "{answer:#}");
    assert_eq!(sandbox.read("a.txt"), "one\n");
}

#[test]
fn a_folder_that_cannot_be_read_is_left_out_and_named() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "first"]);
    for mode in [0o000, 0o444, 0o111] {
        sandbox.write("pg/data", "bytes\n");
        sandbox.set_mode("pg", mode);
        let found = run(&sandbox, &["status"]);
        goes_on(&sandbox, "pg");
        sandbox.set_mode("pg", 0o755);
        assert_eq!(sandbox.read("pg/data"), "bytes\n", "{mode:o}: {found:?}");
    }
}

#[test]
fn a_path_that_is_too_long_is_left_out_and_named() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "first"]);
    let deep = r"n=$(printf '%0200d' 0); i=0
        while [ $i -lt 25 ]; do mkdir $n && cd -P $n || exit 1; i=$((i+1)); done; echo deep >file";
    assert!(shell(&sandbox, deep).status.success());
    let folder = "0".repeat(200);
    let answer = json(&sandbox, &["checkpoint", "-m", "named", "-n"]);
    let unread = answer["left_out"][0]["path"].as_str().unwrap().to_owned();
    assert!(unread.starts_with(&folder), "{unread}");
    goes_on(&sandbox, &unread);
    let read = "cd -P $(printf '%0200d' 0); while [ -d 0* ]; do cd -P 0*; done; cat file";
    assert_eq!(shell(&sandbox, read).stdout, b"deep\n");
}

#[test]
fn a_restore_puts_nothing_where_it_could_not_look() {
    let sandbox = Sandbox::new();
    sandbox.write("pg/tracked", "kept\n");
    sandbox.write("pg.d/tracked", "kept\n");
    sandbox.colony(&["checkpoint", "-m", "first"]);
    sandbox.remove("pg");
    sandbox.colony(&["checkpoint", "-m", "without"]);
    sandbox.write("pg/data", "bytes\n");
    sandbox.set_mode("pg", 0);
    let before = sandbox.refs();
    let output = run(&sandbox, &["--json", "restore", "first", "--force"]);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(128), "{answer:#}");
    assert_eq!(sandbox.refs(), before);
    sandbox.set_mode("pg", 0o755);
    assert_eq!(fs::read_dir(sandbox.path("pg")).unwrap().count(), 1);
    assert_eq!(sandbox.read("pg/data"), "bytes\n");
    let mode = fs::metadata(sandbox.path("pg")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}

#[test]
fn a_tracked_file_in_an_unsearchable_folder_counts_as_unchanged() {
    for mode in [0o000, 0o444] {
        let sandbox = Sandbox::new();
        sandbox.write("pg/in/tracked", "kept\n");
        sandbox.colony(&["checkpoint", "-m", "first"]);
        sandbox.write("pg/in/tracked", "nobody can know\n");
        sandbox.write("pg/new", "bytes\n");
        sandbox.set_mode("pg", mode);
        let status = json(&sandbox, &["status"]);
        assert_eq!(status["changes"]["changed"], 0, "{mode:o}: {status:#}");
        goes_on(&sandbox, "pg");
        let first = run(&sandbox, &["restore", "first", "--force"]);
        let told = String::from_utf8_lossy(&first.stdout).into_owned();
        assert!(told.contains("as far as it can be read"), "{told}");
        sandbox.set_mode("pg", 0o755);
        assert_eq!(sandbox.read("pg/in/tracked"), "nobody can know\n");
        assert_eq!(sandbox.read("pg/new"), "bytes\n");
        sandbox.check_invariants();
    }
}

#[test]
fn what_cannot_be_listed_but_searched_is_looked_at() {
    let sandbox = Sandbox::new();
    sandbox.write("pg/tracked", "kept\n");
    sandbox.colony(&["checkpoint", "-m", "first"]);
    sandbox.write("pg/tracked", "edited\n");
    sandbox.set_mode("pg", 0o111);
    json(&sandbox, &["checkpoint", "-m", "second"]);
    sandbox.set_mode("pg", 0o755);
    let kept = sandbox.git(&["show", "HEAD:pg/tracked"]);
    assert_eq!(kept, "edited");
}

#[test]
fn an_unsearchable_folder_is_not_restored_or_undone() {
    let sandbox = Sandbox::new();
    sandbox.write("pg/tracked", "one\n");
    sandbox.colony(&["checkpoint", "-m", "first"]);
    sandbox.write("pg/tracked", "two\n");
    sandbox.colony(&["checkpoint", "-m", "second"]);
    sandbox.colony(&["restore", "first", "--force"]);
    sandbox.write("pg/tracked", "mine\n");
    let (refs, index) = (sandbox.refs(), fs::read(sandbox.path(".git/index")).unwrap());
    sandbox.set_mode("pg", 0);
    for args in [&["restore", "second", "--force"][..], &["undo"], &["merge", "second"]] {
        let output = run(&sandbox, args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(128), "{args:?}: {said}");
        assert!(said.contains("pg"), "{args:?}: {said}");
        assert_eq!(sandbox.refs(), refs, "{args:?}");
        assert_eq!(fs::read(sandbox.path(".git/index")).unwrap(), index, "{args:?}");
    }
    sandbox.set_mode("pg", 0o755);
    assert_eq!(sandbox.read("pg/tracked"), "mine\n");
    sandbox.check_invariants();
}

#[test]
fn a_new_file_that_may_not_be_read_is_left_out_and_named() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "first"]);
    sandbox.write("x", "mine\n");
    sandbox.set_mode("x", 0);
    sandbox.write("a.txt", "two\n");
    for args in [
        &["checkpoint", "-m", "second"][..],
        &["checkpoint", "-m", "beside", "--off-branch"],
        &["diff"],
    ] {
        let answer = json(&sandbox, args);
        assert_eq!(answer["left_out"][0]["path"], "x", "{args:?}: {answer:#}");
        assert_eq!(answer["left_out"][0]["reason"], "unreadable");
    }
    let mapped = run(&sandbox, &["map", "--worktree"]);
    let said = String::from_utf8_lossy(&mapped.stdout);
    assert!(said.ends_with("left out: x cannot be read\n"), "{said}");
    assert_eq!(mapped.status.code(), Some(0), "the pages of all others can be used");
    // What is asked for by name is not left out.
    let named = run(&sandbox, &["commit", "-m", "named", "x"]);
    assert_eq!(named.status.code(), Some(128), "{named:?}");
    sandbox.set_mode("x", 0o644);
    assert_eq!(sandbox.read("x"), "mine\n");
}

#[test]
fn an_unreadable_tracked_file_stops_a_checkpoint_like_git() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "first"]);
    sandbox.write("a.txt", "nobody can know\n");
    sandbox.set_mode("a.txt", 0);
    let refs = sandbox.refs();
    let output = run(&sandbox, &["checkpoint", "-m", "second"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(128), "{said}");
    assert!(said.contains("cannot read 'a.txt'"), "{said}");
    assert_eq!(sandbox.refs(), refs);
}
