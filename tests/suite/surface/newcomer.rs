//! What somebody new to the program ran into: what it says has to be so, and what it offers to work.

use std::process::Command;

use serde_json::Value;

use crate::support::Sandbox;

fn hook(sandbox: &Sandbox, path: &str, script: &str) {
    sandbox.write_program(path, format!("#!/bin/sh\n{script}\n"));
}

fn checks(answer: &Value) -> Vec<(String, String)> {
    let checks = answer["checks"].as_array().unwrap();
    let ill = checks.iter().filter(|check| check["ok"] == false);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    ill.map(|check| (text(&check["name"]), text(&check["fix"]))).collect()
}

#[test]
fn a_moved_or_copied_repository_gets_its_former_hooks_back() {
    for copied in [true, false] {
        let sandbox = Sandbox::new();
        hook(&sandbox, "hk/pre-commit", "echo ran >> ../ran");
        sandbox.git(&["config", "core.hooksPath", "hk"]);
        let before = sandbox.read(".git/config");
        sandbox.colony(&["hooks", "install"]);
        let place = sandbox.outside().join("elsewhere");
        let mut program = Command::new(if copied { "cp" } else { "mv" });
        program.args(copied.then_some("-r"));
        assert!(program.args([&sandbox.root, &place]).status().unwrap().success());
        let moved = sandbox.at(place.clone());
        assert_eq!(
            checks(&moved.json(&["doctor"])),
            [("hooks".to_owned(), "git colony hooks install".to_owned())]
        );
        let answer = moved.json(&["hooks", "install"]);
        let steps = answer["steps"].to_string();
        assert!(steps.contains("its hooks run those of 'hk'"), "{steps}");
        moved.git(&["commit", "-q", "--allow-empty", "-m", "one"]);
        let ran = std::fs::read_to_string(sandbox.outside().join("ran"));
        assert_eq!(ran.unwrap(), "ran\n");
        let other = ["config", "user.nickname", "ada"];
        moved.git(&other);
        moved.colony(&["hooks", "install"]);
        moved.git(&["config", "--unset", "user.nickname"]);
        moved.colony(&["hooks", "uninstall"]);
        assert_eq!(moved.git(&["config", "core.hooksPath"]), "hk");
        assert_eq!(std::fs::read_to_string(place.join(".git/config")).unwrap(), before);
    }
}

#[test]
fn files_that_a_redo_moved_aside_again_are_found() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "one"]);
    sandbox.write("notes.txt", "precious\n");
    sandbox.colony(&["restore", "one"]);
    for _ in 0..2 {
        sandbox.colony(&["undo"]);
        assert_eq!(checks(&sandbox.json(&["doctor", "--deep"])), []);
        assert_eq!(sandbox.json(&["ops", "show", "op-2"])["kept"][0]["kept_at"], Value::Null);
        sandbox.colony(&["redo"]);
        assert_eq!(checks(&sandbox.json(&["doctor", "--deep"])), []);
    }
    let shown = sandbox.json(&["ops", "show", "op-2"]);
    let kept = shown["kept"][0]["kept_at"].as_str().unwrap();
    assert!(kept.ends_with("0000000006/0"), "{kept}");
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "precious\n");
    // What the redo keeps is what is looked for.
    std::fs::remove_file(kept).unwrap();
    assert_eq!(checks(&sandbox.json(&["doctor", "--deep"]))[0].0, "operations");
}

fn hint(sandbox: &Sandbox, args: &[&str]) -> String {
    sandbox.json(args)["hint"].as_str().unwrap().to_owned()
}

#[test]
fn an_ambiguous_label_is_offered_as_the_same_command_with_an_id() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "it's dup"]);
    let newest = sandbox.json(&["checkpoint", "-m", "it's dup"]);
    let id = newest["checkpoint_id"].as_str().unwrap();
    let answer = sandbox.json(&["restore", "it's dup", "--", "a b.txt"]);
    assert_eq!(answer["code"], "checkpoint-ambiguous");
    assert_eq!(answer["detail"]["candidates"][0], id);
    let wanted = format!("git colony --json restore {id} -- 'a b.txt'   # the newest of them");
    assert_eq!(answer["hint"], wanted.as_str());
    let shown = hint(&sandbox, &["checkpoints", "show", "it's"]);
    assert!(shown.starts_with(&format!("git colony --json checkpoints show {id}  ")));
}

