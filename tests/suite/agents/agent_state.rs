//! `NAME@`: what an agent has in its working tree, seen from the desk without touching its clone.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use git_colony::testing::{Progress, Step};
use serde_json::Value;

use crate::lfs::prune_race::with_lfs;
use crate::support::{Sandbox, View};

use super::new_and_merge::{agent, commit};

fn changes(diff: &Value) -> BTreeMap<String, String> {
    let entries = diff["entries"].as_array().unwrap_or_else(|| panic!("{diff:#}"));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let pair = |entry: &Value| (text(&entry["path"]), text(&entry["change_type"]));
    entries.iter().map(pair).collect()
}

/// Changes a clone in every way that git knows and that is not committed.
fn leave_uncommitted(clone: &View) {
    commit(clone, "committed.txt", "committed\n");
    clone.write("staged.txt", "staged\n");
    clone.git(&["add", "staged.txt"]);
    clone.write("staged.txt", "edited after that\n");
    fs::create_dir_all(clone.path("new folder")).unwrap();
    clone.write("new folder/untracked.txt", "untracked\n");
    fs::remove_file(clone.path("a.txt")).unwrap();
}

/// Every file of a folder with its bytes and time.
fn everything_in(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in walkdir(folder) {
        let about = fs::symlink_metadata(&entry).unwrap();
        let bytes = fs::read(&entry).unwrap_or_default();
        let told = format!("{:?} {}", about.modified().unwrap(), bytes.len());
        found.insert(entry, told);
    }
    found
}

fn walkdir(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let about = fs::symlink_metadata(&path).unwrap();
        if about.is_dir() {
            found.extend(walkdir(&path));
        }
        found.push(path);
    }
    found
}

fn status(git: impl Fn(&[&str]) -> String) -> String {
    git(&["status", "--porcelain=v2", "--untracked-files=all"])
}

#[test]
fn a_diff_shows_uncommitted_work_of_an_agent_and_writes_nothing() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    leave_uncommitted(&ada);
    // What was committed is brought over once.
    desk.json(&["forks"]);
    let before = (everything_in(&ada.path("")), everything_in(&desk.path(".git/objects")));
    let diff = desk.json(&["diff", "main", "ada@"]);
    let expected = [
        ("a.txt", "deleted"),
        ("committed.txt", "added"),
        ("new folder/untracked.txt", "added"),
        ("staged.txt", "added"),
    ];
    let expected = expected.map(|(path, how)| (path.to_owned(), how.to_owned()));
    assert_eq!(changes(&diff), BTreeMap::from(expected), "{diff:#}");
    assert_eq!((&diff["ref_b"], &diff["commit_b"]), (&"ada@".into(), &Value::Null));
    assert_eq!(changes(&desk.json(&["diff", "ada@"])), changes(&diff), "since it left");
    let own = desk.json(&["diff", "ada", "ada@"]);
    assert!(!changes(&own).contains_key("committed.txt"), "{own:#}");
    let patch = desk.json(&["diff", "ada", "ada@", "--patch"]);
    let patch = patch["raw_unified_diff"].as_str().unwrap();
    assert!(patch.contains("+edited after that"), "{patch}");
    let after = (everything_in(&ada.path("")), everything_in(&desk.path(".git/objects")));
    assert!(after == before, "something was written");
}

#[test]
fn a_diff_of_an_agent_alone_is_since_it_left() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "a.txt", "of ada\n");
    commit(&desk, "main.txt", "of the desk\n");
    ada.write("loose.txt", "not committed\n");
    let paths = |name: &str| changes(&desk.json(&["diff", name])).into_keys().collect::<Vec<_>>();
    for squash in [&["--squash"][..], &[]] {
        assert_eq!(paths("ada"), ["a.txt"]);
        assert_eq!(paths("ada/fork/ada"), ["a.txt"]);
        assert_eq!(paths("ada@"), ["a.txt", "loose.txt"]);
        let (diff, fleet) = (desk.json(&["diff", "ada"]), desk.json(&["fleet"]));
        assert_eq!(diff["entries"][0]["insertions"], fleet["agents"][0]["insertions"]);
        desk.colony(&[&["merge", "ada"], squash].concat());
        assert_eq!(paths("ada"), [""; 0], "it is merged");
        ada.write("a.txt", "of ada, again\n");
        ada.colony(&["commit", "-m", "again", "--", "a.txt"]);
    }
    // With two names, and for all other names, it is as git has it.
    assert!(!changes(&desk.json(&["diff", "ada", "HEAD"])).is_empty());
}

