//! `map tree --tokens`: where the tokens of a commit are; and what a dry run of `map` leaves.

use std::fs;

use serde_json::{Value, json};

use crate::support::Sandbox;

fn commit(sandbox: &Sandbox, files: &[(&str, &str)]) {
    for (path, text) in files {
        sandbox.write(path, text);
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "change"]);
}

#[test]
fn tokens_of_files_add_up_to_those_of_directories_and_of_pages() {
    let sandbox = Sandbox::new();
    let long = "a line of text\n".repeat(2000);
    commit(
        &sandbox,
        &[
            ("dir/deep/long.txt", long.as_str()),
            ("binary", "a\0b"),
            (".colonyignore", "left\n"),
            ("left", "out\n"),
        ],
    );
    let before = sandbox.json(&["map", "tree", "--tokens"]);
    let root = &before["root"];
    let mapped = sandbox.json(&["map"]);
    assert_eq!(root["tokens"], mapped["results"][0]["tokens"]);
    let entry = |path: &str| {
        let mut entry = root;
        for at in path.match_indices('/').map(|(at, _)| at).chain([path.len()]) {
            let below = entry["children"].as_array().unwrap().iter();
            entry = below.clone().find(|entry| entry["path"] == path[..at]).unwrap();
        }
        entry["tokens"].clone()
    };
    let number = |path: &str| entry(path).as_u64().unwrap();
    assert_eq!(number("dir"), number("dir/deep") + number("dir/b.txt"));
    assert_eq!(number("dir/deep"), number("dir/deep/long.txt"));
    assert_eq!((entry("binary"), entry("left")), (Value::Null, Value::Null));
    assert_eq!(sandbox.json(&["map", "tree", "--tokens"])["root"], *root);
    assert_eq!(sandbox.json(&["map", "tree"])["root"]["tokens"], Value::Null);
    let shallow = sandbox.json(&["map", "tree", "--tokens", "--max-depth", "1"]);
    let top = shallow["root"]["children"].as_array().unwrap();
    assert_eq!(top[0]["tokens"], number("dir"), "what is not shown counts");
    let first = ["map", "tree", "--tokens", "--rev", "HEAD~1"];
    insta::assert_snapshot!(sandbox.colony(&first), @r"
    3 entries, 35 tokens
    dir/  18 tokens, 51 %
      b.txt  4 bytes  18 tokens, 51 %
    a.txt  4 bytes  17 tokens, 48 %
    ");
}

#[test]
fn a_mapped_file_has_the_tokens_of_its_records() {
    let sandbox = Sandbox::new();
    let map = "schema_version: 1\nsources:\n  - {name: code, type: git_repo, start_dir: dir, binary_policy: include}\n";
    commit(&sandbox, &[(".colony/repo_map.yaml", map), ("dir/binary", "a\0b")]);
    let tokens = |path: &str| {
        let tree = sandbox.json(&["map", "tree", "--tokens"]);
        let top = tree["root"]["children"].as_array().unwrap().clone();
        let dir = top.into_iter().find(|entry| entry["path"] == "dir").unwrap();
        let found = dir["children"].as_array().unwrap().iter();
        found.clone().find(|entry| entry["path"] == path).unwrap()["tokens"].clone()
    };
    assert_eq!(tokens("dir/binary"), Value::Null);
    drop(sandbox.json(&["map"]));
    let pages = sandbox.json(&["pages", "--path", "dir/binary"]);
    let records = pages["pages"][0]["records"].as_array().unwrap();
    let record = records.iter().find(|record| record["path"] == "dir/binary").unwrap();
    assert_eq!(tokens("dir/binary"), record["tokens"]);
    assert!(record["tokens"].is_u64());
}

#[test]
fn a_branch_without_a_commit_has_no_tokens() {
    let tree = Sandbox::unborn().json(&["map", "tree", "--tokens"]);
    assert_eq!((&tree["root"]["tokens"], &tree["count"]), (&json!(0), &json!(0)));
}

#[test]
fn a_dry_run_of_a_map_reports_and_changes_nothing() {
    let sandbox = Sandbox::new();
    let would = sandbox.json(&["map", "-n"]);
    assert!(!sandbox.path(".git/colony").exists());
    let did = sandbox.json(&["map"]);
    assert_eq!(would["results"], did["results"]);
    commit(&sandbox, &[("new.txt", "more\n"), ("dir/c.txt", "sea\n")]);
    let table = || sandbox.json(&["pages"]);
    let before = table();
    let would = sandbox.json(&["map", "--dry-run"]);
    assert_eq!(table(), before);
    assert_eq!(would["results"], sandbox.json(&["map"])["results"]);
    assert_ne!(table()["pages"], before["pages"]);
    fs::remove_dir_all(sandbox.path(".git/colony/cache")).unwrap();
    drop(sandbox.json(&["map", "-n"]));
    assert!(!sandbox.path(".git/colony/cache").exists());
}
