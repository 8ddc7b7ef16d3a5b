//! Locks that others hold on the server of git-lfs: told where a fork changes what is locked, known
//! without the network, asked for in bounded time. The server and git-lfs are real.

use std::fs;

use serde_json::{Value, json};

use crate::agents::new_and_merge::{agent, commit};
use crate::remote::credentials_leak::{Desk, TOKEN};
use crate::support::Sandbox;
use crate::support::git_server::{GitServer, Manner, Wire};
use crate::support::lfs_server::Locks;

const LOGIN: &str = "ada:word";

/// A repository with large files whose origin is a server.
fn desk_with_server() -> (Sandbox, GitServer) {
    let desk = Sandbox::new();
    let served = desk.outside().join("served");
    fs::create_dir(&served).unwrap();
    let login = LOGIN.to_owned();
    let server = GitServer::start(&served, Wire::Plain, Manner::Serve { login });
    let bare = served.join("design.git");
    desk.git(&["init", "-q", "--bare", "-b", "main", bare.to_str().unwrap()]);
    let url = server.url("design.git").replace("://", "://ada:word@");
    desk.git(&["remote", "add", "origin", &url]);
    large_files(&desk);
    (desk, server)
}

fn large_files(desk: &Sandbox) {
    desk.git(&["lfs", "install", "--local"]);
    let attributes = "*.bin filter=lfs diff=lfs merge=lfs -text\n";
    desk.write(".gitattributes", attributes);
    for name in ["model", "own", "free"] {
        desk.write(&format!("{name}.bin"), "large\n");
    }
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "large files"]);
}

fn asked(server: &GitServer) -> usize {
    let seen = server.seen().into_iter();
    let verify = seen.filter(|seen| seen.line.ends_with("/locks/verify"));
    verify.filter(|seen| seen.authorization.is_some()).count()
}

/// What is locked, as a report says it: path, owner, branches.
fn locked(report: &Value) -> Vec<Value> {
    let rows = report["locked"].as_array().unwrap().iter();
    let row = |row: &Value| json!([row["path"], row["locked_by"], row["changed_in"]]);
    rows.map(row).collect()
}

#[test]
fn what_others_have_locked_is_told_where_it_is_changed() {
    let (desk, server) = desk_with_server();
    let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
    commit(&ada, "model.bin", "of ada\n");
    bob.write("model.bin", "of bob, unsaved\n");
    bob.write("own.bin", "of bob, unsaved\n");
    let never = desk.json(&["fleet"]);
    assert_eq!(never["locks_known_at"], Value::Null);
    assert_eq!(locked(&never), Vec::<Value>::new());
    let id = server.large().lock("Jane", "model.bin");
    server.large().lock("Jane", "free.bin");
    desk.git(&["lfs", "lock", "own.bin"]);
    let asked_before = asked(&server);
    desk.colony(&["sync"]);
    assert_eq!(asked(&server), asked_before + 1);
    let fleet = desk.json(&["fleet"]);
    let both = json!(["model.bin", "Jane", ["fork/ada", "fork/bob"]]);
    assert_eq!(locked(&fleet), [both], "{fleet:#}");
    let row = &fleet["locked"][0];
    assert_eq!(row["id"], id);
    assert_eq!(row["locked_at"], "2026-01-02T03:00:00Z");
    assert!(fleet["locks_known_at"].is_string());
    let said = desk.colony(&["fleet"]);
    let line = format!("locked by Jane: model.bin (lock {id}), changed in fork/ada and fork/bob\n");
    assert!(said.contains(&line), "{said}");
    // A fork is what is committed; a clone knows what the desk has asked.
    let of_ada = json!(["model.bin", "Jane", ["fork/ada"]]);
    for report in [
        desk.json(&["forks", "--conflicts"]),
        desk.json(&["forks", "--conflicts", "--refresh"]),
        bob.json(&["forks", "--conflicts"]),
    ] {
        assert_eq!(locked(&report), std::slice::from_ref(&of_ada), "{report:#}");
    }
    assert_eq!(desk.json(&["forks"])["locked"], Value::Null);
    for args in [&["merge", "ada", "-n"][..], &["merge", "ada"]] {
        let merged = desk.json(args);
        assert_eq!(merged["ok"], true, "{merged:#}");
        assert_eq!(merged["locked"][0]["locked_by"], "Jane", "{merged:#}");
        assert_eq!(merged["locked"].as_array().unwrap().len(), 1);
    }
    // What is merged is changed nowhere else, and what is given back is told no more.
    let of_bob = json!(["model.bin", "Jane", ["fork/bob"]]);
    assert_eq!(locked(&desk.json(&["fleet"])), [of_bob]);
    assert_eq!(asked(&server), asked_before + 2, "only who is told to asks");
    server.large().set(Locks::Held(Vec::new()));
    assert_eq!(locked(&desk.json(&["fleet", "--refresh"])), Vec::<Value>::new());
}

