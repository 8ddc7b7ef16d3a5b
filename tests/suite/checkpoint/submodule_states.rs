//! Checkpoints keep edits inside submodules, in the repositories of these, and a restore brings them back.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::submodule_edits::{FILES, Nested, Random, WHO};
use crate::support::{Sandbox, View, write_program};

/// The refs of a submodule that git-colony has made.
fn states(of: &View) -> Vec<String> {
    let refs = of.git(&["for-each-ref", "--format=%(objectname)", "refs/colony-local/"]);
    refs.lines().map(str::to_owned).collect()
}

/// The files of a working tree: an empty folder is in no checkpoint.
fn files(of: &View) -> BTreeMap<String, String> {
    let mut files = of.worktree();
    files.retain(|_, what| !what.starts_with("directory"));
    files
}

/// HEAD, its branch, the index, and every ref but those of git-colony.
fn gits(of: &View) -> String {
    let head = fs::read_to_string(of.git(&["rev-parse", "--git-path", "HEAD"]).trim());
    let head = head.or_else(|_| fs::read_to_string(of.path(".git/HEAD"))).unwrap_or_default();
    format!("{head}{}{}{}", of.head_commit(), of.git(&["ls-files", "-s"]), of.refs())
}

fn absent(answer: &Value) -> Vec<(&str, &str)> {
    let list = answer["submodules_absent"].as_array().into_iter().flatten();
    list.map(|one| (one["path"].as_str().unwrap(), one["reason"].as_str().unwrap())).collect()
}

fn reasons(answer: &Value) -> Vec<(&str, &str)> {
    let list = answer["left_out"].as_array().into_iter().flatten();
    list.map(|one| (one["path"].as_str().unwrap(), one["reason"].as_str().unwrap())).collect()
}

/// Does something to one of the working trees.
fn edit(view: &View, random: &mut Random) {
    let number = format!("{}\n", random.below(1_000));
    let name = ["a.txt", "dir/b.txt", "new.txt", "x/y/z.txt", "tool.sh"];
    let name = name[usize::try_from(random.below(5)).unwrap()];
    match random.below(9) {
        0..=3 => {
            if view.path(name).is_dir() {
                fs::remove_dir_all(view.path(name)).unwrap();
            }
            view.write(name, &number);
        }
        4 => drop(fs::remove_file(view.path(name))),
        5 => drop(view.git_any(&["add", "-A", "--", "."])),
        6 if view.path(name).is_file() => view.set_mode(name, 0o755),
        7 => {
            drop(fs::remove_file(view.path("a.txt")));
            drop(std::os::unix::fs::symlink("elsewhere", view.path("a.txt")));
        }
        _ => {
            let commit = ["commit", "-qm", "inside", "--allow-empty"];
            view.git_any(&[&WHO[..], &commit].concat());
        }
    }
}

#[test]
fn a_restore_brings_random_edits_in_submodules_back() {
    for seed in [11, 47, 1_234_567] {
        let nested = Nested::new();
        let top = &nested.top;
        let inner = [nested.inner(), top.at(top.path("sub/deep"))];
        let mut random = Random(seed);
        for round in 0..6 {
            for _ in 0..5 {
                edit(&inner[usize::try_from(random.below(2)).unwrap()], &mut random);
            }
            let then = inner.each_ref().map(files);
            let gits_then = inner.each_ref().map(gits);
            let label = format!("round {round}");
            let kept = top.json(&["checkpoint", "--off-branch", "-m", &label]);
            assert_eq!(kept["left_out"], serde_json::json!([]), "{kept:#}");
            assert_eq!(inner.each_ref().map(files), then, "a checkpoint moves no file");
            assert_eq!(inner.each_ref().map(gits), gits_then, "and nothing of git's");
            let named = kept["submodules"].to_string();
            for _ in 0..6 {
                edit(&inner[usize::try_from(random.below(2)).unwrap()], &mut random);
                edit(top, &mut random);
            }
            let (before, gits_before) = (inner.each_ref().map(files), inner.each_ref().map(gits));
            let of_top = files(top);
            let restored = top.json(&["restore", &label, "--mode", "files"]);
            assert_eq!(restored["ok"], true, "{restored:#}");
            for (number, path) in ["\"sub\"", "\"sub/deep\""].into_iter().enumerate() {
                let is_kept = named.contains(&format!("\"path\":{path}"));
                let wanted = if is_kept { &then } else { &before };
                assert_eq!(files(&inner[number]), wanted[number], "{seed} {round} {restored:#}");
            }
            assert_eq!(inner.each_ref().map(gits), gits_before, "HEAD and index stay");
            let after = inner.each_ref().map(files);
            if !restored["recovery"].is_null() {
                top.colony(&["undo"]);
                assert_eq!(inner.each_ref().map(files), before, "one undo brings all back");
                assert_eq!(files(top), of_top);
                top.colony(&["redo"]);
                assert_eq!(inner.each_ref().map(files), after);
            }
        }
        for view in inner.iter().chain([&**top]) {
            view.git(&["fsck", "--strict", "--no-dangling"]);
        }
        top.check_invariants();
    }
}

