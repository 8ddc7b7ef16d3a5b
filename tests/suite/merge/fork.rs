//! Forks: begun, switched to, listed, deleted; git is the referee of every switch.

use std::fs;

use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::fixture::Fixture;

/// A sandbox with a fork `try` that has one commit, seen from `main`.
fn forked() -> Sandbox {
    FORKED.copy()
}

static FORKED: Fixture = Fixture::new(|| {
    let sandbox = Sandbox::new();
    sandbox.colony(&["fork", "try"]);
    sandbox.write("new.txt", "new\n");
    sandbox.write("a.txt", "one\ntwo\n");
    sandbox.colony(&["checkpoint", "-m", "tried"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox
});

fn branch(sandbox: &Sandbox) -> String {
    sandbox.git(&["branch", "--show-current"])
}

fn fork_named(sandbox: &Sandbox, name: &str) -> Value {
    let list = sandbox.json(&["forks"]);
    let forks = list["forks"].as_array().unwrap();
    let found = forks.iter().find(|fork| fork["name"] == name);
    found.unwrap_or_else(|| panic!("{list:#}")).clone()
}

#[test]
fn copies_of_what_these_tests_begin_with_are_whole() {
    FORKED.check();
}

#[test]
fn a_fork_begins_here_and_takes_uncommitted_work_along() {
    let sandbox = Sandbox::new();
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.write("a.txt", "edited\n");
    sandbox.git(&["add", "a.txt"]);
    sandbox.write("a.txt", "edited more\n");
    sandbox.write("untracked.txt", "mine\n");
    let before = sandbox.visible_state();
    let answer = sandbox.json(&["fork", "try"]);
    assert_eq!(answer["name"], "fork/try");
    assert_eq!(answer["head_sha"], json!(head));
    assert_eq!(answer["diverged_from_sha"], json!(head));
    assert_eq!(answer["diverged_from_branch"], "main");
    assert_eq!(answer["switched"], true);
    assert_eq!(answer["carried"], json!(["a.txt", "untracked.txt"]));
    assert_eq!(branch(&sandbox), "fork/try");
    let after = sandbox.visible_state();
    assert_eq!(after.index, before.index);
    assert_eq!(after.worktree, before.worktree);
    sandbox.check_invariants();
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.visible_state(), before);
    sandbox.colony(&["redo"]);
    assert_eq!(branch(&sandbox), "fork/try");
    sandbox.check_invariants();
}

#[test]
fn a_dry_run_and_no_switch_leave_everything() {
    let sandbox = Sandbox::new();
    let before = sandbox.visible_state();
    let answer = sandbox.json(&["fork", "try", "--dry-run"]);
    assert_eq!(answer["dry_run"], true);
    assert_eq!(answer["op"], Value::Null);
    assert_eq!(sandbox.visible_state(), before);
    assert!(!sandbox.path(".git/colony").exists());
    let answer = sandbox.json(&["fork", "fork/try", "--no-switch"]);
    assert_eq!(answer["switched"], false);
    assert_eq!(branch(&sandbox), "main");
    assert_eq!(sandbox.git(&["rev-parse", "fork/try"]), sandbox.git(&["rev-parse", "main"]));
}

#[test]
fn from_another_commit_index_and_files_are_what_git_makes_them() {
    let sandbox = forked();
    sandbox.write("c.txt", "mine\n");
    sandbox.git(&["add", "c.txt"]);
    sandbox.write("dir/b.txt", "edited\n");
    sandbox.write("free.txt", "untracked\n");
    let referee = sandbox.copy("referee");
    referee.git(&["switch", "-q", "-c", "fork/second", "fork/try"]);
    let answer = sandbox.json(&["fork", "second", "--from", "try"]);
    assert_eq!(answer["diverged_from_branch"], "fork/try");
    assert_eq!(answer["files_changed"], 2);
    assert_eq!(sandbox.worktree(), referee.worktree());
    let listed = ["ls-files", "-s", "-t"];
    assert_eq!(sandbox.git(&listed), referee.git(&listed));
    assert_eq!(sandbox.git(&["status", "--porcelain"]), referee.git(&["status", "--porcelain"]));
    let before_undo = sandbox.worktree();
    sandbox.colony(&["undo"]);
    assert_eq!(branch(&sandbox), "main");
    assert_eq!(sandbox.read("dir/b.txt"), "edited\n");
    assert_eq!(sandbox.read("a.txt"), "one\n");
    sandbox.colony(&["redo"]);
    assert_eq!(sandbox.worktree(), before_undo);
    sandbox.check_invariants();
}

#[test]
fn what_would_be_overwritten_stops_it() {
    let cases: [(&str, &str); 4] = [
        ("a.txt", "edited\n"),
        ("new.txt", "untracked\n"),
        ("new.txt/inside", "a directory in the way\n"),
        ("a.txt", "staged\n"),
    ];
    for (path, content) in cases {
        let sandbox = forked();
        sandbox.write(path, content);
        if content == "staged\n" {
            sandbox.git(&["add", path]);
            sandbox.write(path, "one\n");
        }
        let before = sandbox.visible_state();
        let answer = sandbox.json(&["fork", "second", "--from", "try"]);
        assert_eq!(answer["code"], "uncommitted-edits", "{path}");
        assert_eq!(answer["detail"]["paths"], json!([path]));
        assert_eq!(sandbox.visible_state(), before);
        sandbox.check_invariants();
    }
    // An edit that is what comes anyway is no obstacle.
    let sandbox = forked();
    sandbox.write("a.txt", "one\ntwo\n");
    sandbox.write("new.txt", "new\n");
    sandbox.colony(&["fork", "second", "--from", "try"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    sandbox.check_invariants();
}

#[test]
fn ignored_files_in_the_way_are_kept_aside() {
    let sandbox = forked();
    sandbox.write(".git/info/exclude", "new.txt\n");
    sandbox.write("new.txt", "ignored\n");
    let answer = sandbox.json(&["fork", "second", "--from", "try"]);
    assert_eq!(answer["ignored_kept"], json!(["new.txt"]));
    assert_eq!(sandbox.read("new.txt"), "new\n");
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.read("new.txt"), "ignored\n");
    sandbox.check_invariants();
}

#[test]
fn a_label_that_cannot_be_a_branch_is_refused_before_anything() {
    let sandbox = forked();
    let before = sandbox.visible_state();
    for bad in ["", "-x", "a b", "a..b", "x.lock", "a~", "a\nb", "/x", "x/", "a//b", "@{0}"] {
        let answer = sandbox.json(&["fork", "--", bad]);
        assert_eq!(answer["code"], "invalid-value", "{bad:?}");
    }
    sandbox.git(&["branch", "fork/deep/er"]);
    for taken in ["try", "fork/try", "try/below", "deep"] {
        let answer = sandbox.json(&["fork", taken]);
        assert_eq!(answer["code"], "branch-exists", "{taken}");
    }
    sandbox.git(&["branch", "-D", "fork/deep/er"]);
    assert_eq!(sandbox.visible_state(), before);
    let sandbox = Sandbox::unborn();
    assert_eq!(sandbox.error(&["fork", "x"]), "revision-not-found");
    let sandbox = Sandbox::new();
    sandbox.git(&["branch", "fork"]);
    assert_eq!(sandbox.error(&["fork", "x"]), "branch-exists");
}

#[test]
fn in_the_middle_of_a_merge_only_without_switching() {
    let sandbox = forked();
    sandbox.write("a.txt", "one\nthree\n");
    sandbox.git(&["commit", "-qam", "other"]);
    assert!(!sandbox.try_git(&["merge", "-q", "fork/try"]));
    assert_eq!(sandbox.error(&["fork", "x"]), "operation-in-progress");
    sandbox.colony(&["fork", "x", "--no-switch"]);
    assert_eq!(sandbox.git(&["rev-parse", "fork/x"]), sandbox.git(&["rev-parse", "main"]));
}

#[test]
fn the_list_says_how_each_would_merge() {
    let sandbox = forked();
    sandbox.git(&["branch", "fork/by-hand", "fork/try"]);
    sandbox.colony(&["fork", "clash", "--from", "main"]);
    sandbox.write("a.txt", "one\nthree\n");
    sandbox.colony(&["checkpoint", "-m", "clash"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.git(&["merge", "-q", "fork/try"]);
    sandbox.write("b.txt", "more\n");
    sandbox.colony(&["checkpoint", "-m", "more"]);
    sandbox.colony(&["fork", "clean", "--no-switch"]);
    let tried = fork_named(&sandbox, "fork/try");
    assert_eq!(tried["into"]["outcome"], "up_to_date");
    assert_eq!(tried["owner"], "Ada <ada@example.com>");
    assert_eq!((&tried["ahead"], &tried["behind"]), (&json!(0), &json!(1)));
    let clash = fork_named(&sandbox, "fork/clash");
    assert_eq!(clash["into"]["outcome"], "conflicted");
    assert_eq!(clash["into"]["paths"], json!(["a.txt"]));
    assert_eq!(clash["into"]["branch"], "main");
    assert_eq!((&clash["ahead"], &clash["behind"]), (&json!(1), &json!(2)));
    let by_hand = fork_named(&sandbox, "fork/by-hand");
    assert_eq!(by_hand["owner"], Value::Null);
    assert_eq!(by_hand["created_at"], Value::Null);
    let objects = sandbox.git(&["count-objects"]);
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("forks", sandbox.colony(&["forks"]));
    });
    assert_eq!(sandbox.git(&["count-objects"]), objects, "a preview leaves no object");
}

#[test]
fn a_renamed_fork_keeps_what_is_known_of_it() {
    let sandbox = forked();
    let known = fork_named(&sandbox, "fork/try");
    sandbox.git(&["branch", "-m", "fork/try", "fork/renamed"]);
    let renamed = fork_named(&sandbox, "fork/renamed");
    for field in ["created_at", "owner", "diverged_from_sha", "diverged_from_branch"] {
        assert_eq!(renamed[field], known[field], "{field}");
    }
    sandbox.colony(&["forks", "delete", "renamed", "--force"]);
    assert_eq!(sandbox.git(&["for-each-ref", "refs/colony/forks/", "refs/heads/fork/"]), "");
}

#[test]
fn deleting_asks_before_commits_go_and_gives_them_back() {
    let sandbox = forked();
    let before = sandbox.visible_state();
    let answer = sandbox.json(&["forks", "delete", "try"]);
    assert_eq!(answer["code"], "unmerged-commits");
    assert_eq!(answer["detail"]["unmerged"].as_array().unwrap().len(), 1);
    assert_eq!(sandbox.visible_state(), before);
    sandbox.json(&["forks", "delete", "try", "--force", "--dry-run"]);
    assert_eq!(sandbox.visible_state(), before);
    sandbox.colony(&["forks", "delete", "try", "--force"]);
    assert_eq!(sandbox.json(&["forks"])["count"], 0);
    sandbox.git(&["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(&["gc", "-q", "--prune=now"]);
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.visible_state().refs, before.refs);
    sandbox.check_invariants();
    assert_eq!(sandbox.error(&["forks", "delete", "nothing"]), "fork-not-found");
    assert_eq!(sandbox.error(&["forks", "delete", "a b"]), "fork-not-found");
    sandbox.git(&["merge", "-q", "fork/try"]);
    sandbox.colony(&["forks", "delete", "fork/try"]);
}

#[test]
fn a_fork_that_is_checked_out_anywhere_is_not_deleted() {
    let sandbox = forked();
    let other = sandbox.outside().join("other");
    sandbox.git(&["worktree", "add", "-q", other.to_str().unwrap(), "fork/try"]);
    assert_eq!(sandbox.error(&["forks", "delete", "try", "--force"]), "branch-in-use");
    sandbox.git(&["worktree", "remove", other.to_str().unwrap()]);
    sandbox.git(&["switch", "-q", "fork/try"]);
    assert_eq!(sandbox.error(&["forks", "delete", "try", "--force"]), "branch-in-use");
}

#[test]
fn a_checkpoint_comes_back_on_a_fork_of_its_own() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "kept\n");
    sandbox.colony(&["checkpoint", "-m", "kept"]);
    let kept = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.write("a.txt", "later\n");
    sandbox.git(&["commit", "-qam", "later"]);
    sandbox.write("untracked.txt", "unsaved\n");
    let before = sandbox.visible_state();
    let answer = sandbox.json(&["restore", "kept", "--mode", "fork", "--label", "back"]);
    assert_eq!(answer["branch"], "fork/back");
    assert_eq!(branch(&sandbox), "fork/back");
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), kept);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert!(!sandbox.path("untracked.txt").exists());
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.visible_state(), before);
    sandbox.colony(&["restore", "kept", "--mode", "fork"]);
    let name = branch(&sandbox);
    assert!(name.starts_with("fork/from-2026"), "{name}");
    assert_eq!(sandbox.error(&["restore", "kept", "--mode", "fork"]), "branch-exists");
    assert_eq!(sandbox.run(&["restore", "kept", "--label", "x"]).code, 129);
    sandbox.check_invariants();
}

