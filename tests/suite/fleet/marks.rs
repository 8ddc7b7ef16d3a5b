//! What is said of the work of agents: done, held back, the task, and one agent in full.

use serde_json::{Value, json};

use crate::support::{Sandbox, View};

use crate::agents::new_and_merge::{agent, commit};
use crate::remote::sync_refs::Two;

fn row(desk: &Sandbox, agent: &str) -> Value {
    let fleet = desk.json(&["fleet"]);
    let mut rows = fleet["agents"].as_array().unwrap().iter();
    rows.find(|row| row["agent"] == agent).unwrap().clone()
}

/// Returns the command that is suggested next, and all names of the batch.
fn next(desk: &Sandbox) -> (Value, Value) {
    let fleet = desk.json(&["fleet"]);
    (fleet["next"]["command"].clone(), fleet["next"]["clean"].clone())
}

fn keys(view: &View, wanted: &str) -> Vec<String> {
    let events = view.json(&["events", "--key", wanted]);
    let events = events["events"].as_array().unwrap().iter();
    events.map(|event| event["key"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_agent_says_that_it_is_done_until_it_commits() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "ada.txt", "of ada\n");
    let planned = ada.json(&["agents", "done", "-n", "-m", "all of it"]);
    assert_eq!((&planned["op"], &planned["status"]), (&Value::Null, &json!("done")));
    assert_eq!(row(&desk, "ada").get("done"), None);
    let done = ada.json(&["agents", "done", "-m", "all of it"]);
    assert_eq!((&done["agent"], &done["text"]), (&json!("ada"), &json!("all of it")));
    assert_eq!(row(&desk, "ada")["done"]["text"], "all of it");
    assert_eq!(keys(&desk.at(desk.root.clone()), "agent_done:"), ["agent_done:ada"]);
    assert!(desk.colony(&["fleet"]).contains("done, clean"));
    assert_eq!(ada.json(&["agents", "done", "-m", "all of it"])["unchanged"], true);
    commit(&ada, "more.txt", "of ada\n");
    assert_eq!(row(&desk, "ada").get("done"), None);
    ada.colony(&["agents", "done"]);
    ada.colony(&["agents", "done", "--undo"]);
    assert_eq!(row(&desk, "ada").get("done"), None);
    ada.colony(&["undo"]);
    assert_eq!(row(&desk, "ada")["done"]["text"], Value::Null);
    let refused = desk.run(&["agents", "done"]);
    assert_eq!(refused.code, 129, "{}", refused.stderr);
}

/// What an agent has done in its clone, and the code with which it is not done, if it is not.
const STATES: [(&str, &str, Option<&str>); 9] = [
    ("nothing", "true", Some("nothing-to-land")),
    ("new", "echo 1 > new.txt", Some("uncommitted-edits")),
    ("edited", "git commit -q --allow-empty -m one && echo 1 >> a.txt", Some("uncommitted-edits")),
    ("staged", "echo 1 > new.txt && git add new.txt", Some("uncommitted-edits")),
    ("gone", "git commit -q --allow-empty -m one && rm a.txt", Some("uncommitted-edits")),
    ("ignored", "echo new.log >> .git/info/exclude && echo 1 > new.log", Some("nothing-to-land")),
    ("on-main", "git switch -q main", Some("nothing-to-land")),
    ("committed", "echo 1 > new.txt && git add . && git commit -q -m one", None),
    (
        "beside",
        "echo 1 > b && git add b && git commit -q -m b && echo b >> .git/info/exclude",
        None,
    ),
];

#[test]
fn what_is_done_is_what_the_desk_shows_and_land_takes() {
    let desk = Sandbox::new();
    desk.write("a.txt", "a\n");
    desk.colony(&["commit", "-m", "a", "--all"]);
    for (name, acts, code) in STATES {
        let clone = agent(&desk, name);
        assert!(clone.process("sh").args(["-c", acts]).status().unwrap().success());
        let ask = |args: &[&str]| {
            let answer: Value = serde_json::from_str(&clone.run(args).stdout).unwrap();
            answer["code"].as_str().map(str::to_owned)
        };
        for args in [
            ["--json", "agents", "done", "-n"].as_slice(),
            &["--json", "call", "agent_done", "{}"],
            &["--json", "agents", "done"],
        ] {
            assert_eq!(ask(args).as_deref(), code, "{name}: {args:?}");
        }
        assert_eq!(row(&desk, name).get("done").is_some(), code.is_none(), "{name}");
    }
    desk.colony(&["merge", "committed"]);
    let clone = desk.at(desk.colony(&["agents", "path", "committed"]).trim().into());
    let refused = clone.run(&["agents", "done", "-m", "again"]);
    assert!(refused.stderr.contains("no commit that 'main' does not have"), "{}", refused.stderr);
    // It is taken back in any state.
    clone.write("more.txt", "more\n");
    assert_eq!(clone.json(&["agents", "done", "--undo"])["status"], "not_done");
}

#[test]
fn agents_of_one_name_on_two_machines_are_done_each_for_itself() {
    let two = Two::new();
    let elsewhere = two.a.outside().join("elsewhere");
    let machines = [two.a.at(two.a.root.clone()), two.b().with("COLONY_SHARED_ROOT", &elsewhere)];
    for (machine, file) in machines.iter().zip(["one.txt", "two.txt"]) {
        let made = machine.json(&["agents", "new", "ada"]);
        let ada = machine.at(made["path"].as_str().unwrap().into());
        ada.write(file, "work\n");
        ada.colony(&["commit", "-m", file, "--all"]);
        ada.colony(&["agents", "done", "-m", file]);
        let sent = |view: &View| {
            let report = view.json(&["sync", "--push"]);
            let mut refs = report["refs"].as_array().unwrap().iter();
            let board = "refs/colony/blackboard/colony.agents";
            refs.any(|found| found["name"] == board && found["result"] != "up_to_date")
        };
        // Directly after it, without a command in the checkout between them.
        assert!(sent(machine), "{file}");
    }
    for (machine, file) in machines.iter().zip(["one.txt", "two.txt"]) {
        machine.colony(&["sync"]);
        let fleet = machine.json(&["fleet"]);
        assert_eq!(fleet["agents"][0]["done"]["text"], file, "{fleet:#}");
    }
    // Each takes its own word back, also of a commit that both have.
    let ada = machines[1].json(&["agents", "path", "ada"])["path"].as_str().unwrap().to_owned();
    machines[1].at(ada.into()).colony(&["agents", "done", "--undo"]);
    machines.iter().rev().for_each(|machine| drop(machine.colony(&["sync"])));
    assert_eq!(machines[0].json(&["fleet"])["agents"][0]["done"]["text"], "one.txt");
    assert_eq!(machines[1].json(&["fleet"])["agents"][0].get("done"), None);
}

#[test]
fn each_clone_says_for_itself_that_it_is_done() {
    for (days, is_the_same) in [("7", true), ("0", false)] {
        let desk = Sandbox::new();
        desk.git(&["config", "colony.keepRemovedDays", days]);
        let ada = agent(&desk, "ada");
        commit(&ada, "ada.txt", "of ada\n");
        ada.colony(&["agents", "done"]);
        desk.colony(&["agents", "remove", "ada"]);
        desk.colony(&["agents", "restore", "ada"]);
        assert_eq!(row(&desk, "ada").get("done").is_some(), is_the_same);
        ada.colony(&["agents", "done"]);
        ada.colony(&["agents", "done", "--undo"]);
        assert_eq!(row(&desk, "ada").get("done"), None);
    }
}

#[test]
fn work_that_is_held_back_is_not_suggested() {
    let desk = Sandbox::new();
    let (ada, bob, cleo) = (agent(&desk, "ada"), agent(&desk, "bob"), agent(&desk, "cleo"));
    commit(&ada, "ada.txt", "of ada\n");
    commit(&cleo, "cleo.txt", "of cleo\n");
    bob.colony(&["merge", "ada"]);
    commit(&bob, "bob.txt", "of bob\n");
    assert_eq!(next(&desk).1, json!(["ada", "bob", "cleo"]));
    let held = desk.json(&["agents", "hold", "ada", "-m", "it deletes the tests"]);
    assert_eq!((&held["status"], &held["agent"]), (&json!("held"), &json!("ada")));
    // Who contains commits of hers is held back with her.
    assert_eq!(next(&desk), (json!("git colony merge cleo"), json!(["cleo"])));
    assert_eq!(row(&desk, "ada")["held"]["text"], "it deletes the tests");
    assert_eq!(row(&desk, "bob")["contains_held"], "ada");
    assert_eq!(row(&desk, "cleo").get("contains_held"), None);
    let shown = desk.colony(&["fleet"]);
    assert!(shown.contains("held: it deletes the tests"), "{shown}");
    assert!(shown.contains("held: has ada"), "{shown}");
    assert_eq!(keys(&ada, "agent_held:"), ["agent_held:ada"]);
    // That stays so if ada begins again elsewhere.
    ada.git(&["reset", "-q", "--soft", "HEAD~1"]);
    ada.git(&["commit", "-q", "--amend", "-m", "another commit"]);
    ada.git(&["commit", "-q", "--allow-empty", "-m", "more"]);
    assert_eq!(row(&desk, "bob")["contains_held"], "ada");
    // An agent cannot release it, by any way; a person can merge it all the same.
    for args in [["agents", "hold", "--release", "ada"].as_slice(), &["agents", "hold", "cleo"]] {
        let refused = ada.run(args);
        assert_eq!(refused.code, 128, "{}", refused.stderr);
        assert!(refused.stderr.contains("may not hold work back"), "{}", refused.stderr);
    }
    let refused = ada.run(&["blackboard", "delete", "colony.agents", "held:ada"]);
    assert_eq!(refused.code, 128, "{}", refused.stderr);
    desk.colony(&["merge", "cleo"]);
    assert_eq!(next(&desk).0, Value::Null);
    desk.colony(&["agents", "hold", "--release", "ada"]);
    assert_eq!(row(&desk, "bob").get("contains_held"), None);
    assert_eq!(keys(&ada, "agent_released:"), ["agent_released:ada"]);
    desk.colony(&["undo"]);
    assert_eq!(row(&desk, "ada")["held"]["text"], "it deletes the tests");
}

#[test]
fn what_a_branch_had_when_work_was_held_is_not_held() {
    let desk = Sandbox::new();
    desk.write("base.txt", "shared\n");
    desk.colony(&["commit", "-m", "shared", "--all"]);
    let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
    agent(&desk, "idle");
    commit(&ada, "ada.txt", "of ada\n");
    commit(&bob, "bob.txt", "of bob\n");
    let behind = desk.outside().join("behind");
    desk.git(&["clone", "-q", ".", behind.to_str().unwrap()]);
    for held in ["ada", "idle"] {
        desk.colony(&["agents", "hold", held]);
        assert_eq!(row(&desk, "bob").get("contains_held"), None, "{held}");
        desk.git(&["reset", "-q", "--keep", "HEAD~1"]);
        assert_eq!(row(&desk, "bob").get("contains_held"), None, "{held}, on an earlier commit");
        desk.git(&["reset", "-q", "--keep", "HEAD@{1}"]);
    }
    bob.colony(&["merge", "ada"]);
    desk.git(&["reset", "-q", "--keep", "HEAD~1"]);
    assert_eq!(row(&desk, "bob")["contains_held"], "ada");
}

#[test]
fn who_has_squashed_held_work_is_held_back_with_it() {
    let desk = Sandbox::new();
    let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
    commit(&ada, "ada.txt", "of ada\n");
    bob.colony(&["merge", "ada", "--squash"]);
    commit(&bob, "bob.txt", "of bob\n");
    desk.colony(&["agents", "hold", "ada"]);
    assert_eq!(row(&desk, "bob")["contains_held"], "ada");
    assert_eq!(next(&desk).0, Value::Null);
    let ops = desk.colony(&["ops"]);
    assert!(ops.contains("hold 'ada' back"), "{ops}");
}

#[test]
fn forks_are_held_back_like_agents_and_nothing_else_is() {
    let desk = Sandbox::new();
    desk.colony(&["fork", "idea"]);
    commit(&desk.at(desk.root.clone()), "idea.txt", "an idea\n");
    desk.git(&["switch", "-q", "main"]);
    desk.colony(&["agents", "hold", "idea"]);
    assert_eq!(next(&desk).0, Value::Null);
    for other in ["main", "HEAD", "nobody"] {
        let refused = desk.run(&["agents", "hold", other]);
        assert_eq!(refused.code, 128, "{other}: {}", refused.stdout);
    }
    desk.colony(&["agents", "hold", "--release", "fork/idea"]);
    assert_eq!(next(&desk).0, "git colony merge fork/idea");
}

#[test]
fn who_is_held_without_own_commits_keeps_nobody_back() {
    let desk = Sandbox::new();
    let eve = agent(&desk, "eve");
    desk.colony(&["agents", "hold", "eve", "-m", "later"]);
    desk.git(&["switch", "-qc", "side"]);
    desk.write("side.txt", "side\n");
    desk.colony(&["commit", "-m", "side", "--all"]);
    desk.git(&["tag", "v1"]);
    desk.git(&["switch", "-q", "main"]);
    for name in ["side", "v1"] {
        let landed = desk.json(&["land", "-n", name, "--no-test"]);
        assert_eq!(landed["left_out"], json!([]), "{landed:#}");
    }
    // Nor is a branch from before it was held, but one that has its commits is.
    commit(&eve, "eve.txt", "of eve\n");
    desk.colony(&["agents", "hold", "eve", "-m", "later"]);
    assert_eq!(desk.json(&["land", "-n", "side", "--no-test"])["left_out"], json!([]));
    desk.git(&["branch", "with", &eve.git(&["rev-parse", "HEAD"])]);
    let left = desk.json(&["land", "-n", "with", "--no-test"]);
    assert_eq!(left["left_out"][0]["with"], json!(["eve"]), "{left:#}");
}

#[test]
fn one_agent_is_shown_with_its_task_and_all_of_its_work() {
    let desk = Sandbox::new();
    let made = desk.json(&["agents", "new", "ada", "-m", "one way to parse"]);
    assert_eq!(made["task"], "one way to parse");
    let ada = desk.at(made["path"].as_str().unwrap().into());
    let bob = agent(&desk, "bob");
    commit(&ada, "shared.txt", "of ada\n");
    commit(&bob, "shared.txt", "of bob\n");
    ada.write("parser.txt", "one\n");
    ada.colony(&["decide", "--title", "One parser", "parser.txt"]);
    ada.write("loose.txt", "uncommitted\n");
    let shown = desk.json(&["agents", "show", "ada"]);
    assert_eq!((&shown["task"], &shown["row"]["commits"]), (&json!("one way to parse"), &json!(2)));
    assert_eq!(shown["commits"].as_array().unwrap().len(), 2);
    assert_eq!(shown["decisions"][0]["title"], "One parser");
    let files = shown["files"].as_array().unwrap().iter().map(|it| it["path"].as_str().unwrap());
    assert!(files.clone().any(|path| path == "shared.txt"), "{shown:#}");
    assert_eq!(shown["clashes"].as_array().unwrap().len(), 1, "{shown:#}");
    // The agent asks for itself.
    let own = ada.json(&["agents", "show"]);
    for field in ["agent", "task", "commits", "decisions", "files", "clashes"] {
        assert_eq!(own[field], shown[field], "{field}");
    }
    let text = desk.colony(&["agents", "show", "ada"]);
    for line in
        ["task: one way to parse", "clash: shared.txt: ada bob", "next: git colony diff ada@"]
    {
        assert!(text.contains(line), "{text}");
    }
    let nobody = desk.run(&["agents", "show", "nobody"]);
    assert_eq!(nobody.code, 128, "{}", nobody.stdout);
    assert_eq!(desk.run(&["agents", "show"]).code, 129);
}

#[test]
fn held_commits_stay_held_whatever_becomes_of_the_agent() {
    let desk = Sandbox::new();
    let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
    commit(&ada, "ada.txt", "of ada\n");
    bob.colony(&["merge", "ada"]);
    commit(&bob, "bob.txt", "of bob\n");
    // A copy of her fork here is hers.
    desk.git(&["branch", "fork/ada", "refs/colony-local/agents/ada/main/heads/fork/ada"]);
    assert_eq!(desk.json(&["agents", "hold", "fork/ada"])["agent"], "ada");
    desk.git(&["branch", "-D", "fork/ada"]);
    assert_eq!(row(&desk, "bob")["contains_held"], "ada");
    desk.colony(&["agents", "remove", "ada"]);
    assert_eq!(
        (&row(&desk, "bob")["contains_held"], &next(&desk).0),
        (&json!("ada"), &Value::Null)
    );
    desk.colony(&["agents", "restore", "ada", "--as", "eve"]);
    assert_eq!(row(&desk, "eve")["contains_held"], "ada");
    assert_eq!(next(&desk).0, Value::Null);
    // Another agent of that name has nothing to do with it.
    let ada = agent(&desk, "ada");
    commit(&ada, "other.txt", "of another ada\n");
    assert_eq!(row(&desk, "ada").get("held"), None);
    assert_eq!(next(&desk).0, "git colony merge ada");
}

#[test]
fn work_that_is_done_is_the_next_to_merge() {
    let desk = Sandbox::new();
    let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
    commit(&ada, "ada.txt", "of ada\n");
    commit(&bob, "bob.txt", "of bob\n");
    assert_eq!(desk.json(&["fleet"])["next"]["clean"], json!(["ada", "bob"]));
    bob.colony(&["agents", "done"]);
    let next = &desk.json(&["fleet"])["next"];
    assert_eq!(next["clean"], json!(["bob", "ada"]), "{next:#}");
    assert_eq!(next["command"], "git colony merge bob");
    let planned = desk.colony(&["agents", "remove", "bob", "-n"]);
    assert!(planned.contains("its folder would be kept for 7 days"), "{planned}");
}

#[test]
fn nobody_is_done_for_another() {
    let desk = Sandbox::new();
    let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
    commit(&ada, "ada.txt", "of ada\n");
    ada.colony(&["agents", "done", "-m", "of ada"]);
    for refused in [
        bob.run(&["--agent", "ada", "agents", "done"]),
        desk.run(&["--agent", "ada", "agents", "done"]),
    ] {
        assert_eq!(refused.code, 129, "{}", refused.stdout);
    }
    assert_eq!(row(&desk, "ada")["done"]["text"], "of ada");
}

#[test]
fn the_next_step_fits_a_line_however_many_agents_there_are() {
    let desk = Sandbox::new();
    for number in 1..=9 {
        let name = format!("worker-{number}");
        commit(&agent(&desk, &name), &format!("{name}.txt"), "work\n");
    }
    let shown = desk.colony(&["fleet"]);
    let next = shown.lines().find(|line| line.starts_with("next: ")).unwrap();
    assert!(next.len() <= 80, "{next}");
    assert!(next.contains("9 merge cleanly: worker-1") && next.ends_with(" more"), "{next}");
}

#[test]
fn who_is_done_lands_by_name_of_no_ref() {
    let desk = Sandbox::new();
    desk.git(&["switch", "-qc", "unfinished"]);
    desk.write("unfinished.txt", "not yet\n");
    desk.colony(&["commit", "-m", "unfinished", "--all"]);
    desk.git(&["switch", "-q", "main"]);
    let refs = ["tags/", "heads/", "remotes/", "", "tags/fork/", "remotes/*/HEAD"];
    for (at, place) in refs.iter().enumerate() {
        let name = format!("agent{at}");
        let clone = agent(&desk, &name);
        commit(&clone, &format!("{name}.txt"), "done\n");
        clone.colony(&["agents", "done"]);
        let other = match place.split_once('*') {
            Some((before, after)) => format!("refs/{before}{name}{after}"),
            None => format!("refs/{place}{name}"),
        };
        desk.git(&["update-ref", &other, "unfinished"]);
        let next = desk.json(&["fleet"])["next"]["command"].as_str().unwrap().to_owned();
        let previewed = desk.json(&["land", "-n", "--no-test"]);
        assert_eq!(previewed["landed"][0]["agent"], *name, "{other}: {previewed:#}");
        // The advice is typed as it stands.
        if next.starts_with("git colony merge ") {
            let words = desk.process("sh").args(["-c", &format!("printf '%s\\n' {next}")]).output();
            let words = String::from_utf8(words.unwrap().stdout).unwrap();
            let args: Vec<&str> = words.lines().skip(2).chain(["-n"]).collect();
            assert_eq!(desk.json(&args)["files_changed"], 1, "{other}: {next}");
        }
        let landed = desk.json(&["land", "--no-test"]);
        assert_eq!(landed["ok"], true, "{other}: {landed:#}");
        assert!(desk.path(&format!("{name}.txt")).exists(), "{other}");
        assert!(!desk.path("unfinished.txt").exists(), "{other}");
        desk.git(&["update-ref", "-d", &other]);
    }
}
