//! The catalog, queries and the overview of files, as actions.

use std::fs;

use serde_json::{Value, json};

use super::client::{Client, USUAL};
use super::{call_at, tool_apart, tool_at, where_user_sets};
use crate::support::Sandbox;

/// A workspace with a repository inside of it and one beside it.
fn workspace() -> Sandbox {
    let sandbox = Sandbox::new();
    for path in ["inside", "../outside"] {
        let view = sandbox.at(sandbox.path(path));
        fs::create_dir_all(&view.root).unwrap();
        view.git(&["init", "-q"]);
        view.write("b.txt", "needle\n");
        sandbox.colony(&["catalog", "add", path]);
    }
    sandbox
}

#[test]
fn an_agent_asks_outside_only_where_the_user_allows_it() {
    let sandbox = workspace();
    let ask = |action: &str, arguments: Value| {
        let typed = call_at(&sandbox, sandbox.world(), action, &arguments);
        let told = tool_at(&sandbox, sandbox.world(), action, &arguments);
        (typed, told)
    };
    for (action, arguments, list) in [
        ("query_text", json!({ "query": "needle", "conversation_id": "c" }), "hits"),
        ("query_file", json!({ "path": "b.txt", "max_bytes": 100 }), "files"),
    ] {
        let (typed, told) = ask(action, arguments);
        assert_eq!((&typed["count"], &told["count"]), (&json!(2), &json!(1)), "{action} {told:#}");
        assert_eq!(typed["trace"]["source_plane"], "cli");
        assert_eq!(told["trace"]["source_plane"], "mcp");
        assert_eq!(told[list][0]["display_name"], "inside");
        let reason = told["skipped"][0]["reason"].as_str().unwrap();
        assert!(reason.contains("colony.catalog.roots"), "{reason}");
    }
    // The repository cannot allow it.
    sandbox.write(
        ".colony/colony.toml",
        format!("[catalog]\nroots = \"{}\"\n", sandbox.outside().display()),
    );
    let (_, told) = ask("query_text", json!({ "query": "needle" }));
    assert_eq!(told["count"], 1);
    // Nor anything that an agent in it can write.
    let outside = sandbox.outside().join("outside");
    let outside = outside.to_str().unwrap();
    sandbox.git(&["config", "colony.catalog.roots", outside]);
    let view = sandbox
        .with("COLONY_CATALOG_ROOTS", outside)
        .with("GIT_CONFIG_COUNT", "1")
        .with("GIT_CONFIG_KEY_0", "colony.catalog.roots")
        .with("GIT_CONFIG_VALUE_0", outside);
    let query = json!({ "query": "needle", "regex": true, "case_sensitive": true });
    assert_eq!(tool_apart(&view, "query_text", &query)["count"], 1);
    let allowed = where_user_sets(&sandbox, "colony.catalog.roots", outside);
    let told = tool_apart(&allowed, "query_text", &query);
    let typed = call_at(&sandbox, sandbox.world(), "query_text", &query);
    assert_eq!(typed["hits"], told["hits"]);
    assert_eq!(told["count"], 2);
}

#[test]
fn an_agent_does_not_learn_what_exists_elsewhere() {
    let sandbox = workspace();
    let outside = sandbox.outside().join("outside");
    let of = |path: &str| {
        let text = format!("schema_version: 1\nrepositories:\n  - root_path: {path}\n");
        sandbox.write(".colony/repositories.yaml", text);
        let told = tool_at(&sandbox, sandbox.world(), "catalog_list", &json!({}));
        let told = told["repositories"][0].to_string();
        assert!(told.contains("local_resolution_failed"), "{told}");
        told.replace(path, "PATH").replace("\"outside\"", "NAME").replace("\"place\"", "NAME")
    };
    assert_eq!(of(outside.to_str().unwrap()), of("/no/such/place"));
}

