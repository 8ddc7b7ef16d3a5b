//! A pick of several commits that `--resolve` opened and that git goes on with: nothing is dropped.

use git_colony::testing::{STEPS, World};
use serde_json::json;

use crate::support::Sandbox;
use crate::support::fixture::Fixture;

/// A repository whose branch `side` has four commits; the first conflicts with `main`, which is HEAD.
fn sided() -> Sandbox {
    SIDED.copy()
}

static SIDED: Fixture = Fixture::new(|| {
    let sandbox = Sandbox::new();
    sandbox.git(&["switch", "-q", "-c", "side"]);
    for (path, content) in [
        ("early.txt", "early\n"),
        ("a.txt", "side\n"),
        ("second.txt", "second\n"),
        ("third.txt", "third\n"),
    ] {
        sandbox.write(path, content);
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-qm", &format!("change {path}"), "--author=Zoe <z@x>"]);
    }
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.write("a.txt", "main\n");
    sandbox.git(&["commit", "-qam", "of main"]);
    sandbox
});

const OPEN: &[&str] = &["cherry-pick", "side~2", "side~1", "side", "--resolve"];

/// Opens the pick and settles the conflict.
fn settled() -> Sandbox {
    let sandbox = sided();
    assert_eq!(sandbox.run(OPEN).code, 1);
    sandbox.write("a.txt", "both\n");
    sandbox.git(&["add", "a.txt"]);
    sandbox
}

fn subjects(sandbox: &Sandbox) -> String {
    sandbox.git(&["log", "--format=%an %s", "main", "^side"])
}

const ALL: &str = "Zoe change third.txt\nZoe change second.txt\nZoe change a.txt\nAda of main";

#[test]
fn copies_of_what_these_tests_begin_with_are_whole() {
    SIDED.check();
}

#[test]
fn git_goes_on_with_the_rest_as_with_its_own() {
    let sandbox = sided();
    let before = sandbox.visible_state();
    let referee = sandbox.copy("referee");
    assert_eq!(sandbox.run(OPEN).code, 1);
    assert!(!referee.try_git(&["cherry-pick", "-x", "side~2", "side~1", "side"]));
    for file in ["sequencer/todo", "sequencer/opts", "sequencer/head"] {
        let theirs = sandbox.outside().join("referee/.git").join(file);
        let short = |text: &str| {
            let ids = text.replace(&sandbox.git(&["rev-parse", "side"]), "side");
            let ids = ids.replace(&sandbox.git(&["rev-parse", "--short", "side"]), "side");
            ids.lines().last().unwrap().to_owned()
        };
        let (ours, theirs) =
            (sandbox.read(&format!(".git/{file}")), std::fs::read_to_string(theirs).unwrap());
        assert_eq!(short(&ours), short(&theirs), "{file}");
    }
    for git in [&sandbox.at(sandbox.root.clone()), &referee] {
        git.git(&["checkout", "-q", "--theirs", "a.txt"]);
        git.git(&["add", "a.txt"]);
        git.git(&["-c", "core.editor=true", "cherry-pick", "--continue"]);
    }
    assert_eq!(subjects(&sandbox), ALL);
    let said = ["log", "-3", "--format=%T %an %B"];
    assert_eq!(sandbox.git(&said), referee.git(&said));
    assert!(!sandbox.path(".git/sequencer").exists());
    assert_eq!(sandbox.json(&["status"])["in_progress"], json!(null));
    // What git did is one step; taken back by force, it is as it was opened.
    assert_eq!(sandbox.error(&["undo"]), "external-change");
    sandbox.colony(&["undo", "--force"]);
    assert!(sandbox.path(".git/sequencer/todo").exists());
    assert!(sandbox.path(".git/CHERRY_PICK_HEAD").exists());
    sandbox.colony(&["cherry-pick", "--abort"]);
    assert_eq!(sandbox.visible_state(), before);
    assert!(!sandbox.path(".git/sequencer").exists());
    sandbox.check_invariants();
}

#[test]
fn after_git_commit_the_rest_is_told_and_taken() {
    let sandbox = settled();
    sandbox.git(&["commit", "-q", "--no-edit"]);
    assert!(sandbox.git(&["status"]).contains("Cherry-pick currently in progress"));
    let status = sandbox.json(&["status"]);
    assert_eq!(status["in_progress"], "cherry-pick");
    let told = status["health"][0]["detail"].as_str().unwrap();
    assert!(told.contains("2 commits are left"), "{told}");
    assert!(told.contains("git colony cherry-pick --continue"), "{told}");
    for args in [
        &["checkpoint", "-m", "x"][..],
        &["restore", "op-1"],
        &["merge", "side"],
        &["cherry-pick", "side"],
        &["cherry-pick", "--abort"],
        &["undo"],
    ] {
        assert_eq!(sandbox.error(args), "operation-in-progress", "{args:?}");
    }
    let hint = sandbox.json(&["merge", "side"])["hint"].clone();
    assert!(hint.as_str().unwrap().starts_with("git colony cherry-pick --continue"));
    let committed = sandbox.visible_state();
    let told = sandbox.json(&["cherry-pick", "--continue", "--dry-run"]);
    assert_eq!(told["picked"].as_array().unwrap().len(), 2);
    assert_eq!(sandbox.visible_state(), committed);
    let answer = sandbox.json(&["cherry-pick", "--continue"]);
    assert_eq!(answer["picked"].as_array().unwrap().len(), 2, "{answer:#}");
    assert_eq!(subjects(&sandbox), ALL);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert!(!sandbox.path(".git/sequencer").exists());
    sandbox.check_invariants();
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.visible_state(), committed);
    assert!(sandbox.path(".git/sequencer/todo").exists());
    assert_eq!(sandbox.error(&["undo"]), "external-change");
    sandbox.colony(&["redo"]);
    assert_eq!(subjects(&sandbox), ALL);
    sandbox.colony(&["undo"]);
    sandbox.colony(&["undo", "--force"]);
    assert!(sandbox.path(".git/CHERRY_PICK_HEAD").exists());
    sandbox.check_invariants_of_git();
}