#[test]
fn nothing_that_the_configuration_of_the_clone_names_runs() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    let marker = desk.outside().join("marker");
    let touch = format!("touch '{}'; cat", marker.display());
    for name in ["filter.evil.clean", "filter.evil.process", "core.fsmonitor"] {
        ada.git(&["config", name, &touch]);
    }
    ada.git(&["config", "lfs.extension.evil.clean", &touch]);
    ada.git(&["config", "core.hooksPath", "/nowhere"]);
    fs::create_dir_all(ada.path(".git/info")).unwrap();
    ada.write(".git/info/attributes", "* filter=evil\n");
    ada.write("a.txt", "other\n");
    ada.write("new.txt", "new\n");
    let diff = desk.json(&["diff", "ada", "ada@"]);
    let names: Vec<_> = changes(&diff).into_keys().collect();
    assert_eq!(names, ["a.txt", "new.txt"], "{diff:#}");
    assert_eq!(desk.json(&["merge", "-n", "ada@"])["outcome"], "fast_forward");
    let fleet = desk.json(&["fleet"]);
    assert_eq!(fleet["agents"][0]["unsaved"], 2, "{fleet:#}");
    assert!(!marker.exists(), "a command of the clone ran");
}

#[test]
fn filters_are_those_of_the_desk() {
    let desk = Sandbox::new();
    desk.write(".gitattributes", "*.up filter=up\n");
    desk.git(&["add", "."]);
    desk.git(&["commit", "-qm", "attributes"]);
    let ada = agent(&desk, "ada");
    desk.git(&["config", "filter.up.clean", "tr a-z A-Z"]);
    ada.git(&["config", "filter.up.clean", "false"]);
    ada.write("a.up", "loud\n");
    let diff = desk.json(&["diff", "ada", "ada@", "--patch"]);
    let patch = diff["raw_unified_diff"].as_str().unwrap();
    assert!(patch.contains("+LOUD"), "{patch}");
}

#[test]
fn what_automatic_checkpoints_leave_out_stays_out_and_is_named() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    ada.write(".env", "TOKEN=abc\n");
    fs::create_dir_all(ada.path(".git/info")).unwrap();
    ada.write(".git/info/exclude", "ignored.txt\n");
    ada.write("ignored.txt", "ignored\n");
    let diff = desk.json(&["diff", "ada", "ada@"]);
    assert!(changes(&diff).is_empty(), "{diff:#}");
    assert_eq!(diff["left_out"][0]["path"], ".env");
    assert_eq!(diff["left_out"].as_array().unwrap().len(), 1);
}

#[test]
fn a_file_of_the_same_size_as_young_as_the_index_is_seen() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    // As where a clock ticks in seconds: an edit in the second in which the index was written.
    desk.git(&["config", "core.trustctime", "false"]);
    let old = fs::read(ada.path("a.txt")).unwrap();
    let new: Vec<u8> = old.iter().map(|byte| byte ^ 1).collect();
    let at = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let date = |path: &str| {
        let file = fs::File::options().append(true).open(ada.path(path));
        file.unwrap().set_modified(at).unwrap();
    };
    date("a.txt");
    ada.git(&["update-index", "--refresh", "-q"]);
    ada.write("a.txt", new);
    date("a.txt");
    date(".git/index");
    let diff = desk.json(&["diff", "ada", "ada@"]);
    assert_eq!(changes(&diff).len(), 1, "{diff:#}");
}

#[test]
fn large_files_are_compared_as_pointers_and_restored_whole() {
    let desk = with_lfs();
    let ada = agent(&desk, "ada");
    ada.write("big.bin", "large and uncommitted\n");
    ada.write("staged.bin", "large and staged\n");
    ada.git(&["add", "staged.bin"]);
    ada.write("staged.bin", "large and edited\n");
    let diff = desk.json(&["diff", "ada", "ada@", "--patch"]);
    let patch = diff["raw_unified_diff"].as_str().unwrap();
    assert!(patch.contains("+version https://git-lfs.github.com/spec/v1"), "{patch}");
    assert!(!desk.path(".git/lfs/objects").exists(), "a diff stores nothing");
    desk.json(&["restore", "ada@"]);
    assert_eq!(desk.worktree(), ada.worktree());
    desk.git(&["lfs", "fsck"]);
    desk.git(&["checkout-index", "-f", "staged.bin"]);
    assert_eq!(desk.read("staged.bin"), "large and staged\n");
}

