//! Refspecs of the user: a sync moves no refs but remote-tracking ones by them, and a branch that cannot follow stops
//! nothing else.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::View;

use super::sync_refs::{Two, row};

const BOARD: &str = "refs/colony/blackboard/plan";

/// What is done at the remote, or here, before a sync.
type Prepare = fn(&Two);

/// The refs that are not remote-tracking, nor what a sync knows of a remote.
fn own_refs(view: &View) -> BTreeMap<String, String> {
    let refs = view.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
    let refs = refs.lines().map(|line| line.split_once(' ').unwrap());
    let is_own = |name: &str| {
        !(name.starts_with("refs/remotes/") || name.starts_with("refs/colony-local/remotes/"))
    };
    let own = refs.filter(|(name, _)| is_own(name));
    own.map(|(name, id)| (name.to_owned(), id.to_owned())).collect()
}

fn put(view: &View, key: &str) {
    view.colony(&["blackboard", "put", "plan", key, "1"]);
}

fn has(view: &View, key: &str) -> bool {
    !view.json(&["blackboard", "get", "plan", key])["value"].is_null()
}

/// Writes the branch of the remote anew.
fn rewrite_main(two: &Two, message: &str) {
    let who = ["-c", "user.name=Eve", "-c", "user.email=eve@example.com"];
    let tip = two.at_remote(&[&who[..], &["commit-tree", "main^{tree}", "-m", message]].concat());
    two.at_remote(&["update-ref", "refs/heads/main", &tip]);
}

fn configure(view: &View, specs: &[&str]) {
    view.git_any(&["config", "--unset-all", "remote.origin.fetch"]);
    for spec in specs {
        view.git(&["config", "--add", "remote.origin.fetch", spec]);
    }
}

