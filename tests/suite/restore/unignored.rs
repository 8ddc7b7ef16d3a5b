//! A restore that brings an older `.gitignore` back: what it un-ignores stays out of checkpoints.

use git_colony::testing::World;
use serde_json::{Value, json};

use crate::support::Sandbox;

/// A checkpoint `old` without ignore rules, then one that ignores `node_modules/` and `.env`.
fn with_new_rules() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "old"]);
    sandbox.write(".gitignore", "node_modules/\nnotes.txt\nbuild/*.o\n");
    sandbox.colony(&["checkpoint", "-m", "new"]);
    sandbox.write("node_modules/left-pad/index.js", "pad\n");
    sandbox.write("node_modules/right-pad/index.js", "pad\n");
    sandbox.write("notes.txt", "private\n");
    sandbox.write("build/a.o", "object\n");
    sandbox.write("build/readme", "seen by git\n");
    sandbox.colony(&["checkpoint", "-m", "newest"]);
    sandbox
}

const PATHS: [&str; 3] = ["build/a.o", "node_modules", "notes.txt"];

fn unignored(answer: &Value) -> Vec<&str> {
    let left_out = answer["left_out"].as_array().unwrap().iter();
    let ours = left_out.filter(|left| left["reason"] == "unignored");
    ours.map(|left| left["path"].as_str().unwrap()).collect()
}

fn files_of(sandbox: &Sandbox, revision: &str) -> String {
    sandbox.git(&["ls-tree", "-r", "--name-only", revision])
}

#[test]
fn a_restore_reports_what_it_unignores_and_keeps_it() {
    let sandbox = with_new_rules();
    let plan = sandbox.json(&["restore", "old", "--dry-run"]);
    assert_eq!(plan["unignored"], json!(PATHS), "{plan:#}");
    let done = sandbox.json(&["restore", "old"]);
    assert_eq!(done["unignored"], json!(PATHS));
    assert_eq!(sandbox.read("notes.txt"), "private\n");
    assert_eq!(sandbox.read("node_modules/left-pad/index.js"), "pad\n");
    sandbox.check_invariants();
}

#[test]
fn checkpoints_of_every_kind_leave_it_out() {
    let sandbox = with_new_rules();
    sandbox.colony(&["restore", "old"]);
    let status = sandbox.json(&["status"]);
    assert_eq!(status["uncommitted_changes"], false, "{status:#}");
    assert_eq!(status["changes"]["unignored"], 4);
    assert_eq!(sandbox.automatic_checkpoint()["reason"], "unchanged");
    sandbox.write("a.txt", "work\n");
    assert_eq!(unignored(&sandbox.automatic_checkpoint()), PATHS);
    let plan = sandbox.json(&["checkpoint", "-m", "c", "--dry-run"]);
    assert_eq!(unignored(&plan), PATHS);
    for args in [&["checkpoint", "--off-branch", "-m", "b"][..], &["checkpoint", "-m", "c"]] {
        let kept = sandbox.json(args);
        assert_eq!(unignored(&kept), PATHS);
        assert_eq!(files_of(&sandbox, kept["sha"].as_str().unwrap()), "a.txt\ndir/b.txt");
    }
    sandbox.write("node_modules/third/index.js", "new, below what was un-ignored\n");
    sandbox.write("a.txt", "more work\n");
    sandbox.colony(&["restore", "b"]);
    assert_eq!(sandbox.read("node_modules/third/index.js"), "new, below what was un-ignored\n");
    assert_eq!(unignored(&sandbox.json(&["checkpoint", "-m", "d"])), PATHS);
    sandbox.check_invariants();
}

#[test]
fn it_ends_when_it_is_taken_in() {
    let sandbox = with_new_rules();
    sandbox.colony(&["restore", "old"]);
    let kept = sandbox.json(&["checkpoint", "-m", "all", "--include-unignored"]);
    assert_eq!(unignored(&kept), [""; 0]);
    assert!(files_of(&sandbox, "HEAD").contains("node_modules/left-pad/index.js"));
    sandbox.write("notes2.txt", "new\n");
    assert_eq!(unignored(&sandbox.json(&["checkpoint", "-m", "next"])), [""; 0]);
    sandbox.colony(&["undo"]);
    sandbox.colony(&["undo"]);
    assert_eq!(unignored(&sandbox.json(&["checkpoint", "-m", "again"])), PATHS, "undone as well");
    sandbox.check_invariants();
}

