//! `git colony log`: the commits of a line of work, and what is not committed of it.

use std::path::PathBuf;

use serde_json::Value;

use crate::agents::new_and_merge::{agent, commit};
use crate::support::{Sandbox, View};

fn ids(log: &Value) -> Vec<String> {
    let commits = log["commits"].as_array();
    let commits = commits.unwrap_or_else(|| panic!("{log:#}"));
    let id = |entry: &Value| entry["sha"].as_str().unwrap().to_owned();
    commits.iter().map(id).collect()
}

/// What git lists for a range.
fn by_git(git: &str) -> Vec<String> {
    git.lines().map(str::to_owned).collect()
}

#[test]
fn the_log_of_an_agent_is_what_a_merge_of_it_brings_in() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "one.txt", "one\n");
    commit(&ada, "two.txt", "two\n");
    desk.write("here.txt", "here\n");
    desk.colony(&["commit", "-m", "here", "--all"]);
    let log = desk.json(&["log", "ada"]);
    let expected = by_git(&ada.git(&["rev-list", "main..HEAD"]));
    assert_eq!(ids(&log), expected, "{log:#}");
    assert_eq!((&log["into"], &log["truncated"]), (&"main".into(), &false.into()));
    assert_eq!(log["uncommitted"], Value::Null);
    assert_eq!(log["commits"][0]["subject"], "edit two.txt");
    // The agent sees the same from its clone, where the name of the branch need not be typed.
    assert_eq!(ids(&ada.json(&["log"])), expected);
    assert_eq!(ids(&ada.json(&["log", "HEAD"])), expected);
    assert_eq!(ids(&desk.json(&["log", "ada", "-n", "1"])), expected[..1]);
    desk.colony(&["merge", "ada", "--squash"]);
    let log = desk.json(&["log", "ada"]);
    assert_eq!(log["message"], "'fork/ada' has no commits that 'main' does not have");
    commit(&ada, "three.txt", "three\n");
    let log = desk.json(&["log", "ada"]);
    assert_eq!(ids(&log), by_git(&ada.git(&["rev-list", "-1", "HEAD"])), "{log:#}");
    desk.check_invariants_of_git();
}

#[test]
fn what_an_agent_has_not_committed_is_one_entry_on_top() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "one.txt", "one\n");
    assert_eq!(desk.json(&["log", "ada@"])["uncommitted"], Value::Null);
    ada.write("one.txt", "edited\n");
    ada.write("new.txt", "new\n");
    let log = desk.json(&["log", "ada@"]);
    assert_eq!(ids(&log), by_git(&ada.git(&["rev-list", "main..HEAD"])), "{log:#}");
    let uncommitted = &log["uncommitted"];
    assert_eq!((&uncommitted["agent"], &uncommitted["files"]), (&"ada".into(), &2.into()));
    let told = desk.colony(&["log", "ada@"]);
    let told = told.replace(&ids(&log)[0][..8], "[commit]");
    insta::assert_snapshot!(told, @r"
    'ada@' has 1 commit that 'main' does not have, and 2 files not committed
    -         now            ada              2 files not committed
    [commit]  3 minutes ago  agent:ada:agent  edit one.txt
    next: git colony diff ada ada@
    ");
    // Of its clone, nothing but the last state is left.
    desk.json(&["agents", "remove", "ada"]);
    let removed = desk.json(&["log", "ada@"]);
    assert_eq!((&removed["uncommitted"]["files"], ids(&removed)), (&2.into(), ids(&log)));
    let unknown = desk.json(&["log", "ada"]);
    assert_eq!(unknown["hint"], "git colony agents restore ada", "{unknown:#}");
}

#[test]
fn a_range_is_what_git_lists_for_it() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "one.txt", "one\n");
    let bob = desk.json(&["agents", "new", "bob", "--from", "ada"]);
    let bob = desk.at(PathBuf::from(bob["path"].as_str().unwrap()));
    commit(&bob, "two.txt", "two\n");
    let log = desk.json(&["log", "ada..bob"]);
    assert_eq!(ids(&log), by_git(&bob.git(&["rev-list", "-1", "HEAD"])), "{log:#}");
    assert_eq!(log["into"], "fork/ada");
    assert_eq!(ids(&desk.json(&["log", "..bob"])).len(), 2);
    assert_eq!(ids(&desk.json(&["log", "bob..ada"])).len(), 0);
    assert_eq!(ids(&desk.json(&["log", "bob..HEAD"])).len(), 0);
    let both = desk.json(&["log", "ada...bob"]);
    assert_eq!(both["code"], "invalid-value", "{both:#}");
}