#[test]
fn a_name_that_is_no_checkpoint_is_explained() {
    let sandbox = Sandbox::new();
    assert_eq!(hint(&sandbox, &["restore", "auto@{0}"]), "git colony checkpoints --auto");
    let offered = hint(&sandbox, &["checkpoints", "show", "HEAD"]);
    assert!(offered.starts_with("git colony checkpoints tag -m 'as of HEAD' HEAD  "), "{offered}");
    assert_eq!(hint(&sandbox, &["restore", "nothing"]), "git colony checkpoints");
}

#[test]
fn a_merge_of_several_is_offered_as_the_command_that_does_it() {
    let sandbox = Sandbox::new();
    let offered = hint(&sandbox, &["merge", "ada", "bob's", "eve"]);
    let line = "git colony land --no-test ada 'bob'\\''s' eve   # all of them, as one operation";
    assert_eq!(offered, line);
    for args in [&["merge", "ada", "--no-such"][..], &["merge", "--squash", "ada", "bob"]] {
        assert!(!hint(&sandbox, args).contains("land"), "{args:?}");
    }
    for agent in ["ada", "bob"] {
        let clone = crate::agents::new_and_merge::agent(&sandbox, agent);
        crate::agents::new_and_merge::commit(&clone, &format!("{agent}.txt"), "work\n");
    }
    sandbox.colony(&["land", "--no-test", "ada", "bob"]);
    assert!(sandbox.path("bob.txt").exists());
}

#[test]
fn a_label_that_names_something_else_is_refused() {
    let sandbox = Sandbox::new();
    for label in ["", "  ", "op-3", "@{0}", "auto@{1}", "@{-1}", "HEAD", "@", "HEAD~2", "@^"] {
        for command in ["checkpoint", "tag"] {
            assert_eq!(sandbox.error(&[command, "-m", label]), "invalid-value", "{label}");
        }
        assert_eq!(sandbox.error(&["checkpoint", "-n", "-m", label]), "invalid-value");
    }
    sandbox.colony(&["checkpoint", "-m", "op-code table"]);
    sandbox.colony(&["checkpoint", "-m", "HEAD of the list, @ada"]);
}

#[test]
fn status_says_what_undo_would_meet() {
    let sandbox = Sandbox::new();
    let undo = || sandbox.json(&["status"])["undo"].clone();
    assert_eq!(undo(), Value::Null);
    sandbox.write("a.txt", "two\n");
    sandbox.colony(&["checkpoint", "-m", "two"]);
    assert_eq!(undo()["op"], "op-1");
    assert_eq!(undo()["refused_as"], Value::Null);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "by hand"]);
    let objects = sandbox.git(&["count-objects"]);
    assert_eq!(undo()["refused_as"], "external-change");
    assert_eq!(undo()["op"], Value::Null);
    assert!(
        sandbox
            .colony(&["status"])
            .contains("undo --force would revert changes by plain git, commit: by hand")
    );
    assert_eq!(sandbox.git(&["count-objects"]), objects, "a look writes nothing");
    assert_eq!(sandbox.error(&["undo"]), "external-change");
    sandbox.colony(&["undo", "--force"]);
    assert_eq!(undo()["op"], "op-1");
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    assert_eq!(undo()["refused_as"], Value::Null);
    sandbox.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
    sandbox.git(&["bisect", "start"]);
    assert_eq!(undo()["refused_as"], "operation-in-progress");
}

fn list(value: &Value) -> Vec<&str> {
    let list = value.as_array().unwrap().iter();
    list.map(|value| value.as_str().unwrap()).collect()
}

#[test]
fn init_reports_an_attributes_file_that_gives_git_lfs_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitattributes", "*.txt text\n# *.bin filter=lfs\n");
    let said = sandbox.colony(&["init", "-n"]);
    assert!(said.contains("git-lfs gets no file"), "{said}");
    let answer = sandbox.json(&["init"]);
    assert_eq!(answer["lfs_enabled"], true);
    let lines = list(&answer["lines_to_add"]);
    assert!(lines.contains(&"*.pdf filter=lfs diff=lfs merge=lfs -text"));
    let ill = checks(&sandbox.json(&["doctor"]));
    assert_eq!(ill[0].0, "git-lfs-patterns");
    sandbox.write(".gitattributes", format!("*.txt text\n{}\n", lines.join("\n")));
    assert_eq!(checks(&sandbox.json(&["doctor"])), []);
    assert!(sandbox.colony(&["init"]).contains("stores large formats"));
}

