//! Files that commands go by, changed at random: decisions, the record of membership, and what a command that
//! was killed has noted. No command may crash, stand still, let a control byte through, or lose a file.

use std::fs;

use git_colony::testing::World;
use proptest::prelude::*;

use crate::support::Sandbox;

use super::fuzz_objects::{change, holds_up, runner};

#[test]
fn no_damaged_decision_stops_more_than_itself() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "base"]);
    for title in ["Use one", "Use two"] {
        sandbox.colony(&["decide", "-m", title, "--implements", "HEAD"]);
    }
    let folder = sandbox.path("design/decisions");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().flatten().collect();
    files.sort_by_key(fs::DirEntry::file_name);
    let damaged = files[0].path();
    let whole = fs::read(&damaged).unwrap();
    let text: serde_json::Value = serde_json::from_slice(&whole).unwrap();
    let id = text["decision_id"].as_str().unwrap();
    let found = runner().run(&change(), |change| {
        let bytes = change.make(&whole);
        fs::write(&damaged, &bytes).unwrap();
        for args in [
            &["decisions"][..],
            &["decide", "--id", id, "-m", "Use one", "--implements", "HEAD", "-n"],
            &["diff"],
        ] {
            holds_up(&sandbox, args)?;
        }
        sandbox.git(&["commit", "-q", "--allow-empty", "-am", "damaged"]);
        for args in [&["decisions"][..], &["decisions", id], &["cherry-pick", "-n", "HEAD~1"]] {
            holds_up(&sandbox, args)?;
        }
        let listed = sandbox.json(&["decisions"]);
        let titles = listed["decisions"].as_array().unwrap().iter();
        let mut titles = titles.map(|one| one["title"].as_str().unwrap_or_default());
        prop_assert!(titles.any(|title| title == "Use two"), "{listed:#}");
        prop_assert_eq!(fs::read(&damaged).unwrap(), bytes);
        sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
        Ok(())
    });
    found.unwrap();
}

#[test]
fn a_damaged_membership_stops_commands_only_with_an_error() {
    let desk = Sandbox::new();
    desk.colony(&["agents", "new", "ada"]);
    let path = desk.path(".git/colony/membership.json");
    let whole = fs::read(&path).unwrap();
    let files = desk.worktree();
    let found = runner().run(&change(), |change| {
        let bytes = change.make(&whole);
        fs::write(&path, &bytes).unwrap();
        for args in [
            &["status"][..],
            &["fleet"],
            &["agents"],
            &["clones"],
            &["checkpoint", "--auto"],
            &["agents", "remove", "ada", "-n"],
            &["clones", "gc", "-n"],
            &["doctor"],
        ] {
            holds_up(&desk, args)?;
        }
        prop_assert_eq!(desk.worktree(), files.clone());
        Ok(())
    });
    found.unwrap();
}

/// A restore that was killed at a step, with files moved or about to be.
fn cut_off(step: &'static str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "base"]);
    sandbox.write("a.txt", "mine\n");
    sandbox.write("new.txt", "new\n");
    let world = World { die_at: Some(step), ..sandbox.world() };
    assert_ne!(sandbox.run_in(world, &["restore", "base"]).code, 0);
    sandbox
}

/// Tells whether the text of a file stands in the worktree or among what was moved aside.
fn is_kept(sandbox: &Sandbox, text: &str) -> bool {
    let mut open = vec![sandbox.path("."), sandbox.path(".git/colony-kept")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                if entry.file_name() != ".git" {
                    open.push(path);
                }
            } else if fs::read_to_string(&path).is_ok_and(|found| found == text) {
                return true;
            }
        }
    }
    false
}

#[test]
fn no_damaged_note_of_a_pending_operation_loses_a_file() {
    const STEPS: [&str; 4] = ["prepared", "committed", "refs-moved", "files-moved"];
    let strategy = (prop::sample::select(STEPS.as_slice()), change());
    let found = runner().run(&strategy, |(step, change)| {
        let sandbox = cut_off(step);
        let pending = sandbox.path(".git/colony/pending");
        let whole = fs::read(&pending).unwrap();
        fs::write(&pending, change.make(&whole)).unwrap();
        for args in [&["status"][..], &["doctor"], &["checkpoint", "--auto"], &["ops"], &["status"]]
        {
            holds_up(&sandbox, args)?;
        }
        prop_assert!(is_kept(&sandbox, "mine\n"), "{step}");
        prop_assert!(is_kept(&sandbox, "new\n"), "{step}");
        sandbox.git(&["fsck", "--strict", "--no-dangling"]);
        Ok(())
    });
    found.unwrap();
}

#[test]
fn no_damaged_note_of_locks_removes_anything_but_a_lock() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "base"]);
    let main = sandbox.git(&["rev-parse", "main"]);
    let git_dir = sandbox.path(".git");
    let about = |name: &str, planned: &str| {
        let path = git_dir.join(name);
        serde_json::json!({ "path": path, "identity": null, "changed": null, "planned": planned })
    };
    let mut remotes = about("refs/remotes", "");
    remotes["is_folder"] = true.into();
    let locks = [about("refs/heads/main.lock", &main), about("HEAD.lock", &main), remotes];
    let whole = serde_json::to_vec(&locks).unwrap();
    let note = sandbox.path(".git/colony/op-9.locks");
    let found = runner().run(&change(), |change| {
        fs::write(&note, change.make(&whole)).unwrap();
        // They are younger than the note, and hold what git was to write.
        let made = ["refs/heads/main.lock", "refs/remotes/origin/main.lock", "HEAD.lock"];
        for name in made {
            sandbox.write(&format!(".git/{name}"), format!("{main}\n"));
        }
        sandbox.write(".git/refs/heads/main", format!("{main}\n"));
        sandbox.write("theirs.lock", "");
        holds_up(&sandbox, &["checkpoint", "--auto"])?;
        holds_up(&sandbox, &["doctor"])?;
        prop_assert_eq!(sandbox.git(&["rev-parse", "main"]), main.as_str());
        prop_assert!(sandbox.path("theirs.lock").exists());
        for name in made {
            fs::remove_file(git_dir.join(name)).ok();
        }
        Ok(())
    });
    found.unwrap();
}
