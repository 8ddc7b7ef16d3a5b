//! Trees that stand for more paths than can be walked: refused at once, in little memory, by name, and
//! one row of what lists many.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Output;

use serde_json::Value;

use crate::support::{HANG_TIMEOUT, Sandbox, id_of, program_path};

/// The memory that a command may reach, which is what it maps: its own 130 MB and its stacks included.
const MAX_KILOBYTES: u64 = 1_500_000;

/// A repository with the branch `bomb`: ten levels of ten, 10^10 files.
fn with_bomb() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "c0"]);
    let blob = sandbox.git(&["rev-parse", "HEAD:a.txt"]);
    let tree = levels(&sandbox, &format!("100644 blob {blob}"), 10);
    branch(&sandbox, "bomb", &tree);
    sandbox
}

/// A tree of so many levels of ten entries each, all of them the same.
fn levels(sandbox: &Sandbox, leaf: &str, count: usize) -> String {
    let mut below = leaf.to_owned();
    let mut tree = String::new();
    for _ in 0..count {
        let entries = (0..10).map(|name| format!("{below}\td{name}\n"));
        tree = sandbox.make_tree(&entries.collect::<String>());
        below = format!("040000 tree {tree}");
    }
    tree
}

fn branch(sandbox: &Sandbox, name: &str, tree: &str) {
    let commit = sandbox.git(&["commit-tree", "-m", name, "-p", "HEAD", tree]);
    sandbox.git(&["branch", name, &commit]);
}

/// Runs the program as a process with little memory and time.
fn bounded(sandbox: &Sandbox, args: &[&str]) -> Output {
    let seconds = HANG_TIMEOUT.as_secs();
    let script = format!("ulimit -v {MAX_KILOBYTES}; exec timeout -s KILL {seconds} \"$0\" \"$@\"");
    let output = sandbox
        .process("sh")
        .args(["-c", &script])
        .arg(program_path())
        .arg("--json")
        .args(args)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), None, "{args:?} {said}");
    assert!(!said.contains("panicked"), "{args:?} {said}");
    output
}

fn answer(sandbox: &Sandbox, args: &[&str]) -> Value {
    let output = bounded(sandbox, args);
    let said = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&said).unwrap_or_else(|e| panic!("{args:?} {e} {said} {output:?}"))
}

fn is_refused(sandbox: &Sandbox, args: &[&str], name: &str) {
    let before = sandbox.visible_state();
    let refused = answer(sandbox, args);
    assert_eq!(refused["code"], "tree-too-large", "{args:?} {refused:#}");
    let told = refused["message"].as_str().unwrap();
    assert!(told.contains(name), "{args:?} {told}");
    assert_eq!(sandbox.visible_state(), before, "{args:?}");
}

#[test]
fn commands_that_would_walk_a_bomb_refuse_it_at_once() {
    let sandbox = with_bomb();
    let tree = sandbox.git(&["rev-parse", "bomb^{tree}"]);
    for args in [
        &["cherry-pick", "bomb"][..],
        &["cherry-pick", "-n", "bomb"],
        &["diff", "HEAD", "bomb"],
        &["diff", "bomb", "HEAD"],
        &["diff", "--patch", "HEAD", "bomb"],
        &["diff", "bomb"],
        &["merge", "bomb"],
        &["merge", "-n", "bomb"],
        &["fork", "x", "--from", "bomb"],
    ] {
        is_refused(&sandbox, args, &tree);
        is_refused(&sandbox, args, "bomb'");
    }
    let mapped = answer(&sandbox, &["map", "--rev", "bomb"]);
    assert_eq!(mapped["results"][0]["code"], "tree-too-large", "{mapped:#}");
    let tagged = answer(&sandbox, &["tag", "-m", "of the bomb", "bomb"]);
    let id = tagged["checkpoint_id"].as_str().unwrap();
    is_refused(&sandbox, &["restore", id], &tree);
    is_refused(&sandbox, &["restore", "-n", id], &tree);
    is_refused(&sandbox, &["checkpoints", "show", id], &tree);
}

#[test]
fn a_bomb_that_both_sides_have_changed_is_not_merged_by_git() {
    let sandbox = with_bomb();
    let blob = sandbox.git(&["rev-parse", "HEAD:dir/b.txt"]);
    let other = levels(&sandbox, &format!("100755 blob {blob}"), 10);
    // Both began with a bomb, and both have made another of it.
    let third = levels(&sandbox, &format!("120000 blob {blob}"), 10);
    let commit =
        |tree: &str, parent: &str| sandbox.git(&["commit-tree", "-m", "x", "-p", parent, tree]);
    let ours = commit(&other, "bomb");
    let theirs = commit(&third, "bomb");
    sandbox.git(&["branch", "fork/ours", &ours]);
    sandbox.git(&["branch", "fork/theirs", &theirs]);
    let before = sandbox.refs();
    for args in [
        &["merge", "fork/ours", "--into", "fork/theirs"][..],
        &["merge", "-n", "fork/ours", "--into", "fork/theirs"],
    ] {
        let refused = answer(&sandbox, args);
        assert_eq!(refused["code"], "tree-too-large", "{args:?} {refused:#}");
    }
    assert_eq!(sandbox.refs(), before);
}

