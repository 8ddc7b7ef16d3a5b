//! Who hears of what.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{keys, keys_of};
use crate::support::{Sandbox, View, eventually};

/// A repository in which everything has happened once, the checkpoint, the scope, and its events.
fn busy() -> (Sandbox, Value, String, Value) {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    let kept = sandbox.json(&["checkpoint", "-m", "a: label"]);
    sandbox.colony(&["fork", "try"]);
    sandbox.write("a.txt", "three\n");
    sandbox.automatic_checkpoint();
    sandbox.colony(&["commit", "-m", "m", "--all"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.colony(&["merge", "fork/try", "--into", "main"]);
    let mapped = sandbox.json(&["map"]);
    let scope = mapped["results"][0]["scope_id"].as_str().unwrap();
    sandbox.colony(&["map"]);
    assert_eq!(sandbox.run(&["pages", "request", "00000000"]).code, 1);
    sandbox.colony(&["scopes", "unmap", scope]);
    sandbox.colony(&["scopes", "unmap", scope]);
    let report = sandbox.json(&["events"]);
    (sandbox, kept, scope.to_owned(), report)
}

#[test]
fn every_kind_of_change_has_its_event() {
    let (sandbox, kept, scope, report) = busy();
    let id = kept["checkpoint_id"].as_str().unwrap();
    let short = |key: &String| match key.split_once(':').unwrap() {
        (kind @ ("page_fault" | "convergence"), _) => kind.to_owned(),
        _ => key.replace(id, "ID").replace(&scope, "SCOPE"),
    };
    assert_eq!(
        keys_of(&report).iter().map(short).collect::<Vec<_>>(),
        [
            "checkpoint_emitted:ID",
            "branch_changed:main",
            "branch_changed:fork/try",
            "convergence",
            "branch_changed:fork/try",
            "branch_merged:main",
            "branch_changed:main",
            "mapped:SCOPE",
            "page_fault",
            "unmapped:SCOPE",
        ]
    );
    assert_eq!(sandbox.json(&["events", "--scope", &scope])["count"], 2);
    let some = ["events", "--key", "branch_merged:", "--key", "*:fork/*", "-n", "2"];
    let some = sandbox.json(&some);
    assert_eq!(keys_of(&some), ["branch_changed:fork/try", "branch_merged:main"]);
    assert_eq!(some["truncated"], true);
}

#[test]
fn values_have_the_fields_of_the_specification() {
    let (_sandbox, kept, scope, report) = busy();
    let value = |at: usize| report["events"][at]["value"].clone();
    let id = kept["checkpoint_id"].as_str().unwrap();
    assert_eq!(value(0)["label"], "a: label");
    assert_eq!(value(0)["sha"], kept["sha"]);
    let cause = format!("checkpoint_emitted:{id}");
    assert_eq!(value(1)["source_event_key"], cause);
    assert_eq!(value(5)["source"], "fork/try");
    assert_eq!(value(5)["target"], "main");
    assert_eq!(value(6)["source_event_key"], "branch_merged:main");
    let fields = |at: usize| -> Vec<String> {
        let value = value(at);
        let members = value.as_object().unwrap();
        members.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name.clone()).collect()
    };
    let has = |at: usize, wanted: &[&str]| {
        let fields = fields(at);
        let missing = wanted.iter().filter(|name| !fields.contains(&(**name).to_owned()));
        assert_eq!(missing.collect::<Vec<_>>(), Vec::<&&str>::new(), "{at} {fields:?}");
    };
    has(6, &["scope_id", "source_event_key"]);
    has(7, &["scope_id", "source_type", "branch", "commit", "ts"]);
    has(8, &["fault_id", "page_ids", "priority", "ts"]);
    has(9, &["scope_id", "ts"]);
    assert_eq!(value(7)["scope_id"], scope);
    assert_eq!(value(8)["page_ids"], json!(["00000000"]));
}

#[test]
fn changes_by_plain_git_are_events_once() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "first"]);
    let since = sandbox.json(&["events"])["position"].clone();
    sandbox.write("a.txt", "two\n");
    sandbox.git(&["commit", "-qam", "by git"]);
    let hook = sandbox.run(&["hook", "post-commit"]);
    assert_eq!(hook.code, 0, "{}", hook.stderr);
    sandbox.colony(&["checkpoint", "-m", "second"]);
    let report = sandbox.json(&["events", "--since", since.as_str().unwrap()]);
    assert_eq!(report["events"][0]["key"], "branch_changed:main");
    assert_eq!(report["events"][0]["value"]["kind"], "external");
    assert_eq!(report["count"], 2, "{report:#}");
}