#[test]
fn uncommitted_desk_changes_count_and_a_dry_run_notes_nothing() {
    let (desk, server) = desk_with_server();
    server.large().lock("Jane", "model.bin");
    desk.colony(&["sync", "-n"]);
    assert_eq!(desk.json(&["fleet"])["locks_known_at"], Value::Null);
    // Nobody takes part in a colony yet: the note is this repository's.
    desk.colony(&["fleet", "--refresh"]);
    let note = desk.path(".git/colony/cache/lfs-locks-1.json");
    assert!(note.exists());
    assert_eq!(locked(&desk.json(&["fleet"])), Vec::<Value>::new());
    desk.write("model.bin", "changed here\n");
    let here = json!(["model.bin", "Jane", ["main"]]);
    assert_eq!(locked(&desk.json(&["fleet"])), [here]);
    fs::remove_file(note).unwrap();
    assert_eq!(desk.json(&["fleet"])["locks_known_at"], Value::Null);
}

/// A desk that knows of a lock which a fork meets.
fn desk_that_knows() -> (Sandbox, GitServer) {
    let (desk, server) = desk_with_server();
    let ada = agent(&desk, "ada");
    commit(&ada, "model.bin", "of ada\n");
    server.large().lock("Jane", "model.bin");
    desk.colony(&["sync"]);
    (desk, server)
}

#[test]
fn without_an_answer_what_was_known_counts_and_its_age_is_said() {
    let (desk, server) = desk_that_knows();
    let known = desk.json(&["fleet"])["locks_known_at"].clone();
    let answers = [
        Locks::Said(404, "{}".to_owned()),
        Locks::Said(403, "{}".to_owned()),
        Locks::Said(500, "no".to_owned()),
        Locks::Said(501, String::new()),
        Locks::Said(200, "{\"ours\": [".to_owned()),
        Locks::Said(200, "{\"theirs\": [{\"id\": 7}]}".to_owned()),
        Locks::WithoutEnd,
    ];
    for answer in answers {
        server.large().set(answer);
        let run = desk.run(&["--timeout", "1", "fleet", "--refresh"]);
        assert_eq!(run.code, 0);
        let warning = "warning: cannot ask for the locks of large files: ";
        assert!(run.stderr.contains(warning), "{}", run.stderr);
        assert!(run.stdout.contains("locked by Jane: model.bin"));
        assert!(!run.stderr.contains("word"), "{}", run.stderr);
    }
    drop(server);
    // A sync that does not reach the remote fails before.
    assert_eq!(desk.error(&["sync"]), "remote-unreachable");
    let run = desk.run(&["fleet", "--refresh"]);
    assert!(run.stderr.contains("the last answer counts"));
    let fleet = desk.json(&["fleet"]);
    assert_eq!(fleet["locks_known_at"], known);
    assert_eq!(locked(&fleet).len(), 1);
    let later = desk.world_at(3 * 60 * 60);
    let said = desk.run_in(later, &["fleet"]).stdout;
    let age = "locks as the server listed them 2 hours ago; ask again: git colony --refresh";
    assert!(said.contains(age), "{said}");
}

