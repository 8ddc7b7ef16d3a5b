//! The old history pushed back by somebody after a migration to git-lfs, with or without our hooks: whoever has
//! the new one is told, and each way on works as it stands.

use crate::support::{Sandbox, View};

use super::in_progress::{hint_of, paste, shell};
use super::rewrite::{POINTER, at, clone_of_another, grown, with_origin};
use std::path::{Path, PathBuf};

/// A published migration, and the clone of a colleague from before it.
fn with_colleague(sandbox: &Sandbox) -> (PathBuf, View) {
    let bare = with_origin(sandbox);
    let colleague = clone_of_another(sandbox, &bare, "colleague");
    (bare, colleague)
}

/// What `sync`, its dry run, `status` and `merge` say: all of them that history is from before.
fn is_recognised(sandbox: &Sandbox, branch: &str) -> String {
    let heads = sandbox.git(&["for-each-ref", "refs/heads", "refs/tags"]);
    let state = (sandbox.git(&["ls-files", "-s"]), sandbox.worktree());
    let refused = sandbox.json(&["sync"]);
    assert_eq!(refused["code"], "history-rewritten", "{refused:#}");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains(branch), "{message}");
    assert_eq!(sandbox.error(&["sync", "-n"]), "history-rewritten");
    let remote = format!("origin/{branch}");
    assert_eq!(sandbox.error(&["merge", &remote]), "history-rewritten");
    let status = sandbox.json(&["status"]);
    let health = status["health"].as_array().unwrap().iter();
    let found = health.filter(|one| one["name"] == "history-rewritten");
    let found: Vec<_> = found.map(|one| one["detail"].as_str().unwrap()).collect();
    assert!(found.iter().any(|detail| detail.contains(&remote)), "{status:#}");
    assert!(found.iter().any(|detail| detail.contains(hint_of(&refused))), "{status:#}");
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
    let health = sandbox.json(&["status"])["health"].to_string();
    assert!(!health.contains("history-rewritten"), "{health}");
    sandbox.check_invariants_of_git();
}

#[test]
fn the_very_old_history_forced_back_is_recognised_and_replaced() {
    let sandbox = grown();
    let (bare, colleague) = with_colleague(&sandbox);
    sandbox.colony(&["lfs", "migrate"]);
    colleague.git(&["push", "-q", "--force", "origin", "main"]);
    let hint = is_recognised(&sandbox, "main");
    paste(&sandbox, &sandbox.root, &hint);
    is_over(&sandbox, &bare);
}

