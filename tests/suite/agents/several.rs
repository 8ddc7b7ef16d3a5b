//! Several agents in one command.

use serde_json::{Value, json};

use crate::support::Sandbox;

use super::new_and_merge::commit;

/// Runs a command that answers with a line of JSON for each agent; returns its exit code and the answers.
fn each(desk: &Sandbox, args: &[&str]) -> (u8, Vec<Value>) {
    let run = desk.run(&[&["--json"], args].concat());
    let answers = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap());
    (run.code, answers.collect())
}

/// Returns the agents of the answers of a command that succeeds.
fn names_of(desk: &Sandbox, args: &[&str]) -> Vec<String> {
    let (code, answers) = each(desk, args);
    assert_eq!(code, 0, "{answers:#?}");
    answers.iter().map(|it| it["agent"].as_str().unwrap().to_owned()).collect()
}

/// Lists the agents that have a clone.
fn listed(desk: &Sandbox) -> Vec<String> {
    let agents = desk.json(&["agents"])["agents"].clone();
    let names = agents.as_array().unwrap().iter().map(|it| it["agent"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

#[test]
fn several_agents_are_made_in_one_command_or_none() {
    let desk = Sandbox::new();
    let made = names_of(&desk, &["agents", "new", "ada", "bob", "ada", "cleo"]);
    assert_eq!(made, ["ada", "bob", "cleo"]);
    let printed = desk.colony(&["agents", "new", "dora", "emil"]);
    assert_eq!(printed.lines().count(), 2, "{printed}");
    assert!(printed.lines().all(|path| std::path::Path::new(path).is_dir()), "{printed}");
    // A name that is taken, or none, is refused before the first is made.
    for wrong in ["ada", "no/name"] {
        let refused = desk.run(&["agents", "new", "fred", wrong]);
        assert_eq!(refused.code, 128, "{}", refused.stderr);
    }
    assert_eq!(listed(&desk), ["ada", "bob", "cleo", "dora", "emil"]);
    assert_eq!(names_of(&desk, &["agents", "new", "-n", "gert", "hugo"]), ["gert", "hugo"]);
    assert_eq!(listed(&desk).len(), 5);
}

#[test]
fn merged_agents_are_removed_and_no_others() {
    let desk = Sandbox::new();
    let (_, made) = each(&desk, &["agents", "new", "ada", "bob", "cleo", "dora", "idle"]);
    let clone = |at: usize| desk.at(made[at]["path"].as_str().unwrap().into());
    for (at, path) in ["a.txt", "b.txt", "c.txt", "d.txt"].iter().enumerate() {
        commit(&clone(at), path, "of an agent\n");
    }
    for name in ["ada", "bob", "cleo"] {
        desk.colony(&["merge", name]);
    }
    clone(1).write("loose.txt", "not committed\n");
    assert_eq!(names_of(&desk, &["agents", "remove", "--merged", "-n"]), ["ada", "cleo"]);
    assert_eq!(listed(&desk).len(), 5);
    assert_eq!(names_of(&desk, &["agents", "remove", "--merged"]), ["ada", "cleo"]);
    assert_eq!(names_of(&desk, &["agents", "remove", "--merged"]), [""; 0]);
    let unknown = desk.run(&["agents", "remove", "bob", "nobody"]);
    assert_eq!(unknown.code, 128, "{}", unknown.stderr);
    assert_eq!(listed(&desk), ["bob", "dora", "idle"]);
    assert_eq!(names_of(&desk, &["agents", "remove", "bob", "dora"]), ["bob", "dora"]);
    desk.colony(&["agents", "restore", "bob"]);
    assert_eq!(std::fs::read(clone(1).path("loose.txt")).unwrap(), b"not committed\n");
}

#[test]
fn one_that_cannot_be_removed_stops_no_other() {
    let desk = Sandbox::new();
    let (_, made) = each(&desk, &["agents", "new", "ada", "bob"]);
    let ada = desk.at(made[0]["path"].as_str().unwrap().into());
    ada.write("id_rsa", "-----BEGIN OPENSSH PRIVATE KEY-----\n");
    let (code, answers) = each(&desk, &["agents", "remove", "ada", "bob"]);
    assert_eq!(code, 1, "{answers:#?}");
    assert_eq!((&answers[0]["status"], &answers[1]["agent"]), (&json!("error"), &json!("bob")));
    assert_eq!(listed(&desk), ["ada"]);
    assert!(ada.path("id_rsa").is_file());
}

#[test]
fn several_agents_take_a_line_each() {
    let desk = Sandbox::new();
    let made = desk.run(&["agents", "new", "ada", "bob", "cleo"]);
    let lines = made.stderr.lines().filter(|line| line.contains("works on")).count();
    assert_eq!((made.stdout.lines().count(), lines), (3, 3), "{}", made.stderr);
    let removed = desk.run(&["agents", "remove", "ada", "bob", "cleo"]);
    assert_eq!(removed.stdout.lines().count(), 3, "{}", removed.stdout);
    assert!(removed.stderr.contains("git colony agents restore NAME"), "{}", removed.stderr);
    assert_eq!(desk.json(&["agents"])["count"], 0);
}
