//! `git colony lfs migrate` with the real git and the real git-lfs: history is another afterwards, and
//! nothing that anybody had is gone.

use std::fs;
use std::path::{Path, PathBuf};

use git_colony::store::operation::STEPS;

use super::support::Sandbox;

const POINTER: &str = "version https://git-lfs.github.com/spec/v1";

/// A repository with three commits of large files in git, a branch, tags and notes, and the patterns
/// that came later.
fn grown() -> Sandbox {
    let sandbox = Sandbox::new();
    for number in 1..=3 {
        sandbox.write("paper.pdf", format!("paper {number}\n"));
        sandbox.write("sub/data.bin", format!("data {number}\n"));
        sandbox.write("text.txt", format!("text {number}\n"));
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-qm", &format!("change {number}")]);
    }
    sandbox.git(&["notes", "add", "-m", "a note", "HEAD~1"]);
    sandbox.git(&["tag", "light", "HEAD~1"]);
    sandbox.git(&["tag", "-am", "annotated", "v1", "HEAD~2"]);
    sandbox.git(&["branch", "side", "HEAD~2"]);
    sandbox.write(
        ".gitattributes",
        "# ours\n*.pdf filter=lfs diff=lfs merge=lfs -text\n*.bin filter=lfs diff=lfs merge=lfs -text\n",
    );
    sandbox.git(&["add", ".gitattributes"]);
    sandbox.git(&["commit", "-qm", "patterns"]);
    sandbox
}

/// A bare repository beside the sandbox's that has everything, as `origin`.
fn with_origin(sandbox: &Sandbox) -> PathBuf {
    let bare = sandbox.outside().join("origin.git");
    sandbox.git(&[
        "init",
        "-q",
        "--bare",
        "-b",
        "main",
        &bare.display().to_string(),
    ]);
    sandbox.git(&[
        "remote",
        "add",
        "origin",
        &format!("file://{}", bare.display()),
    ]);
    sandbox.git(&["push", "-q", "origin", "main", "side", "light", "v1"]);
    bare
}

/// Every ref that somebody could see, and our backups; operations are left out.
fn refs(sandbox: &Sandbox) -> String {
    let all = sandbox.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
    let kept = all
        .lines()
        .filter(|line| !line.starts_with("refs/colony-local/ops/"));
    kept.collect::<Vec<_>>().join("\n")
}

fn at(bare: &Path, sandbox: &Sandbox, args: &[&str]) -> String {
    sandbox.at(bare.to_owned()).git(args)
}

#[test]
fn every_ref_moves_to_a_history_with_pointers() {
    let sandbox = grown();
    let files = sandbox.worktree();
    let (old_main, old_side) = (
        sandbox.git(&["rev-parse", "main"]),
        sandbox.git(&["rev-parse", "side"]),
    );
    let answer = sandbox.json(&["lfs", "migrate"]);
    assert_eq!(answer["status"], "migrated", "{answer:#}");
    assert_eq!(answer["head"], sandbox.git(&["rev-parse", "HEAD"]));
    assert_eq!(answer["commits"], 5);
    for rev in ["main~3", "main~1", "main", "light", "v1", "side"] {
        let pointer = sandbox.git(&["show", &format!("{rev}:paper.pdf")]);
        assert!(pointer.starts_with(POINTER), "{rev}: {pointer}");
    }
    let attributes = sandbox.git(&["show", "main:.gitattributes"]);
    assert!(attributes.starts_with("# ours\n"), "{attributes}");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert_eq!(sandbox.worktree(), files);
    assert_eq!(sandbox.git(&["notes", "show", "main~2"]), "a note");
    assert_eq!(sandbox.git(&["cat-file", "-t", "v1"]), "tag");
    assert_eq!(
        sandbox.git(&["merge-base", "main", "side"]),
        sandbox.git(&["rev-parse", "side"])
    );
    sandbox.git(&["lfs", "fsck"]);
    let op = answer["op"].as_str().unwrap();
    for (name, old) in [("heads/main", old_main), ("heads/side", old_side)] {
        let kept = sandbox.git(&[
            "rev-parse",
            &format!("refs/colony-local/backup/{op}/{name}"),
        ]);
        assert_eq!(kept, old);
    }
    sandbox.check_invariants_of_git();
}

