//! What somebody who is new here runs into, and the command that each answer offers.

use serde_json::{Value, json};

use crate::agents::new_and_merge::{agent, commit};
use crate::lfs::migrate::in_progress::hint_of;
use crate::support::Sandbox;

fn fleet_command(desk: &Sandbox) -> Value {
    desk.json(&["fleet"])["next"]["command"].clone()
}

#[test]
fn the_desk_keeps_local_changes_before_a_merge_they_stop() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "a.txt", "of ada\n");
    commit(&ada, "new.txt", "of ada\n");
    assert_eq!(fleet_command(&desk), "git colony merge ada");
    desk.write("beside.txt", "mine\n");
    assert_eq!(fleet_command(&desk), "git colony merge ada");
    desk.write("new.txt", "mine\n");
    assert_eq!(desk.error(&["merge", "ada"]), "uncommitted-edits");
    let wanted = "git colony checkpoint && git colony merge ada";
    assert_eq!(fleet_command(&desk), wanted);
    desk.remove("new.txt");
    desk.write("a.txt", "one\nmine\n");
    assert_eq!(fleet_command(&desk), wanted);
    desk.colony(&["checkpoint"]);
    let answer = desk.json(&["merge", "ada"]);
    assert_eq!(answer["outcome"], "conflicted", "{answer:#}");
    desk.write("a.txt", "again\n");
    let wanted = "git colony checkpoint && git colony merge ada --resolve";
    assert_eq!(fleet_command(&desk), wanted);
}

#[test]
fn a_label_that_is_used_twice_is_reported_and_the_id_is_offered() {
    let sandbox = Sandbox::new();
    let first = sandbox.json(&["checkpoint", "-m", "same"]);
    assert_eq!(first.get("label_uses"), None);
    sandbox.write("a.txt", "two\n");
    let planned = sandbox.json(&["checkpoint", "-m", "same", "-n"]);
    assert_eq!(planned["label_uses"], 2);
    let run = sandbox.run(&["checkpoint", "-m", "same"]);
    let note = "note: 2 checkpoints have the label 'same': each is named by its id, the label is ambiguous";
    assert!(run.stderr.contains(note), "{}", run.stderr);
    assert!(run.stdout.contains("to restore: git colony restore checkpoint/"));
    assert_eq!(sandbox.error(&["restore", "same"]), "checkpoint-ambiguous");
    let tagged = sandbox.json(&["tag", "-m", "same", "HEAD"]);
    assert_eq!(tagged["label_uses"], 3);
}

#[test]
fn a_name_that_is_nearly_a_label_is_answered_by_the_label() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "it works"]);
    sandbox.colony(&["checkpoint", "-m", "before the parser"]);
    let answer = sandbox.json(&["restore", "It wroks", "-n"]);
    assert_eq!(answer["code"], "checkpoint-not-found");
    assert_eq!(answer["detail"]["nearest"], "it works");
    let wanted = "git colony --json restore 'it works' -n   # the most similar label";
    assert_eq!(hint_of(&answer), wanted);
    let far = sandbox.json(&["restore", "something else"]);
    assert_eq!(far["detail"].get("nearest"), None);
    assert_eq!(far["hint"], "git colony checkpoints");
}

#[test]
fn a_label_without_its_option_is_answered_by_the_line() {
    let sandbox = Sandbox::new();
    for (typed, wanted) in [
        (&["checkpoint", "it works"][..], "git colony --json checkpoint -m 'it works'"),
        (&["checkpoint", "works"], "git colony --json checkpoint -m works"),
        (&["checkpoint", "it", "works"], "git colony --json checkpoint -m 'it works'"),
        (&["checkpoint", "-n", "works"], "git colony checkpoint -h"),
        (&["commit", "-m", "x"], "git colony --json commit -a -m x   # everything that is tracked"),
        (
            &["commit", "-m", "it works", "-n"],
            "git colony --json commit -a -m 'it works' -n   # everything that is tracked",
        ),
        (&["commit"], "git colony commit -h"),
    ] {
        let answer = sandbox.json(typed);
        assert_eq!(
            (&answer["code"], &answer["hint"]),
            (&json!("usage"), &json!(wanted)),
            "{typed:?}"
        );
    }
}

#[test]
fn a_removed_agent_is_answered_by_how_to_restore_it() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "a.txt", "of ada\n");
    desk.colony(&["agents", "remove", "ada"]);
    for command in ["path", "remove"] {
        let answer = desk.json(&["agents", command, "ada"]);
        assert_eq!(answer["code"], "clone-not-found", "{answer:#}");
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains("the agent 'ada' was removed; its work is kept"), "{message}");
        assert_eq!(answer["hint"], "git colony agents restore ada");
        let other = desk.json(&["agents", command, "bob"]);
        assert!(other["message"].as_str().unwrap().contains("named 'bob'"));
    }
    desk.colony(&["agents", "restore", "ada"]);
    assert_eq!(desk.json(&["agents", "path", "ada"])["ok"], true);
}

