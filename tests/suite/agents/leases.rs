//! Whose an agent's clone is: trees of real processes, held together by a session of the system.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::Value;

use crate::support::{Sandbox, program_path};

/// What the commands of a harness have in common.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Common {
    /// A session of the system, without a terminal.
    Leader,
    /// A terminal.
    Terminal,
    /// What `COLONY_SESSION` says: each command has a session of the system to itself.
    Session(&'static str),
    /// Nothing: each command has a session of the system to itself.
    Nothing,
}

/// A program that runs each command in a shell.
pub(crate) struct Harness {
    host: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    said: PathBuf,
}

impl Harness {
    pub(crate) fn start(desk: &Sandbox, name: &str) -> Harness {
        Harness::with(desk, name, Common::Leader)
    }

    pub(crate) fn with(desk: &Sandbox, name: &str, common: Common) -> Harness {
        // A process is called by the name of the file it was started from.
        let folder = desk.outside().join(name);
        fs::create_dir(&folder).unwrap();
        let program = folder.join(name);
        symlink("/bin/sh", &program).unwrap();
        let shell = match common {
            Common::Leader | Common::Terminal => "sh",
            Common::Session(_) | Common::Nothing => "setsid sh",
        };
        let run = format!(
            "while read -r line && [ \"$line\" != end ]; do {shell} -c \"$line\"; echo done; done"
        );
        let mut host = match common {
            Common::Leader => desk.process("setsid"),
            Common::Terminal => desk.process("script"),
            Common::Session(_) | Common::Nothing => desk.process(&program),
        };
        match common {
            Common::Leader => host.arg(&program).args(["-c", &run]),
            Common::Terminal => {
                let line = format!("exec '{}' -c '{run}'", program.display());
                host.args(["-qec", &line, "/dev/null"])
            }
            Common::Session(_) | Common::Nothing => host.args(["-c", &run]),
        };
        if let Common::Session(session) = common {
            host.env("COLONY_SESSION", session);
        }
        let mut host = host.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        Harness {
            input: host.stdin.take(),
            output: BufReader::new(host.stdout.take().unwrap()),
            said: folder.join("said"),
            host,
        }
    }

    /// Runs a command line of the shell; returns all that it said.
    pub(crate) fn shell(&mut self, line: &str) -> String {
        let said = self.said.display();
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{{ {line}; }} >'{said}' 2>'{said}.errors'").unwrap();
        let mut answer = String::new();
        // A terminal shows what is typed, too.
        while answer.trim_end() != "done" {
            answer.clear();
            assert_ne!(self.output.read_line(&mut answer).unwrap(), 0, "{line}");
        }
        fs::read_to_string(&self.said).unwrap()
    }

    pub(crate) fn narration(&self) -> String {
        fs::read_to_string(format!("{}.errors", self.said.display())).unwrap()
    }

    pub(crate) fn colony(&mut self, place: &Path, args: &str) -> Value {
        let program = program_path();
        let (place, program) = (place.display(), program.display());
        let said = self.shell(&format!("cd '{place}' && '{program}' --json {args}"));
        serde_json::from_str(&said).unwrap_or_else(|_| panic!("{args} {said}"))
    }

    /// Changes a file and keeps it; returns the answer.
    pub(crate) fn work(&mut self, clone: &Path, text: &str) -> Value {
        fs::write(clone.join("work.txt"), text).unwrap();
        self.colony(clone, "checkpoint -m work")
    }

    pub(crate) fn end(&mut self) {
        if let Some(mut input) = self.input.take() {
            writeln!(input, "end").unwrap();
        }
        self.host.wait().unwrap();
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        self.end();
    }
}

pub(crate) fn agent(desk: &Sandbox, name: &str) -> PathBuf {
    let made = desk.json(&["agents", "new", name]);
    PathBuf::from(made["path"].as_str().unwrap_or_else(|| panic!("{made:#}")))
}

