//! One repository: keys written, compared, deleted and taken back.

use std::ffi::OsString;
use std::io::Cursor;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Sandbox, View};

const REF: &str = "refs/colony/blackboard/plan";

/// Writes a key of the blackboard `plan`; returns its version.
pub(super) fn put(view: &View, key: &str, value: &str) -> String {
    let answer = view.json(&["blackboard", "put", "plan", key, value]);
    assert_eq!(answer["ok"], true, "{answer:#}");
    answer["version"].as_str().unwrap().to_owned()
}

/// Reads a key of the blackboard `plan`; null if it has no value.
pub(super) fn get(view: &View, key: &str) -> Value {
    view.json(&["blackboard", "get", "plan", key])["value"].clone()
}

#[test]
fn a_key_is_written_only_at_the_version_that_is_named() {
    let sandbox = Sandbox::new();
    let first = put(&sandbox, "owner", "ada");
    assert!(first.starts_with("1-") && first.len() == 10, "{first}");
    let again = sandbox.json(&["blackboard", "put", "plan", "owner", "ada"]);
    assert_eq!(again["status"], "unchanged");
    assert_eq!((&again["op"], &again["version"]), (&json!(null), &json!(first)));
    let at = |version: &str| {
        sandbox.json(&["blackboard", "put", "plan", "owner", "bob", "--if-version", version])
    };
    for stale in ["0", "2-00000000"] {
        let refused = at(stale);
        assert_eq!(refused["code"], "version-mismatch");
        assert_eq!(refused["detail"]["version"], json!(first));
    }
    assert_eq!(at(&first)["previous_version"], json!(first));
    assert_eq!(get(&sandbox, "owner"), "bob");
    // A key that does not exist has the version 0.
    let new = ["blackboard", "put", "plan", "new", "x", "--if-version", "0"];
    assert_eq!(sandbox.json(&new)["status"], "written");
    assert_eq!(sandbox.error(&["blackboard", "get", "plan", "none"]), "key-not-found");
    let none = sandbox.json(&["blackboard", "delete", "plan", "none"]);
    assert_eq!((&none["ok"], &none["status"]), (&json!(true), &json!("unchanged")));
    let listed = sandbox.json(&["blackboard", "list", "plan"]);
    let keys = listed["keys"].as_array().unwrap().iter();
    let keys: Vec<_> = keys.map(|row| row["key"].clone()).collect();
    assert_eq!(keys, ["new", "owner"]);
    let all = sandbox.json(&["blackboard", "list"]);
    assert_eq!(all["blackboards"], json!([{"scope": "plan", "key_count": 2}]));
    sandbox.check_invariants();
}

#[test]
fn a_dry_run_writes_nothing() {
    let sandbox = Sandbox::new();
    put(&sandbox, "owner", "ada");
    let before = sandbox.refs();
    let would = sandbox.json(&["blackboard", "put", "-n", "plan", "owner", "bob"]);
    assert_eq!((&would["status"], &would["op"]), (&json!("written"), &json!(null)));
    let would = sandbox.json(&["blackboard", "delete", "-n", "plan", "owner"]);
    assert_eq!((&would["status"], &would["version"]), (&json!("deleted"), &json!("0")));
    assert_eq!(sandbox.refs(), before);
}

#[test]
fn undo_takes_a_change_back_by_a_new_commit_on_the_key() {
    let sandbox = Sandbox::new();
    put(&sandbox, "owner", "ada");
    put(&sandbox, "owner", "bob");
    let tip = sandbox.git(&["rev-parse", REF]);
    let undone = sandbox.json(&["undo"]);
    assert_eq!(undone["ok"], true, "{undone:#}");
    assert_eq!(get(&sandbox, "owner"), "ada");
    assert_eq!(sandbox.git(&["rev-parse", &format!("{REF}~")]), tip);
    assert_eq!(sandbox.json(&["redo"])["ok"], true);
    assert_eq!(get(&sandbox, "owner"), "bob");
    sandbox.colony(&["blackboard", "delete", "plan", "owner"]);
    assert_eq!(sandbox.json(&["undo"])["ok"], true);
    assert_eq!(get(&sandbox, "owner"), "bob");
    // Another worktree changes another key, and then the same one.
    let other = sandbox.outside().join("other");
    sandbox.git(&["worktree", "add", "-q", "--detach", other.to_str().unwrap()]);
    let other = sandbox.at(other);
    put(&sandbox, "mine", "1");
    put(&other, "yours", "2");
    assert_eq!(sandbox.json(&["undo"])["ok"], true);
    assert_eq!((get(&sandbox, "mine"), get(&sandbox, "yours")), (json!(null), json!("2")));
    put(&sandbox, "mine", "3");
    put(&other, "mine", "4");
    assert_eq!(sandbox.error(&["undo"]), "external-change");
    assert_eq!(get(&sandbox, "mine"), "4");
    assert_eq!(sandbox.json(&["undo", "--force"])["ok"], true);
    assert_eq!((get(&sandbox, "mine"), get(&sandbox, "yours")), (json!(null), json!("2")));
    sandbox.check_invariants();
}