#[test]
fn the_index_of_a_submodule_is_kept_and_stays() {
    let nested = Nested::new();
    let (top, inner) = (&nested.top, nested.inner());
    inner.write("a.txt", "staged\n");
    inner.git(&["add", "a.txt"]);
    inner.write("a.txt", "on top\n");
    let kept = top.json(&["checkpoint", "-m", "both"]);
    let snapshot = kept["submodules"][0]["sha"].as_str().unwrap();
    assert_eq!(inner.git(&["show", &format!("{snapshot}:a.txt")]), "on top");
    let staged = inner.git(&["ls-tree", "-r", &format!("{snapshot}^2")]);
    assert!(staged.contains("a.txt"), "{staged}");
    assert_eq!(
        inner.git(&["rev-parse", &format!("{snapshot}^1")]).trim(),
        inner.head_commit().trim()
    );
    let listed = top.json(&["checkpoints"]);
    assert_eq!(listed["checkpoints"][0]["submodules"][0]["path"], "sub", "{listed:#}");
}

#[test]
fn a_state_before_an_operation_has_edits_inside_too() {
    let nested = Nested::new();
    let (top, inner) = (&nested.top, nested.inner());
    let deep = top.at(top.path("sub/deep"));
    deep.write("a.txt", "edited\n");
    let kept = top.json(&["checkpoint", "--off-branch", "-m", "one"]);
    assert_eq!(kept["submodules"].as_array().map(Vec::len), Some(1), "{kept:#}");
    assert_eq!(kept["submodules"][0]["path"], "sub/deep");
    let shown = top.colony(&["checkpoints", "show", "one"]);
    assert!(shown.contains("kept too: edits inside the submodule sub/deep\n"), "{shown}");
    deep.write("a.txt", "an hour of work\n");
    let restored = top.json(&["restore", "one"]);
    assert_eq!(restored["left_alone"], serde_json::json!([]), "{restored:#}");
    assert_eq!(deep.read("a.txt"), "edited\n");
    inner.write("a.txt", "only here\n");
    let op = restored["recovery"].as_str().unwrap();
    let restored = top.json(&["restore", op, "--mode", "files"]);
    assert_eq!(deep.read("a.txt"), "an hour of work\n", "{restored:#}");
    assert_eq!(restored["left_alone"][0]["path"], "sub", "{restored:#}");
    assert_eq!(inner.read("a.txt"), "only here\n");
}

#[test]
fn a_head_that_has_moved_stays_and_is_named() {
    let nested = Nested::new();
    let (top, inner) = (&nested.top, nested.inner());
    inner.write("a.txt", "edited\n");
    top.colony(&["checkpoint", "--off-branch", "-m", "one"]);
    inner.git(&[&WHO[..], &["commit", "-qam", "inside"]].concat());
    inner.write("a.txt", "later\n");
    let head = inner.head_commit();
    let said = top.colony(&["restore", "one", "--mode", "files"]);
    assert!(said.contains("the submodule sub stays at another commit than then"), "{said}");
    assert!(!said.contains("submodule not touched"), "{said}");
    assert_eq!((inner.head_commit(), inner.read("a.txt")), (head, "edited\n".to_owned()));
}

