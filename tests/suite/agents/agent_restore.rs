//! `agents restore`: an agent whose clone was taken away goes on where it ended.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use git_colony::testing::World;
use serde_json::Value;

use crate::support::{Sandbox, View, wait_for_locks};

fn agent(desk: &Sandbox, name: &str) -> PathBuf {
    let made = desk.json(&["agents", "new", name]);
    PathBuf::from(made["path"].as_str().unwrap_or_else(|| panic!("{made:#}")))
}

/// The files of a clone; git knows of no empty directories.
fn files_of(clone: &View) -> BTreeMap<String, String> {
    let mut found = clone.worktree();
    found.retain(|_, described| !described.starts_with("directory"));
    found
}

/// What a person sees of a clone: HEAD, branches, changes, stashes.
fn seen(clone: &View) -> Vec<String> {
    vec![
        clone.git(&["rev-parse", "HEAD"]),
        clone.git_any(&["symbolic-ref", "-q", "HEAD"]),
        clone.git(&[
            "for-each-ref",
            "--format=%(refname) %(objectname)",
            "refs/heads",
            "refs/notes",
        ]),
        clone.git(&["status", "--porcelain", "--no-renames", "--untracked-files=all"]),
        clone.git(&["stash", "list", "--format=%gs %H"]),
    ]
}

#[test]
fn everything_of_a_removed_agent_comes_back() {
    let desk = Sandbox::new();
    desk.git(&["config", "colony.keepRemovedDays", "0"]);
    let clone = agent(&desk, "ada");
    let inside = desk.at(clone.clone());
    inside.write("a.txt", "committed\n");
    inside.json(&["checkpoint", "-m", "kept by name"]);
    // A restore moves an untracked file aside.
    inside.write("aside.txt", "an hour of work\n");
    inside.json(&["restore", "kept by name", "--force"]);
    inside.git(&["notes", "add", "-m", "a note"]);
    inside.write("a.txt", "stashed\n");
    inside.git(&["stash", "-q"]);
    inside.write("a.txt", "edited\n");
    inside.write("new/untracked.txt", "untracked\n");
    fs::remove_file(clone.join("dir/b.txt")).unwrap();
    let before = seen(&inside);
    let (files, log) = (files_of(&inside), inside.json(&["ops"])["count"].clone());
    let removed = desk.colony(&["agents", "remove", "ada"]);
    assert!(removed.contains("to restore: git colony agents restore ada"), "{removed}");
    assert!(!clone.exists());
    let listed = desk.colony(&["agents"]);
    let line = listed.lines().find(|line| line.contains("removed"));
    let line = line.unwrap_or_else(|| panic!("{listed}"));
    assert!(line.len() < 80, "one short line: {line}");
    assert!(line.contains("git colony agents restore ada"), "{line}");

    let said = desk.json(&["agents", "restore", "ada"]);
    assert_eq!(said["path"], clone.to_str().unwrap());
    assert_eq!(said["fork"], "fork/ada");
    assert_eq!(said["files"], 3, "{said:#}");
    assert_eq!(seen(&inside), before);
    assert_eq!(files_of(&inside), files);
    // The log goes on: what was moved aside before the removal comes back, step by step.
    let ops = inside.json(&["ops"])["count"].as_u64().unwrap();
    assert_eq!(Some(ops), log.as_u64().map(|count| count + 1));
    inside.json(&["checkpoint", "-m", "before the way back"]);
    for _ in 0..12 {
        if clone.join("aside.txt").exists() {
            break;
        }
        inside.json(&["undo", "--force"]);
    }
    let back = fs::read_to_string(clone.join("aside.txt")).unwrap();
    assert_eq!(back, "an hour of work\n");
    inside.git(&["fsck", "--strict"]);
    let listed = desk.json(&["agents"]);
    assert_eq!(listed["removed"], Value::Array(Vec::new()));
    assert_eq!(listed["agents"][0]["agent"], "ada");
}