#[test]
fn every_action_about_a_workspace_answers_as_its_command() {
    let sandbox = workspace();
    sandbox.colony(&["catalog", "remove", "outside"]);
    for (action, arguments, command) in [
        ("catalog_list", json!({}), &["catalog"][..]),
        ("catalog_refresh", json!({}), &["catalog", "refresh"]),
        ("catalog_list", json!({ "cached": true }), &["catalog", "list", "--cached"]),
        ("repo_index_refresh", json!({}), &["index", "--refresh"]),
        ("repo_index_status", json!({}), &["index"]),
        (
            "memory_add",
            json!({ "text": "-", "long": true }),
            &["memory", "add", "--text", "-", "--long"],
        ),
        ("memory_show", json!({}), &["memory", "show"]),
        (
            "query_log",
            json!({ "contains": "x", "max_commits": 3, "path": "b.txt" }),
            &["query", "log", "x", "-n", "3", "--path", "b.txt"],
        ),
        (
            "query_file",
            json!({ "path": "b.txt", "max_bytes": 3, "fetch": true }),
            &["query", "file", "b.txt", "--max-bytes", "3", "--fetch"],
        ),
        (
            "query_list",
            json!({ "path": "b.txt", "max_files": 1, "repositories": ["inside"] }),
            &["query", "list", "b.txt", "-n", "1", "--repo", "inside"],
        ),
        (
            "query_text",
            json!({ "query": "needle", "repositories": ["inside"] }),
            &["query", "text", "needle", "--repo", "inside"],
        ),
    ] {
        let without = |mut answer: Value| {
            let object = answer.as_object_mut().unwrap();
            object.remove("resolved_at");
            object.remove("indexed_at");
            object.remove("at");
            object.remove("trace");
            object.remove("message");
            answer
        };
        let typed = without(sandbox.json(command));
        let called = without(call_at(&sandbox, sandbox.world(), action, &arguments));
        let told = without(tool_at(&sandbox, sandbox.world(), action, &arguments));
        assert_eq!(called, typed, "{action}");
        assert_eq!(told, typed, "{action}");
    }
}

#[test]
fn what_a_person_refreshed_shows_an_agent_nothing_elsewhere() {
    let sandbox = workspace();
    let outside = sandbox.at(sandbox.path("../outside"));
    outside.git(&["remote", "add", "origin", "https://example.com/secret.git"]);
    sandbox.colony(&["catalog", "refresh"]);
    let id = outside.json(&["id"])["repository_id"].clone();
    let id = id.as_str().unwrap();
    let by_person = sandbox.json(&["catalog", "list", "--cached"]).to_string();
    assert!(by_person.contains(id) && by_person.contains("secret.git"));
    let hides = |arguments: Value| {
        let told = tool_at(&sandbox, sandbox.world(), "catalog_list", &arguments);
        let row = told["repositories"][1].clone();
        assert_eq!(row["resolved_root"], Value::Null, "{row:#}");
        assert_eq!(row["last_known"], Value::Null, "{row:#}");
        let told = told.to_string();
        assert!(!told.contains(id) && !told.contains("secret.git"), "{told}");
        assert!(told.contains("colony.catalog.roots"), "{told}");
        assert!(told.contains("\"display_name\":\"inside\""), "{told}");
    };
    hides(json!({ "cached": true }));
    hides(json!({}));
    // The same where it cannot be resolved any more.
    fs::rename(&outside.root, sandbox.path("../moved")).unwrap();
    hides(json!({ "cached": true }));
    hides(json!({}));
    let again = sandbox.json(&["catalog", "list"]).to_string();
    assert!(again.contains("last_known") && again.contains(id));
}

#[test]
fn a_server_that_only_reads_offers_no_refresh() {
    let sandbox = workspace();
    let names = |options: &[&str]| {
        let mut client =
            Client::of(&sandbox, USUAL, &[&["mcp", "--tools", "all"], options].concat());
        json!(client.tools()).to_string()
    };
    let (all, reading) = (names(&[]), names(&["--read-only"]));
    for name in ["catalog_refresh", "repo_index_refresh"] {
        assert!(
            all.contains(&format!("\"{name}\"")) && !reading.contains(&format!("\"{name}\"")),
            "{name}"
        );
    }
    assert!(reading.contains("catalog_list") && reading.contains("repo_index_status"));
}
