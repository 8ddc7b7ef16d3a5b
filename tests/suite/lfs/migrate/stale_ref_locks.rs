//! Locks on refs that stand in the way of a migration to git-lfs: those that a killed git of ours has left
//! go by themselves, all others are named at once and left.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Sandbox, eventually, first_line, write_program};

use super::rewrite::grown;

/// The locks below the refs of a repository, and that on HEAD.
fn locks(sandbox: &Sandbox) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![sandbox.path(".git/refs")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "lock") {
                found.push(path.display().to_string());
            }
        }
    }
    found.sort();
    found
}

fn refs(sandbox: &Sandbox) -> String {
    sandbox.git(&["for-each-ref", "refs/heads", "refs/tags", "refs/notes"])
}

fn fifo(sandbox: &Sandbox, name: &str) -> PathBuf {
    let path = sandbox.outside().join(name);
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o600.into()).unwrap();
    path
}

fn kill(pid: &str) {
    let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// Kills the program and its git while that holds every lock of its transaction and has not said so.
fn kill_in_transaction(sandbox: &Sandbox, args: &[&str]) {
    let (begun, never) = (fifo(sandbox, "begun"), fifo(sandbox, "never"));
    let hook = sandbox.path(".git/hooks/reference-transaction");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = prepared ] || exit 0\necho $PPID $$ >'{}'; read line <'{}'\n",
        begun.display(),
        never.display()
    );
    write_program(&hook, script);
    let mut child =
        sandbox.program().args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let (pids, _pipe) = first_line(&begun);
    child.kill().unwrap();
    for pid in pids.split_whitespace() {
        kill(pid);
    }
    child.wait().unwrap();
    fs::remove_file(hook).unwrap();
    fs::remove_file(begun).unwrap();
    fs::remove_file(never).unwrap();
}

#[test]
fn locks_of_a_killed_git_stop_neither_migration_nor_undo() {
    for way in [&["lfs", "migrate"][..], &["undo"]] {
        let sandbox = grown();
        sandbox.git(&["lfs", "install", "--local"]);
        let before = refs(&sandbox);
        kill_in_transaction(&sandbox, &["lfs", "migrate"]);
        let left = locks(&sandbox);
        assert_eq!(left.len(), 12, "{left:?}");
        assert_eq!(refs(&sandbox), before);
        sandbox.json(&[way, &["-n"]].concat());
        assert_eq!(locks(&sandbox), left);
        sandbox.json(way);
        assert_eq!(locks(&sandbox), [] as [String; 0]);
        assert_eq!(refs(&sandbox) == before, way == ["undo"]);
        assert!(!sandbox.path(".git/HEAD.lock").exists());
        sandbox.colony(&["lfs", "migrate"]);
        sandbox.check_invariants_of_git();
    }
}

#[test]
fn locks_of_a_git_killed_in_an_undo_do_not_stop_the_next() {
    let sandbox = grown();
    let before = refs(&sandbox);
    sandbox.colony(&["lfs", "migrate", "--push"]);
    kill_in_transaction(&sandbox, &["undo"]);
    let left = locks(&sandbox);
    assert!(left.len() > 8, "{left:?}");
    assert!(sandbox.path(".git/packed-refs.lock").exists());
    sandbox.colony(&["undo"]);
    assert_eq!(locks(&sandbox), [] as [String; 0]);
    assert!(!sandbox.path(".git/packed-refs.lock").exists());
    assert_eq!(refs(&sandbox), before);
    sandbox.check_invariants_of_git();
}

#[test]
fn locks_that_may_belong_to_a_running_git_stay() {
    let sandbox = grown();
    kill_in_transaction(&sandbox, &["lfs", "migrate", "--push"]);
    let left = locks(&sandbox);
    let mut other = Command::new("git")
        .args(["hash-object", "--stdin"])
        .current_dir(&sandbox.root)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // A process that has just replaced itself has no words yet, by which it is known.
    let words = format!("/proc/{}/cmdline", other.id());
    eventually("git has begun", || fs::read(&words).is_ok_and(|words| !words.is_empty()));
    sandbox.json(&["undo"]);
    assert_eq!(locks(&sandbox), left);
    drop(other.stdin.take());
    other.wait().unwrap();
    sandbox.colony(&["lfs", "migrate", "--push"]);
    assert_eq!(locks(&sandbox), [] as [String; 0]);
    sandbox.check_invariants_of_git();
}

/// Expects a refusal that names every lock, and does what it advises.
fn is_past_once_all_are_gone(sandbox: &Sandbox, made: &[String], answer: &Value) {
    assert_eq!(answer["code"], "locked", "{answer:#}");
    let named: Vec<_> = answer["detail"]["paths"].as_array().unwrap().iter().collect();
    let mut named: Vec<_> = named.iter().filter_map(|path| path.as_str()).collect();
    named.sort_unstable();
    assert_eq!(named, made);
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("4 locks"), "{message}");
    assert!(message.ends_with(" and 1 more"), "{message}");
    assert_eq!(locks(sandbox), made);
    let hint = answer["hint"].as_str().unwrap();
    let pasted = Command::new("sh").args(["-c", hint]).status().unwrap();
    assert!(pasted.success());
    assert_eq!(locks(sandbox), [] as [String; 0]);
}

#[test]
fn locks_of_others_are_named_all_at_once_and_left() {
    let sandbox = grown();
    sandbox.git(&["lfs", "install", "--local"]);
    let (before, state) = (refs(&sandbox), sandbox.visible_state());
    let make = || {
        for name in ["heads/main", "heads/side", "tags/v1", "notes/commits"] {
            sandbox.write(&format!(".git/refs/{name}.lock"), "");
        }
        locks(&sandbox)
    };
    let made = make();
    let refused = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(refs(&sandbox), before);
    is_past_once_all_are_gone(&sandbox, &made, &refused);
    sandbox.colony(&["lfs", "migrate", "--push"]);
    let (new, made) = (refs(&sandbox), make());
    let refused = sandbox.json(&["undo"]);
    assert_eq!(refs(&sandbox), new);
    is_past_once_all_are_gone(&sandbox, &made, &refused);
    sandbox.colony(&["undo"]);
    assert_eq!(refs(&sandbox), before);
    assert_eq!(sandbox.visible_state(), state);
}

#[test]
fn a_migration_cut_off_with_foreign_locks_is_still_known() {
    let sandbox = grown();
    let before = refs(&sandbox);
    let mut world = sandbox.world();
    world.die_at = Some("committed");
    let died = sandbox.run_in(world, &["lfs", "migrate", "--push"]);
    assert_eq!(died.code, 128, "{}", died.stderr);
    let lock = |name: &str| sandbox.path(&format!(".git/refs/{name}.lock"));
    let names = ["heads/main", "heads/side", "tags/v1", "notes/commits"];
    for name in names {
        write(&lock(name));
    }
    let made = locks(&sandbox);
    for way in [&["undo"][..], &["lfs", "migrate"]] {
        let answer = sandbox.json(way);
        assert_eq!(answer["code"], "recovery-needed", "{answer:#}");
        let hint = answer["hint"].as_str().unwrap();
        assert!(made.iter().all(|path| hint.contains(path)), "{hint}");
        assert_eq!(locks(&sandbox), made);
    }
    for name in names {
        fs::remove_file(lock(name)).unwrap();
    }
    sandbox.colony(&["undo"]);
    assert_eq!(refs(&sandbox), before);
    sandbox.check_invariants_of_git();
}

fn write(path: &Path) {
    fs::write(path, "somebody's").unwrap();
}
