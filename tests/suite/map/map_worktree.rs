//! `map --worktree`: uncommitted work as pages, private to the worktree, with the ids of a commit of it.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::pages::edited_repository::commit;
use crate::support::Sandbox;

/// A repository with three directories, each of which is several pages, mapped as it is committed.
fn library() -> Sandbox {
    let sandbox = Sandbox::new();
    for directory in ["src", "src/deep", "docs"] {
        for number in 0..12 {
            let text = format!("{directory} {number} word ").repeat(120);
            sandbox.write(&format!("{directory}/file{number:02}.txt"), text);
        }
    }
    commit(&sandbox);
    assert_eq!(sandbox.json(&["map"])["ok"], true);
    sandbox
}

/// Maps the worktree, and returns what came of its first row.
fn map(sandbox: &Sandbox) -> Value {
    let answer = sandbox.json(&["map", "--worktree"]);
    assert_eq!((&answer["ok"], &answer["worktree"]), (&json!(true), &json!(true)), "{answer:#}");
    answer["results"][0].clone()
}

/// The pages of one scope, as ids.
fn ids(sandbox: &Sandbox, scope: &str) -> BTreeSet<String> {
    let answer = sandbox.json(&["pages", "--scope", scope, "--limit", "100000"]);
    let pages = answer["pages"].as_array().unwrap().iter();
    pages.map(|page| page["page_id"].to_string()).collect()
}

/// Every path that a scope has a record of.
fn paths(sandbox: &Sandbox, scope: &str) -> BTreeSet<String> {
    let answer = sandbox.json(&["pages", "--scope", scope, "--limit", "100000"]);
    let pages = answer["pages"].as_array().unwrap().iter();
    let records = pages.flat_map(|page| page["records"].as_array().unwrap());
    let path = |record: &Value| record["path"].as_str().unwrap().to_owned();
    records.map(path).collect()
}

fn scopes(sandbox: &Sandbox) -> (String, String) {
    let committed = sandbox.json(&["map"])["results"][0]["scope_id"].clone();
    let committed = committed.as_str().unwrap().to_owned();
    let private = format!("{committed}@worktree");
    (committed, private)
}

#[test]
fn an_edit_changes_one_page_and_a_commit_of_it_has_the_same_ids() {
    let sandbox = library();
    let (committed, private) = scopes(&sandbox);
    let clean = map(&sandbox);
    assert_eq!((&clean["status"], &clean["scope_id"]), (&json!("mapped"), &json!(private)));
    assert_eq!(ids(&sandbox, &private), ids(&sandbox, &committed));
    assert_eq!(map(&sandbox)["status"], "already_mapped");

    let text = sandbox.read("src/file03.txt").replacen("word", "sword", 1);
    sandbox.write("src/file03.txt", text);
    assert_eq!(
        sandbox.json(&["pages", "--worktree"])["stale_scopes"],
        json!([private]),
        "the branch has not moved"
    );
    let edited = map(&sandbox);
    assert_eq!((&edited["pages_added"], &edited["pages_removed"]), (&json!(1), &json!(1)));
    assert_eq!(sandbox.json(&["pages"])["stale"], false);
    let uncommitted = ids(&sandbox, &private);
    assert_eq!(uncommitted.difference(&ids(&sandbox, &committed)).count(), 1);
    let new = uncommitted.difference(&ids(&sandbox, &committed)).next().cloned().unwrap();
    let shown = sandbox.json(&["pages", "show", new.trim_matches('"')]);
    assert!(shown["pages"][0]["records"].to_string().contains("sword"));
    assert_eq!(shown["pages"][0]["scope_id"], private);

    commit(&sandbox);
    let stale = sandbox.json(&["pages"])["stale_scopes"].clone();
    assert_eq!(stale, json!([committed]), "what was committed is what was mapped");
    assert_eq!(sandbox.json(&["map"])["ok"], true);
    assert_eq!(ids(&sandbox, &committed), uncommitted);
    assert_eq!(map(&sandbox)["status"], "already_mapped");
    assert_eq!(sandbox.json(&["pages"])["stale"], false);
}

#[test]
fn what_a_checkpoint_leaves_out_is_in_no_scope() {
    let sandbox = library();
    let (_, private) = scopes(&sandbox);
    let token = format!("token = ghp_{}\n", "a1".repeat(18));
    sandbox.write(".gitignore", "*.log\n");
    sandbox.write("build.log", "ignored\n");
    sandbox.write("secret.txt", token);
    sandbox.write(".colonyignore", "docs/\n");
    sandbox.write("new/staged.txt", "staged\n");
    sandbox.git(&["add", "new/staged.txt"]);
    sandbox.write("new/untracked.txt", "untracked\n");
    sandbox.remove("src/deep/file00.txt");
    fs::write(sandbox.outside().join("elsewhere"), "outside\n").unwrap();
    std::os::unix::fs::symlink(sandbox.outside().join("elsewhere"), sandbox.path("link")).unwrap();
    sandbox.git(&["init", "-q", "nested"]);
    sandbox.write("nested/file", "of another repository\n");
    let answer = sandbox.json(&["map", "--worktree"]);
    let left_out = answer["left_out"].as_array().unwrap().iter();
    let left_out: Vec<_> = left_out
        .map(|one| (one["path"].as_str().unwrap(), one["reason"].as_str().unwrap()))
        .collect();
    assert_eq!(left_out, [("nested", "nested-repository"), ("secret.txt", "secret")]);
    let found = paths(&sandbox, &private);
    for path in ["new/staged.txt", "new/untracked.txt", ".gitignore", "a.txt"] {
        assert!(found.contains(path), "{path}");
    }
    let absent = [
        "build.log",
        "secret.txt",
        "link",
        "nested/file",
        "nested",
        "src/deep/file00.txt",
        "docs/file00.txt",
    ];
    for path in absent {
        assert!(!found.contains(path), "{path}");
    }
    let told = sandbox.colony(&["map", "--worktree"]);
    assert!(told.contains("left out: secret.txt looks like a secret"), "{told}");
}