#[test]
fn a_fork_that_is_a_bomb_is_one_row_and_the_others_answer() {
    let sandbox = with_bomb();
    sandbox.git(&["branch", "fork/bomb", "bomb"]);
    sandbox.write("good.txt", "good\n");
    sandbox.colony(&["fork", "good"]);
    sandbox.colony(&["checkpoint", "-m", "good work"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.write("main.txt", "main\n");
    sandbox.colony(&["checkpoint", "-m", "main goes on"]);
    sandbox.write("uncommitted.txt", "here\n");

    for args in [&["forks"][..], &["forks", "--conflicts"]] {
        let listed = answer(&sandbox, args);
        assert_eq!(listed["ok"], true, "{listed:#}");
        let forks = listed["forks"].as_array().unwrap();
        let named = |name: &str| forks.iter().find(|fork| fork["name"] == name).unwrap();
        assert_eq!(named("fork/bomb")["problem"]["code"], "tree-too-large");
        assert_eq!(named("fork/good")["into"]["outcome"], "merged", "{listed:#}");
    }
    let fleet = answer(&sandbox, &["fleet"]);
    assert_eq!(fleet["ok"], true, "{fleet:#}");
    let rows = fleet["agents"].as_array().unwrap();
    let bomb = rows.iter().find(|row| row["fork"] == "fork/bomb").unwrap();
    assert_eq!(bomb["problem"]["code"], "tree-too-large", "{fleet:#}");
    assert_eq!(fleet["hint"], "git colony merge fork/good", "{fleet:#}");

    let status = answer(&sandbox, &["status"]);
    assert_eq!(status["ok"], true, "{status:#}");
    let health = status["health"].as_array().unwrap();
    let told = health.iter().find(|row| row["name"] == "fork-problem");
    let told = told.unwrap()["detail"].as_str().unwrap();
    assert!(told.contains("'fork/bomb'"), "{told}");
    for args in [&["topology"][..], &["doctor"], &["ops"], &["agents"], &["scopes"]] {
        let told = answer(&sandbox, args);
        assert_ne!(told["ok"], Value::Null, "{args:?} {told:#}");
    }
    let text = sandbox.colony(&["forks"]);
    assert!(text.contains("tree-too-large"), "{text}");
}

#[test]
fn a_fork_whose_commit_makes_no_sense_is_one_row() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "c0"]);
    sandbox.git(&["branch", "fork/good"]);
    let garbage = sandbox.hash_literally("commit", b"garbage");
    sandbox.write(".git/refs/heads/fork/broken", format!("{garbage}\n"));
    let listed = answer(&sandbox, &["forks", "--conflicts"]);
    assert_eq!(listed["count"], 2, "{listed:#}");
    let forks = listed["forks"].as_array().unwrap();
    let broken = forks.iter().find(|fork| fork["name"] == "fork/broken").unwrap();
    assert_eq!(broken["problem"]["code"], "repository-broken", "{listed:#}");
    for args in [&["fleet"][..], &["status"], &["topology"]] {
        assert_eq!(answer(&sandbox, args)["ok"], true, "{args:?}");
    }
}

#[test]
fn directories_too_deep_inside_each_other_are_refused() {
    let sandbox = Sandbox::new();
    let blob = sandbox.git(&["rev-parse", "HEAD:a.txt"]);
    // The id of each is in the next: all are written by one git.
    let mut below = ("100644 f", blob);
    let mut trees = Vec::new();
    let mut at_2000 = String::new();
    for level in 0..20_000 {
        let mut tree = format!("{}\0", below.0).into_bytes();
        tree.extend(hex(&below.1));
        below = ("40000 d", id_of("tree", &tree));
        trees.push(tree);
        if level == 1_990 {
            at_2000.clone_from(&below.1);
        }
    }
    sandbox.hash_all_literally("tree", &trees);
    branch(&sandbox, "deep", &below.1);
    branch(&sandbox, "allowed", &at_2000);
    for args in [
        &["diff", "HEAD", "deep"][..],
        &["cherry-pick", "deep"],
        &["merge", "deep"],
        &["fork", "x", "--from", "deep"],
    ] {
        is_refused(&sandbox, args, "inside each other");
    }
    let mapped = answer(&sandbox, &["map", "--rev", "deep"]);
    assert_eq!(mapped["results"][0]["code"], "invalid-value", "{mapped:#}");
    let compared = answer(&sandbox, &["diff", "HEAD", "allowed"]);
    assert_eq!(compared["entries"].as_array().unwrap().len(), 2);
}

#[test]
fn one_directory_of_too_many_entries_is_refused() {
    let sandbox = Sandbox::new();
    let blob = hex(&sandbox.git(&["rev-parse", "HEAD:a.txt"]));
    let entries = (0..4_200_000_u32).flat_map(|name| {
        let head = format!("100644 {name:07}\0").into_bytes();
        head.into_iter().chain(blob.clone())
    });
    let tree = sandbox.hash_literally("tree", &entries.collect::<Vec<u8>>());
    branch(&sandbox, "wide", &tree);
    sandbox.git(&["branch", "fork/wide", "wide"]);
    is_refused(&sandbox, &["diff", "HEAD", "wide"], &tree);
    is_refused(&sandbox, &["cherry-pick", "wide"], &tree);
    assert_eq!(answer(&sandbox, &["fleet"])["ok"], true);
}

fn hex(id: &str) -> Vec<u8> {
    let digits = id.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.map(byte).collect()
}