#[test]
fn no_refspec_has_a_sync_move_or_prune_what_is_ours() {
    let two = Two::new();
    let (a, b) = (&two.a, two.b());
    for key in ["fetch.prune", "fetch.pruneTags", "remote.origin.mirror"] {
        a.git(&["config", key, "true"]);
    }
    let tracking = "+refs/heads/*:refs/remotes/origin/*";
    let kinds: [&[&str]; 9] = [
        &["+refs/*:refs/*"],
        &[tracking, "+refs/colony/*:refs/colony/*"],
        &[tracking, "+refs/colony-local/*:refs/colony-local/*", "^refs/heads/x"],
        &["+refs/heads/*:refs/heads/*"],
        &["refs/heads/*:refs/heads/*"],
        &[tracking, "+refs/tags/*:refs/tags/*"],
        &["+refs/heads/main:main"],
        &["+refs/heads/*:refs/*"],
        &["refs/heads/*:refs/colony/blackboard/*"],
    ];
    for (number, specs) in kinds.iter().enumerate() {
        let [own, other] = [format!("a{number}"), format!("b{number}")];
        put(&b, &other);
        b.colony(&["fork", &other, "--no-switch"]);
        b.colony(&["sync"]);
        rewrite_main(&two, &own);
        a.colony(&["fork", &own, "--no-switch"]);
        a.write("new.txt", &own);
        a.colony(&["checkpoint", "-m", &own]);
        a.git(&["tag", &own]);
        put(a, &own);
        configure(a, specs);
        let left: Vec<&&str> =
            specs.iter().filter(|spec| **spec != tracking && !spec.starts_with('^')).collect();
        let before = own_refs(a);
        for args in [&["sync", "-n"][..], &["sync", "--fetch"], &["sync"]] {
            let did = a.json(args);
            assert_eq!(did["ok"], true, "{specs:?}: {did:#}");
            assert_eq!(did["refspecs_left"], json!(left), "{specs:?}");
            let after = own_refs(a);
            for (name, id) in before.iter().filter(|(name, _)| *name != BOARD) {
                assert_eq!(after.get(name), Some(id), "{specs:?}: {name} {args:?}");
            }
        }
        assert!(has(a, &own) && has(a, &other), "{specs:?}");
        b.colony(&["sync"]);
        assert!(has(&b, &own), "{specs:?}");
    }
    let told = a.colony(&["sync"]);
    assert!(told.contains("left to 'git fetch'"), "{told}");
    a.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn a_clone_that_is_a_mirror_syncs_as_any() {
    let two = Two::new();
    let (b, path) = (two.b(), two.a.outside().join("mirror"));
    put(&b, "b");
    b.colony(&["sync"]);
    let git_dir = path.join(".git").to_str().unwrap().to_owned();
    two.a.git(&["clone", "-q", "--mirror", &two.remote, &git_dir]);
    let mirror = two.a.at(path);
    mirror.git(&["config", "core.bare", "false"]);
    mirror.git(&["config", "user.name", "Mia"]);
    mirror.git(&["config", "user.email", "mia@example.com"]);
    mirror.git(&["reset", "-q", "--hard"]);
    put(&mirror, "m");
    mirror.colony(&["fork", "m", "--no-switch"]);
    mirror.colony(&["sync", "--push"]);
    put(&b, "b2");
    b.colony(&["sync"]);
    put(&mirror, "m2");
    mirror.colony(&["sync"]);
    assert!(["b", "b2", "m", "m2"].iter().all(|key| has(&mirror, key)));
    assert!(!two.remote_refs("refs/heads/fork/m").is_empty());
    assert_eq!(two.remote_refs("refs/colony-local"), "");
    for start in ["git config --unset remote.origin.mirror", "git config --replace-all "] {
        let answer: Value =
            serde_json::from_str(&mirror.run(&["--json", "doctor"]).stdout).unwrap();
        let checks = answer["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == "mirror").unwrap();
        let fix = check["fix"].as_str().unwrap();
        assert!(fix.starts_with(start), "{check:#}");
        assert!(mirror.process("sh").args(["-c", fix]).status().unwrap().success());
    }
    let did = mirror.json(&["sync"]);
    assert_eq!(did["refspecs_left"], Value::Null, "{did:#}");
}

#[test]
fn a_branch_that_cannot_follow_is_named_and_stops_nothing() {
    let spec = "refs/heads/*:refs/remotes/origin/*";
    let forced = "+refs/heads/*:refs/remotes/origin/*";
    let kinds: [(&[&str], Prepare, &str); 3] = [
        (&[spec], |two| rewrite_main(two, "anew"), "refs/remotes/origin/main"),
        (
            &[forced],
            |two| {
                two.at_remote(&["branch", "-D", "topic"]);
                two.at_remote(&["branch", "topic/part", "main"]);
            },
            "refs/remotes/origin/topic/part",
        ),
        (
            &[forced, "+refs/heads/gone:refs/remotes/origin/gone"],
            |_| {},
            "refs/remotes/origin/gone",
        ),
    ];
    for (specs, prepare, name) in kinds {
        let two = Two::new();
        let (a, b) = (&two.a, two.b());
        two.at_remote(&["branch", "topic", "main"]);
        a.colony(&["sync"]);
        configure(a, specs);
        prepare(&two);
        put(&b, "b");
        b.colony(&["sync"]);
        put(a, "a");
        let run = a.run(&["--json", "sync"]);
        assert_eq!(run.code, 1, "{name}: {}{}", run.stdout, run.stderr);
        let did: Value = serde_json::from_str(&run.stdout).unwrap();
        let told = row(&did, name);
        assert_eq!(told["result"], "conflict", "{name}: {did:#}");
        assert!(!told["reason"].as_str().unwrap().is_empty(), "{told:#}");
        assert_eq!(row(&did, BOARD)["result"], "merged", "{did:#}");
        assert!(has(a, "a") && has(a, "b"), "{name}");
        b.colony(&["sync"]);
        assert!(has(&b, "a"), "{name}");
        // What the hint says helps, unless it only shows what to change.
        let hint = told["hint"].as_str().unwrap();
        assert!(a.process("sh").args(["-c", hint]).output().unwrap().status.success(), "{hint}");
        if !hint.starts_with("git config --get-all") {
            assert_eq!(a.json(&["sync"])["ok"], true, "{hint}");
        }
    }
}
