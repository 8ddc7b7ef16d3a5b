//! Whose work it is: `clones gc` says whose it would drop, and a fork of an agent is taken away with the agent.

use crate::lfs::migrate::in_progress::{hint_of, paste};
use crate::support::Sandbox;

use super::new_and_merge::{agent, commit, hub};

/// Takes three agents away: one with work, one whose work is merged, one that has done nothing.
fn three_removed() -> Sandbox {
    let desk = Sandbox::new();
    desk.git(&["config", "colony.keepRemovedDays", "0"]);
    for name in ["ada", "bob", "idle"] {
        let clone = agent(&desk, name);
        if name != "idle" {
            commit(&clone, &format!("{name}.txt"), "one\n");
        }
        if name == "ada" {
            commit(&clone, "ada.txt", "two\n");
            clone.write("loose.txt", "uncommitted\n");
        }
    }
    desk.colony(&["merge", "bob"]);
    for name in ["ada", "bob", "idle"] {
        desk.colony(&["agents", "remove", name]);
    }
    desk
}

#[test]
fn gc_says_whose_kept_work_it_drops() {
    let desk = three_removed();
    let told = |args: &[&str]| {
        let report = desk.json(&[&["clones", "gc"][..], args].concat());
        let work = report["work"][0].clone();
        assert_eq!(work["agents"], serde_json::json!(["ada", "bob", "idle"]));
        let all = work["removals"].as_array().unwrap().iter();
        let of = |one: &serde_json::Value| {
            let back = one["restore"].as_str().unwrap();
            assert!(one["removed_at"].as_str().unwrap().ends_with('Z'), "{one:#}");
            format!("{} {} {}: {back}", one["agent"], one["commits"], one["files"])
        };
        all.map(of).collect::<Vec<_>>()
    };
    let back = |name: &str| format!("git colony agents restore {name}");
    let expected = [
        format!("\"ada\" 2 2: {}", back("ada")),
        format!("\"bob\" 0 0: {}", back("bob")),
        format!("\"idle\" 0 0: {}", back("idle")),
    ];
    assert_eq!(told(&[]), expected);
    assert_eq!(told(&["--force", "-n"]), expected);
    let screen = desk.colony(&["clones", "gc", "--force", "-n"]);
    assert!(screen.contains("    ada, removed "), "{screen}");
    assert!(
        screen
            .contains(": 2 commits and 2 files; restore it first: git colony agents restore ada\n"),
        "{screen}"
    );
    assert!(screen.contains(": nothing of its own"), "{screen}");
    assert!(hub(&desk).exists());
}

#[test]
fn gc_names_a_command_that_restores_kept_work_from_anywhere() {
    let desk = three_removed();
    let line = |screen: &str| {
        let start = "    ada, removed ";
        screen.lines().find(|line| line.starts_with(start)).unwrap().to_owned()
    };
    // From elsewhere the command leads to the checkout.
    let outside = desk.at(desk.outside());
    let screen = outside.colony(&["clones", "gc", "-n"]);
    let (_, command) = screen
        .lines()
        .find_map(|line| line.strip_prefix("    ada, removed ")?.split_once("first: "))
        .unwrap();
    paste(&desk, &desk.outside(), command);
    assert_eq!(desk.json(&["agents"])["agents"][0]["agent"], "ada");
    desk.colony(&["agents", "remove", "ada"]);
    let screen = desk.colony(&["clones", "gc", "--force"]);
    assert!(line(&screen).ends_with(": 2 commits and 2 files"), "{screen}");
}

#[test]
fn a_fork_of_an_agent_is_taken_away_with_the_agent() {
    let desk = Sandbox::new();
    agent(&desk, "a16");
    let refused = desk.json(&["forks", "delete", "a16"]);
    assert_eq!(refused["code"], "fork-not-found");
    assert_eq!(
        refused["message"],
        "'fork/a16' is the fork of agent a16, in its clone; nothing has changed"
    );
    assert_eq!(refused["detail"]["agents"], serde_json::json!(["a16"]));
    paste(&desk, &desk.root, hint_of(&refused));
    assert_eq!(desk.json(&["agents"])["count"], 0);
    let refused = desk.json(&["forks", "delete", "a16"]);
    assert_eq!(hint_of(&refused), "git colony forks");
}

#[test]
fn uncommitted_paths_are_counted_once_and_by_what_is_kept() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    clone.write("staged.txt", "staged\n");
    clone.git(&["add", "staged.txt"]);
    clone.write("a.txt", "edited\n");
    clone.write("new.txt", "new\n");
    clone.write("id_rsa", "a likely secret\n");
    let row = desk.json(&["fleet"]);
    assert!(row.to_string().contains("\"unsaved\":4"), "{row:#}");
    let refused = desk.json(&["agents", "remove", "ada"]);
    assert!(hint_of(&refused).ends_with("--force   # it goes with its folder"));
    let said = desk.colony(&["agents", "remove", "ada", "--force"]);
    assert!(said.contains("3 uncommitted paths kept as a checkpoint"), "{said}");
    assert!(said.contains("in no checkpoint: id_rsa"), "{said}");
    let swept = desk.colony(&["clones", "gc"]);
    let now = "to delete them now: COLONY_KEEP_REMOVED_DAYS=0 git colony clones gc\n";
    assert!(swept.contains(now), "{swept}");
}

#[test]
fn a_merge_of_work_that_is_held_back_says_so() {
    let desk = Sandbox::new();
    commit(&agent(&desk, "ada"), "ada.txt", "one\n");
    desk.colony(&["agents", "hold", "ada", "-m", "the build fails"]);
    let merged = desk.run(&["merge", "ada"]);
    assert_eq!(merged.code, 0, "{}", merged.stderr);
    let told = "warning: the work of 'ada' is held back: the build fails";
    assert!(merged.stderr.contains(told), "{}", merged.stderr);
}