#[test]
fn a_look_at_the_next_undo_writes_no_object() {
    let sandbox = Sandbox::new();
    put(&sandbox, "owner", "ada");
    let count = || sandbox.git(&["count-objects"]);
    let before = count();
    sandbox.json(&["status"]);
    sandbox.json(&["undo", "-n"]);
    assert_eq!(count(), before);
}

#[test]
fn hostile_names_and_values_are_only_data() {
    let sandbox = Sandbox::new();
    let long = "x:/".repeat(300);
    let names = [
        "../../HEAD",
        "a/b/../c",
        "git_repo:1:2",
        "-n",
        "--",
        ".",
        "..",
        "a.lock",
        "@{0}",
        "*?[",
        "%2F",
        "\u{202e}é中",
        &long,
    ];
    for name in names {
        let key = ["blackboard", "put", "--", name, name, name];
        let answer = sandbox.json(&key);
        assert_eq!(answer["ok"], true, "{answer:#}");
        let shown = sandbox.json(&["blackboard", "get", "--", name, name]);
        assert_eq!(shown["value"], json!(name));
        let listed = sandbox.json(&["blackboard", "list", "--", name]);
        assert_eq!(listed["keys"][0]["key"], json!(name), "{listed:#}");
    }
    let listed = sandbox.json(&["blackboard", "list"]);
    assert_eq!(listed["count"], names.len());
    let refs = sandbox.git(&["for-each-ref", "--format=%(refname)", "refs/colony/blackboard"]);
    assert!(refs.lines().all(|name| name.len() < 250), "{refs}");
    for bad in ["", "a\nb", "\u{1b}[31m", "\u{7f}"] {
        assert_eq!(sandbox.error(&["blackboard", "put", bad, "k", "v"]), "invalid-value");
        assert_eq!(sandbox.error(&["blackboard", "put", "s", bad, "v"]), "invalid-value");
    }
    // A value may be any text. On a terminal its control characters are visible.
    let value = "\u{1b}]0;title\u{7}\nsecond\tline\n";
    put(&sandbox, "escape", value);
    let args = ["blackboard", "get", "plan", "escape"];
    assert_eq!(sandbox.run(&args).stdout, value);
    let mut world = sandbox.world();
    world.stdout_is_terminal = true;
    let shown = sandbox.run_in(world, &args).stdout;
    assert!(!shown.contains('\u{1b}') && !shown.contains('\u{7}'), "{shown:?}");
    sandbox.check_invariants();
}

#[test]
fn what_is_too_large_is_refused_by_a_code() {
    let sandbox = Sandbox::new();
    let read = |bytes: Vec<u8>| {
        let args = ["--json", "blackboard", "put", "plan", "big", "-"];
        let args = args.iter().map(OsString::from).collect();
        let run = sandbox.run_reading(sandbox.world(), args, Box::new(Cursor::new(bytes)));
        serde_json::from_str::<Value>(&run.stdout).unwrap()
    };
    let largest = vec![b'\x01'; 1 << 20];
    assert_eq!(read(largest.clone())["status"], "written");
    assert_eq!(get(&sandbox, "big").as_str().unwrap().as_bytes(), largest);
    assert_eq!(read(vec![b'x'; (1 << 20) + 1])["code"], "value-too-large");
    assert_eq!(read("é".repeat(1 << 20).into_bytes())["code"], "value-too-large");
    assert_eq!(read(vec![0xff])["code"], "invalid-value");
    let long = "k".repeat(10_000);
    assert_eq!(sandbox.error(&["blackboard", "put", "plan", &long, "v"]), "value-too-large");
    assert_eq!(sandbox.error(&["blackboard", "put", &long, "k", "v"]), "value-too-large");
    assert_eq!(sandbox.error(&["blackboard", "list", &long]), "value-too-large");
}

