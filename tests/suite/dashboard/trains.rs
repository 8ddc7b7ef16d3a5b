//! Operations that land and try: planned as by the command, told line by line, canceled, and what a killed server leaves.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::Server;
use super::reports::{reported, without_notes};
use super::stream::Stream;
use crate::land::landing::{desk, done};
use crate::land::races::{processes_of_tests, wait_for, waits};
use crate::support::{Sandbox, State, at_the_time_of, eventually};

/// Shows the plan of a landing, and begins it; returns its id.
fn begun(server: &Server, body: &Value) -> String {
    let shown = server.post("/land", body).json();
    assert_eq!(shown["applied"], false, "{shown:#}");
    let mut again = body.clone();
    again["preview_id"] = shown["preview_id"].clone();
    let started = server.post("/land", &again);
    assert_eq!(started.status, 202, "{started:?}");
    let started = started.json();
    assert_eq!((&started["kind"], &started["result"]), (&json!("land"), &Value::Null));
    let id = started["op_id"].as_str().unwrap();
    assert!(id.starts_with("land_") && id.len() == 17, "{id}");
    id.to_owned()
}

/// Returns an operation when it has ended.
fn ended(server: &Server, id: &str) -> Value {
    let mut last = Value::Null;
    eventually("the end of the operation", || {
        last = server.get(&format!("/operations/{id}"));
        !["pending", "running"].contains(&last["status"].as_str().unwrap())
    });
    last
}

fn tried(server: &Server, body: &Value) -> Value {
    let started = server.post("/try", body);
    assert_eq!(started.status, 202, "{started:?}");
    ended(server, started.json()["op_id"].as_str().unwrap())
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect()
}

/// The state of a desk that knows who is done.
fn seen(desk: &Sandbox) -> State {
    desk.colony(&["fleet"]);
    desk.visible_state()
}

/// Has the tests of a desk wait; returns the file that says that they run, and the one that they wait for.
fn waiting(desk: &Sandbox) -> (PathBuf, PathBuf) {
    let (test, begun, go_on) = waits(desk);
    desk.git(&["config", "colony.test.run", &test]);
    (begun, go_on)
}

#[test]
fn a_landing_is_shown_begun_and_told_to_its_end() {
    let desk = desk();
    done(&desk, "ada", "good\n");
    done(&desk, "bob", "good\n");
    let server = Server::start(&desk, &[]);
    let before = seen(&desk);
    let wanted = reported(&desk, "land -n");
    for body in [json!({ "dry_run": true }), json!({})] {
        let mut plan = without_notes(server.post("/land", &body).json());
        plan.as_object_mut()
            .unwrap()
            .retain(|name, _| !name.contains("pplied") && name != "preview_id");
        assert_eq!(at_the_time_of(&wanted, plan), wanted);
    }
    assert_eq!(
        (desk.visible_state(), server.get("/operations")["count"].clone()),
        (before, json!(0))
    );
    let mut stream = Stream::open(&server, "");
    let id = begun(&server, &json!({}));
    let operation = ended(&server, &id);
    assert_eq!((&operation["status"], &operation["code"]), (&json!("landed"), &Value::Null));
    assert_eq!(names(&operation["result"]["landed"]), ["ada", "bob"]);
    assert_eq!(operation["result"]["ok"], true);
    let lines: Vec<_> =
        operation["lines"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(lines.contains(&"run 1, with ada and 1 other: sh check.sh"), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("run 1, with ada and 1 other: passed, ")));
    assert_eq!(operation["op"], desk.json(&["ops"])["ops"][0]["op"]);
    assert_eq!(desk.read("bob.txt"), "good\n");
    let mut told = stream.next("operation");
    while told["status"] != "landed" {
        told = stream.next("operation");
    }
    assert_eq!(told["lines"], operation["lines"]);
    // Only maps are listed where maps are.
    assert_eq!(server.get("/operations")["operations"][0]["op_id"], json!(id));
    assert_eq!(server.get("/vcm/map/operations")["count"], 0);
    let other = server.ask("DELETE", &format!("/vcm/map/operations/{id}"), None);
    assert_eq!((other.status, other.code().as_str()), (404, "operation-not-found"));
}

#[test]
fn a_plan_that_has_changed_lands_nothing() {
    let desk = desk();
    done(&desk, "ada", "good\n");
    let server = Server::start(&desk, &[]);
    let shown = server.post("/land", &json!({})).json();
    done(&desk, "bob", "good\n");
    let before = desk.git(&["rev-parse", "HEAD"]);
    let stale = server.post("/land", &json!({ "preview_id": shown["preview_id"] }));
    assert_eq!((stale.status, stale.code().as_str()), (409, "preview-stale"));
    assert_eq!(names(&stale.json()["preview"]["landed"]), ["ada", "bob"]);
    assert_eq!(server.get("/operations")["count"], 0);
    assert_eq!(desk.git(&["rev-parse", "HEAD"]), before);
}

#[test]
fn who_fails_is_left_out_of_a_landing_of_the_page() {
    let desk = desk();
    for (name, content) in [("ada", "good\n"), ("bob", "BAD\n"), ("cleo", "good\n")] {
        done(&desk, name, content);
    }
    let server = Server::start(&desk, &[]);
    let wanted = json!({ "all": true, "except": ["cleo"], "squash": true });
    let operation = ended(&server, &begun(&server, &wanted));
    assert_eq!(operation["status"], "partly", "{operation:#}");
    let report = &operation["result"];
    assert_eq!((names(&report["landed"]), names(&report["left_out"])), (vec!["ada"], vec!["bob"]));
    let bob = &report["left_out"][0];
    assert_eq!((&bob["why"], &bob["output_tail"]), (&json!("failed"), &json!("bob.txt")));
    assert_eq!(desk.git(&["rev-list", "--merges", "--count", "HEAD"]), "0");
    // The branch fails by itself from here on.
    desk.write("own.txt", "BAD\n");
    desk.git(&["add", "own.txt"]);
    desk.git(&["commit", "-qm", "own"]);
    let failing = ended(&server, &begun(&server, &json!({ "names": ["cleo"] })));
    assert_eq!(failing["status"], "base_failing", "{failing:#}");
}

