//! Work that was squashed is merged: nobody is offered it again, and what comes later merges on top of it.

use std::fs;
use std::path::PathBuf;

use crate::support::{Sandbox, View};

fn agent(desk: &Sandbox, name: &str) -> View {
    let made = desk.json(&["agents", "new", name]);
    desk.at(PathBuf::from(made["path"].as_str().unwrap()))
}

fn commit(clone: &View, path: &str, content: &str) {
    fs::write(clone.path(path), content).unwrap();
    clone.colony(&["commit", "-m", content.trim(), "--all"]);
}

#[test]
fn squashed_work_of_an_agent_is_merged_and_is_not_offered_again() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "new.txt", "one\n");
    commit(&ada, "new.txt", "one\ntwo\n");
    let row = |desk: &Sandbox| desk.json(&["fleet"])["agents"][0].clone();
    assert_eq!(row(&desk)["merged"], false);
    desk.colony(&["merge", "ada", "--squash"]);
    let fleet = desk.json(&["fleet"]);
    assert_eq!(fleet["agents"][0]["commits"], 0, "{fleet:#}");
    assert_eq!(fleet["agents"][0]["merged"], true);
    assert_eq!(fleet["hint"], serde_json::Value::Null);
    assert!(desk.colony(&["fleet"]).contains("merged"));
    assert_eq!(desk.json(&["forks"])["forks"][0]["ahead"], 0);
    let again = desk.json(&["merge", "ada"]);
    assert_eq!(again["outcome"], "up_to_date", "{again:#}");
    // What comes later touches the same lines, which git alone would call added on both sides.
    commit(&ada, "new.txt", "one\nTWO\n");
    let row = row(&desk);
    assert_eq!((&row["commits"], &row["files"]), (&1.into(), &1.into()));
    assert_eq!(row["into"]["outcome"], "merged", "{row:#}");
    let merged = desk.json(&["merge", "ada"]);
    assert_eq!(merged["outcome"], "merged", "{merged:#}");
    assert_eq!(desk.read("new.txt"), "one\nTWO\n");
    desk.check_invariants_of_git();
}

#[test]
fn a_conflict_after_a_squash_is_about_what_came_later() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "new.txt", "one\ntwo\nthree\n");
    desk.colony(&["merge", "ada", "--squash"]);
    commit(&ada, "new.txt", "one\nof ada\nthree\n");
    desk.write("new.txt", "one\nof the desk\nthree\n");
    desk.colony(&["commit", "-m", "here", "--all"]);
    let row = desk.json(&["fleet"])["agents"][0].clone();
    assert_eq!(row["into"]["outcome"], "conflicted", "{row:#}");
    let open = desk.json(&["merge", "ada", "--resolve"]);
    assert_eq!(open["resolving"], true, "{open:#}");
    let stages = desk.git(&["ls-files", "-u", "--format=%(stage)"]);
    assert_eq!(stages, "1\n2\n3");
    desk.write("new.txt", "one\nof both\nthree\n");
    desk.git(&["add", "new.txt"]);
    desk.colony(&["merge", "--continue"]);
    assert_eq!(desk.json(&["fleet"])["agents"][0]["merged"], true);
    desk.check_invariants_of_git();
}

#[test]
fn a_removed_agent_whose_work_was_squashed_left_nothing() {
    let desk = Sandbox::new();
    for (name, squash) in [("ada", true), ("bob", false)] {
        let clone = agent(&desk, name);
        commit(&clone, &format!("{name}.txt"), name);
        if squash {
            desk.colony(&["merge", name, "--squash"]);
        }
        desk.colony(&["agents", "remove", name]);
    }
    let removed = desk.json(&["agents"])["removed"].clone();
    let names: Vec<_> = removed.as_array().unwrap().iter().collect();
    assert_eq!(names.len(), 1, "{removed:#}");
    assert_eq!(names[0]["agent"], "bob");
}

#[test]
fn a_fork_that_was_squashed_is_deleted_without_force() {
    let desk = Sandbox::new();
    desk.colony(&["fork", "try"]);
    desk.write("try.txt", "try\n");
    desk.colony(&["commit", "-m", "try", "--all"]);
    desk.git(&["switch", "-q", "main"]);
    assert_eq!(desk.error(&["forks", "delete", "try"]), "unmerged-commits");
    desk.colony(&["merge", "try", "--squash"]);
    desk.colony(&["forks", "delete", "try"]);
    desk.colony(&["undo"]);
    // One commit more than was squashed.
    desk.git(&["switch", "-q", "fork/try"]);
    desk.write("try.txt", "again\n");
    desk.colony(&["commit", "-m", "again", "--all"]);
    desk.git(&["switch", "-q", "main"]);
    let refused = desk.json(&["forks", "delete", "try"]);
    assert_eq!(refused["code"], "unmerged-commits", "{refused:#}");
    assert_eq!(refused["detail"]["unmerged"].as_array().unwrap().len(), 1);
}

