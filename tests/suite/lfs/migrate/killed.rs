//! A migration to git-lfs that is killed outright: what it has started lives on, and is ended or waited
//! for before anybody takes the migration back or goes on with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::{Sandbox, View, first_line, write_program};

use super::rewrite::{at, grown_with_origin};

/// Two pipes with names: something says in one that it has begun, and waits for the other.
struct Gate {
    begun: PathBuf,
    go: PathBuf,
}

impl Gate {
    fn new(sandbox: &Sandbox) -> Gate {
        let gate =
            Gate { begun: sandbox.outside().join("begun"), go: sandbox.outside().join("go") };
        for path in [&gate.begun, &gate.go] {
            rustix::fs::mkfifoat(rustix::fs::CWD, path, 0o600.into()).unwrap();
        }
        gate
    }

    /// The line of a script that waits there.
    fn wait(&self) -> String {
        let (begun, go) = (self.begun.display(), self.go.display());
        format!("echo begun >'{begun}'; read line <'{go}'\n")
    }

    fn hook(&self, path: &Path, rest: &str) {
        write_program(path, format!("#!/bin/sh\n{}{rest}", self.wait()));
    }

    /// Starts the program, and kills it once somebody waits at the gate.
    fn kill(&self, view: &View, args: &[&str]) {
        let mut child = start(view, args);
        assert_eq!(first_line(&self.begun).0, "begun");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn open(&self) {
        fs::write(&self.go, "go\n").unwrap();
    }
}

fn start(view: &View, args: &[&str]) -> Child {
    view.program().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn answer(child: Child) -> Value {
    let output = child.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A repository that is published, the refs of both sides, and a gate.
fn published() -> (Sandbox, PathBuf, [String; 2], Gate) {
    let (sandbox, bare) = grown_with_origin();
    sandbox.git(&["lfs", "install", "--local"]);
    let gate = Gate::new(&sandbox);
    let refs = [branches(&sandbox), at(&bare, &sandbox, &["for-each-ref"])];
    (sandbox, bare, refs, gate)
}

fn branches(sandbox: &Sandbox) -> String {
    sandbox.git(&["for-each-ref", "refs/heads", "refs/tags", "refs/notes"])
}

/// Refuses another migration while a push lives; when that is ended as the hint says, the next one publishes.
fn waits_for_the_push(at_hook: impl Fn(&Gate, &Sandbox, &Path)) {
    let (sandbox, bare, [ours, theirs], gate) = published();
    at_hook(&gate, &sandbox, &bare);
    gate.kill(&sandbox, &["lfs", "migrate", "--push"]);
    let new = branches(&sandbox);
    assert_ne!(new, ours);
    let again = ["--timeout", "0", "lfs", "migrate", "--push"];
    let refused = sandbox.json_apart(&again);
    assert_eq!(refused["code"], "locked", "{refused:#}");
    let said = refused["message"].as_str().unwrap();
    assert!(said.contains("git push (process "), "{said}");
    assert_eq!(branches(&sandbox), new);
    assert_eq!(at(&bare, &sandbox, &["for-each-ref"]), theirs);
    let hint = refused["hint"].as_str().unwrap();
    assert!(hint.starts_with("kill "), "{hint}");
    let pasted = Command::new("sh").args(["-c", hint]).status().unwrap();
    assert!(pasted.success());
    fs::remove_file(bare.join("hooks/pre-receive")).ok();
    sandbox.git(&["lfs", "update", "--force"]);
    sandbox.json_apart(&["lfs", "migrate", "--push"]);
    assert_eq!(at(&bare, &sandbox, &["rev-parse", "main"]), sandbox.git(&["rev-parse", "main"]));
    assert!(!sandbox.path(".git/colony/migration-children").exists());
    at(&bare, &sandbox, &["fsck", "--strict"]);
    sandbox.check_invariants_of_git();
}

#[test]
fn a_push_waiting_at_the_server_is_ended_before_the_next() {
    waits_for_the_push(|gate, _, bare| {
        gate.hook(&bare.join("hooks/pre-receive"), "");
    });
}

#[test]
fn a_push_waiting_in_a_hook_is_ended_before_the_next() {
    waits_for_the_push(|gate, sandbox, _| {
        let rest = "git lfs pre-push \"$@\"\n";
        gate.hook(&sandbox.path(".git/hooks/pre-push"), rest);
    });
}

#[test]
fn a_push_that_arrives_after_all_is_found_by_the_next() {
    let (sandbox, bare, [_, theirs], gate) = published();
    gate.hook(&bare.join("hooks/pre-receive"), "");
    gate.kill(&sandbox, &["lfs", "migrate", "--push"]);
    let new = branches(&sandbox);
    let next = start(&sandbox, &["--json", "--timeout", "600", "lfs", "migrate", "--push"]);
    gate.open();
    let done = answer(next);
    assert_eq!((&done["ok"], &done["pushed"]), (&true.into(), &true.into()), "{done:#}");
    assert_eq!(branches(&sandbox), new);
    assert_ne!(at(&bare, &sandbox, &["for-each-ref"]), theirs);
    let main = at(&bare, &sandbox, &["rev-parse", "main"]);
    assert_eq!(main, sandbox.git(&["rev-parse", "main"]));
    sandbox.check_invariants_of_git();
}

#[test]
fn a_rewrite_that_lives_on_is_ended_and_blocks_no_other_command() {
    let (sandbox, bare, [_, theirs], gate) = published();
    let script = format!(
        "if [ \"$1\" = migrate ]; then {} fi",
        gate.wait().trim_end().to_owned() + "; : > object-map; exit 1;",
    );
    gate.kill(&sandbox.stand_in("git-lfs", &script), &["lfs", "migrate", "--push"]);
    let folder = sandbox.path(".git/colony/migration");
    sandbox.write("new.txt", "new\n");
    sandbox.colony(&["checkpoint", "--off-branch", "-m", "meanwhile"]);
    assert!(folder.exists(), "a process still writes there");
    sandbox.remove("new.txt");
    let done = sandbox.json_apart(&["lfs", "migrate", "--push"]);
    assert!(!folder.exists());
    assert!(!sandbox.path(".git/colony/migration-children").exists());
    assert_eq!(done["status"], "migrated", "{done:#}");
    assert_ne!(at(&bare, &sandbox, &["for-each-ref"]), theirs);
    sandbox.check_invariants_of_git();
}
