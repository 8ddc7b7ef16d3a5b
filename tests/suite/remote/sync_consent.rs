//! Nothing is published to a remote before a person has said so, once.

use std::fs;
use std::path::PathBuf;

use git_colony::testing::World;
use serde_json::{Value, json};

use crate::support::{Sandbox, View};

use super::sync_refs::{Two, result, row};

const KEY: &str = "colony.sync.origin.push";

/// A fork and a checkpoint: three refs that travel.
fn with_work(two: &Two) {
    two.a.colony(&["fork", "x", "--no-switch"]);
    two.a.write("new.txt", "by a\n");
    two.a.colony(&["checkpoint", "-m", "of a"]);
    two.a.git(&["push", "-q", "origin", "main"]);
}

fn consents(a: &Sandbox) -> String {
    let listed = a.git_any(&["config", "--local", "--get-regexp", r"^colony\.sync\."]);
    listed.trim_end().to_owned()
}

/// Runs a command line that a hint has given.
fn run_hint(sandbox: &Sandbox, hint: &Value) -> Value {
    let hint = hint.as_str().unwrap().split("   #").next().unwrap();
    let words = hint.replace('\'', "");
    let words: Vec<&str> = words.split(' ').collect();
    match words.as_slice() {
        ["git", "-C", place, "colony", args @ ..] => sandbox.at(PathBuf::from(place)).json(args),
        ["git", "colony", args @ ..] => sandbox.json(args),
        other => panic!("{other:?}"),
    }
}

#[test]
fn nothing_is_published_before_a_person_consents() {
    let two = Two::without_consent();
    let a = &two.a;
    with_work(&two);
    two.b().colony(&["fork", "y", "--no-switch"]);
    two.b().colony(&["sync", "--push"]);
    let (before, config) = (two.remote_refs("refs"), a.read(".git/config"));
    for args in [&["sync", "-n"][..], &["sync"]] {
        let run = a.run(&[&["--json"], args].concat());
        assert_eq!(run.code, 0, "{}", run.stdout);
        let did: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(did["consent"], "missing", "{did:#}");
        let waiting = json!({
            "refs": 3, "forks": 1, "checkpoints": 1, "records": 0, "deletions": 0,
            "urls": [two.remote],
            "command": "git colony sync 'origin' --push   # allows pushing until its URL changes",
        });
        assert_eq!(did["waiting"], waiting, "{did:#}");
        for name in ["refs/heads/fork/x", "refs/colony/forks/x"] {
            assert_eq!(result(&did, name), "unpublished", "{did:#}");
            assert_eq!(row(&did, name)["direction"], "none");
        }
        // What others have comes all the same.
        assert_eq!(result(&did, "refs/colony/forks/y"), "fetched", "{did:#}");
        assert_eq!(two.remote_refs("refs"), before);
        assert_eq!(a.read(".git/config"), config, "{args:?}");
    }
    let said = a.colony(&["sync"]);
    let wanted = format!(
        "nothing new on 'origin'\n  at {0}\n  \
         not published: 1 fork and 1 checkpoint, to {0}\n    \
         hint: git colony sync 'origin' --push   # allows pushing until its URL changes\n",
        two.remote
    );
    assert_eq!(said, wanted);
    // A dry run consents to nothing.
    let would = a.json(&["sync", "--push", "-n"]);
    assert_eq!(would["consent"], "given_now", "{would:#}");
    assert_eq!(result(&would, "refs/heads/fork/x"), "created");
    assert_eq!(consents(a), "");
    let did = run_hint(a, &a.json(&["sync"])["waiting"]["command"]);
    assert_eq!(did["consent"], "given_now", "{did:#}");
    assert_eq!(did["waiting"], Value::Null);
    assert_eq!(result(&did, "refs/heads/fork/x"), "created");
    assert_eq!(consents(a), format!("{KEY} {}", two.remote));
    // Once and for all.
    a.colony(&["checkpoint", "-m", "later", "--off-branch"]);
    let did = a.json(&["sync"]);
    assert_eq!(did["consent"], "given", "{did:#}");
    let rows = did["refs"].as_array().unwrap().iter();
    assert_eq!(rows.filter(|row| row["result"] == "created").count(), 1);
}

