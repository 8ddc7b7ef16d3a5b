//! `context list`, `stats`, `gc`, `flush`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{configure, listed, refused, repository};
use crate::support::{Sandbox, View, program_path};

const DAY: i64 = 86_400;

fn at(view: &View, seconds: i64, args: &[&str]) -> Value {
    let run = view.run_in(view.world_at(seconds), &[&["--json"], args].concat());
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr))
}

/// The repository, where one project has two files of 30 tokens and the hot tier room for one.
fn tight() -> Sandbox {
    let sandbox = repository();
    sandbox.git(&["config", "colony.context.hotTokens", "12"]);
    configure(
        &sandbox,
        "[projects.app]\nresources = [{ id = \"code\", type = \"git-checkout\", location = \"src\" }]\n[projects.app.views.strategize]\nexclude = [\"other.rs\"]\n[projects.app.views.apply]\nmax_file_size = 30\n",
    );
    for (path, seconds) in [("src/lock.rs", 1_000), ("src/other.rs", 2_000)] {
        let time = filetime::FileTime::from_unix_time(seconds, 0);
        filetime::set_file_mtime(sandbox.path(path), time).unwrap();
    }
    sandbox
}

#[test]
fn a_full_tier_moves_files_down_and_loses_none() {
    let sandbox = tight();
    let told = sandbox.json(&["context", "hydrate"]);
    assert_eq!((&told["stored"], &told["dropped"]), (&json!(2), &json!(0)));
    // The file that changed last stays.
    assert_eq!(listed(&sandbox, &[]), ["hot app src/other.rs", "warm app src/lock.rs"]);
    assert_eq!(listed(&sandbox, &["--tier", "warm"]), ["warm app src/lock.rs"]);
    assert_snapshot!(sandbox.colony(&["context", "list"]));
    assert_snapshot!(sandbox.colony(&["context", "stats"]));
    let stats = sandbox.json(&["context", "stats"]);
    let sum: u64 = ["hot", "warm", "cold"]
        .map(|tier| stats["projects"][0][tier]["tokens"].as_u64().unwrap())
        .iter()
        .sum();
    assert_eq!(stats["projects"][0]["tokens"], sum);
}

#[test]
fn new_files_that_match_the_question_are_hot_first() {
    let sandbox = tight();
    sandbox.colony(&["context", "--plan", "default", "take a lock"]);
    assert_eq!(listed(&sandbox, &[]), ["hot app src/lock.rs", "warm app src/other.rs"]);
}

#[test]
fn a_view_sees_what_it_does_not_exclude_or_inherit() {
    let sandbox = tight();
    sandbox.colony(&["context", "hydrate"]);
    let seen = |view: &str| listed(&sandbox, &["--view", view]).len();
    assert_eq!(["default", "strategize", "execute", "apply"].map(seen), [2, 1, 1, 0]);
    let told = refused(&sandbox, &["context", "list", "--view", "other"]);
    assert!(told.contains("'--view other': expected default, "), "{told}");
    let told = refused(&sandbox, &["context", "list", "--project", "other"]);
    assert!(told.contains("no project is named 'other'"), "{told}");
}

#[test]
fn files_that_nobody_uses_go_down_with_time_alone() {
    let sandbox = tight();
    at(&sandbox, 0, &["context", "hydrate"]);
    let counts = |seconds: i64| {
        let told = at(&sandbox, seconds, &["context", "stats"]);
        ["hot", "warm", "cold"].map(|tier| told["projects"][0][tier]["count"].clone())
    };
    assert_eq!(counts(DAY - 60), [1, 1, 0]);
    assert_eq!(counts(DAY), [0, 2, 0]);
    assert_eq!(at(&sandbox, DAY, &["context", "gc"])["evicted"], 0);
    assert_eq!(counts(2 * DAY), [0, 0, 2]);
    let told = at(&sandbox, 93 * DAY, &["context", "gc", "-n"]);
    assert_eq!((&told["evicted"], &told["dry_run"]), (&json!(2), &json!(true)));
    assert_eq!(at(&sandbox, 93 * DAY, &["context", "list"])["count"], 0);
    assert_eq!(at(&sandbox, 93 * DAY, &["context", "gc"])["evicted"], 2);
    assert_eq!(at(&sandbox, 93 * DAY, &["context", "gc"])["evicted"], 0);
    // What was forgotten is new.
    let told = at(&sandbox, 93 * DAY, &["context", "hydrate"]);
    assert_eq!((&told["changed"], &told["hot"]["count"]), (&json!(2), &json!(1)));
}

