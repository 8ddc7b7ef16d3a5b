//! Answers that are longer than a model wants to read at once.

use serde_json::{Value, json};

use super::client::Client;
use crate::support::Sandbox;

#[test]
fn a_long_answer_has_parts_that_are_the_whole() {
    let sandbox = Sandbox::new();
    for number in 0..90 {
        let label = format!("{number}: {}", "a long label with many words ".repeat(5));
        sandbox.colony(&["checkpoint", "--off-branch", "-m", &label]);
    }
    let mut whole = sandbox.json(&["checkpoints"]);
    let mut client = Client::new(&sandbox);
    let mut told = client.done("list_checkpoints", &json!({}));
    let mut all = told["checkpoints"].as_array().unwrap().clone();
    let mut next = told["rest"][0]["continuation"].clone();
    assert_eq!(told["rest"][0]["total"], 90, "{told:#}");
    let mut parts = 1;
    while !next.is_null() {
        let part = client.done("continue_answer", &json!({ "continuation": next }));
        all.extend(part["checkpoints"].as_array().unwrap().clone());
        next = part["rest"][0]["continuation"].clone();
        parts += 1;
    }
    assert!(parts > 1);
    assert_eq!(Value::from(all), whole["checkpoints"]);
    // The rest of the answer is what it is on the command line.
    for answer in [&mut told, &mut whole] {
        let members = answer.as_object_mut().unwrap();
        members.remove("checkpoints");
        members.remove("rest");
    }
    assert_eq!(told, whole);
}

#[test]
fn a_part_that_is_not_kept_is_an_error_with_a_code() {
    let sandbox = Sandbox::new();
    let mut client = Client::new(&sandbox);
    let gone = client.failed("continue_answer", &json!({ "continuation": "x-1" }));
    assert_eq!(gone["code"], "answer-gone");
}
