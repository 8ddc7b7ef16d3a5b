//! What hands type from git: it works, and means what it means there.

use std::fs;

use crate::support::{Sandbox, State};

fn ops_of(answer: &serde_json::Value, field: &str) -> Vec<String> {
    let steps = answer["earlier"].as_array().cloned().unwrap_or_default();
    let op = |step: &serde_json::Value| step[field].as_str().unwrap().to_owned();
    steps.iter().chain([answer]).map(op).collect()
}

/// A sandbox with three checkpoints, each of another content of a.txt.
fn three_checkpoints() -> (Sandbox, Vec<State>) {
    let sandbox = Sandbox::new();
    let mut states = vec![sandbox.visible_state()];
    for content in ["1\n", "2\n", "3\n"] {
        sandbox.write("a.txt", content);
        sandbox.colony(&["checkpoint", "-m", content.trim()]);
        states.push(sandbox.visible_state());
    }
    (sandbox, states)
}

#[test]
fn undo_and_redo_take_a_number_of_steps() {
    let (sandbox, states) = three_checkpoints();
    let dry = sandbox.json(&["undo", "2", "-n"]);
    assert_eq!(ops_of(&dry, "undone"), ["op-3", "op-2"]);
    assert_eq!(sandbox.visible_state().refs, states[3].refs, "dry");
    let done = sandbox.json(&["undo", "2"]);
    assert_eq!(ops_of(&done, "undone"), ["op-3", "op-2"]);
    assert_eq!(done["message"], "undid 2 steps: op-3 and op-2");
    assert_eq!(ops_of(&done, "op"), ["op-4", "op-5"]);
    assert_eq!(sandbox.visible_state().refs, states[1].refs);
    let refs = |answer: &serde_json::Value| answer["refs"].clone();
    assert_eq!(refs(&dry["earlier"][0]), refs(&done["earlier"][0]));
    assert_eq!(refs(&dry), refs(&done), "the plan is what was done");
    sandbox.colony(&["redo", "2"]);
    assert_eq!(sandbox.visible_state().refs, states[3].refs);
    sandbox.colony(&["undo", "op-3"]);
    assert_eq!(sandbox.visible_state().refs, states[2].refs);
    sandbox.colony(&["redo", "op-3"]);
    assert_eq!(sandbox.visible_state().refs, states[3].refs);
}

#[test]
fn undo_of_more_than_there_is_does_nothing() {
    let (sandbox, states) = three_checkpoints();
    let refused = sandbox.json(&["undo", "4"]);
    assert_eq!(refused["code"], "nothing-to-undo");
    assert_eq!(refused["hint"], "git colony undo 3");
    let refused = sandbox.json(&["undo", "op-2"]);
    assert_eq!(refused["code"], "invalid-value");
    let hint = refused["hint"].as_str().unwrap();
    assert!(hint.starts_with("git colony undo 2 -n   #"), "{hint}");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("1 step came after it (op-3)"), "{message}");
    assert_eq!(sandbox.error(&["undo", "op-9"]), "operation-not-found");
    for typed in ["0", "-1", "two", "op-"] {
        let code = sandbox.error(&["undo", typed]);
        assert!(["invalid-value", "usage"].contains(&&*code), "{typed}");
    }
    assert_eq!(sandbox.error(&["redo", "op-3"]), "nothing-to-undo");
    assert_eq!(sandbox.visible_state().refs, states[3].refs);
}

#[test]
fn undo_of_several_steps_stops_where_git_was_between() {
    let (sandbox, _) = three_checkpoints();
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "plain"]);
    sandbox.colony(&["undo", "--force"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "again"]);
    sandbox.colony(&["checkpoint", "-m", "after"]);
    let before = sandbox.visible_state().refs;
    assert_eq!(sandbox.error(&["undo", "3"]), "external-change");
    assert_eq!(sandbox.visible_state().refs, before, "nothing was done");
    let done = sandbox.json(&["undo", "3", "--force"]);
    assert_eq!(ops_of(&done, "undone").len(), 3);
}

#[test]
fn commit_a_takes_what_is_tracked_as_git_does() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    sandbox.remove("dir/b.txt");
    sandbox.write("new.txt", "n\n");
    sandbox.write("staged.txt", "s\n");
    sandbox.git(&["add", "staged.txt"]);
    let told = sandbox.colony(&["commit", "-am", "habit"]);
    assert!(told.contains("3 changed paths"), "{told}");
    let changed = sandbox.git(&["show", "--name-status", "--format=%s", "HEAD"]);
    assert_eq!(changed, "habit\n\nM\ta.txt\nD\tdir/b.txt\nA\tstaged.txt");
    assert_eq!(sandbox.git(&["status", "--short"]), "?? new.txt");
}

