//! What a server offers, by its options.

use std::collections::BTreeSet;

use serde_json::json;

use super::client::{Client, USUAL};
use crate::support::Sandbox;

fn names(client: &mut Client) -> BTreeSet<String> {
    let tools = client.tools();
    let name = |tool: &serde_json::Value| tool["name"].as_str().unwrap().to_owned();
    tools.iter().map(name).collect()
}

#[test]
fn a_server_for_reading_has_no_tool_that_writes() {
    let sandbox = Sandbox::new();
    let before = sandbox.visible_state();
    let mut client = Client::of(&sandbox, USUAL, &["mcp", "--read-only"]);
    for tool in client.tools() {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool:#}");
    }
    let refused = client.call("checkpoint_state", &json!({ "label": "x" }));
    assert_eq!(refused["refused"]["code"], -32602, "{refused:#}");
    client.done("get_repo_state", &json!({}));
    drop(client);
    assert_eq!(sandbox.visible_state(), before);
}

#[test]
fn a_server_of_one_group_has_only_its_tools() {
    let sandbox = Sandbox::new();
    let mut client = Client::of(&sandbox, USUAL, &["mcp", "--only", "states"]);
    let offered = names(&mut client);
    assert!(offered.contains("restore_checkpoint") && offered.contains("continue_answer"));
    assert!(!offered.contains("fork_design") && !offered.contains("sync"));
    let refused = client.call("fork_design", &json!({ "label": "x" }));
    assert_eq!(refused["refused"]["code"], -32602, "{refused:#}");
}

#[test]
fn a_trusted_client_needs_no_preview() {
    let sandbox = Sandbox::new();
    let mut client = Client::of(&sandbox, USUAL, &["mcp", "--trust"]);
    client.done("checkpoint_state", &json!({ "label": "start" }));
    sandbox.write("a.txt", "two\n");
    let restore = json!({ "checkpoint_id": "start" });
    let restored = client.done("restore_checkpoint", &restore);
    assert_eq!(restored["dry_run"], false);
    assert_eq!(sandbox.read("a.txt"), "one\n");
    for tool in client.tools() {
        let takes = &tool["inputSchema"]["properties"];
        assert!(takes["preview_id"].is_null(), "{tool:#}");
    }
}

#[test]
fn the_clone_for_reading_answers_about_the_state() {
    let sandbox = Sandbox::new();
    let mut client = Client::of(&sandbox, USUAL, &["mcp", "--read-only-state"]);
    sandbox.write("new.txt", "of the user\n");
    let state = client.done("get_repo_state", &json!({}));
    assert_eq!(state["changes"]["untracked"], 0, "{state:#}");
    let kept = client.done("checkpoint_state", &json!({ "label": "x" }));
    assert_eq!(kept["files_changed"], 1, "what writes is not moved there");
}
