//! Uncommitted files: a question about HEAD finds them as they are in the working tree.

use std::collections::BTreeSet;
use std::fs;

use proptest::prelude::*;
use serde_json::Value;

use crate::support::{Sandbox, View};

use super::first_questions::whole;
use super::{map, mapped, output, paths};

fn found(view: &View, word: &str) -> BTreeSet<String> {
    let run = view.run(&["--json", "search", "--limit", "99", word]);
    let told: Value = serde_json::from_str(&run.stdout).unwrap();
    paths(&told, "hits").into_iter().collect()
}

#[test]
fn a_new_file_is_found_and_marked() {
    let sandbox = mapped();
    sandbox.write("src/new.rs", "fn quiescence() {}\n");
    let told = sandbox.json(&["search", "quiescence"]);
    assert_eq!(paths(&told, "hits"), ["src/new.rs"]);
    let hit = &told["hits"][0];
    assert_eq!((&hit["uncommitted"], &hit["scope_id"]), (&true.into(), &Value::Null));
    let shown = sandbox.colony(&["search", "quiescence"]);
    assert!(shown.contains("src/new.rs:1 (uncommitted)"), "{shown}");
    let told = sandbox.json(&["context", "--question", "quiescence"]);
    assert_eq!(told["parts"][0]["uncommitted"], true, "{told:#}");
    assert!(told["text"].as_str().unwrap().contains("(uncommitted)"));
    let told = sandbox.json(&["search", "merge_base"]);
    assert_eq!(told["hits"][0]["uncommitted"], false);
}

#[test]
fn an_edited_file_takes_the_place_of_the_committed_one() {
    let sandbox = mapped();
    sandbox.write("src/graph/base.rs", "fn quiescence() {}\n");
    assert!(!found(&sandbox, "common").contains("src/graph/base.rs"));
    assert_eq!(found(&sandbox, "quiescence"), BTreeSet::from(["src/graph/base.rs".to_owned()]));
    fs::remove_file(sandbox.path("src/graph/base.rs")).unwrap();
    assert_eq!(found(&sandbox, "quiescence"), BTreeSet::new());
    sandbox.git(&["checkout", "-q", "."]);
    assert!(found(&sandbox, "common").contains("src/graph/base.rs"));
}

#[test]
fn what_a_commit_would_not_have_is_not_found() {
    let sandbox = mapped();
    sandbox.write(".gitignore", "ignored.rs\n");
    sandbox.write(".colonyignore", "unmapped/\n");
    for path in ["ignored.rs", "unmapped/a.rs", ".env", "secrets/id_rsa"] {
        sandbox.write(path, "quiescence\n");
    }
    sandbox.write("data.bin", b"quiescence\0");
    assert_eq!(found(&sandbox, "quiescence"), BTreeSet::new());
}

#[test]
fn an_edited_file_that_only_git_reads_is_named() {
    let sandbox = mapped();
    sandbox.write(".gitattributes", "*.wide working-tree-encoding=UTF-16LE\n");
    sandbox.write("a.wide", b"q\0u\0i\0e\0s\0c\0e\0n\0c\0e\0\n\0");
    sandbox.write("image", b"a\0");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "wide"]);
    assert_eq!(found(&sandbox, "quiescence"), BTreeSet::from(["a.wide".to_owned()]));
    sandbox.write("a.wide", b"q\0u\0i\0e\0s\0c\0e\0n\0t\0\n\0");
    sandbox.write("image", b"b\0");
    let run = sandbox.run(&["search", "quiescent_word"]);
    let note = "not text as it is edited: 1 uncommitted file";
    assert!(run.stderr.contains(note), "{}", output(&run));
    assert!(!run.stderr.contains("occurs in no searched file"), "{}", output(&run));
}

#[test]
fn too_large_files_are_named_in_one_line() {
    let sandbox = mapped();
    sandbox.write("src/large.rs", "fn quiescence() {}\n".repeat(100_000));
    sandbox.write("src/small.rs", "fn quiescence() {}\n");
    let run = sandbox.run(&["search", "quiescence"]);
    assert!(run.stderr.contains("too large: 1 uncommitted file"), "{}", output(&run));
    assert!(run.stdout.contains("src/small.rs"), "{}", output(&run));
    // What was committed is not what is there.
    sandbox.write("src/graph/base.rs", "fn quiescence() {}\n".repeat(100_000));
    assert!(!found(&sandbox, "common").contains("src/graph/base.rs"));
}

#[test]
fn a_partial_answer_has_uncommitted_files_too() {
    let sandbox = Sandbox::new();
    sandbox.write("src/old.rs", "fn quiescence() {}\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "more"]);
    sandbox.write("src/old.rs", "fn other() {}\n");
    sandbox.write("src/new.rs", "fn quiescence() {}\n");
    let hasty = sandbox.with("COLONY_FIRST_ANSWER_TIME", "0");
    let told = hasty.json_apart(&["search", "quiescence"]);
    assert_eq!((&told["partial"], paths(&told, "hits")), (&true.into(), vec!["src/new.rs".into()]));
    let told = whole(&hasty, &["search", "quiescence"]);
    assert_eq!(paths(&told, "hits"), ["src/new.rs"]);
}

/// A change of the working tree.
#[derive(Clone, Debug)]
enum Change {
    Write(usize, usize),
    Delete(usize),
    Rename(usize, usize),
}

const PATHS: [&str; 6] = ["a.rs", "src/b.rs", "src/deep/c.md", "d/e.rs", "d/f.txt", "g.rs"];

const WORDS: [&str; 3] = ["quiescence", "tranquility", "stillness"];

fn change() -> impl Strategy<Value = Change> {
    let path = 0..PATHS.len();
    prop_oneof![
        (path.clone(), 0..WORDS.len()).prop_map(|(path, word)| Change::Write(path, word)),
        path.clone().prop_map(Change::Delete),
        (path.clone(), path).prop_map(|(from, to)| Change::Rename(from, to)),
    ]
}

fn make(sandbox: &View, change: &Change) {
    match *change {
        Change::Write(path, word) => {
            sandbox.write(PATHS[path], format!("fn {}() {{}}\n", WORDS[word]));
        }
        Change::Delete(path) => drop(fs::remove_file(sandbox.path(PATHS[path]))),
        Change::Rename(from, to) => {
            let to = sandbox.path(PATHS[to]);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            drop(fs::rename(sandbox.path(PATHS[from]), to));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn changes_are_found_as_if_committed(
        before in prop::collection::vec(change(), 1..8),
        after in prop::collection::vec(change(), 1..6),
        staged in any::<bool>(),
    ) {
        let sandbox = Sandbox::new();
        sandbox.write("kept.rs", "fn quiescence() {}\n");
        for change in &before {
            make(&sandbox, change);
        }
        map(&sandbox);
        for change in &after {
            make(&sandbox, change);
        }
        if staged {
            sandbox.git(&["add", "-A"]);
        }
        let uncommitted = WORDS.map(|word| found(&sandbox, word));
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-q", "--allow-empty", "-m", "after"]);
        let committed = WORDS.map(|word| found(&sandbox, word));
        prop_assert_eq!(uncommitted, committed);
    }
}
