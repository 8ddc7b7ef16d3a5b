//! A clone that has lost its '.git', as by an agent's own 'rm -rf'.

use std::fs;

use git_colony::testing::World;
use serde_json::{Value, json};

use crate::agents::new_and_merge::{agent, commit};
use crate::support::{Sandbox, View};

fn row(view: &View, agent: &str) -> Value {
    let fleet = view.json(&["fleet"]);
    let mut rows = fleet["agents"].as_array().unwrap().iter();
    rows.find(|row| row["agent"] == agent).cloned().unwrap_or_default()
}

/// An agent with a commit and all kinds of uncommitted changes, whose '.git' is deleted; returns its files.
fn lost(desk: &Sandbox) -> (View, String) {
    let ada = agent(desk, "ada");
    commit(&ada, "kept.txt", "kept\n");
    commit(&ada, "gone.txt", "gone\n");
    ada.write("kept.txt", "edited\n");
    ada.write("new/file.txt", "new\n");
    ada.write("staged.txt", "staged\n");
    ada.git(&["add", "staged.txt"]);
    fs::remove_file(ada.path("gone.txt")).unwrap();
    // As a program that runs in the clone has it: commits are published by their hook or by a command.
    ada.colony(&["status"]);
    let status = ada.git(&["status", "--porcelain", "-uall"]);
    fs::remove_dir_all(ada.path(".git")).unwrap();
    (ada, status.replace("A  ", "?? "))
}

#[test]
fn a_clone_without_git_dir_is_repaired_around_its_files() {
    let desk = Sandbox::new();
    let here = desk.at(desk.root.clone());
    let (ada, status) = lost(&desk);
    // In it, 'git init' is not the answer.
    let refused = ada.json(&["status"]);
    assert_eq!(refused["code"], "not-a-repository", "{refused:#}");
    let hint = "git colony agents restore ada   # by the user, in the checkout";
    assert_eq!(refused["hint"], hint);
    let told = row(&here, "ada");
    assert_eq!((&told["lost"], &told["unsaved"]), (&json!(true), &Value::Null), "{told:#}");
    let fleet = desk.json(&["fleet"]);
    assert_eq!(fleet["next"], Value::Null, "{fleet:#}");
    assert_eq!(fleet["removed"], json!([]), "{fleet:#}");
    let shown = desk.colony(&["fleet"]);
    assert!(shown.contains("its .git is damaged"), "{shown}");
    assert!(shown.contains("git colony agents restore ada"), "{shown}");
    // Nothing takes its work for that of a removed agent, or its folder for one that may go.
    let bob = desk.colony(&["agents", "new", "bob"]);
    for args in [["agents", "new", "ada"], ["agents", "remove", "ada"], ["agents", "path", "ada"]] {
        let refused = desk.run(&args);
        assert_eq!(refused.code, 128, "{args:?}: {}", refused.stdout);
        assert!(refused.stderr.contains("git colony agents restore ada"), "{}", refused.stderr);
    }
    desk.colony(&["clones", "gc"]);
    let planned = desk.json(&["agents", "restore", "ada", "-n"]);
    assert_eq!((&planned["dry_run"], &planned["fork"]), (&json!(true), &json!("fork/ada")));
    assert!(!ada.path(".git").exists());
    let restored = desk.json(&["agents", "restore", "ada"]);
    assert_eq!(restored["path"], ada.root.to_str().unwrap(), "{restored:#}");
    assert_eq!(restored["files"], 4);
    let after = ada.git(&["status", "--porcelain", "-uall"]);
    let sorted = |status: &str| {
        let mut lines: Vec<_> = status.lines().map(|line| line.trim_start().to_owned()).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&after), sorted(&status));
    assert_eq!(fs::read_to_string(ada.path("kept.txt")).unwrap(), "edited\n");
    ada.git(&["fsck", "--strict"]);
    let told = row(&here, "ada");
    assert_eq!((&told["commits"], &told["unsaved"]), (&json!(2), &json!(4)), "{told:#}");
    ada.colony(&["checkpoint", "-m", "all of it"]);
    desk.colony(&["merge", "ada"]);
    assert_eq!(fs::read_to_string(desk.path("new/file.txt")).unwrap(), "new\n");
    assert!(std::path::Path::new(bob.trim()).is_dir());
}