#[test]
fn diff_takes_ranges_paths_and_the_usual_options() {
    let sandbox = Sandbox::new();
    sandbox.git(&["switch", "-qc", "side"]);
    sandbox.write("side.txt", "s\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "side"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.write("a.txt", "two\n");
    sandbox.git(&["commit", "-qam", "main"]);
    let names = |args: &[&str]| {
        let options = ["diff", "--name-only"];
        sandbox.colony(&[&options[..], args].concat())
    };
    assert_eq!(names(&["main..side"]), "a.txt\nside.txt\n");
    assert_eq!(names(&["main", "side"]), names(&["main..side"]));
    assert_eq!(names(&["main...side"]), "side.txt\n");
    assert_eq!(names(&["...side"]), "side.txt\n");
    assert_eq!(names(&["side.."]), "a.txt\nside.txt\n");
    assert_eq!(names(&["main..side", "--", "a.txt"]), "a.txt\n");
    assert_eq!(names(&["main", "side", "--", "dir"]), "");
    let base = sandbox.git(&["merge-base", "main", "side"]);
    let answer = sandbox.json(&["diff", "main...side"]);
    assert_eq!(answer["ref_a"], base.trim());
    let stat = sandbox.colony(&["diff", "--stat", "main...side"]);
    assert!(stat.contains("A  +1 -0  side.txt"), "{stat}");
    let patch = sandbox.colony(&["diff", "-p", "main..side", "--", "side.txt"]);
    assert!(patch.contains("+++ b/side.txt") && !patch.contains("a.txt"), "{patch}");
    sandbox.write("dir/b.txt", "bees\n");
    assert_eq!(names(&["--", "a.txt"]), "");
    assert_eq!(names(&["--", "dir"]), "dir/b.txt\n");
}

#[test]
fn a_checkpoint_label_that_looks_like_a_range_is_a_label() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["tag", "-m", "a..b", "HEAD"]);
    sandbox.write("a.txt", "two\n");
    sandbox.git(&["commit", "-qam", "main"]);
    assert_eq!(sandbox.colony(&["diff", "--name-only", "a..b"]), "a.txt\n");
    let answer = sandbox.json(&["diff", "HEAD...nowhere"]);
    assert_eq!(answer["code"], "revision-not-found");
}

#[test]
fn a_diff_between_unrelated_histories_has_no_merge_base() {
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "-q", "--orphan", "other"]);
    sandbox.git(&["commit", "-qm", "root"]);
    let answer = sandbox.json(&["diff", "main...other"]);
    assert_eq!(answer["code"], "unrelated-histories", "{answer:#}");
    assert_eq!(sandbox.json(&["diff", "main..other"])["ok"], true);
}

#[test]
fn ops_lists_the_newest_of_them() {
    let (sandbox, _) = three_checkpoints();
    let answer = sandbox.json(&["ops", "-n", "2"]);
    assert_eq!((&answer["count"], &answer["total"]), (&2.into(), &3.into()));
    assert_eq!(answer["ops"][0]["op"], "op-2");
    let told = sandbox.colony(&["ops", "-n2"]);
    assert!(told.starts_with("the newest 2 of 3 operations\n"), "{told}");
    assert!(sandbox.colony(&["ops", "-n", "9"]).starts_with("3 operations\n"));
    let newest = sandbox.json(&["checkpoints", "-n", "2"]);
    let all = sandbox.json(&["checkpoints"]);
    let labels = |answer: &serde_json::Value| -> Vec<String> {
        let found = answer["checkpoints"].as_array().unwrap().iter();
        found.map(|it| it["label"].to_string()).collect()
    };
    assert_eq!(labels(&newest), labels(&all)[1..]);
}

#[test]
fn nouns_that_list_take_list_and_ls() {
    let (sandbox, _) = three_checkpoints();
    for noun in ["agents", "checkpoints", "clones", "decisions", "forks", "ops", "tools"] {
        let bare = sandbox.json(&[noun]);
        assert_eq!(bare["ok"], true, "{noun}");
        assert_eq!(sandbox.json(&[noun, "list"]), bare, "{noun}");
        let listed = sandbox.json(&[noun, "--agent", "user", "ls"]);
        assert_eq!(listed["count"], bare["count"], "{noun}");
    }
    let limited = sandbox.json(&["ops", "list", "-n", "1"]);
    assert_eq!(limited["count"], 1);
}

#[test]
fn options_for_every_command_may_stand_before_its_action() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "one"]);
    let answer = sandbox.run(&["checkpoints", "--json", "show", "one"]);
    assert!(answer.stdout.contains("\"label\": \"one\""), "{}", answer.stdout);
    let elsewhere = sandbox.outside().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let elsewhere = elsewhere.to_str().unwrap();
    let answer = sandbox.json(&["checkpoints", "-C", elsewhere, "show", "one"]);
    assert_eq!(answer["code"], "not-a-repository");
}

