//! Who holds the clone of an agent: a session that is named, a terminal, a session of the system, nobody; and
//! who counts as the agent after that.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Sandbox, eventually, program_path};

use super::leases::{Common, Harness, agent, change_lease, lease_of};

#[test]
fn two_terminals_are_two_holders() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    let mut first = Harness::with(&desk, "first", Common::Terminal);
    let mut second = Harness::with(&desk, "second", Common::Terminal);
    for text in ["one\n", "two\n"] {
        let kept = first.work(&clone, text);
        assert_eq!(kept["ok"], true, "{kept:#}");
    }
    let refused = second.work(&clone, "three\n");
    assert_eq!(refused["code"], "agent-busy", "{refused:#}");
    let held = &refused["detail"]["held_by"];
    let terminal = held["terminal"].as_str().unwrap();
    assert!(terminal.starts_with("pts/"), "{held:#}");
    assert_eq!((&held["session"], &held["command"]), (&Value::Null, &json!("first")));
    let said = desk.colony(&["fleet"]);
    assert!(said.contains(" 'first' "), "{said}");
    // What begins a session of its own in a terminal is still of that one.
    let program = program_path().display();
    let away = |text: &str| {
        fs::write(clone.join("work.txt"), text).unwrap();
        format!("cd '{}' && setsid '{program}' --json checkpoint -m away", clone.display())
    };
    let said = second.shell(&away("four\n"));
    assert!(said.contains("agent-busy"), "{said}");
    let said = first.shell(&away("five\n"));
    assert!(said.contains("\"ok\":true"), "{said}");
    assert_eq!(lease_of(&clone)["holder"]["command"], "first");
    first.end();
    assert_eq!(second.work(&clone, "six\n")["ok"], true);
    assert_eq!(second.narration(), "");
    assert_eq!(lease_of(&clone)["holder"]["command"], "second");
}

#[test]
fn two_sessions_of_a_harness_are_two_holders() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    let mut first = Harness::with(&desk, "first", Common::Session("s-1"));
    let mut second = Harness::with(&desk, "second", Common::Session("s-2"));
    for text in ["one\n", "two\n"] {
        let kept = first.work(&clone, text);
        assert_eq!(kept["ok"], true, "{kept:#}");
    }
    let refused = second.work(&clone, "three\n");
    assert_eq!(refused["code"], "agent-busy", "{refused:#}");
    assert_eq!(refused["detail"]["held_by"]["session"], "s-1");
    assert!(desk.colony(&["agents"]).contains("held by session s-1"));
    // It is one session wherever it runs, also in another system.
    change_lease(&clone, "system", json!("another one"));
    assert_eq!(second.work(&clone, "four\n")["code"], "agent-busy");
    assert_eq!(first.work(&clone, "five\n")["ok"], true);
    // It tells when it has ended; that another one has is nothing to it.
    first.end();
    hook(&mut second, &clone, ("SessionEnd", "s-2"));
    assert_eq!(second.work(&clone, "six\n")["code"], "agent-busy");
    hook(&mut second, &clone, ("SessionEnd", "s-1"));
    assert_eq!(desk.json(&["agents"])["agents"][0]["held_by"], Value::Null);
    assert_eq!(second.work(&clone, "seven\n")["ok"], true);
    assert_eq!(second.narration(), "");
    // One that does not tell is gone after a while, with what it was heard of from.
    change_lease(&clone, "renewed_at", json!("2025-01-02T03:04:05Z"));
    change_lease(&clone, "started", json!(1));
    assert_eq!(desk.json(&["agents"])["agents"][0]["held_by"], Value::Null);
    let mut third = Harness::with(&desk, "third", Common::Session("s-3"));
    assert_eq!(third.work(&clone, "eight\n")["ok"], true);
    assert_eq!(third.narration(), "");
}

/// Has an agent tell of an event, and of the session it is in.
fn hook(harness: &mut Harness, clone: &Path, (event, session): (&str, &str)) {
    let program = program_path().display();
    let payload = json!({
        "hook_event_name": event, "session_id": session, "cwd": clone, "tool_name": "Read",
    });
    let said = harness.shell(&format!("printf %s '{payload}' | '{program}' hook claude-code"));
    assert_eq!(said, "{}\n");
}

