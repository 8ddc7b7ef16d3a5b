//! The tools by default: few, in few tokens, and every action behind them.

use git_colony::testing::Tokenizer;
use serde_json::{Value, json};

use super::client::{Client, USUAL};
use super::{conversation, result, serve_at};
use crate::support::Sandbox;

fn listed(sandbox: &Sandbox, options: &[&str]) -> Vec<Value> {
    let ask = json!({ "jsonrpc": "2.0", "id": "tools", "method": "tools/list" });
    let input = conversation(&[]) + &format!("{ask}\n");
    let messages = serve_at(sandbox, sandbox.world(), options, input);
    result(&messages, "tools")["tools"].as_array().unwrap().clone()
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn the_default_set_is_small() {
    let sandbox = Sandbox::new();
    let tools = listed(&sandbox, &[]);
    assert!(tools.len() <= 24, "{}", tools.len());
    let tokens = Tokenizer::O200k.count(&Value::from(tools.clone()).to_string());
    assert!(tokens <= 3_500, "{tokens}");
    for name in ["find", "read", "history", "read_action", "call_action", "checkpoint_state"] {
        assert!(names(&tools).contains(&name), "{name}");
    }
    let reading = listed(&sandbox, &["--read-only"]);
    assert!(!names(&reading).contains(&"call_action"));
    assert!(reading.iter().all(|tool| tool["annotations"]["readOnlyHint"] == true));
    let all = listed(&sandbox, &["--tools", "all"]);
    assert!(all.len() > 100 && !names(&all).contains(&"call_action"), "{}", all.len());
}

/// Fails for what a provider refuses: an object with any members, a member without a type.
fn require_plain(schema: &Value, tool: &str, is_top: bool) {
    let has_type = schema["type"].is_string();
    assert!(has_type, "{tool} {schema:#}");
    assert!(is_top || schema.get("additionalProperties").is_none(), "{tool} {schema:#}");
    if schema["type"] == "object" {
        let properties = schema["properties"].as_object();
        let properties = properties.unwrap_or_else(|| panic!("{tool} {schema:#}"));
        assert!(!properties.is_empty(), "{tool}");
        properties.values().for_each(|inner| require_plain(inner, tool, false));
    }
    if schema["type"] == "array" {
        require_plain(&schema["items"], tool, false);
    }
}

#[test]
fn every_provider_takes_the_schemas() {
    let sandbox = Sandbox::new();
    for tool in listed(&sandbox, &["--tools", "all", "--allow-cargo"]) {
        require_plain(&tool["inputSchema"], tool["name"].as_str().unwrap(), true);
    }
    for tool in listed(&sandbox, &[]) {
        require_plain(&tool["inputSchema"], tool["name"].as_str().unwrap(), true);
    }
}

#[test]
fn every_other_action_is_found_and_called() {
    let sandbox = Sandbox::new();
    let mut client = Client::of(&sandbox, USUAL, &["mcp"]);
    let mut text = |tool: &str, arguments: Value| {
        let answer = client.call(tool, &arguments);
        let texts = answer["content"].as_array().unwrap_or_else(|| panic!("{answer:#}")).clone();
        let texts = texts.iter().map(|text| text["text"].as_str().unwrap().to_owned());
        (texts.collect::<Vec<_>>().join("\n"), answer["isError"] == true)
    };
    let (found, _) = text("read_action", json!({ "words": "tag" }));
    assert!(found.contains("tag_checkpoint {label, rationale, ref}"), "{found}");
    let (one, _) = text("read_action", json!({ "words": "cherry_pick_decisions" }));
    assert!(one.contains("commit_shas (array): "), "{one}");
    let (all, _) = text("call_action", json!({}));
    assert!(all.contains("\nmemory_show\n") && all.contains("\nsync\n"), "{all}");
    text("checkpoint_state", json!({ "label": "one" }));
    let tag =
        json!({ "name": "tag_checkpoint", "arguments": "{\"label\": \"two\", \"sha\": \"HEAD\"}" });
    let (refused, is_error) = text("read_action", tag.clone());
    assert!(is_error && refused.contains("call_action"), "{refused}");
    let (done, is_error) = text("call_action", tag);
    assert!(!is_error && done.contains("'two'"), "{done}");
    // A preview is given out and redeemed in the same way.
    let delete =
        json!({ "name": "delete_checkpoints", "arguments": { "checkpoint_ids": ["two"] } });
    let (shown, _) = text("call_action", delete.clone());
    let head: Value = serde_json::from_str(shown.lines().next().unwrap()).unwrap();
    assert_eq!(head["applied"], false, "{shown}");
    let mut again = delete;
    again["preview_id"] = head["preview_id"].clone();
    let (applied, _) = text("call_action", again);
    assert!(applied.contains("\"applied\":true"), "{applied}");
    for (arguments, code) in [
        (json!({ "name": "nosuch" }), "usage"),
        (json!({ "name": "undo", "arguments": "[1" }), "invalid-value"),
        (json!({ "name": "undo", "arguments": { "wrong": 1 } }), "usage"),
        (json!({ "action": "undo" }), "usage"),
        (json!({ "arguments": {} }), "usage"),
        (json!({ "name": ["undo"] }), "invalid-value"),
    ] {
        let (refused, is_error) = text("call_action", arguments);
        assert!(is_error && refused.contains(&format!("\"code\":\"{code}\"")), "{refused}");
    }
    let (hint, _) = text("restore_checkpoint", json!({ "checkpoint_id": "none" }));
    assert!(!hint.contains("git colony "), "{hint}");
}

#[test]
fn one_word_is_for_one_thing_and_the_old_ones_are_taken() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "one text\n");
    sandbox.git(&["commit", "-qam", "Text"]);
    let mut client = Client::of(&sandbox, USUAL, &["mcp"]);
    for (tool, new, old) in [
        ("show_log", json!({ "ref": "HEAD" }), json!({ "name": "HEAD" })),
        ("git_log", json!({ "limit": 1 }), json!({ "max_commits": 1 })),
        (
            "query_text",
            json!({ "query": "text", "limit": 1 }),
            json!({ "query": "text", "max_matches": 1 }),
        ),
    ] {
        let [mut new, mut old] = [client.done(tool, &new), client.done(tool, &old)];
        for answer in [&mut new, &mut old] {
            answer.as_object_mut().unwrap().remove("trace");
        }
        assert_eq!(new, old, "{tool}");
        let both = json!({ "limit": 1, "max_commits": 1, "max_matches": 1, "ref": "a", "name": "b", "query": "x" });
        assert_eq!(client.failed(tool, &both)["ok"], false);
    }
    for tool in client.tools() {
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        for old in ["revision", "sha", "max_matches", "max_commits", "max_files", "question"] {
            // In 'find' it is a flag.
            let is_old = tool["name"] != "find" && properties.contains_key(old);
            assert!(!is_old, "{tool:#}");
        }
    }
}