#[test]
fn looking_and_rehearsing_wake_nobody() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "first"]);
    sandbox.colony(&["map"]);
    sandbox.write("a.txt", "two\n");
    let before = keys(&sandbox);
    for args in [
        &["status"][..],
        &["fleet"],
        &["pages"],
        &["pages", "resident"],
        &["map", "preview"],
        &["map", "tree"],
        &["map", "-n"],
        &["map", "--worktree", "-n"],
        &["checkpoint", "-m", "x", "-n"],
        &["checkpoint", "--auto", "-n"],
        &["fork", "y", "-n"],
        &["restore", "first", "-n"],
        &["undo", "-n"],
        &["events"],
        &["pages", "request", "00000000", "-n"],
        &["doctor"],
    ] {
        let _ended = sandbox.run(args);
    }
    assert_eq!(keys(&sandbox), before);
}

fn clone_of(desk: &Sandbox, agent: &str) -> View {
    let made = desk.json(&["agents", "new", agent]);
    desk.at(PathBuf::from(made["path"].as_str().unwrap()))
}

#[test]
fn agents_hear_of_each_other_and_not_of_themselves() {
    let desk = Sandbox::new();
    let clones = ["ada", "bob", "eve"].map(|agent| clone_of(&desk, agent));
    let [ada, bob, eve] = &clones;
    let before = desk.json(&["events"])["position"].clone();
    let before = before.as_str().unwrap();
    ada.write("ada.txt", "by ada\n");
    ada.colony(&["checkpoint", "-m", "of ada"]);
    bob.colony(&["map"]);
    eve.colony(&["merge", "ada"]);
    let heard = |view: &View| -> Vec<(Value, String)> {
        let report = view.json(&["events", "--since", before]);
        let events = report["events"].as_array().unwrap().iter();
        let of = |event: &Value| {
            let key = event["key"].as_str().unwrap();
            (event["agent"].clone(), key.split(':').next().unwrap().to_owned())
        };
        events.map(of).collect()
    };
    let of = |agent: &str, key: &str| (json!(agent), key.to_owned());
    let by_ada = [of("ada", "checkpoint_emitted"), of("ada", "branch_changed")];
    let by_bob = [of("bob", "mapped")];
    let by_eve = [of("eve", "branch_merged"), of("eve", "branch_changed")];
    assert_eq!(heard(ada), [&by_bob[..], &by_eve].concat());
    assert_eq!(heard(bob), [&by_ada[..], &by_eve].concat());
    assert_eq!(heard(eve), [&by_ada[..], &by_bob].concat());
    // The desk is not an agent, and a stranger to the hub hears nothing.
    assert_eq!(heard(&desk), [&by_ada[..], &by_bob, &by_eve].concat());
    assert_eq!(Sandbox::new().json(&["events"])["count"], 0);
    let own = ada.json(&["events", "--since", before, "--all"]);
    assert_eq!(own["count"], 5);
}

#[test]
fn a_namespace_is_a_room_of_its_own() {
    let sandbox = Sandbox::new();
    let other = sandbox.with("COLONY_EVENTS_NAMESPACE", "night");
    other.colony(&["checkpoint", "-m", "first"]);
    assert_eq!(sandbox.json(&["events"])["count"], 0);
    assert_eq!(other.json(&["events"])["count"], 1);
    sandbox.write(".colony/colony.toml", "\"events.namespace\" = \"theirs\"\n");
    sandbox.colony(&["checkpoint", "-m", "second"]);
    assert_eq!(sandbox.json(&["events"])["count"], 2);
}

