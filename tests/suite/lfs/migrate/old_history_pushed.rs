//! The old history pushed back by somebody after a migration to git-lfs, with or without our hooks: whoever has
//! the new one is told, and each way on works as it stands.

use crate::support::{Sandbox, View};

use super::in_progress::{hint_of, paste};
use super::rewrite::{POINTER, at, clone_of_another, grown, with_origin};
use std::path::{Path, PathBuf};

/// A published migration, and the clone of a colleague from before it.
fn with_colleague(sandbox: &Sandbox) -> (PathBuf, View) {
    let bare = with_origin(sandbox);
    let colleague = clone_of_another(sandbox, &bare, "colleague");
    (bare, colleague)
}

/// What `sync`, its dry run and `status` say: all of them that history is from before. Returns the hint.
fn is_recognised(sandbox: &Sandbox, branch: &str) -> String {
    let heads = sandbox.git(&["for-each-ref", "refs/heads", "refs/tags"]);
    let state = (sandbox.git(&["ls-files", "-s"]), sandbox.worktree());
    sandbox.git(&["fetch", "-q", "origin"]);
    let refused = sandbox.json(&["sync"]);
    assert_eq!(refused["code"], "history-rewritten", "{refused:#}");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains(branch), "{message}");
    assert_eq!(sandbox.error(&["sync", "-n"]), "history-rewritten");
    let found = sandbox.json(&["status"])["migration"].clone();
    let detail = found["detail"].as_str().unwrap_or_else(|| panic!("{found:#}"));
    assert!(detail.contains(branch) && detail.contains("lfs migrate --push"), "{detail}");
    assert_eq!(sandbox.git(&["for-each-ref", "refs/heads", "refs/tags"]), heads);
    assert_eq!((sandbox.git(&["ls-files", "-s"]), sandbox.worktree()), state);
    hint_of(&refused).to_owned()
}

/// Nothing of it is on the remote any more, and `sync` is content.
fn is_over(sandbox: &Sandbox, bare: &Path) {
    sandbox.colony(&["sync", "--push"]);
    sandbox.colony(&["sync"]);
    let names = at(bare, sandbox, &["for-each-ref", "--format=%(refname)", "refs/heads"]);
    for name in names.lines() {
        let pointer = at(bare, sandbox, &["show", &format!("{name}:paper.pdf")]);
        assert!(pointer.starts_with(POINTER), "{name}: {pointer}");
    }
    assert!(sandbox.json(&["status"])["migration"].is_null());
    sandbox.check_invariants_of_git();
}

#[test]
fn the_very_old_history_forced_back_is_recognised_and_replaced() {
    let sandbox = grown();
    let (bare, colleague) = with_colleague(&sandbox);
    sandbox.colony(&["lfs", "migrate", "--push"]);
    colleague.git(&["push", "-q", "--force", "origin", "main"]);
    let hint = is_recognised(&sandbox, "main");
    paste(&sandbox, &sandbox.root, &hint);
    is_over(&sandbox, &bare);
}

#[test]
fn commits_on_old_history_forced_back_move_to_the_new_one() {
    let sandbox = grown();
    let (bare, colleague) = with_colleague(&sandbox);
    sandbox.colony(&["lfs", "migrate", "--push"]);
    colleague.write("paper.pdf", "bob\n");
    colleague.git(&["commit", "-qam", "by Bob"]);
    colleague.git(&["push", "-q", "--force", "origin", "main"]);
    // Here work has gone on too.
    sandbox.write("text.txt", "ours\n");
    sandbox.git(&["commit", "-qam", "by Ada"]);
    is_recognised(&sandbox, "main");
    // Neither is published over.
    let theirs = at(&bare, &sandbox, &["rev-parse", "main"]);
    let refused = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(refused["push_error_code"], "left-behind", "{refused:#}");
    assert_eq!(at(&bare, &sandbox, &["rev-parse", "main"]), theirs);
    let (_, hint) = refused["push_error"].as_str().unwrap().split_once("hint: ").unwrap();
    paste(&sandbox, &sandbox.root, hint);
    is_over(&sandbox, &bare);
    let log = at(&bare, &sandbox, &["log", "--format=%s", "main"]);
    assert!(log.contains("by Bob") && log.contains("by Ada"), "{log}");
    assert_eq!(sandbox.read("paper.pdf"), "bob\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn an_old_branch_under_a_new_name_is_recognised_and_rewritten() {
    let sandbox = grown();
    let (bare, colleague) = with_colleague(&sandbox);
    sandbox.colony(&["lfs", "migrate", "--push"]);
    colleague.write("paper.pdf", "bob\n");
    colleague.git(&["commit", "-qam", "by Bob"]);
    colleague.git(&["push", "-q", "origin", "main:bobs"]);
    is_recognised(&sandbox, "bobs");
    let refused = sandbox.json(&["lfs", "migrate", "--push"]);
    let (_, hint) = refused["push_error"].as_str().unwrap().split_once("hint: ").unwrap();
    paste(&sandbox, &sandbox.root, hint);
    is_over(&sandbox, &bare);
    let log = at(&bare, &sandbox, &["log", "--format=%s", "bobs"]);
    assert!(log.starts_with("by Bob\n"), "{log}");
    assert_eq!(sandbox.git(&["rev-parse", "bobs~1"]), sandbox.git(&["rev-parse", "main"]));
}

#[test]
fn an_operation_from_before_is_refused_and_its_files_come_back() {
    let sandbox = grown();
    sandbox.write("text.txt", "worked\n");
    sandbox.colony(&["checkpoint", "-m", "one"]);
    sandbox.write("text.txt", "on\n");
    let before = sandbox.json(&["restore", "one"])["recovery"].clone();
    sandbox.colony(&["lfs", "migrate"]);
    let refused = sandbox.json(&["restore", before.as_str().unwrap()]);
    assert_eq!(refused["code"], "history-rewritten", "{refused:#}");
    paste(&sandbox, &sandbox.root, hint_of(&refused));
    assert_eq!(sandbox.read("text.txt"), "on\n");
}
