//! A migration to git-lfs where several work on one machine: the hub tells everybody of it, and what
//! others have published there stops it.

use std::fs;
use std::path::PathBuf;

use super::lfs_migrate::{POINTER, grown, with_origin};
use super::support::{Sandbox, View};

/// The clone of an agent, made now.
fn agent<'a>(sandbox: &'a Sandbox, name: &str) -> View<'a> {
    let made = sandbox.json(&["agents", "new", name]);
    sandbox.at(PathBuf::from(made["path"].as_str().unwrap()))
}

#[test]
fn a_clone_learns_of_a_migration_from_the_hub_and_follows_it_without_a_remote() {
    let sandbox = grown();
    let ada = agent(&sandbox, "ada");
    sandbox.colony(&["lfs", "migrate"]);
    fs::write(ada.path("paper.pdf"), "ada\n").unwrap();
    ada.colony(&["commit", "-m", "work", "--all"]);
    let before = ada.git(&["for-each-ref", "refs/heads"]);
    assert_eq!(ada.error(&["merge", "main"]), "history-rewritten");
    assert_eq!(sandbox.error(&["merge", "ada"]), "history-rewritten");
    assert_eq!(ada.git(&["for-each-ref", "refs/heads"]), before);
    let answer = ada.json(&["lfs", "migrate"]);
    assert_eq!(answer["status"], "followed", "{answer:#}");
    assert_eq!(
        ada.git(&["rev-parse", "HEAD~1"]),
        sandbox.git(&["rev-parse", "main"])
    );
    assert!(ada.git(&["show", "HEAD:paper.pdf"]).starts_with(POINTER));
    assert_eq!(ada.git(&["status", "--porcelain"]), "");
    let merged = sandbox.json(&["merge", "ada"]);
    assert_eq!(merged["ok"], true, "{merged:#}");
    assert_eq!(sandbox.read("paper.pdf"), "ada\n");
    sandbox.check_invariants_of_git();
}

#[test]
fn what_was_told_of_a_migration_is_taken_back_with_it() {
    let sandbox = grown();
    let ada = agent(&sandbox, "ada");
    sandbox.colony(&["lfs", "migrate"]);
    assert_eq!(ada.error(&["merge", "main"]), "history-rewritten");
    sandbox.colony(&["lfs", "migrate", "--abort"]);
    fs::write(ada.path("text.txt"), "ada\n").unwrap();
    ada.colony(&["commit", "-m", "work", "--all"]);
    let merged = ada.json(&["merge", "main"]);
    assert_eq!(merged["outcome"], "up_to_date", "{merged:#}");
    let merged = sandbox.json(&["merge", "ada"]);
    assert_eq!(merged["ok"], true, "{merged:#}");
}

#[test]
fn what_another_checkout_has_published_in_the_hub_stops_a_migration() {
    let sandbox = grown();
    let bare = with_origin(&sandbox);
    sandbox.colony(&["agents", "new", "ada"]);
    let place = sandbox.outside().join("desk");
    let url = format!("file://{}", bare.display());
    sandbox.git(&["clone", "-q", &url, &place.display().to_string()]);
    let desk = sandbox.at(place);
    desk.git(&["config", "user.name", "Bob"]);
    desk.git(&["config", "user.email", "bob@example.com"]);
    desk.colony(&["agents", "new", "bert"]);
    desk.git(&[
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "only at the other desk",
    ]);
    desk.colony(&["tag", "-m", "publishes"]);
    let state = (sandbox.refs(), sandbox.visible_state());
    let refused = sandbox.json(&["lfs", "migrate"]);
    assert_eq!(refused["code"], "left-behind", "{refused:#}");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("another checkout"), "{refused:#}");
    assert!(message.contains("main"), "{refused:#}");
    assert_eq!((sandbox.refs(), sandbox.visible_state()), state);
    // The way on that it names.
    desk.git(&["push", "-q", "origin", "main"]);
    sandbox.git(&["pull", "-q", "--ff-only", "origin", "main"]);
    let answer = sandbox.json(&["lfs", "migrate"]);
    assert_eq!(answer["pushed"], true, "{answer:#}");
}
