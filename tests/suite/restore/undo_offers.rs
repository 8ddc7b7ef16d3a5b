//! Undo and restore tell the truth: an offered undo works, an undo keeps the only copy of a file, a
//! deleted label says how it returns, and a dry run always answers.

use serde_json::Value;

use crate::support::Sandbox;

/// A repository with work to do on a branch whose remote has all of its commits.
fn with_work() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.git(&["branch", "old"]);
    sandbox.git(&["switch", "-qc", "side"]);
    sandbox.write("side.txt", "side\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "on the side"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.write("a.txt", "two\n");
    sandbox.git(&["commit", "-qam", "second"]);
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    sandbox.colony(&["fork", "apart", "--from", "old"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.colony(&["checkpoint", "--off-branch", "-m", "start"]);
    sandbox.write("dir/b.txt", "edited\n");
    sandbox
}

#[test]
fn every_undo_that_an_answer_offers_works() {
    let tool = "tools new --template rust_crate --purpose x --name x --capability x --license MIT";
    let tool: Vec<&str> = tool.split(' ').collect();
    // `lfs migrate` has a test of its own.
    let commands: [&[&str]; 13] = [
        &["init", "--no-lfs"],
        &tool,
        &["restore", "HEAD~1"],
        &["restore", "start"],
        &["restore", "old", "--mode", "fork"],
        &["restore", "old", "--mode", "files"],
        &["fork", "try"],
        &["commit", "-m", "third", "--all"],
        &["merge", "side"],
        &["cherry-pick", "side"],
        &["checkpoints", "delete", "start"],
        &["forks", "delete", "apart"],
        &["decide", "-m", "Use one", "--id", "one"],
    ];
    for command in commands {
        let sandbox = with_work();
        let before = sandbox.visible_state();
        let told = sandbox.colony(command);
        let offers = |line: &str| line.starts_with("to undo") && line.contains(": git colony undo");
        assert!(told.lines().any(offers), "{command:?}: {told}");
        // A remote that gets the commits at once does not matter.
        let theirs = sandbox.git(&["rev-parse", "refs/remotes/origin/main"]);
        sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
        assert_eq!(sandbox.json(&["status"])["undo"]["refused_as"], Value::Null, "{command:?}");
        sandbox.colony(&["undo"]);
        sandbox.git(&["update-ref", "refs/remotes/origin/main", &theirs]);
        assert_eq!(sandbox.visible_state(), before, "{command:?}");
        sandbox.colony(&["redo"]);
        sandbox.colony(&["undo"]);
        assert_eq!(sandbox.visible_state(), before, "{command:?}");
        sandbox.check_invariants();
    }
}

/// A checkpoint of a changed and a new file.
fn with_good(place: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    sandbox.write("new.txt", "new\n");
    sandbox.colony(&[&["checkpoint", "-m", "good"], place].concat());
    sandbox
}

#[test]
fn an_undo_keeps_the_checkpoint_that_has_the_only_copy() {
    let wrecks: [&[&[&str]]; 4] = [
        &[&["reset", "-q", "--hard"]],
        &[&["clean", "-fdq"]],
        &[&["stash", "-q", "--include-untracked"]],
        &[&["checkout", "-q", "."], &["clean", "-fdq"]],
    ];
    for wreck in wrecks {
        let sandbox = with_good(&["--off-branch"]);
        let good = sandbox.worktree();
        for args in wreck {
            sandbox.git(args);
        }
        let before = sandbox.visible_state();
        let refused = sandbox.json(&["undo"]);
        assert_eq!(refused["code"], "checkpoint-needed", "{wreck:?} {refused:#}");
        assert_eq!(refused["hint"], "git colony restore good   # or: git colony undo --force");
        let plan = sandbox.json(&["undo", "-n"]);
        assert_eq!((&plan["ok"], &plan["refused"]["code"]), (&false.into(), &refused["code"]));
        assert_eq!(sandbox.visible_state(), before);
        sandbox.colony(&["restore", "good"]);
        assert_eq!(sandbox.worktree(), good, "{wreck:?}");
    }
    for place in [&[][..], &["--off-branch"]] {
        let sandbox = with_good(place);
        sandbox.remove("new.txt");
        assert_eq!(sandbox.error(&["undo"]), "checkpoint-needed");
        sandbox.colony(&["undo", "--force"]);
        sandbox.check_invariants();
    }
}

#[test]
fn other_files_do_not_keep_an_undo_from_a_checkpoint() {
    for place in [&[][..], &["--off-branch"]] {
        let sandbox = with_good(place);
        sandbox.write("a.txt", "three\n");
        sandbox.remove("dir/b.txt");
        sandbox.write("later.txt", "later\n");
        sandbox.colony(&["undo"]);
        assert_eq!(sandbox.read("a.txt"), "three\n");
        sandbox.check_invariants();
    }
}

#[test]
fn a_deleted_label_says_how_it_comes_back() {
    let sandbox = with_good(&["--off-branch"]);
    sandbox.colony(&["undo"]);
    let refused = sandbox.json(&["restore", "good"]);
    assert_eq!(refused["code"], "checkpoint-not-found");
    assert_eq!(refused["hint"], "git colony redo   # brings it back");
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.starts_with("checkpoint 'good' was deleted by undo of op-1 (op-2)"),
        "{message}"
    );
    sandbox.colony(&["redo"]);
    sandbox.colony(&["checkpoints", "delete", "good"]);
    for command in [&["restore", "good"][..], &["checkpoints", "show", "good"]] {
        let refused = sandbox.json(command);
        assert_eq!(refused["hint"], "git colony undo   # brings it back", "{refused:#}");
    }
    sandbox.colony(&["undo"]);
    sandbox.colony(&["restore", "good"]);
}

#[test]
fn a_label_comes_back_also_where_redo_cannot_bring_it() {
    let gone: [&[&str]; 2] = [&["undo"], &["checkpoints", "delete", "good"]];
    for (place, gone) in
        [&[][..], &["--off-branch"]].into_iter().flat_map(|place| gone.map(|gone| (place, gone)))
    {
        let sandbox = with_good(place);
        let good = sandbox.worktree();
        sandbox.colony(gone);
        sandbox.git(&["reset", "-q", "--hard"]);
        sandbox.git(&["clean", "-fdq"]);
        sandbox.write("later.txt", "later\n");
        sandbox.colony(&["checkpoint", "-m", "later"]);
        // The tag object may be gone; its operation has a copy.
        sandbox.git(&["reflog", "expire", "--expire=now", "--all"]);
        sandbox.git(&["gc", "-q", "--prune=now"]);
        let linked = sandbox.outside().join("linked");
        sandbox.git(&["worktree", "add", "-q", "--detach", linked.to_str().unwrap()]);
        let elsewhere = sandbox.at(linked).json(&["restore", "good"]);
        assert_eq!(elsewhere["message"], "checkpoint 'good' was deleted by another worktree");
        let refused = sandbox.json(&["restore", "good"]);
        assert_eq!(refused["code"], "checkpoint-not-found");
        assert_eq!(refused["hint"], elsewhere["hint"]);
        let hint = refused["hint"].as_str().unwrap();
        let command = hint.split("   #").next().unwrap().replace('\'', "");
        let words: Vec<&str> = command.split(' ').skip(2).collect();
        sandbox.colony(&words);
        if place.is_empty() {
            sandbox.colony(&["restore", "good", "--mode", "files"]);
        }
        sandbox.remove("later.txt");
        assert_eq!(sandbox.worktree(), good, "{hint}");
        sandbox.check_invariants();
    }
}

#[test]
fn a_dry_run_of_undo_always_answers() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.json(&["undo", "-n"])["refused"]["code"], "nothing-to-undo");
    assert_eq!(sandbox.json(&["redo", "-n"])["refused"]["code"], "nothing-to-undo");
    sandbox.colony(&["checkpoint", "-m", "one"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "by hand"]);
    let plan = sandbox.run(&["undo", "-n"]);
    assert_eq!(plan.code, 1, "{}", plan.stdout);
    assert!(plan.stdout.starts_with("undo would be refused: "), "{}", plan.stdout);
    assert_eq!(sandbox.json(&["undo", "2", "-n"])["refused"]["code"], "external-change");
    assert_eq!(sandbox.error(&["undo"]), "external-change");
    sandbox.git(&["bisect", "start"]);
    assert_eq!(sandbox.json(&["undo", "-n"])["refused"]["code"], "operation-in-progress");
}

