//! What could lose something is shown first, and done when it is asked for again.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::Server;
use crate::support::Sandbox;

/// A repository with two checkpoints, and a file that neither has.
fn with_checkpoints() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "one\n");
    sandbox.colony(&["checkpoint", "-m", "one"]);
    sandbox.write("a.txt", "two\n");
    sandbox.colony(&["checkpoint", "-m", "two"]);
    sandbox.write("new.txt", "uncommitted\n");
    sandbox
}

fn with_id(arguments: &Value, answer: &Value) -> Value {
    let mut arguments = arguments.clone();
    arguments["preview_id"] = answer["preview_id"].clone();
    arguments
}

#[test]
fn a_restore_is_shown_first_and_done_by_its_preview() {
    let sandbox = with_checkpoints();
    let mut server = Server::start(&sandbox, &[]);
    let before = sandbox.visible_state();
    let wanted = json!({ "checkpoint_id": "one" });
    let shown = server.call("restore_checkpoint", &wanted);
    assert_eq!((&shown["ok"], &shown["applied"]), (&json!(true), &json!(false)), "{shown:#}");
    assert_eq!(sandbox.visible_state(), before);
    let done = server.call("restore_checkpoint", &with_id(&wanted, &shown));
    assert_eq!((&done["ok"], &done["applied"]), (&json!(true), &json!(true)), "{done:#}");
    assert_eq!(sandbox.read("a.txt"), "one\n");
    // It counts once.
    let again = server.call("restore_checkpoint", &with_id(&wanted, &shown));
    assert_eq!(
        (&again["code"], &again["applied"]),
        (&json!("preview-stale"), &json!(false)),
        "{again:#}"
    );
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.visible_state().worktree, before.worktree);
}

#[test]
fn a_preview_of_another_state_or_call_is_stale() {
    let sandbox = with_checkpoints();
    let mut server = Server::start(&sandbox, &[]);
    let wanted = json!({ "checkpoint_id": "one" });
    let edits: [&dyn Fn(); 4] = [
        &|| sandbox.write("new.txt", "edited\n"),
        &|| drop(sandbox.git(&["add", "new.txt"])),
        &|| drop(sandbox.git(&["tag", "here"])),
        &|| drop(sandbox.git(&["switch", "-q", "-c", "elsewhere"])),
    ];
    for edit in edits {
        let shown = server.call("restore_checkpoint", &wanted);
        edit();
        let before = sandbox.visible_state();
        let told = server.call("restore_checkpoint", &with_id(&wanted, &shown));
        assert_eq!(told["code"], "preview-stale", "{told:#}");
        assert_eq!(told["preview"]["dry_run"], true, "{told:#}");
        assert_eq!(sandbox.visible_state(), before);
    }
    // A preview is of one call.
    let shown = server.call("restore_checkpoint", &wanted);
    let other = json!({ "checkpoint_id": "two" });
    let told = server.call("restore_checkpoint", &with_id(&other, &shown));
    assert_eq!(told["code"], "preview-stale", "{told:#}");
    // The new preview is one that counts.
    let done = server.call("restore_checkpoint", &with_id(&other, &told));
    assert_eq!(done["applied"], true, "{done:#}");
}

#[test]
fn what_is_refused_has_no_preview() {
    let sandbox = with_checkpoints();
    let mut server = Server::start(&sandbox, &[]);
    let told = server.call("restore_checkpoint", &json!({ "checkpoint_id": "none" }));
    assert_eq!(told["code"], "checkpoint-not-found");
    assert_eq!((&told["applied"], told.get("preview_id")), (&json!(false), None), "{told:#}");
}

#[test]
fn with_trust_everything_is_done_at_once() {
    let sandbox = with_checkpoints();
    let mut server = Server::start(&sandbox, &["--trust"]);
    let done = server.call("restore_checkpoint", &json!({ "checkpoint_id": "one" }));
    assert_eq!((&done["ok"], done.get("applied")), (&json!(true), None), "{done:#}");
    assert_eq!(sandbox.read("a.txt"), "one\n");
}

#[test]
fn an_undo_needs_a_preview_only_with_force() {
    let sandbox = with_checkpoints();
    let mut server = Server::start(&sandbox, &[]);
    let done = server.call("undo", &json!({ "steps": 1 }));
    assert_eq!((&done["ok"], done.get("applied")), (&json!(true), None), "{done:#}");
    let shown = server.call("undo", &json!({ "force": true }));
    assert_eq!((&shown["applied"], &shown["dry_run"]), (&json!(false), &json!(true)), "{shown:#}");
}

