//! Resources and the prompt.

use serde_json::{Value, json};

use super::client::Client;
use crate::support::Sandbox;

/// Reads the one text of a resource, which is JSON.
fn read(client: &mut Client, uri: &str) -> Value {
    let read = client.ask(&json!({ "do": "read", "uri": uri }));
    assert_eq!(read["contents"][0]["mimeType"], "application/json", "{read:#}");
    serde_json::from_str(read["contents"][0]["text"].as_str().unwrap()).unwrap()
}

/// Lists all resources, in as many pieces as they come.
fn list(client: &mut Client) -> Vec<Vec<Value>> {
    let mut pieces = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let listed = client.ask(&json!({ "do": "resources", "cursor": cursor }));
        pieces.push(listed["resources"].as_array().unwrap().clone());
        cursor = listed["nextCursor"].clone();
        if cursor.is_null() {
            return pieces;
        }
    }
}

#[test]
fn resources_are_listed_in_pieces_and_read_one_by_one() {
    let sandbox = Sandbox::new();
    for number in 0..60 {
        let label = format!("state {number}");
        sandbox.colony(&["checkpoint", "--off-branch", "-m", &label]);
    }
    sandbox.colony(&["decide", "--title", "Short names", "--summary", "s", "--rationale", "r"]);
    sandbox.colony(&["map"]);
    let mut client = Client::new(&sandbox);
    let pieces = list(&mut client);
    assert!(pieces.len() > 1 && pieces[0].len() == 50, "{pieces:#?}");
    let all = pieces.concat();
    let of_kind = |kind: &str| {
        let begin = format!("colony://{kind}/");
        let uris = all.iter().map(|one| one["uri"].as_str().unwrap().to_owned());
        uris.filter(|uri| uri.starts_with(&begin)).collect::<Vec<_>>()
    };
    assert_eq!(of_kind("checkpoint").len(), 60);
    let checkpoint = read(&mut client, &of_kind("checkpoint")[59]);
    assert_eq!(checkpoint["label"], "state 59");
    let decisions = of_kind("decision");
    assert_eq!(decisions.len(), 1);
    assert_eq!(read(&mut client, &decisions[0])["title"], "Short names");
    let pages = of_kind("page");
    let listed = sandbox.json(&["pages"]);
    assert_eq!(pages.len(), listed["pages"].as_array().unwrap().len());
    let page = read(&mut client, &pages[0]);
    assert!(page["pages"][0]["records"][0]["text"].is_string(), "{page:#}");
}

#[test]
fn a_resource_that_does_not_exist_is_refused() {
    let sandbox = Sandbox::new();
    let mut client = Client::new(&sandbox);
    for uri in [
        "colony://checkpoint/none",
        "colony://decision/none",
        "colony://page/none",
        "colony://secret/x",
        "file:///etc/hostname",
    ] {
        let refused = client.ask(&json!({ "do": "read", "uri": uri }));
        assert_eq!(refused["refused"]["code"], -32002, "{uri} {refused:#}");
    }
    let refused = client.ask(&json!({ "do": "resources", "cursor": "9:x" }));
    assert_eq!(refused["refused"]["code"], -32602, "{refused:#}");
    client.done("get_repo_state", &json!({}));
}

#[test]
fn pages_are_listed_scope_by_scope() {
    let sandbox = Sandbox::new();
    for number in 0..60 {
        sandbox.write(&format!("dir-{number}/a.txt"), format!("{number}\n").repeat(2000));
    }
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "many"]);
    sandbox.colony(&["map"]);
    let scope = sandbox.json(&["scopes"])["mappings"][0]["scope_id"].as_str().unwrap().to_owned();
    let mut client = Client::new(&sandbox);
    let first = client.ask(&json!({ "do": "resources", "cursor": null }));
    assert_eq!(first["nextCursor"], format!("page/{scope}:49"), "{first:#}");
    let pages = list(&mut client).concat().len() - 1;
    assert_eq!(pages, sandbox.json(&["pages"])["pages"].as_array().unwrap().len());
}

#[test]
fn what_does_not_exist_cannot_be_subscribed_to() {
    let sandbox = Sandbox::new();
    let mut client = Client::new(&sandbox);
    for uri in ["colony://scope/none", "colony://page/none", "https://example.com/x"] {
        let refused = client.ask(&json!({ "do": "subscribe", "uri": uri }));
        assert_eq!(refused["refused"]["code"], -32002, "{uri} {refused:#}");
    }
}

#[test]
fn templates_and_the_guide_are_offered() {
    let sandbox = Sandbox::new();
    let mut client = Client::new(&sandbox);
    let templates = client.ask(&json!({ "do": "templates" }));
    let templates = templates["resourceTemplates"].as_array().unwrap().clone();
    let shapes: Vec<_> = templates.iter().map(|one| &one["uriTemplate"]).collect();
    let expected = [
        "colony://checkpoint/{id}",
        "colony://decision/{id}",
        "colony://scope/{id}",
        "colony://page/{id}",
    ];
    assert_eq!(shapes, expected);
    let prompts = client.ask(&json!({ "do": "prompts" }));
    assert_eq!(prompts["prompts"][0]["name"], "guide");
    let guide = client.ask(&json!({ "do": "prompt", "name": "guide" }));
    let text = &guide["messages"][0]["content"]["text"];
    assert_eq!(*text, sandbox.json(&["agents", "guide"])["guide"]);
    let refused = client.ask(&json!({ "do": "prompt", "name": "other" }));
    assert_eq!(refused["refused"]["code"], -32602);
}

#[test]
fn a_subscriber_hears_when_its_scope_is_mapped() {
    for version in [super::client::USUAL, "2026-07-28"] {
        let sandbox = Sandbox::new();
        sandbox.colony(&["map"]);
        let scopes = sandbox.json(&["scopes"]);
        let id = scopes["mappings"][0]["scope_id"].as_str().unwrap();
        let mut client = Client::of(&sandbox, version, &["mcp"]);
        assert_eq!(client.connection["version"], version);
        let listed = list(&mut client).concat();
        let of_scope = |one: &&Value| one["uri"].as_str().unwrap().starts_with("colony://scope/");
        let uri = listed.iter().find(of_scope).unwrap()["uri"].clone();
        assert_eq!(read(&mut client, uri.as_str().unwrap())["scope_id"], id);
        let answer = client.ask(&json!({ "do": "subscribe", "uri": uri }));
        assert!(answer["refused"].is_null(), "{version} {answer}");
        // Another process changes it.
        sandbox.write("new.txt", "new\n");
        sandbox.git(&["add", "new.txt"]);
        sandbox.git(&["commit", "-qm", "new"]);
        sandbox.colony(&["map"]);
        let update = client.ask(&json!({ "do": "updated" }));
        assert_eq!(update, json!({ "uri": uri }), "{version}");
        sandbox.colony(&["scopes", "unmap", id]);
        let update = client.ask(&json!({ "do": "updated" }));
        assert_eq!(update, json!({ "uri": uri }), "{version}");
    }
}
