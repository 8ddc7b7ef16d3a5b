//! Calls that take their time: their progress, their end, and others beside them.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::Client;
use crate::support::{Sandbox, View};

/// Gives a repository a hook that notes its process, and then sleeps.
fn slow_hook(view: &View, seconds: u32) {
    let script = format!("#!/bin/sh\necho $$ > .git/hook-pid\nexec sleep {seconds}\n");
    view.write(".git/hooks/pre-commit", script);
    view.set_mode(".git/hooks/pre-commit", 0o755);
}

/// Waits until something is so; fails if it is not in time.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until the hook runs; returns its process.
fn running_hook(view: &View) -> u32 {
    let note = view.path(".git/hook-pid");
    let pid = || fs::read_to_string(&note).ok()?.trim().parse().ok();
    wait_until("no hook ran", || pid().is_some());
    pid().unwrap()
}

/// Returns `true` if a process runs; one that nobody has reaped does not.
fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z')
}

#[test]
fn progress_is_told_to_a_client_that_wants_it() {
    let sandbox = Sandbox::new();
    for number in 0..2000 {
        sandbox.write(&format!("new/{number}.txt"), format!("{number}\n"));
    }
    let mut client = Client::new(&sandbox);
    let keep = json!({ "do": "call", "tool": "checkpoint_state", "arguments": { "label": "all" }, "progress": true });
    let kept = client.ask(&keep);
    assert_eq!(kept["structuredContent"]["files_changed"], 2000, "{kept:#}");
    let told: Vec<Value> = kept["progress"].as_array().unwrap().clone();
    assert!(!told.is_empty());
    assert!(told.iter().all(|step| step["message"].is_string()), "{told:#?}");
    let done: Vec<_> = told.iter().map(|step| step["done"].as_f64().unwrap()).collect();
    assert!(done.is_sorted_by(|one, next| one < next), "{done:?}");
}

#[test]
fn a_canceled_call_ends_with_its_processes() {
    let sandbox = Sandbox::new();
    slow_hook(&sandbox, 60);
    sandbox.write("a.txt", "two\n");
    let before = sandbox.visible_state();
    let mut client = Client::new(&sandbox);
    let commit = json!({ "message": "Change", "all_changes": true });
    client.begin("commit_state", &commit);
    let hook = running_hook(&sandbox);
    let start = Instant::now();
    let outcome = client.ask(&json!({ "do": "cancel" }));
    assert_eq!(outcome["canceled"], true, "{outcome:#}");
    wait_until("the hook still runs", || !is_running(hook));
    let needed = start.elapsed();
    // The next call waits until the canceled one has ended.
    sandbox.remove(".git/hooks/pre-commit");
    let checked = client.done("checkpoint_state", &json!({ "label": "x", "off_branch": true }));
    assert_eq!(checked["changed"], true);
    client.done("undo", &json!({}));
    assert_eq!(sandbox.visible_state(), before);
    sandbox.check_invariants_of_git();
    client.done("commit_state", &commit);
    assert!(needed < Duration::from_secs(10), "the hook ran on for {needed:?}");
}

#[test]
fn the_end_of_a_call_leaves_the_processes_of_others() {
    let sandbox = Sandbox::new();
    slow_hook(&sandbox, 1);
    sandbox.write("a.txt", "two\n");
    let mut client = Client::new(&sandbox);
    client.begin("commit_state", &json!({ "message": "Change", "all_changes": true }));
    let hook = running_hook(&sandbox);
    // Reads do not wait for what writes.
    client.done("get_repo_state", &json!({}));
    client.done("list_checkpoints", &json!({}));
    assert!(is_running(hook), "the answer came after the commit, or the hook was ended");
    let committed = client.wait();
    assert_eq!(committed["structuredContent"]["subject"], "Change", "{committed:#}");
}

#[test]
fn the_end_of_the_client_ends_its_calls() {
    let sandbox = Sandbox::new();
    slow_hook(&sandbox, 60);
    sandbox.write("a.txt", "two\n");
    let before = sandbox.visible_state();
    let mut client = Client::new(&sandbox);
    client.begin("commit_state", &json!({ "message": "Change", "all_changes": true }));
    let hook = running_hook(&sandbox);
    drop(client);
    wait_until("the hook still runs", || !is_running(hook));
    wait_until("a lock is left", || !sandbox.path(".git/index.lock").exists());
    assert_eq!(sandbox.visible_state(), before);
}

#[test]
fn a_wait_for_events_hears_of_a_call_beside_it() {
    let sandbox = Sandbox::new();
    let mut server = super::Server::start(&sandbox, &[]);
    let wait = json!({ "timeout_s": 20, "keys": ["checkpoint_emitted:"], "since": "0:0" });
    let waiting = server.ask("wait_events", &wait);
    let keeping = server.ask("checkpoint_state", &json!({ "label": "kept" }));
    // The change is not behind the wait, and ends it.
    let answers = [server.read(), server.read()];
    let of = |id: u64| answers.iter().find(|answer| answer["id"] == id).unwrap();
    assert_eq!(of(keeping)["result"]["structuredContent"]["label"], "kept");
    let heard = &of(waiting)["result"]["structuredContent"];
    assert_eq!(heard["events"][0]["value"]["label"], "kept", "{heard:#}");
    assert_eq!(server.end().0, Some(0));
}