#[test]
fn a_try_of_the_page_moves_nothing() {
    let desk = desk();
    for (name, content) in [("ada", "good\n"), ("bob", "BAD\n")] {
        done(&desk, name, content);
    }
    let server = Server::start(&desk, &[]);
    let before = seen(&desk);
    let passed = tried(&server, &json!({ "names": ["ada"] }));
    assert_eq!((&passed["status"], &passed["op"]), (&json!("passed"), &Value::Null));
    let failed = tried(&server, &json!({}));
    assert_eq!(failed["status"], "failed", "{failed:#}");
    assert_eq!(failed["result"]["breaks"]["names"], json!(["bob"]));
    desk.git(&["config", "--unset", "colony.test.run"]);
    let refused = tried(&server, &json!({}));
    assert_eq!((&refused["status"], &refused["code"]), (&json!("error"), &json!("no-tests")));
    // Its plan needs no test, and begins nothing.
    let plan = server.post("/try", &json!({ "dry_run": true, "except": ["bob"] })).json();
    assert_eq!((&plan["outcome"], &plan["names"]), (&json!("planned"), &json!(["ada"])));
    assert_eq!(plan["tests"], Value::Null);
    assert_eq!(desk.visible_state(), before);
    for (path, body) in [
        ("/land", json!({ "no_test": true })),
        ("/land", json!({ "test": "true" })),
        ("/land", json!({ "approve": ["x"] })),
        ("/try", json!({ "command": ["true"] })),
    ] {
        let answer = server.post(path, &body);
        assert_eq!((answer.status, answer.code().as_str()), (422, "usage"), "{body}");
    }
    assert_eq!(server.get("/operations")["count"], 3);
}

#[test]
fn a_landing_that_is_canceled_has_moved_nothing() {
    let desk = desk();
    done(&desk, "ada", "good\n");
    let (begins, go_on) = waiting(&desk);
    let server = Server::start(&desk, &[]);
    let before = seen(&desk);
    let tip = desk.git(&["rev-parse", "HEAD"]);
    let id = begun(&server, &json!({}));
    wait_for(&begins);
    // Others wait for their turn; a map does not.
    let next = begun(&server, &json!({}));
    let map = server.post("/vcm/map", &json!({})).json()["op_id"].as_str().unwrap().to_owned();
    assert_eq!(ended(&server, &map)["status"], "mapped");
    let place = |id: &str| format!("/operations/{id}");
    assert_eq!(server.get(&place(&next))["status"], "pending");
    let canceled = server.ask("DELETE", &place(&next), None).json();
    assert_eq!(canceled["status"], "canceled", "{canceled:#}");
    server.ask("DELETE", &place(&id), None);
    let operation = ended(&server, &id);
    assert_eq!((&operation["status"], &operation["op"]), (&json!("canceled"), &Value::Null));
    assert_eq!(processes_of_tests(&desk), Vec::<PathBuf>::new());
    let after = desk.visible_state();
    assert_eq!(desk.git(&["rev-parse", "HEAD"]), tip);
    assert_eq!(
        (after.head, after.index, after.worktree),
        (before.head, before.index, before.worktree)
    );
    // Nobody holds the tree of the tests.
    std::fs::write(&go_on, "").unwrap();
    let landed = desk.json(&["--timeout", "0", "land"]);
    assert_eq!(landed["outcome"], "landed", "{landed:#}");
    assert_eq!(server.get("/operations")["count"], 3);
}

#[test]
fn a_server_that_ends_in_a_landing_has_moved_nothing() {
    let desk = desk();
    done(&desk, "ada", "good\n");
    let (begins, go_on) = waiting(&desk);
    let before = seen(&desk);
    for (signal, exit) in [("-INT", Some(130)), ("-KILL", None)] {
        let mut server = Server::start(&desk, &[]);
        begun(&server, &json!({}));
        wait_for(&begins);
        assert_eq!(server.end(signal), exit);
        std::fs::remove_file(&begins).unwrap();
        if exit.is_some() {
            assert_eq!(processes_of_tests(&desk), Vec::<PathBuf>::new());
        }
        assert_eq!(desk.visible_state(), before);
    }
    std::fs::write(&go_on, "").unwrap();
    let server = Server::start(&desk, &[]);
    assert_eq!(server.get("/operations")["count"], 0);
    let operation = ended(&server, &begun(&server, &json!({})));
    assert_eq!(operation["status"], "landed", "{operation:#}");
    assert_eq!(processes_of_tests(&desk), Vec::<PathBuf>::new());
}

#[test]
fn a_read_only_dashboard_shows_the_plan_and_begins_nothing() {
    let desk = desk();
    done(&desk, "ada", "good\n");
    let server = Server::start(&desk, &["--read-only"]);
    assert_eq!(names(&server.post("/land", &json!({ "dry_run": true })).json()["landed"]), ["ada"]);
    assert_eq!(server.post("/try", &json!({ "dry_run": true })).json()["names"], json!(["ada"]));
    for path in ["/land", "/try"] {
        let refused = server.post(path, &json!({}));
        assert_eq!((refused.status, refused.code().as_str()), (403, "read-only"));
    }
    assert_eq!(server.get("/operations")["count"], 0);
}