#[test]
fn a_broken_record_hides_no_fork() {
    let sandbox = forked();
    let blob = sandbox.path("not-a-record");
    fs::write(&blob, "{").unwrap();
    let tree = sandbox.git(&["rev-parse", "main^{tree}"]);
    let commit = sandbox.git(&["commit-tree", "-m", "x", &tree]);
    sandbox.git(&["update-ref", "refs/colony/forks/try", &commit]);
    let fork = fork_named(&sandbox, "fork/try");
    assert_eq!(fork["created_at"], Value::Null);
    assert_eq!(fork["into"]["branch"], "main");
}

/// A path and what becomes of it.
type Edit = (&'static str, &'static [u8]);

/// A sandbox with four forks: two clash in a text, one with both in a binary, one with nobody.
fn crowd() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("image", b"\0one");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "base"]);
    let forks: [(&str, &[Edit]); 4] = [
        ("ada", &[("a.txt", b"ada\n"), ("image", b"\0ada")]),
        ("bob", &[("a.txt", b"bob\n"), ("dir/b.txt", b"bob\n")]),
        ("cleo", &[("image", b"\0cleo"), ("dir/b.txt", b"cleo\n")]),
        ("dan", &[("own.txt", b"dan\n")]),
    ];
    for (label, files) in forks {
        sandbox.colony(&["fork", label, "--from", "main"]);
        for (path, content) in files {
            sandbox.write(path, content);
        }
        sandbox.colony(&["checkpoint", "-m", label]);
    }
    sandbox.git(&["switch", "-q", "main"]);
    sandbox
}