#[test]
fn a_dry_run_writes_nothing_into_a_submodule() {
    let nested = Nested::new();
    let (top, inner) = (&nested.top, nested.inner());
    inner.write("a.txt", "edited\n");
    let objects = || inner.git(&["count-objects", "-v"]);
    let before = objects();
    let planned = top.json(&["checkpoint", "-n", "-m", "one"]);
    assert_eq!(planned["submodules"][0]["path"], "sub", "{planned:#}");
    assert_eq!(planned["submodules"][0]["files_changed"], 1);
    assert_eq!(planned["submodules"][0]["sha"], Value::Null);
    assert_eq!(planned["left_out"], serde_json::json!([]));
    assert_eq!((objects(), states(&inner)), (before, Vec::new()));
    assert!(!top.path(".git/modules/sub/colony").exists());
    top.colony(&["checkpoint", "-m", "one"]);
    inner.write("a.txt", "other\n");
    let before = objects();
    let planned = top.json(&["restore", "one", "-n"]);
    assert_eq!(planned["submodules_restored"][0]["files"]["rewritten"], 1, "{planned:#}");
    assert_eq!((objects(), inner.read("a.txt")), (before, "other\n".to_owned()));
}

#[test]
fn prune_deletes_states_that_nothing_names() {
    let nested = Nested::new();
    let (top, inner) = (&nested.top, nested.inner());
    inner.write("a.txt", "first\n");
    top.colony(&["checkpoint", "-m", "one"]);
    inner.write("a.txt", "second\n");
    let gone = top.json(&["checkpoint", "-m", "two"]);
    assert_eq!(states(&inner).len(), 2);
    // While the log can undo the deletion, the state is needed.
    top.colony(&["checkpoints", "delete", "two"]);
    top.colony(&["prune"]);
    assert_eq!(states(&inner).len(), 2);
    top.pass_years(1);
    let planned = top.json(&["prune", "-n"]);
    assert_eq!(planned["submodule_states_removed"], 1, "{planned:#}");
    assert_eq!(states(&inner).len(), 2);
    let pruned = top.json(&["prune"]);
    assert_eq!(pruned["submodule_states_removed"], 1, "{pruned:#}");
    let left = states(&inner);
    assert_eq!(left.len(), 1);
    assert_ne!(left[0], gone["submodules"][0]["sha"].as_str().unwrap());
    inner.write("a.txt", "third\n");
    top.colony(&["restore", "one"]);
    assert_eq!(inner.read("a.txt"), "first\n", "a named checkpoint outlives the log");
}

#[test]
fn a_state_that_is_not_on_this_machine_is_named() {
    let nested = Nested::new();
    let (top, inner) = (&nested.top, nested.inner());
    inner.write("a.txt", "edited\n");
    top.write("a.txt", "edited too\n");
    top.colony(&["checkpoint", "-m", "one"]);
    let elsewhere = top.outside().join("elsewhere");
    let clone = ["clone", "-q", "--recurse-submodules", ".", elsewhere.to_str().unwrap()];
    top.git(&[&FILES[..], &clone].concat());
    let there = top.at(elsewhere);
    there.git(&["fetch", "-q", "origin", "refs/colony/*:refs/colony/*"]);
    there.write("a.txt", "other\n");
    let restored = there.json(&["restore", "one"]);
    assert_eq!(restored["ok"], true, "{restored:#}");
    assert_eq!(absent(&restored), [("sub", "no-snapshot")]);
    assert_eq!(there.read("a.txt"), "edited too\n", "the rest is restored");
    let said = there.colony(&["restore", "one"]);
    assert!(said.contains("'one' is the current state, but for submodules"), "{said}");
    assert!(said.contains("not on this machine: edits inside sub\n"), "{said}");
}

