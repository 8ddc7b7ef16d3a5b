//! `map` and `pages` on hostile trees: links, names of any bytes, paths that fill a page.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::Sandbox;

use super::edited_repository::{MAP, commit, map, pages};

#[test]
fn links_and_submodules_are_never_read_through() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.outside().join("secret.txt"), "the secret\n").unwrap();
    symlink("/etc", sandbox.path("etc")).unwrap();
    symlink(sandbox.outside().join("secret.txt"), sandbox.path("dir/secret.txt")).unwrap();
    symlink("dir", sandbox.path("again")).unwrap();
    sandbox.git(&["add", "-A"]);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},sub")]);
    sandbox.git(&["commit", "-qm", "links"]);
    let mapped = map(&sandbox);
    assert_eq!(mapped["records"], 2);
    assert_eq!(mapped["left_out"], json!([]));
    for id in pages(&sandbox).keys() {
        let shown = sandbox.json(&["pages", "show", id]).to_string();
        assert!(!shown.contains("secret") && !shown.contains("root:"), "{shown}");
    }
    let rows = "  - name: a\n    type: git_repo\n    start_dir: again/\n";
    sandbox.write(MAP, format!("schema_version: 1\nsources:\n{rows}"));
    sandbox.git(&["add", MAP]);
    sandbox.git(&["commit", "-qm", "map"]);
    let answer = sandbox.json(&["map"]);
    assert_eq!(answer["results"][0]["records"], 0, "a link is no directory: {answer:#}");
}

/// Makes a commit of a tree with entries that git itself would write in no worktree.
fn raw_commit(sandbox: &Sandbox, entries: &[(&[u8], &str)]) -> String {
    let file = sandbox.outside().join("entries");
    let mut bytes = Vec::new();
    for (name, blob) in entries {
        bytes.extend_from_slice(format!("100644 blob {blob}\t").as_bytes());
        bytes.extend_from_slice(name);
        bytes.push(0);
    }
    std::fs::write(&file, bytes).unwrap();
    let command = format!("alias.mk=!git mktree -z <'{}'", file.display());
    let tree = sandbox.git(&["-c", &command, "mk"]);
    sandbox.git(&["commit-tree", "-m", "x", &tree])
}