pub(crate) fn lease_of(clone: &Path) -> Value {
    let bytes = fs::read(clone.join(".git/colony/lease.json")).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

pub(crate) fn change_lease(clone: &Path, key: &str, value: Value) {
    let mut lease = lease_of(clone);
    lease["holder"][key] = value;
    write_lease(clone, &lease);
}

fn write_lease(clone: &Path, lease: &Value) {
    let json = serde_json::to_vec(lease).unwrap();
    fs::write(clone.join(".git/colony/lease.json"), json).unwrap();
}

#[test]
fn a_second_harness_is_told_who_works_in_a_clone() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    let mut first = Harness::start(&desk, "first");
    let mut second = Harness::start(&desk, "second");
    // Each command comes from another shell and is of the same harness.
    for text in ["one\n", "two\n"] {
        let kept = first.work(&clone, text);
        assert_eq!(kept["ok"], true, "{kept:#}");
    }
    let refused = second.work(&clone, "three\n");
    assert_eq!(refused["code"], "agent-busy", "{refused:#}");
    assert_eq!(refused["detail"]["held_by"]["command"], "first");
    let holder = lease_of(&clone)["holder"].clone();
    assert_eq!(refused["detail"]["held_by"]["pid"], holder["pid"]);
    assert_eq!(refused["detail"]["held_by"]["since"], holder["since"]);
    let hint = refused["hint"].as_str().unwrap();
    assert!(hint.starts_with("git colony agents path ada --takeover "));
    let said = refused["message"].as_str().unwrap();
    let words = format!("agent 'ada' is in use by 'first' (process {}), begun just", holder["pid"]);
    assert!(said.starts_with(&words), "{said}");
    assert!(said.ends_with(" just now; nothing has changed"), "{said}");
    // What only looks, and what happens by itself, passes.
    assert_eq!(second.colony(&clone, "status")["ok"], true);
    let kept = second.colony(&clone, "checkpoint --auto");
    assert_eq!(kept["changed"], true, "{kept:#}");
    let git = "git -c user.name=a -c user.email=a@b";
    let place = clone.display();
    second.shell(&format!("cd '{place}' && {git} commit -qam plain"));
    let last = second.shell(&format!("git -C '{place}' log -1 --format=%s"));
    assert_eq!(last, "plain\n");
    assert_eq!(lease_of(&clone)["holder"]["pid"], holder["pid"]);
    for report in [desk.json(&["agents"]), desk.json(&["fleet"])] {
        let held = &report["agents"][0]["held_by"];
        assert_eq!(held["command"], "first", "{report:#}");
    }
    assert!(desk.colony(&["fleet"]).contains(" 'first' "), "the program alone");
    assert!(desk.colony(&["agents"]).contains("held by 'first' (process "), "and its process");
}

#[test]
fn a_takeover_is_written_down_and_turns_the_lease_round() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    let mut first = Harness::start(&desk, "first");
    let mut second = Harness::start(&desk, "second");
    assert_eq!(first.work(&clone, "one\n")["ok"], true);
    let said = second.colony(&desk.root, "agents path ada --takeover --dry-run");
    assert_eq!(said["taken_from"]["command"], "first", "{said:#}");
    assert_eq!(lease_of(&clone)["holder"]["command"], "first");
    let said = second.colony(&desk.root, "agents path ada --takeover");
    assert_eq!(said["taken_from"]["command"], "first", "{said:#}");
    assert_eq!(said["held_by"]["command"], "second");
    assert_eq!(second.work(&clone, "two\n")["ok"], true);
    assert_eq!(first.work(&clone, "three\n")["code"], "agent-busy");
    let takeovers = lease_of(&clone)["takeovers"].clone();
    assert_eq!(takeovers[0]["from"]["command"], "first", "{takeovers:#}");
    assert_eq!(takeovers[0]["by"]["command"], "second");
    let row = desk.json(&["agents"])["agents"][0].clone();
    assert_eq!(row["takeovers"], takeovers, "{row:#}");
    let said = desk.colony(&["agents"]);
    assert!(said.contains("taken from 'first' (process "), "{said}");
    // Who has it already takes it from nobody.
    let said = second.colony(&desk.root, "agents path ada --takeover");
    assert_eq!(said["taken_from"], Value::Null);
    for _ in 0..11 {
        first.colony(&desk.root, "agents path ada --takeover");
        second.colony(&desk.root, "agents path ada --takeover");
    }
    let takeovers = lease_of(&clone)["takeovers"].clone();
    assert_eq!(takeovers.as_array().unwrap().len(), 20);
}

