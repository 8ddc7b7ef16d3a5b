//! Agents: a clone and a fork for each, seen and merged from where a person works, without a remote.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::{Sandbox, View};

/// Makes an agent; returns the view of its clone.
pub(crate) fn agent(desk: &Sandbox, name: &str) -> View {
    let made = desk.json(&["agents", "new", name]);
    assert_eq!(made["ok"], true, "{made:#}");
    desk.at(PathBuf::from(made["path"].as_str().unwrap()))
}

pub(crate) fn hub(desk: &Sandbox) -> PathBuf {
    let hubs = desk.outside().join("home/.local/share/git-colony/hubs");
    let entries = fs::read_dir(hubs).unwrap().map(|entry| entry.unwrap().path());
    let mut hubs = entries.filter(|path| path.extension().is_some_and(|end| end == "git"));
    let hub = hubs.next().unwrap();
    assert_eq!(hubs.next(), None, "one repository, one hub");
    hub
}

fn names(answer: &Value) -> Vec<String> {
    let forks = answer["forks"].as_array().unwrap().iter();
    forks.map(|fork| fork["name"].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn commit(clone: &View, path: &str, content: &str) {
    fs::write(clone.path(path), content).unwrap();
    clone.colony(&["commit", "-m", &format!("edit {path}"), "--all"]);
}

#[test]
fn an_agent_works_in_a_clone_that_git_finds_whole() {
    let desk = Sandbox::new();
    let before = desk.visible_state();
    let ada = agent(&desk, "ada");
    let date = |path: &str| fs::metadata(ada.path(path)).unwrap().modified().unwrap();
    assert!(
        date(".git/index") >= date(".git/refs/heads/fork/ada"),
        "files of the checkout are older than the index"
    );
    assert_eq!(ada.git(&["status", "--porcelain=v2", "-b"]).lines().count(), 2);
    assert_eq!(ada.git(&["branch", "--show-current"]).trim(), "fork/ada");
    assert_eq!(ada.worktree(), desk.worktree());
    ada.git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(ada.git(&["rev-parse", "main", "fork/ada"]), {
        let tip = desk.git(&["rev-parse", "main"]);
        format!("{tip}\n{tip}")
    });
    assert_eq!(desk.visible_state(), before, "the desk is as it was");
    let printed = desk.colony(&["agents", "path", "ada"]);
    assert_eq!(PathBuf::from(printed.trim_end()), ada.path(""));
}

#[test]
fn what_an_agent_commits_is_merged_from_the_desk_by_its_name() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "a.txt", "of ada\n");
    let forks = desk.json(&["forks"]);
    assert_eq!(names(&forks), ["fork/ada"], "{forks:#}");
    assert_eq!(forks["forks"][0]["agent"], "ada");
    assert_eq!(forks["forks"][0]["ahead"], 1);
    let merged = desk.json(&["merge", "ada"]);
    assert_eq!(merged["outcome"], "fast_forward", "{merged:#}");
    assert_eq!(desk.read("a.txt"), "of ada\n");
    desk.git(&["fsck", "--strict", "--no-dangling"]);
    let author = desk.git(&["log", "-1", "--format=%an"]);
    assert_eq!(author.trim(), "agent:ada:agent");
}

#[test]
fn commits_of_plain_git_are_published_by_the_hook() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    ada.write("new.txt", "new\n");
    ada.git(&["add", "new.txt"]);
    ada.git(&["commit", "-qm", "by plain git"]);
    // The hook runs the installed program, which a test in process does not have; a command does.
    ada.colony(&["checkpoint", "-m", "kept"]);
    let diff = desk.json(&["diff", "main", "ada"]);
    assert_eq!(diff["entries"][0]["path"], "new.txt", "{diff:#}");
}

#[test]
fn two_agents_clash_and_the_desk_says_so() {
    let desk = Sandbox::new();
    let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
    commit(&ada, "a.txt", "of ada\n");
    commit(&bob, "a.txt", "of bob\n");
    let forks = desk.json(&["forks", "--conflicts"]);
    assert_eq!(names(&forks), ["fork/ada", "fork/bob"]);
    assert_eq!(forks["matrix"][0]["paths"][0], "a.txt", "{forks:#}");
    // Each sees the other, too, and plain git can look at what was brought over.
    let diff = ada.json(&["diff", "ada", "bob"]);
    assert_eq!(diff["entries"][0]["path"], "a.txt", "{diff:#}");
    let picked = desk.json(&["cherry-pick", "bob"]);
    assert_eq!(picked["picked"].as_array().unwrap().len(), 1, "{picked:#}");
    assert_eq!(desk.json(&["merge", "ada"])["outcome"], "conflicted");
}

