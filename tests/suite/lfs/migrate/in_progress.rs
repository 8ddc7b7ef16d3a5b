//! Where a migration to git-lfs leaves somebody: what `status` and `doctor` say of one that has not
//! ended, and that each way on works as it is told.

use std::path::Path;
use std::process::Command;

use crate::support::{Sandbox, wait_for_locks, write_program};

use super::rewrite::{POINTER, at, grown, grown_with_origin, with_origin};

/// Runs a hint as somebody would who pastes it: in a shell, comments and all.
pub(crate) fn paste(sandbox: &Sandbox, root: &Path, hint: &str) {
    let output = shell(sandbox, root, hint);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{hint}\n{said}");
}

/// Runs a line in a shell that finds the program.
pub(crate) fn shell(sandbox: &Sandbox, root: &Path, line: &str) -> std::process::Output {
    let mut shell = sandbox.with_program().at(root.to_owned()).process("sh");
    shell.args(["-c", line]).output().unwrap()
}

pub(crate) fn hint_of(answer: &serde_json::Value) -> &str {
    let hint = answer["hint"].as_str();
    hint.unwrap_or_else(|| panic!("{answer:#}"))
}

/// What a look says of the migration that has not ended: in JSON, as a line, for a prompt, and the fix
/// that `doctor` names.
fn told(sandbox: &Sandbox) -> (serde_json::Value, Option<String>) {
    // Status does not call a migration left that is at work.
    wait_for_locks(&sandbox.path(".git/colony"));
    let status = sandbox.json(&["status"]);
    let found = status["migration"].clone();
    let detail = found["detail"].as_str().unwrap_or("no migration");
    let text = sandbox.colony(&["status"]);
    assert_eq!(text.contains(detail), !found.is_null(), "{text}");
    let health = status["health"].as_array().unwrap();
    let attention = health.iter().any(|one| one["name"] == "migration");
    assert_eq!(text.contains(&format!("attention: {detail}")), attention);
    let line = sandbox.json(&["status", "--line"]);
    assert_eq!(line["attention"], !health.is_empty(), "{line:#}");
    let doctor = sandbox.json(&["doctor"]);
    let mut checks = doctor["checks"].as_array().unwrap().iter();
    let check = checks.find(|check| check["name"] == "migration");
    let fix = check.and_then(|check| check["fix"].as_str());
    assert_eq!(fix.is_some(), attention, "{doctor:#}");
    (found, fix.map(str::to_owned))
}

#[test]
fn status_and_doctor_name_the_ways_on_of_what_is_not_published() {
    let sandbox = grown();
    assert!(told(&sandbox).0.is_null());
    let bare = with_origin(&sandbox);
    let made = sandbox.json(&["lfs", "migrate", "--no-push"]);
    let (found, fix) = told(&sandbox);
    assert_eq!(found["stage"], "not_published", "{found:#}");
    let detail = found["detail"].as_str().unwrap();
    assert!(detail.contains("git colony lfs migrate --push"), "{detail}");
    paste(&sandbox, &sandbox.root, &fix.unwrap());
    assert_eq!(at(&bare, &sandbox, &["rev-parse", "main"]), made["head"]);
    assert!(told(&sandbox).0.is_null());
}

#[test]
fn status_without_a_remote_has_nothing_to_say() {
    let sandbox = grown();
    sandbox.colony(&["lfs", "migrate"]);
    assert!(told(&sandbox).0.is_null());
}

#[test]
fn a_remote_that_is_not_origin_is_said_not_to_have_it() {
    let (sandbox, bare) = grown_with_origin();
    sandbox.git(&["remote", "rename", "origin", "upstream"]);
    for args in [&["lfs", "migrate", "-n"][..], &["lfs", "migrate", "--push"]] {
        let answer = sandbox.json(args);
        assert_eq!((&answer["ok"], &answer["pushed"]), (&true.into(), &false.into()));
        let notes = answer["notes"].to_string();
        assert!(notes.contains("only 'origin' is pushed to"), "{notes}");
    }
    assert_ne!(at(&bare, &sandbox, &["rev-parse", "main"]), sandbox.git(&["rev-parse", "main"]));
}

/// Has a migration die before it has moved anything, at the point where it rewrites history.
fn cut_off(sandbox: &Sandbox) {
    let bin = sandbox.outside().join("bin");
    std::fs::create_dir(&bin).unwrap();
    // git-lfs has its parent, git-colony, killed, and goes on by itself for a while.
    let real = Command::new("sh").args(["-c", "command -v git-lfs"]).output().unwrap();
    let real = String::from_utf8(real.stdout).unwrap();
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = migrate ] && kill -9 \"$(cat {})\"\nexec {} \"$@\"\n",
        sandbox.outside().join("victim").display(),
        real.trim()
    );
    write_program(&bin.join("git-lfs"), script);
    let line = format!(
        "PATH={}:$PATH; sh -c 'echo $$ > ../victim; exec git-colony lfs migrate'",
        bin.display()
    );
    assert!(!shell(sandbox, &sandbox.root, &line).status.success());
}

#[test]
fn a_migration_killed_alone_is_reported_and_runs_again() {
    for swept in [false, true] {
        let (sandbox, bare) = grown_with_origin();
        let config = sandbox.read(".git/config");
        let theirs = at(&bare, &sandbox, &["for-each-ref"]);
        cut_off(&sandbox);
        assert!(sandbox.read(".git/config").contains("filter \"lfs\""));
        if swept {
            // The next changing command clears what a dead one has left.
            sandbox.colony(&["checkpoint", "--auto"]);
        }
        let (found, fix) = told(&sandbox);
        assert_eq!(found["stage"], "cut_off", "{found:#}");
        let dry = sandbox.json(&["lfs", "migrate", "-n"]);
        assert_eq!((&dry["ok"], &dry["dry_run"]), (&true.into(), &true.into()));
        paste(&sandbox, &sandbox.root, &fix.unwrap());
        let pointer = sandbox.git(&["show", "main:paper.pdf"]);
        assert!(pointer.starts_with(POINTER), "{pointer}");
        assert_eq!(at(&bare, &sandbox, &["for-each-ref"]), theirs);
        // Its undo takes back what the first try set up as well.
        sandbox.colony(&["undo"]);
        assert_eq!(sandbox.read(".git/config"), config);
        assert!(!sandbox.path(".git/hooks/pre-push").exists());
        assert!(told(&sandbox).0.is_null());
    }
}