#[test]
fn commits_before_the_conflict_are_named_in_what_git_commits() {
    let sandbox = sided();
    let run = sandbox.run(&["cherry-pick", "side~3", "side~2", "side", "--resolve"]);
    assert_eq!(run.code, 1);
    sandbox.write("a.txt", "both\n");
    sandbox.git(&["commit", "-qa", "--cleanup=strip", "--no-edit"]);
    let message = sandbox.git(&["log", "-1", "--format=%B"]);
    for picked in ["side~3", "side~2"] {
        let id = sandbox.git(&["rev-parse", picked]);
        assert!(message.contains(&format!("(cherry picked from commit {id})")), "{message}");
    }
    let answer = sandbox.json(&["cherry-pick", "--continue"]);
    assert_eq!(answer["picked"].as_array().unwrap().len(), 1);
    assert_eq!(sandbox.read("third.txt"), "third\n");
}

#[test]
fn what_git_drops_is_not_taken_for_picked() {
    let sandbox = settled();
    sandbox.git(&["reset", "-q", "--hard"]);
    let answer = sandbox.json(&["cherry-pick", "--continue"]);
    assert_eq!(answer["code"], "operation-in-progress");
    let left = ["side~1", "side"].map(|name| json!(sandbox.git(&["rev-parse", name])));
    assert_eq!(answer["detail"]["left"], json!(left));
    sandbox.git(&["-c", "core.editor=true", "cherry-pick", "--continue"]);
    assert_eq!(subjects(&sandbox), "Zoe change third.txt\nZoe change second.txt\nAda of main");
}

#[test]
fn a_pick_that_git_ended_leaves_nothing_to_mistake() {
    let sandbox = sided();
    let before = sandbox.visible_state();
    assert_eq!(sandbox.run(OPEN).code, 1);
    sandbox.git(&["cherry-pick", "--abort"]);
    assert_eq!(sandbox.visible_state(), before);
    assert_eq!(sandbox.error(&["cherry-pick", "--continue"]), "nothing-to-resolve");
    // The same commit again, by git: it is git's.
    assert!(!sandbox.try_git(&["cherry-pick", "side~2"]));
    sandbox.git(&["checkout", "-q", "--theirs", "a.txt"]);
    sandbox.git(&["add", "a.txt"]);
    assert_eq!(sandbox.error(&["cherry-pick", "--continue"]), "operation-in-progress");
    sandbox.git(&["-c", "core.editor=true", "cherry-pick", "--continue"]);
    assert_eq!(subjects(&sandbox), "Zoe change a.txt\nAda of main");
    sandbox.automatic_checkpoint();
    sandbox.check_invariants();
}

#[test]
fn a_sequence_that_git_began_is_not_overrun() {
    let sandbox = sided();
    assert!(!sandbox.try_git(&["cherry-pick", "side~2", "side"]));
    sandbox.git(&["checkout", "-q", "--theirs", "a.txt"]);
    sandbox.git(&["commit", "-qa", "--no-edit"]);
    assert_eq!(sandbox.json(&["status"])["in_progress"], "cherry-pick");
    assert_eq!(sandbox.error(&["merge", "side"]), "operation-in-progress");
    assert_eq!(sandbox.error(&["cherry-pick", "--continue"]), "operation-in-progress");
}

#[test]
fn a_death_at_any_step_leaves_the_list_of_git_before_or_after() {
    let committed = STEPS.iter().position(|step| *step == "committed").unwrap();
    for (number, step) in STEPS.iter().enumerate().skip(1) {
        let die = |sandbox: &Sandbox, args: &[&str]| {
            let world = World { die_at: Some(step), ..sandbox.world() };
            assert_ne!(sandbox.run_in(world, args).code, 0, "{step}");
            sandbox.automatic_checkpoint();
            sandbox.check_invariants_of_git();
        };
        let is_open = |sandbox: &Sandbox| sandbox.path(".git/sequencer/todo").exists();
        let sandbox = sided();
        die(&sandbox, OPEN);
        assert_eq!(is_open(&sandbox), number >= committed, "open, {step}");
        let sandbox = settled();
        die(&sandbox, &["cherry-pick", "--continue"]);
        assert_eq!(is_open(&sandbox), number < committed, "go on, {step}");
        let sandbox = settled();
        die(&sandbox, &["cherry-pick", "--abort"]);
        assert_eq!(is_open(&sandbox), number < committed, "abort, {step}");
        assert_eq!(sandbox.path(".git/sequencer").exists(), is_open(&sandbox));
    }
}
