//! Nothing reaches a remote without a person's recorded consent for its URL, whatever command could push.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::lfs::migrate::rewrite::{at, grown_with_origin};
use crate::support::Sandbox;

fn refs(sandbox: &Sandbox, bare: &Path) -> String {
    at(bare, sandbox, &["for-each-ref"])
}

/// A repository with large files, refs of ours and an origin, without any consent.
fn unconsented() -> (Sandbox, PathBuf) {
    let (sandbox, bare) = grown_with_origin();
    sandbox.colony(&["checkpoint", "-m", "one"]);
    sandbox.colony(&["fork", "idea", "--no-switch"]);
    sandbox.colony(&["blackboard", "put", "team", "key", "value"]);
    (sandbox, bare)
}

/// The commands that could push, each as a program may call them without a person's word.
const COMMANDS: [&[&str]; 9] = [
    &["sync"],
    &["init"],
    &["init", "--push-if-allowed"],
    &["lfs", "migrate"],
    &["lfs", "migrate", "--push-if-allowed"],
    &["init", "--migrate-existing-to-lfs"],
    &["init", "--migrate-existing-to-lfs", "--push-if-allowed"],
    &["call", "lfs_migrate", "{}"],
    &["call", "initialize_repo_map", r#"{"migrate_existing_to_lfs":true}"#],
];

#[test]
fn no_command_pushes_without_consent() {
    for command in COMMANDS {
        let (sandbox, bare) = unconsented();
        let theirs = refs(&sandbox, &bare);
        assert_ne!(sandbox.run(command).code, 129, "{command:?}");
        assert_eq!(refs(&sandbox, &bare), theirs, "{command:?}");
        // An agent cannot consent either.
        assert_ne!(sandbox.run(&[&["--agent", "ada"], command].concat()).code, 129);
        assert_eq!(refs(&sandbox, &bare), theirs, "{command:?}");
    }
}

#[test]
fn an_agent_that_says_push_is_refused() {
    let commands: [&[&str]; 3] =
        [&["sync", "--push"], &["lfs", "migrate", "--push"], &["init", "--push"]];
    for command in commands {
        let (sandbox, bare) = unconsented();
        let theirs = refs(&sandbox, &bare);
        let answer = sandbox.json(&[&["--agent", "ada"], command].concat());
        assert!(answer.to_string().contains("may not allow publishing"), "{answer:#}");
        assert_eq!(refs(&sandbox, &bare), theirs, "{command:?}");
    }
}

/// Calls the action as a program does.
fn call(sandbox: &Sandbox) -> Value {
    let run = sandbox.run(&["call", "lfs_migrate", "{}"]);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stderr))
}

#[test]
fn a_migration_without_consent_names_what_and_how_to_publish() {
    let (sandbox, bare) = grown_with_origin();
    let theirs = refs(&sandbox, &bare);
    let url = format!("file://{}", bare.display());
    let text = sandbox.colony(&["lfs", "migrate", "-n"]);
    assert!(text.contains(&format!("main on origin ({url})")), "{text}");
    let answer = call(&sandbox);
    assert_eq!((&answer["ok"], &answer["pushed"]), (&true.into(), &false.into()), "{answer:#}");
    assert_eq!(answer["push_error"], "no-consent", "{answer:#}");
    assert_eq!(answer["push_command"], "git colony lfs migrate --push", "{answer:#}");
    assert_eq!(answer["replaces"][0]["commits"], 5, "{answer:#}");
    assert_eq!(answer["replaces"][0]["url"], url, "{answer:#}");
    assert_eq!(refs(&sandbox, &bare), theirs);
    // With the consent of a person, given by another command, the same call publishes it.
    consent(&sandbox, &url);
    let again = call(&sandbox);
    assert_eq!((&again["status"], &again["pushed"]), (&"continued".into(), &true.into()));
    let main = sandbox.git(&["rev-parse", "main"]);
    assert_eq!(at(&bare, &sandbox, &["rev-parse", "main"]), main);
    // Nothing is left to replace.
    let last = sandbox.json(&["lfs", "migrate"]);
    assert_eq!((&last["replaces"], &last["push_command"]), (&json!([]), &Value::Null), "{last:#}");
}

/// Records the consent for a URL as `--push` does.
fn consent(sandbox: &Sandbox, url: &str) {
    let path = url.strip_prefix("file://").unwrap();
    let real = std::fs::canonicalize(path).unwrap().display().to_string();
    sandbox.git(&["config", "colony.sync.origin.push", &real]);
}

#[test]
fn consent_is_for_a_url_and_ends_with_it() {
    let (sandbox, bare) = grown_with_origin();
    let other = sandbox.outside().join("other.git").display().to_string();
    sandbox.git(&["clone", "-q", "--bare", &bare.display().to_string(), &other]);
    consent(&sandbox, &format!("file://{}", bare.display()));
    sandbox.git(&["remote", "set-url", "origin", &other]);
    let theirs = refs(&sandbox, Path::new(&other));
    let answer = sandbox.json(&["lfs", "migrate", "--push-if-allowed"]);
    assert_eq!(answer["push_error"], "no-consent", "{answer:#}");
    assert_eq!(refs(&sandbox, Path::new(&other)), theirs);
    // Said by a person, it is recorded for the new one.
    sandbox.colony(&["lfs", "migrate", "--push"]);
    assert_ne!(refs(&sandbox, Path::new(&other)), theirs);
    let consented = sandbox.git(&["config", "--get-all", "colony.sync.origin.push"]);
    assert!(consented.ends_with("other.git"), "{consented}");
}