#[test]
fn a_consent_is_for_the_places_that_pushes_go_to() {
    let two = Two::new();
    let a = &two.a;
    with_work(&two);
    let other = a.outside().join("other.git").to_str().unwrap().to_owned();
    a.git(&["clone", "-q", "--bare", &two.remote, &other]);
    let consent = || a.json(&["sync", "-n"])["consent"].as_str().unwrap().to_owned();
    assert_eq!(consent(), "given");
    a.git(&["remote", "set-url", "origin", &other]);
    assert_eq!(consent(), "missing");
    assert_eq!(a.json(&["sync"])["waiting"]["refs"], 3);
    // The same place under another name is the same place.
    a.git(&["remote", "set-url", "origin", &format!("file://{}/", two.remote)]);
    assert_eq!(consent(), "given");
    a.git(&["remote", "set-url", "origin", &two.remote]);
    a.git(&["config", "remote.origin.pushurl", &other]);
    assert_eq!(consent(), "missing");
    a.git(&["config", "--unset", "remote.origin.pushurl"]);
    a.git(&["config", &format!("url.{other}.pushInsteadOf"), &two.remote]);
    assert_eq!(consent(), "missing");
    a.git(&["config", "--remove-section", &format!("url.{other}")]);
    assert_eq!(consent(), "given");
    // Several places want to be consented to together, and what was said for others is over.
    a.git(&["config", "remote.origin.pushurl", &two.remote]);
    a.git(&["config", "--add", "remote.origin.pushurl", &other]);
    assert_eq!(a.json(&["sync"])["waiting"]["urls"], json!([two.remote, other]));
    a.colony(&["sync", "--push"]);
    assert_eq!(consents(a), format!("{KEY} {}\n{KEY} {other}", two.remote));
    let branch = "refs/heads/fork/x";
    assert!(a.git(&["ls-remote", &other, branch]).ends_with(branch));
    a.git(&["config", "--unset-all", "remote.origin.pushurl"]);
    assert_eq!(consent(), "given");
    let third = a.outside().join("third.git").to_str().unwrap().to_owned();
    a.git(&["clone", "-q", "--bare", &two.remote, &third]);
    a.git(&["remote", "set-url", "origin", &third]);
    a.colony(&["sync", "--push"]);
    assert_eq!(consents(a), format!("{KEY} {third}"));
    a.git(&["remote", "set-url", "origin", &two.remote]);
    assert_eq!(consent(), "missing");
}