#[test]
fn abort_brings_every_ref_back_and_the_index_with_its_times() {
    let sandbox = grown();
    let (before, state) = (refs(&sandbox), sandbox.visible_state());
    sandbox.colony(&["lfs", "migrate"]);
    assert_ne!(refs(&sandbox), before);
    let answer = sandbox.json(&["lfs", "migrate", "--abort"]);
    assert_eq!(answer["status"], "aborted", "{answer:#}");
    assert_eq!(refs(&sandbox), before);
    assert_eq!(sandbox.visible_state(), state);
    assert_eq!(
        sandbox.error(&["lfs", "migrate", "--abort"]),
        "nothing-to-resolve"
    );
    // And once more, to the same ids.
    let first = sandbox.json(&["lfs", "migrate"]);
    let head = first["head"].clone();
    sandbox.colony(&["lfs", "migrate", "--abort"]);
    assert_eq!(sandbox.json(&["lfs", "migrate"])["head"], head);
    sandbox.check_invariants_of_git();
}

#[test]
fn wherever_it_dies_it_can_be_continued_or_taken_back() {
    for step in STEPS {
        for way in ["--continue", "--abort"] {
            let sandbox = grown();
            sandbox.git(&["lfs", "install", "--local"]);
            let (before, state) = (refs(&sandbox), sandbox.visible_state());
            let mut world = sandbox.world();
            world.die_at = Some(step);
            assert_eq!(
                sandbox.run_in(world, &["lfs", "migrate"]).code,
                128,
                "{step}"
            );
            let answer = sandbox.json(&["lfs", "migrate", way]);
            if way == "--abort" {
                // Before the commit point nothing was under way.
                let code = &answer["code"];
                assert!(
                    answer["ok"] == true || *code == "nothing-to-resolve",
                    "{answer:#}"
                );
                assert_eq!(refs(&sandbox), before, "{step}");
                assert_eq!(sandbox.visible_state(), state, "{step}");
            } else {
                assert_eq!(answer["ok"], true, "{step} {answer:#}");
                let pointer = sandbox.git(&["show", "v1:paper.pdf"]);
                assert!(pointer.starts_with(POINTER), "{step}");
                assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "{step}");
                sandbox.git(&["lfs", "fsck"]);
            }
            sandbox.check_invariants_of_git();
        }
    }
}

/// Prepares a repository with an origin and checks that a migration of it is refused, and changes
/// nothing.
fn refused(prepare: &dyn Fn(&Sandbox), code: &str, named: &str) {
    let sandbox = grown();
    with_origin(&sandbox);
    prepare(&sandbox);
    let state = (refs(&sandbox), sandbox.visible_state());
    let config = sandbox.read(".git/config");
    for args in [&["lfs", "migrate", "-n"][..], &["lfs", "migrate"]] {
        let answer = sandbox.json(args);
        assert_eq!(answer["code"], code, "{answer:#}");
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains(named), "{answer:#}");
        assert!(answer["hint"].is_string(), "{answer:#}");
        assert_eq!((refs(&sandbox), sandbox.visible_state()), state);
        assert_eq!(sandbox.read(".git/config"), config);
    }
}

#[test]
fn edits_that_would_be_lost_are_refused_before_anything_changes() {
    let edit = |s: &Sandbox| s.write("text.txt", "edited\n");
    refused(&edit, "uncommitted-edits", "1 file");
    let stage = |s: &Sandbox| {
        s.write("new.txt", "x");
        s.git(&["add", "new.txt"]);
    };
    refused(&stage, "uncommitted-edits", "1 file");
    let stash = |s: &Sandbox| {
        s.write("paper.pdf", "stashed\n");
        s.git(&["-c", "filter.lfs.clean=cat", "stash", "-q"]);
    };
    refused(&stash, "left-behind", "stash@{0}");
    let link = |s: &Sandbox| {
        let place = s.outside().join("linked").display().to_string();
        s.git(&["worktree", "add", "-q", &place, "side"]);
    };
    refused(&link, "left-behind", "linked");
}