#[test]
fn forks_that_clash_are_told_with_an_order_to_merge_them_in() {
    let sandbox = crowd();
    let objects = sandbox.git(&["count-objects", "-v"]);
    let answer = sandbox.json(&["forks", "--conflicts"]);
    let pair = |a: &str, b: &str, paths: &[&str], binary: bool| json!({"a": format!("fork/{a}"), "b": format!("fork/{b}"), "paths": paths, "binary": binary});
    let expected = json!([
        pair("ada", "bob", &["a.txt"], false),
        pair("ada", "cleo", &["image"], true),
        pair("bob", "cleo", &["dir/b.txt"], false),
    ]);
    assert_eq!(answer["matrix"], expected);
    let order = ["fork/dan", "fork/ada", "fork/bob", "fork/cleo"];
    assert_eq!(answer["merge_order"], json!(order));
    assert_eq!(sandbox.git(&["count-objects", "-v"]), objects);
    let cache = sandbox.path(".git/colony/cache/clashes-2.json");
    assert!(cache.exists());
    // What is cached is believed; what is broken or gone is found out again.
    for broken in [&b"{"[..], b"", b"[]"] {
        fs::write(&cache, broken).unwrap();
        let again = sandbox.json(&["forks", "--conflicts"]);
        assert_eq!(again["matrix"], expected);
    }
    fs::remove_file(&cache).unwrap();
    fs::create_dir(&cache).unwrap();
    assert_eq!(sandbox.json(&["forks", "--conflicts"])["matrix"], expected);
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("forks_conflicts", sandbox.colony(&["forks", "--conflicts"]));
    });
    sandbox.colony(&["merge", "ada"]);
    let answer = sandbox.json(&["forks", "--conflicts"]);
    let left = json!([pair("bob", "cleo", &["dir/b.txt"], false)]);
    assert_eq!(answer["matrix"], left, "what is merged clashes with nobody");
}

