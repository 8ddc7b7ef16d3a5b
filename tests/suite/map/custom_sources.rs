//! Custom sources: a row whose type names a command of the user.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Sandbox, eventually, is_running};

const MAP: &str = "schema_version: 1
sources:
  - name: tickets
    type: tickets
    start_dir: src
    exclude_globs: ['*.draft']
  - name: rest
    type: git_repo
";

/// A repository whose map has a custom source, after a row that is always mapped.
fn with_source() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".colony/repo_map.yaml", MAP);
    sandbox.write("src/a.rs", "fn a() {}\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "map"]);
    sandbox
}

fn set(sandbox: &Sandbox, name: &str, value: &str) {
    sandbox.git(&["config", &format!("colony.source.tickets.{name}"), value]);
}

/// A command that notes each run and what it was given, and prints records.
fn noted(sandbox: &Sandbox) -> String {
    let notes = sandbox.outside().join("notes");
    let notes = notes.to_str().unwrap();
    let records = [
        r#"{"path":"open/one.md","text":"one of %s\\n"}\n"#,
        r#"{"key":"T-2/x","value":{"title":"two"},"tags":["open"]}\n"#,
        r#"{"path":"old.draft","text":"left out"}\n"#,
    ];
    format!(
        "cat >> {notes}; ls -A >> {notes}; \
         object=$(git --git-dir=\"$COLONY_SOURCE_GIT_DIR\" rev-parse \"$COLONY_SOURCE_COMMIT:src/a.rs\"); \
         printf '{}' \"$object\"",
        records.concat()
    )
}

