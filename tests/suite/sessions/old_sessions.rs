//! Sessions of earlier ids and of earlier programs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::sessions::session_files::{begin, lines};
use crate::support::Sandbox;

const OLD: &str = "0123456789abcdef";

#[test]
fn a_changed_origin_loses_no_session() {
    let sandbox = Sandbox::new();
    let id = begin(&sandbox);
    let old = sandbox.json(&["id"])["repository_id"].clone();
    let old = old.as_str().unwrap();
    sandbox.git(&["remote", "add", "origin", "https://example.com/p.git"]);
    assert_eq!(sandbox.error(&["session", "show", &id]), "session-not-found");
    let command = format!("git colony session adopt {old}");
    let note = ["session", "note", "x", "--session", &id];
    assert_eq!(sandbox.json(&note)["hint"], *command);
    let paths = sandbox.json(&["paths"]);
    assert_eq!(paths["orphans"][0]["adopt"], *command);
    assert!(sandbox.colony(&["paths"]).contains(&command));
    let dry = sandbox.json(&["session", "adopt", old, "-n"]);
    assert_eq!(dry["adopted"], json!([id]));
    assert_eq!(sandbox.json(&["paths"])["orphans"][0]["repository_id"], *old);
    let adopted = sandbox.json(&["session", "adopt", old]);
    assert_eq!(adopted["adopted"], json!([id]));
    assert_eq!(lines(&sandbox, &id).len(), 1);
    assert_eq!(sandbox.json(&["paths"])["orphans"], json!([]));
    assert_eq!(sandbox.error(&["session", "adopt", old]), "session-not-found");
}

#[test]
fn an_adopted_session_overwrites_none() {
    let sandbox = Sandbox::new();
    let id = begin(&sandbox);
    let theirs = format!(".colony/sessions/{OLD}/{id}.jsonl");
    sandbox.write(&theirs, "{\"type\":\"created\"}\n");
    sandbox.write(&format!(".colony/sessions/{OLD}/other.jsonl"), "");
    let answer = sandbox.json(&["session", "adopt", OLD]);
    assert_eq!(answer["adopted"], json!(["other"]));
    assert_eq!(answer["kept"], json!([id]));
    assert_eq!(sandbox.read(&theirs), "{\"type\":\"created\"}\n");
    assert!(lines(&sandbox, &id)[0]["plan"].is_string());
}

#[test]
fn only_another_id_is_adopted() {
    let sandbox = Sandbox::new();
    let own = sandbox.json(&["id"])["repository_id"].clone();
    for id in [own.as_str().unwrap(), "../../etc", "0123", "--output"] {
        let answer = sandbox.json(&["session", "adopt", "--", id]);
        assert_eq!(answer["code"], "invalid-value", "{id}");
    }
    assert!(!sandbox.path(".colony").exists());
}

#[test]
fn sessions_of_another_program_are_copied_once() {
    let sandbox = Sandbox::new();
    let own = sandbox.json(&["id"])["repository_id"].clone();
    let own = own.as_str().unwrap();
    let token = format!("ghp_{}", "a1".repeat(18));
    let old = format!(".vox/sessions/{own}/s1.jsonl");
    let text = format!(
        "{{\"b\":1,\"type\":\"turn_added\",\"a\":\"x\"}}\n{{\"type\":\"turn_added\",\"content\":\"{token}\"}}\n"
    );
    sandbox.write(&old, &text);
    sandbox.write(&format!(".sessions/{own}/s2.jsonl"), "torn");
    let listed = sandbox.json(&["session", "list", "--all"]);
    assert_eq!(listed["count"], 0);
    assert_eq!(listed["not_copied"].as_array().unwrap().len(), 2);
    begin(&sandbox);
    let copy = format!(".colony/sessions/{own}/s1.jsonl");
    let copied = sandbox.read(&copy);
    assert!(copied.starts_with("{\"b\":1,\"type\":\"turn_added\",\"a\":\"x\"}\n"), "{copied}");
    assert!(!copied.contains("ghp_"), "{copied}");
    let mode = fs::metadata(sandbox.path(&copy)).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    assert_eq!(sandbox.read(&old), text);
    let shown = sandbox.json(&["session", "show", "s2"]);
    assert_eq!(shown["damaged_lines"], 1);
    // Once: what the user deletes stays deleted, and what has grown stays.
    sandbox.remove(&copy);
    begin(&sandbox);
    assert!(!sandbox.path(&copy).exists());
    assert_eq!(sandbox.json(&["session", "list"])["not_copied"], json!([]));
}

#[test]
fn a_session_of_another_program_and_another_id_is_adopted() {
    let sandbox = Sandbox::new();
    sandbox.write(&format!(".sessions/{OLD}/s1.jsonl"), "{\"type\":\"reset\"}\n");
    let answer = sandbox.json(&["session", "adopt", OLD]);
    assert_eq!(answer["adopted"], json!(["s1"]));
    assert_eq!(lines(&sandbox, "s1").len(), 1);
    assert!(sandbox.path(&format!(".sessions/{OLD}/s1.jsonl")).exists());
}

#[test]
fn a_session_that_is_not_adopted_is_told_with_the_reason() {
    let sandbox = Sandbox::new();
    let id = begin(&sandbox);
    let line = "{\"type\":\"reset\"}\n";
    for name in ["s1", &id] {
        sandbox.write(&format!(".sessions/{OLD}/{name}.jsonl"), line);
    }
    sandbox.colony(&["session", "adopt", OLD]);
    sandbox.colony(&["session", "note", "more", "--session", "s1"]);
    for options in [&["-n"][..], &[]] {
        let answer = sandbox.json(&[&["session", "adopt", OLD][..], options].concat());
        assert_eq!(answer["adopted"], json!([]), "{answer:#}");
        assert_eq!(answer["already"], json!(["s1"]), "{answer:#}");
        assert_eq!(answer["kept"], json!([id]), "{answer:#}");
        assert_eq!(
            answer["message"],
            format!(
                "nothing to take over from the id {OLD}; 1 session copied here before; 1 session kept there, \
                 with an id that is taken here"
            )
        );
    }
}

#[test]
fn copies_from_the_future_fill_no_checkout() {
    let sandbox = Sandbox::new();
    let own = sandbox.json(&["id"])["repository_id"].clone();
    let line = "{\"type\":\"created\",\"at\":\"2099-01-01T00:00:00Z\"}\n";
    for number in 0..16 {
        let path = format!(".sessions/{}/s{number}.jsonl", own.as_str().unwrap());
        sandbox.write(&path, line);
    }
    begin(&sandbox);
    let listed = sandbox.json(&["session", "list", "--all"]);
    assert_eq!((&listed["count"], &listed["active"]), (&json!(17), &json!(1)));
}
