//! Sparse clones: only some directories on the disk, and everything in every commit.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::fixture::Fixture;
use crate::support::{Sandbox, View};

const DIRECTORIES: [&str; 4] = ["docs/api", "src", "-x", "o\"d[\\d]\t*"];

fn desk() -> Sandbox {
    DESK.copy()
}

static DESK: Fixture = Fixture::new(|| {
    let desk = Sandbox::new();
    for directory in DIRECTORIES {
        desk.write(&format!("{directory}/in.txt"), "one\n");
        desk.write(&format!("{directory}/below/deep.txt"), "one\n");
    }
    desk.write("docs/beside.txt", "one\n");
    desk.colony(&["checkpoint", "-m", "directories"]);
    desk
});

fn clone_of(desk: &Sandbox, made: &Value) -> View {
    assert_eq!(made["ok"], true, "{made:#}");
    desk.at(PathBuf::from(made["path"].as_str().unwrap()))
}

/// What git itself would check out.
fn by_git(desk: &Sandbox, directories: &[&str]) -> View {
    let place = desk.outside().join("by-git");
    let (from, to) = (desk.root.to_str().unwrap(), place.to_str().unwrap());
    desk.git(&["clone", "-q", "--no-checkout", from, to]);
    let clone = desk.at(place);
    let set = ["sparse-checkout", "set", "--cone"];
    clone.git(&[&set[..], directories].concat());
    clone.git(&["checkout", "-q", "main"]);
    clone
}

#[test]
fn copies_of_what_these_tests_begin_with_are_whole() {
    DESK.check();
}

#[test]
fn a_sparse_clone_holds_what_git_would_check_out() {
    let desk = desk();
    let git = by_git(&desk, &["docs/api", "src"]);
    let sparse = ["--sparse", "docs/api", "--sparse", "src/"];
    for start in [&["agents", "new", "ada"][..], &["clone", "--agent", "bob"]] {
        let made = desk.json(&[start, &sparse].concat());
        let clone = clone_of(&desk, &made);
        assert_eq!(clone.worktree(), git.worktree());
        assert!(!clone.path("-x").exists());
        assert_eq!(clone.git(&["sparse-checkout", "list"]), "docs/api\nsrc");
        assert_eq!(clone.git(&["status", "--porcelain"]), "");
        assert_eq!(clone.git(&["ls-files", "-t"]), git.git(&["ls-files", "-t"]));
        clone.git(&["sparse-checkout", "reapply"]);
        assert_eq!(clone.worktree(), git.worktree());
    }
}

#[test]
fn what_is_outside_the_cone_is_in_every_commit() {
    let desk = desk();
    let made = desk.json(&["agents", "new", "ada", "--sparse", "src"]);
    let ada = clone_of(&desk, &made);
    let outside =
        |view: &View, at: &str| view.git(&["ls-tree", "-r", at, "--", "docs", "-x", "a.txt"]);
    let before = outside(&ada, "main");
    assert_eq!(before.lines().count(), 6, "{before}");
    ada.write("src/new.txt", "of ada\n");
    ada.colony(&["checkpoint", "-m", "kept"]);
    assert_eq!(outside(&ada, "HEAD"), before);
    desk.write("docs/beside.txt", "two\n");
    desk.write("docs/new.txt", "new\n");
    desk.colony(&["checkpoint", "-m", "docs"]);
    assert_eq!(desk.json(&["merge", "ada"])["outcome"], "merged");
    assert_eq!(desk.read("src/new.txt"), "of ada\n");
    assert_eq!(desk.read("docs/beside.txt"), "two\n");
    assert_eq!(desk.read("-x/in.txt"), "one\n");
    // The other way: what others did outside comes into the commits, not onto the disk.
    let merged = ada.json(&["merge", "main", "--into", "fork/ada"]);
    assert_eq!(merged["ok"], true, "{merged:#}");
    ada.write("src/new.txt", "again\n");
    ada.colony(&["checkpoint", "-m", "again"]);
    ada.colony(&["undo"]);
    assert_eq!(ada.git(&["status", "--porcelain"]), " M src/new.txt");
    assert!(!ada.path("docs").exists() && !ada.path("-x").exists());
    ada.git(&["fsck", "--strict", "--no-dangling"]);
    let removed = desk.json(&["agents", "remove", "ada"]);
    let (hub, kept) = (removed["hub"].as_str().unwrap(), removed["kept_as"].as_str().unwrap());
    let tree = format!("{kept}heads/fork/ada");
    let kept = desk.git(&["-C", hub, "ls-tree", "-r", &tree, "--", "-x"]);
    assert_eq!(kept.lines().count(), 2, "{kept}");
}

