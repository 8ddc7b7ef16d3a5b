//! Every version of the protocol that the client has.

use serde_json::json;

use super::answer;
use super::client::Client;
use crate::support::Sandbox;

/// The head of a result: its first text, which is JSON.
fn head(result: &serde_json::Value) -> serde_json::Value {
    answer(result["content"][0]["text"].as_str().unwrap())
}

fn a_session(offered: &str, agreed: &str) {
    let sandbox = Sandbox::new();
    let mut client = Client::of_texts(&sandbox, offered, &["mcp"]);
    assert_eq!(client.connection["version"], agreed);
    let names: Vec<_> = client.tools().iter().map(|t| t["name"].clone()).collect();
    assert!(names.contains(&json!("get_repo_state")), "{names:?}");
    assert!(names.contains(&json!("continue_answer")), "{names:?}");

    let state = client.call("get_repo_state", &json!({}));
    assert_eq!((&state["isError"], &state["structuredContent"]), (&json!(false), &json!(null)));
    let status = sandbox.json(&["status"]);
    assert_eq!(head(&state)["message"], status["message"]);
    assert_eq!(head(&state)["current_sha"], status["current_sha"]);

    let missing = json!({ "checkpoint_id": "none" });
    let failed = client.call("show_checkpoint", &missing);
    assert_eq!(failed["isError"], true);
    assert_eq!(head(&failed)["code"], "checkpoint-not-found");
    assert_eq!(head(&failed)["hint"], "list_checkpoints");

    let odd = client.call("get_repo_state", &json!({ "odd": 1 }));
    assert_eq!((&odd["isError"], &head(&odd)["code"]), (&json!(true), &json!("usage")));

    let unknown = client.call("deinit", &json!({}));
    assert_eq!(unknown["refused"]["code"], -32602, "{unknown:#}");

    // A program that asks for structures has the whole answer as well.
    let mut program = Client::of(&sandbox, offered, &["mcp"]);
    assert_eq!(program.call("get_repo_state", &json!({}))["structuredContent"], status);
}

#[test]
fn the_first_version_has_its_answers_as_text() {
    a_session("2024-11-05", "2024-11-05");
}

#[test]
fn versions_with_a_handshake_have_their_answers_as_text() {
    a_session("2025-06-18", "2025-06-18");
    a_session("2025-11-25", "2025-11-25");
}

#[test]
fn the_version_without_a_handshake_needs_none() {
    a_session("2026-07-28", "2026-07-28");
}

#[test]
fn a_client_that_asks_first_agrees_on_the_newest_version() {
    a_session("auto", "2026-07-28");
    let client = Client::of(&Sandbox::new(), "auto", &["mcp"]);
    assert_eq!(client.connection["server"]["name"], "git-colony");
    let told = client.connection["instructions"].as_str().unwrap();
    assert!(told.contains("preview_id"), "{told}");
}