#[test]
fn a_merge_is_previewed_with_it_and_only_previewed() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    ada.write("a.txt", "of ada\n");
    let preview = desk.json(&["merge", "-n", "ada@"]);
    assert_eq!(preview["outcome"], "fast_forward", "{preview:#}");
    assert_eq!(preview["source"], "ada@");
    assert_eq!(preview["files_changed"], 1);
    desk.write("a.txt", "of the desk\n");
    desk.git(&["commit", "-qam", "at the desk"]);
    let preview = desk.json(&["merge", "-n", "ada@"]);
    assert_eq!(preview["outcome"], "conflicted", "{preview:#}");
    assert_eq!(preview["into"], "main");
    let before = desk.visible_state();
    let refused = desk.json(&["merge", "ada@"]);
    assert_eq!(refused["code"], "uncommitted-edits", "{refused:#}");
    assert_eq!(desk.visible_state(), before);
    let merged = desk.json(&["merge", "ada"]);
    assert_eq!(merged["uncommitted"]["paths"], 1, "{merged:#}");
    let told = desk.colony(&["merge", "ada"]);
    assert!(
        told.contains("1 uncommitted path of 'ada' not merged: git colony diff 'ada' 'ada@'"),
        "{told}"
    );
}

#[test]
fn a_restore_brings_branch_index_and_files_of_an_agent() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    leave_uncommitted(&ada);
    desk.write("mine.txt", "of the desk\n");
    let before = (desk.worktree(), status(|args| desk.git(args)), desk.git(&["rev-parse", "HEAD"]));
    let plan = desk.json(&["restore", "ada@", "-n"]);
    assert_eq!(plan["dry_run"], true, "{plan:#}");
    assert_eq!(desk.worktree(), before.0);
    let restored = desk.json(&["restore", "ada@"]);
    assert_eq!(restored["ok"], true, "{restored:#}");
    assert_eq!(desk.worktree(), ada.worktree());
    assert_eq!(status(|args| desk.git(args)), status(|args| ada.git(args)));
    assert_eq!(desk.git(&["rev-parse", "HEAD"]), ada.git(&["rev-parse", "HEAD"]));
    desk.check_invariants_of_git();
    desk.colony(&["undo"]);
    let after = (desk.worktree(), status(|args| desk.git(args)), desk.git(&["rev-parse", "HEAD"]));
    assert_eq!(after, before);
    let files = desk.json(&["restore", "ada@", "--", "new folder"]);
    assert_eq!(files["files"]["restored"], 1, "{files:#}");
    assert_eq!(desk.read("new folder/untracked.txt"), "untracked\n");
}

#[test]
fn commits_that_the_clone_has_not_published_come_along() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    ada.write("plain.txt", "by plain git\n");
    ada.git(&["add", "."]);
    ada.git(&["-c", "core.hooksPath=/nowhere", "commit", "-qm", "by plain git"]);
    ada.write("more.txt", "more\n");
    let diff = desk.json(&["diff", "main", "ada@"]);
    assert_eq!(changes(&diff).len(), 2, "{diff:#}");
    assert_eq!(desk.json(&["merge", "-n", "ada@"])["files_changed"], 2);
    desk.json(&["restore", "ada@"]);
    assert_eq!(desk.worktree(), ada.worktree());
    desk.check_invariants_of_git();
}

#[test]
fn a_clone_that_is_gone_is_seen_as_it_was_last() {
    let desk = Sandbox::new();
    let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
    leave_uncommitted(&ada);
    commit(&bob, "b.txt", "of bob\n");
    let states = |name: &str| {
        let diff = desk.json(&["diff", "main", name]);
        (changes(&diff), diff["left_out"].clone())
    };
    let before = (states("ada@"), states("bob@"));
    desk.json(&["agents", "remove", "ada"]);
    desk.json(&["agents", "remove", "bob"]);
    assert_eq!((states("ada@"), states("bob@")), before);
    let tip = desk.json(&["restore", "bob@"]);
    assert_eq!(tip["ok"], true, "{tip:#}");
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    assert_eq!(desk.read("b.txt"), "of bob\n");
}

