//! Taking a migration to git-lfs back: it is an operation like any other, published or not.

use crate::support::Sandbox;

use super::in_progress::shell;
use super::rewrite::{POINTER, at, grown, grown_with_origin};

/// The state that an undo brings back: refs, files, index, the configuration of git-lfs.
fn state(sandbox: &Sandbox) -> (String, String, String, bool) {
    let refs = ["for-each-ref", "refs/heads", "refs/tags", "refs/notes", "refs/colony"];
    let hook = sandbox.path(".git/hooks/pre-push").exists();
    (
        sandbox.git(&refs),
        format!("{:?}", sandbox.visible_state()),
        sandbox.read(".git/config"),
        hook,
    )
}

#[test]
fn undo_and_redo_of_a_migration_bring_everything_back() {
    let sandbox = grown();
    let before = state(&sandbox);
    let migrated = sandbox.colony(&["lfs", "migrate"]);
    assert!(migrated.contains("to undo: git colony undo"), "{migrated}");
    let after = state(&sandbox);
    assert_ne!(after, before);
    for _ in 0..2 {
        sandbox.colony(&["undo"]);
        assert_eq!(state(&sandbox), before);
        // Also once git looks inside: no filter calls a large file modified.
        sandbox.write("paper.pdf", "paper 3\n");
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
        sandbox.colony(&["redo"]);
        assert_eq!(state(&sandbox).0, after.0);
        let pointer = sandbox.git(&["show", "main:paper.pdf"]);
        assert!(pointer.starts_with(POINTER), "{pointer}");
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    }
    sandbox.check_invariants_of_git();
}

#[test]
fn undo_goes_through_a_migration_step_by_step() {
    let sandbox = grown();
    sandbox.write("text.txt", "before\n");
    let start = state(&sandbox);
    sandbox.colony(&["checkpoint", "-m", "before"]);
    let before = state(&sandbox);
    sandbox.colony(&["lfs", "migrate"]);
    let between = state(&sandbox);
    sandbox.write("paper.pdf", "after\n");
    sandbox.colony(&["checkpoint", "-m", "after"]);
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.read("paper.pdf"), "after\n");
    sandbox.write("paper.pdf", "paper 3\n");
    assert_eq!(state(&sandbox).0, between.0);
    sandbox.colony(&["undo"]);
    assert_eq!(state(&sandbox), before);
    sandbox.colony(&["undo"]);
    assert_eq!(state(&sandbox), start);
    sandbox.colony(&["redo", "2"]);
    assert_eq!(state(&sandbox).0, between.0);
    sandbox.check_invariants_of_git();
}

#[test]
fn a_published_migration_is_taken_back_here() {
    let (sandbox, bare) = grown_with_origin();
    let before = sandbox.git(&["rev-parse", "main"]);
    let pushed = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(pushed["pushed"], true, "{pushed:#}");
    let theirs = at(&bare, &sandbox, &["for-each-ref"]);
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.git(&["rev-parse", "main"]), before);
    assert_eq!(at(&bare, &sandbox, &["for-each-ref"]), theirs);
    // And again, to the same ids: origin has all of it.
    let again = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!((&again["head"], &again["pushed"]), (&pushed["head"], &true.into()), "{again:#}");
    assert_eq!(at(&bare, &sandbox, &["rev-parse", "main"]), pushed["head"]);
}

#[test]
fn a_branch_whose_name_is_not_text_is_rewritten_and_comes_back() {
    let sandbox = grown();
    // The shell makes the byte that is not text.
    shell(&sandbox, &sandbox.root, r#"git update-ref "$(printf 'refs/heads/l\351')" HEAD"#);
    let listed = || shell(&sandbox, &sandbox.root, "git for-each-ref refs/heads").stdout;
    let before = listed();
    sandbox.colony(&["lfs", "migrate"]);
    let after = listed();
    assert!(after.windows(2).any(|bytes| bytes == b"l\xe9"));
    assert_ne!(after, before);
    sandbox.colony(&["undo"]);
    assert_eq!(listed(), before);
}

#[test]
fn work_since_stops_an_undo_as_any_work_does() {
    let (sandbox, _) = grown_with_origin();
    sandbox.colony(&["lfs", "migrate"]);
    sandbox.git(&["switch", "-q", "side"]);
    sandbox.write("since.txt", "since\n");
    sandbox.git(&["add", "since.txt"]);
    sandbox.git(&["commit", "-qm", "worked on"]);
    let made = sandbox.git(&["rev-parse", "HEAD"]);
    assert_eq!(sandbox.error(&["undo"]), "external-change");
    assert_eq!(sandbox.git(&["rev-parse", "side"]), made);
}