#[test]
fn nothing_of_it_is_shared_and_git_sees_no_change() {
    let sandbox = library();
    let (_, private) = scopes(&sandbox);
    sandbox.write("src/file03.txt", "edited\n");
    sandbox.write("src/new.txt", "new\n");
    let before = sandbox.visible_state();
    map(&sandbox);
    assert_eq!(sandbox.visible_state(), before, "refs/colony/scopes included");
    let listed = sandbox.json(&["scopes"]);
    let listed: Vec<_> = listed["mappings"].as_array().unwrap().iter().collect();
    let whose = |mapping: &&Value| {
        (
            mapping["scope_id"] == private.as_str(),
            mapping["worktree"].clone(),
            mapping["syscontext"]["shared"].clone(),
        )
    };
    assert_eq!(
        listed.iter().map(whose).collect::<Vec<_>>(),
        [(false, json!(false), json!(true)), (true, json!(true), json!(false))]
    );
    // The pages outlive a git that clears away what nothing points to.
    sandbox.git(&["gc", "-q", "--prune=now"]);
    for id in ids(&sandbox, &private) {
        assert_eq!(sandbox.json(&["pages", "show", id.trim_matches('"')])["ok"], true);
    }
    assert_eq!(sandbox.json(&["scopes", "unmap", &private])["status"], "unmapped");
    assert_eq!(sandbox.git(&["for-each-ref", "refs/colony-local/worktree/"]), "");
    assert_eq!(sandbox.json(&["scopes"])["count"], 1);
    sandbox.check_invariants_of_git();
}

#[test]
fn a_dry_run_leaves_nothing_in_the_repository() {
    let sandbox = library();
    map(&sandbox);
    sandbox.write("src/file03.txt", "edited\n");
    sandbox.write("src/new.txt", "new\n");
    let everything = || {
        let objects = sandbox.git(&["count-objects", "-v"]);
        (objects, sandbox.git(&["for-each-ref"]), sandbox.json(&["pages"]))
    };
    let before = everything();
    let dry = sandbox.json(&["map", "--worktree", "-n"]);
    assert_eq!((&dry["dry_run"], &dry["recorded"]), (&json!(true), &json!(false)));
    assert_eq!(everything(), before);
    let real = map(&sandbox);
    for what in ["status", "pages", "tokens", "pages_added", "pages_removed"] {
        assert_eq!(dry["results"][0][what], real[what], "{what}");
    }
}

#[test]
fn rows_of_other_states_are_skipped_and_the_map_on_disk_counts() {
    let sandbox = library();
    sandbox.git(&["branch", "other"]);
    let rows = "schema_version: 1\nsources:\n\
        - {name: here, type: git_repo, branch: main, start_dir: fresh}\n\
        - {name: there, type: git_repo, branch: other}\n\
        - {name: still, type: git_repo, static: true}\n\
        - {name: away, type: git_repo, origin_url: 'https://example.invalid/x.git'}\n";
    sandbox.write(".colony/repo_map.yaml", rows);
    sandbox.write("fresh/a.txt", "a\n");
    let answer = sandbox.json(&["map", "--worktree", "--base-scope", "b"]);
    let results = answer["results"].as_array().unwrap().iter();
    let told: Vec<_> = results
        .map(|row| (row["scope_id"].as_str().unwrap(), row["status"].as_str().unwrap()))
        .collect();
    assert_eq!(
        told,
        [
            ("b:here@worktree", "mapped"),
            ("b:there", "skipped"),
            ("b:still", "skipped"),
            ("b:away", "skipped")
        ]
    );
    assert_eq!(answer["ok"], true);
    assert_eq!(paths(&sandbox, "b:here@worktree"), BTreeSet::from(["fresh/a.txt".to_owned()]));
    let usage = |args: &[&str]| sandbox.run(&[&["map", "--worktree"], args].concat()).code;
    assert_eq!(usage(&["--rev", "HEAD"]), 129);
    assert_eq!(usage(&["--thaw", "still"]), 129);
    assert_eq!(usage(&["--source", "none"]), 129);
}

#[test]
fn the_graph_has_a_page_of_both_scopes_once() {
    let sandbox = library();
    let (committed, private) = scopes(&sandbox);
    let alone = sandbox.json(&["pages", "graph"]);
    map(&sandbox);
    let both = sandbox.json(&["pages", "graph"]);
    assert_eq!((&both["nodes"], &both["edges"]), (&alone["nodes"], &alone["edges"]));
    sandbox.write("src/file03.txt", "[a](../a.txt)\n");
    map(&sandbox);
    let more = sandbox.json(&["pages", "graph"]);
    let only = ids(&sandbox, &private);
    let only = only.difference(&ids(&sandbox, &committed)).count();
    assert_eq!(
        more["node_count"].as_u64().unwrap(),
        alone["node_count"].as_u64().unwrap() + only as u64
    );
}

#[test]
fn a_branch_without_a_commit_has_nothing_to_map() {
    let sandbox = Sandbox::unborn();
    sandbox.write("a.txt", "a\n");
    assert_eq!(sandbox.error(&["map", "--worktree"]), "revision-not-found");
}
