//! `pages` and `pages show` for people and for pipes: what is said, and on which stream.

use serde_json::{Value, json};

use crate::support::Sandbox;

use super::edited_repository::{MAP, commit};

fn first_page(sandbox: &Sandbox) -> String {
    let listed = sandbox.json(&["pages"]);
    listed["pages"][0]["page_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_stale_page_is_still_one_json_value_on_a_line() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["map"]);
    let id = first_page(&sandbox);
    sandbox.write("c.txt", "later\n");
    commit(&sandbox);
    let shown = sandbox.run(&["pages", "show", &id, "--format", "json"]);
    for line in shown.stdout.lines() {
        assert!(serde_json::from_str::<Value>(line).is_ok(), "{line}");
    }
    assert!(!shown.stdout.is_empty());
    assert!(shown.stderr.contains("files have changed since they were mapped"));
    for command in [&["pages"][..], &["pages", "graph"]] {
        let run = sandbox.run(command);
        assert!(!run.stdout.contains("moved"), "{}", run.stdout);
        assert!(run.stderr.contains("files have changed since they were mapped"));
    }
    let message = sandbox.json(&["pages"])["message"].clone();
    assert!(message.as_str().unwrap().contains("have changed since"));
}

#[test]
fn why_no_page_is_listed_is_told() {
    let sandbox = Sandbox::new();
    let why = |command: &[&str]| sandbox.json(command)["nothing"].clone();
    for command in [&["pages"][..], &["pages", "graph"], &["pages", "stats"]] {
        assert_eq!(why(command), "not_mapped");
    }
    sandbox.colony(&["map"]);
    for command in [&["pages"][..], &["pages", "graph"], &["pages", "stats"]] {
        assert_eq!(why(command), Value::Null);
    }
    let typo = sandbox.json(&["pages", "--path", "typo"]);
    assert_eq!(typo["nothing"], "no_match");
    assert_eq!(typo["message"], "no page matches; 'git colony pages' shows all");
    sandbox.remove(".git/colony/cache");
    assert_eq!(why(&["pages"]), "not_here");
    let only = "schema_version: 1\nsources:\n  - name: default\n    type: git_repo\n    include_globs: [\"*.none\"]\n";
    sandbox.write(MAP, only);
    commit(&sandbox);
    sandbox.colony(&["map"]);
    assert_eq!(why(&["pages"]), "empty");
    assert_eq!(sandbox.json(&["pages", "stats"])["total"]["pages"], json!(0));
}

#[test]
fn pages_of_a_file_come_in_its_order_and_say_where_they_lie() {
    let sandbox = Sandbox::new();
    for file in 0..8 {
        let lines = (0..700).map(|line| format!("file {file} has a line {line} here\n"));
        sandbox.write(&format!("long{file}.txt"), lines.collect::<String>());
        sandbox.write(&format!("log{file}.txt"), "short\n".repeat(300));
    }
    commit(&sandbox);
    sandbox.colony(&["map"]);
    for file in 0..8 {
        let path = format!("long{file}.txt");
        let listed = sandbox.json(&["pages", "--path", &path]);
        let records = listed["pages"].as_array().unwrap().iter();
        let records = records.flat_map(|page| page["records"].as_array().unwrap());
        let own: Vec<&Value> = records.filter(|one| one["path"] == *path).collect();
        assert!(own.len() > 1);
        let mut end = json!(0);
        for (at, record) in own.iter().enumerate() {
            assert_eq!(record["start"], end, "{path}");
            let place = (&record["part_number"], &record["part_count"]);
            assert_eq!(place, (&json!(at + 1), &json!(own.len())));
            end = record["end"].clone();
        }
        let id = listed["pages"][0]["page_id"].as_str().unwrap();
        let head = sandbox.run(&["pages", "show", id]);
        let told = format!("{path}: part 1 of {}, lines 1 to ", own.len());
        assert!(head.stderr.contains(&told), "{}", head.stderr);
        assert!(!head.stdout.contains("part_number"));
        let listed = sandbox.colony(&["pages", "--path", &path]);
        let told = format!("{path} part 1 of {}", own.len());
        assert!(listed.contains(&told), "{listed}");
    }
}