#[test]
fn what_was_uncommitted_once_does_not_come_back_the_next_time() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    let inside = desk.at(clone.clone());
    inside.write("a.txt", "edited\n");
    desk.json(&["agents", "remove", "ada"]);
    assert_eq!(desk.json(&["agents", "restore", "ada"])["files"], 1);
    assert_eq!(fs::read_to_string(clone.join("a.txt")).unwrap(), "edited\n");
    inside.json(&["checkpoint", "-m", "done"]);
    inside.write("later.txt", "aside\n");
    inside.json(&["restore", "--force", "done"]);
    desk.json(&["agents", "remove", "ada", "--force"]);
    let again = desk.json(&["agents", "restore", "ada"]);
    assert_eq!(again["files"], 0, "{again:#}");
    assert_eq!(again["had_uncommitted"], false);
    assert_eq!(inside.git(&["status", "--porcelain"]), "");
    // The log was handed over twice and is whole.
    let kept = clone.join(".git/colony-kept");
    let key = fs::read_to_string(clone.join(".git/colony/worktree-key")).unwrap();
    assert!(!kept.join(key.trim()).join("removed.json").exists());
    assert!(inside.json(&["ops"])["count"].as_u64().unwrap() >= 2);
}

#[test]
fn a_removed_agent_may_come_back_under_another_name() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    desk.at(clone.clone()).write("a.txt", "of the first\n");
    desk.json(&["agents", "remove", "ada"]);
    let said = desk.run(&["agents", "new", "ada"]);
    assert!(said.stderr.contains("git colony agents restore ada --as OTHER"), "{}", said.stderr);
    let refused = desk.run(&["agents", "restore", "ada", "--json"]);
    let refused: Value = serde_json::from_str(&refused.stdout).unwrap();
    assert_eq!(refused["code"], "agent-exists", "{refused:#}");
    assert!(refused["hint"].as_str().unwrap().contains("--as OTHER"));
    let said = desk.json(&["agents", "restore", "ada", "--as", "bob"]);
    let other = PathBuf::from(said["path"].as_str().unwrap());
    assert_eq!(fs::read_to_string(other.join("a.txt")).unwrap(), "of the first\n");
    let who = desk.at(other).git(&["config", "user.name"]);
    assert!(who.contains("bob"), "{who}");
    assert_ne!(fs::read_to_string(clone.join("a.txt")).unwrap(), "of the first\n");
}

#[test]
fn a_dry_run_says_it_and_an_unknown_name_is_refused() {
    let desk = Sandbox::new();
    assert_eq!(desk.error(&["agents", "restore", "eve", "-n"]), "hub-missing");
    let clone = agent(&desk, "ada");
    assert_eq!(desk.error(&["agents", "restore", "eve"]), "clone-not-found");
    desk.at(clone.clone()).write("a.txt", "edited\n");
    desk.json(&["agents", "remove", "ada"]);
    let hub = desk.json(&["agents"])["hub"].as_str().unwrap().to_owned();
    let refs = desk.git(&["-C", &hub, "for-each-ref"]);
    let said = desk.json(&["agents", "restore", "ada", "-n"]);
    assert_eq!(said["dry_run"], true);
    assert_eq!(said["had_uncommitted"], true);
    assert_eq!(said["operations"], 2, "{said:#}");
    assert!(!clone.exists());
    assert_eq!(desk.git(&["-C", &hub, "for-each-ref"]), refs);
}

#[test]
fn a_key_that_cannot_be_read_may_be_that_of_the_log() {
    let desk = Sandbox::new();
    agent(&desk, "ada");
    let other = agent(&desk, "bob");
    desk.git(&["config", "colony.keepRemovedDays", "0"]);
    desk.json(&["agents", "remove", "ada"]);
    let key = other.join(".git/colony/worktree-key");
    let kept = fs::read(&key).unwrap();
    fs::write(&key, "damaged").unwrap();
    for words in [&["agents", "restore", "ada", "-n"][..], &["agents", "restore", "ada"]] {
        let answer = desk.json(words);
        assert_eq!(answer["code"], "repository-broken");
        assert!(answer["message"].as_str().unwrap().contains("worktree-key"), "{answer:#}");
    }
    fs::write(&key, kept).unwrap();
    assert_eq!(desk.json(&["agents", "restore", "ada"])["operations"], 1);
}