#[test]
fn an_unknown_agent_is_reported_and_a_ref_of_that_name_wins() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    let unknown = desk.json(&["diff", "nobody@"]);
    assert_eq!(unknown["code"], "revision-not-found", "{unknown:#}");
    assert_eq!(unknown["hint"], "git colony agents");
    let parents = desk.json(&["diff", "HEAD^@"]);
    assert_ne!(parents["hint"], "git colony agents", "{parents:#}");
    ada.write("new.txt", "new\n");
    assert_eq!(changes(&desk.json(&["diff", "main", "ada@"])).len(), 1);
    desk.git(&["branch", "ada@"]);
    assert!(changes(&desk.json(&["diff", "main", "ada@"])).is_empty());
}

#[test]
fn a_repository_with_sha256_is_seen_as_well() {
    let desk = Sandbox::init(&["--object-format=sha256"]);
    desk.write("a.txt", "one\n");
    desk.colony(&["checkpoint", "-m", "first"]);
    let ada = agent(&desk, "ada");
    leave_uncommitted(&ada);
    assert_eq!(changes(&desk.json(&["diff", "main", "ada@"])).len(), 4);
}

#[test]
fn a_sparse_clone_lacks_nothing() {
    let desk = Sandbox::new();
    desk.write("dir/in.txt", "in\n");
    desk.write("other/out.txt", "out\n");
    desk.git(&["add", "."]);
    desk.git(&["commit", "-qm", "folders"]);
    let made = desk.json(&["agents", "new", "ada", "--sparse", "dir"]);
    let ada = desk.at(PathBuf::from(made["path"].as_str().unwrap()));
    ada.write("dir/in.txt", "edited\n");
    let diff = desk.json(&["diff", "ada", "ada@"]);
    assert_eq!(changes(&diff).into_keys().collect::<Vec<_>>(), ["dir/in.txt"], "{diff:#}");
}

/// Whether git finds every object that a repository needs.
fn is_whole(desk: &Sandbox) -> bool {
    desk.try_git(&["fsck", "--strict", "--no-dangling"])
}

#[test]
fn work_taken_along_in_part_is_taken_along_whole_the_next_time() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    for number in 0..200 {
        fs::write(ada.path(&format!("{number}.txt")), format!("{number}\n")).unwrap();
    }
    let before = desk.visible_state();
    let mut stopped = desk.world();
    let interrupt = stopped.interrupt.clone();
    stopped.progress = Progress::new(move |step| {
        if matches!(step, Step::Files { done: 100, .. }) {
            interrupt.raise(2);
        }
    });
    let run = desk.run_in(stopped, &["--json", "restore", "ada@"]);
    assert_ne!(run.code, 0, "{}", run.stdout);
    assert_eq!(desk.visible_state(), before);
    assert_eq!(changes(&desk.json(&["diff", "main", "ada@"])).len(), 200);
    desk.json(&["restore", "ada@"]);
    assert_eq!(desk.worktree(), ada.worktree());
    assert!(is_whole(&desk));
}

#[test]
fn history_that_lacks_something_is_refused() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    let plain = |args: &[&str]| ada.git(&[&["-c", "core.hooksPath=/nowhere"], args].concat());
    for content in ["first of v\n", "second of v\n"] {
        ada.write("v.txt", content);
        plain(&["add", "v.txt"]);
        plain(&["commit", "-qm", content]);
    }
    let lost = plain(&["rev-parse", "HEAD~:v.txt"]);
    let (folder, file) = lost.trim().split_at(2);
    let place = ada.path(".git/objects").join(folder).join(file);
    fs::rename(&place, desk.outside().join("lost")).unwrap();
    assert_eq!(desk.error(&["restore", "ada@"]), "object-missing");
    assert_eq!(desk.error(&["diff", "main", "ada@"]), "object-missing");
    assert!(is_whole(&desk));
    fs::rename(desk.outside().join("lost"), &place).unwrap();
    desk.json(&["restore", "ada@"]);
    assert!(is_whole(&desk));
}

