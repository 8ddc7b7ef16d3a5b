//! Calls that take their time: their progress, their end, and others beside them.

use std::fs;

use serde_json::{Value, json};

use super::client::Client;
use crate::support::{Sandbox, View, eventually, is_running};

/// Gives a repository a hook that notes its process, and then waits for a file.
fn slow_hook(view: &View) {
    let script = "#!/bin/sh\necho $$ > .git/hook-pid\nuntil [ -e .git/go ]; do sleep 0.1; done\n";
    view.write_program(".git/hooks/pre-commit", script);
}

/// Waits until the hook runs; returns its process.
fn running_hook(view: &View) -> u32 {
    let note = view.path(".git/hook-pid");
    let pid = || fs::read_to_string(&note).ok()?.trim().parse().ok();
    eventually("a hook runs", || pid().is_some());
    pid().unwrap()
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
    slow_hook(&sandbox);
    sandbox.write("a.txt", "two\n");
    let before = sandbox.visible_state();
    let mut client = Client::new(&sandbox);
    let commit = json!({ "message": "Change", "all_changes": true });
    client.begin("commit_state", &commit);
    let hook = running_hook(&sandbox);
    let outcome = client.ask(&json!({ "do": "cancel" }));
    assert_eq!(outcome["canceled"], true, "{outcome:#}");
    eventually("the hook ends", || !is_running(hook));
    // The next call waits until the canceled one has ended.
    sandbox.remove(".git/hooks/pre-commit");
    let checked = client.done("checkpoint_state", &json!({ "label": "x", "off_branch": true }));
    assert_eq!(checked["changed"], true);
    client.done("undo", &json!({}));
    assert_eq!(sandbox.visible_state(), before);
    sandbox.check_invariants_of_git();
    client.done("commit_state", &commit);
}

#[test]
fn the_end_of_a_call_leaves_the_processes_of_others() {
    let sandbox = Sandbox::new();
    slow_hook(&sandbox);
    sandbox.write("a.txt", "two\n");
    let mut client = Client::new(&sandbox);
    client.begin("commit_state", &json!({ "message": "Change", "all_changes": true }));
    let hook = running_hook(&sandbox);
    // Reads do not wait for what writes.
    client.done("get_repo_state", &json!({}));
    client.done("list_checkpoints", &json!({}));
    assert!(is_running(hook), "the answer came after the commit, or the hook was ended");
    sandbox.write(".git/go", "");
    let committed = client.wait();
    assert_eq!(committed["structuredContent"]["subject"], "Change", "{committed:#}");
}

#[test]
fn the_end_of_the_client_ends_its_calls() {
    let sandbox = Sandbox::new();
    slow_hook(&sandbox);
    sandbox.write("a.txt", "two\n");
    let before = sandbox.visible_state();
    let mut client = Client::new(&sandbox);
    client.begin("commit_state", &json!({ "message": "Change", "all_changes": true }));
    let hook = running_hook(&sandbox);
    drop(client);
    eventually("the hook ends", || !is_running(hook));
    eventually("no lock is left", || !sandbox.path(".git/index.lock").exists());
    assert_eq!(sandbox.visible_state(), before);
}

#[test]
fn a_wait_for_events_hears_of_a_call_beside_it() {
    let sandbox = Sandbox::new();
    let mut server = super::Server::start(&sandbox, &[]);
    let wait = json!({ "timeout_s": 100, "keys": ["checkpoint_emitted:"], "since": "0:0" });
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