#[test]
fn init_leaves_no_file_that_git_calls_modified() {
    let sandbox = Sandbox::new();
    sandbox.write("paper.pdf", "first\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "papers"]);
    let said = sandbox.colony(&["init"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert!(said.contains("stays in git"), "{said}");
    assert!(said.contains("\n  paper.pdf\n"), "{said}");
    sandbox.write("paper.pdf", "second\n");
    sandbox.git(&["commit", "-qam", "second"]);
    assert_eq!(sandbox.git(&["show", "HEAD:paper.pdf"]), "second");
}

#[test]
fn init_names_what_it_sets_up_beside_the_tree() {
    let sandbox = Sandbox::new();
    let planned = sandbox.json(&["init", "-n"])["set_up"].clone();
    assert!(list(&planned)[0].contains("filters"), "{planned}");
    assert!(list(&planned)[1].contains("pre-push"), "{planned}");
    assert_eq!(sandbox.json(&["init"])["set_up"], planned);
    assert!(sandbox.colony(&["init"]).starts_with("everything is set up already"));
    let clone = sandbox.outside().join("clone");
    sandbox.git(&["clone", "-q", ".", clone.to_str().unwrap()]);
    let clone = sandbox.at(clone);
    clone.git(&["config", "user.name", "Ada"]);
    clone.git(&["config", "user.email", "ada@example.com"]);
    assert_eq!(clone.json(&["status"])["health"][0]["name"], "git-lfs-filters");
    assert_eq!(clone.json(&["status", "--line"])["attention"], true);
    let answer = clone.json(&["init", "--colony", "other", "--url", "https://example.com/x"]);
    assert_eq!(answer["set_up"], planned);
    assert_eq!(list(&answer["unused_flags"]), ["--url", "--colony"]);
    assert_ne!(answer["message"], "everything is set up already");
    assert_eq!(clone.json(&["status"])["health"], Value::Array(Vec::new()));
}

#[test]
fn what_init_offers_for_taking_it_back_works() {
    let sandbox = Sandbox::new();
    let bare = sandbox.outside().join("bare.git");
    sandbox.git(&["init", "-q", "--bare", bare.to_str().unwrap()]);
    sandbox.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
    let said = sandbox.colony(&["init", "--push"]);
    assert!(said.contains("to undo the commit: git colony undo\n"), "{said}");
    assert!(said.contains("to undo the rest: git colony init remove\n"), "{said}");
    sandbox.colony(&["undo", "--force"]);
}

#[test]
fn deinit_says_what_it_does_once_and_what_stays() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["hooks", "install"]);
    sandbox.colony(&["hooks", "install", "--for", "codex"]);
    sandbox.colony(&["init"]);
    sandbox.git(&["config", "colony.keepDays", "7"]);
    sandbox.git(&["config", "colony.credential.example.com.username", "ada"]);
    let planned = sandbox.json(&["deinit", "-n"])["removed"].clone();
    assert_eq!(
        list(&planned),
        [
            "6 hooks of git",
            "2 hooks of codex",
            "MCP server of codex",
            "git-lfs: filters and hooks",
            "5 merge drivers",
            "settings colony.* of this repository"
        ]
    );
    let answer = sandbox.json(&["deinit"]);
    assert_eq!(answer["removed"], planned);
    let stays = list(&answer["stays"]).join("\n");
    assert!(stays.contains("63 lines for git-lfs, 7 lines for merges"), "{stays}");
    assert!(!sandbox.try_git(&["config", "--get-regexp", "^colony\\."]));
    assert_eq!(sandbox.json(&["deinit"])["removed"], Value::Array(Vec::new()));
}

#[test]
fn deinit_keeps_only_the_setting_that_uploads() {
    let sandbox = Sandbox::new();
    hook(&sandbox, ".git/hooks/pre-push", "exit 0");
    sandbox.colony(&["hooks", "install"]);
    sandbox.colony(&["init"]);
    sandbox.write("model.bin", "w".repeat(5000));
    sandbox.colony(&["checkpoint", "-m", "weights"]);
    sandbox.git(&["config", "colony.keepDays", "7"]);
    let answer = sandbox.json(&["deinit"]);
    assert_eq!(
        list(&answer["removed"]),
        ["5 merge drivers", "settings colony.* of this repository"]
    );
    assert!(list(&answer["stays"])[0].starts_with("hooks of git and colony.lfsHooks"));
    assert_eq!(sandbox.git(&["config", "--get-regexp", "^colony\\."]), "colony.lfshooks true");
    assert_eq!(sandbox.json(&["deinit"])["removed"], Value::Array(Vec::new()));
    // Once none of ours is there, nothing of git's hooks stays.
    for name in
        ["pre-commit", "pre-push", "post-commit", "post-checkout", "post-merge", "post-rewrite"]
    {
        sandbox.remove(&format!(".git/hooks/{name}"));
    }
    sandbox.remove(".git/colony/hooks.json");
    let stays = sandbox.json(&["deinit"])["stays"].to_string();
    assert!(!stays.contains("hooks of git"), "{stays}");
}

#[test]
fn a_purge_is_shown_without_force_before_it_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "one"]);
    sandbox.write("a.txt", "precious\n");
    sandbox.colony(&["restore", "one"]);
    let answer = sandbox.json(&["deinit", "--purge", "-n"]);
    assert_eq!(answer["needs_force"], true);
    assert_eq!(list(&answer["removed"]), ["2 private refs", "1 kept file", "1 checkpoint: 'one'"]);
    assert_eq!(sandbox.json(&["deinit", "--purge", "--force", "-n"])["needs_force"], false);
    assert_eq!(sandbox.error(&["deinit", "--purge"]), "kept-files");
}