#[test]
fn restore_takes_a_revision() {
    let (sandbox, _) = three_checkpoints();
    let target = sandbox.git(&["rev-parse", "HEAD~1"]);
    sandbox.colony(&["restore", "HEAD~1"]);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), target);
    assert_eq!(sandbox.read("a.txt"), "2\n");
}

#[test]
fn commands_are_understood_by_their_earlier_names() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "one"]);
    for (earlier, now) in [
        (&["topology"][..], &["status", "branches"][..]),
        (&["id"], &["status", "id"]),
        (&["paths"], &["status", "paths"]),
        (&["groups", "a.txt"], &["status", "groups", "a.txt"]),
        (&["projects"], &["context", "projects"]),
        (&["projects", "add", "app", ".", "-n"], &["context", "projects", "add", "app", ".", "-n"]),
        (&["plans"], &["context", "plans"]),
        (&["watches"], &["watch", "list"]),
        (&["watches", "stop", "none"], &["watch", "stop", "none"]),
        (&["scopes"], &["map", "scopes"]),
        (&["scopes", "list"], &["map", "scopes"]),
        (&["scopes", "ls"], &["map", "scopes"]),
        (&["memory", "path"], &["session", "memory", "path"]),
        (&["query"], &["catalog", "query"]),
        (&["schema", "scopes"], &["help", "schema", "map", "scopes"]),
        (&["colony", "list"], &["clones", "colony", "list"]),
        (&["ingest", "-n"], &["knowledge", "ingest", "-n"]),
        (&["tag"], &["checkpoints", "tag"]),
        (&["clone", "--none"], &["clones", "new", "--none"]),
        (&["completions", "bash"], &["help", "completions", "bash"]),
        (&["completions", "zsh"], &["help", "completions", "zsh"]),
        (&["deinit", "-n"], &["init", "remove", "-n"]),
        (&["deinit", "--purge", "-n"], &["init", "remove", "--purge", "-n"]),
        (&["fleet"], &[]),
        (&["fleet", "--everywhere"], &["--everywhere"]),
        (&["fleet", "--watch"], &["--watch"]),
    ] {
        for globals in [&[][..], &["--json"], &["--agent", "ada", "--json"], &["-PqC", "."]] {
            let run = |words: &[&str]| sandbox.run(&[globals, words].concat());
            let (one, other) = (run(earlier), run(now));
            assert_eq!((one.code, one.stdout), (other.code, other.stdout), "{earlier:?}");
            assert_eq!(one.stderr, other.stderr, "{earlier:?}");
        }
    }
    for (earlier, now) in
        [("ingest", "knowledge ingest"), ("scopes", "map scopes"), ("deinit", "init remove")]
    {
        let words: Vec<&str> = ["help"].into_iter().chain(now.split(' ')).collect();
        assert_eq!(sandbox.colony(&["help", earlier]), sandbox.colony(&words));
    }
}

#[test]
fn the_tour_is_the_same_by_its_earlier_name() {
    let sandbox = Sandbox::new();
    let commands = |words: &[&str]| {
        let steps = sandbox.json(words)["steps"].as_array().unwrap().clone();
        steps.into_iter().map(|step| (step["command"].clone(), step["exit_code"].clone()))
    };
    assert!(commands(&["tour"]).eq(commands(&["help", "tour"])));
    assert!(commands(&["tour"]).len() > 10);
}

#[test]
fn options_of_no_command_are_refused_before_another() {
    let sandbox = Sandbox::new();
    for option in ["--everywhere", "--watch"] {
        for command in ["status", "topology"] {
            let answer = sandbox.json(&[option, command]);
            assert_eq!(answer["code"], "usage", "{answer:#}");
            let message = answer["message"].as_str().unwrap();
            assert!(message.starts_with(&format!("'{option}' in front is for")), "{message}");
        }
    }
}

#[test]
fn earlier_commands_are_never_asked_as_a_question() {
    let sandbox = Sandbox::new();
    for words in [["plans", "x"], ["plans", "list"], ["projects", "list"], ["projects", "rm"]] {
        let answer = sandbox.json(&words);
        assert_eq!(answer["code"], "usage", "{words:?}: {answer:#}");
    }
    for words in [["watches", "--json", "stop", "x"], ["watches", "--agent=bo", "stop", "x"]] {
        assert_ne!(sandbox.run(&words).code, 129, "{words:?}");
    }
}

#[test]
fn commands_for_agents_are_not_listed_and_have_a_help_page() {
    let sandbox = Sandbox::new();
    let all = sandbox.colony(&["help", "--all"]);
    for name in ["call", "cargo", "fleet", "git", "index", "validate", "version"] {
        assert!(!all.lines().any(|line| line.starts_with(&format!("  {name} "))), "{name}");
        assert!(sandbox.colony(&[name, "-h"]).contains("Usage: git colony "), "{name}");
        assert!(sandbox.colony(&["help", name]).contains("Usage: git colony "), "{name}");
    }
}