#[test]
fn a_deleted_submodule_is_named_and_stops_nothing() {
    let nested = Nested::new();
    let (top, inner) = (&nested.top, nested.inner());
    inner.write("a.txt", "edited\n");
    top.write("a.txt", "edited too\n");
    top.colony(&["checkpoint", "-m", "one"]);
    fs::remove_dir_all(top.path("sub")).unwrap();
    top.write("a.txt", "other\n");
    let said = top.colony(&["restore", "one"]);
    let named = "not on this machine: edits inside sub; git submodule update --init sub, then";
    assert!(said.contains(named), "{said}");
    assert_eq!(top.read("a.txt"), "edited too\n");
    let update = ["submodule", "--quiet", "update", "--init", "sub"];
    top.git(&[&FILES[..], &update].concat());
    top.colony(&["restore", "one"]);
    assert_eq!(inner.read("a.txt"), "edited\n", "its repository still has the state");
}

#[test]
fn a_repository_that_belongs_elsewhere_is_left_alone() {
    let nested = Nested::new();
    let (top, inner) = (&nested.top, nested.inner());
    let other = top.outside().join("other");
    fs::create_dir(&other).unwrap();
    let other = top.at(other);
    other.git(&["clone", "-q", top.path(".git").to_str().unwrap(), "."]);
    let own = inner.read(".git");
    inner.write("a.txt", "edited\n");
    top.colony(&["checkpoint", "-m", "one"]);
    inner.write("a.txt", "edited again\n");
    for git_dir in [other.path(".git"), top.path(".git")] {
        fs::write(inner.path(".git"), format!("gitdir: {}\n", git_dir.display())).unwrap();
        let kept = top.json(&["checkpoint", "--off-branch", "-m", "hostile"]);
        assert_eq!(reasons(&kept)[0], ("sub", "foreign-submodule"), "{kept:#}");
        let restored = top.json(&["restore", "one", "--mode", "files"]);
        assert_eq!(absent(&restored), [("sub", "not-its-own")], "{restored:#}");
        assert_eq!(inner.read("a.txt"), "edited again\n");
    }
    assert_eq!(states(&other), Vec::<String>::new());
    assert!(!states(top).is_empty(), "those are its own");
    fs::write(inner.path(".git"), own).unwrap();
    // A link in place of its folder.
    fs::rename(top.path("sub"), top.outside().join("moved")).unwrap();
    std::os::unix::fs::symlink(top.outside().join("moved"), top.path("sub")).unwrap();
    let restored = top.json(&["restore", "one", "--mode", "files", "-n"]);
    assert_eq!(absent(&restored), [("sub", "not-set-up")], "{restored:#}");
}

#[test]
fn a_submodule_in_the_middle_of_a_merge_is_left_alone() {
    let nested = Nested::new();
    let (top, inner) = (&nested.top, nested.inner());
    inner.write("a.txt", "edited\n");
    top.colony(&["checkpoint", "-m", "one"]);
    inner.git(&["checkout", "-q", "-b", "side"]);
    inner.git(&[&WHO[..], &["commit", "-qam", "ours"]].concat());
    inner.git(&["checkout", "-q", "-b", "other", "HEAD~1"]);
    inner.write("a.txt", "theirs\n");
    inner.git(&[&WHO[..], &["commit", "-qam", "theirs"]].concat());
    inner.git_any(&[&WHO[..], &["merge", "-q", "side"]].concat());
    let kept = top.json(&["checkpoint", "--off-branch", "-m", "two"]);
    assert_eq!(kept["submodules"][0]["path"], "sub", "{kept:#}");
    let in_conflict = inner.read("a.txt");
    let restored = top.json(&["restore", "one", "--mode", "files"]);
    assert_eq!(absent(&restored), [("sub", "in-progress")], "{restored:#}");
    assert_eq!(inner.read("a.txt"), in_conflict);
}

