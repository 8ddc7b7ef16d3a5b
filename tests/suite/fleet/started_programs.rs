//! Programs that are started with new agents, and ended.
#![cfg(target_os = "linux")]

use std::fs;

use serde_json::{Value, json};

use crate::agents::new_and_merge::agent;
use crate::support::waiting::{eventually, is_running};
use crate::support::{Sandbox, View, write_program};

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
    assert!(refused.stderr.contains("may not start programs"), "{}", refused.stderr);
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
    assert!(refused.stderr.contains("may not start programs"), "{}", refused.stderr);
    assert!(!desk.outside().join("ran").exists());
    assert_eq!(desk.json(&["agents"])["count"], 1);
}

/// Puts programs of these names first on the search path, which write down their arguments and what `opencode` reads.
fn with_programs(desk: &Sandbox, names: &[&str]) -> View {
    let script = "#!/bin/sh\nprintf '%s\\0' \"$@\" \"$OPENCODE_CONFIG_CONTENT\" > args.new\nmv args.new args\n";
    let folder = desk.outside().join("programs");
    for name in names {
        write_program(&folder.join(name), script);
    }
    desk.with_path(folder)
}

/// Starts a line with an agent of a name; returns what its program has written down.
fn arguments(desk: &View, name: &str, line: &str) -> Vec<String> {
    let made = desk.json(&["agents", "new", name, "--detach", "-x", line]);
    let clone = desk.at(made["path"].as_str().unwrap().into());
    eventually("its arguments", || clone.path("args").exists());
    let text = clone.read("args");
    clone.remove("args");
    assert_eq!(clone.git(&["status", "--porcelain"]), "", "no file is its work");
    text.trim_end_matches('\0').split('\0').map(str::to_owned).collect()
}

#[test]
fn programs_that_take_options_get_our_hooks_and_tools() {
    let sandbox = Sandbox::new();
    let desk = with_programs(&sandbox, &["claude", "codex", "copilot", "opencode", "other"]);
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let claude = arguments(&desk, "ada", "claude -p \"two  words; 'x'\"");
    let settings = parsed(claude[0].strip_prefix("--settings=").unwrap());
    assert!(settings["hooks"]["Notification"].is_array(), "{settings:#}");
    let servers = parsed(claude[1].strip_prefix("--mcp-config=").unwrap());
    assert_eq!(servers["mcpServers"]["git-colony"]["args"], json!(["mcp"]));
    assert_eq!(claude[2..], ["-p", "two  words; 'x'"]);
    let codex = arguments(&desk, "bob", "cd . && codex exec go");
    let values = codex.iter().filter(|word| word.contains('='));
    let keys: Vec<_> = values.map(|value| value.split('=').next().unwrap()).collect();
    let wanted = ["mcp_servers.git-colony.command", "mcp_servers.git-colony.args"];
    assert_eq!(keys, [&wanted[..], &["hooks.PreToolUse", "hooks.Stop"]].concat(), "{codex:?}");
    assert_eq!(codex[codex.len() - 2..], ["exec", "go"]);
    let copilot = arguments(&desk, "cyd", "copilot -p go");
    assert!(copilot[0].starts_with("--additional-mcp-config={"), "{copilot:?}");
    let opencode = arguments(&desk, "dan", "opencode run go");
    assert_eq!(opencode[..2], ["run", "go"]);
    assert_eq!(parsed(&opencode[2])["mcp"]["git-colony"]["type"], "local");
    let own = desk.with("OPENCODE_CONFIG_CONTENT", "{\"mine\":1}");
    assert_eq!(arguments(&own, "eve", "opencode")[0], "{\"mine\":1}");
    assert_eq!(arguments(&desk, "fay", "other a b"), ["a", "b"]);
    let missing = sandbox.json(&["agents", "new", "gil", "-x", "command -v claude || echo none"]);
    let log = missing["started"]["log"].as_str().unwrap();
    eventually("its output", || fs::read_to_string(log).is_ok_and(|text| text == "none\n"));
}

#[test]
fn the_log_of_a_program_stays_small() {
    let desk = Sandbox::new();
    // Who empties the log, as rotation does, does not end the program.
    let line = ": > .git/colony/run.log; awk 'BEGIN { for (i = 0; i < 100000; i++) print \"line \" i \" of many that a program prints\" }'; \
                exec sleep 60";
    let made = desk.json(&["agents", "new", "ada", "-x", line]);
    let log = made["started"]["log"].as_str().unwrap();
    let read = || fs::read_to_string(log).unwrap();
    eventually("its last line", || read().ends_with("line 99999 of many that a program prints\n"));
    let text = read();
    assert!((200 << 10..=1 << 20).contains(&text.len()), "{}", text.len());
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("line ") && first.ends_with(" prints"), "{first}");
    desk.colony(&["agents", "stop", "ada"]);
    eventually("the end of its writer", || {
        let mut all = fs::read_dir("/proc").unwrap().flatten();
        let mut lines = all.by_ref().filter_map(|it| fs::read(it.path().join("cmdline")).ok());
        !lines.any(|line| String::from_utf8_lossy(&line).contains(log))
    });
}
