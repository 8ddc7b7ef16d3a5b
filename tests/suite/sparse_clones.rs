//! Sparse clones: only some directories on the disk, and everything in every commit.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::support::{Sandbox, View};

const DIRECTORIES: [&str; 4] = ["docs/api", "src", "-x", "o\"d[\\d]\t*"];

fn desk() -> Sandbox {
    let desk = Sandbox::new();
    for directory in DIRECTORIES {
        desk.write(&format!("{directory}/in.txt"), "one\n");
        desk.write(&format!("{directory}/below/deep.txt"), "one\n");
    }
    desk.write("docs/beside.txt", "one\n");
    desk.colony(&["checkpoint", "-m", "directories"]);
    desk
}

fn clone_of<'a>(desk: &'a Sandbox, made: &Value) -> View<'a> {
    assert_eq!(made["ok"], true, "{made:#}");
    desk.at(PathBuf::from(made["path"].as_str().unwrap()))
}

/// What git itself would check out.
fn by_git<'a>(desk: &'a Sandbox, directories: &[&str]) -> View<'a> {
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
        |view: &View<'_>, at: &str| view.git(&["ls-tree", "-r", at, "--", "docs", "-x", "a.txt"]);
    let before = outside(&ada, "main");
    assert_eq!(before.lines().count(), 6, "{before}");
    fs::write(ada.path("src/new.txt"), "of ada\n").unwrap();
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
    fs::write(ada.path("src/new.txt"), "again\n").unwrap();
    ada.colony(&["checkpoint", "-m", "again"]);
    ada.colony(&["undo"]);
    assert_eq!(ada.git(&["status", "--porcelain"]), " M src/new.txt");
    assert!(!ada.path("docs").exists() && !ada.path("-x").exists());
    ada.git(&["fsck", "--strict", "--no-dangling"]);
    let removed = desk.json(&["agents", "remove", "ada"]);
    let (hub, kept) = (
        removed["hub"].as_str().unwrap(),
        removed["kept_as"].as_str().unwrap(),
    );
    let tree = format!("{kept}heads/fork/ada");
    let kept = desk.git(&["-C", hub, "ls-tree", "-r", &tree, "--", "-x"]);
    assert_eq!(kept.lines().count(), 2, "{kept}");
}

#[test]
fn odd_names_are_passed_as_they_are_and_what_leads_elsewhere_is_refused() {
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