#[test]
fn odd_names_are_passed_unchanged_and_escaping_ones_are_refused() {
    let desk = desk();
    for (name, directory) in ["ada", "bob"].iter().zip(["-x", DIRECTORIES[3]]) {
        let sparse = format!("--sparse={directory}");
        let clone = clone_of(&desk, &desk.json(&["agents", "new", name, &sparse]));
        assert!(clone.path(directory).join("below/deep.txt").exists());
        assert!(!clone.path("src").exists());
        assert_eq!(clone.git(&["status", "--porcelain"]), "");
    }
    for (wrong, code) in [
        ("../desk", "path-outside"),
        ("/etc", "path-outside"),
        ("", "path-outside"),
        (".git", "path-outside"),
        ("src/../docs", "path-outside"),
        ("sr\nc", "unsupported"),
        ("src ", "unsupported"),
        ("a.txt", "path-not-found"),
        ("nowhere", "path-not-found"),
        ("*", "path-not-found"),
        ("!src", "path-not-found"),
    ] {
        let sparse = format!("--sparse={wrong}");
        for start in [&["agents", "new", "eve"][..], &["clone", "--agent", "eve"]] {
            assert_eq!(desk.error(&[start, &[&sparse]].concat()), code, "{wrong}");
        }
        assert_eq!(desk.error(&["agents", "new", "eve", "-n", &sparse]), code);
    }
    assert_eq!(desk.json(&["agents"])["count"], 2);
}

/// Has the repository say what new clones hold.
fn say(desk: &Sandbox, value: &str) {
    let text = format!("[clone]\nsparse = {value}\n");
    desk.write(".colony/colony.toml", text);
    desk.colony(&["checkpoint", "-m", "what clones hold"]);
}

/// Makes a clone; returns the directories at its top.
fn held(desk: &Sandbox, args: &[&str]) -> Vec<String> {
    let clone = clone_of(desk, &desk.json(args));
    assert_eq!(clone.git(&["status", "--porcelain"]), "", "{args:?}");
    let top = clone.worktree().into_keys();
    let is_top = |name: &String| !name.contains('/') && !name.contains('.');
    top.filter(is_top).collect()
}

const ALL: [&str; 5] = ["-x", "dir", "docs", "o\\\"d[\\\\d]\\t*", "src"];

#[test]
fn where_nobody_says_the_setting_does() {
    let desk = desk();
    say(&desk, "[\"src\", \"docs/api/\"]");
    let git = by_git(&desk, &["docs/api", "src"]);
    let wanted = serde_json::json!(["src", "docs/api/"]);
    for start in [&["agents", "new", "ada"][..], &["clone", "--agent", "bob"]] {
        let would = desk.json(&[start, &["-n"]].concat());
        assert_eq!(would["sparse"], wanted, "{would:#}");
        let made = desk.json(start);
        assert_eq!(made["sparse"], wanted, "{made:#}");
        assert_eq!(clone_of(&desk, &made).worktree(), git.worktree());
    }
    // What is typed wins, and so does the whole tree.
    assert_eq!(held(&desk, &["agents", "new", "eve", "--sparse=-x"]), ["-x"]);
    assert_eq!(held(&desk, &["agents", "new", "dan", "--no-sparse"]), ALL);
    let whole = ["clone", "--agent", "fay", "--no-sparse"];
    assert_eq!(held(&desk, &whole), ALL);
    // A clone of a URL goes by its own commit, whatever is configured where it is asked for.
    desk.git(&["config", "colony.clone.sparse", "dir"]);
    let url = desk.outside().join("by-git");
    let reading = ["clone", url.to_str().unwrap(), "--read-only"];
    assert_eq!(held(&desk, &reading), ["docs", "src"]);
    // The file counts as the commit has it.
    desk.write(".colony/colony.toml", "[clone]\nsparse = [\"-x\"]\n");
    assert_eq!(held(&desk, &["agents", "new", "gus"]), ["docs", "src"]);
    let made = desk.json(&["agents", "new", "hal", "--with-changes"]);
    assert_eq!(made["sparse"], serde_json::json!([]), "what is uncommitted may be anywhere");
    // The user's own configuration, where the repository says nothing.
    let before = ["--from", "HEAD~1"];
    assert_eq!(held(&desk, &[&["agents", "new", "ivy"], &before[..]].concat()), ["dir"]);
    desk.git(&["config", "colony.clone.sparse", "src, -x"]);
    assert_eq!(held(&desk, &[&["agents", "new", "joe"], &before[..]].concat()), ["-x", "src"]);
}

