//! The same repository under another `HOME` or `COLONY_SHARED_ROOT`: its colony is where it has joined.

use std::fs;

use serde_json::{Value, json};

use crate::agents::new_and_merge::{agent, commit};
use crate::support::{Sandbox, View};

fn names(view: &View) -> Vec<String> {
    let agents = view.json(&["agents"])["agents"].clone();
    let names = agents.as_array().unwrap().iter().map(|it| it["agent"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

#[test]
fn another_home_reaches_the_same_agents_and_removes_none() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "ada.txt", "of ada\n");
    let here = desk.at(desk.root.clone());
    let before = desk.json(&["fleet"]);
    for (variable, value) in [("HOME", "other-home"), ("COLONY_SHARED_ROOT", "other-root")] {
        let place = desk.outside().join(value);
        fs::create_dir_all(&place).unwrap();
        let there = desk.with(variable, place.to_str().unwrap());
        for view in [&there, &ada.with(variable, place.to_str().unwrap())] {
            assert_eq!(names(view), ["ada"], "{variable}");
        }
        assert_eq!(there.json(&["fleet"])["agents"], before["agents"], "{variable}");
        let made = there.json(&["agents", "new", "bob"]);
        assert!(made["path"].as_str().unwrap().contains("/home/.local/share/"), "{made:#}");
        assert_eq!(names(&here), ["ada", "bob"]);
        let refused = there.run(&["agents", "restore", "ada"]);
        assert_eq!(refused.code, 128, "{}", refused.stdout);
        there.colony(&["agents", "remove", "bob"]);
        assert_eq!(names(&here), ["ada"]);
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0, "{variable}");
    }
}

#[test]
fn nothing_begins_again_where_the_root_is_not_there() {
    let desk = Sandbox::new();
    commit(&agent(&desk, "ada"), "ada.txt", "of ada\n");
    let root = desk.outside().join("home/.local/share/git-colony");
    let aside = desk.outside().join("aside");
    fs::rename(&root, &aside).unwrap();
    let elsewhere = desk.with("HOME", desk.outside().join("elsewhere").to_str().unwrap());
    let refused = elsewhere.run(&["--json", "agents", "new", "bob"]);
    let told: Value = serde_json::from_str(&refused.stdout).unwrap();
    assert_eq!(told["code"], "hub-missing", "{told:#}");
    assert!(told["hint"].as_str().unwrap().contains("COLONY_SHARED_ROOT="), "{told:#}");
    assert!(!root.exists());
    // Its own HOME is the place where the agents were: who has deleted them begins again.
    fs::rename(&aside, &root).unwrap();
    assert_eq!(names(&elsewhere), ["ada"]);
    fs::remove_dir_all(&root).unwrap();
    assert_eq!(desk.json(&["agents", "new", "bob"])["ok"], json!(true));
    assert_eq!(names(&elsewhere), ["bob"]);
}