#[test]
fn a_preview_of_a_hydration_counts_as_it_does() {
    let sandbox = tight();
    for change in ["src/lock.rs", "src/new.rs"] {
        let counts = |told: Value| ["stored", "changed", "dropped"].map(|it| told[it].clone());
        let preview = counts(sandbox.json(&["context", "hydrate", "-n"]));
        assert_eq!(preview, counts(sandbox.json(&["context", "hydrate"])), "before {change}");
        sandbox.write(change, "fn changed() {}\n");
        let again = counts(sandbox.json(&["context", "hydrate", "-n"]));
        assert_eq!(again[1], 1, "{change}");
    }
}

#[test]
fn a_context_without_a_question_is_never_empty_with_time() {
    let sandbox = tight();
    at(&sandbox, 0, &["context", "hydrate"]);
    let parts = |seconds| {
        let told = at(&sandbox, seconds, &["context", "--plan", "default", "--no-hydrate"]);
        told["parts"].as_array().map_or(0, Vec::len)
    };
    assert!(parts(60) > 0);
    assert_eq!(parts(60), parts(60 + 3 * DAY));
}

#[test]
fn a_file_that_a_context_uses_is_hot() {
    let sandbox = tight();
    sandbox.colony(&["context", "hydrate"]);
    assert_eq!(listed(&sandbox, &[]), ["hot app src/other.rs", "warm app src/lock.rs"]);
    sandbox.colony(&["context", "--plan", "default", "take a lock"]);
    assert_eq!(listed(&sandbox, &[])[0], "hot app src/lock.rs");
    let stats = sandbox.json(&["context", "stats"]);
    assert!(stats["projects"][0]["hits"].as_u64() > Some(0), "{stats:#}");
}

#[test]
fn tiers_of_a_removed_project_and_of_other_agents_stay_apart() {
    let sandbox = tight();
    sandbox.colony(&["context", "hydrate"]);
    let ada = sandbox.with("COLONY_AGENT", "ada");
    assert_eq!(ada.json(&["context", "list"])["count"], 0);
    ada.colony(&["context", "hydrate"]);
    sandbox.colony(&["projects", "remove", "app"]);
    let told = sandbox.json(&["context", "list"]);
    assert_eq!(told["fragments"][0]["stale"], Value::Null);
    let told = sandbox.json(&["context", "gc"]);
    assert_eq!((&told["evicted"], &told["projects"]), (&json!(2), &json!(["app"])));
    assert_eq!(ada.json(&["context", "list"])["count"], 2);
    let told = ada.json(&["context", "flush", "--project", "app", "-n"]);
    assert_eq!(told["evicted"], 2);
    assert_snapshot!(ada.colony(&["context", "flush"]));
    assert_eq!(ada.json(&["context", "stats"])["projects"], json!([]));
}

#[test]
fn a_hot_tier_of_no_tokens_is_empty() {
    let sandbox = tight();
    sandbox.git(&["config", "colony.context.hotTokens", "0"]);
    let told = sandbox.json(&["context", "hydrate"]);
    assert_eq!(told["hot"], json!({"count": 0, "tokens": 0}));
    assert_eq!(told["warm"]["count"], 2);
}

#[test]
fn several_words_are_a_question_and_a_lone_one_is_a_command() {
    let sandbox = repository();
    sandbox.colony(&["map"]);
    assert_eq!(sandbox.json(&["context", "list"])["count"], 0);
    let question = ["context", "list", "of", "lock", "--budget", "100"];
    let text = sandbox.colony(&question);
    assert!(text.contains("==> src/lock.rs:1-2 (pub fn take_lock() {}) <=="), "{text}");
    let lone = sandbox.run(&["context", "--question", "list"]);
    assert_eq!((lone.code, lone.stdout.as_str()), (1, ""));
}

#[test]
fn a_state_that_cannot_be_written_is_listed() {
    let sandbox = tight();
    // As processes: their clock is another one.
    let told = |mut command: Command, args: &[&str]| -> Value {
        let run = command.args(["--json", "context"]).args(args).output();
        serde_json::from_slice(&run.unwrap().stdout).unwrap()
    };
    told(sandbox.program(), &["hydrate"]);
    let wanted = told(sandbox.program(), &["list"]);
    assert_eq!(wanted["count"], 2, "{wanted:#}");
    let folder = sandbox.path(".git/colony/state");
    let access = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
    for file in fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        fs::set_permissions(path, fs::Permissions::from_mode(0o444)).unwrap();
    }
    access(0o555);
    let command = if rustix::process::geteuid().is_root() {
        let mut command = sandbox.process("setpriv");
        command.args(["--bounding-set", "-dac_override,-dac_read_search"]);
        command.arg(program_path());
        command
    } else {
        sandbox.program()
    };
    let read = told(command, &["list"]);
    access(0o755);
    assert_eq!(read["fragments"], wanted["fragments"], "{read:#}");
}
