//! A colony that a newer version has written to: every command refuses by name, and changes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::setup::never_set_up::COMMANDS;
use crate::support::{Sandbox, worktree_of};

/// Commands that look at no repository, or at its settings only.
const APART: &[&str] = &[
    "mcp",
    "tour",
    "schema",
    "version",
    "help",
    "completions",
    "config",
    "id",
    "groups",
    "query",
    "index",
    "git",
    "cargo",
    "validate",
    "colony",
];

/// A desk with work of every kind and the clone of an agent, whose hooks are installed.
fn colony() -> (Sandbox, PathBuf) {
    let desk = Sandbox::new();
    desk.write("a.txt", "two\n");
    desk.colony(&["checkpoint", "-m", "kept"]);
    desk.colony(&["fork", "try"]);
    desk.write("new.txt", "new\n");
    desk.colony(&["checkpoint", "-m", "tried"]);
    desk.git(&["switch", "-q", "main"]);
    let made = desk.json(&["agents", "new", "ada"]);
    let clone = PathBuf::from(made["path"].as_str().unwrap());
    let inside = desk.at(clone.clone());
    fs::write(clone.join("a.txt"), "of ada\n").unwrap();
    inside.colony(&["checkpoint", "-m", "of ada"]);
    fs::write(clone.join("a.txt"), "uncommitted\n").unwrap();
    desk.write("a.txt", "uncommitted\n");
    (desk, clone)
}

fn make_newer(record: PathBuf) {
    let text = fs::read_to_string(&record).unwrap();
    let newer = text.replace("\"format\": 2", "\"format\": 99");
    assert_ne!(newer, text);
    fs::write(record, newer).unwrap();
}

/// Desk, hub and clones, byte for byte.
fn everything(desk: &Sandbox) -> BTreeMap<String, String> {
    let mut found = worktree_of(&desk.outside());
    found.retain(|path, _| !path.contains("/.cache/"));
    found
}

#[test]
fn commands_in_a_clone_of_a_newer_version_refuse_by_name() {
    for is_desk in [true, false] {
        let (desk, clone) = colony();
        let place = if is_desk { desk.root.clone() } else { clone };
        make_newer(place.join(".git/colony/membership.json"));
        let here = desk.at(place);
        let before = everything(&desk);
        for command in COMMANDS {
            if APART.contains(&command[0]) || *command == ["catalog"] {
                assert_ne!(here.run(command).code, 129, "{command:?}");
            } else {
                let answer = here.json(command);
                assert_eq!(answer["code"], "newer-format", "{command:?} {answer:#}");
                let message = answer["message"].as_str().unwrap();
                assert!(message.contains("membership.json"), "{message}");
                assert_eq!(answer["hint"], "install a newer git-colony");
            }
            assert!(everything(&desk) == before, "{command:?} changed something");
        }
    }
}
