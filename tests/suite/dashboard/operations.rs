//! Mapping operations: answered at once, followed to their end, canceled.

use serde_json::{Value, json};

use super::{Server, view};
use crate::support::Sandbox;
use crate::support::eventually;

/// Starts an operation, and returns it when it has ended.
fn mapped(server: &Server, body: &Value) -> Value {
    let started = server.post("/vcm/map", body);
    assert_eq!(started.status, 202, "{started:?}");
    let started = started.json();
    let id = started["op_id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("map_") && id.len() == 16, "{id}");
    let mut last = Value::Null;
    eventually("the end of the operation", || {
        last = server.get(&format!("/vcm/map/operations/{id}"));
        !["pending", "running"].contains(&last["status"].as_str().unwrap())
    });
    last
}

#[test]
fn an_operation_ends_mapped_partial_or_failed() {
    let sandbox = Sandbox::new();
    let map = "schema_version: 1\nsources:\n  - name: code\n    type: git_repo\n  - name: elsewhere\n    type: git_repo\n    submodule: lib\n";
    sandbox.write(".colony/repo_map.yaml", map);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "map"]);
    let server = Server::start(&view(&sandbox), &[]);
    let code = mapped(&server, &json!({ "enabled_sources": ["code"] }));
    assert_eq!(code["status"], "mapped", "{code}");
    // Nothing has changed: this is no failure.
    let again = mapped(&server, &json!({ "enabled_sources": ["code"] }));
    assert_eq!(
        (&again["status"], &again["results"][0]["status"]),
        (&json!("mapped"), &json!("already_mapped"))
    );
    let both = mapped(&server, &json!({}));
    assert_eq!(both["status"], "partial", "{both}");
    assert!(both["message"].as_str().unwrap().starts_with("elsewhere: "), "{both}");
    let none = mapped(&server, &json!({ "enabled_sources": ["elsewhere"] }));
    assert_eq!(none["status"], "error", "{none}");
    let listed = server.get("/vcm/map/operations");
    assert_eq!(listed["count"], 4);
    assert_eq!(listed["operations"][0]["op_id"], none["op_id"]);
    assert_eq!(server.get("/operations")["operations"], listed["operations"]);
}

#[test]
fn sources_that_the_map_lacks_are_refused() {
    let sandbox = Sandbox::new();
    let server = Server::start(&view(&sandbox), &[]);
    for (body, code) in [
        (json!({ "enabled_sources": [] }), "invalid-value"),
        (json!({ "enabled_sources": ["nothing"] }), "source-unknown"),
        (json!({ "enabled_sources": "default" }), "invalid-value"),
        (json!({ "flush_threshold": 3 }), "usage"),
    ] {
        let answer = server.post("/vcm/map", &body);
        assert_eq!((answer.status, answer.code().as_str()), (422, code), "{body}");
    }
    assert_eq!(server.get("/vcm/map/operations")["count"], 0);
}

#[test]
fn a_default_row_and_its_working_tree_are_mapped_again() {
    let sandbox = Sandbox::new();
    let view = view(&sandbox);
    view.colony(&["map", "--worktree"]);
    view.colony(&["map"]);
    let server = Server::start(&view, &[]);
    let sources = server.get("/repo-map")["sources"].clone();
    let scopes = server.get("/vcm/scopes")["mappings"].clone();
    for scope in scopes.as_array().unwrap() {
        // The page knows the row by this: the only row of such a map adds nothing to the id.
        let id = scope["scope_id"].as_str().unwrap();
        assert!(!id.contains(':'), "{id}");
        let body =
            json!({ "enabled_sources": [sources[0]["name"]], "worktree": scope["worktree"] });
        let again = mapped(&server, &body);
        assert_eq!((&again["status"], &again["scope_id"]), (&json!("mapped"), &json!(id)));
        assert_eq!(again["worktree"], scope["worktree"]);
        // Pages of the working tree are listed by their scope.
        let pages = server.get(&format!("/vcm/pages?scope={id}"));
        assert_eq!(pages["pages"][0]["scope_id"], json!(id), "{pages}");
    }
    assert_eq!(scopes.as_array().unwrap().len(), 2);
}

#[test]
fn an_operation_that_waits_is_canceled() {
    let sandbox = Sandbox::new();
    let server = Server::start(&view(&sandbox), &[]);
    let started: Vec<_> =
        (0..3).map(|_| server.post("/vcm/map", &json!({})).json()["op_id"].clone()).collect();
    let last = started[2].as_str().unwrap();
    let canceled = server.ask("DELETE", &format!("/vcm/map/operations/{last}"), None).json();
    // It may have run already: then it stays as it is.
    let status = canceled["status"].as_str().unwrap();
    assert!(["canceled", "running", "mapped"].contains(&status), "{canceled}");
    eventually("the end of all", || {
        let listed = server.get("/vcm/map/operations");
        let all = listed["operations"].as_array().unwrap();
        all.iter().all(|operation| !operation["completed_at"].is_null())
    });
}
