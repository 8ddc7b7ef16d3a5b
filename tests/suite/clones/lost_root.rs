//! The shared root is gone, or another one is at its path: what agents had published is not dropped.

use std::fs;
use std::path::PathBuf;

use crate::agents::new_and_merge::{agent, commit};
use crate::support::{Sandbox, View};

const COPIES: &str = "refs/colony-local/agents";

fn root(desk: &View) -> PathBuf {
    desk.path("").parent().unwrap().join("home/.local/share/git-colony")
}

fn refs(desk: &View) -> String {
    desk.git(&["for-each-ref", "--format=%(refname) %(objectname)", COPIES])
}

/// A desk that knows the work of an agent; returns its commit, too.
fn with_work(desk: &Sandbox) -> String {
    let ada = agent(desk, "ada");
    commit(&ada, "ada.txt", "of ada\n");
    desk.colony(&["fleet"]);
    ada.git(&["rev-parse", "HEAD"]).trim().to_owned()
}

/// Makes git delete what nothing points to.
fn collect(desk: &View) {
    desk.git(&["reflog", "expire", "--expire=now", "--all"]);
    desk.git(&["gc", "-q", "--prune=now"]);
}

/// The agent is a row whose clone is lost, or named as removed, and comes back with its commit.
fn restores(desk: &View, tip: &str) {
    let fleet = desk.json(&["fleet"]);
    let is_lost = fleet["agents"][0]["agent"] == "ada" && fleet["agents"][0]["lost"] == true;
    assert!(is_lost || fleet["removed"][0]["agent"] == "ada", "{fleet:#}");
    collect(desk);
    desk.colony(&["agents", "restore", "ada"]);
    let path = desk.json(&["agents", "path", "ada"])["path"].as_str().unwrap().to_owned();
    let ada = desk.at(path.into());
    assert_eq!(ada.git(&["rev-parse", "HEAD"]).trim(), tip);
    assert_eq!(ada.read("ada.txt"), "of ada\n");
    ada.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn a_root_that_is_gone_is_missing_and_copies_stay() {
    let desk = Sandbox::new();
    let tip = with_work(&desk);
    let before = refs(&desk);
    fs::remove_dir_all(root(&desk)).unwrap();
    for args in [&["fleet"][..], &["agents"], &["agents", "new", "zoe"], &["merge", "ada"]] {
        assert_eq!(desk.error(args), "hub-missing", "{args:?}");
    }
    assert_eq!(desk.run(&["doctor"]).code, 1);
    desk.colony(&["checkpoint", "-m", "goes on"]);
    collect(&desk);
    assert_eq!(refs(&desk), before);
    assert!(!root(&desk).exists(), "it may be on a disk that is not mounted");
    // Who names the root begins again there, with what was published.
    let named = desk.with("COLONY_SHARED_ROOT", root(&desk));
    let made = named.run(&["agents", "new", "zoe"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    assert!(made.stderr.contains("warning: the hub"), "{}", made.stderr);
    restores(&desk, &tip);
}

#[test]
fn another_root_at_the_same_path_gets_what_was_published() {
    let desk = Sandbox::new();
    let remote = desk.outside().join("remote.git");
    let (url, other) = (remote.to_str().unwrap(), desk.outside().join("other"));
    desk.git(&["clone", "-q", "--bare", ".", url]);
    desk.git(&["remote", "add", "origin", url]);
    let tip = with_work(&desk);
    fs::rename(root(&desk), desk.outside().join("unmounted")).unwrap();
    desk.git(&["clone", "-q", url, other.to_str().unwrap()]);
    let other = desk.at(other);
    other.colony(&["agents", "new", "zoe"]);
    let before = refs(&desk);
    for dry in [&["merge", "-n", "ada"][..], &["agents", "new", "-n", "eve"]] {
        desk.colony(dry);
        assert_eq!(refs(&desk), before, "{dry:?}");
    }
    let shown = desk.run(&["fleet"]);
    assert!(shown.stderr.contains("is another one than before"), "{}", shown.stderr);
    assert!(refs(&desk).contains(before.trim()), "{}", refs(&desk));
    assert!(!desk.run(&["fleet"]).stderr.contains("another one"));
    restores(&desk, &tip);
}

#[test]
fn a_hub_that_was_deleted_with_its_last_clone_is_not_missing() {
    let desk = Sandbox::new();
    desk.git(&["config", "colony.keepRemovedDays", "0"]);
    with_work(&desk);
    desk.colony(&["merge", "ada"]);
    assert!(!refs(&desk).is_empty());
    desk.colony(&["agents", "remove", "ada"]);
    desk.colony(&["clones", "gc", "--force"]);
    assert_eq!(desk.json(&["fleet"])["ok"], true);
    assert_eq!(desk.json(&["doctor"])["ok"], true);
    let again = desk.run(&["agents", "new", "ada"]);
    assert_eq!((again.code, again.stderr.contains("warning")), (0, false), "{}", again.stderr);
}