#[test]
fn what_publishes_is_shown_until_a_person_consents() {
    let sandbox = with_checkpoints();
    let remote = sandbox.outside().join("remote.git");
    sandbox.git(&["init", "-q", "--bare", remote.to_str().unwrap()]);
    sandbox.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    let mut server = Server::start(&sandbox, &[]);
    let shown = server.call("sync", &json!({}));
    assert_eq!(shown["applied"], false, "{shown:#}");
    let without = server.call("sync", &with_id(&json!({}), &shown));
    assert_eq!(without["consent"], "missing", "{without:#}");
    assert!(sandbox.git(&["ls-remote", "origin"]).is_empty());
    sandbox.colony(&["sync", "--push"]);
    sandbox.colony(&["fork", "more", "--no-switch"]);
    let done = server.call("sync", &json!({}));
    assert_eq!((&done["ok"], done.get("applied")), (&json!(true), None), "{done:#}");
    assert!(sandbox.git(&["ls-remote", "origin"]).contains("refs/heads/fork/more"));
}

#[test]
fn places_elsewhere_on_the_machine_are_refused() {
    let sandbox = with_checkpoints();
    let other = sandbox.outside().join("other");
    sandbox.git(&["init", "-q", other.to_str().unwrap()]);
    std::os::unix::fs::symlink(&other, sandbox.path("link")).unwrap();
    let mut server = Server::start(&sandbox, &["--trust"]);
    for place in [other.to_str().unwrap(), "link", "../other", "link/../../other"] {
        let told = server.call("mmap_repo", &json!({ "local_repo_path": place }));
        assert!(matches!(told["code"].as_str(), Some("path-outside")), "{place} {told:#}");
    }
    let url = format!("file://{}", other.display());
    std::os::unix::fs::symlink(&other, sandbox.path("5")).unwrap();
    let told = server.call("mmap_repo", &json!({ "local_repo_path": 5 }));
    assert_eq!(told["code"], "invalid-value", "{told:#}");
    for url in [url.as_str(), other.to_str().unwrap(), "ext::sh -c id"] {
        let told = server.call("mmap_repo", &json!({ "origin_url": url }));
        assert_eq!(told["code"], "url-refused", "{url} {told:#}");
    }
    for paths in [json!(["../other"]), json!([other]), json!(["link/x"]), json!([".git/config"])] {
        let told = server.call("commit_state", &json!({ "message": "m", "paths": paths }));
        assert_eq!(told["ok"], false, "{paths} {told:#}");
    }
}

#[test]
fn a_history_is_not_rewritten_without_a_preview() {
    let sandbox = with_checkpoints();
    sandbox.write("big.bin", vec![7; 3 * 1024 * 1024]);
    sandbox.colony(&["checkpoint", "-m", "large"]);
    let mut server = Server::start(&sandbox, &[]);
    let before = sandbox.visible_state();
    let wanted = json!({ "push": false, "migrate_existing_to_lfs": true });
    let shown = server.call("initialize_repo_map", &wanted);
    assert_eq!(shown["applied"], false, "{shown:#}");
    assert_eq!(sandbox.visible_state(), before);
}

#[test]
fn a_preview_of_an_agents_removal_is_of_its_clone() {
    let sandbox = with_checkpoints();
    sandbox.write(".gitignore", "*.key\n");
    sandbox.colony(&["checkpoint", "-m", "ignoring"]);
    let clone = PathBuf::from(sandbox.colony(&["agents", "new", "hal"]).trim());
    let mut server = Server::start(&sandbox, &[]);
    let wanted = json!({ "name": "hal" });
    let shown = server.call("remove_agent", &wanted);
    fs::write(clone.join("own.key"), "not kept\n").unwrap();
    let told = server.call("remove_agent", &with_id(&wanted, &shown));
    assert_eq!(told["code"], "preview-stale", "{told:#}");
    assert!(clone.join("own.key").exists());
    let done = server.call("remove_agent", &with_id(&wanted, &told));
    assert_eq!(done["applied"], true, "{done:#}");
}

#[test]
fn a_preview_of_an_undo_is_of_its_operation() {
    let sandbox = with_checkpoints();
    let mut server = Server::start(&sandbox, &[]);
    let wanted = json!({ "force": true });
    let shown = server.call("undo", &wanted);
    sandbox.colony(&["fork", "other", "--no-switch"]);
    sandbox.colony(&["forks", "delete", "other"]);
    let told = server.call("undo", &with_id(&wanted, &shown));
    assert_eq!(told["code"], "preview-stale", "{told:#}");
}

#[test]
fn a_preview_that_nobody_was_given_is_refused() {
    let sandbox = with_checkpoints();
    let mut server = Server::start(&sandbox, &[]);
    let before = sandbox.visible_state();
    for id in [json!("preview-0"), json!(5), json!(["a"])] {
        let told = server.call("undo", &json!({ "preview_id": id }));
        assert_eq!(told["code"], "preview-stale", "{told:#}");
    }
    let told = server.call("merge_design", &json!({ "source_branch": "x", "preview_id": "a" }));
    assert_eq!(told["code"], "usage", "{told:#}");
    assert_eq!(sandbox.visible_state(), before);
}