#[test]
fn only_the_configuration_of_the_repository_consents() {
    let two = Two::without_consent();
    with_work(&two);
    let mut world = two.a.world();
    for (name, value) in
        [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", KEY), ("GIT_CONFIG_VALUE_0", &two.remote)]
    {
        world.variables.insert(name.into(), value.into());
    }
    let run = two.a.run_in(world, &["--json", "sync"]);
    let did: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(did["consent"], "missing", "{did:#}");
    assert_eq!(two.remote_refs("refs/colony"), "");
}

#[test]
fn credentials_of_the_place_are_neither_told_nor_kept() {
    let two = Two::without_consent();
    let a = &two.a;
    with_work(&two);
    let base = "https://ada:hunter2@Example.com/team/x.git";
    a.git(&["config", &format!("url.{base}.pushInsteadOf"), &two.remote]);
    let run = a.run(&["--json", "sync"]);
    let did: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(did["waiting"]["urls"], json!(["https://Example.com/team/x.git"]), "{did:#}");
    assert!(!format!("{}{}", run.stdout, run.stderr).contains("hunter2"));
    assert!(!a.run(&["sync"]).stdout.contains("hunter2"));
    // Another user of the same place is the same place.
    a.git(&["config", KEY, "example.com/team/x"]);
    assert_eq!(a.json(&["sync", "-n"])["consent"], "given");
}

#[test]
fn an_agent_goes_by_the_consent_of_the_desk_and_gives_none() {
    let two = Two::without_consent();
    let a = &two.a;
    let clone = a.json(&["agents", "new", "ada"])["path"].clone();
    let clone: View = a.at(PathBuf::from(clone.as_str().unwrap()));
    let before = two.remote_refs("refs");
    let config = fs::read(clone.path(".git/config")).unwrap();
    let did = clone.json(&["sync"]);
    assert_eq!(did["consent"], "missing", "{did:#}");
    assert_eq!(result(&did, "refs/heads/fork/ada"), "unpublished");
    let command = did["waiting"]["command"].clone();
    let desk = format!("git -C '{}' colony sync 'origin' --push ", a.root.display());
    assert!(command.as_str().unwrap().starts_with(&desk), "{command}");
    let refused = clone.json(&["sync", "--push"]);
    assert_eq!(refused["code"], "approval-refused", "{refused:#}");
    assert_eq!(refused["hint"], command);
    assert_eq!(clone.json(&["sync", "--push", "-n"])["code"], "approval-refused");
    assert_eq!(fs::read(clone.path(".git/config")).unwrap(), config);
    assert_eq!(a.error(&["--agent", "eve", "sync", "--push"]), "approval-refused");
    // Nor does what it writes itself count.
    clone.git(&["config", KEY, &two.remote]);
    assert_eq!(clone.json(&["sync"])["consent"], "missing");
    assert_eq!(two.remote_refs("refs"), before);
    assert_eq!(consents(a), "");
    assert_eq!(run_hint(a, &command)["consent"], "given_now");
    let did = clone.json(&["sync", "--push"]);
    assert_eq!(did["consent"], "given", "{did:#}");
    assert_eq!(result(&did, "refs/heads/fork/ada"), "created", "{did:#}");
    assert_eq!(clone.json(&["sync"])["consent"], "given");
    // For another place the desk has said nothing.
    let other = a.outside().join("other.git").to_str().unwrap().to_owned();
    a.git(&["clone", "-q", "--bare", &two.remote, &other]);
    clone.git(&["remote", "set-url", "origin", &other]);
    assert_eq!(clone.json(&["sync"])["consent"], "missing");
}

#[test]
fn a_clone_without_a_desk_goes_by_the_hub() {
    let two = Two::without_consent();
    let place = two.a.outside().join("nowhere");
    fs::create_dir_all(&place).unwrap();
    let nowhere = two.a.at(place);
    let made = nowhere.json(&["clone", &two.remote, "--agent", "ada"]);
    let clone = two.a.at(PathBuf::from(made["path"].as_str().unwrap()));
    clone.colony(&["fork", "z", "--no-switch"]);
    let did = clone.json(&["sync"]);
    assert_eq!(did["consent"], "missing", "{did:#}");
    let command = did["waiting"]["command"].as_str().unwrap().replace('\'', "");
    let words: Vec<&str> = command.split("   #").next().unwrap().split(' ').collect();
    assert_eq!(words[..3], ["git", "config", "--file"], "{command}");
    two.a.git(&words[1..]);
    let did = clone.json(&["sync"]);
    assert_eq!(did["consent"], "given", "{did:#}");
    assert_eq!(result(&did, "refs/heads/fork/z"), "created", "{did:#}");
}

#[test]
fn init_with_push_is_the_consent_of_a_person() {
    let two = Two::without_consent();
    let a = &two.a;
    a.colony(&["init", "--no-lfs"]);
    assert_eq!(consents(a), "");
    a.colony(&["undo"]);
    a.colony(&["init", "--push", "--no-lfs"]);
    assert!(consents(a).ends_with("remote.git"), "{}", consents(a));
    assert_eq!(a.json(&["sync"])["consent"], "given");
}

#[test]
fn names_of_remotes_end_no_key() {
    let two = Two::without_consent();
    let a = &two.a;
    a.colony(&["fork", "x", "--no-switch"]);
    let names = ["origin.push", r#"we"ird.$(id)'s"#, "a/b.c]"];
    for name in names {
        let remote = a.outside().join(format!("{}.git", name.len()));
        let remote = remote.to_str().unwrap();
        a.git(&["clone", "-q", "--bare", &two.remote, remote]);
        // 'git remote add' takes fewer names than git reads.
        for (key, value) in [("url", remote), ("fetch", "+refs/heads/*:refs/remotes/w/*")] {
            a.git(&["config", &format!("remote.{name}.{key}"), value]);
        }
        let did = a.json(&["sync", name]);
        assert_eq!(did["consent"], "missing", "{did:#}");
        assert_eq!(a.json(&["sync", name, "--push"])["consent"], "given_now");
        assert_eq!(a.json(&["sync", name])["consent"], "given");
        let key = format!("colony.sync.{name}.push");
        assert_eq!(a.git(&["config", "--get-all", &key]), remote);
    }
    assert_eq!(a.json(&["sync"])["consent"], "missing");
    a.colony(&["deinit"]);
    assert_eq!(consents(a), "");
}

#[test]
fn a_branch_that_is_ahead_is_told_of() {
    let two = Two::new();
    let a = &two.a;
    assert_eq!(a.json(&["sync"])["branch_ahead"], Value::Null);
    a.git(&["commit", "-q", "--allow-empty", "-m", "one"]);
    a.git(&["commit", "-q", "--allow-empty", "-m", "two"]);
    let ahead = json!({
        "branch": "main", "on_remote": "origin/main", "ahead": 2, "has_diverged": false,
        "command": "git push 'origin' 'main'",
    });
    assert_eq!(a.json(&["sync", "-n"])["branch_ahead"], ahead);
    assert_eq!(a.json(&["sync"])["branch_ahead"], ahead);
    let said = a.colony(&["sync"]);
    assert!(said.starts_with("up to date with 'origin'\n"), "{said}");
    let line = "\n  not synced: 'main' is 2 commits ahead of 'origin/main'\n";
    assert!(said.contains(line), "{said}");
    assert!(said.ends_with("    hint: git push 'origin' 'main'\n"), "{said}");
    a.git(&["push", "-q", "origin", "main"]);
    assert_eq!(a.json(&["sync"])["branch_ahead"], Value::Null);
    // Both sides went on.
    let b = two.b();
    b.git(&["commit", "-q", "--allow-empty", "-m", "of b"]);
    let ahead = &b.json(&["sync"])["branch_ahead"];
    assert_eq!(ahead["has_diverged"], true, "{ahead:#}");
    assert_eq!(ahead["ahead"], 1);
    // The remote has no such branch; a fork travels by itself.
    a.git(&["switch", "-q", "-c", "topic"]);
    let ahead = &a.json(&["sync"])["branch_ahead"];
    assert_eq!(ahead["command"], "git push -u 'origin' 'topic'", "{ahead:#}");
    a.colony(&["fork", "x"]);
    assert_eq!(a.json(&["sync"])["branch_ahead"], Value::Null);
}

#[test]
fn the_guide_for_agents_names_no_command_that_publishes() {
    let guide = Sandbox::new().colony(&["agents", "guide"]);
    for line in guide.lines().filter(|line| line.starts_with("    git")) {
        assert!(!line.contains("push"), "{line}");
        assert!(!line.contains("sync") || line.contains("sync --fetch"), "{line}");
    }
}

#[test]
fn a_run_from_a_process_of_an_agent_is_the_agents() {
    let two = Two::without_consent();
    let clone = two.a.json(&["agents", "new", "ada"])["path"].clone();
    let world = World { started_in: Some(PathBuf::from(clone.as_str().unwrap())), ..two.a.world() };
    let run = two.a.run_in(world, &["--json", "sync", "--push"]);
    let did: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(did["code"], "approval-refused", "{did:#}");
}