#[test]
fn the_hook_of_a_sessions_start_hands_its_id_to_the_commands() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    let mut harness = Harness::with(&desk, "harness", Common::Nothing);
    let file = desk.outside().join("env file.sh");
    fs::write(&file, "export OTHER=1").unwrap();
    harness.shell(":");
    let program = program_path().display();
    let mut start = |session: &str, file: &Path| {
        let payload = json!({ "hook_event_name": "SessionStart", "session_id": session });
        let file = file.display();
        harness.shell(&format!(
            "printf %s '{payload}' | CLAUDE_ENV_FILE='{file}' '{program}' hook claude-code"
        ))
    };
    // The one of an id that a shell could take for more is not handed on.
    for session in ["s-1", "s-1", "$(touch ran)"] {
        assert_eq!(start(session, &file), "{}\n");
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(text, "export OTHER=1\nexport COLONY_SESSION=s-1\n", "{session}");
    }
    start("s-2", &file);
    start("s-1", &file);
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().next_back(), Some("export COLONY_SESSION=s-1"));
    assert_eq!(text.lines().count(), 4, "{text}");
    // Nothing is written by way of a link, and what is no file is not waited for.
    let (link, pipe) = (desk.outside().join("link"), desk.outside().join("pipe"));
    symlink(desk.outside().join("elsewhere"), &link).unwrap();
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for odd in [&link, &pipe, &desk.outside()] {
        assert_eq!(start("s-1", odd), "{}\n");
    }
    assert!(!desk.outside().join("elsewhere").exists());
    fs::write(clone.join("work.txt"), "one\n").unwrap();
    let (file, place) = (file.display(), clone.display());
    harness.shell(&format!(". '{file}' && cd '{place}' && '{program}' checkpoint -m work"));
    assert_eq!(lease_of(&clone)["holder"]["session"], "s-1");
}

#[test]
fn a_hook_renews_the_lease_of_the_session_it_tells_of() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    let mut session = Harness::with(&desk, "session", Common::Session("s-1"));
    let mut hooks = Harness::with(&desk, "hooks", Common::Nothing);
    // As long as no command has named the session, it is not known to reach any.
    hook(&mut hooks, &clone, ("PreToolUse", "s-1"));
    assert_eq!(lease_of(&clone)["holder"]["session"], Value::Null);
    let kept = session.work(&clone, "one\n");
    assert_eq!(kept["ok"], true, "{kept:#} {:#}", lease_of(&clone));
    // Seen from another system, nothing but the id says that it is the same.
    let before = chrono::Utc::now() - chrono::Duration::minutes(10);
    let before = json!(before.to_rfc3339());
    change_lease(&clone, "renewed_at", before.clone());
    change_lease(&clone, "system", json!("another one"));
    hook(&mut hooks, &clone, ("PreToolUse", "s-2"));
    assert_eq!(lease_of(&clone)["holder"]["renewed_at"], before);
    hook(&mut hooks, &clone, ("PreToolUse", "s-1"));
    assert_ne!(lease_of(&clone)["holder"]["renewed_at"], before);
    assert_eq!(lease_of(&clone)["holder"]["session"], "s-1");
}

#[test]
fn commands_with_nothing_in_common_hold_nothing_for_each_other() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    let mut first = Harness::with(&desk, "first", Common::Nothing);
    let mut second = Harness::with(&desk, "second", Common::Nothing);
    for text in ["one\n", "two\n"] {
        assert_eq!(first.work(&clone, text)["ok"], true);
        assert_eq!(desk.json(&["agents"])["agents"][0]["held_by"], Value::Null);
        assert_eq!(second.work(&clone, &text.repeat(2))["ok"], true);
        assert_eq!(second.narration(), "");
    }
}

/// Runs a script below an ordinary program that is the first process of a system of its own, where this
/// machine lets us have one; returns what it said.
fn in_container(desk: &Sandbox, script: &str) -> Option<String> {
    let server = desk.outside().join("server");
    symlink("/bin/sh", &server).unwrap();
    let namespaces = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"];
    let mut unshare = desk.process("unshare");
    unshare.args(namespaces);
    let can = unshare.arg("true").output().ok()?.status.success();
    let mut unshare = desk.process("unshare");
    unshare.args(namespaces);
    unshare.arg("setsid").arg(&server).args(["-c", script]).arg(program_path());
    let output = can.then(|| unshare.output().unwrap())?;
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_first_process_of_a_container_holds_nothing() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    let place = clone.display();
    let script = format!(
        "colony=$0; cd '{place}'; echo $$ $(ps -o comm= -p 1); echo 1 >f; \"$colony\" checkpoint -qm one; \
         ls .git/colony/lease.json 2>/dev/null; \"$colony\" fleet; \
         setsid sh -c 'echo 2 >f; \"$0\" checkpoint -qm two; \"$0\" fleet; :' \"$colony\"; \"$colony\" fleet"
    );
    let Some(said) = in_container(&desk, &script) else {
        return;
    };
    assert!(said.starts_with("1 server\n"), "{said}");
    assert!(!said.contains("lease.json") && !said.contains("'server'"), "{said}");
    // A session of the system that was begun below it holds the clone, until it ends.
    let held = said.lines().filter(|line| line.contains(" now 'sh' "));
    assert_eq!(held.count(), 1, "{said}");
    assert_ne!(lease_of(&clone)["holder"]["pid"], json!(1));
}

#[test]
fn a_person_who_worked_in_a_clone_is_not_an_agent_elsewhere() {
    let desk = Sandbox::new();
    desk.write(".colony/agents/ada.md", "---\nscope: ['src/**']\n---\n");
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "rules"]);
    let clone = agent(&desk, "ada");
    let mut script = Harness::start(&desk, "script");
    assert_eq!(script.work(&clone, "outside of its scope\n")["ok"], true);
    let refused = script.colony(&desk.root, "merge ada");
    assert_eq!(refused["code"], "scope-violation", "{refused:#}");
    assert!(refused["hint"].as_str().unwrap().contains("run it again with --force"));
    let merged = script.colony(&desk.root, "merge ada --force");
    assert_eq!(merged["ok"], true, "{merged:#}");
}

