//! Servers in clones of agents, and outside of repositories.

use std::fs;

use serde_json::{Value, json};

use crate::mcp::answer;
use crate::mcp::client::{Client, USUAL, with_preview};
use crate::mcp::contract::{FULL, reading_calls};
use crate::setup::never_set_up::COMMANDS;
use crate::support::{Sandbox, View};

/// An agent outside of a repository.
pub(super) const ADA: &[&str] = &["--agent", "ada", "mcp"];

/// A folder that is not in a repository; the colony there has a bare remote beside it.
pub(super) fn nowhere(sandbox: &Sandbox) -> View {
    let remote = sandbox.outside().join("remote.git");
    let (here, there) = (sandbox.root.to_str().unwrap(), remote.to_str().unwrap());
    sandbox.git(&["clone", "-q", "--bare", here, there]);
    let folder = sandbox.outside().join("nowhere");
    fs::create_dir(&folder).unwrap();
    let place = sandbox.at(folder);
    place.colony(&["clones", "colony", "set", there]);
    place
}

/// The clone of the agent.
fn clone_of(client: &mut Client, place: &View) -> View {
    let path = client.done("agent_path", &json!({ "name": "ada" }))["path"].clone();
    place.at(path.as_str().unwrap().into())
}

#[test]
fn the_first_call_makes_the_clone_of_the_agent() {
    let sandbox = Sandbox::new();
    let place = nowhere(&sandbox);
    let mut client = Client::of(&place, USUAL, ADA);
    let state = client.done("get_repo_state", &json!({}));
    assert_eq!(state["current_branch"], "main");
    let clone = clone_of(&mut client, &place);
    client.done("checkpoint_state", &json!({ "label": "start" }));
    clone.write("a.txt", "two\n");
    client.done("commit_state", &json!({ "message": "Change", "all_changes": true }));
    let author = clone.git(&["log", "-1", "--format=%an"]);
    assert!(author.contains("ada"), "{author}");
    assert_eq!(fs::read_dir(&place.root).unwrap().count(), 0);
}

#[test]
fn a_restore_outside_of_a_repository_has_a_preview() {
    let sandbox = Sandbox::new();
    let place = nowhere(&sandbox);
    let mut client = Client::of(&place, USUAL, ADA);
    client.done("checkpoint_state", &json!({ "label": "start" }));
    let clone = clone_of(&mut client, &place);
    clone.write("a.txt", "two\n");
    let restore = json!({ "checkpoint_id": "start" });
    let shown = client.done("restore_checkpoint", &restore);
    assert_eq!(clone.read("a.txt"), "two\n");
    client.done("restore_checkpoint", &with_preview(&restore, &shown));
    assert_eq!(clone.read("a.txt"), "one\n");
}

#[test]
fn servers_and_a_shell_of_one_client_share_a_clone() {
    let sandbox = Sandbox::new();
    let place = nowhere(&sandbox);
    let mut first = Client::of(&place, USUAL, ADA);
    let mut second = Client::of(&place, USUAL, ADA);
    first.done("checkpoint_state", &json!({ "label": "of the first" }));
    second.done("checkpoint_state", &json!({ "label": "of the second" }));
    let clone = clone_of(&mut first, &place);
    let typed = clone.json_apart(&["checkpoint", "-m", "of a shell"]);
    assert_eq!(typed["ok"], true, "{typed:#}");
    for client in [&mut first, &mut second] {
        assert_eq!(client.done("list_checkpoints", &json!({}))["count"], 3);
    }
    drop((first, second));
    clone.check_invariants_of_git();
}

#[test]
fn another_session_is_refused_in_the_clone_of_a_server() {
    let sandbox = Sandbox::new();
    let place = nowhere(&sandbox).with("COLONY_SESSION", "s-1");
    let mut first = Client::of(&place, USUAL, ADA);
    let mut second = Client::of(&place.with("COLONY_SESSION", "s-2"), USUAL, ADA);
    first.done("checkpoint_state", &json!({ "label": "of the first" }));
    let refused = second.failed("checkpoint_state", &json!({ "label": "of the second" }));
    assert_eq!(refused["code"], "agent-busy", "{refused:#}");
    assert!(refused["hint"].as_str().unwrap().contains("--takeover"));
    assert_eq!(second.done("list_checkpoints", &json!({}))["count"], 1);
}

#[test]
fn a_clone_that_is_gone_is_an_error_with_a_code() {
    let sandbox = Sandbox::new();
    let made = sandbox.json(&["agents", "new", "ada"]);
    let clone = sandbox.at(made["path"].as_str().unwrap().into());
    let mut client = Client::new(&clone);
    client.done("checkpoint_state", &json!({ "label": "start" }));
    let restore = json!({ "checkpoint_id": "start" });
    let shown = client.done("restore_checkpoint", &restore);
    fs::remove_dir_all(&clone.root).unwrap();
    let calls: [(&str, Value); 4] = [
        ("get_repo_state", json!({})),
        ("checkpoint_state", json!({ "label": "later" })),
        ("restore_checkpoint", restore.clone()),
        ("restore_checkpoint", with_preview(&restore, &shown)),
    ];
    for (tool, arguments) in &calls {
        client.failed(tool, arguments);
    }
    assert_eq!(client.done("version", &json!({}))["ok"], true);
    assert!(!clone.root.exists());
}

/// Fails if an agent has a clone.
fn require_no_clone(sandbox: &Sandbox, what: &str) {
    let agents = sandbox.outside().join("home/.local/share/git-colony/agents");
    let names = fs::read_dir(&agents).map_or(0, Iterator::count);
    assert_eq!(names, 0, "{what} has made a clone");
}

#[test]
fn no_action_that_reads_makes_a_clone() {
    let sandbox = FULL.copy();
    let place = nowhere(&sandbox);
    let mut refused = 0;
    for (action, arguments) in reading_calls(&sandbox) {
        let arguments = arguments.to_string();
        let run = place.run(&["--agent", "ada", "call", action, &arguments]);
        refused += usize::from(answer(&run.stdout)["code"] == "clone-not-found");
        require_no_clone(&sandbox, action);
    }
    assert!(refused > 20, "only {refused} actions have asked for the clone");
}

#[test]
fn no_command_outside_of_a_repository_makes_a_clone() {
    let sandbox = Sandbox::new();
    let place = nowhere(&sandbox);
    for command in COMMANDS {
        let run = place.run(&[&["--agent", "ada"], *command].concat());
        assert_ne!(run.code, 129, "{command:?}: {}", run.stderr);
        require_no_clone(&sandbox, &format!("{command:?}"));
    }
    let mut client = Client::of(&place, USUAL, ADA);
    client.tools();
    require_no_clone(&sandbox, "a server without a call");
}
