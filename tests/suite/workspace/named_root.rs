//! `COLONY_REPOSITORY_ROOT` and `VOX_REPOSITORY_ROOT`: where reads begin, and what is refused.

use std::fs;

use serde_json::Value;

use crate::support::{Sandbox, View};

/// Two repositories; the first is the one that commands are started in.
fn two() -> (Sandbox, View) {
    let sandbox = Sandbox::new();
    let other = sandbox.copy("other");
    other.git(&["switch", "-q", "-c", "only-there"]);
    other.git(&["commit", "-q", "--allow-empty", "-m", "only there"]);
    other.git(&["switch", "-q", "main"]);
    (sandbox, other)
}

fn root_seen(view: &View) -> Value {
    view.json(&["id"])["root"].clone()
}

#[test]
fn reads_begin_where_the_variable_says() {
    let (sandbox, other) = two();
    let (own, there) = (sandbox.root.to_str().unwrap(), other.root.to_str().unwrap());
    for variable in ["COLONY_REPOSITORY_ROOT", "VOX_REPOSITORY_ROOT"] {
        let view = sandbox.with(variable, other.path("dir"));
        assert_eq!(root_seen(&view), there, "{variable}");
        let branches = view.json(&["topology"]);
        assert_eq!(branches["count"], 2, "{variable}");
        assert_eq!(root_seen(&view.with(variable, " \t")), own, "blank");
        assert_eq!(root_seen(&view.with(variable, "../other")), there, "relative");
        let with_option = view.json(&["-C", "dir", "id"]);
        assert_eq!(with_option["root"], own, "-C wins");
        let with_git_dir = view.with("GIT_DIR", sandbox.path(".git"));
        assert_eq!(root_seen(&with_git_dir), own, "GIT_DIR wins");
    }
    let both = sandbox
        .with("COLONY_REPOSITORY_ROOT", sandbox.root.clone())
        .with("VOX_REPOSITORY_ROOT", other.root.clone());
    assert_eq!(root_seen(&both), own, "ours wins");
}

#[test]
fn a_path_that_does_not_exist_is_an_invalid_value() {
    let (sandbox, _) = two();
    for value in [sandbox.outside().join("missing"), sandbox.path("a.txt")] {
        let view = sandbox.with("COLONY_REPOSITORY_ROOT", value);
        assert_eq!(view.error(&["id"]), "invalid-value");
        assert_eq!(view.error(&["checkpoint", "-m", "x"]), "invalid-value");
        assert_eq!(view.run(&["version"]).code, 0, "it needs no repository");
    }
}

#[test]
fn changes_are_refused_in_a_repository_that_is_only_named() {
    let (sandbox, other) = two();
    sandbox.write("a.txt", "two\n");
    other.write("a.txt", "two\n");
    other.colony(&["checkpoint", "-m", "there"]);
    other.write("a.txt", "three\n");
    let before = (sandbox.visible_state(), other.visible_state());
    let changes: [&[&str]; 15] = [
        &["checkpoint", "-m", "x"],
        &["checkpoint", "-n", "-m", "x"],
        &["tag", "-m", "x"],
        &["fork", "x"],
        &["merge", "only-there"],
        &["restore", "HEAD", "--force"],
        &["commit", "-m", "x", "--all"],
        &["decide", "-m", "x"],
        &["undo"],
        &["init", "--no-push"],
        &["deinit"],
        &["sync"],
        &["hooks", "install"],
        &["agents", "new", "ada"],
        &["blackboard", "put", "plan", "owner", "ada"],
    ];
    let alone = sandbox.outside().join("alone");
    fs::create_dir(&alone).unwrap();
    for from in [sandbox.root.clone(), alone] {
        let view = sandbox.at(from).with("COLONY_REPOSITORY_ROOT", other.root.clone());
        for change in changes {
            let refused = view.json(change);
            assert_eq!(refused["code"], "other-repository", "{change:?} {refused:#}");
            assert_eq!(refused["detail"]["root"], other.root.to_str().unwrap());
        }
    }
    assert_eq!((sandbox.visible_state(), other.visible_state()), before);
}

#[test]
fn the_repository_one_stands_in_may_be_named() {
    let (sandbox, _) = two();
    sandbox.write("dir/new.txt", "new\n");
    let below = sandbox.at(sandbox.path("dir"));
    let view = below.with("COLONY_REPOSITORY_ROOT", sandbox.root.clone());
    let made = view.json(&["commit", "-m", "x", "new.txt"]);
    assert_eq!(made["ok"], true, "paths begin where one stands: {made:#}");
    // A linked worktree is another checkout.
    let linked = sandbox.outside().join("linked");
    sandbox.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    let linked = sandbox.at(linked).with("COLONY_REPOSITORY_ROOT", sandbox.root.clone());
    assert_eq!(linked.error(&["fork", "x"]), "other-repository");
}

#[test]
fn what_git_runs_stays_in_the_repository_of_git() {
    let (sandbox, other) = two();
    sandbox.colony(&["hooks", "install"]);
    let view = sandbox.with_program().with("COLONY_REPOSITORY_ROOT", other.root.clone());
    view.git(&["commit", "-q", "--allow-empty", "-m", "by git"]);
    let hook = view.run(&["hook", "post-commit"]);
    assert_eq!(hook.code, 0, "{}", hook.stderr);
    assert_eq!(other.git(&["for-each-ref", "refs/colony-local"]), "");
}