#[test]
fn a_trailer_that_names_nothing_of_a_fork_hides_nothing_of_it() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "ada.txt", "ada\n");
    let other = desk.git(&["commit-tree", "-m", "elsewhere", "HEAD^{tree}"]);
    for named in [other.as_str(), &"0".repeat(40), "no id", "HEAD"] {
        let message = format!("claims\n\nColony-Squashed: {named}");
        desk.git(&["commit", "-q", "--allow-empty", "-m", &message]);
    }
    let row = desk.json(&["fleet"])["agents"][0].clone();
    assert_eq!((&row["commits"], &row["merged"]), (&1.into(), &false.into()));
}

#[test]
fn a_checkout_that_has_not_taken_part_sees_what_others_do() {
    let one = Sandbox::new();
    let remote = one.outside().join("remote.git");
    let remote = remote.to_str().unwrap();
    let other = one.outside().join("two");
    one.git(&["clone", "-q", "--bare", ".", remote]);
    one.git(&["remote", "add", "origin", remote]);
    one.git(&["clone", "-q", remote, other.to_str().unwrap()]);
    let two = one.at(other);
    two.git(&["config", "user.name", "Bob"]);
    two.git(&["config", "user.email", "bob@example.com"]);
    // Where nobody has an agent, a look leaves nothing behind.
    two.colony(&["fleet"]);
    assert!(!two.path(".git/colony").exists());
    let ada = agent(&one, "ada");
    commit(&ada, "ada.txt", "ada\n");
    let all = ["fleet", "--everywhere"];
    let of_one = one.json(&all)["agents"][0].clone();
    let of_two = two.json(&all)["agents"][0].clone();
    assert_eq!(of_two["commits"], 1, "{of_two:#}");
    for field in ["agent", "fork", "commits", "files", "merged", "into"] {
        assert_eq!(of_one[field], of_two[field], "{field}");
    }
    two.colony(&["merge", "ada"]);
    assert_eq!(fs::read(two.path("ada.txt")).unwrap(), b"ada\n");
    // Who has taken everything out sees it again.
    one.colony(&["checkpoint", "-m", "c"]);
    one.colony(&["deinit", "--purge", "--force"]);
    assert_eq!(one.json(&all)["agents"][0]["commits"], 1);
}

#[test]
fn an_agent_begins_where_head_is_on_no_branch() {
    let desk = Sandbox::new();
    desk.git(&["switch", "-q", "--detach"]);
    desk.write("detached.txt", "detached\n");
    desk.colony(&["commit", "-m", "on no branch", "--all"]);
    let head = desk.git(&["rev-parse", "HEAD"]);
    let planned = desk.json(&["agents", "new", "ada", "-n"]);
    assert_eq!(planned["head_sha"], head.as_str());
    let ada = agent(&desk, "ada");
    assert_eq!(ada.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(fs::read(ada.path("detached.txt")).unwrap(), b"detached\n");
}

#[test]
fn a_fork_of_mine_does_not_become_work_of_agents_started_there() {
    let desk = Sandbox::new();
    let tracked = desk.git(&["ls-files"]);
    let file = tracked.lines().next().unwrap().to_owned();
    for name in ["s1", "s2"] {
        desk.git(&["switch", "-q", "main"]);
        desk.colony(&["fork", name]);
        desk.write(&file, format!("{name}\n"));
        desk.colony(&["commit", "-m", name, "--all"]);
    }
    agent(&desk, "eve");
    agent(&desk, "flo");
    let told = |desk: &Sandbox| {
        let fleet = desk.json(&["fleet"]);
        let rows = fleet["agents"].as_array().unwrap().clone();
        let mut rows: Vec<_> =
            rows.iter().map(|row| format!("{} {}", row["agent"], row["fork"])).collect();
        rows.sort();
        (rows, fleet["clashes"].as_array().unwrap().len())
    };
    let all =
        [r#""eve" "fork/eve""#, r#""flo" "fork/flo""#, r#"null "fork/s1""#, r#"null "fork/s2""#];
    let (rows, clashes) = told(&desk);
    assert_eq!(rows, all);
    assert_eq!(clashes, 1);
    let conflicts = desk.json(&["forks", "--conflicts"]);
    let order = conflicts["merge_order"].as_array().unwrap().clone();
    let s2 = order.iter().filter(|name| *name == "fork/s2").count();
    assert_eq!(s2, 1, "{conflicts:#}");
    desk.write(&file, "more\n");
    desk.colony(&["commit", "-m", "more", "--all"]);
    assert_eq!(told(&desk).0, all);
}