/// What may be done between an operation and a look at its undo.
const MEANWHILE: [&[&str]; 8] = [
    &["true"],
    &["git", "reset", "-q", "--hard"],
    &["git", "clean", "-fdq"],
    &["git", "stash", "-q", "--include-untracked"],
    &["rm", "a.txt"],
    &["cp", "dir/b.txt", "a.txt"],
    &["sh", "-c", "rm -r dir && echo file > dir"],
    &["git", "switch", "-qc", "aside"],
];

#[test]
fn status_says_of_each_undo_what_the_undo_says() {
    let commands: [&[&str]; 9] = [
        &["checkpoint", "-m", "good"],
        &["checkpoint", "--off-branch", "-m", "good"],
        &["restore", "HEAD~1"],
        &["fork", "try"],
        &["commit", "-m", "third", "--all"],
        &["merge", "side"],
        &["cherry-pick", "side"],
        &["checkpoints", "delete", "start"],
        &["decide", "-m", "Use one", "--id", "one"],
    ];
    let mut refused = 0;
    let all =
        commands.into_iter().flat_map(|command| MEANWHILE.map(|meanwhile| (command, meanwhile)));
    // Of the others three in eight.
    let some =
        all.enumerate().filter(|(at, (command, _))| command[0] == "checkpoint" || at % 8 < 3);
    for (_, (command, meanwhile)) in some {
        let sandbox = with_work();
        sandbox.write("a.txt", "three\n");
        sandbox.write("new.txt", "new\n");
        sandbox.colony(command);
        let done = sandbox.process(meanwhile[0]).args(&meanwhile[1..]).status();
        assert!(done.unwrap().success(), "{command:?} {meanwhile:?}");
        let before = sandbox.visible_state();
        let told = sandbox.json(&["status"])["undo"].clone();
        assert_eq!(sandbox.visible_state(), before, "a look writes nothing");
        let answer = sandbox.json(&["undo"]);
        assert_eq!(told["refused_as"], answer["code"], "{command:?} {meanwhile:?} {answer:#}");
        if answer["code"] == "checkpoint-needed" {
            assert_eq!(told["hint"], answer["hint"]);
            refused += 1;
        }
    }
    assert!(refused >= 6, "{refused}");
}