#[test]
fn a_head_on_no_branch_comes_back() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    let inside = desk.at(clone.clone());
    inside.git(&["checkout", "-q", "--detach"]);
    inside.git(&["commit", "-q", "--allow-empty", "-m", "on no branch"]);
    inside.write("a.txt", "edited\n");
    let before = seen(&inside);
    desk.json(&["agents", "remove", "ada"]);
    desk.json(&["agents", "restore", "ada"]);
    assert_eq!(seen(&inside), before);
}

#[test]
fn the_way_back_is_named_where_a_removed_agent_is_missed() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    desk.at(clone).write("a.txt", "edited\n");
    desk.json(&["agents", "remove", "ada"]);
    for args in [&["merge", "ada"][..], &["diff", "ada"], &["log", "ada"]] {
        let run = desk.run(&[args, &["--json"]].concat());
        if run.stdout.contains("revision-not-found") {
            assert!(run.stdout.contains("agents restore ada"), "{args:?} {}", run.stdout);
        }
    }
    let merged = desk.run(&["merge", "ada", "--json"]);
    assert!(merged.stdout.contains("git colony agents restore ada"), "{}", merged.stdout);
}

#[test]
fn agents_that_left_nothing_are_not_listed() {
    let desk = Sandbox::new();
    for name in ["empty", "merged", "works"] {
        let clone = agent(&desk, name);
        let inside = desk.at(clone);
        if name != "empty" {
            inside.write(&format!("{name}.txt"), "work\n");
            inside.json(&["checkpoint", "-m", name]);
        }
        if name == "merged" {
            desk.json(&["merge", "merged"]);
        }
        desk.json(&["agents", "remove", name]);
    }
    let listed = desk.json(&["agents"]);
    let removed = listed["removed"].as_array().unwrap();
    let names: Vec<_> = removed.iter().map(|work| work["agent"].as_str().unwrap()).collect();
    assert_eq!(names, ["works"], "{listed:#}");
    // They come back all the same.
    desk.json(&["agents", "restore", "merged"]);
}

#[test]
fn a_removal_that_died_half_way_is_taken_back_whole() {
    for died_at in ["clone-kept", "clone-gone", "clone-kept-again", "clone-in-trash"] {
        let desk = Sandbox::new();
        let clone = agent(&desk, "ada");
        let inside = desk.at(clone.clone());
        inside.write("a.txt", "stashed\n");
        inside.git(&["stash", "-q"]);
        inside.write("a.txt", "edited\n");
        inside.write("new.txt", "new\n");
        let before = seen(&inside);
        desk.git(&["config", "colony.keepRemovedDays", "0"]);
        let world = World { die_at: Some(died_at), ..desk.world() };
        let died = desk.run_in(world, &["agents", "remove", "ada"]);
        let said = [died.stderr, died.stdout].concat();
        assert!(said.contains("died"), "{died_at} {said}");
        if clone.exists() {
            assert_eq!(died_at, "clone-kept");
            desk.json(&["agents", "remove", "ada"]);
        }
        wait_for_locks(&desk.outside().join("home/.local/share/git-colony/removing"));
        desk.json(&["agents", "restore", "ada"]);
        assert_eq!(seen(&inside), before, "{died_at}");
    }
}