#[test]
fn commits_on_old_history_forced_back_move_to_the_new_one() {
    let sandbox = grown();
    let (bare, colleague) = with_colleague(&sandbox);
    sandbox.colony(&["lfs", "migrate"]);
    colleague.write("paper.pdf", "bob\n");
    colleague.git(&["commit", "-qam", "by Bob"]);
    colleague.git(&["push", "-q", "--force", "origin", "main"]);
    // Here work has gone on too.
    sandbox.write("text.txt", "ours\n");
    sandbox.git(&["commit", "-qam", "by Ada"]);
    let hint = is_recognised(&sandbox, "main");
    // Neither is published over.
    let theirs = at(&bare, &sandbox, &["rev-parse", "main"]);
    let refused = sandbox.json(&["lfs", "migrate"]);
    assert_eq!(refused["code"], "left-behind", "{refused:#}");
    assert_eq!(hint_of(&refused), hint);
    assert_eq!(at(&bare, &sandbox, &["rev-parse", "main"]), theirs);
    paste(&sandbox, &sandbox.root, &hint);
    is_over(&sandbox, &bare);
    let log = at(&bare, &sandbox, &["log", "--format=%s", "main"]);
    assert!(log.contains("by Bob") && log.contains("by Ada"), "{log}");
    assert_eq!(sandbox.read("paper.pdf"), "bob\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn what_is_rewritten_and_not_merged_yet_is_not_published_over() {
    let sandbox = grown();
    let (bare, colleague) = with_colleague(&sandbox);
    sandbox.colony(&["lfs", "migrate"]);
    colleague.git(&["commit", "-q", "--allow-empty", "-m", "by Bob"]);
    colleague.git(&["push", "-q", "--force", "origin", "main"]);
    sandbox.git(&["fetch", "-q", "origin", "main"]);
    sandbox.git(&["branch", "bobs", "FETCH_HEAD"]);
    sandbox.colony(&["lfs", "migrate", "--no-push"]);
    let theirs = at(&bare, &sandbox, &["rev-parse", "main"]);
    let answer = sandbox.json(&["lfs", "migrate", "--continue"]);
    assert_eq!(answer["push_error_code"], "left-behind", "{answer:#}");
    assert_eq!(at(&bare, &sandbox, &["rev-parse", "main"]), theirs);
    let (_, hint) = answer["push_error"].as_str().unwrap().split_once("hint: ").unwrap();
    paste(&sandbox, &sandbox.root, hint);
    is_over(&sandbox, &bare);
    assert!(at(&bare, &sandbox, &["log", "--format=%s", "main"]).contains("by Bob"));
}

#[test]
fn an_old_branch_under_a_new_name_is_recognised_and_rewritten() {
    let sandbox = grown();
    let (bare, colleague) = with_colleague(&sandbox);
    sandbox.colony(&["lfs", "migrate"]);
    colleague.write("paper.pdf", "bob\n");
    colleague.git(&["commit", "-qam", "by Bob"]);
    colleague.git(&["push", "-q", "origin", "main:bobs"]);
    let hint = is_recognised(&sandbox, "bobs");
    paste(&sandbox, &sandbox.root, &hint);
    is_over(&sandbox, &bare);
    let log = at(&bare, &sandbox, &["log", "--format=%s", "bobs"]);
    assert!(log.starts_with("by Bob\n"), "{log}");
    assert_eq!(sandbox.git(&["rev-parse", "bobs~1"]), sandbox.git(&["rev-parse", "main"]));
}

#[test]
fn our_hooks_stop_a_colleague_who_knows_from_pushing_it_back() {
    let sandbox = grown();
    let (bare, colleague) = with_colleague(&sandbox);
    colleague.colony(&["hooks", "install"]);
    sandbox.colony(&["lfs", "migrate"]);
    let theirs = at(&bare, &sandbox, &["for-each-ref"]);
    colleague.git(&["fetch", "-q", "origin", "refs/colony/migrations:refs/colony/migrations"]);
    let output = shell(&sandbox, &colleague.path(""), "git push --force origin main");
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("history was rewritten"), "{said}");
    assert_eq!(at(&bare, &sandbox, &["for-each-ref"]), theirs);
    let hint = said.lines().find_map(|line| line.strip_prefix("hint: ")).unwrap();
    paste(&sandbox, &colleague.path(""), hint);
    let main = sandbox.git(&["rev-parse", "main"]);
    assert_eq!(colleague.git(&["rev-parse", "main"]), main);
}

#[test]
fn our_hooks_stop_a_colleague_who_has_not_heard_from_pushing() {
    let sandbox = grown();
    let (bare, colleague) = with_colleague(&sandbox);
    colleague.colony(&["hooks", "install"]);
    colleague.git(&["commit", "-q", "--allow-empty", "-m", "work"]);
    sandbox.colony(&["lfs", "migrate"]);
    let theirs = at(&bare, &sandbox, &["for-each-ref"]);
    for line in ["git push --force origin main", "git push origin main:refs/heads/another"] {
        let output = shell(&sandbox, &colleague.path(""), line);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("history was rewritten"), "{line}: {said}");
        assert_eq!(at(&bare, &sandbox, &["for-each-ref"]), theirs);
    }
    // What has nothing to do with it goes through.
    let tree = colleague.git(&["mktree"]);
    let apart = colleague.git(&["commit-tree", "-m", "apart", &tree]);
    colleague.git(&["push", "-q", "origin", &format!("{apart}:refs/heads/apart")]);
    let refused = colleague.json(&["sync"]);
    assert_eq!(refused["code"], "history-rewritten", "{refused:#}");
    paste(&sandbox, &colleague.path(""), hint_of(&refused));
    colleague.git(&["push", "-q", "origin", "main"]);
    assert_eq!(colleague.git(&["log", "-1", "--format=%s"]), "work");
}

#[test]
fn a_commit_or_operation_from_before_is_shown_with_its_new_id() {
    let sandbox = grown();
    sandbox.write("text.txt", "worked\n");
    sandbox.colony(&["checkpoint", "-m", "one"]);
    sandbox.write("text.txt", "on\n");
    let before = sandbox.json(&["restore", "one"])["recovery"].clone();
    let old = sandbox.git(&["rev-parse", "side"]);
    sandbox.colony(&["lfs", "migrate"]);
    let refused = sandbox.json(&["merge", &old]);
    assert_eq!(refused["code"], "history-rewritten", "{refused:#}");
    paste(&sandbox, &sandbox.root, hint_of(&refused));
    let refused = sandbox.json(&["restore", before.as_str().unwrap()]);
    assert_eq!(refused["code"], "history-rewritten", "{refused:#}");
    paste(&sandbox, &sandbox.root, hint_of(&refused));
    assert_eq!(sandbox.read("text.txt"), "on\n");
}
