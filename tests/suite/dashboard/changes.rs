//! A route that changes something answers a dry run as its command does with `-n --json`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::reports::{reported, without_notes};
use super::{Server, view};
use crate::support::{Sandbox, View, at_the_time_of, eventually};

/// A repository with something to change by every route.
fn prepared(sandbox: &Sandbox) -> (View, String) {
    let map = "schema_version: 1\nsources:\n  - name: code\n    type: git_repo\nknowledge_routing:\n  - paths: [\"docs/**\"]\n    ingest_to: knowledge_base\n";
    sandbox.write(".colony/repo_map.yaml", map);
    sandbox.write("src/a.rs", "/// Reads a header.\nfn header() {}\n");
    sandbox.write("docs/a.md", "# A\n\nA header has a name and a value.\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "second"]);
    let view = view(sandbox);
    view.colony(&["map"]);
    view.colony(&["ingest"]);
    view.colony(&["agents", "new", "ada"]);
    view.colony(&["agents", "new", "bob"]);
    view.colony(&["agents", "remove", "bob"]);
    view.colony(&["session", "new"]);
    view.colony(&["fork", "other"]);
    sandbox.write("src/a.rs", "fn header() {}\n");
    view.colony(&["checkpoint", "-m", "one"]);
    view.git(&["switch", "-q", "main"]);
    sandbox.write("src/b.rs", "fn body() {}\n");
    view.colony(&["checkpoint", "-m", "two"]);
    let pages = view.json(&["pages"]);
    let page = pages["pages"][0]["page_id"].as_str().unwrap().to_owned();
    view.colony(&["pages", "lock", &page]);
    view.colony(&["watch", "--detach", "--id", "w0", "src"]);
    (view, page)
}

/// Each route that changes something: what it takes, and its command. Names in braces are filled in.
pub(super) const CHANGES: [(&str, &str, &str, &str); 24] = [
    ("POST", "/colonies", r#"{"id":"rocket","origin_url":"{url}"}"#, "colony set rocket {url}"),
    (
        "PUT",
        "/colonies/default/design-monorepo",
        r#"{"origin_url":"{url}"}"#,
        "colony set default {url}",
    ),
    ("POST", "/sessions", "{}", "session new"),
    ("POST", "/sessions/{session}/end", "{}", "session end {session}"),
    ("DELETE", "/vcm/scopes/{scope}", "{}", "scopes unmap {scope}"),
    (
        "POST",
        "/vcm/pages/lock",
        r#"{"page_ids":["{page}"],"reason":"mine"}"#,
        "pages lock {page} --reason mine",
    ),
    ("POST", "/vcm/pages/unlock", r#"{"page_ids":["{page}"]}"#, "pages unlock {page}"),
    (
        "POST",
        "/vcm/pages/extend",
        r#"{"page_id":"{page}","additional_s":60}"#,
        "pages extend {page} --by 60",
    ),
    ("POST", "/ingest", "{}", "ingest"),
    ("DELETE", "/knowledge", r#"{"prefix":"docs/"}"#, "knowledge clear --prefix docs/"),
    ("POST", "/promote", r#"{"paths":["src"]}"#, "promote src"),
    ("POST", "/demote", r#"{"paths":["docs"]}"#, "demote docs"),
    (
        "POST",
        "/watches",
        r#"{"scope_id":"{scope}","watch_id":"w1"}"#,
        "watch --detach --scope {scope} --id w1",
    ),
    ("DELETE", "/watches/w0", "{}", "watches stop w0"),
    ("POST", "/agents", r#"{"name":"eve"}"#, "agents new eve"),
    ("POST", "/agents/ada/remove", "{}", "agents remove ada"),
    ("POST", "/agents/bob/restore", "{}", "agents restore bob"),
    ("POST", "/merge", r#"{"source":"fork/other"}"#, "merge fork/other"),
    (
        "POST",
        "/land",
        r#"{"names":["fork/other"],"target_branch":"main","squash":true}"#,
        "land --squash --into main fork/other",
    ),
    (
        "POST",
        "/try",
        r#"{"names":["fork/other"],"target_branch":"main"}"#,
        "try --into main fork/other",
    ),
    ("POST", "/checkpoints", r#"{"label":"three"}"#, "checkpoint -m three"),
    ("POST", "/restore", r#"{"checkpoint_id":"one"}"#, "restore one"),
    ("POST", "/undo", "{}", "undo"),
    ("POST", "/redo", "{}", "redo"),
];

/// What differs: the row of the table of colonies has no nulls, and each call has a session id of its own.
const DIFFERENT: [(&str, &[&str]); 3] = [
    ("/colonies", &["id", "branch", "commit"]),
    ("/colonies/default/design-monorepo", &["id", "branch", "commit"]),
    ("/sessions", &["session_id", "path"]),
];

#[test]
fn a_dry_run_answers_as_that_of_its_command() {
    let sandbox = Sandbox::new();
    let (view, page) = prepared(&sandbox);
    let session =
        view.json(&["session", "list"])["sessions"][0]["session_id"].as_str().unwrap().to_owned();
    let scope = view.json(&["scopes"])["mappings"][0]["scope_id"].as_str().unwrap().to_owned();
    let server = Server::start(&view, &[]);
    let fill = |text: &str| {
        let text = text.replace("{page}", &page).replace("{session}", &session);
        text.replace("{scope}", &scope).replace("{url}", "https://example.org/r.git")
    };
    let mut differ = Vec::new();
    for (method, path, body, words) in CHANGES {
        let answered = dry_run(&server, method, &fill(path), &fill(body));
        let wanted = reported(&view, &format!("{} -n", fill(words)));
        let different = DIFFERENT.iter().find(|(own, _)| *own == path).map_or(&[][..], |row| row.1);
        let [answered, wanted] = [answered, wanted].map(|answer| {
            let mut answer = without_notes(answer);
            answer.as_object_mut().unwrap().retain(|name, _| !different.contains(&name.as_str()));
            answer
        });
        if at_the_time_of(&wanted, answered.clone()) != wanted {
            differ.push(format!("{method} {path}\n  {answered}\n  {wanted}"));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

/// Asks for the plan: in the body, or in the query where there is none.
fn dry_run(server: &Server, method: &str, path: &str, members: &str) -> Value {
    let mut members: Value = serde_json::from_str(members).unwrap();
    members["dry_run"] = json!(true);
    if method != "DELETE" {
        return server.ask(method, path, Some(&members)).json();
    }
    let pairs = members.as_object().unwrap().iter().map(|(name, value)| {
        format!("{name}={}", value.as_str().map_or(value.to_string(), str::to_owned))
    });
    let query = pairs.collect::<Vec<_>>().join("&");
    server.ask(method, &format!("{path}?{query}"), None).json()
}

/// An argument in a place that is not read would be overlooked, and a dry run would be a change.
#[test]
fn arguments_in_another_place_are_refused() {
    let sandbox = Sandbox::new();
    let (view, page) = prepared(&sandbox);
    let server = Server::start(&view, &[]);
    let before = [reported(&view, "pages"), reported(&view, "ops"), reported(&view, "watches")];
    for (method, path, ..) in CHANGES {
        let path = path.replace("{page}", &page);
        let answer = if method == "DELETE" {
            server.ask(method, &path, Some(&json!({ "dry_run": true })))
        } else {
            server.ask(method, &format!("{path}?dry_run=true"), Some(&json!({})))
        };
        assert_eq!((answer.status, answer.code().as_str()), (422, "request-refused"), "{path}");
    }
    let read = server.ask("GET", "/fleet", Some(&json!({})));
    assert_eq!((read.status, read.code().as_str()), (422, "request-refused"));
    let after = [reported(&view, "pages"), reported(&view, "ops"), reported(&view, "watches")];
    assert_eq!(before, after);
}

/// Every kind of operation that undo takes back: an answer that depends on the time of day would make each preview stale.
#[test]
fn a_preview_of_an_undo_holds_while_time_passes() {
    let sandbox = Sandbox::new();
    let (view, _) = prepared(&sandbox);
    let server = Server::start(&view, &[]);
    let steps: [&[&str]; 6] = [
        &["knowledge", "clear", "--prefix", "docs/"],
        &["promote", "src"],
        &["merge", "fork/other"],
        &["agents", "remove", "ada"],
        &["fork", "third", "--no-switch"],
        &["restore", "one", "--mode", "files"],
    ];
    for words in steps {
        view.colony(words);
        for route in ["/undo", "/redo"] {
            let shown = server.post(route, &json!({})).json();
            let begun = Instant::now();
            eventually("another second", || begun.elapsed() > Duration::from_millis(1_100));
            let body = json!({ "preview_id": shown["preview_id"] });
            let done = server.post(route, &body).json();
            assert_eq!(done["applied"], true, "{route} of {words:?}: {done:#}");
        }
    }
}
