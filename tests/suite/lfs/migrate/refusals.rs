//! Where a migration to git-lfs cannot be made, or not here: each is refused before anything changes,
//! with a way on that works.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Sandbox, View};

use super::rewrite::{POINTER, grown, grown_with_origin, with_origin};

/// Everything that a refusal leaves alone.
fn everything(sandbox: &Sandbox) -> impl PartialEq + std::fmt::Debug + use<> {
    (
        sandbox.git(&["for-each-ref"]),
        sandbox.visible_state(),
        sandbox.read(".git/config"),
        sandbox.path(".git/hooks/pre-push").exists(),
        sandbox.path(".git/colony/migration").exists(),
    )
}

/// Checks that a migration is refused, dry and for real, and changes nothing; returns what was said.
fn refused(sandbox: &Sandbox, code: &str) -> Value {
    let before = everything(sandbox);
    let dry = sandbox.json(&["lfs", "migrate", "-n"]);
    assert!(dry["code"] == code || dry["ok"] == true, "{dry:#}");
    assert_eq!(everything(sandbox), before);
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["code"], code, "{answer:#}");
    assert_eq!(everything(sandbox), before);
    answer
}

fn migrated(sandbox: &Sandbox) {
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["status"], "migrated", "{answer:#}");
    sandbox.check_invariants_of_git();
}

#[test]
fn stale_locks_are_named_and_left() {
    for lock in ["refs/heads/main.lock", "index.lock"] {
        let sandbox = grown();
        let path = format!(".git/{lock}");
        sandbox.write(&path, "somebody's");
        let answer = refused(&sandbox, "locked");
        assert!(answer.to_string().contains(lock), "{answer:#}");
        assert_eq!(sandbox.read(&path), "somebody's");
        sandbox.remove(&path);
        migrated(&sandbox);
    }
}

/// A clone of the sandbox's origin that git was told not to bring all of.
fn incomplete(sandbox: &Sandbox, bare: &Path, how: &str) -> View {
    let place = sandbox.outside().join("incomplete");
    let (url, to) = (format!("file://{}", bare.display()), place.display().to_string());
    sandbox.git(&["clone", "-q", how, &url, &to]);
    sandbox.at(place)
}

#[test]
fn a_history_that_is_not_all_here_is_not_rewritten() {
    for (how, what) in [("--depth=1", "shallow"), ("--filter=blob:none", "partial")] {
        let (sandbox, bare) = grown_with_origin();
        sandbox.at(bare.clone()).git(&["config", "uploadpack.allowFilter", "true"]);
        let clone = incomplete(&sandbox, &bare, how);
        let before = clone.git(&["for-each-ref"]);
        let answer = clone.json(&["lfs", "migrate", "--push"]);
        assert_eq!(answer["code"], "unsupported", "{answer:#}");
        assert!(answer["message"].as_str().unwrap().contains(what), "{answer:#}");
        assert_eq!(clone.git(&["for-each-ref"]), before);
        assert!(!clone.path(".git/hooks/pre-push").exists());
    }
}

#[test]
fn a_shallow_clone_can_be_migrated_as_the_hint_says() {
    let (sandbox, bare) = grown_with_origin();
    let clone = incomplete(&sandbox, &bare, "--depth=1");
    let answer = clone.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["hint"], "git fetch --unshallow", "{answer:#}");
    clone.git(&["fetch", "-q", "--unshallow"]);
    clone.git(&["fetch", "-q", "origin", "refs/heads/side:refs/heads/side", "--tags"]);
    let answer = clone.json(&["lfs", "migrate", "--no-push"]);
    assert_eq!(answer["status"], "migrated", "{answer:#}");
}

