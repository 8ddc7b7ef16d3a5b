//! Programs that are started with new agents, and ended.
#![cfg(target_os = "linux")]

use std::fs;

use serde_json::{Value, json};

use crate::agents::new_and_merge::agent;
use crate::support::Sandbox;
use crate::support::waiting::{eventually, is_running};

fn pid(value: &Value) -> u32 {
    u32::try_from(value.as_u64().unwrap()).unwrap()
}

#[test]
fn a_program_starts_in_each_new_clone_and_is_ended() {
    let desk = Sandbox::new();
    let line = "echo \"$COLONY_AGENT: $COLONY_TASK\"; pwd > where.txt; exec sleep 60";
    let run = desk.run(&["--json", "agents", "new", "ada", "bob", "-m", "a task", "-x", line]);
    let answers = serde_json::Deserializer::from_str(&run.stdout).into_iter();
    let made: Vec<Value> = answers.map(Result::unwrap).collect();
    let ada = desk.at(made[0]["path"].as_str().unwrap().into());
    let (pid_of_ada, log) = (pid(&made[0]["started"]["pid"]), &made[0]["started"]["log"]);
    eventually("its output", || ada.path("where.txt").exists());
    assert_eq!(ada.read("where.txt").trim(), ada.root.to_str().unwrap());
    assert_eq!(fs::read_to_string(log.as_str().unwrap()).unwrap(), "ada: a task\n");
    let planned = desk.json(&["agents", "stop", "ada", "-n"]);
    assert_eq!((&planned["pid"], &planned["dry_run"]), (&json!(pid_of_ada), &json!(true)));
    assert!(is_running(pid_of_ada));
    // Its clone cannot be removed meanwhile.
    assert_eq!(desk.run(&["agents", "remove", "ada"]).code, 128);
    let stopped = desk.json(&["agents", "stop", "ada"]);
    assert_eq!((&stopped["pid"], &stopped["killed"]), (&json!(pid_of_ada), &json!(false)));
    eventually("its end", || !is_running(pid_of_ada));
    assert_eq!(desk.json(&["agents", "stop", "ada"])["pid"], Value::Null);
    let refused = ada.run(&["agents", "stop", "bob"]);
    assert!(refused.stderr.contains("only a person"), "{}", refused.stderr);
    desk.colony(&["agents", "stop", "bob"]);
    eventually("its end", || !is_running(pid(&made[1]["started"]["pid"])));
}

#[test]
fn a_record_that_names_another_process_ends_nothing() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    let mut other = desk.process("sleep").arg("60").spawn().unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", other.id())).unwrap();
    let started: u64 =
        stat.rsplit(')').next().unwrap().split(' ').nth(20).unwrap().parse().unwrap();
    let record = json!({ "pid": other.id(), "started": started }).to_string();
    fs::write(ada.path(".git/colony/started.json"), record).unwrap();
    assert_eq!(desk.json(&["agents", "stop", "ada"])["pid"], Value::Null);
    assert!(is_running(other.id()));
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn a_dry_run_and_an_agent_start_nothing() {
    let desk = Sandbox::new();
    let touch = format!("touch '{}'", desk.outside().join("ran").display());
    let planned = desk.json(&["agents", "new", "ada", "-n", "-x", &touch]);
    assert_eq!(planned.get("started"), None);
    let bob = agent(&desk, "bob");
    let refused = bob.run(&["agents", "new", "cleo", "-x", &touch]);
    assert!(refused.stderr.contains("only a person starts programs"), "{}", refused.stderr);
    assert!(!desk.outside().join("ran").exists());
    assert_eq!(desk.json(&["agents"])["count"], 1);
}
