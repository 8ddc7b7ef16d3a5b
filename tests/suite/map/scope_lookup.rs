//! Scopes looked up by id, name or row: one answer per question, and hints that work.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::pages::edited_repository::{MAP, commit};
use crate::support::Sandbox;

const ROWS: &str = "schema_version: 1\nsources:\n  - {name: code, type: git_repo}\n  - {name: dir, type: git_repo, start_dir: dir}\n";

#[test]
fn a_map_that_is_not_committed_is_said_to_be_that() {
    let sandbox = Sandbox::new();
    sandbox.write(MAP, ROWS);
    let show = sandbox.run(&["map", "show"]);
    assert!(
        show.stdout.starts_with("'.colony/repo_map.yaml' is not committed: "),
        "{}",
        show.stdout
    );
    assert!(show.stdout.contains("git colony map show --worktree"));
    let preview = sandbox.run(&["map", "preview"]);
    assert!(
        preview.stderr.contains("'.colony/repo_map.yaml' is not committed"),
        "{}",
        preview.stderr
    );
    let told = |command: &str| sandbox.json(&["map", command])["map_uncommitted"].clone();
    assert_eq!((told("show"), told("preview")), (json!(true), json!(true)));
    let on_disk = sandbox.json(&["map", "preview", "--worktree"]);
    assert_eq!((&on_disk["count"], &on_disk["map_uncommitted"]), (&json!(2), &json!(false)));
    commit(&sandbox);
    assert_eq!((told("show"), told("preview")), (json!(false), json!(false)));
}

/// Asserts that every command that uses the map of HEAD notes `note`, or none where it is `None`.
fn assert_noted(sandbox: &Sandbox, note: Option<&str>) {
    for args in [
        &["map", "-n"][..],
        &["map", "show"],
        &["map", "preview"],
        &["search", "bee"],
        &["context", "bee"],
        &["context", "--all"],
        &["context", "--", "dir"],
    ] {
        let run = sandbox.run(args);
        let notes: Vec<&str> = run.stderr.lines().filter(|line| line.contains(MAP)).collect();
        assert_eq!(notes, note.as_slice(), "{args:?}");
    }
}

#[test]
fn a_map_that_was_edited_is_said_not_to_be_used() {
    let sandbox = Sandbox::new();
    sandbox.write(MAP, ROWS);
    commit(&sandbox);
    sandbox.json(&["map"]);
    assert_noted(&sandbox, None);
    let note = "'.colony/repo_map.yaml' has changes that are not committed: that of HEAD is used";
    sandbox.write(MAP, ROWS.replace("dir\n", "other\n").replace("name: dir", "name: more"));
    assert_noted(&sandbox, Some(note));
    sandbox.git(&["add", "-A"]);
    assert_noted(&sandbox, Some(note));
    assert_eq!(sandbox.json(&["map", "show"])["map_edited"], true);
    sandbox.remove(MAP);
    assert_noted(&sandbox, Some(note));
    // The newlines of another platform, and other states, are not edits.
    sandbox.write(MAP, ROWS.replace('\n', "\r\n"));
    assert_noted(&sandbox, None);
    sandbox.write(MAP, "sources: []\n");
    for args in [&["map", "show", "--worktree"][..], &["map", "show", "--rev", "HEAD"]] {
        assert_eq!(sandbox.json(args)["map_edited"], false);
    }
}

fn scopes_of(answer: &Value) -> BTreeSet<&str> {
    let pages = answer["pages"].as_array().unwrap().iter();
    pages.map(|page| page["scope_id"].as_str().unwrap()).collect()
}

