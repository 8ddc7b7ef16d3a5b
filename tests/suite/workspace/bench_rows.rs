//! `colony.telemetry.bench`: the time of each command, kept on this machine where the user asks for it.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::{Sandbox, View};

fn file_of(view: &View) -> String {
    let id = view.json(&["id"])["repository_id"].clone();
    format!(".colony/cache/repos/{}/bench.jsonl", id.as_str().unwrap())
}

fn measured() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let file = file_of(&sandbox);
    sandbox.git(&["config", "colony.telemetry.bench", "true"]);
    (sandbox, file)
}

fn rows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn nothing_is_kept_unless_the_user_asks_for_it() {
    let sandbox = Sandbox::new();
    let file = file_of(&sandbox);
    // What a repository says does not count.
    sandbox.write(".colony/colony.toml", "[telemetry]\nbench = true\n");
    sandbox.json(&["status"]);
    sandbox.json(&["query", "text", "x"]);
    assert!(!sandbox.path(&file).exists());
    let view = sandbox.with("COLONY_TELEMETRY_BENCH", "true");
    view.json(&["status"]);
    assert!(sandbox.path(&file).exists());
}

#[test]
fn a_row_has_the_name_of_a_command_and_no_argument() {
    let (sandbox, file) = measured();
    let view = sandbox.with("COLONY_SESSION", "s-1");
    view.json(&["query", "text", "s3cret-argument"]);
    view.json(&["checkpoint", "-m", "s3cret-label"]);
    sandbox.json(&["restore", "s3cret-name"]);
    sandbox.with("COLONY_SESSION", "a\nb").json(&["-C", ".", "status"]);
    let text = sandbox.read(&file);
    assert!(!text.contains("s3cret"), "{text}");
    let rows = rows(&text);
    let of = |key: &str| rows.iter().map(|row| row[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("command"), ["catalog query text", "checkpoint", "restore", "status"]);
    assert_eq!(of("exit"), [1, 0, 128, 0]);
    assert_eq!(of("session"), [json!("s-1"), json!("s-1"), json!(null), json!(null)]);
    let keys: Vec<_> = rows[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["session", "command", "started_at", "wall_ms", "exit", "version"]);
    assert!(rows.iter().all(|row| row["wall_ms"].is_u64()));
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "it hides itself");
}

#[test]
fn the_file_is_bounded_and_keeps_the_newer_half() {
    let (sandbox, file) = measured();
    sandbox.json(&["id"]);
    let line = format!("{}\n", "x".repeat(99));
    fs::write(sandbox.path(&file), format!("{}last\n", line.repeat((10 << 20) / 100))).unwrap();
    sandbox.json(&["id"]);
    let text = sandbox.read(&file);
    assert!(text.len() < 6 << 20, "{}", text.len());
    let mut newest = text.lines().rev();
    assert!(newest.next().unwrap().contains("\"command\":\"status id\""));
    assert_eq!(newest.next(), Some("last"));
    assert!(newest.all(|row| row.len() == 99));
}

#[test]
fn what_is_in_the_way_of_the_rows_is_left_alone() {
    let (sandbox, file) = measured();
    sandbox.json(&["id"]);
    let target = sandbox.outside().join("target");
    fs::write(&target, "mine\n").unwrap();
    fs::remove_file(sandbox.path(&file)).unwrap();
    symlink(&target, sandbox.path(&file)).unwrap();
    let run = sandbox.run(&["id"]);
    assert_eq!(run.code, 0);
    assert!(run.stderr.ends_with("bench.jsonl': it is not a plain file\n"), "{}", run.stderr);
    assert_eq!(fs::read_to_string(&target).unwrap(), "mine\n");
}

#[test]
fn another_checkout_than_that_of_the_server_is_a_warning() {
    let (sandbox, file) = measured();
    let view = sandbox.with("COLONY_REPOSITORY_ID", "0123456789abcdef");
    let run = view.run(&["id"]);
    assert_eq!(run.code, 0);
    assert!(run.stderr.contains("COLONY_REPOSITORY_ID is '0123456789abcdef'"), "{}", run.stderr);
    assert_eq!(rows(&sandbox.read(&file)).len(), 1);
    let own = sandbox.json(&["id"])["repository_id"].clone();
    let view = sandbox.with("COLONY_REPOSITORY_ID", own.as_str().unwrap());
    assert_eq!(view.run(&["id"]).stderr, "");
}