#[test]
fn objects_are_borrowed_and_published_by_links() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    let own = ada.git(&["count-objects", "-v"]);
    // The record of the fork and of the operations that made it; nothing of the history.
    assert!(!own.contains("in-pack: 1"), "{own}");
    commit(&ada, "a.txt", "of ada\n");
    let blob = ada.git(&["rev-parse", "HEAD:a.txt"]);
    let (folder, file) = blob.trim().split_at(2);
    let loose = format!("objects/{folder}/{file}");
    let in_clone = fs::metadata(ada.path(".git").join(&loose)).unwrap();
    let in_hub = fs::metadata(hub(&desk).join(&loose)).unwrap();
    assert_eq!(in_clone.ino(), in_hub.ino());
}

#[test]
fn packed_objects_are_published_and_gathered_by_git() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    ada.write("a.txt", "of ada\n");
    ada.git(&["commit", "-qam", "by plain git"]);
    ada.git(&["repack", "-a", "-d", "-l", "-q"]);
    ada.colony(&["checkpoint", "-m", "kept"]);
    let merged = desk.json(&["merge", "ada"]);
    assert_eq!(merged["outcome"], "fast_forward", "{merged:#}");
    desk.git(&["fsck", "--strict", "--no-dangling"]);
    let store = hub(&desk);
    desk.git(&["-C", store.to_str().unwrap(), "fsck", "--strict", "--no-dangling"]);
}

#[test]
fn clones_stay_whole_whatever_gc_does() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "a.txt", "of ada\n");
    // The desk forgets the commit the clone began at.
    desk.git(&["commit", "-q", "--amend", "-m", "another first"]);
    for clone in [&desk.at(desk.root.clone()), &ada] {
        clone.git(&["reflog", "expire", "--expire=now", "--all"]);
        clone.git(&["gc", "-q", "--prune=now"]);
    }
    let store = hub(&desk);
    assert!(!desk.try_git(&["-C", store.to_str().unwrap(), "prune"]));
    ada.git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(ada.git(&["log", "--format=%s"]), "edit a.txt\nfirst");
}

#[test]
fn a_second_agent_of_a_name_is_refused_and_the_first_is_named() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    let again = desk.json(&["agents", "new", "ada"]);
    assert_eq!(again["code"], "agent-exists");
    assert_eq!(again["detail"]["path"], ada.path("").to_str().unwrap().trim_end_matches('/'));
    assert_eq!(desk.error(&["agents", "new", "../x"]), "invalid-value");
    assert_eq!(desk.error(&["agents", "path", "eve"]), "clone-not-found");
    desk.git(&["branch", "fork/bob"]);
    assert_eq!(desk.error(&["agents", "new", "bob"]), "branch-exists");
    let list = desk.json(&["agents"]);
    assert_eq!(list["count"], 1);
    assert_eq!(list["agents"][0]["branch"], "fork/ada");
}

#[test]
fn a_dry_run_makes_nothing() {
    let desk = Sandbox::new();
    let would = desk.json(&["agents", "new", "ada", "-n"]);
    assert_eq!(would["dry_run"], true);
    assert!(!desk.outside().join("home").exists());
    let did = desk.json(&["agents", "new", "ada"]);
    assert_eq!(did["path"], would["path"]);
    assert_eq!(did["hub"], would["hub"]);
}

#[test]
fn an_agent_begins_where_it_is_told_to() {
    let desk = Sandbox::new();
    let first = desk.git(&["rev-parse", "HEAD"]);
    desk.write("a.txt", "two\n");
    desk.colony(&["checkpoint", "-m", "second"]);
    let made = desk.json(&["agents", "new", "ada", "--from", "HEAD~1", "--fork", "old"]);
    assert_eq!(made["head_sha"], first.trim(), "{made:#}");
    let ada = desk.at(PathBuf::from(made["path"].as_str().unwrap()));
    assert_eq!(fs::read_to_string(ada.path("a.txt")).unwrap(), "one\n");
    assert_eq!(ada.git(&["branch", "--show-current"]).trim(), "fork/old");
    // It knows the branch it began on as it is.
    assert_eq!(ada.git(&["rev-parse", "main"]), desk.git(&["rev-parse", "main"]));
}