#[test]
fn pages_of_the_worktree_are_listed_where_they_are_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.write(MAP, ROWS);
    commit(&sandbox);
    let only = |args: &[&str]| sandbox.json(&[&["pages"], args].concat())["nothing"].clone();
    assert_eq!(only(&["--worktree"]), "no_worktree");
    sandbox.json(&["map", "--worktree"]);
    assert_eq!(only(&[]), "only_worktree");
    let mapped = sandbox.json(&["map"]);
    assert_eq!(only(&[]), Value::Null);
    let ids: Vec<&str> =
        (0..2).map(|at| mapped["results"][at]["scope_id"].as_str().unwrap()).collect();
    let committed = sandbox.json(&["pages"]);
    assert_eq!(scopes_of(&committed), BTreeSet::from([ids[0], ids[1]]));
    let private = sandbox.json(&["pages", "--worktree"]);
    let names = [0, 1].map(|at| format!("{}@worktree", ids[at]));
    let wanted = names.iter().map(String::as_str).collect();
    assert_eq!(scopes_of(&private), wanted);
    assert_eq!(private["total"], committed["total"]);
    assert_eq!((&committed["worktree"], &private["worktree"]), (&json!(false), &json!(true)));
    // By the row, by the scope, and by its own id.
    for args in [
        ["--worktree", "--scope", "dir"],
        ["--worktree", "--scope", ids[1]],
        ["--limit=9", "--scope", &names[1]],
    ] {
        let listed = sandbox.json(&[&["pages"], &args[..]].concat());
        assert_eq!(scopes_of(&listed), BTreeSet::from([names[1].as_str()]), "{args:?}");
    }
    // An edit makes one of them stale, and not the other.
    sandbox.write("dir/new", "new\n");
    let stale = |args: &[&str]| sandbox.json(&[&["pages"], args].concat())["stale"].clone();
    assert_eq!((stale(&[]), stale(&["--worktree"])), (json!(false), json!(true)));
}

#[test]
fn the_hint_about_a_scope_that_left_the_map_works_when_pasted() {
    let sandbox = Sandbox::new();
    sandbox.write(MAP, ROWS);
    commit(&sandbox);
    sandbox.json(&["map"]);
    sandbox.write(MAP, "schema_version: 1\nsources:\n  - {name: code, type: git_repo}\n");
    commit(&sandbox);
    let run = sandbox.run(&["map"]);
    let line = run.stdout.lines().find(|line| line.starts_with("no longer in the map: "));
    let (_, pasted) = line.unwrap().split_once("to unmap: git colony ").unwrap();
    let words: Vec<&str> = pasted.split(' ').map(|word| word.trim_matches('\'')).collect();
    assert!(sandbox.colony(&words).starts_with("unmapped"), "{pasted}");
    assert_eq!(sandbox.json(&["scopes"])["count"], 1);
}

#[test]
fn a_scope_is_mapped_by_its_id_and_shown_by_the_name_of_its_row() {
    let sandbox = Sandbox::new();
    sandbox.write(MAP, ROWS);
    commit(&sandbox);
    let mapped = sandbox.json(&["map"]);
    let id = mapped["results"][1]["scope_id"].as_str().unwrap();
    let answer = |id: &str| sandbox.json(&["scopes", "mapped", id]);
    assert_eq!(answer(id)["mapped"], true);
    let beginning = &id[..id.len() - 1];
    let base = id.rsplit_once(':').unwrap().0;
    for (word, meant) in [("dir", 1), (beginning, 1), (base, 2), ("nothing", 0)] {
        let told = answer(word);
        assert_eq!((&told["mapped"], &told["scope_id"]), (&json!(false), &json!(word)));
        assert_eq!(told["meant"].as_array().unwrap().len(), meant, "{word}");
        assert_eq!(sandbox.run(&["scopes", "mapped", word]).code, 1);
    }
    let note = sandbox.run(&["scopes", "mapped", "dir"]).stderr;
    assert!(note.ends_with(&format!("as in: {id}\n")), "{note}");
    for word in ["dir", beginning, id] {
        assert_eq!(sandbox.json(&["scopes", "show", word])["scope_id"], id);
        let would = sandbox.json(&["scopes", "unmap", "-n", word]);
        assert_eq!((&would["scope_id"], &would["status"]), (&json!(id), &json!("unmapped")));
    }
    assert_eq!(sandbox.error(&["scopes", "unmap", base]), "name-ambiguous");
    assert_eq!(sandbox.error(&["scopes", "show", base]), "name-ambiguous");
    sandbox.colony(&["scopes", "unmap", "dir"]);
    assert_eq!(answer(id)["mapped"], false);
    assert_eq!(sandbox.json(&["scopes", "unmap", "dir"])["status"], "not_mapped");
    assert_eq!(sandbox.json(&["scopes"])["count"], 1);
}

