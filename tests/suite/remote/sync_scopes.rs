//! `sync` of the record of mapped scopes: two roots that map at once come to the same, scope by scope.

use std::cmp::Ordering;

use serde_json::{Value, json};

use crate::support::Sandbox;

use super::sync_refs::{Two, result, row};

const SCOPES: &str = "refs/colony/scopes";

/// A sandbox and a second clone of one remote whose map has the rows `a` and `b`.
fn two() -> Two {
    let two = Two::new();
    let a = &two.a;
    let map = "schema_version: 1\nsources:\n\
        - {name: a, type: git_repo}\n- {name: b, type: git_repo, start_dir: dir}\n";
    a.write(".colony/repo_map.yaml", map);
    a.git(&["add", "-A"]);
    a.git(&["commit", "-qm", "map"]);
    a.git(&["push", "-q", "origin", "main"]);
    two.b().git(&["pull", "-q"]);
    two
}

fn mapped(answer: &Value) {
    assert_eq!((&answer["ok"], &answer["recorded"]), (&json!(true), &json!(true)), "{answer:#}");
}

/// How many records a page of the scope of a row may have.
fn threshold(sandbox: &Sandbox, name: &str) -> Value {
    let base = sandbox.git(&["rev-list", "--max-parents=0", "main"]);
    let shown = sandbox.json(&["scopes", "show", &format!("{base}:{name}")]);
    shown["config"]["flush_threshold"].clone()
}

/// Every file of the records.
fn files(sandbox: &Sandbox) -> Vec<String> {
    let listed = sandbox.git(&["ls-tree", "-r", "--name-only", SCOPES]);
    listed.lines().map(str::to_owned).collect()
}

#[test]
fn two_roots_that_map_at_once_come_to_the_same() {
    let two = two();
    let (a, b) = (&two.a, two.b());
    // Row 'a' is mapped by both, otherwise; row 'b' by one of them only.
    a.git(&["config", "colony.map.flushThreshold", "7"]);
    b.git(&["config", "colony.map.flushThreshold", "9"]);
    mapped(&a.json(&["map"]));
    mapped(&b.json(&["map", "--source", "a"]));
    let tip = |rev: &str| (a.git_any(&["rev-parse", rev]), b.git_any(&["rev-parse", rev]));
    let (ours, theirs) = tip(SCOPES);
    assert_eq!(result(&b.json(&["sync"]), SCOPES), "created");
    let would = a.json(&["sync", "-n"]);
    assert_eq!(result(&would, SCOPES), "merged");
    assert_eq!(tip(SCOPES).0, ours, "a dry run changes nothing");
    assert_eq!(result(&a.json(&["sync"]), SCOPES), "merged");
    assert_eq!(threshold(a, "a"), 9, "it was mapped later");
    assert_eq!(threshold(a, "b"), 7, "nobody else has mapped it");
    let base = a.git(&["rev-list", "--max-parents=0", "main"]);
    let lost = a.git(&["rev-parse", &format!("{}:{base}%3Aa/scope.json", ours.trim())]);
    assert_eq!(
        files(a),
        [
            format!("{base}%3Aa/scope.json"),
            format!("{base}%3Aa/superseded/{lost}.json"),
            format!("{base}%3Ab/scope.json"),
        ]
    );
    assert_eq!(result(&b.json(&["sync"]), SCOPES), "fetched");
    let joined = tip(SCOPES);
    assert_eq!(joined.0, joined.1);
    assert_eq!(result(&a.json(&["sync"]), SCOPES), "up_to_date");
    assert_eq!(result(&b.json(&["sync"]), SCOPES), "up_to_date");
    // The other way round it is the very same commit.
    b.git(&["update-ref", SCOPES, theirs.trim()]);
    two.at_remote(&["update-ref", SCOPES, ours.trim()]);
    assert_eq!(result(&b.json(&["sync"]), SCOPES), "merged");
    assert_eq!(tip(SCOPES), joined);
    // What gave way goes with its scope.
    let unmapped = a.json(&["scopes", "unmap", &format!("{base}:a")]);
    assert_eq!(unmapped["status"], "unmapped");
    assert_eq!(files(a), [format!("{base}%3Ab/scope.json")]);
    a.check_invariants_of_git();
}

#[test]
fn who_mapped_the_same_first_keeps_nothing_beside_it() {
    let two = two();
    let (a, b) = (&two.a, two.b());
    mapped(&a.json(&["map"]));
    mapped(&b.json(&["map"]));
    drop(a.json(&["sync"]));
    assert_eq!(result(&b.json(&["sync"]), SCOPES), "merged");
    let listed = b.git(&["ls-tree", "-r", "--name-only", SCOPES]);
    assert!(!listed.contains("superseded"), "{listed}");
}