#[test]
fn a_hint_works_where_the_command_was_typed() {
    let desk = Sandbox::new();
    agent(&desk, "ada");
    let reader = desk.json(&["clone", "--read-only"]);
    let outside = desk.outside().join("a folder");
    std::fs::create_dir_all(&outside).unwrap();
    let there = desk.at(outside.clone());
    let place = outside.to_str().unwrap();
    for (view, typed, wanted) in [
        (
            &*desk,
            &["catalog", "add", place][..],
            format!("git init '{place}'   # creates one there"),
        ),
        (&there, &["agents", "path", "zed"], "git colony clones".to_owned()),
        (
            &there,
            &["catalog"],
            "git init   # creates a repository here; then: git colony catalog add .".to_owned(),
        ),
        (&*desk, &["memory", "remove"], "git colony session memory -h".to_owned()),
        (&*desk, &["config", "set", "keepdays", "3"], "git config colony.keepDays 3".to_owned()),
        (&*desk, &["cherry-pick", "HEAD..main"], "git colony log HEAD..main".to_owned()),
        (
            &*desk,
            &["agents", "path", "zed"],
            "git colony agents   # lists agents, and removed ones whose work is kept".to_owned(),
        ),
    ] {
        assert_eq!(hint_of(&view.json(typed)), wanted, "{typed:?}");
    }
    let id = reader["id"].as_str().unwrap();
    let refused = desk.json(&["agents", "path", id]);
    assert_eq!(hint_of(&refused), "git colony clones", "{refused:#}");
}

#[test]
fn a_value_that_is_refused_is_answered_by_those_expected() {
    let sandbox = Sandbox::new();
    sandbox.write("d/a.txt", "a\n");
    for (typed, wanted) in [
        (
            &["restore", "x", "--mode", "nosuch"][..],
            "'--mode nosuch': expected 'replace', 'files' or 'fork'",
        ),
        (
            &["status", "--color", "x"],
            "invalid value 'x' for '--color': expected 'auto', 'always' or 'never'",
        ),
        (&["log", "-n", "x"], "invalid value 'x' for '--limit <N>': expected a whole number"),
        (
            &["log", "-n", "99999999999999999999999"],
            "invalid value '99999999999999999999999' for '--limit <N>': expected a smaller number",
        ),
        (
            &["pages", "extend", "a", "--by", "x"],
            "invalid value 'x' for '--by <S>': expected a number",
        ),
        (
            &["catalog", "add", "../nosuch"],
            "cannot add '../nosuch': it does not exist; nothing has changed",
        ),
        (&["validate", "nosuch"], "'nosuch' does not exist; nothing has changed"),
        (
            &["validate", "."],
            "'.' is a directory; the command is about one file; nothing has changed",
        ),
        (
            &["validate", "d"],
            "'d' is a directory; the command is about one file; nothing has changed",
        ),
    ] {
        assert_eq!(sandbox.json(typed)["message"], wanted, "{typed:?}");
    }
    let none = sandbox.run(&["watches", "stop", "nosuch"]);
    assert_eq!(none.stdout, "no watch has the id 'nosuch'\n");
    assert_eq!(none.stderr, "hint: git colony watch list\n");
}

#[test]
fn usage_lines_and_refusals_say_what_is_required() {
    let sandbox = Sandbox::new();
    let usage = |words: &[&str]| sandbox.json(words)["detail"]["usage"].clone();
    let colony = "git colony clones colony set [OPTIONS] [NAME] <URL>";
    assert_eq!(usage(&["colony", "set"]), colony);
    let tools = usage(&["tools", "new"]).to_string();
    let place = "<--purpose <PURPOSE> --name <NAME>|--target <TARGET>>";
    assert!(tools.contains(place), "{tools}");
    let named = sandbox.json(&["agents", "new", "Ünï"]).to_string();
    assert!(named.contains("at most 64 of A-Z a-z 0-9"), "{named}");
    let folder = sandbox.outside().join("papers");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(".env"), "A=1\n").unwrap();
    let from = folder.to_str().unwrap();
    let secret = sandbox.json(&["ingest", "--from", from, "--source-uri", "https://a.b/c"]);
    let wanted = "move it out of the folder, then run the command again";
    assert_eq!(hint_of(&secret), wanted, "{secret:#}");
}