#[test]
fn the_log_of_the_default_branch_or_an_old_revision_is_history() {
    let desk = Sandbox::new();
    for number in 0..3 {
        desk.write("a.txt", format!("{number}\n"));
        desk.colony(&["commit", "-m", &format!("change {number}"), "--all"]);
    }
    let history = by_git(&desk.git(&["rev-list", "HEAD"]));
    let log = desk.json(&["log"]);
    assert_eq!((ids(&log), &log["into"]), (history.clone(), &Value::Null));
    assert_eq!(ids(&desk.json(&["log", "HEAD~2"])), history[2..]);
    let newest = desk.json(&["log", "-n", "2"]);
    assert_eq!((ids(&newest), &newest["truncated"]), (history[..2].to_vec(), &true.into()));
    assert_eq!(ids(&desk.json(&["log", "-n", "0"])).len(), 0);
    desk.colony(&["fork", "try"]);
    let idle = desk.json(&["log"]);
    assert_eq!(idle["message"], "'fork/try' has no commits that 'main' does not have");
    desk.git(&["switch", "-q", "--detach", "HEAD~1"]);
    assert_eq!(ids(&desk.json(&["log"])), history[1..]);
    desk.git(&["switch", "-q", "--orphan", "empty"]);
    let empty = desk.json(&["log"]);
    assert_eq!((ids(&empty).len(), &empty["head_sha"]), (0, &Value::Null));
}

#[test]
fn a_fork_of_a_fork_lists_what_the_first_one_lacks() {
    let desk = Sandbox::new();
    desk.colony(&["fork", "one"]);
    desk.write("one.txt", "one\n");
    desk.colony(&["commit", "-m", "one", "--all"]);
    desk.colony(&["fork", "two"]);
    desk.write("two.txt", "two\n");
    desk.colony(&["commit", "-m", "two", "--all"]);
    let log = desk.json(&["log", "two"]);
    assert_eq!(ids(&log), by_git(&desk.git(&["rev-list", "fork/one..fork/two"])));
    assert_eq!(log["into"], "fork/one");
}

#[test]
fn what_a_commit_says_is_data() {
    let desk = Sandbox::new();
    desk.write("a.txt", "other\n");
    desk.git(&["commit", "-qam", "red \u{1b}[31m\u{202e}\u{7}", "--author", "e\u{1b}[2Jve <e@x>"]);
    let told = desk.colony(&["log"]);
    assert!(told.contains("red ") && !told.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{told}");
    let missing = desk.json(&["log", "--", "--output=x"]);
    assert_eq!(missing["code"], "revision-not-found", "{missing:#}");
    assert!(!desk.path("x").exists());
}

#[test]
fn a_clean_sparse_clone_is_clean_and_a_staged_change_counts() {
    let desk = Sandbox::new();
    desk.write("dir/in.txt", "in\n");
    desk.write("other/out.txt", "out\n");
    desk.git(&["add", "."]);
    desk.git(&["commit", "-qm", "folders"]);
    let made = desk.json(&["agents", "new", "ada", "--sparse", "dir"]);
    let ada = desk.at(PathBuf::from(made["path"].as_str().unwrap()));
    assert_eq!(desk.json(&["log", "ada@"])["uncommitted"], Value::Null);
    ada.write("dir/in.txt", "staged\n");
    ada.git(&["add", "dir/in.txt"]);
    ada.write("dir/in.txt", "in\n");
    let log = desk.json(&["log", "ada@"]);
    assert_eq!(log["uncommitted"]["files"], 0, "{log:#}");
    assert!(desk.colony(&["log", "ada@"]).contains("staged"));
}

#[test]
fn the_name_of_an_agent_means_the_same_in_every_clone() {
    let desk = Sandbox::new();
    let bob = agent(&desk, "bob");
    let made = desk.json(&["agents", "new", "eve", "--fork", "another-label"]);
    let eve = desk.at(PathBuf::from(made["path"].as_str().unwrap()));
    let ada = agent(&desk, "ada");
    let here = desk.at(desk.root.clone());
    let paths = |view: &View, args: &[&str]| {
        let diff: Value =
            serde_json::from_str(&view.run(&[&["--json"], args].concat()).stdout).unwrap();
        let entries = diff["entries"].as_array().unwrap().iter();
        entries.map(|it| it["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let check = |name: &str, own: &View, expected: &[&str]| {
        for view in [&here, own, &bob] {
            assert_eq!(paths(view, &["diff", name]), expected, "{name} in {:?}", view.root);
            let by_call = format!(r#"{{"ref_a": "{name}"}}"#);
            assert_eq!(paths(view, &["call", "diff_design", &by_call]), expected, "{name}");
            let log = view.json(&["log", name]);
            assert_eq!(log["commits"].as_array().unwrap().len(), expected.len(), "{log:#}");
        }
    };
    for (name, clone) in [("ada", &ada), ("eve", &eve)] {
        let first = format!("{name}.txt");
        commit(clone, &first, "work\n");
        check(name, clone, &[&first]);
        commit(&here, &format!("main-{name}.txt"), "of the desk\n");
        clone.write("loose.txt", "not committed\n");
        check(name, clone, &[&first]);
        let state = format!("{name}@");
        assert_eq!(paths(clone, &["diff", &state]), paths(&here, &["diff", &state]));
        clone.remove("loose.txt");
    }
    eve.git(&["switch", "-q", "--detach"]);
    commit(&eve, "more.txt", "work\n");
    check("eve", &eve, &["eve.txt", "more.txt"]);
}
