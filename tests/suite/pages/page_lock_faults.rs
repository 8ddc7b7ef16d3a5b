//! Page locks and resident sets under faults: another process that holds the state and stands still, and a clock
//! that jumps.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use super::residency::{library, on, pages, resident};
use crate::support::{end_of, eventually_by};

const STATE: &str = ".git/colony/state/1.db";
const YEAR: i64 = 31_536_000;

/// Returns when the lock on a page ends, from a list of pages.
fn end(listed: &Value, id: &str) -> Value {
    let mut rows = listed["pages"].as_array().unwrap().iter();
    let row = rows.find(|row| row["page_id"] == *id);
    row.unwrap_or_else(|| panic!("{listed:#}"))["locked_until"].clone()
}

#[test]
fn a_holder_of_the_state_that_stands_still_grants_nothing() {
    let sandbox = library(2);
    let ids = pages(&sandbox, 0..2);
    on(&sandbox, &["lock", "--ttl", "86400"], &ids[..1]);
    on(&sandbox, &["request"], &ids[..1]);
    // To others, a stopped process is one with an open transaction.
    let mut holder = rusqlite::Connection::open(sandbox.path(STATE)).unwrap();
    let held = holder.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
    let busy = "another process holds the state of the colony";
    let changes: &[(&[&str], &str)] = &[
        (&["pages", "lock", "--ttl", "60"], busy),
        (&["pages", "unlock"], busy),
        (&["pages", "extend", "--by", "60"], busy),
        (&["pages", "request"], "timeout after 0.3s"),
    ];
    for (change, why) in changes {
        let args = [&["--timeout", "0.3"], *change, &[&ids[0]]].concat();
        let refused = sandbox.json(&args);
        assert_eq!(refused["ok"], false, "{change:?} {refused:#}");
        assert!(refused.to_string().contains(why), "{change:?} {refused:#}");
        assert_ne!(sandbox.run(&args).code, 0, "{change:?}");
    }
    // Looking needs no turn.
    assert_eq!(resident(&sandbox), ids[..1]);
    assert!(end(&sandbox.json(&["pages"]), &ids[0]).is_string());
    // Others wait, and go on when it does.
    let waiting = sandbox
        .program()
        .args(["--timeout", "600", "pages", "lock", &ids[1]])
        .stdout(Stdio::null())
        .spawn();
    let mut waiting = waiting.unwrap();
    let files = format!("/proc/{}/fd", waiting.id());
    let state = fs::canonicalize(sandbox.path(STATE)).unwrap();
    eventually_by(&mut waiting, "the state is opened", || {
        let open = fs::read_dir(&files).unwrap().flatten();
        open.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|path| path == state)
    });
    held.commit().unwrap();
    assert!(end_of(&mut waiting).success());
    assert!(end(&sandbox.json(&["pages"]), &ids[1]).is_string());
}

#[test]
fn a_clock_set_back_ends_no_lock_early_and_makes_none_eternal() {
    let sandbox = library(2);
    let ids = pages(&sandbox, 0..2);
    let (id, other) = (ids[0].as_str(), ids[1].as_str());
    let at = |seconds: i64, args: &[&str]| -> Value {
        let args = [&["--json", "pages"], args].concat();
        let run = sandbox.run_in(sandbox.world_at(seconds), &args);
        serde_json::from_str(&run.stdout).unwrap()
    };
    let ends = |seconds: i64| end(&at(seconds, &["list"]), id);
    let taken = at(1_000, &["lock", id, "--ttl", "100"]);
    let until = taken["locked"][0]["locked_until"].clone();
    assert_eq!(ends(1_050), until);
    // Whatever is done at an earlier time, it does not end before its own.
    assert_eq!(ends(0), until);
    let again = at(0, &["lock", id, other, "--ttl", "5"]);
    assert_eq!(again["locked"][0]["locked_until"], until, "{again:#}");
    at(20, &["request", other, "--lock", "5"]);
    assert_eq!((ends(20), ends(1_099)), (until.clone(), until));
    assert_eq!(ends(1_100), Value::Null);
    // A lock that was taken by a clock ten years ahead ends within a year, at the latest.
    let ahead = at(10 * YEAR, &["lock", id, "--ttl", "100"]);
    let ahead = ahead["locked"][0]["locked_until"].clone();
    assert_ne!(ends(2_000), ahead, "a look is bounded, too");
    at(2_000, &["lock", other, "--ttl", "5"]);
    assert!(ends(2_000 + YEAR - 1).is_string());
    assert_eq!(ends(2_000 + YEAR), Value::Null);
    // Extensions add up to no more than that.
    at(3_000 + YEAR, &["lock", id, "--ttl", "100"]);
    for _ in 0..3 {
        let more = at(3_000 + YEAR, &["extend", id, "--by", "31536000"]);
        assert_eq!(more["extended"], json!(true), "{more:#}");
    }
    assert!(ends(3_000 + 2 * YEAR - 1).is_string());
    assert_eq!(ends(3_000 + 2 * YEAR), Value::Null);
}