#[test]
fn a_colony_that_is_named_after_a_map_renames_no_scope() {
    let sandbox = Sandbox::new();
    let before = sandbox.json(&["map"])["results"][0].clone();
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    for dry in [&["-n"][..], &[]] {
        let refused = sandbox.json(&[&["init", "--no-lfs", "--colony", "bridge"], dry].concat());
        assert_eq!(refused["code"], "invalid-value", "{refused:#}");
        assert_eq!(refused["detail"]["scopes"], json!([before["scope_id"]]));
    }
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head);
    assert!(!sandbox.path(".colony").exists());
    sandbox.colony(&["init", "--no-lfs"]);
    let after = sandbox.json(&["map"]);
    assert_eq!(after["results"][0]["scope_id"], before["scope_id"]);
    assert_eq!(after["retired"], json!([]));
}

#[test]
fn unreadable_records_are_not_reported_as_a_scope_not_mapped() {
    let sandbox = Sandbox::new();
    sandbox.json(&["map"]);
    sandbox.write(".git/refs/colony/scopes", format!("{}\n", "1".repeat(40)));
    for args in [
        &["scopes"][..],
        &["scopes", "mapped", "x"],
        &["scopes", "unmap", "x"],
        &["init", "--no-lfs", "--colony", "bridge"],
    ] {
        assert_eq!(sandbox.error(args), "object-missing", "{args:?}");
    }
    assert!(!sandbox.path(".colony").exists());
}

#[test]
fn a_colony_that_is_named_as_the_scopes_begin_is_taken() {
    let sandbox = Sandbox::new();
    sandbox.json(&["map", "--base-scope", "bridge"]);
    sandbox.colony(&["init", "--no-lfs", "--colony", "bridge"]);
    assert_eq!(sandbox.json(&["map"])["results"][0]["scope_id"], "bridge");
}

#[test]
fn a_second_clone_of_a_repository_does_not_replace_the_first() {
    let sandbox = Sandbox::new();
    let outside = sandbox.outside();
    let git = |args: &[&str]| drop(sandbox.at(outside.clone()).git(args));
    let library = sandbox.path(".").canonicalize().unwrap().display().to_string();
    for name in ["one", "two"] {
        git(&["clone", "-q", &format!("{library}/."), name]);
    }
    let map = |name: &str, more: &[&str]| {
        let path = outside.join(name).display().to_string();
        sandbox.json(&[&["map", "repo", "--path", &path], more].concat())
    };
    let first = map("one", &[]);
    let root = sandbox.git(&["rev-list", "--max-parents=0", "HEAD"]);
    assert_eq!(first["scope_id"], root.trim(), "a path is no base for an identity");
    assert_eq!(map("one", &[])["status"], "already_mapped");
    let by_url = sandbox.json(&["map", "repo", "--url", &library]);
    assert_eq!(by_url["detail"]["scope_id"], root.trim(), "{by_url:#}");
    let refused = map("two", &[]);
    assert_eq!(refused["code"], "invalid-value", "{refused:#}");
    let from = refused["detail"]["mapped_from"].as_str().unwrap();
    assert!(from.ends_with("/one/.git"), "{from}");
    let hint = refused["hint"].as_str().unwrap();
    let (command, _) = hint.split_once("  ").unwrap();
    let words = command.split(' ').skip(2).map(|word| word.trim_matches('\''));
    let words: Vec<&str> = words.collect();
    let second = sandbox.json(&words);
    assert_eq!(
        (&second["status"], &second["scope_id"]),
        (&json!("mapped"), &json!("two")),
        "{second:#}"
    );
    let shown = sandbox.colony(&["scopes", "show", root.trim()]);
    assert!(shown.ends_with(&format!("from: {library}\n")), "{shown}");
    assert_eq!(sandbox.json(&["scopes"])["count"], 2);
    // One that is gone has no place to be taken.
    std::fs::remove_dir_all(outside.join("one")).unwrap();
    assert_eq!(map("two", &[])["scope_id"], root.trim());
}

#[test]
fn a_setting_is_found_by_its_name_in_a_repository_file() {
    let sandbox = Sandbox::new();
    for name in ["colony.maxNewFiles", "maxNewFiles", "MAXNEWFILES"] {
        assert_eq!(sandbox.colony(&["config", "get", name]), "2000\n");
    }
    assert_eq!(sandbox.colony(&["config", "get", "map.tokenizer"]), "o200k\n");
    assert_eq!(sandbox.error(&["config", "get", "NewFiles"]), "unknown-setting");
}