#[test]
fn an_entry_that_is_no_key_is_reported_and_can_be_deleted() {
    let sandbox = Sandbox::new();
    put(&sandbox, "good", "1");
    let stored = sandbox.git(&["rev-parse", &format!("{REF}:good")]);
    let tree =
        format!("040000 tree {}\tevil\n040000 tree {}\tgood\n", stored.trim(), stored.trim());
    let tree = sandbox.make_tree(&tree);
    let commit = sandbox.git(&["commit-tree", tree.trim(), "-p", REF, "-m", "evil"]);
    sandbox.git(&["update-ref", REF, commit.trim()]);
    let listed = sandbox.json(&["blackboard", "list", "plan"]);
    assert_eq!(listed["count"], 1);
    assert_eq!(listed["unreadable"][0]["name"], "evil");
    let broken = sandbox.json(&["blackboard", "get", "plan", "evil"]);
    assert_eq!(broken["code"], "repository-broken", "{broken:#}");
    let hint = "git colony blackboard delete 'plan' 'evil'";
    assert_eq!(broken["hint"], hint);
    let deleted = sandbox.json(&["blackboard", "delete", "plan", "evil"]);
    assert_eq!(deleted["ok"], true, "{deleted:#}");
    assert_eq!(sandbox.json(&["blackboard", "list", "plan"])["unreadable"], json!([]));
    assert_eq!(get(&sandbox, "good"), "1");
}

#[test]
fn a_long_history_begins_anew() {
    let sandbox = Sandbox::new();
    put(&sandbox, "k", "1");
    let tree = sandbox.git(&["rev-parse", &format!("{REF}^{{tree}}")]);
    for (counted, left) in [(998, 3), (999, 1)] {
        let message = format!("put\n\nCommits: {counted}");
        let commit = sandbox.git(&["commit-tree", tree.trim(), "-m", &message]);
        sandbox.git(&["update-ref", REF, commit.trim()]);
        put(&sandbox, "k", "2");
        put(&sandbox, "k", "3");
        let count = sandbox.git(&["rev-list", "--count", REF]);
        assert_eq!(count.trim(), left.to_string());
    }
    // The operation keeps what undo needs.
    assert_eq!(sandbox.json(&["undo"])["ok"], true);
    assert_eq!(get(&sandbox, "k"), "2");
}