#[test]
fn a_lost_clone_of_another_repository_is_not_told_of() {
    let desk = Sandbox::new();
    lost(&desk);
    let other = desk.outside().join("other");
    desk.git(&["init", "-q", "-b", "main", other.to_str().unwrap()]);
    let other = desk.at(other);
    other.write("a.txt", "a\n");
    other.git(&["add", "-A"]);
    other.git(&["-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-qm", "a"]);
    assert_eq!(row(&other, "ada"), Value::Null);
    assert_eq!(other.json(&["agents"])["damaged"], json!([]));
    let refused = other.run(&["agents", "restore", "ada"]);
    assert_eq!(refused.code, 128, "{}", refused.stdout);
}

/// Runs a shell in a clone, as its agent would.
fn shell(desk: &Sandbox, clone: &View, script: &str) {
    let mut shell = desk.process("sh");
    shell.args(["-ec", script]).current_dir(&clone.root);
    assert!(shell.status().unwrap().success(), "{script}");
}

/// Ways in which a program in a clone ruins its git directory.
const DAMAGES: [&str; 12] = [
    ": > .git/HEAD",
    "rm .git/HEAD",
    "echo main > .git/HEAD",
    "rm -rf .git/refs .git/packed-refs",
    "rm -rf .git/objects",
    "rm .git/objects/info/alternates",
    "rm .git/config",
    "echo '[core' >> .git/config",
    "rm -rf .git && git init -q",
    "rm -rf .git && git init -q && git -c user.name=x -c user.email=x@example.com commit -q --allow-empty -m x",
    "rm -rf .git && echo 'gitdir: /nowhere' > .git",
    "rm -rf .git/colony && echo /gone/objects > .git/objects/info/alternates",
];

#[test]
fn a_clone_with_a_damaged_git_dir_is_repaired() {
    for damage in DAMAGES {
        let desk = Sandbox::new();
        let here = desk.at(desk.root.clone());
        let ada = agent(&desk, "ada");
        commit(&ada, "kept.txt", "kept\n");
        ada.write("kept.txt", "edited\n");
        ada.write(".git/own", "kept too\n");
        shell(&desk, &ada, damage);
        let told = row(&here, "ada");
        assert_eq!((&told["lost"], &told["commits"]), (&json!(true), &json!(1)), "{damage}");
        let rows = desk.json(&["fleet"])["agents"].as_array().unwrap().len();
        assert_eq!(rows, 1, "{damage}");
        // Without its configuration git works, with the identity of the user.
        if damage != "rm .git/config" {
            let inside = ada.run(&["checkpoint", "-m", "x"]);
            assert!(inside.stderr.contains("agents restore"), "{damage}: {}", inside.stderr);
        }
        let refused = desk.run(&["agents", "new", "ada"]);
        assert!(refused.stderr.contains("git colony agents restore ada"), "{}", refused.stderr);
        let restored = desk.json(&["agents", "restore", "ada"]);
        assert_eq!(restored["files"], 1, "{damage}: {restored:#}");
        let aside = restored["damaged_git_dir"].as_str().unwrap();
        assert!(fs::symlink_metadata(aside).is_ok(), "{damage}: {aside}");
        let own = !damage.starts_with("rm -rf .git ");
        assert_eq!(std::path::Path::new(aside).join("own").exists(), own, "{damage}");
        assert_eq!(ada.git(&["status", "--porcelain"]), " M kept.txt", "{damage}");
        ada.git(&["fsck", "--strict"]);
        assert_eq!(row(&here, "ada")["lost"], Value::Null, "{damage}");
        desk.colony(&["clones", "gc"]);
        assert!(fs::symlink_metadata(aside).is_ok(), "{damage}: {aside}");
    }
}

#[test]
fn a_killed_repair_is_completed_by_the_next() {
    for died_at in ["clone-staged", "git-dir-aside", "clone-in-place"] {
        let desk = Sandbox::new();
        let ada = agent(&desk, "ada");
        commit(&ada, "kept.txt", "kept\n");
        ada.write("kept.txt", "edited\n");
        fs::write(ada.path(".git/HEAD"), "").unwrap();
        let world = World { die_at: Some(died_at), ..desk.world() };
        let died = desk.run_in(world, &["agents", "restore", "ada"]);
        assert!([died.stderr, died.stdout].concat().contains("died"), "{died_at}");
        if died_at != "clone-in-place" {
            assert_eq!(desk.json(&["agents", "restore", "ada"])["files"], 1, "{died_at}");
        }
        assert_eq!(ada.git(&["status", "--porcelain"]), " M kept.txt", "{died_at}");
        ada.colony(&["checkpoint", "-m", "all of it"]);
        desk.colony(&["merge", "ada"]);
        assert_eq!(fs::read_to_string(desk.path("kept.txt")).unwrap(), "edited\n", "{died_at}");
    }
}