#[test]
fn repositories_without_their_whole_history_are_refused() {
    let desk = Sandbox::new();
    desk.write("a.txt", "two\n");
    desk.git(&["commit", "-qam", "second"]);
    let shallow = desk.outside().join("shallow");
    let url = format!("file://{}", desk.root.display());
    desk.git(&["clone", "-q", "--depth=1", &url, shallow.to_str().unwrap()]);
    let shallow = desk.at(shallow);
    assert_eq!(shallow.error(&["agents", "new", "ada"]), "unsupported");
    assert!(!desk.outside().join("home/.local/share/git-colony/hubs").exists_with_hub());
}

#[test]
fn a_removed_agent_leaves_all_of_its_work_in_the_hub() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "a.txt", "of ada\n");
    ada.write("b.txt", "not committed\n");
    let folder = ada.path("");
    assert_eq!(ada.error(&["agents", "remove", "ada"]), "clone-in-use");
    assert!(folder.exists());
    let would = desk.json(&["agents", "remove", "ada", "-n"]);
    assert_eq!((&would["unsaved"], &would["kept_as"]), (&1.into(), &Value::Null));
    let removed = desk.json(&["agents", "remove", "ada"]);
    let kept = removed["kept_as"].as_str().unwrap();
    assert!(!folder.exists());
    assert_eq!(desk.json(&["agents"])["count"], 0);
    assert_eq!(names(&desk.json(&["forks"])), Vec::<String>::new());
    let hub = removed["hub"].as_str().unwrap();
    let show = |what: &str| desk.git(&["-C", hub, "show", &format!("{kept}{what}")]);
    assert_eq!(show("heads/fork/ada:a.txt"), "of ada");
    let tags =
        desk.git(&["-C", hub, "for-each-ref", "--format=%(refname)", &format!("{kept}tags/")]);
    let newest = tags.lines().last().unwrap().strip_prefix(kept).unwrap();
    assert_eq!(show(&format!("{newest}^{{commit}}:b.txt")), "not committed");
    // The name is free again, and what it was used for before is not in the way.
    agent(&desk, "ada");
}

#[test]
fn what_cannot_be_kept_stops_a_removal() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    ada.write(".env", "TOKEN=x\n");
    let refused = desk.json(&["agents", "remove", "ada"]);
    assert_eq!(refused["code"], "clone-in-use", "{refused:#}");
    assert_eq!(refused["detail"]["left_out"][0]["path"], ".env");
    assert!(ada.path(".env").exists());
    let removed = desk.json(&["agents", "remove", "ada", "--force"]);
    assert_eq!(removed["left_out"][0]["path"], ".env");
}

#[test]
fn the_name_of_an_agent_takes_no_name_that_git_knows() {
    let desk = Sandbox::new();
    desk.git(&["tag", "v1"]);
    for name in ["v1", "beef"] {
        let clone = agent(&desk, name);
        commit(&clone, "a.txt", name);
    }
    let first = desk.git(&["rev-parse", "main"]);
    for known in ["HEAD", "v1"] {
        let diff = desk.json(&["diff", "main", known]);
        assert_eq!(diff["commit_b"], first.trim(), "{diff:#}");
    }
    assert_eq!(desk.json(&["merge", "beef"])["outcome"], "fast_forward");
    assert_eq!(desk.read("a.txt"), "beef");
}

trait ExistsWithHub {
    fn exists_with_hub(&self) -> bool;
}

impl ExistsWithHub for PathBuf {
    /// Whether a hub is there, or what is left of one that was begun.
    fn exists_with_hub(&self) -> bool {
        let entries = fs::read_dir(self).into_iter().flatten().flatten();
        let mut names = entries.map(|entry| entry.path());
        names.any(|path| path.extension().is_none_or(|end| end != "lock"))
    }
}

#[test]
fn a_preview_names_the_clone_beside_one_of_another_repository() {
    let desk = Sandbox::new();
    agent(&desk, "ada");
    let folder = desk.outside().join("other");
    desk.git(&["init", "-q", "-b", "main", folder.to_str().unwrap()]);
    let other = desk.at(folder);
    other.write("a.txt", "of the other\n");
    other.git(&["add", "-A"]);
    let who = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
    other.git(&[&who[..], &["commit", "-qm", "first"]].concat());
    let preview = other.json(&["agents", "new", "-n", "ada"]);
    let made = other.json(&["agents", "new", "ada"]);
    assert_eq!(made["ok"], true, "{made:#}");
    for key in ["path", "scope", "fork", "hub", "head_sha", "base_branch"] {
        assert_eq!(preview[key], made[key], "{key}");
    }
}
