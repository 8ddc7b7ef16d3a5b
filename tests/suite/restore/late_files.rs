//! Files that somebody writes while a command of ours moves files: named, and brought back by undo.

use std::fs;
use std::path::PathBuf;

use git_colony::testing::World;
use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::fixture::Fixture;

/// A fork `try` that changes `a.txt` and adds `new.txt` and `deep/er/new.txt`; HEAD is on `main`.
fn forked() -> Sandbox {
    FORKED.copy()
}

static FORKED: Fixture = Fixture::new(|| {
    let sandbox = Sandbox::new();
    sandbox.colony(&["fork", "try"]);
    sandbox.write("a.txt", "theirs\n");
    sandbox.write("new.txt", "theirs\n");
    sandbox.write("deep/er/new.txt", "theirs\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "theirs"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "ours"]);
    sandbox
});

/// Has git run `script` in the worktree once, after the branch has moved and before files do.
fn write_meanwhile(sandbox: &Sandbox, script: &str) {
    let root = sandbox.root.display();
    let done = sandbox.outside().join("done");
    let done = done.display();
    sandbox.write_program(
        ".git/hooks/reference-transaction",
        format!(
            "#!/bin/sh\n[ \"$1\" = committed ] || exit 0\n[ -e '{done}' ] && exit 0\n\
             touch '{done}'\ncd '{root}' || exit 1\n{script}\n"
        ),
    );
}

fn paths(answer: &Value) -> Vec<&str> {
    let late = answer["kept_late"].as_array().unwrap();
    late.iter().map(|l| l["path"].as_str().unwrap()).collect()
}

#[test]
fn copies_of_what_these_tests_begin_with_are_whole() {
    FORKED.check();
}

#[test]
fn files_written_while_a_merge_moves_files_are_named_and_kept() {
    let sandbox = forked();
    write_meanwhile(&sandbox, "echo edited >a.txt; echo mine >new.txt; echo mine >deep");
    let answer = sandbox.json(&["merge", "try"]);
    assert_eq!(answer["outcome"], "merged", "{answer:#}");
    assert_eq!(paths(&answer), ["a.txt", "deep", "new.txt"]);
    for late in answer["kept_late"].as_array().unwrap() {
        let kept = fs::read_to_string(late["kept_at"].as_str().unwrap()).unwrap();
        let wanted = if late["path"] == "a.txt" { "edited\n" } else { "mine\n" };
        assert_eq!(kept, wanted);
        assert!(late["bring_back"].as_str().unwrap().starts_with("cp -a "));
    }
    let merged = sandbox.worktree();
    assert_eq!(sandbox.read("a.txt"), "theirs\n");
    assert_eq!(sandbox.read("deep/er/new.txt"), "theirs\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    let shown = sandbox.json(&["ops", "show", answer["op"].as_str().unwrap()]);
    assert_eq!(shown["kept"].as_array().unwrap().len(), 3, "{shown:#}");
    for _ in 0..2 {
        let undone = sandbox.json(&["undo"]);
        assert_eq!(undone["kept_late"], json!([]));
        assert_eq!(sandbox.read("a.txt"), "edited\n");
        assert_eq!(sandbox.read("new.txt"), "mine\n");
        assert_eq!(sandbox.read("deep"), "mine\n");
        sandbox.colony(&["redo"]);
        assert_eq!(sandbox.worktree(), merged);
    }
    sandbox.check_invariants();
}

#[test]
fn the_text_names_it_with_a_command_that_brings_it_back() {
    let sandbox = forked();
    write_meanwhile(&sandbox, "echo mine >new.txt");
    let told = sandbox.colony(&["merge", "try"]);
    let line = told.lines().find(|line| line.contains("new.txt")).unwrap();
    let (said, command) = line.split_once("; to restore it: ").unwrap();
    assert_eq!(said, "written while files moved, and kept: new.txt");
    let ran = std::process::Command::new("sh").args(["-c", command]).status();
    assert!(ran.unwrap().success(), "{command}");
    assert_eq!(sandbox.read("new.txt"), "mine\n");
}

#[test]
fn a_restore_a_pick_and_a_fork_name_it_too() {
    for (args, name) in [
        (&["restore", "first"][..], "restore"),
        (&["cherry-pick", "fork/try"], "pick"),
        (&["fork", "other", "--from", "fork/try"], "fork"),
    ] {
        let sandbox = forked();
        if name == "restore" {
            sandbox.git(&["switch", "-q", "fork/try"]);
            sandbox.colony(&["checkpoint", "-m", "first"]);
            sandbox.git(&["rm", "-q", "new.txt"]);
            sandbox.git(&["commit", "-qm", "gone"]);
        }
        write_meanwhile(&sandbox, "echo mine >new.txt");
        let answer = sandbox.json(args);
        assert_eq!(answer["ok"], true, "{answer:#}");
        assert_eq!(paths(&answer), ["new.txt"], "{args:?}");
        assert_eq!(sandbox.read("new.txt"), "theirs\n");
        sandbox.colony(&["undo"]);
        assert_eq!(sandbox.read("new.txt"), "mine\n", "{args:?}");
        sandbox.check_invariants();
    }
}

/// Dies after the refs have moved, and returns the folder of what the operation keeps.
fn cut_off(sandbox: &Sandbox) -> PathBuf {
    let world = World { die_at: Some("refs-moved"), ..sandbox.world() };
    assert_ne!(sandbox.run_in(world, &["merge", "try"]).code, 0);
    let key = fs::read_to_string(sandbox.path(".git/colony/worktree-key")).unwrap();
    let kept = sandbox.path(".git/colony-kept").join(key.trim());
    let newest = fs::read_dir(kept).unwrap().map(|entry| entry.unwrap().path());
    newest.max().unwrap()
}

#[test]
fn a_kill_between_two_moves_loses_nothing_written_then() {
    let sandbox = forked();
    let kept = cut_off(&sandbox);
    // What the dead owner had done: the old file is aside, the new one is not in place.
    fs::rename(sandbox.path("a.txt"), kept.join("0")).unwrap();
    sandbox.write("a.txt", "saved by an editor\n");
    sandbox.write("new.txt", "the first\n");
    fs::rename(sandbox.path("new.txt"), kept.join("late-2")).unwrap();
    sandbox.write("new.txt", "the second\n");
    let run = sandbox.run(&["checkpoint", "--auto"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("kept: a.txt; to restore"), "{}", run.stderr);
    assert!(run.stderr.contains("late-2+1"), "{}", run.stderr);
    assert_eq!(sandbox.read("a.txt"), "theirs\n");
    let undone = sandbox.json(&["undo"]);
    assert_eq!(sandbox.read("a.txt"), "saved by an editor\n");
    assert_eq!(sandbox.read("new.txt"), "the second\n");
    assert_eq!(paths(&undone), ["new.txt"], "{undone:#}");
    let at = undone["kept_late"][0]["kept_at"].as_str().unwrap();
    assert_eq!(fs::read_to_string(at).unwrap(), "the first\n");
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s"]), "ours");
    sandbox.check_invariants();
}

#[test]
fn a_cancel_brings_back_what_was_written_then() {
    let sandbox = forked();
    let kept = cut_off(&sandbox);
    fs::rename(sandbox.path("a.txt"), kept.join("0")).unwrap();
    fs::write(kept.join("late-0"), "saved by an editor\n").unwrap();
    fs::remove_file(sandbox.path(".git/index.lock")).unwrap();
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "somebody went on"]);
    let run = sandbox.run(&["checkpoint", "--auto"]);
    assert_eq!(sandbox.read("a.txt"), "saved by an editor\n");
    assert!(run.stderr.contains("'a.txt' stays at"), "{}", run.stderr);
}
