//! Undo and redo: steps back and forth, what refuses them, what survives garbage collection.

use std::fs;

use crate::support::Sandbox;

#[test]
fn undo_walks_back_and_redo_forth() {
    let sandbox = Sandbox::new();
    let mut states = vec![sandbox.visible_state()];
    for content in ["1\n", "2\n", "3\n"] {
        sandbox.write("a.txt", content);
        sandbox.colony(&["checkpoint", "-m", content.trim()]);
        states.push(sandbox.visible_state());
    }
    for state in states.iter().rev().skip(1) {
        sandbox.colony(&["undo"]);
        let now = sandbox.visible_state();
        assert_eq!((&now.refs, &now.index), (&state.refs, &state.index));
        assert_eq!(
            now.worktree, states[3].worktree,
            "a checkpoint changes no file, nor does its undo"
        );
    }
    assert_eq!(sandbox.error(&["undo"]), "nothing-to-undo");
    for state in &states[1..] {
        sandbox.colony(&["redo"]);
        assert_eq!(sandbox.visible_state().refs, state.refs);
    }
    assert_eq!(sandbox.error(&["redo"]), "nothing-to-undo");
    let undone = sandbox.json(&["ops"]);
    assert!(undone["ops"].as_array().unwrap().iter().all(|op| op["undone"] != true));
}

#[test]
fn edits_made_after_a_restore_survive_its_undo() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "base"]);
    sandbox.write("a.txt", "first work\n");
    sandbox.colony(&["restore", "base"]);
    sandbox.write("a.txt", "second work\n");
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.read("a.txt"), "first work\n");
    sandbox.colony(&["redo"]);
    assert_eq!(sandbox.read("a.txt"), "second work\n");
}

#[test]
fn plain_git_in_between_is_never_overwritten() {
    let changes: [&[&str]; 4] = [
        &["commit", "-q", "--allow-empty", "-m", "plain"],
        &["rm", "-q", "--cached", "a.txt"],
        &["checkout", "-q", "-b", "other"],
        &["checkout", "-q", "--detach"],
    ];
    for change in changes {
        let sandbox = Sandbox::new();
        sandbox.write("a.txt", "two\n");
        sandbox.colony(&["checkpoint", "-m", "x"]);
        sandbox.git(change);
        let before = sandbox.visible_state();
        let answer = sandbox.json(&["undo"]);
        assert_eq!(answer["code"], "external-change", "{change:?}");
        assert!(answer["hint"].as_str().unwrap().contains("git colony restore op-1"));
        assert_eq!(sandbox.visible_state(), before);
        sandbox.check_invariants();
    }
}

#[test]
fn a_checkpoint_that_a_remote_has_is_undone() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    sandbox.colony(&["checkpoint", "-m", "x"]);
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    let undone = sandbox.json(&["undo"]);
    assert_eq!(undone["on_remote"], serde_json::json!({"branch": "origin/main", "count": 1}));
    assert_eq!(sandbox.git(&["log", "--format=%s"]), "first");
}

#[test]
fn a_kept_file_that_was_lost_comes_from_the_snapshot() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "base"]);
    sandbox.write("a.txt", "work\n");
    sandbox.write("new.txt", "new\n");
    sandbox.colony(&["restore", "base"]);
    for key in fs::read_dir(sandbox.path(".git/colony-kept")).unwrap() {
        fs::remove_dir_all(key.unwrap().path()).unwrap();
    }
    sandbox.colony(&["undo"]);
    assert_eq!((sandbox.read("a.txt"), sandbox.read("new.txt")), ("work\n".into(), "new\n".into()));
    sandbox.check_invariants();
}

#[test]
fn an_ignored_file_whose_kept_bytes_are_lost_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("out", "tracked\n");
    sandbox.colony(&["checkpoint", "-m", "tracked"]);
    sandbox.write(".gitignore", "out\n");
    sandbox.git(&["rm", "-q", "--cached", "out"]);
    sandbox.colony(&["checkpoint", "-m", "ignored"]);
    sandbox.write("out", "precious\n");
    sandbox.colony(&["restore", "tracked"]);
    for key in fs::read_dir(sandbox.path(".git/colony-kept")).unwrap() {
        fs::remove_dir_all(key.unwrap().path()).unwrap();
    }
    let before = sandbox.visible_state();
    assert_eq!(sandbox.error(&["undo"]), "object-missing");
    assert_eq!(sandbox.visible_state(), before);
    sandbox.check_invariants();
}

