//! What goes wrong around the hub: locks of the dead, a hub that is gone. Nothing is answered as if all
//! were well.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::agents::{agent, commit, hub};
use super::support::Sandbox;

/// Leaves the lock that a killed git leaves; `old` is before the clock of every sandbox.
fn leave_lock(path: &Path, old: bool) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let file = File::create(path).unwrap();
    if old {
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        file.set_modified(long_ago).unwrap();
    }
}

fn lock_of_copy(desk: &Sandbox) -> PathBuf {
    desk.colony(&["fleet"]);
    desk.path(".git/refs/colony-local/agents/ada/main/heads/fork/ada.lock")
}

#[test]
fn a_named_agent_whose_work_cannot_be_seen_is_no_answer() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    let lock = lock_of_copy(&desk);
    commit(&ada, "a.txt", "of ada\n");
    leave_lock(&lock, false);
    let before = desk.visible_state();
    for args in [
        &["merge", "ada"][..],
        &["merge", "fork/ada"],
        &["cherry-pick", "ada"],
        &["cherry-pick", "main..ada"],
        &["diff", "ada"],
        &["diff", "main", "ada"],
        &["diff", "ada~0"],
        &["fork", "again", "--from", "ada"],
        &["agents", "new", "bob", "--from", "ada"],
        &["merge", "unheard-of"],
    ] {
        assert_eq!(desk.error(args), "locked", "{args:?}");
    }
    let refused = desk.json(&["merge", "ada"]);
    let hint = refused["hint"].as_str().unwrap();
    assert!(
        hint.starts_with(&format!("rm '{}'", lock.display())),
        "{hint}"
    );
    assert_eq!(desk.visible_state(), before);
    // What is here needs nobody else, and the desk is shown with a word about what it may lack.
    assert_eq!(desk.json(&["diff", "main"])["ok"], true);
    let shown = desk.run(&["fleet"]);
    assert_eq!(shown.code, 0);
    assert!(
        shown.stderr.contains("warning: cannot see"),
        "{}",
        shown.stderr
    );
    fs::remove_file(lock).unwrap();
    assert_eq!(desk.json(&["merge", "ada"])["outcome"], "fast_forward");
}

#[test]
fn an_old_lock_on_copies_of_ours_goes_by_itself() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    let lock = lock_of_copy(&desk);
    commit(&ada, "a.txt", "of ada\n");
    leave_lock(&lock, true);
    let locks = |desk: &Sandbox| {
        let found = desk.json(&["doctor"]);
        let checks = found["checks"].as_array().unwrap().clone();
        let locks = checks.iter().filter(|check| check["ok"] == false);
        locks
            .map(|check| check["detail"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert!(locks(&desk).contains("ada.lock"), "{}", locks(&desk));
    let run = desk.run(&["merge", "ada"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("removed the lock"), "{}", run.stderr);
    assert_eq!(desk.read("a.txt"), "of ada\n");
    assert!(!lock.exists());
    let of_hub = hub(&desk).join("packed-refs.lock");
    leave_lock(&of_hub, true);
    let below = hub(&desk).join("refs/colony/agents/ada/main/heads/fork/ada.lock");
    leave_lock(&below, true);
    let said = locks(&desk);
    assert!(said.contains(of_hub.to_str().unwrap()), "{said}");
    assert!(said.contains(below.to_str().unwrap()), "{said}");
}

#[test]
fn a_hub_that_is_gone_is_said_and_made_anew_only_aloud() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "a.txt", "of ada\n");
    desk.colony(&["fleet"]);
    let store = hub(&desk);
    fs::remove_dir_all(&store).unwrap();
    for args in [
        &["fleet"][..],
        &["forks"],
        &["merge", "ada"],
        &["diff", "ada"],
        &["cherry-pick", "ada"],
        &["decisions"],
    ] {
        assert_eq!(desk.error(args), "hub-missing", "{args:?}");
    }
    let refused = desk.json(&["merge", "ada"]);
    assert!(refused["hint"].as_str().unwrap().contains("agents new"));
    let doctor = desk.json(&["doctor"]);
    let is_hub = |check: &&serde_json::Value| check["name"] == "hub";
    let check = doctor["checks"].as_array().unwrap().iter().find(is_hub);
    assert_eq!(check.unwrap()["ok"], false);
    let made = desk.run(&["agents", "new", "bob"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    assert!(made.stderr.contains("is gone"), "{}", made.stderr);
    assert!(store.is_dir());
    // The clone of before is whole again, and its work is where it was.
    ada.git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(desk.json(&["merge", "ada"])["outcome"], "fast_forward");
    assert_eq!(desk.json(&["agents"])["count"], 2);
}