#[test]
fn nothing_configured_in_a_submodule_runs() {
    let nested = Nested::new();
    let (top, inner) = (&nested.top, nested.inner());
    let ran = top.outside().join("ran");
    let touch = format!("touch {}", ran.display());
    inner.git(&["config", "core.fsmonitor", &touch]);
    let hooks = top.path(".git/modules/sub/hooks");
    for hook in ["reference-transaction", "post-checkout", "pre-commit"] {
        write_program(&hooks.join(hook), format!("#!/bin/sh\n{touch}\n"));
        top.git_any(&["-C", hooks.to_str().unwrap(), "version"]);
    }
    inner.write("a.txt", "edited\n");
    top.colony(&["checkpoint", "-m", "one"]);
    inner.write("a.txt", "other\n");
    top.colony(&["restore", "one"]);
    top.colony(&["undo"]);
    top.pass_years(1);
    top.colony(&["prune"]);
    assert!(!ran.exists());
    // A filter of its own would decide what git stores.
    inner.git(&["config", "filter.mine.clean", &format!("{touch}; cat")]);
    inner.write(".gitattributes", "* filter=mine\n");
    let kept = top.json(&["checkpoint", "-m", "two"]);
    assert_eq!(reasons(&kept), [("sub", "foreign-submodule")], "{kept:#}");
    assert!(!ran.exists());
}

#[test]
fn worktrees_and_clones_of_agents_have_states_of_their_own() {
    let nested = Nested::new();
    let top = &nested.top;
    let update = ["submodule", "--quiet", "update", "--init", "--recursive"];
    top.git(&["worktree", "add", "-q", "../linked"]);
    let linked = top.at(top.path("../linked").canonicalize().unwrap());
    linked.git(&[&FILES[..], &update].concat());
    let made = top.json(&["agents", "new", "ada"]);
    let clone = top.at(made["path"].as_str().unwrap().into());
    clone.git(&[&FILES[..], &update].concat());
    for view in [&**top, &linked, &clone] {
        let inner = view.at(view.path("sub"));
        inner.write("a.txt", "edited\n");
        let kept = view.json(&["checkpoint", "--off-branch", "-m", "same"]);
        let id = kept["checkpoint_id"].as_str().unwrap();
        assert_eq!(states(&inner).len(), 1, "{kept:#}");
        inner.write("a.txt", "other\n");
        view.colony(&["restore", id, "--mode", "files"]);
        assert_eq!(inner.read("a.txt"), "edited\n");
        view.colony(&["undo"]);
        assert_eq!(inner.read("a.txt"), "other\n");
    }
}

#[test]
fn rules_for_new_files_hold_inside_submodules() {
    let nested = Nested::new();
    let (top, inner) = (&nested.top, nested.inner());
    inner.write(".env", "TOKEN=1\n");
    inner.write("new.txt", "new\n");
    let kept = top.json(&["checkpoint", "--off-branch", "-m", "one"]);
    assert_eq!(reasons(&kept), [("sub/.env", "secret")]);
    inner.write("new.txt", "newer\n");
    let restored = top.json(&["restore", "one", "--mode", "files"]);
    assert_eq!(restored["left_alone"][0]["path"], "sub/.env", "{restored:#}");
    assert_eq!((inner.read("new.txt"), inner.read(".env")), ("new\n".into(), "TOKEN=1\n".into()));
    let allow = ["--allow-secret", "sub/.env"];
    let kept = top.json(&[&["checkpoint", "--off-branch", "-m", "all"], &allow[..]].concat());
    assert_eq!(reasons(&kept), []);
    assert_eq!(kept["submodules"][0]["files_changed"], 2);
    top.git(&["config", "colony.maxNewFiles", "1"]);
    let kept = top.json(&["checkpoint", "--off-branch", "-m", "many"]);
    assert_eq!(reasons(&kept), [("sub", "edited-submodule")]);
}

