//! An agent that is named outside of a repository, where its clone is damaged, removed, or made by several at once.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::mcp::client::{Client, USUAL};
use crate::support::{Sandbox, View};

use super::clones::{ADA, nowhere};

fn clone_of(place: &View) -> View {
    let path = place.colony(&["agents", "path", "ada"]);
    place.at(PathBuf::from(path.trim_end()))
}

/// Runs a hint as it is typed, up to its comment.
fn run_hint(place: &View, hint: &str) {
    let line = hint.split("   #").next().unwrap();
    let line = line.replace('\'', "");
    let words = line.strip_prefix("git colony ").unwrap().split(' ').collect::<Vec<_>>();
    place.json(&words);
}

fn clones(place: &View) -> serde_json::Value {
    place.json(&["clones"])["count"].clone()
}

#[test]
fn a_damaged_clone_is_not_missing_outside_of_a_repository() {
    for damage in [".git/HEAD", ".git/objects/info/alternates", ".git"] {
        let sandbox = Sandbox::new();
        let place = nowhere(&sandbox);
        place.json(&["clones", "new", "--agent", "ada"]);
        let clone = clone_of(&place);
        clone.write("precious", "precious\n");
        let path = clone.path(damage);
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
        let mut hints = Vec::new();
        for words in [
            &["--agent", "ada", "status"][..],
            &["clones", "new", "--agent", "ada"],
            &["clones", "new", "--agent", "ada", "-n"],
            &["agents", "path", "ada"],
        ] {
            let refused = place.json(words);
            assert_eq!(refused["code"], "repository-broken", "{words:?}: {refused:#}");
            hints.push(refused["hint"].as_str().unwrap().to_owned());
        }
        let refused = Client::of(&place, USUAL, ADA).failed("get_repo_state", &json!({}));
        assert_eq!(refused["code"], "repository-broken", "{refused:#}");
        let folder = clone.root.parent().unwrap();
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "{damage}: another was made");
        run_hint(&place.with("COLONY_AGENT", "ada"), &hints[0]);
        let status = place.json(&["--agent", "ada", "status"]);
        assert_eq!(status["ok"], true, "{damage}: {status:#}");
        assert_eq!(clone.read("precious"), "precious\n");
        assert_eq!(clone.git(&["status", "--porcelain"]), "?? precious");
    }
}

#[test]
fn a_removed_agent_does_not_come_back_by_itself() {
    let sandbox = Sandbox::new();
    let place = nowhere(&sandbox);
    place.json(&["clones", "new", "--agent", "ada"]);
    clone_of(&place).write("precious", "precious\n");
    let mut early = Client::of(&place, USUAL, ADA);
    let removed = place.run(&["agents", "remove", "ada"]);
    for client in [&mut early, &mut Client::of(&place, USUAL, ADA)] {
        let refused = client.failed("get_repo_state", &json!({}));
        assert_eq!(refused["code"], "clone-not-found", "{refused:#}");
        assert!(refused["hint"].as_str().unwrap().contains("agents restore ada"), "{refused:#}");
    }
    assert_eq!(clones(&place), 0);
    let told = [removed.stdout, removed.stderr].concat();
    let offered = told.lines().find_map(|line| line.strip_prefix("to restore: "));
    run_hint(&place, offered.unwrap());
    assert_eq!(clone_of(&place).read("precious"), "precious\n");
    assert_eq!(early.done("get_repo_state", &json!({}))["ok"], true);
    // Without its folder, a new clone continues.
    place.json(&["clones", "remove", "ada"]);
    let kept = sandbox.outside().join("home/.local/share/git-colony/agents/ada/removed");
    fs::remove_dir_all(kept).ok();
    let refused = place.json(&["--agent", "ada", "status"]);
    run_hint(&place, refused["hint"].as_str().unwrap());
    assert_eq!(clone_of(&place).read("precious"), "precious\n");
    // Who asks for a new one gets it.
    place.json(&["agents", "remove", "ada"]);
    assert_eq!(place.json(&["clones", "new", "--agent", "ada"])["ok"], true);
}

#[test]
fn an_agent_of_a_checkout_is_restored_from_outside() {
    let sandbox = Sandbox::new();
    sandbox.json(&["agents", "new", "ada"]);
    let folder = sandbox.outside().join("nowhere");
    fs::create_dir(&folder).unwrap();
    let place = sandbox.at(folder);
    let removed = place.run(&["agents", "remove", "ada"]);
    let told = [removed.stdout, removed.stderr].concat();
    let offered = told.lines().find_map(|line| line.strip_prefix("to restore: ")).unwrap();
    let refused = place.json(&["agents", "restore", "ada"]);
    let hint = refused["hint"].as_str().unwrap();
    assert!(hint.contains(" -C ") && offered.contains(" -C "), "{hint}, {offered}");
    run_hint(&place, offered);
    assert_eq!(clones(&place), 1);
}

#[test]
fn several_servers_make_one_first_clone() {
    let sandbox = Sandbox::new();
    let place = nowhere(&sandbox);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let place = &place;
            scope.spawn(move || {
                let state = Client::of(place, USUAL, ADA).done("get_repo_state", &json!({}));
                assert_eq!(state["ok"], true, "{state:#}");
            });
        }
    });
    assert_eq!(clones(&place), 1);
}

#[test]
fn a_dry_run_refuses_a_clone_that_is_there() {
    let sandbox = Sandbox::new();
    let place = nowhere(&sandbox);
    place.json(&["clones", "new", "--agent", "ada"]);
    for words in
        [&["clones", "new", "--agent", "ada"][..], &["clones", "new", "--agent", "ada", "-n"]]
    {
        assert_eq!(place.error(words), "agent-exists", "{words:?}");
    }
    for words in [&["--agent", "a b", "status"][..], &["clones", "new", "--agent", "a b", "-n"]] {
        assert_eq!(place.error(words), "invalid-value", "{words:?}");
    }
}
