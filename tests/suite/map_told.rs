//! `map`: what it says of what it cannot do now, and what it takes away.

use serde_json::json;

use super::pages::{MAP, commit};
use super::support::Sandbox;

#[test]
fn a_dry_run_tells_what_would_be_fetched_and_fetches_nothing() {
    let sandbox = Sandbox::new();
    let rows = "  - {name: here, type: git_repo}\n  \
        - {name: away, type: git_repo, origin_url: 'https://example.invalid/away'}\n";
    sandbox.write(MAP, format!("schema_version: 1\nsources:\n{rows}"));
    commit(&sandbox);
    let dry = sandbox.json(&["map", "-n"]);
    let status = |at: usize| dry["results"][at]["status"].clone();
    assert_eq!((status(0), status(1)), (json!("mapped"), json!("skipped")));
    assert_eq!(
        dry["results"][1]["message"],
        "nothing of 'https://example.invalid/away' is here yet, and a dry run fetches nothing"
    );
    assert!(!sandbox.outside().join("home").exists());
    let offline = sandbox.json(&["map", "-n", "--offline"]);
    assert_eq!(offline["results"][1]["status"], "error");
}

#[test]
fn a_broken_map_of_a_revision_is_told_by_the_name_that_was_typed() {
    let sandbox = Sandbox::new();
    sandbox.write(MAP, "sources: 7\n");
    commit(&sandbox);
    sandbox.git(&["branch", "bad"]);
    let bad = sandbox.json(&["map", "--rev", "bad"]);
    assert_eq!(bad["code"], "map-invalid");
    let message = bad["message"].as_str().unwrap();
    assert!(
        message.starts_with("cannot use '.colony/repo_map.yaml' of 'bad': 1:"),
        "{message}"
    );
    assert_eq!(bad["hint"], "git colony map check --rev bad");
    let head = sandbox.json(&["map"]);
    assert_eq!(head["hint"], "git colony map check --rev HEAD");
}