#[test]
fn status_says_who_else_touches_my_files() {
    let sandbox = crowd();
    assert_eq!(sandbox.json(&["status"])["touched_by_others"], json!([]));
    sandbox.write("a.txt", "mine\n");
    sandbox.write("own.txt", "mine\n");
    let touched = json!([
        {"fork": "fork/ada", "paths": ["a.txt"]},
        {"fork": "fork/bob", "paths": ["a.txt"]},
        {"fork": "fork/dan", "paths": ["own.txt"]},
    ]);
    assert_eq!(sandbox.json(&["status"])["touched_by_others"], touched);
    sandbox.remove("own.txt");
    sandbox.git(&["checkout", "-q", "a.txt"]);
    sandbox.git(&["switch", "-q", "fork/cleo"]);
    let touched = json!([
        {"fork": "fork/ada", "paths": ["image"]},
        {"fork": "fork/bob", "paths": ["dir/b.txt"]},
    ]);
    assert_eq!(sandbox.json(&["status"])["touched_by_others"], touched);
}

#[test]
fn the_undo_of_a_fork_leaves_newer_commits_of_its_base_alone() {
    for act in ["merge", "git"] {
        let sandbox = Sandbox::new();
        sandbox.write(".gitignore", "*.log\n");
        sandbox.write("deep/c.txt", "c\n");
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-qm", "second"]);
        let first = sandbox.git(&["rev-parse", "main"]);
        sandbox.git(&["branch", "newer"]);
        sandbox.git(&["worktree", "add", "-q", "../other", "newer"]);
        let other = sandbox.at(sandbox.outside().join("other"));
        std::fs::write(sandbox.outside().join("other/a.txt"), "newer\n").unwrap();
        std::fs::write(sandbox.outside().join("other/new.txt"), "newer\n").unwrap();
        other.git(&["add", "-A"]);
        other.git(&["commit", "-qm", "newer"]);
        if act == "git" {
            sandbox.colony(&["checkpoint", "-m", "begin"]);
            sandbox.git(&["switch", "-q", "-c", "fork/try"]);
        } else {
            sandbox.colony(&["fork", "try"]);
        }
        sandbox.write("deep/c.txt", "edited\n");
        sandbox.write("x.log", "ignored\n");
        other.colony(&["merge", "newer", "--into", "main"]);
        let newer = sandbox.git(&["rev-parse", "main"]);
        assert_ne!(first, newer);
        assert_eq!(sandbox.error(&["undo"]), "external-change");
        let told = sandbox.json(&["undo", "--force", "--dry-run"]);
        assert_eq!(told["head"]["new"], "refs/heads/main", "{told:#}");
        assert_eq!(sandbox.git(&["branch", "--show-current"]), "fork/try");
        let undone = sandbox.json(&["undo", "--force"]);
        assert_eq!(undone["ok"], true, "{undone:#}");
        assert_eq!(sandbox.git(&["rev-parse", "main"]), newer, "{act}");
        assert_eq!(sandbox.git(&["branch", "--show-current"]), "main");
        assert_eq!(sandbox.git(&["status", "--porcelain"]), " M deep/c.txt");
        assert_eq!(sandbox.read("a.txt"), "newer\n");
        assert_eq!(sandbox.read("new.txt"), "newer\n");
        assert_eq!(sandbox.read("deep/c.txt"), "edited\n");
        if act == "merge" {
            assert!(!sandbox.try_git(&["rev-parse", "-q", "--verify", "fork/try"]));
            sandbox.colony(&["redo"]);
            assert_eq!(sandbox.git(&["branch", "--show-current"]), "fork/try");
            assert_eq!(sandbox.git(&["status", "--porcelain"]), " M deep/c.txt");
            assert_eq!(sandbox.git(&["rev-parse", "main"]), newer);
        }
        sandbox.check_invariants();
    }
}