#[test]
fn commands_for_people_are_refused_to_the_session_of_an_agent() {
    let desk = Sandbox::new();
    desk.write(".colony/agents/ada.md", "---\nscope: ['src/**']\n---\n");
    desk.write(".colony/colony.toml", "[clone]\nrun = ['touch ran']\n");
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "rules"]);
    let made = desk.json(&["agents", "new", "ada"]);
    let clone = PathBuf::from(made["path"].as_str().unwrap());
    let approve =
        format!("clones setup ada --approve {}", made["commands"][0]["id"].as_str().unwrap());
    let mut harness = Harness::with(&desk, "harness", Common::Session("s-1"));
    let mut person = Harness::start(&desk, "person");
    let before = desk.visible_state();
    // From a shell that stands in the clone, sent to the desk by it, by '-C', by a link.
    let here = desk.root.clone();
    let program = program_path();
    let sent = |args: &str| {
        format!(
            "cd '{}' && sh -c \"cd '{}' && '{}' --json {args}\"",
            clone.display(),
            here.display(),
            program.display()
        )
    };
    let said = person.shell(&sent(&approve));
    assert!(said.contains("approval-refused"), "{said}");
    let there = format!("-C '{}' ", here.display());
    let said = person.colony(&clone, &format!("{there} {approve}"));
    assert_eq!(said["code"], "approval-refused");
    let said = person.colony(&clone.join(".git"), &format!("{there} {approve}"));
    assert_eq!(said["code"], "approval-refused");
    let reason = said["detail"]["because"].as_str().unwrap();
    assert!(reason.starts_with(&format!("'{}", clone.display())), "{said:#}");
    // From nowhere near it, by the session that the clone belongs to.
    assert_eq!(harness.work(&clone, "outside of its scope\n")["ok"], true);
    let said = harness.colony(&here, &approve);
    assert_eq!(said["code"], "approval-refused", "{said:#}");
    let reason = "COLONY_SESSION is 's-1', and that session works in its clone";
    assert_eq!(said["detail"]["because"], reason);
    let message = "agent 'ada' may not approve commands: its session runs this";
    assert!(said["message"].as_str().unwrap().starts_with(message), "{said:#}");
    for args in ["merge ada --force", "cherry-pick ada --force"] {
        let said = harness.colony(&here, args);
        assert_eq!(said["code"], "scope-violation", "{said:#}");
        let hint = said["hint"].as_str().unwrap();
        assert_eq!(hint, "--force is for people, not 'ada': its session runs this", "{args}");
        assert_eq!(said["detail"]["acting"], json!({ "agent": "ada", "because": reason }));
        // Without it, it is not advised either.
        let said = harness.colony(&here, args.trim_end_matches(" --force"));
        assert!(!said["hint"].as_str().unwrap().contains("--force"), "{said:#}");
    }
    assert!(!clone.join("ran").exists());
    assert_eq!(desk.visible_state(), before);
    // Somebody else is the person that they wait for.
    assert_eq!(person.colony(&here, &approve)["ok"], true);
    assert!(clone.join("ran").exists());
    assert_eq!(person.colony(&here, "merge ada --force")["ok"], true);
}

#[test]
fn a_command_that_an_agent_sends_away_is_not_the_users() {
    let desk = Sandbox::new();
    desk.write(".colony/colony.toml", "[clone]\nrun = ['touch ran']\n");
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "rules"]);
    let made = desk.json(&["agents", "new", "ada"]);
    let clone = PathBuf::from(made["path"].as_str().unwrap());
    let id = made["commands"][0]["id"].as_str().unwrap();
    let mut program = desk.process("sleep");
    let mut program = program.arg("600").current_dir(&clone).spawn().unwrap();
    let (colony, here) = (program_path(), desk.root.clone());
    for (number, away) in ["setsid -f", "setsid -f sh -c '\"$@\"; :' sh", "sh -c '\"$@\" &' sh"]
        .into_iter()
        .enumerate()
    {
        let answer = desk.outside().join(format!("answer-{number}"));
        let inner = format!(
            "sleep 1; cd '{}'; '{}' --json clones setup ada --approve {id} >'{2}.new'; mv '{2}.new' '{2}'",
            here.display(),
            colony.display(),
            answer.display()
        );
        let script = desk.outside().join(format!("script-{number}"));
        fs::write(&script, inner).unwrap();
        let mut shell = desk.process("sh");
        let line = format!("{away} sh '{}'", script.display());
        assert!(shell.args(["-c", &line]).current_dir("/").status().unwrap().success());
        eventually("an answer", || answer.exists());
        let said: Value = serde_json::from_slice(&fs::read(&answer).unwrap()).unwrap();
        assert_eq!(said["code"], "approval-refused", "{away}: {said:#}");
    }
    program.kill().unwrap();
    program.wait().unwrap();
}