fn runs(sandbox: &Sandbox) -> Vec<Value> {
    let notes = fs::read_to_string(sandbox.outside().join("notes")).unwrap_or_default();
    let lines = notes.lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The first result of a mapping: that of the custom source.
fn mapped(sandbox: &Sandbox) -> Value {
    let answer = sandbox.json(&["map", "--base-scope", "b"]);
    assert_ne!(answer["results"][1]["status"], "error", "{answer:#}");
    answer["results"][0].clone()
}

#[test]
fn a_command_makes_the_records_of_its_type() {
    let sandbox = with_source();
    set(&sandbox, "command", &noted(&sandbox));
    let dry = sandbox.json(&["map", "-n"])["results"][0].clone();
    assert_eq!(dry["status"], "skipped", "a dry run runs no command: {dry:#}");
    assert!(runs(&sandbox).is_empty());
    let first = mapped(&sandbox);
    assert_eq!((&first["status"], &first["records"]), (&json!("mapped"), &json!(2)), "{first:#}");
    let given = runs(&sandbox)[0].clone();
    assert_eq!(
        given,
        json!({
            "protocol": 1,
            "type": "tickets",
            "name": "tickets",
            "scope_id": "b:tickets",
            "origin_url": null,
            "branch": "main",
            "commit": sandbox.git(&["rev-parse", "HEAD"]),
            "start_dir": "src",
            "include_globs": null,
            "exclude_globs": ["*.draft"],
        })
    );
    let pages = sandbox.json(&["pages", "--scope", "b:tickets"])["pages"].clone();
    let texts: String = pages
        .as_array()
        .unwrap()
        .iter()
        .map(|page| sandbox.colony(&["pages", "show", page["page_id"].as_str().unwrap()]))
        .collect();
    let object = sandbox.git(&["rev-parse", "HEAD:src/a.rs"]);
    assert!(texts.contains(&format!("one of {object}")), "{texts}");
    assert!(texts.contains("tags: open") && texts.contains("T-2%2Fx"), "{texts}");
    sandbox.colony(&["pages", "graph", "--scope", "b:tickets"]);
}

#[test]
fn a_command_runs_again_only_after_changes() {
    let sandbox = with_source();
    set(&sandbox, "command", &noted(&sandbox));
    mapped(&sandbox);
    // Nothing has changed: it does not run again, also with another limit of pages.
    assert_eq!(mapped(&sandbox)["status"], "already_mapped");
    sandbox.git(&["config", "colony.map.flushThreshold", "1"]);
    assert_eq!(mapped(&sandbox)["status"], "mapped");
    assert_eq!(runs(&sandbox).len(), 1);
    set(&sandbox, "version", "2");
    let same: Vec<Value> = [mapped(&sandbox)["pages"].clone()].to_vec();
    assert_eq!((runs(&sandbox).len(), same), (2, vec![json!(2)]));
    sandbox.write("src/b.rs", "fn b() {}\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "more"]);
    assert_eq!(mapped(&sandbox)["pages_added"], 0, "the records are the same");
    assert_eq!(runs(&sandbox).len(), 3);
    let ids = |sandbox: &Sandbox| {
        let pages = sandbox.json(&["pages", "--scope", "b:tickets", "--no-records"]);
        pages["pages"].clone()
    };
    let before = ids(&sandbox);
    sandbox.colony(&["scopes", "unmap", "b:tickets"]);
    assert_eq!(sandbox.git(&["for-each-ref", "refs/colony-local/worktree/"]), "");
    mapped(&sandbox);
    assert_eq!((ids(&sandbox), runs(&sandbox).len()), (before, 4));
}

#[test]
fn a_type_without_a_command_fails_its_row_alone() {
    let sandbox = with_source();
    let unknown = |sandbox: &Sandbox| {
        let row = mapped(sandbox);
        assert_eq!((&row["status"], &row["code"]), (&json!("error"), &json!("source-unknown")));
        let hint = "git config --global colony.source.tickets.command COMMAND";
        assert_eq!(row["hint"], hint);
    };
    unknown(&sandbox);
    let check = sandbox.json(&["map", "check", "--rev", "HEAD"]);
    assert_eq!(
        check["problems"],
        json!([{
            "line": 4,
            "column": 11,
            "message": "there is no command for sources of type 'tickets'",
        }])
    );
    // A repository names no command.
    let escaped = sandbox.outside().join("escaped");
    let command = format!("touch {}", escaped.display());
    for text in [
        format!("[source.tickets]\ncommand = \"{command}\"\n"),
        format!("\"source.tickets.command\" = \"{command}\"\n"),
    ] {
        sandbox.write(".colony/colony.toml", text);
        unknown(&sandbox);
        let warning = sandbox.run(&["map"]).stderr;
        assert!(warning.contains("is for the user to set"), "{warning}");
    }
    assert!(!escaped.exists());
    sandbox.write(".colony/repo_map.yaml", MAP.replace("type: tickets", "type: git_rep"));
    let near = sandbox.json(&["map", "check"])["problems"][0]["message"].clone();
    assert!(near.as_str().unwrap().ends_with("the nearest type is 'git_repo'"), "{near}");
}

#[test]
fn a_hostile_command_ends_in_a_named_outcome() {
    let sandbox = with_source();
    set(&sandbox, "timeout", "20");
    for (command, outcome) in [
        ("yes", "it printed more than 64 MiB"),
        ("kill -SEGV $$", "it crashed, or ran out of memory"),
        ("printf 'why\\033[2J\\n' >&2; exit 3", "it exited with 3 and said 'why[2J'"),
        ("/nowhere/to/be/found 2>/dev/null", "it exited with 127"),
        ("echo text", "line 1: it is not a JSON object"),
        (
            r#"echo '{"path":"../../x","text":""}'"#,
            "line 1: path '../../x' leads out of the repository",
        ),
        (
            r#"printf '{"path":"a","text":""}\n{"path":".git/hooks/x","text":""}'"#,
            "line 2: path '.git/hooks/x' has a part that git refuses",
        ),
        (r"printf '\377\376'", "line 1 is not UTF-8"),
    ] {
        set(&sandbox, "command", command);
        let row = mapped(&sandbox);
        let message = row["message"].as_str().unwrap();
        let wanted = format!("the command of type 'tickets' made no records: {outcome}");
        assert!(message.starts_with(&wanted), "{command}: {message}");
        assert_eq!(row["code"], "source-failed", "{command}");
        assert_eq!(row["status"], "error", "{command}");
    }
    // An endless one is ended with all that it has started.
    let note = sandbox.outside().join("pid");
    let endless = format!("sleep 600 & echo $! >{}; while :; do :; done", note.display());
    set(&sandbox, "timeout", "2.5");
    set(&sandbox, "command", &endless);
    let row = mapped(&sandbox);
    assert!(row["message"].as_str().unwrap().ends_with("it took more than 2.5 s"), "{row:#}");
    let hint = "git config --global colony.source.tickets.timeout SECONDS   # allows it more time";
    assert_eq!(row["hint"], hint);
    let pid = fs::read_to_string(note).unwrap().trim().parse().unwrap();
    eventually("what the command has started ends", || !is_running(pid));
    // Earlier pages stay.
    set(&sandbox, "timeout", "60");
    set(&sandbox, "command", r#"echo '{"path":"a","text":"kept"}'"#);
    assert_eq!(mapped(&sandbox)["pages"], 1);
    set(&sandbox, "command", "exit 1");
    assert_eq!(mapped(&sandbox)["status"], "error");
    assert_eq!(sandbox.json(&["pages", "--scope", "b:tickets"])["total"], 1);
    sandbox.check_invariants_of_git();
}