#[test]
fn what_the_remote_alone_has_is_refused_before_anything_changes() {
    let branch = |s: &Sandbox| {
        s.git(&["push", "-q", "origin", "main:refs/heads/only-there"]);
    };
    refused(&branch, "left-behind", "only-there");
    let commits = |s: &Sandbox| {
        s.git(&["commit", "-qm", "elsewhere", "--allow-empty"]);
        s.git(&["push", "-q", "origin", "main"]);
        s.git(&["reset", "-q", "--hard", "HEAD~1"]);
    };
    refused(&commits, "left-behind", "main");
}

#[test]
fn what_git_lfs_could_not_do_is_refused_before_anything_changes() {
    let patterns = |s: &Sandbox| {
        s.write(".gitattributes", "*.txt text\n");
        s.git(&["commit", "-qam", "no patterns"]);
    };
    refused(&patterns, "no-lfs-patterns", ".gitattributes");
    let hook = |s: &Sandbox| {
        s.write(".git/hooks/pre-push", "#!/bin/sh\nexit 0\n");
        s.set_mode(".git/hooks/pre-push", 0o755);
    };
    refused(&hook, "hooks-in-the-way", "pre-push");
}

#[test]
fn everything_that_stands_in_the_way_is_named_at_once() {
    let sandbox = grown();
    with_origin(&sandbox);
    sandbox.git(&["push", "-q", "origin", "main:refs/heads/only-there"]);
    sandbox.write("text.txt", "edited\n");
    let answer = sandbox.json(&["lfs", "migrate"]);
    assert_eq!(answer["code"], "uncommitted-edits", "{answer:#}");
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("only-there"), "{message}");
    assert_eq!(answer["detail"]["others"][0]["code"], "left-behind");
}

#[test]
fn undo_does_not_go_back_behind_it() {
    let sandbox = grown();
    sandbox.write("text.txt", "kept\n");
    sandbox.colony(&["checkpoint", "-m", "before"]);
    sandbox.colony(&["lfs", "migrate"]);
    let answer = sandbox.json(&["undo", "--force"]);
    assert_eq!(answer["code"], "history-rewritten", "{answer:#}");
    sandbox.write("text.txt", "after\n");
    sandbox.colony(&["checkpoint", "-m", "after"]);
    assert_eq!(
        sandbox.error(&["lfs", "migrate", "--abort"]),
        "external-change"
    );
    sandbox.colony(&["undo"]);
    sandbox.colony(&["lfs", "migrate", "--abort"]);
    // The log is open again.
    sandbox.colony(&["undo"]);
    assert!(!sandbox.path(".git/colony/migration").exists());
    sandbox.check_invariants_of_git();
}

#[test]
fn origin_gets_the_new_history_and_its_objects_and_a_second_run_changes_nothing() {
    let sandbox = grown();
    let bare = with_origin(&sandbox);
    let answer = sandbox.json(&["lfs", "migrate"]);
    assert_eq!(answer["pushed"], true, "{answer:#}");
    assert_eq!(answer["push_error"], serde_json::Value::Null);
    for name in ["main", "side", "light", "v1"] {
        let (here, there) = (
            sandbox.git(&["rev-parse", name]),
            at(&bare, &sandbox, &["rev-parse", name]),
        );
        assert_eq!(here, there, "{name}");
    }
    let pointer = at(&bare, &sandbox, &["show", "main:paper.pdf"]);
    assert!(pointer.starts_with(POINTER), "{pointer}");
    let place = sandbox.outside().join("clone");
    sandbox.git(&[
        "clone",
        "-q",
        &format!("file://{}", bare.display()),
        &place.display().to_string(),
    ]);
    let clone = sandbox.at(place);
    clone.git(&["lfs", "install", "--local"]);
    clone.git(&["lfs", "pull"]);
    assert_eq!(
        fs::read_to_string(clone.path("paper.pdf")).unwrap(),
        "paper 3\n"
    );
    let before = refs(&sandbox);
    let again = sandbox.json(&["lfs", "migrate"]);
    assert_eq!(again["status"], "up_to_date", "{again:#}");
    assert_eq!(refs(&sandbox), before);
    assert_eq!(
        sandbox.error(&["lfs", "migrate", "--abort"]),
        "nothing-to-resolve"
    );
    sandbox.check_invariants_of_git();
}