#[test]
fn what_is_edited_here_and_newer_there_stops_the_undo_of_a_fork() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["fork", "try"]);
    sandbox.write("a.txt", "newer\n");
    sandbox.git(&["commit", "-qam", "newer"]);
    sandbox.git(&["update-ref", "refs/heads/main", "HEAD"]);
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    sandbox.colony(&["checkpoint", "--auto"]);
    sandbox.write("a.txt", "mine\n");
    let before = sandbox.visible_state();
    let answer = sandbox.json(&["undo", "--force"]);
    assert_eq!(answer["ok"], false, "{answer:#}");
    assert_eq!(sandbox.visible_state(), before);
}

#[test]
fn a_fork_that_somebody_else_creates_meanwhile_is_refused() {
    for args in [
        &["fork", "try"][..],
        &["fork", "try/deeper"],
        &["restore", "good", "--mode", "fork", "--label", "try"],
    ] {
        let sandbox = Sandbox::new();
        sandbox.colony(&["checkpoint", "-m", "good"]);
        // A clean filter runs after the last look at the branches.
        let race = "git update-ref refs/heads/fork/try HEAD; cat";
        sandbox.git(&["config", "filter.race.clean", race]);
        sandbox.write(".git/info/attributes", "a.txt filter=race\n");
        sandbox.write("a.txt", "changed\n");
        let answer = sandbox.json(args);
        assert_eq!(answer["code"], "branch-exists", "{answer:#}");
        assert_eq!(answer["hint"], "git colony forks");
        let message = answer["message"].as_str().unwrap();
        assert!(!message.contains("lock ref"), "{message}");
        sandbox.check_invariants();
    }
}

