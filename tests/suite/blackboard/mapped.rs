//! `map blackboard`: the keys of a blackboard become the records of a scope.

use serde_json::{Value, json};

use crate::remote::sync_refs::Two;
use crate::support::{Sandbox, View};

use super::keys::put;

const SCOPE: &str = "plan:blackboard";

fn map(view: &View) -> Value {
    view.json(&["map", "blackboard", "plan"])
}

/// The text of all pages of the scope.
fn text(view: &View) -> String {
    let listed = view.json(&["pages", "--scope", SCOPE]);
    let pages = listed["pages"].as_array().unwrap().iter();
    let ids = pages.map(|page| page["page_id"].as_str().unwrap());
    ids.map(|id| view.colony(&["pages", "show", id, "--format", "json"])).collect()
}

#[test]
fn keys_become_pages_that_follow_the_blackboard() {
    let sandbox = Sandbox::new();
    assert_eq!(map(&sandbox)["code"], "key-not-found");
    put(&sandbox, "owner", "ada");
    put(&sandbox, "state", "begun");
    let dry = sandbox.json(&["map", "blackboard", "plan", "-n"]);
    assert_eq!((&dry["dry_run"], &dry["records"]), (&json!(true), &json!(2)));
    assert_eq!(sandbox.json(&["scopes"])["count"], 0);
    let first = map(&sandbox);
    assert_eq!(
        (&first["status"], &first["scope_id"], &first["records"]),
        (&json!("mapped"), &json!(SCOPE), &json!(2)),
        "{first:#}"
    );
    assert_eq!(map(&sandbox)["status"], "already_mapped");
    let listed = sandbox.json(&["scopes"])["mappings"][0].clone();
    assert_eq!((&listed["source_type"], &listed["stale"]), (&json!("blackboard"), &json!(false)));
    assert!(text(&sandbox).contains("begun"));
    put(&sandbox, "state", "finished");
    assert_eq!(sandbox.json(&["scopes", "show", SCOPE])["stale"], true);
    assert_eq!(map(&sandbox)["status"], "mapped");
    let now = text(&sandbox);
    assert!(now.contains("finished") && !now.contains("begun"), "{now}");
    let shown = sandbox.colony(&["scopes", "show", "plan"]);
    assert!(shown.contains("follows refs/colony/blackboard/plan,"), "{shown}");
    // The map of the repository has no row for it, and leaves it.
    sandbox.colony(&["map"]);
    assert_eq!(map(&sandbox)["status"], "already_mapped");
    let taken = ["map", "blackboard", "plan", "--scope-id", "mine"];
    assert_eq!(sandbox.json(&taken)["scope_id"], "mine");
    sandbox.colony(&["scopes", "unmap", "mine"]);
    sandbox.colony(&["scopes", "unmap", SCOPE]);
    assert_eq!(sandbox.git(&["for-each-ref", "refs/colony-local/worktree/"]), "");
    assert_eq!(map(&sandbox)["status"], "mapped");
    sandbox.check_invariants_of_git();
}

#[test]
fn a_key_in_conflict_shows_its_values() {
    let two = Two::new();
    let (a, b): (&View, View) = (&two.a, two.b());
    put(a, "owner", "ada");
    put(&b, "owner", "bob");
    a.colony(&["sync"]);
    b.colony(&["sync"]);
    let mapped = map(&b);
    assert_eq!((&mapped["conflicts"], &mapped["records"]), (&json!(["owner"]), &json!(1)));
    let shown = text(&b);
    assert!(shown.contains("ada") && shown.contains("bob"), "{shown}");
}

#[test]
fn hostile_keys_and_values_stay_records() {
    let sandbox = Sandbox::new();
    let long = "x".repeat(900);
    for key in ["../../x", ".gitignore", "a/.git/hooks/b", "a", "%2E", &long] {
        put(&sandbox, key, "* \u{1b}[2J");
    }
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12345\n",
        "0".repeat(64)
    );
    put(&sandbox, "pointer", &pointer);
    let mapped = map(&sandbox);
    assert_eq!((&mapped["records"], &mapped["left_out"]), (&json!(7), &json!([])), "{mapped:#}");
    let shown = text(&sandbox);
    assert!(shown.contains("%2E.%2F%2E.%2Fx") && shown.contains("%2Egitignore"), "{shown}");
    assert!(shown.contains(&long) && shown.contains("size 12345"), "{shown}");
    assert!(!shown.contains('\u{1b}'), "{shown}");
    // Another blackboard with the same default id does not take its place.
    put_at(&sandbox, "plan:x");
    assert_eq!(
        sandbox.json(&["map", "blackboard", "plan", "--namespace", "x:y"])["status"],
        "mapped"
    );
    let other = ["map", "blackboard", "plan:x", "--namespace", "y"];
    assert_eq!(sandbox.error(&other), "invalid-value");
}

fn put_at(sandbox: &Sandbox, board: &str) {
    sandbox.colony(&["blackboard", "put", board, "k", "v"]);
}