#[test]
fn a_configuration_that_was_never_ours_is_no_concern_of_ours() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/settings.local.json", "// mine\n{}\n");
    assert_eq!(checks(&sandbox.json(&["doctor"])), []);
    assert_eq!(sandbox.json(&["deinit"])["removed"], Value::Array(Vec::new()));
    assert_eq!(sandbox.read(".claude/settings.local.json"), "// mine\n{}\n");
    sandbox.remove(".claude/settings.local.json");
    sandbox.colony(&["hooks", "install", "--for", "claude-code"]);
    sandbox.write(".claude/settings.local.json", "// mine\n{}\n");
    // One for each hook that it has; the file of servers is in order.
    assert_eq!(checks(&sandbox.json(&["doctor"])).len(), 9);
}

#[test]
fn a_clone_without_filters_is_told_what_it_keeps_whole() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init"]);
    sandbox.git(&["config", "--remove-section", "filter.lfs"]);
    sandbox.write("model.bin", "w".repeat(500));
    sandbox.write("empty.bin", "");
    sandbox.write("a.txt", "two\n");
    let wanted = serde_json::json!(["model.bin"]);
    assert_eq!(sandbox.json(&["checkpoint", "-n"])["without_filter"], wanted);
    let said = sandbox.colony(&["checkpoint", "-m", "one"]);
    assert!(said.contains("attention: 1 file for git-lfs kept in git"), "{said}");
    assert_eq!(sandbox.json(&["checkpoint", "-m", "two"])["without_filter"], serde_json::json!([]));
    assert_eq!(sandbox.error(&["lfs", "hydrate", "."]), "filter-failed");
    assert!(hint(&sandbox, &["lfs", "hydrate", "."]).starts_with("git colony init "));
    assert!(sandbox.colony(&["lfs", "status"]).contains("0 of 2 files that match"));
    let plain = Sandbox::new();
    assert!(!plain.colony(&["lfs", "status"]).contains("attention"));
}

#[test]
fn pointers_in_a_clone_are_fine_and_failed_downloads_say_why() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init"]);
    sandbox.write("model.bin", "w".repeat(5000));
    sandbox.colony(&["checkpoint", "-m", "weights"]);
    let pointer = sandbox.git(&["show", "HEAD:model.bin"]);
    sandbox.remove(".git/lfs/objects");
    // What the checkpoint keeps would do.
    sandbox.remove(".git/colony-kept/large-files");
    assert_eq!(
        checks(&sandbox.json(&["doctor"])),
        [("git-lfs-objects".to_owned(), "git lfs fetch".to_owned())]
    );
    sandbox.write("model.bin", format!("{pointer}\n"));
    assert_eq!(checks(&sandbox.json(&["doctor"])), []);
    let planned = sandbox.colony(&["lfs", "hydrate", "-n", "."]);
    assert!(planned.starts_with("would bring in 1 file of"), "{planned}");
    let answer = sandbox.json(&["lfs", "hydrate", "."]);
    let reason = answer["reasons"][0].as_str().unwrap();
    assert!(reason.to_lowercase().contains("error"), "{reason}");
}

#[test]
fn an_operation_of_plain_git_shows_where_head_went() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "one"]);
    sandbox.git(&["checkout", "-q", "-b", "side"]);
    sandbox.colony(&["checkpoint", "-m", "two"]);
    let shown = sandbox.colony(&["ops", "show", "op-2"]);
    assert!(shown.contains("HEAD    main -> side"), "{shown}");
}