#[test]
fn a_state_folder_in_trouble_fails_no_command() {
    let sandbox = Sandbox::new();
    sandbox.write(".git/colony/state", "in the way");
    let run = sandbox.run(&["checkpoint", "-m", "first"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.stderr.matches("cannot write the event log").count(), 1, "{}", run.stderr);
    fs::remove_file(sandbox.path(".git/colony/state")).unwrap();
    // The log is something else, a directory, or garbage.
    let log = ".git/colony/state/events-1.db";
    fs::create_dir_all(sandbox.path(log)).unwrap();
    assert_eq!(sandbox.run(&["tag", "-m", "second"]).code, 0);
    assert_eq!(sandbox.error(&["events"]), "cache-unusable");
    fs::remove_dir(sandbox.path(log)).unwrap();
    sandbox.write(log, [7; 9_000]);
    assert_eq!(sandbox.run(&["tag", "-m", "third"]).code, 0);
    assert_eq!(sandbox.json(&["events"])["count"], 1);
}

/// A small file system in the place of the state; it goes with the value.
pub(crate) struct Full(PathBuf);

impl Full {
    pub(crate) fn at(folder: PathBuf) -> Full {
        fs::create_dir_all(&folder).unwrap();
        let mount = ["-t", "tmpfs", "-o", "size=16k", "tmpfs"];
        let mounted = Command::new("mount").args(mount).arg(&folder).status();
        assert!(mounted.unwrap().success(), "mounting a tmpfs needs root");
        // It takes what fits.
        drop(fs::write(folder.join("filler"), [1; 16_384]));
        Full(folder)
    }

    pub(crate) fn make_read_only(&self) {
        let remount = ["-o", "remount,ro"];
        // A process that another test is starting may have a file of it open for a moment.
        eventually("the folder is read-only", || {
            Command::new("mount").args(remount).arg(&self.0).status().unwrap().success()
        });
    }
}

impl Drop for Full {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(&self.0).status());
    }
}

#[test]
fn a_full_or_read_only_state_folder_fails_no_checkpoint() {
    let sandbox = Sandbox::new();
    let full = Full::at(sandbox.path(".git/colony/state"));
    for label in ["full", "read only"] {
        let run = sandbox.run(&["tag", "-m", label]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(run.stderr.contains("cannot write the event log"), "{}", run.stderr);
        let _looked = sandbox.run(&["events"]);
        full.make_read_only();
    }
    assert_eq!(sandbox.json(&["checkpoints"])["count"], 2);
}

#[test]
fn a_log_that_is_held_fails_no_command() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "first"]);
    let path = sandbox.path(".git/colony/state/events-1.db");
    let held = rusqlite::Connection::open(path).unwrap();
    held.execute_batch("BEGIN EXCLUSIVE").unwrap();
    // It ends while the log is still held.
    let run = sandbox.run(&["tag", "-m", "second"]);
    drop(held);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("cannot write the event log"), "{}", run.stderr);
}

#[test]
fn sixteen_writers_lose_no_event() {
    let sandbox = Sandbox::new();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..4 {
                    let run = sandbox.run(&["pages", "request", "00000000"]);
                    assert!(!run.stderr.contains("event log"), "{}", run.stderr);
                }
            });
        }
    });
    let keys = keys(&sandbox);
    let faults: std::collections::BTreeSet<_> = keys.iter().collect();
    assert_eq!(faults.len(), 64, "{keys:#?}");
}

#[test]
fn a_position_of_another_log_has_a_gap() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "first"]);
    let old = sandbox.json(&["events"])["position"].clone();
    let old = old.as_str().unwrap();
    let again = sandbox.json(&["events", "--since", old]);
    assert_eq!((&again["count"], &again["gap"]), (&json!(0), &json!(false)));
    fs::remove_dir_all(sandbox.path(".git/colony/state")).unwrap();
    let gone = sandbox.json(&["events", "--since", old]);
    assert_eq!((&gone["gap"], &gone["oldest"]), (&json!(true), &Value::Null));
    sandbox.colony(&["tag", "-m", "second"]);
    let new = sandbox.json(&["events", "--since", old]);
    assert_eq!((&new["gap"], &new["count"]), (&json!(true), &json!(1)));
    let continued = new["position"].as_str().unwrap();
    let rest = sandbox.json(&["events", "--since", continued]);
    assert_eq!((&rest["gap"], &rest["count"]), (&json!(false), &json!(0)));
    assert_eq!(sandbox.error(&["events", "--since", "yesterday"]), "invalid-value");
}

