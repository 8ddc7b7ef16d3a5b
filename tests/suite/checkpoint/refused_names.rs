//! Names that git puts into no tree: left out and named, and in nobody's way.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::Sandbox;

/// What stands for `.git` on some file system, as git refuses it here.
const REFUSED: [&str; 7] =
    [".git ", ".git.", ".git::$INDEX_ALLOCATION", "GIT~1", "dir/git~1", "git~1", "new/.git "];

/// A repository with a checkpoint of everything, and then a file and all those names.
fn cluttered() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "c0"]);
    sandbox.write("work.txt", "work\n");
    for name in REFUSED {
        sandbox.write(name, format!("{name} is mine\n"));
    }
    sandbox.write(".GIT/config", "not a repository\n");
    sandbox
}

/// What of an answer was left out because of its name.
fn refused(left: &Value) -> Vec<String> {
    let left = left.as_array().unwrap().iter();
    left.map(|left| {
        assert_eq!(left["reason"], "refused-name", "{left}");
        left["path"].as_str().unwrap().to_owned()
    })
    .collect()
}

fn all_names() -> Vec<String> {
    let mut names = REFUSED.map(str::to_owned).to_vec();
    names.push(".GIT".to_owned());
    names.sort();
    names
}

fn stand(sandbox: &Sandbox) {
    for name in REFUSED {
        assert_eq!(sandbox.read(name), format!("{name} is mine\n"));
    }
    assert_eq!(sandbox.read(".GIT/config"), "not a repository\n");
}

#[test]
fn a_checkpoint_leaves_out_what_git_refuses_by_name_and_says_so() {
    let sandbox = cluttered();
    for name in all_names() {
        assert!(!sandbox.try_git(&["add", "--", &name]), "{name:?}");
    }
    let answer = sandbox.json(&["checkpoint", "-m", "kept"]);
    assert_eq!(answer["ok"], true, "{answer:#}");
    assert_eq!(refused(&answer["left_out"]), all_names());
    let tree = sandbox.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
    assert_eq!(tree, "a.txt\ndir/b.txt\nwork.txt");
    let shown = sandbox.json(&["checkpoints", "show", "kept"]);
    assert_eq!(refused(&shown["left_out"]), all_names());
    stand(&sandbox);
    sandbox.check_invariants();
}

#[test]
fn what_git_refuses_by_name_stops_no_command_and_stays() {
    let sandbox = cluttered();
    let automatic = sandbox.automatic_checkpoint();
    assert_eq!(automatic["changed"], true, "{automatic:#}");
    assert_eq!(refused(&automatic["left_out"]), all_names());
    let diff = sandbox.json(&["diff"]);
    assert_eq!(refused(&diff["left_out"]), all_names(), "{diff:#}");
    let restored = sandbox.json(&["restore", "c0"]);
    assert_eq!(refused(&restored["left_alone"]), all_names());
    assert!(!sandbox.path("work.txt").exists());
    stand(&sandbox);
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.read("work.txt"), "work\n");
    for command in [
        &["fork", "side"][..],
        &["checkpoint", "--off-branch", "-m", "beside"],
        &["commit", "-m", "chosen", "--all"],
        &["fleet"],
        &["status"],
        &["doctor"],
    ] {
        let answer = sandbox.json(command);
        assert_ne!(answer["ok"], json!(false), "{command:?} {answer:#}");
    }
    stand(&sandbox);
    sandbox.check_invariants();
}

#[test]
fn an_agent_gets_the_changes_without_what_git_refuses_by_name() {
    let sandbox = cluttered();
    let answer = sandbox.json(&["agents", "new", "ada", "--with-changes"]);
    assert_eq!(answer["ok"], true, "{answer:#}");
    let clone = sandbox.at(answer["path"].as_str().unwrap().into());
    assert!(clone.path("work.txt").exists());
    assert!(!clone.path("git~1").exists());
    stand(&sandbox);
}

#[test]
fn the_settings_of_git_say_which_names_are_refused() {
    let sandbox = Sandbox::new();
    let joined = ".g\u{200c}it";
    sandbox.write(joined, "as HFS+ sees it\n");
    sandbox.write("git~1", "as NTFS sees it\n");
    symlink("elsewhere", sandbox.path(".gitmodules")).unwrap();
    sandbox.git(&["config", "core.protectHFS", "true"]);
    let answer = sandbox.json(&["checkpoint", "--off-branch", "-m", "both"]);
    let mut all = vec![joined, ".gitmodules", "git~1"];
    all.sort_unstable();
    assert_eq!(refused(&answer["left_out"]), all);
    sandbox.git(&["config", "core.protectHFS", "false"]);
    sandbox.git(&["config", "core.protectNTFS", "false"]);
    fs::remove_file(sandbox.path(".gitmodules")).unwrap();
    let answer = sandbox.json(&["checkpoint", "--off-branch", "-m", "neither"]);
    assert_eq!(refused(&answer["left_out"]), Vec::<String>::new());
    assert_eq!(answer["files_changed"], 2);
}

#[test]
fn an_ignored_name_that_git_refuses_is_not_told() {
    let sandbox = cluttered();
    sandbox.write(".gitignore", "*git*\n");
    let answer = sandbox.json(&["checkpoint", "--off-branch", "-m", "kept"]);
    assert_eq!(refused(&answer["left_out"]), [".GIT", "GIT~1"]);
}
