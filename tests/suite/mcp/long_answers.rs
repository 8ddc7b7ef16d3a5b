//! Answers that are longer than a model wants to read at once.

use serde_json::json;

use super::Server;
use super::client::Client;
use crate::support::Sandbox;

#[test]
fn a_long_answer_has_parts_that_are_the_whole() {
    let sandbox = Sandbox::new();
    let lines: Vec<_> = (0..3000).map(|n| format!("line {n} of a long file")).collect();
    sandbox.write("long.txt", lines.join("\n"));
    let mut server = Server::start(&sandbox, &[]);
    let (mut head, mut all) = server.texts("query_file", &json!({ "path": "long.txt" }));
    let mut parts = 1;
    while !head["rest"].is_null() {
        let next = json!({ "continuation": head["rest"]["continuation"] });
        let (part, more) = server.texts("continue_answer", &next);
        assert_eq!((&part["ok"], head["rest"]["next"].is_string()), (&json!(true), true));
        (head, parts) = (part, parts + 1);
        all.extend(more);
    }
    assert!(parts > 3, "{parts}");
    let expected = lines.iter().zip(1..).map(|(line, number)| format!("{number}:{line}"));
    let expected: Vec<_> =
        ["files:", "long.txt:"].map(str::to_owned).into_iter().chain(expected).collect();
    assert_eq!(all, expected);
}

#[test]
fn a_part_that_is_not_kept_is_an_error_with_a_code() {
    let sandbox = Sandbox::new();
    let mut client = Client::new(&sandbox);
    let gone = client.failed("continue_answer", &json!({ "continuation": "x-1" }));
    assert_eq!(gone["code"], "answer-gone");
}