#[test]
fn a_branch_in_use_is_named_with_the_worktree() {
    let sandbox = Sandbox::new();
    sandbox.git(&["branch", "busy"]);
    sandbox.colony(&["fork", "try"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "work"]);
    let other = sandbox.outside().join("the other");
    sandbox.git(&["worktree", "add", "-q", other.to_str().unwrap(), "busy"]);
    let told = |args: &[&str]| {
        let answer = sandbox.json(args);
        assert_eq!(answer["code"], "branch-in-use", "{answer:#}");
        answer["message"].as_str().unwrap().to_owned()
    };
    let named = format!("('{}')", other.display());
    assert!(told(&["merge", "try", "--into", "busy"]).contains(&named));
    // The main worktree, seen from a linked one.
    let linked = sandbox.at(other);
    let answer = linked.json(&["merge", "busy", "--into", "fork/try"]);
    let message = answer["message"].as_str().unwrap();
    let named = format!("('{}')", sandbox.root.display());
    assert!(message.contains(&named), "{message}");
    // By way of symbolic refs.
    linked.git(&["symbolic-ref", "refs/heads/middle", "refs/heads/busy"]);
    linked.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/middle"]);
    linked.git(&["symbolic-ref", "HEAD", "refs/heads/alias"]);
    assert!(told(&["merge", "try", "--into", "busy"]).contains("the other"));
    linked.git(&["symbolic-ref", "HEAD", "refs/heads/busy"]);
    // While it is rebased there, HEAD is on no branch.
    linked.git(&["commit", "-q", "--allow-empty", "-m", "there"]);
    let edit = ["-c", "sequence.editor=sed -i s/^pick/edit/", "rebase", "-q", "-i"];
    linked.git(&[&edit[..], &["--keep-empty", "HEAD~1"]].concat());
    assert!(told(&["merge", "try", "--into", "busy"]).contains("the other"));
}

#[test]
fn a_base_branch_that_only_lost_commits_gets_them_back() {
    let sandbox = Sandbox::new();
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "second"]);
    let tip = sandbox.git(&["rev-parse", "main"]);
    sandbox.colony(&["checkpoint", "-m", "begin"]);
    for begin in [&["switch", "-q", "-c", "x"][..], &[]] {
        if begin.is_empty() {
            sandbox.colony(&["fork", "try"]);
        } else {
            sandbox.git(begin);
        }
        sandbox.git(&["branch", "-q", "-f", "main", "HEAD~1"]);
        sandbox.colony(&["undo", "--force"]);
        assert_eq!(sandbox.git(&["branch", "--show-current"]), "main");
        assert_eq!(sandbox.git(&["rev-parse", "main"]), tip, "{begin:?}");
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    }
}

/// A clone whose only commit is on its remote.
fn cloned() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    sandbox
}

#[test]
fn a_fork_of_published_work_is_taken_back_without_force() {
    let sandbox = cloned();
    let before = sandbox.visible_state();
    sandbox.colony(&["fork", "try"]);
    let looked = sandbox.json(&["status"]);
    assert_eq!(looked["undo"]["refused_as"], serde_json::Value::Null);
    let undone = sandbox.json(&["undo"]);
    assert_eq!(undone["on_remote"], serde_json::Value::Null);
    assert_eq!(sandbox.visible_state(), before);
    sandbox.colony(&["redo"]);
    sandbox.colony(&["undo"]);
    sandbox.check_invariants();
}

#[test]
fn taking_in_what_a_remote_has_is_taken_back_without_force() {
    let sandbox = cloned();
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "next"]);
    sandbox.git(&["update-ref", "refs/remotes/origin/next", "HEAD"]);
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    // The branch moves on, and a fork that no remote knows merges.
    sandbox.colony(&["merge", "origin/next"]);
    sandbox.colony(&["undo"]);
    sandbox.colony(&["fork", "try"]);
    sandbox.colony(&["merge", "origin/next", "--into", "fork/try"]);
    sandbox.colony(&["undo"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "mine"]);
    sandbox.colony(&["merge", "origin/next", "--into", "fork/try"]);
    sandbox.colony(&["undo"]);
    // The branch of the same name counts: a push moves that one.
    sandbox.write("a.txt", "two\n");
    sandbox.colony(&["commit", "-m", "two", "--all"]);
    sandbox.git(&["update-ref", "refs/remotes/origin/topic", "HEAD"]);
    assert_eq!(sandbox.json(&["undo"])["on_remote"], serde_json::Value::Null);
}
