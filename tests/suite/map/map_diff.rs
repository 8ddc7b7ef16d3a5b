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
    records
        .map(|record| record["path"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn pages_of_directories_that_differ_are_shown_without_a_write() {
    let sandbox = Sandbox::new();
    commit(&sandbox, &[("dir/c.txt", "sea\n"), ("new/d.txt", "dee\n")]);
    let diff = sandbox.json(&["map", "diff", "HEAD~1", "HEAD"]);
    assert_eq!(
        paths(&diff, "pages_added"),
        ["dir/b.txt", "dir/c.txt", "new/d.txt"]
    );
    assert_eq!(paths(&diff, "pages_removed"), ["dir/b.txt"]);
    assert_eq!(
        (&diff["pages_kept"], &diff["failed"]),
        (&json!(1), &json!([]))
    );
    assert!(!sandbox.path(".git/colony").exists());
    let back = sandbox.json(&["map", "diff", "HEAD", "HEAD~1"]);
    assert_eq!(back["pages_added"], diff["pages_removed"]);
    assert_eq!(back["pages_removed"], diff["pages_added"]);
    let none = sandbox.json(&["map", "diff", "HEAD", "main"]);
    assert_eq!(
        (&none["pages_added"], &none["pages_kept"]),
        (&json!([]), &json!(3))
    );
    insta::assert_snapshot!(sandbox.colony(&["map", "diff", "HEAD~1", "HEAD"]), @r"
    2 pages added, 1 removed, 1 kept
    -  3c7cf565  18  dir/b.txt
    +  0b7ba183  36  dir/b.txt and 1 more
    +  1c1598a5  18  new/d.txt
    ");
    assert_eq!(
        sandbox.error(&["map", "diff", "HEAD", "nowhere"]),
        "revision-not-found"
    );
    assert_eq!(sandbox.run(&["map", "diff", "HEAD"]).code, 129);
}

#[test]
fn the_pages_are_those_that_map_makes() {
    let sandbox = Sandbox::new();
    drop(sandbox.json(&["map"]));
    let before = sandbox.json(&["pages"])["pages"].clone();
    commit(&sandbox, &[("a.txt", "two\n")]);
    let diff = sandbox.json(&["map", "diff", "HEAD~1", "HEAD"]);
    assert!(
        before
            .as_array()
            .unwrap()
            .contains(&diff["pages_removed"][0])
    );
    drop(sandbox.json(&["map"]));
    let after = sandbox.json(&["pages"])["pages"].clone();
    assert!(after.as_array().unwrap().contains(&diff["pages_added"][0]));
}

#[test]
fn a_row_that_fails_is_named_and_its_scope_not_compared() {
    let sandbox = Sandbox::new();
    let good = "schema_version: 1\nsources:\n  - {name: top, type: git_repo}\n  \
        - {name: dir, type: git_repo, start_dir: dir}\n";
    commit(&sandbox, &[(MAP, good)]);
    commit(
        &sandbox,
        &[(MAP, &good.replace("start_dir: dir", "start_dir: nowhere"))],
    );
    let args = ["map", "diff", "HEAD~1", "HEAD", "--json"];
    assert_eq!(sandbox.run(&args).code, 1);
    let diff = sandbox.json(&["map", "diff", "HEAD~1", "HEAD"]);
    let failed = &diff["failed"][0];
    assert_eq!(
        (&failed["name"], &failed["code"]),
        (&json!("dir"), &json!("path-not-found"))
    );
    assert_eq!(
        failed["commit"],
        sandbox.git(&["rev-parse", "HEAD"]).as_str()
    );
    assert_eq!(paths(&diff, "pages_removed"), [MAP]);
    assert_eq!(paths(&diff, "pages_added"), [MAP]);
}
