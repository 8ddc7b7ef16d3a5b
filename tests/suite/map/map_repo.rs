//! `map repo`: a repository elsewhere becomes a scope of this worktree.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Sandbox, worktree_of};

/// Makes a repository beside that of the sandbox; its path.
fn other(sandbox: &Sandbox) -> String {
    let root = sandbox.outside().join("other");
    fs::create_dir(&root).unwrap();
    let git = |args: &[&str]| drop(sandbox.at(root.clone()).git(args));
    git(&["init", "-q", "-b", "main", "--template="]);
    fs::create_dir(root.join("lib")).unwrap();
    for (path, text) in [("one.md", "# One\n[two](lib/two)\n"), ("lib/two", "two\n")] {
        fs::write(root.join(path), text).unwrap();
    }
    git(&["add", "-A"]);
    let who = ["-c", "user.name=Bo", "-c", "user.email=bo@example.com"];
    git(&[&who[..], &["commit", "-qm", "first"]].concat());
    git(&["branch", "side"]);
    fs::write(root.join("three"), "three\n").unwrap();
    git(&["add", "-A"]);
    git(&[&who[..], &["commit", "-qm", "second"]].concat());
    root.to_str().unwrap().to_owned()
}

fn paths(sandbox: &Sandbox, scope: &str) -> Vec<String> {
    let pages = sandbox.json(&["pages", "--scope", scope]);
    let pages = pages["pages"].as_array().unwrap().clone();
    let records = pages.iter().flat_map(|page| page["records"].as_array().unwrap());
    records.map(|record| record["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_repository_in_a_directory_becomes_a_scope_and_stays_as_is() {
    let sandbox = Sandbox::new();
    let path = other(&sandbox);
    let before = worktree_of(&sandbox.outside().join("other"));
    let would = sandbox.json(&["map", "repo", "--path", &path, "-n"]);
    assert_eq!((&would["dry_run"], &would["pages"]), (&json!(true), &json!(2)));
    assert!(!sandbox.path(".git/colony").exists());
    let answer = sandbox.json(&["map", "repo", "--path", &path, "--scope-id", "other"]);
    assert_eq!((&answer["status"], &answer["scope_id"]), (&json!("mapped"), &json!("other")));
    assert_eq!((&answer["branch"], &answer["origin_url"]), (&json!("main"), &json!(path)));
    assert_eq!(paths(&sandbox, "other"), ["one.md", "three", "lib/two"]);
    let again = sandbox.json(&["map", "repo", "--path", "../other", "--scope-id", "other"]);
    assert_eq!(again["status"], "already_mapped");
    assert_eq!(worktree_of(&sandbox.outside().join("other")), before);
    assert!(!sandbox.outside().join("other/.git/colony").exists());
    let pages = sandbox.json(&["pages", "--scope", "other"]);
    let id = pages["pages"][1]["page_id"].as_str().unwrap();
    assert!(sandbox.colony(&["pages", "show", id]).contains("\ntwo\n"));
    let scopes = sandbox.json(&["scopes"]);
    assert_eq!(scopes["mappings"][0]["scope_id"], "other");
    assert_eq!(scopes["mappings"][0]["syscontext"]["shared"], false);
    let edges = sandbox.json(&["pages", "graph", "--scope", "other"])["edge_count"].clone();
    assert_eq!(edges, 1);
}

#[test]
fn a_branch_a_commit_and_limits_can_be_asked_for() {
    let sandbox = Sandbox::new();
    let path = other(&sandbox);
    let map = |more: &[&str]| {
        let args = ["map", "repo", "--path", &path, "--scope-id", "o"];
        sandbox.json(&[&args[..], more].concat())
    };
    let side = map(&["--branch", "side", "--flush-threshold", "1"]);
    assert_eq!((&side["branch"], &side["pages"]), (&json!("side"), &json!(2)));
    assert_eq!(paths(&sandbox, "o"), ["one.md", "lib/two"]);
    assert_eq!(map(&["--commit", "main"])["records"], 3);
    let nowhere = map(&["--branch", "nowhere"]);
    assert_eq!(nowhere["code"], "revision-not-found");
    let told = format!("the repository in '{path}' has no branch 'nowhere'; nothing has changed");
    assert_eq!(nowhere["message"], told);
    assert_eq!(nowhere["hint"], format!("git -C '{path}' branch --all"));
    assert_eq!(map(&["--commit", "nowhere"])["code"], "revision-not-found");
    let shown = sandbox.json(&["scopes", "show", "o"]);
    assert_eq!(shown["row"]["commit"], "main");
}

#[test]
fn a_url_is_read_in_its_hub() {
    let sandbox = Sandbox::new();
    let path = other(&sandbox);
    let url = format!("file://{path}");
    let dry = sandbox.error(&["map", "repo", "--url", &url, "-n"]);
    assert_eq!(dry, "offline", "a dry run fetches nothing");
    let hint = sandbox.json(&["map", "repo", "--url", &url, "-n"])["hint"].clone();
    assert_eq!(hint, format!("git colony map repo --url '{url}'"));
    assert!(!sandbox.outside().join("home").exists());
    let answer = sandbox.json(&["map", "repo", "--url", &url, "--scope-id", "by-url", "--pinned"]);
    assert_eq!((&answer["status"], &answer["branch"]), (&json!("mapped"), &json!("main")));
    assert_eq!(paths(&sandbox, "by-url"), ["one.md", "three", "lib/two"]);
    let config = sandbox.json(&["scopes", "show", "by-url"])["config"].clone();
    assert_eq!(config["pinned"], true);
}

#[test]
fn what_cannot_be_mapped_is_refused_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let map = |args: &[&str]| -> Value { sandbox.json(&[&["map", "repo"], args].concat()) };
    assert_eq!(sandbox.run(&["map", "repo"]).code, 129);
    assert_eq!(sandbox.run(&["map", "repo", "--url", "x", "--path", "y"]).code, 129);
    let empty = sandbox.outside().join("empty");
    fs::create_dir(&empty).unwrap();
    assert_eq!(map(&["--path", empty.to_str().unwrap()])["code"], "not-a-repository");
    sandbox.at(empty.clone()).git(&["init", "-q", "--template="]);
    assert_eq!(map(&["--path", empty.to_str().unwrap()])["code"], "revision-not-found");
    let path = other(&sandbox);
    assert_eq!(map(&["--path", &path, "--scope-id", "a\nb"])["code"], "invalid-value");
    assert_eq!(sandbox.json(&["pages"])["total"], 0);
    let own = sandbox.json(&["map"])["results"][0]["scope_id"].clone();
    let own = own.as_str().unwrap();
    assert_eq!(map(&["--path", &path, "--scope-id", own])["code"], "invalid-value");
}

#[test]
fn a_relative_url_names_the_same_repository_from_everywhere() {
    let sandbox = Sandbox::new();
    let path = other(&sandbox);
    let map = |url: &str| sandbox.json(&["map", "repo", "--url", url, "--scope-id", "o"]);
    let first = map("../other");
    assert_eq!((&first["ok"], &first["origin_url"]), (&json!(true), &json!(path)));
    let root = sandbox.outside().join("other");
    fs::write(root.join("four"), "four\n").unwrap();
    let git = |args: &[&str]| drop(sandbox.at(root.clone()).git(args));
    git(&["add", "-A"]);
    let who = ["-c", "user.name=Bo", "-c", "user.email=bo@example.com"];
    git(&[&who[..], &["commit", "-qm", "third"]].concat());
    for url in ["../other", &format!("file://{path}"), &path] {
        let run = sandbox.run(&["map", "repo", "--url", url, "--scope-id", "o"]);
        assert!(!run.stderr.contains("cannot ask"), "{}", run.stderr);
    }
    assert!(paths(&sandbox, "o").contains(&"four".to_owned()));
}

#[test]
fn a_bare_repository_and_a_branch_of_a_remote_are_mapped() {
    let sandbox = Sandbox::new();
    let path = other(&sandbox);
    let git = |args: &[&str]| drop(sandbox.at(sandbox.outside()).git(args));
    git(&["clone", "-q", "--bare", "other", "bare.git"]);
    git(&["clone", "-q", "other", "clone"]);
    let map = |args: &[&str]| sandbox.json(&[&["map", "repo", "--scope-id", "b"], args].concat());
    let bare = map(&["--path", "../bare.git"]);
    assert_eq!((&bare["branch"], &bare["records"]), (&json!("main"), &json!(3)), "{bare:#}");
    assert_eq!(paths(&sandbox, "b"), ["one.md", "three", "lib/two"]);
    let side = map(&["--path", "../clone", "--branch", "side"]);
    assert_eq!((&side["branch"], &side["records"]), (&json!("side"), &json!(2)), "{side:#}");
    assert_eq!(side["origin_url"], path);
}

#[test]
fn what_a_directory_is_not_is_told_of_that_directory() {
    let sandbox = Sandbox::new();
    let gone = sandbox.json(&["map", "repo", "--path", "../gone"]);
    assert_eq!(gone["code"], "path-not-found");
    let place = sandbox.root.join("../gone").display().to_string();
    assert!(gone["message"].as_str().unwrap().contains(&place), "{gone:#}");
    let empty = sandbox.outside().join("empty");
    fs::create_dir(&empty).unwrap();
    let empty = sandbox.json(&["map", "repo", "--path", "../empty"]);
    assert_eq!(empty["code"], "not-a-repository");
    assert!(empty["message"].as_str().unwrap().contains("/empty' is in no git repository"));
}
