//! After a migration to git-lfs: whoever has the old history is told so, and comes along with all that
//! nobody else has.

use std::fs;
use std::path::Path;

use crate::support::{Sandbox, View};

use super::rewrite::{POINTER, at, clone_of_another, grown_with_origin};

/// A clone of the sandbox's origin by somebody else, from before the migration.
fn old_clone(sandbox: &Sandbox, bare: &Path) -> View {
    clone_of_another(sandbox, bare, "old")
}

#[test]
fn an_old_clone_is_refused_and_follows_with_its_own_commits() {
    let (sandbox, bare) = grown_with_origin();
    let old = old_clone(&sandbox, &bare);
    old.write("paper.pdf", "mine\n");
    old.git(&["commit", "-qam", "mine"]);
    old.colony(&["fork", "idea", "--no-switch"]);
    sandbox.colony(&["lfs", "migrate"]);
    let before = old.git(&["for-each-ref", "refs/heads", "refs/colony"]);
    assert_eq!(old.error(&["sync"]), "history-rewritten");
    assert_eq!(old.error(&["sync", "--push"]), "history-rewritten");
    assert_eq!(old.git(&["for-each-ref", "refs/heads", "refs/colony"]), before);
    let answer = old.json(&["lfs", "migrate"]);
    assert_eq!(answer["status"], "followed", "{answer:#}");
    // What was published is the very history, and the own commit is on top of it.
    assert_eq!(old.git(&["rev-parse", "main~1"]), sandbox.git(&["rev-parse", "main"]));
    assert_eq!(old.git(&["log", "-1", "--format=%s %an"]), "mine Bob");
    assert!(old.git(&["show", "main:paper.pdf"]).starts_with(POINTER));
    assert_eq!(fs::read_to_string(old.path("paper.pdf")).unwrap(), "mine\n");
    assert_eq!(old.git(&["status", "--porcelain"]), "");
    assert_eq!(old.git(&["rev-parse", "fork/idea"]), old.git(&["rev-parse", "main"]));
    old.colony(&["sync", "--push"]);
    old.colony(&["sync"]);
    old.git(&["push", "-q", "origin", "main"]);
    assert!(at(&bare, &sandbox, &["log", "--oneline", "main"]).contains("mine"));
    assert_eq!(old.error(&["lfs", "migrate", "--abort"]), "nothing-to-resolve");
}

#[test]
fn a_history_that_is_not_published_yet_is_not_synced() {
    let (sandbox, _) = grown_with_origin();
    sandbox.colony(&["lfs", "migrate", "--no-push"]);
    assert_eq!(sandbox.error(&["sync"]), "history-rewritten");
    sandbox.colony(&["lfs", "migrate", "--continue"]);
    sandbox.colony(&["sync", "--push"]);
    sandbox.colony(&["sync"]);
}

#[test]
fn nothing_from_before_is_merged_restored_or_pushed() {
    let (sandbox, bare) = grown_with_origin();
    sandbox.write("text.txt", "worked\n");
    sandbox.colony(&["checkpoint", "-m", "one"]);
    sandbox.write("text.txt", "on\n");
    let undone = sandbox.json(&["restore", "one"]);
    let before = undone["recovery"].as_str().unwrap().to_owned();
    sandbox.git(&["push", "-q", "origin", "main"]);
    let old = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.colony(&["hooks", "install"]);
    sandbox.colony(&["lfs", "migrate"]);
    let state = (sandbox.refs(), sandbox.visible_state());
    assert_eq!(sandbox.error(&["merge", &old]), "history-rewritten");
    assert_eq!(sandbox.error(&["restore", &before]), "history-rewritten");
    assert_eq!((sandbox.refs(), sandbox.visible_state()), state);
    let theirs = at(&bare, &sandbox, &["for-each-ref"]);
    let push = ["push", "origin", &format!("{old}:refs/heads/back")];
    let output = sandbox.with_program().git_output(&push);
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("history was rewritten"), "{said}");
    assert_eq!(at(&bare, &sandbox, &["for-each-ref"]), theirs);
}