#[test]
fn the_edits_of_64_submodules_are_kept() {
    let top = Sandbox::new();
    fs::create_dir(top.path("s00")).unwrap();
    let first = top.at(top.path("s00"));
    first.git(&["init", "-q", "--template=", "."]);
    first.write("a.txt", "inside\n");
    first.git(&["add", "a.txt"]);
    first.git(&[&WHO[..], &["commit", "-qm", "inside"]].concat());
    for number in 1..66 {
        let copied = top.process("cp").args(["-a", "s00", &format!("s{number:02}")]).status();
        assert!(copied.unwrap().success());
    }
    // Their git directories are in their folders.
    top.git(&["-c", "advice.addEmbeddedRepo=false", "add", "."]);
    top.git(&["commit", "-qm", "submodules"]);
    for number in 0..66 {
        top.write(&format!("s{number:02}/a.txt"), "edited\n");
    }
    let kept = top.json(&["checkpoint", "--off-branch", "-m", "one"]);
    assert_eq!(kept["submodules"].as_array().map(Vec::len), Some(64), "{kept:#}");
    assert_eq!(reasons(&kept), [("s64", "edited-submodule"), ("s65", "edited-submodule")]);
    for path in ["s63/a.txt", "s64/a.txt"] {
        top.write(path, "other\n");
    }
    top.colony(&["restore", "one", "--mode", "files"]);
    assert_eq!(
        (top.read("s63/a.txt"), top.read("s64/a.txt")),
        ("edited\n".into(), "other\n".into())
    );
    top.colony(&["undo"]);
    assert_eq!(top.read("s63/a.txt"), "other\n");
}

#[test]
fn automatic_checkpoints_keep_a_state_once() {
    let nested = Nested::new();
    let (top, inner) = (&nested.top, nested.inner());
    assert_eq!(top.automatic_checkpoint()["reason"], "unchanged");
    inner.write("a.txt", "edited\n");
    assert_eq!(top.automatic_checkpoint()["changed"], true);
    assert_eq!(top.automatic_checkpoint()["reason"], "unchanged");
    assert_eq!(states(&inner).len(), 1);
    inner.write("a.txt", "edited again\n");
    assert_eq!(top.automatic_checkpoint()["changed"], true);
    let older = ["restore", "auto@{1}", "--mode", "files"];
    top.colony(&older);
    assert_eq!(inner.read("a.txt"), "edited\n");
    // Thinned out together: two of the branch stay, and what the restore found.
    top.git(&["config", "colony.keepAutoPerBranch", "2"]);
    for number in 0..4 {
        inner.write("a.txt", format!("{number}\n"));
        assert_eq!(top.automatic_checkpoint()["changed"], true);
    }
    assert_eq!(states(&inner).len(), 3);
}

#[test]
fn undo_keeps_a_checkpoint_with_the_only_copy() {
    let nested = Nested::new();
    let (top, inner) = (&nested.top, nested.inner());
    inner.write("a.txt", "edited\n");
    top.colony(&["checkpoint", "-m", "one"]);
    inner.git(&["checkout", "-q", "--", "."]);
    let refused = top.json(&["undo"]);
    assert_eq!(refused["code"], "checkpoint-needed", "{refused:#}");
    assert_eq!(refused["detail"]["paths"][0], "sub/a.txt");
    assert_eq!(top.json(&["undo", "--force"])["ok"], true);
    top.colony(&["redo"]);
    top.colony(&["restore", "one"]);
    assert_eq!(inner.read("a.txt"), "edited\n");
}

#[test]
fn deinit_purges_states_of_submodules() {
    let nested = Nested::new();
    let (top, inner) = (&nested.top, nested.inner());
    top.colony(&["checkpoint", "--off-branch", "-m", "nothing inside"]);
    let refs = || inner.git(&["for-each-ref"]);
    let before = refs();
    inner.write("a.txt", "edited\n");
    inner.write("../sub/deep/a.txt", "edited\n");
    let kept = top.json(&["checkpoint", "--off-branch", "-m", "one"]);
    assert_eq!(kept["submodules"].as_array().map(Vec::len), Some(2), "{kept:#}");
    assert_ne!(refs(), before);
    top.colony(&["deinit", "--purge", "--force"]);
    assert_eq!(refs(), before);
    for modules in [".git/modules/sub", ".git/modules/sub/modules/deep"] {
        assert!(!top.path(modules).join("colony").exists());
        assert!(top.path(modules).join("HEAD").exists());
    }
    assert_eq!(inner.read("a.txt"), "edited\n");
}
