//! A day: programs are started with new agents, their work is tried, landed, taken out and landed again.
#![cfg(target_os = "linux")]

use std::fs;

use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::waiting::eventually;

use super::landing::desk;

/// What the program of an agent does, by the name of the agent.
const PROGRAM: &str = "set -e
case $COLONY_AGENT in
  bad*) echo BAD > $COLONY_AGENT.txt;;
  clash*) echo of $COLONY_AGENT > a.txt;;
  one) echo ONE > one.txt;;
  two) echo TWO > two.txt;;
  *) echo good > $COLONY_AGENT.txt;;
esac
git add -A && git commit -qm \"$COLONY_TASK\"
git colony agents done -m \"$COLONY_TASK\"
";

const AGENTS: [&str; 9] = ["ada", "bad1", "bad2", "bob", "clash1", "clash2", "cleo", "one", "two"];

/// Makes a checkout with nine agents whose programs have ended.
fn begun() -> Sandbox {
    let desk = desk();
    let program = desk.outside().join("program.sh");
    fs::write(&program, PROGRAM).unwrap();
    let line = format!("sh '{}'", program.display());
    let person = desk.with_program();
    let args = [&["agents", "new"], AGENTS.as_slice(), &["-m", "a task", "-x", &line]].concat();
    let run = person.run(&args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    eventually("that all are done", || {
        let fleet = desk.json(&["fleet"]);
        let rows = fleet["agents"].as_array().unwrap().iter();
        rows.filter(|row| row.get("done").is_some()).count() == AGENTS.len()
    });
    desk
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect()
}

/// Lands and returns who did, after a look that the tests pass on the branch and one operation was added.
fn lands(desk: &Sandbox, args: &[&str]) -> (Value, usize) {
    let before = desk.json(&["ops"])["ops"].as_array().unwrap().len();
    let run = desk.run(&[&["--json", "land"], args].concat());
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let after = desk.json(&["ops"])["ops"].as_array().unwrap().len();
    assert!(desk.process("sh").arg("check.sh").status().unwrap().success(), "{report:#}");
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    (report, after - before)
}

#[test]
fn programs_begin_and_their_work_lands_goes_and_lands_again() {
    let desk = begun();
    let tried = desk.run(&["--json", "try"]);
    let tried: Value = serde_json::from_str(&tried.stdout).unwrap();
    assert_eq!(tried["breaks"]["names"], json!(["bad1"]), "{tried:#}");
    let (report, added) = lands(&desk, &[]);
    assert_eq!(names(&report["landed"]), ["ada", "bob", "cleo", "one", "clash1"], "{report:#}");
    let mut left = names(&report["left_out"]);
    left.sort_unstable();
    assert_eq!((left, added), (vec!["bad1", "bad2", "clash2", "two"], 1));
    desk.colony(&["undo"]);
    let (report, _) = lands(&desk, &["--except", "ada"]);
    assert_eq!(names(&report["landed"]), ["bob", "cleo", "one", "clash1"], "{report:#}");
    desk.colony(&["revert", "bob"]);
    assert!(!desk.path("bob.txt").exists());
    let mended = desk.at(desk.colony(&["agents", "path", "bad1"]).trim().into());
    fs::write(mended.path("bad1.txt"), "good\n").unwrap();
    mended.colony(&["commit", "-m", "mended", "--all"]);
    mended.colony(&["agents", "done"]);
    let (report, added) = lands(&desk, &[]);
    assert_eq!((names(&report["landed"]), added), (vec!["ada", "bad1"], 1), "{report:#}");
    let (report, added) = lands(&desk, &["bob", "ada"]);
    assert_eq!((names(&report["landed"]), added), (vec!["bob"], 1));
    assert_eq!(report["up_to_date"], json!(["ada"]));
    desk.colony(&["agents", "remove", "--merged"]);
    let rows = desk.json(&["fleet"])["agents"].clone();
    let rows: Vec<_> = rows.as_array().unwrap().iter().map(|row| row["agent"].clone()).collect();
    assert_eq!(rows, ["bad2", "clash2", "two"]);
    desk.git(&["fsck", "--strict", "--no-dangling"]);
}