#[test]
fn it_ends_path_by_path_when_tracked_or_ignored_again() {
    let sandbox = with_new_rules();
    sandbox.colony(&["restore", "old"]);
    sandbox.git(&["add", "notes.txt"]);
    sandbox.write(".git/info/exclude", "node_modules/\n");
    assert_eq!(unignored(&sandbox.json(&["checkpoint", "-m", "c"])), ["build/a.o"]);
    sandbox.write(".git/info/exclude", "");
    assert_eq!(unignored(&sandbox.json(&["checkpoint", "-m", "d"])), ["build/a.o"]);
    assert!(files_of(&sandbox, "HEAD").contains("notes.txt"));
    sandbox.check_invariants();
}

#[test]
fn the_undo_of_that_restore_ends_it_and_redo_begins_it_again() {
    let sandbox = with_new_rules();
    sandbox.colony(&["restore", "old"]);
    sandbox.colony(&["undo"]);
    sandbox.write(".gitignore", "");
    assert_eq!(unignored(&sandbox.json(&["checkpoint", "-m", "c", "-n"])), [""; 0]);
    sandbox.git(&["checkout", "-q", "--", ".gitignore"]);
    sandbox.colony(&["redo"]);
    assert_eq!(unignored(&sandbox.json(&["checkpoint", "-m", "c", "-n"])), PATHS);
    sandbox.colony(&["restore", "newest"]);
    assert_eq!(unignored(&sandbox.json(&["checkpoint", "-m", "c", "-n"])), [""; 0]);
    sandbox.check_invariants();
}

#[test]
fn a_restore_of_the_ignore_file_alone_counts_too() {
    let sandbox = with_new_rules();
    sandbox.write(".gitignore", "notes.txt\n");
    sandbox.colony(&["checkpoint", "--off-branch", "-m", "loose"]);
    sandbox.git(&["checkout", "-q", "--", ".gitignore"]);
    let done = sandbox.json(&["restore", "loose", "--", ".gitignore"]);
    assert_eq!(done["unignored"], json!(["build/a.o", "node_modules"]), "{done:#}");
    let again = sandbox.json(&["restore", "newest", "--", ".gitignore"]);
    assert_eq!(again["unignored"], json!([]));
    assert_eq!(unignored(&sandbox.json(&["checkpoint", "-m", "c", "-n"])), [""; 0]);
}

#[test]
fn a_directory_that_hides_itself_stays_hidden() {
    let sandbox = with_new_rules();
    sandbox.write("node_modules/.gitignore", "*\n");
    let done = sandbox.json(&["restore", "old"]);
    assert_eq!(done["unignored"], json!(["build/a.o", "notes.txt"]));
    assert_eq!(sandbox.json(&["status"])["uncommitted_changes"], false);
}

#[test]
fn what_plain_git_does_and_a_killed_restore_do_not_lose_it() {
    let sandbox = with_new_rules();
    let world = World { die_at: Some("committed"), ..sandbox.world() };
    assert_ne!(sandbox.run_in(world, &["restore", "old"]).code, 0);
    assert_eq!(sandbox.automatic_checkpoint()["reason"], "unchanged");
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "plain"]);
    assert_eq!(unignored(&sandbox.json(&["checkpoint", "-m", "c"])), PATHS);
    sandbox.check_invariants();
}

#[test]
fn thousands_of_paths_are_folded_into_their_directories() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "old"]);
    sandbox.write(".gitignore", "*.log\n");
    sandbox.write("deep/seen", "seen by git\n");
    sandbox.colony(&["checkpoint", "-m", "new"]);
    for number in 0..1_100 {
        sandbox.write(&format!("deep/{number}.log"), "log\n");
    }
    sandbox.write("top.log", "log\n");
    let done = sandbox.json(&["restore", "old"]);
    assert_eq!(done["unignored"], json!(["deep", "top.log"]));
}