#[test]
fn a_clone_that_borrows_nothing_any_more_is_whole() {
    let desk = Sandbox::new();
    let here = desk.at(desk.root.clone());
    let ada = agent(&desk, "ada");
    commit(&ada, "kept.txt", "kept\n");
    shell(&desk, &ada, "git repack -q -a -d && rm .git/objects/info/alternates");
    ada.git(&["fsck", "--strict"]);
    assert_eq!(row(&here, "ada")["lost"], Value::Null);
    here.colony(&["merge", "ada"]);
}

#[test]
fn a_damaged_clone_of_another_repository_keeps_its_folder() {
    for damage in ["rm -rf .git", "rm -rf .git/colony", "rm -rf .git && git init -q"] {
        let desk = Sandbox::new();
        let here = desk.at(desk.root.clone());
        let ada = agent(&desk, "ada");
        commit(&ada, "kept.txt", "kept\n");
        shell(&desk, &ada, damage);
        let other = desk.outside().join("other");
        desk.git(&["init", "-q", "-b", "main", other.to_str().unwrap()]);
        let other = desk.at(other);
        other.write("a.txt", "a\n");
        other.git(&["add", "-A"]);
        other.git(&["-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-qm", "a"]);
        let made = other.json(&["agents", "new", "ada"]);
        assert_ne!(made["path"], ada.root.to_str().unwrap(), "{damage}: {made:#}");
        assert!(ada.path("kept.txt").exists(), "{damage}");
        let repair: &[&str] = match damage {
            "rm -rf .git/colony" => &["clones", "refresh", "ada"],
            _ => &["agents", "restore", "ada"],
        };
        here.colony(repair);
        assert_eq!(row(&here, "ada")["commits"], 1, "{damage}");
    }
}

#[test]
fn a_record_is_restored_for_the_checkout_that_asks() {
    let desk = Sandbox::new();
    let here = desk.at(desk.root.clone());
    let ada = agent(&desk, "ada");
    commit(&ada, "kept.txt", "kept\n");
    let record = ada.path(".git/colony/membership.json");
    let read = || -> Value { serde_json::from_slice(&fs::read(&record).unwrap()).unwrap() };
    let desk_id = read()["desk"].clone();
    assert!(desk_id.is_string(), "{desk_id}");
    fs::remove_file(&record).unwrap();
    here.colony(&["clones", "refresh", "ada"]);
    assert_eq!(read()["desk"], desk_id);
}

#[test]
fn a_checkout_goes_on_whose_colony_folder_was_deleted() {
    let desk = Sandbox::new();
    let here = desk.at(desk.root.clone());
    desk.colony(&["fork", "idea"]);
    let ada = agent(&desk, "ada");
    commit(&ada, "kept.txt", "kept\n");
    here.json(&["fleet"]);
    here.write("a.txt", "edited\n");
    here.colony(&["checkpoint", "-m", "before"]);
    let operations = here.json(&["ops"]);
    let fleet = here.json(&["fleet"]);
    let published = || desk.git(&["for-each-ref", "--format=%(refname)", "refs/colony-local/ops"]);
    let keys = published();
    fs::remove_dir_all(here.path(".git/colony")).unwrap();
    assert_eq!(here.json(&["ops"]), operations);
    let after = here.json(&["fleet"]);
    assert_eq!((&after["agents"], &after["elsewhere"]), (&fleet["agents"], &fleet["elsewhere"]));
    assert_eq!(published(), keys);
    let before = here.git(&["rev-parse", "HEAD~"]);
    here.colony(&["undo"]);
    assert_eq!(here.git(&["rev-parse", "HEAD"]), before);
    here.git(&["checkout", "-q", "a.txt"]);
    here.colony(&["merge", "ada"]);
    let desks = desk.git(&["for-each-ref", "--format=%(refname)", "refs/colony-local/desks"]);
    assert_eq!(desks, "", "its own forks are not those of another checkout");
    here.colony(&["agents", "remove", "ada"]);
}