#[test]
fn large_files_are_checked_against_their_ids_and_come_alone() {
    let desk = with_lfs();
    let ada = agent(&desk, "ada");
    let content = "large\n".repeat(300);
    ada.write("n.bin", &content);
    ada.git(&["add", "n.bin"]);
    let pointer = ada.git(&["cat-file", "blob", ":n.bin"]);
    let oid = pointer.split("sha256:").nth(1).unwrap()[..64].to_owned();
    ada.git(&["reset", "-q"]);
    let store = ada.path(".git/lfs/objects").join(&oid[..2]).join(&oid[2..4]);
    let object = store.join(&oid);
    fs::remove_file(&object).unwrap();
    fs::write(&object, "X".repeat(content.len())).unwrap();
    let stranger = "0".repeat(64);
    let others = ada.path(".git/lfs/objects/00/00");
    fs::create_dir_all(&others).unwrap();
    fs::write(others.join(&stranger), "not what it says\n").unwrap();
    let restored = desk.json(&["restore", "ada@"]);
    assert_eq!(restored["ok"], true, "{restored:#}");
    assert_eq!(desk.read("n.bin"), content, "the filter has stored it anew");
    assert!(!desk.path(&format!(".git/lfs/objects/00/00/{stranger}")).exists());
    desk.git(&["lfs", "fsck", "--objects"]);
}

#[test]
fn a_clone_whose_folder_is_gone_is_seen_by_what_is_newest() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    ada.write("f.txt", "old\n");
    ada.json(&["checkpoint", "--auto"]);
    commit(&ada, "f.txt", "new\n");
    fs::remove_dir_all(ada.path("")).unwrap();
    let diff = desk.json(&["diff", "main", "ada@", "--patch"]);
    assert!(diff["raw_unified_diff"].as_str().unwrap().contains("+new"), "{diff:#}");
}

#[test]
fn a_split_index_is_read() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    ada.git(&["update-index", "--split-index"]);
    ada.write("a.txt", "edited\n");
    assert_eq!(changes(&desk.json(&["diff", "ada", "ada@"])).len(), 1);
}

#[test]
fn a_pipe_in_a_clone_keeps_nobody_waiting() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    for name in ["HEAD", "packed-refs", "config", "refs/heads/fork/ada"] {
        let path = ada.path(".git").join(name);
        let kept = fs::read(&path).ok();
        fs::remove_file(&path).ok();
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let fleet = desk.json(&["fleet"]);
        assert_eq!(fleet["agents"][0]["work"], "unknown", "{name}: {fleet:#}");
        assert_eq!(fleet["agents"][0]["unseen"]["code"], "repository-broken");
        assert_eq!(desk.json(&["agents"])["count"], 1);
        assert_eq!(desk.error(&["diff", "main", "ada@"]), "repository-broken");
        fs::remove_file(&path).unwrap();
        if let Some(bytes) = kept {
            fs::write(&path, bytes).unwrap();
        }
    }
    fs::remove_file(ada.path(".git/HEAD")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", ada.path(".git/HEAD")).unwrap();
    let refused = desk.json(&["diff", "main", "ada@"]);
    assert!(!refused.to_string().contains("root:"), "{refused:#}");
}

#[test]
fn a_merge_under_way_is_refused_but_for_its_files() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    ada.git(&["switch", "-q", "-c", "other"]);
    commit(&ada, "o.txt", "other\n");
    ada.git(&["switch", "-q", "fork/ada"]);
    ada.git(&["merge", "-q", "--no-ff", "--no-commit", "other"]);
    let refused = desk.json(&["restore", "ada@"]);
    assert_eq!(refused["code"], "unsupported", "{refused:#}");
    assert_eq!(refused["hint"], "git colony restore ada@ --mode files   # restores the files");
    desk.json(&["restore", "ada@", "--mode", "files"]);
    assert_eq!(desk.read("o.txt"), "other\n");
}

#[test]
fn an_empty_tree_and_what_was_left_out_are_told() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    ada.write("id_rsa", "-----BEGIN RSA PRIVATE KEY-----\n");
    ada.git(&["rm", "-rq", "--cached", "."]);
    let restored = desk.json(&["restore", "ada@"]);
    assert_eq!(restored["left_out"][0]["path"], "id_rsa", "{restored:#}");
    assert!(is_whole(&desk));
    let preview = desk.json(&["merge", "-n", "ada@"]);
    assert_eq!(preview["left_out"][0]["path"], "id_rsa", "{preview:#}");
    let fork = desk.json(&["restore", "ada@", "--mode", "fork"]);
    assert_eq!(fork["branch"], "fork/from-ada", "{fork:#}");
}
