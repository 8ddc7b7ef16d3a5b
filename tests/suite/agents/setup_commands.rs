//! Commands that make a new clone ready: those of the repository run once their exact text is approved.

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::{Run, Sandbox, View, eventually, first_line};

/// A repository that proposes commands.
fn proposing(commands: &str) -> Sandbox {
    let desk = Sandbox::new();
    propose(&desk, commands);
    desk
}

fn propose(desk: &Sandbox, commands: &str) {
    desk.write(".colony/colony.toml", format!("[clone]\nrun = {commands}\n"));
    desk.colony(&["checkpoint", "-m", "proposal"]);
}

fn clone_of(desk: &Sandbox, made: &Value) -> View {
    desk.at(PathBuf::from(made["path"].as_str().unwrap()))
}

fn states(answer: &Value) -> Vec<&str> {
    let commands = answer["commands"].as_array().unwrap().iter();
    commands.map(|command| command["status"].as_str().unwrap()).collect()
}

fn id(answer: &Value, number: usize) -> String {
    answer["commands"][number]["id"].as_str().unwrap().to_owned()
}

fn with(desk: &Sandbox, variables: &[(&str, &str)], args: &[&str]) -> Run {
    let mut world = desk.world();
    for (name, value) in variables {
        world.variables.insert(name.into(), value.into());
    }
    desk.run_in(world, args)
}

