//! Agents' own sessions join those of git-colony through their hooks.

use std::ffi::OsString;
use std::io::Cursor;

use serde_json::{Value, json};

use crate::sessions::session_files::lines;
use crate::support::Sandbox;

fn fire(sandbox: &Sandbox, agent: &str, payload: &Value) {
    let args = vec![OsString::from("hook"), OsString::from(agent)];
    let input = Box::new(Cursor::new(payload.to_string().into_bytes()));
    let run = sandbox.run_reading(sandbox.world(), args, input);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

fn types(sandbox: &Sandbox, id: &str) -> Vec<String> {
    let lines = lines(sandbox, id);
    let name = |line: &Value| line["type"].as_str().unwrap().to_owned();
    lines.iter().map(name).collect()
}

#[test]
fn a_session_of_an_agent_begins_is_noted_and_ends() {
    let sandbox = Sandbox::new();
    let event = |name: &str| {
        fire(
            &sandbox,
            "claude-code",
            &json!({ "session_id": "c-1", "hook_event_name": name, "cwd": sandbox.root }),
        );
    };
    event("SessionStart");
    assert_eq!(types(&sandbox, "c-1"), ["created"]);
    sandbox.write("a.txt", "two\n");
    event("Stop");
    event("SessionEnd");
    assert_eq!(types(&sandbox, "c-1"), ["created", "turn_added", "checkpoint", "state_changed"]);
    assert_eq!(lines(&sandbox, "c-1")[0]["harness"], "claude-code");
    assert_eq!(sandbox.json(&["session", "show", "c-1"])["state"], "ended");
    event("SessionStart");
    let shown = sandbox.json(&["session", "show", "c-1"]);
    assert_eq!(shown["state"], "active");
    assert_eq!(shown["checkpoints"][0]["auto"], true);
    assert_eq!(sandbox.git(&["status", "--porcelain", "-uall"]), " M a.txt");
}

#[test]
fn an_agent_without_a_start_begins_at_the_end_of_a_turn() {
    let sandbox = Sandbox::new();
    let payload = json!({ "type": "agent-turn-complete", "thread-id": "t-1", "cwd": sandbox.root });
    fire(&sandbox, "codex", &payload);
    assert_eq!(types(&sandbox, "t-1"), ["created", "turn_added"]);
    let tool = json!({ "session_id": "t-2", "hook_event_name": "PreToolUse", "cwd": sandbox.root });
    fire(&sandbox, "claude-code", &tool);
    assert_eq!(sandbox.error(&["session", "show", "t-2"]), "session-not-found");
}

#[test]
fn an_id_that_is_not_plain_begins_no_session() {
    let sandbox = Sandbox::new();
    for id in ["../x", "--output", "a b", ".."] {
        let start =
            json!({ "session_id": id, "hook_event_name": "SessionStart", "cwd": sandbox.root });
        fire(&sandbox, "claude-code", &start);
    }
    assert!(!sandbox.path(".colony").exists());
}

#[test]
fn a_hook_keeps_the_state_where_no_session_can_be_written() {
    let sandbox = Sandbox::new();
    sandbox.write(".colony", "in the way\n");
    sandbox.write("a.txt", "two\n");
    let stop = json!({ "session_id": "c-1", "hook_event_name": "Stop", "cwd": sandbox.root });
    fire(&sandbox, "claude-code", &stop);
    assert_eq!(sandbox.json(&["checkpoints", "--auto"])["count"], 1);
}
