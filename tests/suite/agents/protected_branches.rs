//! Branches that only people move: what protects them is read where no agent can change it, every face refuses
//! alike, and a refusal changes nothing.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::mcp::tool_at;
use crate::support::{Sandbox, View, write_program};

/// Commits a file of settings on 'main', beside a fork with a commit of its own.
fn protecting(settings: &str) -> Sandbox {
    let desk = Sandbox::new();
    desk.write(".colony/colony.toml", settings);
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "settings"]);
    desk.git(&["branch", "release/1"]);
    desk.colony(&["checkpoint", "-m", "start"]);
    desk.colony(&["fork", "other"]);
    desk.write("other.txt", "other\n");
    desk.colony(&["commit", "-m", "other", "--all"]);
    desk.git(&["switch", "-q", "main"]);
    desk
}

fn state(view: &View) -> String {
    let refs = view.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads"]);
    format!("{refs}\n{}", view.git(&["status", "--porcelain", "-b"]))
}

fn refusal(answer: &Value) -> String {
    assert_eq!(answer["code"], "branch-protected", "{answer:#}");
    answer["detail"]["branch"].as_str().unwrap().to_owned()
}

#[test]
fn an_agent_moves_no_protected_branch_and_a_person_any() {
    let desk = protecting("protect = ['main', 'release/*']\n");
    desk.write("new.txt", "new\n");
    let before = state(&desk);
    let cases: [(&[&str], &str); 10] = [
        (&["commit", "-m", "x", "--all"], "main"),
        (&["commit", "-m", "x", "new.txt"], "main"),
        (&["checkpoint", "-m", "x"], "main"),
        (&["decide", "-m", "x"], "main"),
        (&["merge", "other"], "main"),
        (&["merge", "other", "--squash"], "main"),
        (&["merge", "other", "--into", "release/1"], "release/1"),
        (&["cherry-pick", "other"], "main"),
        (&["cherry-pick", "other", "--into", "release/1"], "release/1"),
        (&["init"], "main"),
    ];
    for (args, branch) in cases {
        for options in [&["--agent", "ada"][..], &["--agent", "ada", "--dry-run"]] {
            let (global, dry) = options.split_at(2);
            let args = [global, args, dry].concat();
            let answer = desk.json(&args);
            assert_eq!(refusal(&answer), branch, "{args:?}");
            assert_eq!(state(&desk), before, "{args:?}");
        }
    }
    // The same with the state in place that the person restores, undoes and redoes.
    desk.colony(&["checkpoint", "-m", "of a person"]);
    for args in [&["restore", "start"][..], &["undo"]] {
        assert_eq!(refusal(&desk.json(&[&["--agent", "ada"], args].concat())), "main");
        let dry = desk.json(&[&["--agent", "ada"], args, &["-n"]].concat());
        // A dry run of undo always answers.
        let code = dry.get("code").unwrap_or(&dry["refused"]["code"]);
        assert_eq!(code, "branch-protected", "{dry:#}");
    }
    desk.colony(&["undo"]);
    assert_eq!(refusal(&desk.json(&["--agent", "ada", "redo"])), "main");
    desk.colony(&["redo"]);
    desk.colony(&["merge", "other"]);
    desk.colony(&["restore", "start", "--force"]);
    // What leaves the branch alone, and what is on a fork, is the agent's.
    desk.write("more.txt", "more\n");
    let main = desk.git(&["rev-parse", "main"]);
    for args in [
        &["checkpoint", "-m", "beside", "--off-branch"][..],
        &["restore", "beside", "--mode", "files"],
        &["fork", "ada"],
        &["commit", "-m", "x", "--all"],
        &["merge", "other", "--into", "fork/ada"],
        &["undo"],
    ] {
        let answer = desk.json(&[&["--agent", "ada"], args].concat());
        assert_eq!(answer["ok"], true, "{args:?}: {answer:#}");
    }
    assert_eq!(desk.git(&["rev-parse", "main"]), main);
}

#[test]
fn the_refusal_names_its_reason_and_the_next_command() {
    let desk = protecting("protect = 'main release/*'\n");
    desk.write("new.txt", "new\n");
    let said = |args: &[&str]| desk.run(&[&["--agent", "ada"], args].concat()).stderr;
    assert_eq!(
        said(&["commit", "-m", "x", "--all"]),
        "error: 'main' is protected (.colony/colony.toml), and this is agent 'ada'\nhint: git colony fork ada   # a person merges it into 'main'\n"
    );
    let elsewhere = said(&["merge", "other", "--into", "release/1"]);
    let hint = "hint: git colony forks   # a person merges the agent's fork into 'release/1'\n";
    assert!(elsewhere.ends_with(hint), "{elsewhere}");
    let kept = said(&["checkpoint", "-m", "x"]);
    assert!(kept.contains("hint: git colony checkpoint --off-branch "), "{kept}");
}

