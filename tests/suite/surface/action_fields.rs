//! The answers have the fields of the actions of the specification, by name; more are allowed.

use serde_json::{Value, json};

use crate::support::Sandbox;

fn has(answer: &Value, names: &[&str]) {
    let missing: Vec<_> = names.iter().filter(|name| answer.get(name).is_none()).collect();
    assert_eq!(missing, [&""; 0], "{answer:#}");
}

const CHECKPOINT: [&str; 6] =
    ["checkpoint_id", "sha", "label", "rationale", "author", "created_at"];
const FORK: [&str; 5] =
    ["name", "head_sha", "diverged_from_sha", "diverged_from_branch", "created_at"];
const DECISION: [&str; 8] = [
    "decision_id",
    "sha",
    "title",
    "summary",
    "authored_at",
    "author",
    "rationale",
    "relative_path",
];

#[test]
fn the_state_of_the_repository_has_its_fields() {
    let sandbox = Sandbox::new();
    let names = "is_fresh current_branch current_sha ahead_of_main_by behind_main_by checkpoints forks \
        tools last_quiescence_at uncommitted_changes imported_tooling_remotes";
    has(&sandbox.json(&["status"]), &names.split(' ').collect::<Vec<_>>());
}

#[test]
fn a_checkpoint_has_its_fields_in_every_answer() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    has(&sandbox.json(&["checkpoint", "-m", "one", "--rationale", "why"]), &CHECKPOINT);
    has(&sandbox.json(&["tag", "-m", "two", "HEAD"]), &CHECKPOINT);
    has(&sandbox.json(&["checkpoints", "show", "one"]), &CHECKPOINT);
    has(&sandbox.json(&["checkpoints"])["checkpoints"][0], &CHECKPOINT);
}

#[test]
fn a_decision_has_its_fields_listed_and_shown() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    let decide = ["decide", "-m", "Use two", "--rationale", "measured", "a.txt"];
    let made = sandbox.json(&decide);
    has(&made, &DECISION);
    has(&sandbox.json(&["decisions"])["decisions"][0], &DECISION);
    has(&sandbox.json(&["decisions", "show", "use-two"]), &DECISION);
}

#[test]
fn a_tool_that_is_found_has_entry_score_and_writable() {
    let sandbox = Sandbox::new();
    let entry =
        json!({"name": "a", "purpose": "p", "capability": "paint", "location": "subdir:tools/p/a"});
    let registry = json!({"schema_version": 1, "tools": [entry]});
    sandbox.write(".colony/tool-registry.json", registry.to_string());
    let answer = sandbox.json(&["tools", "find", "paint", "--writable"]);
    has(&answer["matches"][0], &["entry", "score", "writable"]);
    let names = "capability container_image extra headless license location name purpose version";
    has(&answer["matches"][0]["entry"], &names.split(' ').collect::<Vec<_>>());
}

#[test]
fn a_branch_of_the_topology_has_its_fields() {
    let sandbox = Sandbox::new();
    let answer = sandbox.json(&["topology"]);
    has(&answer, &["main", "main_head_sha", "branches"]);
    let names = "name head_sha parent_branch diverged_from_sha is_fork is_session is_agent is_tool";
    has(&answer["branches"][0], &names.split(' ').collect::<Vec<_>>());
}

#[test]
fn a_fork_has_its_fields_created_and_listed() {
    let sandbox = Sandbox::new();
    has(&sandbox.json(&["fork", "x", "--from", "main", "--no-switch"]), &FORK);
    has(&sandbox.json(&["forks"])["forks"][0], &FORK);
}

#[test]
fn a_restore_to_a_fork_names_checkpoint_and_branch() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["tag", "-m", "one", "HEAD"]);
    let answer = sandbox.json(&["restore", "one", "--mode", "fork", "--label", "back"]);
    has(&answer, &["checkpoint_id", "mode", "recovery"]);
    assert_eq!(answer["branch"], "fork/back");
}

#[test]
fn a_difference_has_its_fields() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["tag", "-m", "one", "HEAD"]);
    sandbox.write("a.txt", "two\n");
    sandbox.git(&["commit", "-qam", "two"]);
    let answer = sandbox.json(&["diff", "--checkpoint", "one", "--patch"]);
    has(&answer, &["ref_a", "ref_b", "entries", "raw_unified_diff"]);
    assert!(answer["raw_unified_diff"].is_string());
    let names = "path change_type old_path insertions deletions";
    has(&answer["entries"][0], &names.split(' ').collect::<Vec<_>>());
}

#[test]
fn a_scope_that_is_not_mapped_is_an_answer() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["--json", "scopes", "mapped", "git_repo:none"]);
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    has(&answer, &["scope_id", "mapped", "message"]);
    assert_eq!((run.code, &answer["mapped"]), (1, &json!(false)));
}
