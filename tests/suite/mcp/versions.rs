//! Every version of the protocol that the client has.

use serde_json::json;

use super::client::Client;
use crate::support::Sandbox;

/// The data of a result: in versions before structured content, the last text has it.
fn data(result: &serde_json::Value) -> serde_json::Value {
    let texts = result["content"].as_array().unwrap();
    match &result["structuredContent"] {
        serde_json::Value::Null => {
            serde_json::from_str(texts.last().unwrap()["text"].as_str().unwrap()).unwrap()
        }
        data => data.clone(),
    }
}

fn a_session(offered: &str, agreed: &str) {
    let sandbox = Sandbox::new();
    let mut client = Client::of(&sandbox, offered, &["mcp"]);
    assert_eq!(client.connection["version"], agreed);
    let names: Vec<_> = client.tools().iter().map(|t| t["name"].clone()).collect();
    assert!(names.contains(&json!("get_repo_state")), "{names:?}");
    assert!(names.contains(&json!("continue_answer")), "{names:?}");

    let state = client.call("get_repo_state", &json!({}));
    assert_eq!(state["isError"], false);
    assert_eq!(data(&state), sandbox.json(&["status"]));
    let first = state["content"][0]["text"].as_str().unwrap();
    assert!(first.starts_with("get_repo_state: done\n"), "{first}");

    let missing = json!({ "checkpoint_id": "none" });
    let failed = client.call("show_checkpoint", &missing);
    assert_eq!(failed["isError"], true);
    assert_eq!(data(&failed)["code"], "checkpoint-not-found");
    assert_eq!(data(&failed)["hint"], "git colony checkpoints");

    let odd = client.call("get_repo_state", &json!({ "odd": 1 }));
    assert_eq!((&odd["isError"], &data(&odd)["code"]), (&json!(true), &json!("usage")));

    let unknown = client.call("deinit", &json!({}));
    assert_eq!(unknown["refused"]["code"], -32602, "{unknown:#}");
}

#[test]
fn the_first_version_has_its_data_as_text() {
    a_session("2024-11-05", "2024-11-05");
}

#[test]
fn versions_with_a_handshake_have_structured_data() {
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