#[test]
fn a_page_holds_each_text_once_in_json() {
    let sandbox = Sandbox::new();
    sandbox.write("only/a.txt", "needle-one\n");
    commit(&sandbox);
    sandbox.json(&["map"]);
    let listed = sandbox.json(&["pages", "--path", "only"]);
    let id = listed["pages"][0]["page_id"].as_str().unwrap();
    for format in ["json", "text"] {
        let run = sandbox.run(&["--json", "pages", "show", id, "--format", format]);
        assert_eq!(run.stdout.matches("needle-one").count(), 1, "{}", run.stdout);
        let shown: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(shown["pages"][0]["records"][0]["text"], "needle-one\n");
    }
    let lines = sandbox.colony(&["pages", "show", id, "--format", "json"]);
    assert_eq!(lines.lines().count(), 1);
}

#[test]
fn the_only_row_of_a_map_is_found_by_its_name() {
    let sandbox = Sandbox::new();
    let id = sandbox.json(&["map"])["results"][0]["scope_id"].clone();
    sandbox.json(&["map", "--worktree"]);
    let of = |args: &[&str]| {
        let answer = sandbox.json(args);
        assert_eq!(answer["ok"], true, "{args:?}: {answer:#}");
        answer
    };
    let listed = of(&["pages", "--scope", "default"]);
    assert_eq!(listed["pages"][0]["scope_id"], id);
    let private = of(&["pages", "--worktree", "--scope", "default"]);
    let name = format!("{}@worktree", id.as_str().unwrap());
    assert_eq!(private["pages"][0]["scope_id"], name);
    assert_eq!(of(&["scopes", "show", "default"])["scope_id"], id);
    assert_eq!(of(&["scopes", "unmap", "-n", "default"])["scope_id"], id);
    let meant = sandbox.json(&["scopes", "mapped", "default"]);
    assert_eq!(meant["meant"], json!([id]));
    of(&["search", "bee", "--scope", "default"]);
    of(&["pages", "show", "--path", "a.txt", "--scope", "default"]);
    of(&["pages", "graph", "--scope", "default"]);
    let stats = of(&["pages", "stats", "--scope", "default"]);
    assert_eq!(stats["scopes"].as_array().unwrap().len(), 1, "{stats:#}");
    assert_eq!(stats["scopes"][0]["scope_id"], id);
    let watch = of(&["watch", "--scope", "default", "-n"]);
    assert_eq!(watch["scope_id"], id);
    let events = of(&["events", "--all", "--scope", "default"]);
    assert_eq!(events["events"][0]["value"]["scope_id"], id, "{events:#}");
    let call = ["call", "get_vcm_stats", "{\"scope_id\": \"default\"}"];
    let by_action: Value = serde_json::from_str(&sandbox.run(&call).stdout).unwrap();
    assert_eq!(by_action["scopes"], stats["scopes"]);
    assert_eq!(sandbox.error(&["pages", "--scope", "defaults"]), "scope-not-found");
}

#[test]
fn an_ambiguous_word_for_a_scope_names_the_candidates() {
    let sandbox = Sandbox::new();
    sandbox.write(MAP, ROWS);
    commit(&sandbox);
    let mapped = sandbox.json(&["map"]);
    let ids = [0, 1].map(|at| mapped["results"][at]["scope_id"].as_str().unwrap());
    let base = ids[0].strip_suffix(":code").unwrap();
    for args in [
        &["pages", "--scope", base][..],
        &["pages", "stats", "--scope", base],
        &["pages", "graph", "--scope", base],
        &["scopes", "show", base],
        &["scopes", "unmap", base],
        &["search", "bee", "--scope", base],
        &["watch", "--scope", base, "-n"],
        &["events", "--scope", base],
    ] {
        let refused = sandbox.json(args);
        assert_eq!(refused["code"], "name-ambiguous", "{args:?}: {refused:#}");
        assert_eq!(refused["detail"]["scopes"], json!(ids), "{args:?}");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains(ids[0]) && message.contains(ids[1]));
    }
}