#[test]
fn a_holder_that_has_ended_gives_way_in_silence() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    let mut first = Harness::start(&desk, "first");
    let mut second = Harness::start(&desk, "second");
    assert_eq!(first.work(&clone, "one\n")["ok"], true);
    first.end();
    assert_eq!(desk.json(&["agents"])["agents"][0]["held_by"], Value::Null);
    assert_eq!(second.work(&clone, "two\n")["ok"], true);
    assert_eq!(second.narration(), "");
    let lease = lease_of(&clone);
    assert_eq!(lease["holder"]["command"], "second");
    assert_eq!(lease["takeovers"], Value::Array(Vec::new()));
}

#[test]
fn an_agent_that_was_killed_does_not_look_alive() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    let state = || desk.json(&["fleet"])["agents"][0]["state"].clone();
    // Programs run hooks in their own session, in one for each hook, and in a terminal.
    let hooks = [
        (r#"{"hook_event_name":"PreToolUse","tool_name":"Bash"}"#, "working"),
        (r#"{"hook_event_name":"Notification","notification_type":"permission_prompt"}"#, "asks"),
        (r#"{"hook_event_name":"PreToolUse","session_id":"s-1"}"#, "working"),
    ];
    let commons = [Common::Leader, Common::Terminal, Common::Nothing, Common::Session("s-1")];
    for (at, common) in commons.into_iter().enumerate() {
        let mut program = Harness::with(&desk, &format!("program{at}"), common);
        for (event, told) in hooks {
            let (place, colony) = (clone.display(), program_path().display());
            program.shell(&format!("cd '{place}' && echo '{event}' | '{colony}' hook claude-code"));
            assert_eq!(state(), told, "{at} {event}");
        }
        // A command of the session, in a system session of its own, is the program's, too.
        assert_eq!(program.work(&clone, &format!("{at}\n"))["ok"], true);
        assert_eq!(state(), "working", "{at}");
        program.end();
        assert_eq!(state(), "ended", "{at}");
        assert_eq!(desk.json(&["agents"])["agents"][0]["held_by"], Value::Null, "{at}");
    }
    assert!(desk.colony(&["fleet"]).contains(" ended "), "the row says so");
}

/// What runs one hook only may be a wrapper, or a program that the agent has started.
#[test]
fn what_a_program_starts_takes_no_lease_away() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    let mut first = Harness::start(&desk, "first");
    let event = r#"{"hook_event_name":"PreToolUse","tool_name":"Bash"}"#;
    let (place, colony) = (clone.display(), program_path().display());
    let wrapper = desk.outside().join("wrapper");
    symlink("/bin/sh", &wrapper).unwrap();
    let wrapped = format!(
        "cd '{place}' && echo '{event}' | '{}' -c \"'{colony}' hook claude-code; true\"",
        wrapper.display()
    );
    let state = || desk.json(&["fleet"])["agents"][0]["state"].clone();
    let mut second = Harness::start(&desk, "second");
    for _ in 0..3 {
        first.shell(&wrapped);
        assert_eq!(state(), "working");
        assert_eq!(second.work(&clone, "two\n")["code"], "agent-busy");
    }
    // Its own hooks, and below it those of another program that ends.
    for _ in 0..2 {
        first.shell(&format!("cd '{place}' && echo '{event}' | '{colony}' hook claude-code"));
    }
    first.shell(&wrapped);
    first.shell(&wrapped);
    assert_eq!(state(), "working");
    assert_eq!(second.work(&clone, "two\n")["code"], "agent-busy");
    first.end();
    assert_eq!(state(), "ended");
    // Of a program in another system nothing is known.
    change_lease(&clone, "system", Value::from("another one"));
    assert_eq!(state(), "working");
}

#[test]
fn the_number_of_a_process_alone_names_nobody() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    let mut first = Harness::start(&desk, "first");
    let mut second = Harness::start(&desk, "second");
    for (key, value) in [("started", Value::from(1)), ("system", Value::from("another one"))] {
        assert_eq!(first.work(&clone, key)["ok"], true);
        assert_eq!(second.work(&clone, "meanwhile\n")["code"], "agent-busy");
        change_lease(&clone, key, value);
        assert_eq!(second.work(&clone, key)["ok"], true);
        change_lease(&clone, "started", Value::from(1));
    }
    // A record that cannot be read, or is not ours to read, stops nobody either.
    for record in ["", "{\"format\": 2, \"holder\": 7}", "[]"] {
        fs::write(clone.join(".git/colony/lease.json"), record).unwrap();
        assert_eq!(first.work(&clone, record)["ok"], true, "{record}");
    }
}