#[test]
fn without_git_lfs_nothing_is_begun() {
    let sandbox = grown();
    let bin = sandbox.outside().join("bin");
    fs::create_dir(&bin).unwrap();
    for name in ["git", "sh"] {
        let path = std::env::var_os("PATH").unwrap();
        let mut found = std::env::split_paths(&path).map(|folder| folder.join(name));
        let found = found.find(|path| path.exists()).unwrap();
        std::os::unix::fs::symlink(found, bin.join(name)).unwrap();
    }
    let before = everything(&sandbox);
    for args in [
        &["--json", "lfs", "migrate", "--push"][..],
        &["--json", "lfs", "migrate", "-n"],
        &["--json", "init", "--push", "--migrate-existing-to-lfs"],
    ] {
        let mut world = sandbox.world();
        world.variables.insert("PATH".into(), bin.clone().into_os_string());
        let run = sandbox.run_in(world, args);
        let answer: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(answer["code"], "lfs-not-installed", "{answer:#}");
        assert_eq!(everything(&sandbox), before);
    }
}

#[test]
fn hooks_of_others_are_neither_replaced_nor_half_installed() {
    let sandbox = grown();
    sandbox.write_program(".githooks/pre-push", "#!/bin/sh\nexit 0\n");
    sandbox.git(&["add", ".githooks"]);
    sandbox.git(&["commit", "-qm", "hooks of the tree"]);
    sandbox.git(&["config", "core.hooksPath", ".githooks"]);
    refused(&sandbox, "hooks-in-the-way");
    sandbox.git(&["config", "core.hooksPath", "/dev/null"]);
    refused(&sandbox, "hooks-in-the-way");
    sandbox.git(&["config", "--unset", "core.hooksPath"]);
    // Others beside which git-lfs has its own.
    sandbox.write_program(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n");
    migrated(&sandbox);
    assert_eq!(sandbox.read(".git/hooks/pre-commit"), "#!/bin/sh\nexit 0\n");
}

#[test]
fn a_hook_of_somebody_is_no_obstacle_beside_ours() {
    let (sandbox, bare) = grown_with_origin();
    let ran = sandbox.outside().join("ran");
    sandbox.write_program(".git/hooks/pre-push", format!("#!/bin/sh\ntouch '{}'\n", ran.display()));
    let answer = refused(&sandbox, "hooks-in-the-way");
    assert!(answer["hint"].as_str().unwrap().contains("hooks install"), "{answer:#}");
    sandbox.colony(&["hooks", "install"]);
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["pushed"], true, "{answer:#}");
    assert!(ran.exists());
    let pointer = sandbox.at(bare).git(&["show", "main:paper.pdf"]);
    assert!(pointer.starts_with(POINTER), "{pointer}");
}

#[test]
fn a_bare_repository_has_nothing_to_migrate_in() {
    let sandbox = grown();
    let bare = sandbox.at(with_origin(&sandbox));
    let before = bare.git(&["for-each-ref"]);
    assert_eq!(bare.error(&["lfs", "migrate", "--push"]), "bare-repository");
    assert_eq!(bare.git(&["for-each-ref"]), before);
}

#[test]
fn from_a_linked_worktree_the_others_count() {
    let sandbox = grown();
    let place = sandbox.outside().join("linked");
    sandbox.git(&["worktree", "add", "-q", &place.display().to_string(), "side"]);
    let before = sandbox.git(&["for-each-ref"]);
    let linked = sandbox.at(place.clone());
    assert_eq!(linked.error(&["lfs", "migrate", "--push"]), "left-behind");
    assert_eq!(sandbox.git(&["for-each-ref"]), before);
    refused(&sandbox, "left-behind");
    // Its files are gone, and git still counts it until it is told.
    fs::remove_dir_all(&place).unwrap();
    let answer = refused(&sandbox, "left-behind");
    assert!(answer["hint"].as_str().unwrap().contains("git worktree prune"), "{answer:#}");
    sandbox.git(&["worktree", "prune"]);
    migrated(&sandbox);
}