#[test]
fn logs_of_several_worktrees_are_not_guessed() {
    let desk = Sandbox::new();
    let here = desk.at(desk.root.clone());
    here.write("one.txt", "one\n");
    here.colony(&["checkpoint", "-m", "one"]);
    let beside = desk.outside().join("beside");
    here.git(&["worktree", "add", "-q", beside.to_str().unwrap()]);
    let beside = desk.at(beside);
    beside.write("two.txt", "two\n");
    beside.colony(&["checkpoint", "-m", "two"]);
    fs::remove_dir_all(here.path(".git/colony")).unwrap();
    assert_eq!(here.json(&["ops"])["ops"], json!([]));
}

#[test]
fn the_log_of_a_removed_worktree_is_not_taken_over() {
    let desk = Sandbox::new();
    let here = desk.at(desk.root.clone());
    let beside = desk.outside().join("beside");
    here.git(&["worktree", "add", "-q", beside.to_str().unwrap()]);
    let beside = desk.at(beside);
    beside.write("two.txt", "two\n");
    beside.colony(&["checkpoint", "-m", "two"]);
    here.git(&["worktree", "remove", "--force", beside.root.to_str().unwrap()]);
    assert_eq!(here.json(&["ops"])["ops"], json!([]));
}

#[test]
fn a_repair_keeps_the_branch_and_the_submodules() {
    let desk = Sandbox::new();
    let inner = desk.outside().join("inner");
    desk.git(&["init", "-q", "-b", "main", inner.to_str().unwrap()]);
    let inside = desk.at(inner.clone());
    inside.write("i.txt", "i\n");
    inside.git(&["add", "-A"]);
    let identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
    inside.git(&[&identity[..], &["commit", "-qm", "i"]].concat());
    let local = ["-c", "protocol.file.allow=always"];
    desk.git(
        &[&local[..], &["submodule", "--quiet", "add", inner.to_str().unwrap(), "sub"]].concat(),
    );
    desk.git(&["commit", "-qm", "a submodule"]);
    let ada = agent(&desk, "ada");
    commit(&ada, "kept.txt", "kept\n");
    ada.git(&[&local[..], &["submodule", "--quiet", "update", "--init"]].concat());
    let beside = desk.outside().join("beside");
    ada.git(&["worktree", "add", "-q", "-b", "zz", beside.to_str().unwrap()]);
    ada.colony(&["status"]);
    fs::remove_file(ada.path(".git/HEAD")).unwrap();
    let restored = desk.json(&["agents", "restore", "ada"]);
    assert_eq!(restored["fork"], "fork/ada", "{restored:#}");
    assert_eq!(ada.git(&["status", "--porcelain"]), "");
    assert_eq!(ada.git(&["-C", "sub", "status", "--porcelain"]), "");
}

#[test]
fn directories_outside_of_the_cone_do_not_count_as_deleted() {
    let desk = Sandbox::new();
    for path in ["in/one/i.txt", "in/two/j.txt", "out/o.txt", "out/deep/p.txt"] {
        desk.write(path, "text\n");
    }
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "directories"]);
    for (agent, cone) in [("ada", "in"), ("bob", "in/two")] {
        let made = desk.json(&["agents", "new", agent, "--sparse", cone]);
        let clone = desk.at(made["path"].as_str().unwrap().into());
        clone.write(&format!("{cone}/new.txt"), "new\n");
        fs::remove_dir_all(clone.path(".git")).unwrap();
        assert_eq!(desk.json(&["agents", "restore", agent])["files"], 1);
        assert_eq!(clone.git(&["status", "--porcelain"]), format!("?? {cone}/new.txt"));
        assert!(!clone.path("out").exists());
        clone.colony(&["checkpoint", "-m", "work"]);
        desk.colony(&["merge", agent]);
        assert_eq!(fs::read(desk.path("out/deep/p.txt")).unwrap(), b"text\n");
    }
}

#[test]
fn commands_in_a_lost_clone_leave_a_repository_around_it_alone() {
    let desk = Sandbox::new();
    let (ada, _) = lost(&desk);
    // As where a home directory is a repository.
    let home = desk.outside().join("home");
    desk.git(&["init", "-q", home.to_str().unwrap()]);
    for args in [["checkpoint", "-m", "x"].as_slice(), &["agents", "new", "bob"], &["status"]] {
        let refused = ada.run(args);
        assert_eq!(refused.code, 128, "{args:?}: {}", refused.stdout);
        assert!(refused.stderr.contains("git colony agents restore ada"), "{}", refused.stderr);
    }
    desk.colony(&["agents", "restore", "ada", "--as", "eve"]);
    desk.colony(&["agents", "restore", "ada"]);
    ada.colony(&["checkpoint", "-m", "x"]);
}
