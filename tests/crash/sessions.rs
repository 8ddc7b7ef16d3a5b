//! A killed `session` command has written its event whole or not at all, loses no session, and the next one works.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::desk::{Desk, Point, Whom, each_point_of};

/// The calls by which files of sessions change, and last.
const CALLS: &[&str] = &[
    "mkdirat",
    "openat",
    "write",
    "fsync",
    "fdatasync",
    "renameat2",
    "unlinkat",
    "flock",
    "rmdir",
];

const OLD: &str = "0123456789abcdef";

fn json(desk: &Desk, args: &[&str]) -> Value {
    let all = [args, &["--json"]].concat();
    serde_json::from_str(&desk.colony(&all)).expect("it is JSON")
}

fn text(answer: &Value, field: &str) -> String {
    let value = answer.get(field).and_then(Value::as_str);
    value.expect("the field is a text").to_owned()
}

fn number(answer: &Value, field: &str) -> u64 {
    let value = answer.get(field).and_then(Value::as_u64);
    value.expect("the field is a number")
}

/// Each session has every event whole.
fn require_whole(desk: &Desk, point: Point) {
    let listed = json(desk, &["session", "list", "--all"]);
    let rows = listed.get("sessions").and_then(Value::as_array);
    for row in rows.expect("sessions are a list") {
        assert_eq!(number(row, "damaged_lines"), 0, "{point:?} {row}");
        assert!(number(row, "event_count") > 0, "{point:?} {row}");
    }
}

/// git sees nothing of sessions.
fn require_hidden(desk: &Desk, point: Point) {
    let seen = desk.repository.git(&["status", "--porcelain", "-uall"]);
    assert_eq!(seen, "", "{point:?}");
}

#[test]
fn a_killed_beginning_of_a_session_happened_or_did_not() {
    each_point_of(("session new", Whom::Program), (CALLS, 3), |point| {
        let desk = Desk::new();
        let struck = desk.strike(&["session", "new"], point);
        require_whole(&desk, point);
        let id = text(&json(&desk, &["session", "new"]), "session_id");
        require_whole(&desk, point);
        require_hidden(&desk, point);
        let shown = json(&desk, &["session", "show", &id]);
        let folder = PathBuf::from(text(&shown, "path"));
        let folder = folder.parent().expect("a file is in a folder");
        for entry in fs::read_dir(folder).expect("it is there").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            assert!(!name.starts_with("tmp-"), "{point:?} left '{name}'");
        }
        struck
    });
}

#[test]
fn a_killed_note_happened_or_did_not() {
    each_point_of(("session note", Whom::Program), (CALLS, 3), |point| {
        let desk = Desk::new();
        let id = text(&json(&desk, &["session", "new"]), "session_id");
        let note = ["session", "note", "--session", &id, "a text"];
        let struck = desk.strike(&note, point);
        require_whole(&desk, point);
        let events = number(&json(&desk, &["session", "show", &id]), "event_count");
        assert!((1..=2).contains(&events), "{point:?} {events}");
        assert!(struck || events == 2, "{point:?} was not struck");
        desk.colony(&note);
        require_whole(&desk, point);
        let now = number(&json(&desk, &["session", "show", &id]), "event_count");
        assert_eq!(now, events + 1, "{point:?}");
        require_hidden(&desk, point);
        struck
    });
}

#[test]
fn a_killed_adoption_loses_no_session() {
    each_point_of(("session adopt", Whom::Program), (CALLS, 3), |point| {
        let desk = Desk::new();
        let first = text(&json(&desk, &["session", "new"]), "session_id");
        for name in ["one", "two"] {
            let line = format!("{{\"type\":\"created\",\"at\":\"{name}\"}}\n");
            let path = format!(".colony/sessions/{OLD}/{name}.jsonl");
            desk.repository.write(&path, &line);
        }
        let theirs = format!(".sessions/{OLD}/three.jsonl");
        desk.repository.write(&theirs, "{\"type\":\"created\"}\n");
        desk.repository.write(".git/info/exclude", ".sessions\n");
        let adopt = ["session", "adopt", OLD];
        let struck = desk.strike(&adopt, point);
        require_whole(&desk, point);
        desk.run_in(&desk.repository.root, &adopt);
        for id in ["one", "two", "three", &first] {
            let shown = json(&desk, &["session", "show", id]);
            assert_eq!(number(&shown, "event_count"), 1, "{point:?} {id}");
        }
        assert!(desk.repository.root.join(theirs).exists(), "{point:?}");
        require_hidden(&desk, point);
        struck
    });
}
