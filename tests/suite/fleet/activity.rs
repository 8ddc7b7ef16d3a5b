//! What an agent does, as its hooks report it.

use std::ffi::OsString;
use std::io::Cursor;

use serde_json::{Value, json};

use crate::agents::new_and_merge::agent;
use crate::support::{Sandbox, View};

/// Events of Claude Code, with what they have beside the name, and the state of the agent after each.
const TOLD: [(&str, &str, &str); 17] = [
    ("SessionStart", "{}", "waiting"),
    ("UserPromptSubmit", r#"{"prompt":"go"}"#, "working"),
    ("PreToolUse", r#"{"tool_name":"Bash"}"#, "working"),
    ("Notification", r#"{"notification_type":"permission_prompt"}"#, "asks"),
    ("Notification", r#"{"notification_type":"idle_prompt"}"#, "asks"),
    ("PostToolUse", r#"{"tool_name":"Bash"}"#, "working"),
    ("PreToolUse", r#"{"tool_name":"AskUserQuestion"}"#, "asks"),
    ("PostToolUse", r#"{"tool_name":"AskUserQuestion"}"#, "working"),
    ("Notification", r#"{"message":"Claude needs your permission to use Bash"}"#, "asks"),
    // The user has refused, and says what to do instead.
    ("UserPromptSubmit", "{}", "working"),
    ("Notification", r#"{"notification_type":"elicitation_dialog"}"#, "asks"),
    ("Stop", "{}", "waiting"),
    ("Notification", r#"{"message":"Claude is waiting for your input"}"#, "waiting"),
    ("Notification", r#"{"notification_type":7}"#, "waiting"),
    ("UserPromptSubmit", "{}", "working"),
    ("Notification", r#"{"notification_type":"permission_prompt"}"#, "asks"),
    ("SessionEnd", "{}", "quiet"),
];

fn fire(clone: &View, event: &str, more: &str) {
    let mut payload: Value = serde_json::from_str(more).unwrap();
    payload["hook_event_name"] = json!(event);
    payload["session_id"] = json!("c-1");
    let args = ["hook", "claude-code"].map(OsString::from).to_vec();
    let input = Box::new(Cursor::new(payload.to_string().into_bytes()));
    let run = clone.run_reading(clone.world(), args, input);
    assert_eq!((run.code, run.stdout.as_str()), (0, "{}\n"), "{event}: {}", run.stderr);
}

#[test]
fn an_agent_asks_until_its_question_is_answered() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    for (event, more, state) in TOLD {
        fire(&ada, event, more);
        let row = desk.json(&["fleet"])["agents"][0].clone();
        assert_eq!(row["state"], state, "after {event} {more}");
    }
    assert_eq!(ada.json(&["checkpoints", "--auto"])["count"], 0, "nothing had changed");
}

#[test]
fn who_asks_stands_first_and_in_the_headline() {
    let desk = Sandbox::new();
    let [_, _, cyd] = ["ada", "bob", "cyd"].map(|name| agent(&desk, name));
    fire(&cyd, "Notification", r#"{"notification_type":"permission_prompt"}"#);
    let shown = desk.colony(&["fleet"]);
    let lines: Vec<_> = shown.lines().collect();
    assert!(lines[0].ends_with(", 3 agents, 1 asks"), "{shown}");
    let place = |name: &str| lines.iter().position(|line| line.trim_start().starts_with(name));
    assert!(place("cyd") < place("ada") && place("ada") < place("bob"), "{shown}");
    assert!(lines[place("cyd").unwrap()].contains(" asks"), "{shown}");
    // A state that is told is no state to keep: that comes before the next change.
    cyd.write("a.txt", "by a person\n");
    fire(&cyd, "UserPromptSubmit", "{}");
    assert_eq!(cyd.json(&["checkpoints", "--auto"])["count"], 0);
    fire(&cyd, "PreToolUse", r#"{"tool_name":"Edit"}"#);
    assert_eq!(cyd.json(&["checkpoints", "--auto"])["count"], 1);
}

#[test]
fn a_lock_that_a_killed_git_has_left_is_named() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    let doctor = || desk.json(&["doctor"])["checks"].to_string();
    for name in ["index.lock", "HEAD.lock", "packed-refs.lock"] {
        let lock = ada.path(&format!(".git/{name}"));
        let file = std::fs::File::create(&lock).unwrap();
        let is_told = || {
            let row = desk.json(&["fleet"])["agents"][0].clone();
            let text = desk.colony(&["fleet"]);
            let line = format!("ada cannot commit: rm {}", lock.display());
            let told = [row["lock"] == lock.to_str().unwrap(), text.contains(&line)];
            [told[0], told[1], doctor().contains(name)]
        };
        // The clock of the sandbox: one of now is in use.
        assert_eq!(is_told(), [false; 3], "{name}");
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(is_told(), [true; 3], "{name}");
        std::fs::remove_file(&lock).unwrap();
    }
    assert_eq!(desk.run(&["doctor"]).code, 0);
}