#[test]
fn an_undo_of_a_mapping_is_heard() {
    let sandbox = Sandbox::new();
    let mapped = sandbox.json(&["map"]);
    let scope = mapped["results"][0]["scope_id"].as_str().unwrap();
    let since = sandbox.json(&["events"])["position"].clone();
    sandbox.colony(&["undo", mapped["op"].as_str().unwrap()]);
    sandbox.colony(&["redo"]);
    let heard = sandbox.json(&["events", "--since", since.as_str().unwrap()]);
    let expected = [format!("unmapped:{scope}"), format!("mapped:{scope}")];
    assert_eq!(keys_of(&heard), expected);
}

#[test]
fn a_line_says_what_happened() {
    let (sandbox, ..) = busy();
    let told = sandbox.colony(&["events"]);
    let lines: Vec<&str> = told.lines().skip(1).collect();
    assert_snapshot!(lines.join("\n"), @r"
    11 minutes ago  -  created checkpoint 'a: label' on 'main'                        checkpoint_id checkpoint/20260102T030405Z-00000002, sha 0bcd7955, op op-1
    11 minutes ago  -  moved branch 'main' from 18096686 to 0bcd7955                  kind checkpoint, op op-1
    10 minutes ago  -  created branch 'fork/try' at 0bcd7955                          kind fork, op op-2
    9 minutes ago   -  created an automatic checkpoint on 'fork/try', 1 file changed  episode_id 20260102T030605Z-00000003, checkpoint_id auto/20260102T030605Z-00000003, sha 4f0805d4
    8 minutes ago   -  moved branch 'fork/try' from 0bcd7955 to 6c705622              kind commit, op op-3
    7 minutes ago   -  merged 'fork/try' into 'main'                                  old_sha 0bcd7955, new_sha 6c705622, op op-5
    7 minutes ago   -  moved branch 'main' from 0bcd7955 to 6c705622                  kind merge, op op-5
    6 minutes ago   -  mapped 'default': 2 pages added, 0 removed                     source_type git_repo, branch main, commit 6c705622
    4 minutes ago   -  requested page 00000000 in vain                                fault_id fault_000000040000, priority 10
    3 minutes ago   -  unmapped 'default'
    ");
}

#[test]
fn a_line_of_an_event_has_its_value() {
    let sandbox = Sandbox::new();
    let page = {
        sandbox.colony(&["map"]);
        sandbox.json(&["pages"])["pages"][0]["page_id"].clone()
    };
    sandbox.colony(&["pages", "request", page.as_str().unwrap()]);
    let told = sandbox.colony(&["events", "--key", "page_fault:"]);
    let wanted = format!("loaded page {}  fault_id ", page.as_str().unwrap());
    assert!(told.contains(&wanted), "{told}");
    assert!(told.contains(", priority 10"), "{told}");
}

#[test]
fn a_line_about_a_scope_has_the_name_of_its_row() {
    let sandbox = Sandbox::new();
    let scope = sandbox.json(&["map"])["results"][0]["scope_id"].clone();
    let scope = scope.as_str().unwrap();
    let told = sandbox.colony(&["events"]);
    assert!(told.contains("mapped 'default': "), "{told}");
    assert!(!told.contains(scope), "{told}");
    let followed = sandbox.colony(&["--timeout", "0.1", "events", "--follow", "--since", "0:0"]);
    assert!(followed.contains("  mapped 'default': "), "{followed}");
    // Programs get both.
    let event = sandbox.json(&["events", "--key", "mapped:"])["events"][0].clone();
    assert_eq!(event["key"], format!("mapped:{scope}"));
    assert_eq!(event["row"], "default");
    // The map still names a scope that is no longer mapped.
    sandbox.colony(&["scopes", "unmap", scope]);
    let told = sandbox.colony(&["events", "--key", "unmapped:"]);
    assert!(told.contains("unmapped 'default'"), "{told}");
    // A branch of that name is not a row.
    sandbox.colony(&["fork", "default"]);
    let event = sandbox.json(&["events", "--key", "branch_changed:"])["events"][0].clone();
    assert_eq!(event.get("row"), None);
}
