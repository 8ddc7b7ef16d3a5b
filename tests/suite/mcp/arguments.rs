//! Arguments are held against the published schema: by every action, for every argument, whatever comes in.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Server, answer, call_at, tool_at};
use crate::support::Sandbox;

/// The arguments of all actions with their schemas.
fn all_arguments(sandbox: &Sandbox) -> Vec<(String, String, Value)> {
    let told = answer(&sandbox.colony(&["--json", "call"]));
    let names = told["actions"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap());
    let of_action = |name: &str| {
        let told = answer(&sandbox.colony(&["--json", "call", name, "--schema"]));
        let properties = told["actions"][0]["arguments"]["properties"].as_object().unwrap().clone();
        properties
            .into_iter()
            .map(|(argument, schema)| (name.to_owned(), argument, schema))
            .collect::<Vec<_>>()
    };
    names.flat_map(of_action).collect()
}

/// The code of a call that does nothing, since one of its arguments does not exist.
fn code(sandbox: &Sandbox, action: &str, argument: &str, value: &Value) -> Value {
    let arguments = json!({ argument: value, "odd-argument": 1 });
    call_at(sandbox, sandbox.world(), action, &arguments)["code"].clone()
}

/// A value that a schema describes.
fn example(schema: &Value) -> Value {
    match schema["type"].as_str().unwrap() {
        "integer" => json!(3),
        "number" => json!(2.5),
        "boolean" => json!(true),
        "array" => json!(["a", "b"]),
        "object" => json!({}),
        _ if schema["enum"].is_array() => schema["enum"][0].clone(),
        _ => json!("a"),
    }
}

#[test]
fn every_argument_is_taken_from_a_text_of_its_json() {
    let sandbox = Sandbox::new();
    for (action, argument, schema) in all_arguments(&sandbox) {
        let own = example(&schema);
        let text = own.as_str().map_or_else(|| own.to_string(), str::to_owned);
        for value in [own, text.into()] {
            let code = code(&sandbox, &action, &argument, &value);
            assert_eq!(code, "usage", "{action} {argument} {value}");
        }
    }
}

/// Returns `true` if a schema takes a value, as the documents have it.
fn takes(schema: &Value, value: &Value) -> bool {
    let held = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let wants_text = schema["type"] == "string";
    fits(schema, value) || !wants_text && held.is_some_and(|held| fits(schema, &held))
}

fn fits(schema: &Value, value: &Value) -> bool {
    match (schema["type"].as_str().unwrap(), value) {
        (_, Value::Null) => false,
        ("string", value) => {
            value.is_string() && schema["enum"].as_array().is_none_or(|all| all.contains(value))
        }
        ("boolean", value) => value.is_boolean(),
        ("number", value) => value.is_number(),
        ("integer", value) => value.as_f64().is_some_and(|number| {
            number.fract() == 0.0 && number < 1e15 && (schema["minimum"].is_null() || number >= 0.0)
        }),
        ("array", value) => value.as_array().is_some_and(|all| all.iter().all(Value::is_string)),
        ("object", Value::Object(members)) => members.iter().all(|(name, value)| {
            let own = &schema["properties"][name];
            own.is_null() || value.is_null() || takes(own, value)
        }),
        _ => false,
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let plain = prop_oneof![
        any::<bool>().prop_map(Value::from),
        (-3_i64..5_000).prop_map(Value::from),
        prop_oneof![Just(2.0), Just(-1.0), Just(0.5), Just(1e300)].prop_map(Value::from),
        "[a-z]{0,4}".prop_map(Value::from),
        prop_oneof![Just("5"), Just("2.0"), Just("true"), Just("[\"a\"]"), Just("{}"), Just("[1]")]
            .prop_map(Value::from),
    ];
    let list = prop::collection::vec(plain.clone(), 0..3).prop_map(Value::from);
    prop_oneof![4 => plain, 2 => list, 1 => Just(json!({}))]
}

#[test]
fn every_argument_is_held_against_its_schema() {
    let sandbox = Sandbox::new();
    let arguments = all_arguments(&sandbox);
    let cases = (0..arguments.len(), any_value());
    let config = ProptestConfig { cases: 500, ..ProptestConfig::default() };
    proptest!(config, |((index, value) in cases)| {
        let (action, argument, schema) = &arguments[index];
        let code = code(&sandbox, action, argument, &value);
        let expected = if takes(schema, &value) { "usage" } else { "invalid-value" };
        prop_assert_eq!(code, expected, "{} {} {} {}", action, argument, value, schema);
    });
}

#[test]
fn a_refusal_says_what_was_wanted() {
    let sandbox = Sandbox::new();
    let refused = |action: &str, arguments: Value| {
        let told = tool_at(&sandbox, sandbox.world(), action, &arguments);
        assert_eq!(told["code"], "invalid-value", "{told:#}");
        told["message"].as_str().unwrap().to_owned()
    };
    let paths = refused("commit_state", json!({ "message": "m", "paths": 3 }));
    let expected = "cannot take 'paths' of 'commit_state': wanted an array of strings, found 3";
    assert!(paths.starts_with(expected), "{paths}");
    let limit = refused("list_operations", json!({ "limit": "five" }));
    assert!(limit.contains("wanted an integer") && limit.contains("found \"five\""), "{limit}");
    let origin = refused("search", json!({ "query": "a", "in": "nowhere" }));
    assert!(origin.contains("wanted one of "), "{origin}");
}

#[test]
fn a_text_with_json_counts_as_its_value() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    let arguments = json!({ "message": "Change", "paths": "[\"a.txt\"]" });
    let told = tool_at(&sandbox, sandbox.world(), "commit_state", &arguments);
    assert_eq!(told["ok"], true, "{told:#}");
    for limit in [json!("1"), json!(1.0), json!("1.0")] {
        let log = tool_at(&sandbox, sandbox.world(), "git_log", &json!({ "max_commits": limit }));
        assert_eq!(log["count"], 1, "{log:#}");
    }
}

#[test]
fn a_destroying_flag_in_a_text_has_a_preview_first() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "start"]);
    let mut server = Server::start(&sandbox, &[]);
    let told = server.call("undo", &json!({ "force": "true" }));
    assert_eq!(told["applied"], false, "{told:#}");
    assert!(told["preview_id"].is_string(), "{told:#}");
}