#[test]
fn a_holder_that_was_not_heard_of_gives_way_and_that_is_said() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    let mut first = Harness::start(&desk, "first");
    let mut second = Harness::start(&desk, "second");
    assert_eq!(first.work(&clone, "one\n")["ok"], true);
    change_lease(&clone, "renewed_at", Value::from("2026-01-02T03:04:05Z"));
    // Its own command renews it.
    assert_eq!(first.work(&clone, "two\n")["ok"], true);
    assert_eq!(second.work(&clone, "three\n")["code"], "agent-busy");
    change_lease(&clone, "renewed_at", Value::from("2026-01-02T03:04:05Z"));
    assert_eq!(second.work(&clone, "four\n")["ok"], true);
    let said = second.narration();
    assert!(said.contains("took over the clone of agent 'ada' from 'first' (process "));
    let takeovers = lease_of(&clone)["takeovers"].clone();
    assert_eq!(takeovers[0]["by"]["command"], "second", "{takeovers:#}");
    assert_eq!(first.work(&clone, "five\n")["code"], "agent-busy");
}

#[test]
fn a_harness_works_in_several_clones_and_another_beside_it() {
    let desk = Sandbox::new();
    let clones = ["ada", "bob", "eve"].map(|name| agent(&desk, name));
    let mut first = Harness::start(&desk, "first");
    let mut second = Harness::start(&desk, "second");
    for clone in &clones[..2] {
        assert_eq!(first.work(clone, "one\n")["ok"], true);
    }
    assert_eq!(second.work(&clones[2], "one\n")["ok"], true);
    // Making and merging agents is no work in their clones.
    assert_eq!(second.colony(&desk.root, "merge ada")["ok"], true);
    assert_eq!(second.colony(&desk.root, "agents new dan")["ok"], true);
}

#[test]
fn a_clone_that_somebody_works_in_is_taken_over_first() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    let mut first = Harness::start(&desk, "first");
    let mut second = Harness::start(&desk, "second");
    assert_eq!(first.work(&clone, "one\n")["ok"], true);
    for args in ["agents remove ada", "agents remove ada -n", "clones remove ada"] {
        let refused = second.colony(&desk.root, args);
        assert_eq!(refused["code"], "agent-busy", "{args} {refused:#}");
        assert_eq!(refused["detail"]["held_by"]["command"], "first");
        let hint = refused["hint"].as_str().unwrap();
        assert!(hint.starts_with("git colony agents path ada --takeover "), "{hint}");
    }
    assert_eq!(desk.error(&["agents", "remove", "ada", "--force"]), "agent-busy");
    second.colony(&desk.root, "agents path ada --takeover");
    let removed = second.colony(&desk.root, "agents remove ada");
    assert_eq!(removed["ok"], true, "{removed:#}");
    // Whoever works there may.
    let clone = agent(&desk, "bob");
    assert_eq!(first.work(&clone, "one\n")["ok"], true);
    assert_eq!(first.colony(&desk.root, "agents remove bob")["ok"], true);
}