fn process(sandbox: &Sandbox, root: &Path, args: &[&str]) -> std::process::Child {
    let mut program = sandbox.program();
    let program = program.current_dir(root).args(args);
    program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn puts_at_once_lose_nothing() {
    let sandbox = Sandbox::new();
    let other = sandbox.outside().join("other");
    sandbox.git(&["worktree", "add", "-q", "--detach", other.to_str().unwrap()]);
    let roots = [sandbox.root.clone(), other];
    let put = |number: usize| {
        let key = format!("k{number}");
        let args = ["--timeout", "600", "blackboard", "put", "plan", &key, "v"];
        process(&sandbox, &roots[number % 2], &args)
    };
    let started: Vec<_> = (0..16).map(put).collect();
    for one in started {
        let done = one.wait_with_output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    assert_eq!(sandbox.json(&["blackboard", "list", "plan"])["count"], 16);
    sandbox.check_invariants();
}

#[test]
fn of_two_that_name_one_version_one_writes() {
    let sandbox = Sandbox::new();
    let mut version = put(&sandbox, "turn", "nobody");
    for round in 0..4 {
        let take = |who: &str| {
            let who = format!("{who}{round}");
            let args = ["blackboard", "put", "plan", "turn", &who, "--if-version", &version];
            process(&sandbox, &sandbox.root, &args)
        };
        let started: Vec<_> = ["a", "b", "c"].map(take).into_iter().collect();
        let ended = started.into_iter().map(|mut one| one.wait().unwrap());
        assert_eq!(ended.filter(std::process::ExitStatus::success).count(), 1);
        let now = sandbox.json(&["blackboard", "get", "plan", "turn"]);
        version = now["version"].as_str().unwrap().to_owned();
    }
}

#[test]
fn a_dash_from_a_program_is_a_value_and_not_standard_input() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["call", "blackboard_put", r#"{"scope":"s","key":"k","value":"-"}"#]);
    assert_eq!(sandbox.json(&["blackboard", "get", "s", "k"])["value"], "-");
    sandbox.colony(&["blackboard", "put", "s", "k", "--text", "--none"]);
    assert_eq!(sandbox.json(&["blackboard", "get", "s", "k"])["value"], "--none");
    let listed = sandbox.json(&["blackboard", "list", "s"]);
    assert_eq!(listed["message"], "1 key of 's'", "{listed:#}");
}

#[test]
fn a_ref_that_is_no_board_does_not_hide_the_others() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["blackboard", "put", "s", "k", "v"]);
    let blob = sandbox.git(&["hash-object", "-w", "a.txt"]);
    sandbox.git(&["update-ref", "refs/colony/blackboard/x", &blob]);
    let listed = sandbox.json(&["blackboard", "list"]);
    assert_eq!(listed["blackboards"][0]["scope"], "s", "{listed:#}");
    let unreadable = listed["unreadable"].as_array().unwrap();
    assert_eq!(unreadable.len(), 1, "{listed:#}");
    assert_eq!(unreadable[0]["name"], "refs/colony/blackboard/x");
    let told = sandbox.colony(&["blackboard", "list"]);
    assert!(told.contains("not used: refs/colony/blackboard/x: "), "{told}");
}

#[test]
fn hints_keep_a_name_from_passing_for_an_option() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["blackboard", "put", "--", "-s", "-k", "v"]);
    let args = ["blackboard", "put", "--if-version", "0", "--", "-s", "-k", "w"];
    let hint = sandbox.json(&args)["hint"].as_str().unwrap().to_owned();
    let command = "git colony blackboard get -- '-s' '-k'";
    assert!(hint.starts_with(&format!("{command}   # ")), "{hint}");
    let missing = sandbox.json(&["blackboard", "get", "--", "-s", "none"]);
    assert_eq!(missing["hint"], "git colony blackboard list -- '-s'");
}

#[test]
fn asked_for_nothing_it_shows_what_it_can_be_asked_for() {
    let sandbox = Sandbox::new();
    let bare = sandbox.run(&["blackboard"]);
    assert_eq!((bare.code, bare.stdout.as_str()), (129, ""));
    assert!(bare.stderr.contains("Write a key"), "{}", bare.stderr);
    let bare = sandbox.json(&["blackboard"]);
    assert_eq!(bare["message"], "'git colony blackboard' needs a command");
    assert_eq!(bare["hint"], "git colony blackboard -h");
}

#[test]
fn a_value_of_a_newer_version_is_named_and_kept() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["blackboard", "put", "plan", "key", "one"]);
    let leaf = sandbox.git(&["ls-tree", "-r", "--name-only", REF]);
    let text = sandbox.git(&["show", &format!("{REF}:{}", leaf.trim())]);
    let newer = text.replacen("\"format\": 1", "\"format\": 99", 1);
    assert_ne!(newer, text);
    sandbox.write("value.json", newer);
    let blob = sandbox.git(&["hash-object", "-w", "value.json"]);
    let (folder, _) = leaf.trim().split_once('/').unwrap();
    let file = format!("100644 blob {}\t{}.json\n", blob.trim(), blob.trim());
    let inner = sandbox.make_tree(&file);
    let tree = sandbox.make_tree(&format!("040000 tree {}\t{folder}\n", inner.trim()));
    let commit = sandbox.git(&["commit-tree", tree.trim(), "-p", REF, "-m", "newer"]);
    sandbox.git(&["update-ref", REF, commit.trim()]);
    for args in [
        &["blackboard", "get", "plan", "key"][..],
        &["blackboard", "put", "plan", "key", "two"],
        &["blackboard", "delete", "plan", "key"],
    ] {
        let refused = sandbox.json(args);
        assert_eq!(refused["code"], "newer-format", "{args:?}: {refused:#}");
    }
    assert_eq!(sandbox.git(&["rev-parse", REF]), commit);
}