/// A program may go on in a clone that was removed under it: plain git works, our commands say what happened.
#[cfg(target_os = "linux")]
#[test]
fn a_program_that_goes_on_in_a_removed_clone_hides_nothing() {
    for (days, ends_first) in [("7", true), ("7", false), ("0", true), ("0", false)] {
        let desk = Sandbox::new();
        desk.git(&["config", "colony.keepRemovedDays", days]);
        let clone = agent(&desk, "ada");
        let inside = desk.at(clone.clone());
        inside.write("unsaved.txt", "an hour of work\n");
        let mut program = desk.process("sleep");
        let mut program = program.arg("600").current_dir(&clone).spawn().unwrap();
        let removed = desk.json(&["agents", "remove", "ada"]);
        let of = if days == "0" { "left_behind" } else { "folder" };
        let left = desk.at(PathBuf::from(removed[of]["path"].as_str().unwrap()));
        left.write("late.txt", "a minute more\n");
        let refused = left.json(&["checkpoint", "-m", "one"]);
        assert_eq!(refused["code"], "clone-not-found", "{refused:#}");
        left.git(&["add", "late.txt"]);
        left.git(&["commit", "-qm", "one"]);
        left.json(&["checkpoint", "--auto"]);
        left.write("last.txt", "the last\n");
        // What others do meanwhile keeps no part of it for all of it.
        agent(&desk, "eve");
        let mut end = || (program.kill().unwrap(), program.wait().unwrap());
        if ends_first {
            end();
        }
        let back = desk.json(&["agents", "restore", "ada"]);
        for (path, content) in [
            ("unsaved.txt", "an hour of work\n"),
            ("late.txt", "a minute more\n"),
            ("last.txt", "the last\n"),
        ] {
            let found = fs::read_to_string(inside.path(path)).unwrap_or_default();
            assert_eq!(found, content, "{days} {ends_first} {path} {back:#}");
        }
        assert_eq!(desk.json(&["agents"])["removed"].as_array().map(Vec::len), Some(0));
        if !ends_first {
            end();
        }
    }
}

#[test]
fn each_removal_of_a_name_comes_back() {
    let desk = Sandbox::new();
    for content in ["first\n", "second\n"] {
        let clone = desk.at(agent(&desk, "eve"));
        clone.write("eve.txt", content);
        clone.colony(&["commit", "-m", content.trim(), "--all"]);
        desk.colony(&["agents", "remove", "eve"]);
    }
    let removed = desk.json(&["agents"])["removed"].clone();
    let times: Vec<_> = removed.as_array().unwrap().iter().collect();
    assert_eq!(times.len(), 2, "{removed:#}");
    let told = desk.colony(&["agents"]);
    let at = times[0]["removed_at"].as_str().unwrap();
    let older = format!("git colony agents restore eve --at {at}");
    assert!(told.contains(&older), "{told}");
    let wrong = ["agents", "restore", "eve", "--at", "2001-01-01T00:00:00Z"];
    assert_eq!(desk.error(&wrong), "clone-not-found");
    let back = desk.json(&["agents", "restore", "eve", "--at", at]);
    let back = desk.at(PathBuf::from(back["path"].as_str().unwrap()));
    assert_eq!(fs::read(back.path("eve.txt")).unwrap(), b"first\n");
    let newest = desk.json(&["agents", "restore", "eve", "--as", "eva"]);
    let newest = desk.at(PathBuf::from(newest["path"].as_str().unwrap()));
    assert_eq!(fs::read(newest.path("eve.txt")).unwrap(), b"second\n");
}

#[test]
fn a_tag_without_an_object_is_restored_and_raises_no_alarm() {
    let desk = Sandbox::new();
    desk.colony(&["checkpoint", "-m", "of the desk"]);
    let path = agent(&desk, "ada");
    let clone = desk.at(path);
    clone.write("ada.txt", "ada\n");
    clone.colony(&["commit", "-m", "ada", "--all"]);
    clone.git(&["tag", "light"]);
    let tagged = clone.git(&["rev-parse", "light"]);
    desk.colony(&["agents", "remove", "ada"]);
    let run = desk.run(&["agents", "restore", "ada"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!run.stderr.contains("written while"), "{}", run.stderr);
    let back = desk.json(&["agents", "path", "ada"]);
    let back = desk.at(PathBuf::from(back["path"].as_str().unwrap()));
    assert_eq!(back.git(&["rev-parse", "light"]), tagged);
}