#[test]
fn garbage_collection_from_anywhere_loses_no_operation() {
    let sandbox = Sandbox::new();
    let linked = sandbox.outside().join("linked");
    sandbox.git(&["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    let sibling = sandbox.at(linked.clone());
    for view in [&sandbox.at(sandbox.root.clone()), &sibling] {
        view.colony(&["checkpoint", "-m", "base"]);
    }
    fs::write(linked.join("a.txt"), "in the sibling\n").unwrap();
    sibling.colony(&["restore", "@{0}"]);
    sandbox.write("a.txt", "in the main worktree\n");
    sandbox.colony(&["restore", "@{0}", "--force"]);
    let count = sandbox.json(&["ops", "--all-worktrees"])["count"].clone();
    let collect = ["gc", "-q", "--prune=now"];
    sandbox.git(&["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(&collect);
    sibling.git(&collect);
    sibling.colony(&["undo"]);
    assert_eq!(fs::read_to_string(linked.join("a.txt")).unwrap(), "in the sibling\n");
    sandbox.git(&["worktree", "remove", "--force", linked.to_str().unwrap()]);
    sandbox.git(&["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(&collect);
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.read("a.txt"), "in the main worktree\n");
    let after = sandbox.json(&["ops", "--all-worktrees"])["count"].as_u64().unwrap();
    assert_eq!(
        after,
        count.as_u64().unwrap() + 2,
        "both undos are in the log, and nothing is gone"
    );
    sandbox.check_invariants();
}

#[test]
fn prune_lets_go_of_what_is_old_and_of_nothing_else() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "base"]);
    sandbox.write("a.txt", "work\n");
    sandbox.colony(&["restore", "base"]);
    let kept = sandbox.json(&["prune"]);
    assert_eq!(kept["kept"], 2);
    let plan = sandbox.json(&["prune", "--keep", "0", "-n"]);
    assert_eq!(plan["operations_removed"].as_array().unwrap().len(), 2);
    assert!(plan["freed"].as_u64().unwrap() > 0);
    assert_eq!(sandbox.json(&["ops"])["count"], 2);
    let before = sandbox.visible_state();
    sandbox.colony(&["ops", "prune", "--keep", "0"]);
    assert_eq!(sandbox.json(&["ops"])["count"], 0);
    assert_eq!(sandbox.visible_state(), before);
    assert_eq!(sandbox.error(&["undo"]), "nothing-to-undo");
    sandbox.colony(&["checkpoint", "-m", "next"]);
    assert_eq!(sandbox.json(&["ops"])["ops"][0]["op"], "op-3", "ids are not used twice");
    sandbox.check_invariants();
}

#[test]
fn git_goes_back_to_the_branch_before_any_switch_of_ours() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    sandbox.colony(&["checkpoint", "-m", "second"]);
    let switches: [&[&str]; 8] = [
        &["fork", "x"],
        &["undo"],
        &["redo"],
        &["fork", "y", "--from", "HEAD~1"],
        &["undo"],
        &["redo"],
        &["undo"],
        &["fork", "z"],
    ];
    let label = || match sandbox.git_any(&["symbolic-ref", "-q", "--short", "HEAD"]).trim() {
        "" => sandbox.git(&["rev-parse", "HEAD"]),
        branch => branch.to_owned(),
    };
    for detached in [false, true] {
        if detached {
            sandbox.git(&["switch", "-q", "--detach", "main"]);
        }
        for switch in switches {
            let before = label();
            let args: Vec<_> = switch
                .iter()
                .map(|word| match *word {
                    "x" | "y" | "z" => format!("{word}{detached}"),
                    other => other.to_owned(),
                })
                .collect();
            sandbox.colony(&args.iter().map(String::as_str).collect::<Vec<_>>());
            let after = label();
            assert_ne!(before, after, "{args:?}");
            let line = sandbox.git(&["log", "-g", "-1", "--format=%gs", "HEAD"]);
            assert_eq!(line, format!("checkout: moving from {before} to {after}"), "{args:?}");
            // The undo of a fork has deleted the branch.
            if sandbox.try_git(&["rev-parse", "-q", "--verify", &before]) {
                let [asked, wanted] =
                    ["@{-1}", &before].map(|name| sandbox.git(&["rev-parse", "--verify", name]));
                assert_eq!(asked, wanted, "{args:?}");
            }
        }
        // What git does next is git's own change, whatever lines of ours are before it.
        sandbox.git(&["switch", "-q", "-"]);
        sandbox.git(&["switch", "-q", "main"]);
        sandbox.colony(&["checkpoint", "--off-branch", "-m", "kept"]);
    }
}