#[test]
fn a_command_of_the_repository_waits_until_its_text_is_approved() {
    let desk = proposing(r#"["echo one >> ran.txt"]"#);
    let would = desk.json(&["agents", "new", "ada", "-n"]);
    assert_eq!(states(&would), ["waiting"], "{would:#}");
    let made = desk.json(&["agents", "new", "ada"]);
    assert_eq!((&made["ok"], states(&made)), (&true.into(), vec!["waiting"]));
    let ada = clone_of(&desk, &made);
    assert_eq!(ada.git(&["branch", "--show-current"]).trim(), "fork/ada");
    assert!(!ada.path("ran.txt").exists());
    let again = desk.run(&["clones", "setup", "ada"]);
    assert_eq!(again.code, 1, "{}", again.stderr);
    let id = id(&made, 0);
    let dry = desk.json(&["clones", "setup", "ada", "--approve", &id, "-n"]);
    assert_eq!(states(&dry), ["waiting"], "a dry run approves nothing");
    let ran = desk.json(&["clones", "setup", "ada", "--approve", &id]);
    assert_eq!(states(&ran), ["ran"], "{ran:#}");
    assert_eq!(fs::read_to_string(ada.path("ran.txt")).unwrap(), "one\n");
    // Approved once: the next clone runs it at once.
    let made = desk.json(&["agents", "new", "bob"]);
    assert_eq!(states(&made), ["ran"], "{made:#}");
    assert_eq!(made["setup"][1], "ran 'echo one >> ran.txt'");
    // Another text needs another approval.
    propose(&desk, r#"["echo one >> ran.txt "]"#);
    assert_eq!(states(&desk.json(&["agents", "new", "cat"])), ["ran"]);
    propose(&desk, r#"["echo one >>  ran.txt"]"#);
    assert_eq!(states(&desk.json(&["agents", "new", "dan"])), ["waiting"]);
}

#[test]
fn an_approval_counts_for_one_repository_and_is_nowhere_in_it() {
    let commands = r#"["true"]"#;
    let desk = proposing(commands);
    let before = desk.visible_state();
    let made = desk.json(&["agents", "new", "ada"]);
    desk.colony(&["clones", "setup", "ada", "--approve", &id(&made, 0)]);
    assert_eq!(desk.visible_state(), before);
    let other = desk.outside().join("other");
    desk.git(&["init", "-q", "-b", "main", other.to_str().unwrap()]);
    let other = desk.at(other);
    fs::create_dir(other.path(".colony")).unwrap();
    fs::copy(desk.path(".colony/colony.toml"), other.path(".colony/colony.toml")).unwrap();
    other.git(&["add", "-A"]);
    let who = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
    other.git(&[&who[..], &["commit", "-qm", "first"]].concat());
    let made = other.json(&["agents", "new", "eve"]);
    assert_eq!(states(&made), ["waiting"], "{made:#}");
}

#[test]
fn an_agent_approves_nothing() {
    let desk = proposing(r#"["touch ran"]"#);
    let made = desk.json(&["agents", "new", "ada"]);
    let (ada, id) = (clone_of(&desk, &made), id(&made, 0));
    let approve = ["clones", "setup", "ada", "--approve", &id];
    assert_eq!(ada.error(&approve), "approval-refused");
    let named = [&["--agent", "ada"], &approve[..]].concat();
    assert_eq!(desk.error(&named), "approval-refused");
    let named = [&["--json"], &approve[..]].concat();
    let run = with(&desk, &[("COLONY_AGENT", "ada")], &named);
    assert!(run.stdout.contains("approval-refused"), "{}", run.stdout);
    assert!(!ada.path("ran").exists());
    // Sent elsewhere from inside of its clone, it is the same agent; also where its record is damaged.
    let here = desk.root.to_str().unwrap().to_owned();
    let elsewhere = [&["-C", &here][..], &approve].concat();
    assert_eq!(ada.error(&elsewhere), "approval-refused");
    let inside = desk.at(ada.path(".git"));
    assert_eq!(inside.error(&elsewhere), "approval-refused");
    let linked = desk.outside().join("linked");
    ada.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    assert_eq!(desk.at(linked).error(&elsewhere), "approval-refused");
    let record = ada.path(".git/colony/membership.json");
    let whole = fs::read(&record).unwrap();
    fs::write(&record, "{").unwrap();
    assert_eq!(ada.error(&elsewhere), "approval-refused");
    fs::write(&record, whole).unwrap();
    let shell = ada.path("").to_str().unwrap().to_owned();
    let run = with(&desk, &[("PWD", &shell)], &[&["--json"], &approve[..]].concat());
    assert!(run.stdout.contains("approval-refused"), "{}", run.stdout);
    let unknown = ["clones", "setup", "ada", "--approve", &id[..8]];
    assert_eq!(desk.error(&unknown), "invalid-value");
    assert_eq!(states(&desk.json(&["clones", "setup", "ada"])), ["waiting"]);
}

#[test]
fn a_waiting_command_is_shown_as_it_is() {
    let desk = proposing(r#"["echo \u001b[2K\u202eevil\rgood"]"#);
    let made = desk.run(&["agents", "new", "ada"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    assert!(made.stderr.contains(r"echo \x1b[2K\u{202e}evil\rgood"), "{}", made.stderr);
    let approve = made.stderr.lines().last().unwrap();
    let approve = approve.strip_prefix("approve and run: git colony ");
    let words = approve.unwrap().split(' ');
    let words: Vec<&str> = words.map(|word| word.trim_matches('\'')).collect();
    let pasted = desk.run(&words);
    assert_eq!(pasted.code, 0, "{}", pasted.stderr);
}

#[test]
fn what_a_command_says_is_told_without_control_bytes() {
    let desk = Sandbox::new();
    desk.git(&["config", "colony.clone.run", r"printf 'a\033[1mb\nlast'; echo no >&2"]);
    let made = desk.run(&["agents", "new", "ada"]);
    assert!(made.stderr.contains("a\\x1b[1mb\nlastno\n"), "{}", made.stderr);
    assert_eq!(made.stdout.lines().count(), 1, "the path alone");
}

#[test]
fn commands_of_the_user_need_no_approval_and_see_no_tokens() {
    let desk = Sandbox::new();
    desk.git(&["config", "colony.clone.run", "env > env.txt; pwd > pwd.txt; cat >> pwd.txt"]);
    let secrets = [
        ("GITHUB_TOKEN", "secret-1"),
        ("OTHER_TOKEN", "secret-2"),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "colony.credential.example.com.tokenEnv"),
        ("GIT_CONFIG_VALUE_0", "OTHER_TOKEN"),
        ("COLONY_OPERATION", ""),
        ("KEPT", "yes"),
    ];
    let made = with(&desk, &secrets, &["--json", "agents", "new", "ada"]);
    let made: Value = serde_json::from_str(&made.stdout).unwrap();
    assert_eq!(states(&made), ["ran"], "{made:#}");
    let ada = clone_of(&desk, &made);
    let seen = fs::read_to_string(ada.path("env.txt")).unwrap();
    for hidden in ["secret-", "COLONY_", "GIT_CONFIG_COUNT", "GIT_DIR"] {
        assert!(!seen.contains(hidden), "{hidden}: {seen}");
    }
    assert!(seen.contains("KEPT=yes"), "{seen}");
    let stood = fs::read_to_string(ada.path("pwd.txt")).unwrap();
    assert_eq!(stood.trim_end(), made["path"].as_str().unwrap());
}

#[test]
fn a_failing_setup_command_keeps_the_clone_and_stops_the_rest() {
    let desk = Sandbox::new();
    let three = "test -e ready\nexit 7\ntouch never";
    desk.git(&["config", "colony.clone.run", three]);
    let made = desk.run(&["--json", "agents", "new", "ada"]);
    assert_eq!(made.code, 1);
    let made: Value = serde_json::from_str(&made.stdout).unwrap();
    assert_eq!(states(&made), ["failed", "not_run", "not_run"], "{made:#}");
    assert_eq!(made["commands"][0]["exit_code"], 1);
    let ada = clone_of(&desk, &made);
    ada.write("ready", "");
    let again = desk.json(&["clones", "setup", "ada"]);
    assert_eq!(states(&again), ["ran", "failed", "not_run"], "{again:#}");
    assert_eq!(again["commands"][1]["exit_code"], 7);
    assert!(!ada.path("never").exists());
    assert_eq!(desk.json(&["agents"])["count"], 1);
}

#[test]
fn nothing_runs_after_a_command_that_waits() {
    let desk = proposing(r#"["touch one", "touch two"]"#);
    let made = desk.json(&["agents", "new", "ada"]);
    let second = id(&made, 1);
    let report = desk.json(&["clones", "setup", "ada", "--approve", &second]);
    assert_eq!(states(&report), ["waiting", "not_run"], "{report:#}");
    assert!(!clone_of(&desk, &made).path("two").exists());
}

#[test]
fn a_command_ends_in_time_with_all_it_has_started() {
    let desk = Sandbox::new();
    let fifo = desk.outside().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
    let command =
        format!("exec 3>'{}'; echo begun >&3; setsid sleep 600 & sleep 600", fifo.display());
    desk.git(&["config", "colony.clone.run", &command]);
    let held = std::thread::spawn(move || first_line(&fifo).1.read_to_end(&mut Vec::new()));
    let limit = [("COLONY_CLONE_RUN_TIME", "3")];
    let made = with(&desk, &limit, &["--json", "agents", "new", "ada"]);
    assert_eq!(made.code, 1, "{}", made.stdout);
    let made: Value = serde_json::from_str(&made.stdout).unwrap();
    assert_eq!(states(&made), ["out_of_time"]);
    eventually("nobody holds the pipe any more", || held.is_finished());
    held.join().unwrap().unwrap();
}

#[test]
fn an_interrupt_ends_a_command_and_leaves_the_clone() {
    let desk = Sandbox::new();
    let fifo = desk.outside().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
    let command = format!("exec 3>'{}'; echo begun >&3; sleep 600", fifo.display());
    desk.git(&["config", "colony.clone.run", &command]);
    let world = desk.world();
    let interrupt = world.interrupt.clone();
    let held = std::thread::spawn(move || {
        let (_, mut pipe) = first_line(&fifo);
        interrupt.raise(2);
        pipe.read_to_end(&mut Vec::new())
    });
    let made = desk.run_in(world, &["--json", "agents", "new", "ada"]);
    eventually("nobody holds the pipe any more", || held.is_finished());
    held.join().unwrap().unwrap();
    assert_eq!(made.code, 130, "{}", made.stdout);
    let answer: Value = serde_json::from_str(&made.stdout).unwrap();
    let path = answer["detail"]["path"].as_str().unwrap();
    assert!(PathBuf::from(path).join("a.txt").exists());
    assert_eq!(desk.json(&["agents"])["count"], 1);
}

#[test]
fn a_clone_for_reading_runs_nothing() {
    let desk = proposing(r#"["touch ran"]"#);
    let made = desk.json(&["clone", "--agent", "ada"]);
    assert_eq!(states(&made), ["waiting"], "{made:#}");
    desk.colony(&["clones", "setup", "ada", "--approve", &id(&made, 0)]);
    let made = desk.json(&["clone", "--read-only"]);
    assert_eq!(made["commands"], Value::Array(Vec::new()), "{made:#}");
    let reading = clone_of(&desk, &made);
    assert!(!reading.path("ran").exists());
    let path = made["path"].as_str().unwrap();
    assert_eq!(desk.error(&["clones", "setup", path]), "read-only-clone");
}