#[test]
fn names_of_any_bytes_are_mapped_and_reach_no_terminal() {
    let sandbox = Sandbox::new();
    let blob = sandbox.git(&["rev-parse", "HEAD:a.txt"]);
    let long = [b'n'; 4000];
    let names: Vec<&[u8]> = vec![
        b"..",
        b".git",
        b".GIT",
        b"git~1",
        b"-x",
        b"C:",
        b"con",
        b"latin\xe9",
        b"\x1b]0;title\x07",
        "\u{202e}txt.exe".as_bytes(),
        b"line\nend",
        b"\xff\xfe",
        &long,
    ];
    let entries: Vec<(&[u8], &str)> = names.iter().map(|&name| (name, blob.as_str())).collect();
    let commit = raw_commit(&sandbox, &entries);
    sandbox.git(&["update-ref", "refs/heads/odd", &commit]);
    let mapped = sandbox.json(&["map", "--rev", "odd"]);
    assert_eq!(mapped["results"][0]["records"], names.len(), "{mapped:#}");
    let listed = sandbox.json(&["pages"]);
    let mut found = BTreeSet::new();
    for page in listed["pages"].as_array().unwrap() {
        let records = page["records"].as_array().unwrap();
        found.extend(records.iter().map(|record| bytes_of(&record["path"])));
    }
    assert_eq!(found, names.iter().map(|name| name.to_vec()).collect());
    let ids: Vec<String> = pages_of(&listed);
    let mut commands = vec![vec!["map", "--rev", "odd"], vec!["pages"], vec!["pages", "stats"]];
    commands.extend(ids.iter().map(|id| vec!["pages", "show", id]));
    for command in commands {
        for form in [&[][..], &["--json"]] {
            let run = sandbox.run(&[form, &command[..]].concat());
            assert_eq!(run.code, 0);
            let all = format!("{}{}", run.stdout, run.stderr);
            let bad = |c: &char| (c.is_control() && *c != '\n') || *c == '\u{202e}';
            assert_eq!(all.chars().find(bad), None, "{command:?}");
        }
    }
    assert!(!sandbox.path(".git/hooks/post-checkout").exists());
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

/// Makes a tree of entries as `git mktree` reads them.
fn raw_tree(sandbox: &Sandbox, entries: &str) -> String {
    sandbox.make_tree(entries)
}

#[test]
fn a_tree_of_more_files_than_can_be_listed_is_refused_at_once() {
    let sandbox = Sandbox::new();
    let blob = sandbox.git(&["rev-parse", "HEAD:a.txt"]);
    let mut tree = raw_tree(&sandbox, &format!("100644 blob {blob}\tf\n"));
    // Ten to the fifteenth files: to list them would take years.
    for _ in 0..15 {
        let entries = (0..10).map(|name| format!("040000 tree {tree}\t{name}\n"));
        tree = raw_tree(&sandbox, &entries.collect::<String>());
    }
    let commit = sandbox.git(&["commit-tree", "-m", "bomb", &tree]);
    sandbox.git(&["update-ref", "refs/heads/bomb", &commit]);
    let answer = sandbox.json(&["map", "--rev", "bomb"]);
    assert_eq!(answer["results"][0]["code"], "tree-too-large", "{answer:#}");
    assert_eq!(sandbox.json(&["pages"])["total"], 0);
    sandbox.git(&["branch", "-q", "before"]);
    sandbox.git(&["reset", "-q", "--soft", "bomb"]);
    let counted = sandbox.json(&["map", "tree", "--tokens", "--max-depth", "2"]);
    assert_eq!(counted["code"], "tree-too-large", "{counted:#}");
    sandbox.git(&["reset", "-q", "--soft", "before"]);
}

#[test]
fn how_much_a_source_may_list_is_a_setting_of_the_user() {
    let sandbox = Sandbox::new();
    for name in 0..9 {
        sandbox.write(&format!("many/{name}"), "text\n");
    }
    let rows = "  - name: many\n    type: git_repo\n    start_dir: many\n";
    sandbox.write(MAP, format!("schema_version: 1\nsources:\n{rows}"));
    sandbox.write(".colony/colony.toml", "[map]\nmaxEntries = 1\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "map"]);
    assert_eq!(sandbox.json(&["map"])["ok"], true, "the repository has no say");
    sandbox.write("many/9", "text\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "ten"]);
    sandbox.git(&["config", "colony.map.maxEntries", "9"]);
    let answer = sandbox.json(&["map"]);
    assert_eq!(answer["results"][0]["code"], "tree-too-large", "{answer:#}");
    let message = answer["results"][0]["message"].as_str().unwrap();
    assert!(message.contains("'colony.map.maxEntries'"), "{message}");
    sandbox.git(&["config", "colony.map.maxEntries", "10"]);
    let answer = sandbox.json(&["map"]);
    assert_eq!(answer["ok"], true, "{answer:#}");
}

fn pages_of(listed: &Value) -> Vec<String> {
    let pages = listed["pages"].as_array().unwrap().iter();
    pages.map(|page| page["page_id"].as_str().unwrap().to_owned()).collect()
}

/// The bytes of a path as JSON has it.
fn bytes_of(path: &Value) -> Vec<u8> {
    use base64::Engine as _;
    let decode = |text: &str| base64::engine::general_purpose::STANDARD.decode(text).unwrap();
    match path.as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => decode(path["bytes"].as_str().unwrap()),
    }
}

#[test]
fn a_path_with_no_room_on_a_page_is_named_and_stops_nothing() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "colony.map.flushTokenBudget", "128"]);
    let long = "q7zk4-w".repeat(30);
    sandbox.write(&format!("dir/{long}"), "text\n");
    sandbox.write("dir/picture.png", b"\x89PNG\0\0");
    sandbox.write("wide.txt", "some words that fill a page of few tokens\n".repeat(40));
    commit(&sandbox);
    let mapped = sandbox.json(&["map"])["results"][0].clone();
    let left_out = json!([{"path": format!("dir/{long}"), "reason": "path_too_long"}]);
    assert_eq!(mapped["left_out"], left_out);
    for page in sandbox.json(&["pages"])["pages"].as_array().unwrap() {
        assert!(page["tokens"].as_u64().unwrap() <= 128, "{page:#}");
    }
}