#[test]
fn a_scope_deleted_on_one_side_goes_and_other_changes_stay() {
    let two = two();
    let (a, b) = (&two.a, two.b());
    let base = a.git(&["rev-list", "--max-parents=0", "main"]);
    mapped(&a.json(&["map"]));
    drop(a.json(&["sync"]));
    assert_eq!(result(&b.json(&["sync"]), SCOPES), "fetched");
    drop(a.json(&["scopes", "unmap", &format!("{base}:a")]));
    b.git(&["config", "colony.map.flushThreshold", "9"]);
    mapped(&b.json(&["map", "--source", "b"]));
    drop(a.json(&["sync"]));
    assert_eq!(result(&b.json(&["sync"]), SCOPES), "merged");
    assert_eq!(result(&a.json(&["sync"]), SCOPES), "fetched");
    assert_eq!(files(a), [format!("{base}%3Ab/scope.json")]);
    assert_eq!(threshold(a, "b"), 9);
    // Taken away on one side and changed on the other, it stays as changed.
    drop(a.json(&["scopes", "unmap", &format!("{base}:b")]));
    b.git(&["config", "colony.map.flushThreshold", "11"]);
    mapped(&b.json(&["map", "--source", "b"]));
    drop(b.json(&["sync"]));
    let merged = a.json(&["sync"]);
    assert_eq!(row(&merged, SCOPES)["direction"], "both");
    assert_eq!(threshold(a, "b"), 11);
}

/// Writes a tree of these lines of `git ls-tree`.
fn tree_of(sandbox: &Sandbox, entries: &str) -> String {
    let file = sandbox.outside().join("entries");
    std::fs::write(&file, entries).unwrap();
    let mktree = format!("alias.mk=!git mktree <'{}'", file.display());
    sandbox.git(&["-c", &mktree, "mk"])
}

fn beside(tree: &str) -> String {
    format!("040000 tree {tree}\tsuperseded\n")
}

/// A tree with the subtree of `main` in so many places that to list all of it would never end.
fn without_end(sandbox: &Sandbox) -> String {
    let mut tree = sandbox.git(&["rev-parse", "main^{tree}"]);
    for level in 0..12 {
        let count = if level == 11 { 10_001 } else { 10 };
        let name = |at: usize| format!("040000 tree {tree}\ts{at:05}\n");
        let entries: String = (0..count).map(name).collect();
        tree = tree_of(sandbox, &entries);
        if level < 11 {
            tree = tree_of(sandbox, &beside(&tree));
        }
    }
    tree
}

#[test]
fn records_without_number_are_merged_with_nothing() {
    let two = two();
    let a = &two.a;
    mapped(&a.json(&["map"]));
    let ours = a.git_any(&["rev-parse", SCOPES]);
    let theirs = a.git(&["commit-tree", "-m", "many", &without_end(a)]);
    a.git(&["push", "-q", "origin", &format!("{theirs}:{SCOPES}")]);
    assert_eq!(result(&a.json(&["sync"]), SCOPES), "invalid");
    assert_eq!(a.git_any(&["rev-parse", SCOPES]), ours);
}

#[test]
fn of_what_stands_beside_a_record_only_so_much_is_read() {
    let two = two();
    let a = &two.a;
    mapped(&a.json(&["map"]));
    let ours = a.git(&["rev-parse", SCOPES]);
    let listed = a.git(&["ls-tree", &ours]);
    let (first, others) = listed.split_once('\n').unwrap();
    let (entry, name) = first.split_once('\t').unwrap();
    let folder = entry.rsplit(' ').next().unwrap();
    let files_of_it = a.git(&["ls-tree", folder]) + "\n" + &beside(&without_end(a));
    let one = tree_of(a, &files_of_it);
    let tree = tree_of(a, &format!("040000 tree {one}\t{name}\n{others}\n"));
    // Whichever of the two the commit of both names first, nothing of it is listed whole.
    for order in [Ordering::Less, Ordering::Greater] {
        a.git(&["update-ref", SCOPES, &ours]);
        let theirs = (0..).map(|at| a.git(&["commit-tree", "-m", &at.to_string(), &tree]));
        let theirs = theirs.into_iter().find(|id| id.cmp(&ours) == order);
        let theirs = format!("{}:{SCOPES}", theirs.unwrap());
        a.git(&["push", "-qf", "origin", &theirs]);
        assert_eq!(result(&a.json(&["sync"]), SCOPES), "merged");
        assert_eq!(files(a).len(), 2, "{:?}", files(a));
    }
    // One that is taken over as it is stands in nobody's way.
    let theirs = a.git(&["commit-tree", "-p", SCOPES, "-m", "theirs", &tree]);
    a.git(&["push", "-q", "origin", &format!("{theirs}:{SCOPES}")]);
    assert_eq!(result(&a.json(&["sync"]), SCOPES), "fetched");
    let base = a.git(&["rev-list", "--max-parents=0", "main"]);
    let scope = format!("{base}:a");
    assert_eq!(a.json(&["scopes", "unmap", &scope])["ok"], true);
    assert_eq!(files(a).len(), 1);
}