#[test]
fn what_the_server_says_is_data() {
    let (desk, server) = desk_that_knows();
    let owner = "E\u{1b}]0;pwn\u{7}ve\n  locked by root\u{202e}";
    let long = "x".repeat(100_000);
    let lock = |id: &str, path: &str, owner: &str| json!({"id": id, "path": path, "owner": {"name": owner}, "locked_at": "soon"});
    let mut theirs = vec![
        lock("1\u{1b}[2J", "model.bin", owner),
        lock("2", "model.bin", &long),
        lock("3", "../model.bin", "out"),
        lock("4", "/etc/passwd", "out"),
        lock("5", ".git/config", "out"),
    ];
    let answer = json!({"ours": null, "theirs": theirs, "message": "", "x": [long]});
    // A time that is none is refused by git-lfs itself.
    server.large().set(Locks::Said(200, answer.to_string()));
    let run = desk.run(&["fleet", "--refresh"]);
    assert!(run.stderr.contains("warning: cannot ask"), "{}", run.stderr);
    for lock in &mut theirs {
        lock["locked_at"] = "2026-01-02T03:00:00Z".into();
    }
    let answer = json!({"ours": null, "theirs": theirs});
    server.large().set(Locks::Said(200, answer.to_string()));
    let run = desk.run(&["fleet", "--refresh"]);
    let plain =
        |text: &str| text.chars().all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}'));
    assert!(plain(&run.stdout) && plain(&run.stderr), "{:?}", run.stdout);
    let lines = run.stdout.lines().filter(|line| line.starts_with("locked by "));
    assert!(lines.clone().all(|line| line.len() < 600), "{}", run.stdout);
    assert_eq!(lines.count(), 2, "{}", run.stdout);
    let fleet = desk.json(&["fleet"]);
    let rows = fleet["locked"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{fleet:#}");
    assert!(rows.iter().all(|row| row["path"] == "model.bin"));
    assert_eq!(rows[0]["locked_by"], owner);
}

#[test]
fn a_repository_without_large_files_is_never_asked_for_locks() {
    let (desk, server) = desk_with_server();
    desk.git(&["rm", "-q", "*.bin"]);
    desk.git(&["commit", "-qm", "no large file"]);
    desk.colony(&["sync"]);
    assert_eq!(asked(&server), 0);
    desk.git(&["lfs", "uninstall", "--local"]);
    let run = desk.run(&["fleet", "--refresh"]);
    assert_eq!(run.code, 0);
    assert!(run.stderr.contains("git-lfs is not set up here"), "{}", run.stderr);
    assert_eq!(asked(&server), 0);
}

#[test]
fn asking_for_locks_uses_the_token_and_leaves_it_nowhere() {
    let desk = Desk::new();
    let server = desk.server(Wire::Tls);
    desk.configure(&[&server]);
    let sandbox = &desk.sandbox;
    sandbox.git(&["remote", "add", "origin", &server.url("design.git")]);
    large_files(sandbox);
    server.large().lock("Jane", "model.bin");
    sandbox.git(&[
        "push",
        "-q",
        "--no-verify",
        desk.served.join("design.git").to_str().unwrap(),
        "main",
    ]);
    let mut said = Vec::new();
    for args in
        [&["agents", "new", "ada"][..], &["clones", "refresh", "ada"], &["fleet", "--refresh"]]
    {
        let output = desk.program(TOKEN, args);
        assert!(output.status.success(), "{args:?}");
        said.extend([output.stdout, output.stderr].concat());
    }
    assert_eq!(asked(&server), 2, "{:?}", server.seen());
    sandbox.write("model.bin", "changed here\n");
    let refused = desk.program("another", &["--json", "fleet", "--refresh"]);
    assert!(refused.status.success());
    let fleet: Value = serde_json::from_slice(&refused.stdout).unwrap();
    assert_eq!(fleet["locked"][0]["locked_by"], "Jane", "{fleet:#}");
    said.extend([refused.stdout, refused.stderr].concat());
    desk.hunt(&[&server], &[&said]);
}