#[test]
fn no_branch_lifts_the_protection_it_is_held_against() {
    let desk = protecting("protect = 'main'\n");
    let made = desk.json(&["agents", "new", "ada"]);
    let clone = desk.at(PathBuf::from(made["path"].as_str().unwrap()));
    // On its own fork the agent may write what it wants.
    clone.write(".colony/colony.toml", "protect = []\n");
    clone.write(".colony/manifest.json", r#"{"default_branch": "fork/ada", "colony": "x"}"#);
    assert_eq!(clone.json(&["commit", "-m", "x", "--all"])["ok"], true);
    clone.git(&["config", "colony.protect", ""]);
    clone.git(&["config", "--add", "colony.protect", "nothing"]);
    clone.git(&["config", "init.defaultBranch", "fork/ada"]);
    clone.git(&["switch", "-q", "-C", "main", "fork/ada"]);
    clone.write("new.txt", "new\n");
    let view = clone.with("COLONY_PROTECT", "");
    for view in [&clone, &view, &clone.with("COLONY_AGENT", "bob")] {
        let answer = view.json(&["commit", "-m", "x", "--all"]);
        assert_eq!(refusal(&answer), "main");
    }
    // Neither do uncommitted settings in the checkout of the person.
    desk.write(".colony/colony.toml", "protect = []\n");
    let answer = desk.json(&["--agent", "ada", "commit", "-m", "x", "--all"]);
    assert_eq!(refusal(&answer), "main");
    // The person lifts it.
    desk.colony(&["commit", "-m", "lift", "--all"]);
    desk.write("new.txt", "new\n");
    assert_eq!(desk.json(&["--agent", "ada", "commit", "-m", "x", "--all"])["ok"], true);
}

#[test]
fn sources_add_up_and_are_all_named() {
    let desk = protecting("protect = 'main'\n");
    desk.git(&["config", "colony.protect", "release/*"]);
    desk.git(&["config", "--add", "colony.protect", "refs/heads/next, stable"]);
    let view = desk.with("COLONY_PROTECT", "demo");
    let setting = view.json(&["config", "get", "protect"])["settings"][0].clone();
    assert_eq!(setting["value"], "release/* next stable main demo");
    assert_eq!(
        setting["origin"],
        "git's configuration, git's configuration, .colony/colony.toml of 'main', COLONY_PROTECT"
    );
    for branch in ["release/1", "next", "stable", "demo", "main"] {
        view.git(&["switch", "-q", "-C", branch, "main"]);
        view.write("new.txt", branch);
        let answer = view.json(&["--agent", "ada", "commit", "-m", "x", "--all"]);
        assert_eq!(refusal(&answer), branch);
        view.remove("new.txt");
    }
    for branch in ["nextone", "a/main", "release"] {
        view.git(&["switch", "-q", "--detach"]);
        if branch == "release" {
            view.git(&["branch", "-D", "release/1"]);
        }
        view.git(&["switch", "-q", "-C", branch, "main"]);
        view.write("new.txt", branch);
        let answer = view.json(&["--agent", "ada", "commit", "-m", "x", "--all"]);
        assert_eq!(answer["ok"], true, "{answer:#}");
    }
}

#[test]
fn hostile_patterns_stop_neither_people_nor_forks() {
    let patterns = ["'**'", "'*'", "1.5", "['!main']", "'a['", "['']\nbroken", "'../x'"];
    for pattern in patterns {
        let desk = protecting(&format!("protect = {pattern}\n"));
        desk.write("new.txt", "new\n");
        let answer = desk.json(&["--agent", "ada", "commit", "-m", "x", "--all"]);
        assert_eq!(refusal(&answer), "main", "{pattern}");
        let list = desk.json(&["config", "list"]);
        let is_well_formed = pattern.contains('*');
        assert_eq!(list["ok"], is_well_formed, "{pattern}: {list:#}");
        assert_eq!(desk.json(&["--agent", "ada", "fork", "ada"])["ok"], true);
        let answer = desk.json(&["--agent", "ada", "commit", "-m", "x", "--all"]);
        assert_eq!(answer["ok"], true, "{pattern}: {answer:#}");
        desk.git(&["switch", "-q", "main"]);
        desk.write("new.txt", "of a person\n");
        assert_eq!(desk.json(&["commit", "-m", "x", "--all"])["ok"], true);
    }
}

#[test]
fn every_face_refuses_alike() {
    let desk = protecting("protect = 'main'\n");
    desk.write("new.txt", "new\n");
    let args = json!({"message": "x", "all_changes": true});
    let by_call = desk.json(&["--agent", "ada", "call", "commit_state", &args.to_string()]);
    assert_eq!(refusal(&by_call), "main");
    let world = desk.with("COLONY_AGENT", "ada").world();
    let by_tool = tool_at(&desk, world, "commit_state", &args);
    assert_eq!(refusal(&by_tool), "main");
}

#[test]
fn plain_git_of_an_agent_is_refused_by_the_hook() {
    let desk = protecting("protect = 'main'\n");
    let made = desk.json(&["agents", "new", "ada"]);
    let clone = desk.at(PathBuf::from(made["path"].as_str().unwrap())).with_program();
    clone.write("new.txt", "new\n");
    clone.git(&["add", "-A"]);
    assert!(clone.try_git(&["commit", "-qm", "on the fork"]));
    clone.git(&["switch", "-q", "-C", "main", "fork/ada"]);
    clone.write("new.txt", "newer\n");
    let output = clone.git_output(&["commit", "-qam", "on main"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("'main' is protected"), "{said}");
}

#[test]
fn the_fleet_and_sync_know_protected_branches() {
    let desk = protecting("protect = 'main'\n");
    let made = desk.json(&["agents", "new", "ada"]);
    let clone = desk.at(PathBuf::from(made["path"].as_str().unwrap()));
    let main = desk.git(&["rev-parse", "main"]);
    clone.write("new.txt", "new\n");
    clone.colony(&["commit", "-m", "x", "--all"]);
    assert_eq!(clone.json(&["sync"])["ok"], true);
    assert_eq!(desk.git(&["rev-parse", "main"]), main);
    let fleet = clone.json(&["fleet"]);
    assert_eq!(fleet["protected"], Value::Null);
    // Merging the other fork into 'main' is for a person.
    assert_eq!(fleet["next"], Value::Null, "{fleet:#}");
    assert_ne!(desk.json(&["fleet"])["next"], Value::Null);
    clone.git(&["switch", "-q", "-C", "main", "fork/ada"]);
    let fleet = clone.json(&["fleet"]);
    assert_eq!(fleet["protected"]["pattern"], "main");
    let row = desk.json(&["fleet"])["agents"][0].clone();
    assert_eq!(row["protected"]["branch"], "main", "{row:#}");
    let text = desk.colony(&["fleet"]);
    assert!(text.contains("'main' is protected (.colony/colony.toml of 'main')"), "{text}");
}

#[test]
fn a_push_of_an_agent_is_refused_by_the_hook() {
    let desk = protecting("protect = 'main'\n");
    let bare = desk.outside().join("remote.git");
    let url = bare.to_str().unwrap();
    desk.git(&["init", "-q", "--bare", url]);
    let made = desk.json(&["agents", "new", "ada"]);
    let clone = desk.at(PathBuf::from(made["path"].as_str().unwrap())).with_program();
    // The earlier hook may upload, as that of git-lfs does: it does not run before the refusal.
    let earlier = clone.path(".git/hooks/pre-push.before-colony");
    write_program(&earlier, "#!/bin/sh\ntouch uploaded\n");
    for pushed in ["HEAD:main", "HEAD:refs/heads/main"] {
        let output = clone.git_output(&["push", "-q", url, pushed]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{said}");
        assert!(said.contains("'main' is protected"), "{said}");
    }
    // An agent pushes only where a person has allowed it.
    let output = clone.git_output(&["push", "-q", url, "HEAD:fork/ada"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("no person has allowed agents to push"), "{said}");
    assert!(!clone.path("uploaded").exists());
    desk.git(&["config", "colony.sync.origin.push", url]);
    assert!(clone.try_git(&["push", "-q", url, "HEAD:fork/ada"]));
    assert!(clone.path("uploaded").exists());
    desk.colony(&["hooks", "install"]);
    assert!(desk.with_program().try_git(&["push", "-q", url, "main"]));
}

#[test]
fn no_name_of_a_default_branch_takes_another_one_out() {
    let desk = protecting("protect = ['main']\n");
    desk.git(&["branch", "old", "main~1"]);
    let global = desk.outside().join("global");
    let settings = "[init]\n\tdefaultBranch = old\n[user]\n\tname = A\n\temail = a@x\n";
    fs::write(&global, settings).unwrap();
    let chosen = desk.with("GIT_CONFIG_GLOBAL", global.to_str().unwrap());
    let merge = ["merge", "other", "--agent", "ada"];
    assert_eq!(refusal(&chosen.json(&merge)), "main");

    desk.git(&["update-ref", "refs/remotes/origin/old", "old"]);
    let head = "refs/remotes/origin/HEAD";
    desk.git(&["symbolic-ref", head, "refs/remotes/origin/old"]);
    assert_eq!(refusal(&desk.json(&merge)), "main");
}