#[test]
fn a_setting_that_escapes_is_void_and_a_missing_one_is_reported() {
    let desk = desk();
    for (number, wrong) in [
        "[\"../desk\"]",
        "[\"/etc\"]",
        "[\"src\", \".git\"]",
        "\"src/../../x\"",
        "[\"sr\\nc\"]",
        "1.5",
        "{ src = true }",
        "[[\"src\"]]",
    ]
    .iter()
    .enumerate()
    {
        say(&desk, wrong);
        let name = format!("agent-{number}");
        let run = desk.run(&["agents", "new", &name, "-n"]);
        assert!(run.stderr.contains("'clone.sparse'"), "{wrong} {}", run.stderr);
        assert_eq!(held(&desk, &["agents", "new", &name]), ALL, "{wrong}");
    }
    say(&desk, "[\"src\", \"gone\\u001b[31m\", \"a.txt\"]");
    let run = desk.run(&["agents", "new", "ada"]);
    let told = "'colony.clone.sparse' names 2 directories that the commit does not have: 'gone\\x1b[31m', 'a.txt'";
    assert!(run.stderr.contains(told), "{}", run.stderr);
    assert_eq!(held(&desk, &["agents", "new", "bob"]), ["src"]);
    say(&desk, "[\"gone\"]");
    assert_eq!(held(&desk, &["clone", "--agent", "cat"]), ALL);
    // What the user has set and is wrong is for the user to mend.
    desk.write(".colony/colony.toml", "");
    desk.colony(&["checkpoint", "-m", "nothing"]);
    desk.git(&["config", "colony.clone.sparse", "src,../desk"]);
    assert_eq!(desk.error(&["agents", "new", "eve"]), "invalid-value");
    assert_eq!(desk.error(&["clone", "--agent", "eve"]), "invalid-value");
    assert_eq!(held(&desk, &["agents", "new", "eve", "--no-sparse"]), ALL);
}

#[test]
fn what_is_written_outside_of_the_cone_is_seen_and_kept() {
    let desk = desk();
    let made = desk.json(&["agents", "new", "ada", "--sparse", "src"]);
    let clone = clone_of(&desk, &made);
    fs::create_dir_all(clone.path("docs/api")).unwrap();
    clone.write("docs/api/in.txt", "important\n");
    let diff = desk.json(&["diff", "ada", "ada@"]);
    assert_eq!(diff["entries"][0]["path"], "docs/api/in.txt", "{diff:#}");
    assert_eq!(diff["entries"].as_array().unwrap().len(), 1, "{diff:#}");
    let fleet = desk.json(&["fleet"]);
    assert_eq!(fleet["agents"][0]["unsaved"], 1, "{fleet:#}");
    let kept = clone.json(&["checkpoint", "-m", "kept"]);
    assert_eq!(kept["files_changed"], 1, "{kept:#}");
    let held = clone.git(&["show", "HEAD:docs/api/in.txt"]);
    assert_eq!(held.trim_end(), "important");
    assert_eq!(clone.git(&["status", "--porcelain"]), "");
    clone.json(&["undo"]);
    assert_eq!(fs::read_to_string(clone.path("docs/api/in.txt")).unwrap(), "important\n");
    let status = clone.git(&["status", "--porcelain"]);
    assert_eq!(status.trim(), "M docs/api/in.txt");
}
