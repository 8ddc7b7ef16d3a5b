//! The fleet: a row per agent, what clashes, what to merge next.

use std::fs;
use std::path::PathBuf;

use git_colony::testing::Sketcher;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::agents::new_and_merge::{agent, commit};
use crate::support::Sandbox;
use crate::surface::colors_and_pager::{bare, on_terminal_of};

#[test]
fn the_fleet_is_one_line_per_agent_and_what_to_merge_next() {
    let desk = Sandbox::new();
    let teaching = desk.run(&[]).stdout;
    assert_eq!(teaching.lines().count(), 6, "{teaching}");
    let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
    commit(&ada, "a.txt", "of ada\n");
    commit(&bob, "a.txt", "of bob\n");
    commit(&bob, "b.txt", "of bob\n");
    bob.write("c.txt", "unsaved\n");
    assert_eq!(bob.run(&["hook", "codex"]).code, 0);
    let fleet = desk.json(&["fleet"]);
    let rows = fleet["agents"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{fleet:#}");
    assert_eq!(rows[0]["agent"], "ada");
    assert_eq!(rows[0]["commits"], 1);
    assert_eq!(rows[0]["into"]["outcome"], "fast_forward");
    assert_eq!(rows[0]["into"]["branch"], "main");
    assert_eq!(rows[1]["agent"], "bob");
    assert_eq!((&rows[1]["commits"], &rows[1]["files"]), (&2.into(), &2.into()));
    assert_eq!(rows[1]["unsaved"], 1);
    assert_eq!(rows[1]["state"], "waiting", "its hook told of a stop");
    assert_eq!(fleet["clashes"][0]["paths"][0], "a.txt");
    assert_eq!(fleet["merge_order"].as_array().unwrap().len(), 2);
    let hint = fleet["hint"].as_str().unwrap();
    assert!(hint.starts_with("git colony merge "), "{hint}");
    desk.colony(&["merge", "ada"]);
    let fleet = desk.json(&["fleet"]);
    assert_eq!(fleet["agents"][0]["into"]["outcome"], "up_to_date");
    assert_eq!(fleet["agents"][1]["into"]["outcome"], "conflicted");
    assert_eq!(fleet["hint"], "git colony merge bob --resolve");
}

#[test]
fn the_fleet_says_when_each_made_its_newest_checkpoint() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    let never = desk.json(&["fleet"]);
    assert_eq!(never["agents"][0]["last_checkpoint_at"], Value::Null);
    ada.write("a.txt", "one\n");
    ada.colony(&["checkpoint", "-m", "named"]);
    let named = ada.json(&["checkpoints"])["checkpoints"][0]["created_at"].clone();
    let fleet = desk.json(&["fleet"]);
    assert_eq!(fleet["agents"][0]["last_checkpoint_at"], named);
    assert_eq!(fleet["last_checkpoint"], Value::Null, "it is not of the desk");
    ada.write("a.txt", "two\n");
    ada.json(&["checkpoint", "--auto"]);
    let automatic = ada.json(&["checkpoints", "--auto"])["checkpoints"][0]["created_at"].clone();
    assert_ne!(automatic, named);
    let fleet = desk.json(&["fleet"]);
    assert_eq!(fleet["agents"][0]["last_checkpoint_at"], automatic);
}

#[test]
fn the_fleet_remembers_clashing_forks_and_writes_nothing_else() {
    let desk = Sandbox::new();
    let cache = desk.path(".git/colony/cache/clashes-2.json");
    desk.colony(&["fleet"]);
    assert!(!desk.path(".git/colony").exists(), "nothing has begun");
    let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
    commit(&ada, "a.txt", "of ada\n");
    commit(&bob, "a.txt", "of bob\n");
    let before = desk.visible_state();
    let fleet = desk.json(&["fleet"]);
    let known = fs::read_to_string(&cache).unwrap();
    let (ada, bob) = (ada.git(&["rev-parse", "HEAD"]), bob.git(&["rev-parse", "HEAD"]));
    assert!(known.contains(ada.trim()) && known.contains(bob.trim()), "{known}");
    assert_eq!(desk.json(&["fleet"])["clashes"], fleet["clashes"]);
    assert_eq!(desk.visible_state(), before);
}

/// A desk with all that rows can say: long subjects and paths, a conflict, uncommitted files, merged and removed work.
fn full() -> Sandbox {
    let desk = Sandbox::new();
    let long = "src/a/deep/folder/of/modules/names.rs";
    for path in ["a.txt", "b.txt", long] {
        desk.write(path, "one\ntwo\n");
    }
    desk.colony(&["commit", "-m", "first files", "--all"]);
    let names = ["ada", "bob", "cleo", "dora", "emil", "finn-who-has-a-long-name", "gone"];
    let [ada, bob, cleo, dora, _, finn, gone] = &names.map(|name| agent(&desk, name));
    let subject = "Split the walker in two parts, because it was too long for one screen";
    for (clone, path, text) in
        [(ada, "a.txt", "1\ntwo\n"), (bob, "a.txt", "eins\n2\n"), (finn, long, "one\n2\n")]
    {
        clone.write(path, text);
        clone.colony(&["commit", "-m", subject, "--all"]);
    }
    bob.write("loose.txt", "not committed\n");
    cleo.write("loose.txt", "not committed\n");
    commit(dora, "c.txt", "of dora\n");
    commit(gone, "d.txt", "of gone\n");
    desk.colony(&["merge", "dora"]);
    desk.write(long, "one\nzwei\n");
    desk.colony(&["commit", "-m", "the second line", "--all"]);
    desk.colony(&["agents", "remove", "gone"]);
    desk
}

fn bob_of(desk: &Sandbox) -> PathBuf {
    PathBuf::from(desk.colony(&["agents", "path", "bob"]).trim_end())
}

#[test]
fn the_rows_say_what_each_did_and_how_it_merges() {
    let desk = full();
    let upstream = desk.outside().join("upstream.git");
    desk.git(&["clone", "-q", "--bare", ".", upstream.to_str().unwrap()]);
    desk.git(&["remote", "add", "origin", upstream.to_str().unwrap()]);
    desk.git(&["fetch", "-q", "origin"]);
    desk.git(&["branch", "-q", "-u", "origin/main"]);
    commit(&desk, "e.txt", "not pushed\n");
    assert_snapshot!(desk.colony(&["fleet"]));
    let fleet = desk.json(&["fleet"]);
    assert_eq!(fleet["upstream"], json!({ "name": "origin/main", "ahead": 1, "behind": 0 }));
    assert_eq!(fleet["removed"][0]["agent"], "gone");
    assert_eq!(fleet["next"]["clean"], json!(["ada"]));
    assert_eq!(fleet["next"]["then"]["paths"], fleet["agents"][5]["into"]["paths"]);
    let row = &fleet["agents"][1];
    let stat = desk.at(bob_of(&desk)).git(&["diff", "--numstat", "HEAD~", "HEAD"]);
    assert_eq!(stat, format!("{}\t{}\ta.txt", row["insertions"], row["deletions"]));
}

#[test]
fn a_narrow_terminal_cuts_reasons_before_columns() {
    let desk = full();
    let upstream = desk.outside().join("upstream.git");
    desk.git(&["clone", "-q", "--bare", ".", upstream.to_str().unwrap()]);
    desk.git(&["remote", "add", "origin", upstream.to_str().unwrap()]);
    desk.git(&["fetch", "-q", "origin"]);
    desk.git(&["branch", "-q", "-u", "origin/main"]);
    commit(&desk, "e.txt", "not pushed\n");
    let bob = desk.at(bob_of(&desk));
    commit(&bob, "long.txt", &"a line\n".repeat(1_000));
    for number in 0..120 {
        bob.write(&format!("loose/{number}"), "not committed\n");
    }
    desk.colony(&["agents", "hold", "bob", "-m", "deletes too much of the parser"]);
    fs::remove_dir_all(desk.colony(&["agents", "path", "cleo"]).trim_end().to_owned() + "/.git")
        .unwrap();
    for (columns, reason, has_seen) in [
        (60, "held: deletes too\u{2026}", false),
        (80, "held: deletes too\u{2026}", true),
        (120, "held: deletes too much of ...", true),
    ] {
        let shown = bare(&on_terminal_of(&desk, columns, &[], "COLONY --no-pager"));
        assert!(shown.lines().any(|line| line.ends_with(reason)), "{columns}: {shown}");
        let head = shown.lines().find(|line| line.contains("AGENT")).unwrap();
        assert_eq!(head.contains("SEEN"), has_seen, "{columns}: {shown}");
        let start: Vec<_> = shown.lines().take_while(|line| !line.contains("AGENT")).collect();
        let repair = shown.lines().find(|line| line.starts_with("repair: ")).unwrap();
        for line in start.iter().chain([&repair]) {
            assert!(line.chars().count() <= columns, "{columns}: {shown}");
        }
        assert!(start.join(" ").contains("6 agents"), "{shown}");
        assert_eq!(repair.split("   ").next().unwrap(), "repair: git colony agents restore cleo");
    }
}

#[test]
fn the_table_fits_every_terminal_and_cuts_no_verdict() {
    let desk = full();
    for columns in [60, 80, 120, 200] {
        let shown = bare(&on_terminal_of(&desk, columns, &[], "COLONY --no-pager"));
        for line in shown.lines().filter(|line| !line.contains("git colony")) {
            assert!(line.chars().count() <= columns, "{columns}: {shown}");
        }
        let ends = |end: &str| shown.lines().any(|line| line.ends_with(end));
        assert!(ends(" clean") && ends(" conflict names.rs"), "{shown}");
        assert!(ends("merged: dora"), "{shown}");
    }
}

#[test]
fn a_wide_terminal_has_the_tasks_before_the_newest() {
    let desk = Sandbox::new();
    let task = "\n  Split the \u{1b}[2J\u{202e} walker in two parts\nand test both\n";
    let made = desk.json(&["agents", "new", "ada", "-m", task]);
    commit(&desk.at(made["path"].as_str().unwrap().into()), "a.txt", "of ada\n");
    commit(&agent(&desk, "bob"), "b.txt", "of bob\n");
    let printed = |columns| bare(&on_terminal_of(&desk, columns, &[], "COLONY --no-pager"));
    let sketcher = Sketcher::read(desk.world_at(7_200)).unwrap();
    let drawn = |columns| sketcher.draw(columns, 24, "").text;
    for (columns, has_tasks) in [(80, false), (109, false), (110, true), (200, true)] {
        for shown in [printed(columns.into()), drawn(columns)] {
            let head = shown.lines().find(|line| line.contains("AGENT")).unwrap();
            let row = shown.lines().find(|line| line.contains(" ada ")).unwrap();
            let before = |line: &str, text: &str| line.split(text).next().unwrap().chars().count();
            assert_eq!(before(row, "edit a.txt"), before(head, "NEWEST"), "{columns}: {shown}");
            assert_eq!(head.contains("  TASK  "), has_tasks, "{columns}: {shown}");
            assert_eq!(row.contains("  Split the \\x1b[2J\\u{202\u{2026}  "), has_tasks, "{shown}");
            assert!(!shown.contains("test both"), "{shown}");
        }
        assert!(!drawn(columns).contains(|c: char| c.is_control() && c != '\n'));
    }
    assert!(desk.colony(&["fleet"]).contains("  TASK  "));
    desk.colony(&["agents", "remove", "ada"]);
    assert!(!desk.colony(&["fleet"]).contains("TASK"));
}
