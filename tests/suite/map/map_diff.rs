//! `map diff`: the pages that two revisions do not share.

use serde_json::{Value, json};

use crate::support::Sandbox;

const MAP: &str = ".colony/repo_map.yaml";

fn commit(sandbox: &Sandbox, files: &[(&str, &str)]) {
    for (path, text) in files {
        sandbox.write(path, text);
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "change"]);
}

/// The paths of the pages below a key.
fn paths(diff: &Value, key: &str) -> Vec<String> {
    let pages = diff[key].as_array().unwrap().iter();
    let records = pages.flat_map(|page| page["records"].as_array().unwrap());
    records.map(|record| record["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn pages_of_directories_that_differ_are_shown_without_a_write() {
    let sandbox = Sandbox::new();
    commit(&sandbox, &[("dir/c.txt", "sea\n"), ("new/d.txt", "dee\n")]);
    let diff = sandbox.json(&["map", "diff", "HEAD~1", "HEAD"]);
    assert_eq!(paths(&diff, "pages_added"), ["new/d.txt"]);
    assert_eq!(diff["pages_removed"], json!([]));
    let change = &diff["pages_changed"][0];
    assert_eq!(change["before"]["records"].as_array().unwrap().len(), 1);
    assert_eq!(change["after"]["records"].as_array().unwrap().len(), 2);
    assert_eq!((&diff["pages_kept"], &diff["failed"]), (&json!(1), &json!([])));
    assert!(!sandbox.path(".git/colony").exists());
    let back = sandbox.json(&["map", "diff", "HEAD", "HEAD~1"]);
    assert_eq!(back["pages_added"], diff["pages_removed"]);
    assert_eq!(back["pages_removed"], diff["pages_added"]);
    assert_eq!(back["pages_changed"][0]["before"], change["after"]);
    assert_eq!(back["pages_changed"][0]["after"], change["before"]);
    let none = sandbox.json(&["map", "diff", "HEAD", "main"]);
    assert_eq!((&none["pages_added"], &none["pages_kept"]), (&json!([]), &json!(3)));
    insta::assert_snapshot!(sandbox.colony(&["map", "diff", "HEAD~1", "HEAD"]), @r"
    1 page changed, 1 added, 0 removed, 1 kept
    ~  3c7cf565  0b7ba183  36  dir/b.txt and 1 more
    +            1c1598a5  18  new/d.txt
    ");
    assert_eq!(sandbox.error(&["map", "diff", "HEAD", "nowhere"]), "revision-not-found");
    assert_eq!(sandbox.run(&["map", "diff", "HEAD"]).code, 129);
}

#[test]
fn the_pages_are_those_that_map_makes() {
    let sandbox = Sandbox::new();
    drop(sandbox.json(&["map"]));
    let before = sandbox.json(&["pages"])["pages"].clone();
    commit(&sandbox, &[("a.txt", "two\n")]);
    let diff = sandbox.json(&["map", "diff", "HEAD~1", "HEAD"]);
    assert!(before.as_array().unwrap().contains(&diff["pages_changed"][0]["before"]));
    drop(sandbox.json(&["map"]));
    let after = sandbox.json(&["pages"])["pages"].clone();
    let page = &diff["pages_changed"][0]["after"];
    assert!(after.as_array().unwrap().contains(page));
}

#[test]
fn a_row_that_fails_is_named_and_its_scope_not_compared() {
    let sandbox = Sandbox::new();
    let good = "schema_version: 1\nsources:\n  - {name: top, type: git_repo}\n  \
        - {name: dir, type: git_repo, start_dir: dir}\n";
    commit(&sandbox, &[(MAP, good)]);
    commit(&sandbox, &[(MAP, &good.replace("start_dir: dir", "start_dir: nowhere"))]);
    let args = ["map", "diff", "HEAD~1", "HEAD", "--json"];
    assert_eq!(sandbox.run(&args).code, 1);
    let diff = sandbox.json(&["map", "diff", "HEAD~1", "HEAD"]);
    let failed = &diff["failed"][0];
    assert_eq!((&failed["name"], &failed["code"]), (&json!("dir"), &json!("path-not-found")));
    assert_eq!(failed["commit"], sandbox.git(&["rev-parse", "HEAD"]).as_str());
    let page = &diff["pages_changed"][0];
    assert_eq!(page["before"]["records"][0]["path"], json!(MAP));
}

#[test]
fn an_edit_of_a_long_file_is_parts_that_changed() {
    let sandbox = Sandbox::new();
    let lines = |numbers: std::ops::Range<usize>| -> String {
        let line = |n: usize| format!("fn name_{n}() {{ {} }}\n\n", n * 7919 % 1009);
        numbers.map(line).collect()
    };
    let before = lines(0..3000);
    commit(&sandbox, &[("long/code.rs", &before)]);
    let edited = before.replace("fn name_700()", "fn other()");
    let (head, tail) = edited.split_at(edited.find("fn name_2000").unwrap());
    let after = format!("{head}{}{tail}", lines(5000..5300));
    commit(&sandbox, &[("long/code.rs", &after)]);
    let diff = sandbox.json(&["map", "diff", "HEAD~1", "HEAD"]);
    let changes = diff["pages_changed"].as_array().unwrap();
    assert!((2..=4).contains(&changes.len()), "{changes:#?}");
    for change in changes {
        let part = |side: &str| change[side]["records"][0]["part_number"].as_u64().unwrap();
        assert!(part("before").abs_diff(part("after")) <= 1);
        assert_ne!(change["before"]["page_id"], change["after"]["page_id"]);
    }
    assert!(diff["pages_added"].as_array().unwrap().len() <= 2);
    assert_eq!(diff["pages_removed"], json!([]));
    assert_eq!(diff["map_changes"], json!([]));
}

#[test]
fn rows_of_the_map_that_differ_are_a_warning() {
    let sandbox = Sandbox::new();
    let map = |rows: &str| format!("schema_version: 1\nsources:\n{rows}");
    let (top, dir) =
        ("  - {name: top, type: git_repo}\n", "  - {name: dir, type: git_repo, start_dir: dir}\n");
    commit(&sandbox, &[(MAP, &map(&format!("{top}{dir}")))]);
    let lean = top.replace('}', ", flush_token_budget: 1000, exclude_globs: ['*.c']}");
    let new = "  - {name: new, type: git_repo}\n";
    commit(&sandbox, &[(MAP, &map(&format!("{lean}{new}")))]);
    let args = ["map", "diff", "HEAD~1", "HEAD"];
    let diff = sandbox.json(&args);
    let row = |name: &str, change: &str, keys: &[&str]| json!({"name": name, "change": change, "keys": keys});
    assert_eq!(
        diff["map_changes"],
        json!([
            row("top", "changed", &["exclude_globs", "flush_token_budget"]),
            row("new", "added", &[]),
            row("dir", "removed", &[]),
        ])
    );
    assert!(diff["message"].as_str().unwrap().ends_with(", 3 rows of the map changed"));
    let output = sandbox.run(&args);
    insta::assert_snapshot!(output.stderr.trim(), @"warning: the map itself differs between the two commits, so pages may differ where no file does: row 'top' changed (exclude_globs, flush_token_budget); row 'new' added; row 'dir' removed");
}