#[test]
fn an_agents_clone_with_own_work_is_refused_and_refreshed_later() {
    let (sandbox, _) = grown_with_origin();
    let made = sandbox.json(&["agents", "new", "ada"]);
    let ada = sandbox.at(made["path"].as_str().unwrap().into());
    ada.write("text.txt", "ada\n");
    let refused = sandbox.json(&["lfs", "migrate"]);
    assert_eq!(refused["code"], "left-behind", "{refused:#}");
    assert!(refused["message"].as_str().unwrap().contains("'ada' has 1 file with edits"));
    ada.colony(&["commit", "-m", "work", "--all"]);
    let refused = sandbox.json(&["lfs", "migrate"]);
    assert_eq!(refused["code"], "left-behind", "{refused:#}");
    assert!(refused["message"].as_str().unwrap().contains("commits on fork/ada"), "{refused:#}");
    sandbox.colony(&["merge", "ada"]);
    sandbox.git(&["push", "-q", "origin", "main"]);
    let answer = sandbox.json(&["lfs", "migrate"]);
    assert_eq!(answer["pushed"], true, "{answer:#}");
    // Work goes on there before anybody has told it.
    ada.write("paper.pdf", "ada\n");
    ada.colony(&["commit", "-m", "more", "--all"]);
    let refreshed = sandbox.json(&["clones", "refresh", "ada"]);
    assert!(refreshed["followed"].is_string(), "{refreshed:#}");
    assert!(ada.git(&["show", "HEAD:paper.pdf"]).starts_with(POINTER));
    assert_eq!(ada.git(&["status", "--porcelain"]), "");
    ada.colony(&["status"]);
    sandbox.colony(&["merge", "ada"]);
    assert_eq!(sandbox.read("paper.pdf"), "ada\n");
}

#[test]
fn several_missed_migrations_are_followed_in_turn() {
    let (sandbox, bare) = grown_with_origin();
    let old = old_clone(&sandbox, &bare);
    old.write("paper.pdf", "mine\n");
    old.git(&["commit", "-qam", "mine"]);
    let first = old.git(&["rev-parse", "HEAD~1"]);
    sandbox.colony(&["lfs", "migrate"]);
    let between = sandbox.git(&["rev-parse", "HEAD"]);
    let attributes = sandbox.read(".gitattributes");
    let more = "*.txt filter=lfs diff=lfs merge=lfs -text\n";
    sandbox.write(".gitattributes", format!("{attributes}{more}"));
    sandbox.git(&["-c", "filter.lfs.clean=cat", "add", ".gitattributes"]);
    sandbox.git(&["commit", "-qm", "more patterns"]);
    let second = sandbox.json(&["lfs", "migrate"]);
    assert_eq!(second["pushed"], true, "{second:#}");
    let published = sandbox.git(&["rev-parse", "main~1"]);
    assert_ne!(published, between);
    assert_eq!(old.error(&["sync"]), "history-rewritten");
    let dry = old.json(&["lfs", "migrate", "-n"]);
    assert_eq!(dry["patterns"], serde_json::json!(["*.pdf", "*.bin", "*.txt"]));
    assert_eq!(old.git(&["for-each-ref", "refs/heads"]).lines().count(), 1);
    let answer = old.json(&["lfs", "migrate"]);
    assert_eq!(answer["status"], "followed", "{answer:#}");
    assert_eq!(old.git(&["rev-parse", "main~1"]), published);
    for name in ["paper.pdf", "text.txt"] {
        let pointer = old.git(&["show", &format!("main:{name}")]);
        assert!(pointer.starts_with(POINTER), "{name}: {pointer}");
    }
    assert_eq!(fs::read_to_string(old.path("paper.pdf")).unwrap(), "mine\n");
    assert_eq!(old.git(&["status", "--porcelain"]), "");
    // What is from before the first is told as such after the second.
    assert_eq!(old.error(&["merge", &first]), "history-rewritten");
    assert_eq!(sandbox.error(&["merge", &between]), "history-rewritten");
    old.git(&["pull", "-q", "--rebase", "origin", "main"]);
    old.git(&["push", "-q", "origin", "main"]);
    assert!(at(&bare, &sandbox, &["log", "--oneline", "main"]).contains("mine"));
}