#[test]
fn in_the_middle_of_something_nothing_is_begun() {
    let sandbox = grown();
    sandbox.git(&["switch", "-q", "-c", "more", "side"]);
    sandbox.write("more.txt", "more\n");
    sandbox.git(&["add", "more.txt"]);
    sandbox.git(&["commit", "-qm", "more"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.git(&["merge", "-q", "--no-commit", "--no-ff", "-s", "ours", "more"]);
    let answer = refused(&sandbox, "operation-in-progress");
    let hint = answer["hint"].as_str().unwrap();
    assert!(hint.starts_with("git merge --continue "), "{hint}");
    let dry = sandbox.json(&["lfs", "migrate", "-n"]);
    assert_eq!(dry["code"], "operation-in-progress", "{dry:#}");
    sandbox.git(&["merge", "--abort"]);
    sandbox.git(&["bisect", "start"]);
    refused(&sandbox, "operation-in-progress");
    sandbox.git(&["bisect", "reset"]);
    migrated(&sandbox);
}

#[test]
fn a_stash_without_large_files_survives_and_can_be_popped() {
    let sandbox = grown();
    sandbox.git(&["lfs", "install", "--local"]);
    sandbox.write("text.txt", "stashed\n");
    sandbox.git(&["stash", "-q"]);
    migrated(&sandbox);
    sandbox.git(&["stash", "pop", "-q"]);
    assert_eq!(sandbox.read("text.txt"), "stashed\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), " M text.txt");
}

#[test]
fn what_is_lost_is_said_beforehand() {
    let sandbox = grown();
    let dry = sandbox.json(&["lfs", "migrate", "-n"]);
    let notes = dry["notes"].to_string();
    for word in ["signature", "disk space", "another id"] {
        assert!(notes.contains(word), "{notes}");
    }
    // And what is rewritten has a line in the reflog.
    migrated(&sandbox);
    let log = sandbox.git(&["reflog", "-1", "--format=%gs", "main"]);
    assert!(log.contains("colony"), "{log}");
}

#[test]
fn patterns_with_spaces_and_such_as_take_back_are_those_of_git() {
    let sandbox = grown();
    sandbox.write(
        ".gitattributes",
        "*.bin filter=lfs diff=lfs merge=lfs -text\nsub/data.bin -filter\n\
         my[[:space:]]paper.pdf filter=lfs diff=lfs merge=lfs -text\r\n",
    );
    sandbox.write("my paper.pdf", "mine\n");
    sandbox.write("other.bin", "other\n");
    sandbox.git(&["-c", "filter.lfs.clean=cat", "add", "-A"]);
    sandbox.git(&["commit", "-qm", "other patterns"]);
    migrated(&sandbox);
    let is_pointer = |path: &str| {
        let content = sandbox.git(&["show", &format!("HEAD:{path}")]);
        content.starts_with(POINTER)
    };
    let found = ["other.bin", "sub/data.bin", "paper.pdf"].map(is_pointer);
    assert_eq!(json!(found), json!([true, false, false]));
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert_eq!(sandbox.read("my paper.pdf"), "mine\n");
    assert!(is_pointer("my paper.pdf"));
}

#[test]
fn edits_that_git_was_told_not_to_look_at_are_edits() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let sandbox = grown();
        sandbox.git(&["update-index", flag, "paper.pdf", "text.txt", "sub/data.bin"]);
        sandbox.write("paper.pdf", "an edit that nobody sees\n");
        // What a migration does not touch may be edited.
        sandbox.write("text.txt", "an edit that nobody sees\n");
        let answer = refused(&sandbox, "uncommitted-edits");
        let dry = sandbox.json(&["lfs", "migrate", "-n"]);
        assert_eq!(dry["code"], "uncommitted-edits", "{dry:#}");
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains("1 file has") && message.contains("paper.pdf"), "{message}");
        assert_eq!(answer["detail"]["paths"], json!(["paper.pdf"]), "{answer:#}");
        let hint = answer["hint"].as_str().unwrap();
        let (command, _) = hint.split_once("   #").unwrap();
        let shell = std::process::Command::new("sh")
            .args(["-c", command])
            .current_dir(&sandbox.root)
            .status();
        assert!(shell.unwrap().success());
        let status = sandbox.git(&["status", "--porcelain"]);
        assert_eq!(status.trim_start(), "M paper.pdf");
        sandbox.git(&["checkout", "-q", "--", "paper.pdf"]);
        migrated(&sandbox);
        assert_eq!(sandbox.read("text.txt"), "an edit that nobody sees\n");
    }
}
