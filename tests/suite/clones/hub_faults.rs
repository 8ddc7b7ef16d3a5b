//! What goes wrong around the hub: locks of the dead, a hub that is gone. Nothing is answered as if all
//! were well.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::agents::new_and_merge::{agent, commit, hub};
use crate::support::Sandbox;

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
    // No git leaves a folder there: nobody takes it for one of the dead.
    fs::create_dir_all(&lock).unwrap();
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
    assert!(hint.starts_with(&format!("rm '{}'", lock.display())), "{hint}");
    assert_eq!(desk.visible_state(), before);
    // What is here needs nobody else, and the desk is shown with a word about what it may lack.
    assert_eq!(desk.json(&["diff", "main"])["ok"], true);
    let shown = desk.run(&["fleet"]);
    assert_eq!(shown.code, 0);
    assert!(shown.stderr.contains("warning: cannot read"), "{}", shown.stderr);
    fs::remove_dir(lock).unwrap();
    assert_eq!(desk.json(&["merge", "ada"])["outcome"], "fast_forward");
}

#[test]
fn young_locks_of_a_killed_git_in_the_hub_are_removed() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    ada.git(&["branch", "extra"]);
    commit(&ada, "a.txt", "published\n");
    let store = hub(&desk);
    desk.git(&["-C", store.to_str().unwrap(), "pack-refs", "--all"]);
    let of_ada = store.join("refs/colony/agents/ada/main/heads/fork/ada.lock");
    let left = ["packed-refs.lock", "packed-refs.new", "HEAD.lock"];
    let left: Vec<_> = left.iter().map(|name| store.join(name)).collect();
    for path in left.iter().chain([&of_ada]) {
        leave_lock(path, false);
    }
    ada.git(&["branch", "-q", "-D", "extra"]);
    ada.write("a.txt", "of ada\n");
    let said = ada.run(&["commit", "-m", "of ada", "--all"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(!said.stderr.contains("warning"), "{}", said.stderr);
    assert!(said.stderr.contains("removed the lock"), "{}", said.stderr);
    for path in left.iter().chain([&of_ada]) {
        assert!(!path.exists(), "{}", path.display());
    }
    let name = "refs/colony/agents/ada/main/heads/fork/ada";
    let published = desk.git(&["-C", store.to_str().unwrap(), "rev-parse", name]);
    assert_eq!(published, ada.git(&["rev-parse", "HEAD"]));
    desk.colony(&["agents", "new", "bob"]);
}

#[test]
fn a_lock_at_the_top_of_the_hub_goes_with_any_command() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "a.txt", "published\n");
    let left = hub(&desk).join("packed-refs.lock");
    leave_lock(&left, false);
    // Nor does a command that may not write.
    assert_eq!(ada.run(&["checkpoint", "-m", "one", "-n"]).code, 0);
    assert!(left.exists());
    ada.colony(&["checkpoint", "--auto"]);
    assert!(!left.exists());
}

#[test]
fn locks_of_a_killed_upkeep_do_not_stop_the_next() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    let objects = hub(&desk).join("objects");
    // As many loose objects as make an upkeep due, to who counts them.
    fs::create_dir_all(objects.join("17")).unwrap();
    for number in 0..40 {
        File::create(objects.join(format!("17/no-object-{number}"))).unwrap();
    }
    let left = ["pack/multi-pack-index.lock", "info/commit-graph.lock"];
    let left: Vec<_> = left.iter().map(|name| objects.join(name)).collect();
    for path in &left {
        leave_lock(path, false);
    }
    ada.write("a.txt", "of ada\n");
    let said = ada.run(&["commit", "-m", "of ada", "--all"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(!said.stderr.contains("warning"), "{}", said.stderr);
    assert!(left.iter().all(|path| !path.exists()), "{left:?}");
    assert!(objects.join("pack/multi-pack-index").is_file());
}

#[test]
fn a_lock_on_a_copy_stays_while_a_git_of_ours_may_hold_it() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    let lock = lock_of_copy(&desk);
    commit(&ada, "a.txt", "of ada\n");
    leave_lock(&lock, true);
    // As a git does that has outlived its parent.
    let held = File::open(desk.path(".git/colony/refs-lock")).unwrap();
    held.lock_shared().unwrap();
    let refused = desk.json(&["--timeout", "0.05", "merge", "ada"]);
    assert_eq!(refused["code"], "locked", "{refused:#}");
    assert!(lock.exists());
    drop(held);
    assert_eq!(desk.json(&["merge", "ada"])["outcome"], "fast_forward");
    assert!(!lock.exists());
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

#[test]
fn a_hub_that_cannot_be_used_is_reported_once() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    // Its objects are still found.
    fs::remove_file(hub(&desk).join("HEAD")).unwrap();
    for args in [
        &["blackboard", "put", "plan", "turn", "ada"][..],
        &["undo"],
        &["checkpoint", "-m", "one"],
        &["fleet"],
    ] {
        let run = ada.run(args);
        assert_eq!(run.code, 0, "{args:?} {}", run.stderr);
        let lines = run.stderr.lines();
        let warnings = lines.filter(|line| line.starts_with("warning: "));
        assert_eq!(warnings.count(), 1, "{args:?} {}", run.stderr);
    }
}

/// The ids under which checkouts of people publish in a hub.
fn desks_in(desk: &Sandbox, hub: &Path) -> Vec<String> {
    desks_in_at(desk, &desk.root, hub)
}

#[test]
fn a_copy_of_a_checkout_gets_an_id_of_its_own() {
    let desk = Sandbox::new();
    agent(&desk, "ada");
    let copy = desk.copy("copy");
    copy.write("a.txt", "of the copy\n");
    let said = copy.run(&["commit", "-m", "of the copy", "--all"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stderr.contains("this is a copy"), "{}", said.stderr);
    desk.write("a.txt", "of the desk\n");
    let said = desk.run(&["commit", "-m", "of the desk", "--all"]);
    assert!(!said.stderr.contains("this is a copy"), "{}", said.stderr);
    let ids = desks_in(&desk, &hub(&desk));
    assert_eq!(ids.len(), 2, "{ids:?}");
    let published = |id: &str| {
        let store = hub(&desk);
        let name = format!("refs/colony/desks/{id}/heads/main");
        desk.git(&["-C", store.to_str().unwrap(), "rev-parse", &name])
    };
    let mut tips = [published(&ids[0]), published(&ids[1])];
    let mut heads = [desk.git(&["rev-parse", "HEAD"]), copy.git(&["rev-parse", "HEAD"])];
    tips.sort();
    heads.sort();
    assert_eq!(tips, heads);
    // Once is enough.
    copy.write("a.txt", "again\n");
    let said = copy.run(&["commit", "-m", "again", "--all"]);
    assert!(!said.stderr.contains("this is a copy"), "{}", said.stderr);
}

#[test]
fn a_moved_checkout_keeps_its_id_and_its_successor_gets_a_hub() {
    let desk = Sandbox::new();
    agent(&desk, "ada");
    let store = hub(&desk);
    let moved = desk.outside().join("moved");
    fs::rename(&desk.root, &moved).unwrap();
    fs::create_dir(&desk.root).unwrap();
    let there = desk.at(moved.clone());
    there.write("a.txt", "moved\n");
    let said = there.run(&["commit", "-m", "moved", "--all"]);
    assert!(!said.stderr.contains("this is a copy"), "{}", said.stderr);
    assert_eq!(desks_in_at(&desk, &moved, &store).len(), 1);
    // Another repository at the old path knows nobody, and joins nobody.
    desk.git(&["init", "-q", "-b", "main", "--template="]);
    for (key, value) in [("user.name", "Eve"), ("user.email", "eve@example.com")] {
        desk.git(&["config", key, value]);
    }
    desk.write("x.txt", "another\n");
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "another"]);
    assert_eq!(desk.json(&["agents"])["count"], 0);
    let made = desk.run(&["agents", "new", "bob"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    assert!(made.stderr.contains("an earlier repository"), "{}", made.stderr);
    let listed = desk.json(&["agents"]);
    assert_eq!(listed["count"], 1);
    assert_ne!(listed["hub"], store.to_str().unwrap());
    assert_eq!(there.json(&["agents"])["agents"][0]["agent"], "ada");
    assert_eq!(there.json(&["agents"])["count"], 1);
    assert_eq!(desks_in(&desk, &store).len(), 1);
}

fn desks_in_at(desk: &Sandbox, place: &Path, hub: &Path) -> Vec<String> {
    let refs = desk.at(place.to_owned()).git(&[
        "-C",
        hub.to_str().unwrap(),
        "for-each-ref",
        "--format=%(refname)",
        "refs/colony/desks/",
    ]);
    let ids = refs.lines().filter_map(|name| name.split('/').nth(3));
    let mut ids: Vec<_> = ids.map(str::to_owned).collect();
    ids.dedup();
    ids
}

#[test]
fn a_lost_record_is_written_again_by_the_user() {
    let desk = Sandbox::new();
    let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
    commit(&ada, "a.txt", "of ada\n");
    let record = ada.path(".git/colony/membership.json");
    let whole: serde_json::Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    let of_bob = bob.read(".git/colony/membership.json");
    for content in [None, Some("{"), Some(of_bob.as_str())] {
        fs::remove_file(&record).unwrap();
        if let Some(content) = content {
            fs::write(&record, content).unwrap();
        }
        let refused = ada.json(&["status"]);
        assert_eq!(refused["code"], "repository-broken", "{content:?}");
        if content != Some("{") {
            let hint = refused["hint"].as_str().unwrap();
            assert!(hint.starts_with("git colony clones refresh ada"), "{hint}");
        }
        let listed = desk.json(&["clones"]);
        assert_eq!(listed["count"], 1, "{listed:#}");
        assert_eq!(listed["damaged"][0]["agent"], "ada");
        // An agent writes no record.
        let by_agent = desk.with("COLONY_AGENT", "bob");
        assert_eq!(
            by_agent.error(&["clones", "refresh", "ada"]),
            "repository-broken",
            "{content:?}"
        );
        let would = desk.json(&["clones", "refresh", "ada", "-n"]);
        assert_eq!(would["record_renewed"], true, "{would:#}");
        assert_eq!(fs::read_to_string(&record).ok().as_deref(), content);
        let done = desk.json(&["clones", "refresh", "ada"]);
        assert_eq!(done["record_renewed"], true, "{done:#}");
        let now: serde_json::Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
        for key in ["format", "role", "hub", "agent", "scope", "url", "branch"] {
            assert_eq!(now[key], whole[key], "{key} {content:?}");
        }
        assert_eq!(ada.json(&["status"])["ok"], true);
    }
    assert_eq!(desk.json(&["merge", "ada"])["outcome"], "fast_forward");
}

#[test]
fn a_clone_with_a_damaged_record_is_listed_and_keeps_its_hub() {
    let desk = Sandbox::new();
    let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
    commit(&ada, "a.txt", "of ada\n");
    desk.colony(&["agents", "remove", "bob", "--force"]);
    let record = ada.path(".git/colony/membership.json");
    let store = hub(&desk);
    assert!(!bob.path("").exists());
    let whole = fs::read(&record).unwrap();
    let newer = String::from_utf8(whole.clone()).unwrap();
    let older = newer.replace("\"format\": 2", "\"format\": 1");
    let newer = newer.replace("\"format\": 2", "\"format\": 99");
    let broken = "repository-broken";
    for (content, code) in [("{", broken), (&older, broken), (&newer, "newer-format")] {
        fs::write(&record, content).unwrap();
        for args in [&["agents"][..], &["clones"], &["fleet"]] {
            let found = desk.json(args);
            assert_eq!(found["damaged"][0]["code"], code, "{args:?} {found:#}");
            assert_eq!(found["damaged"][0]["agent"], "ada");
            let said = desk.run(args).stderr;
            assert!(said.contains("warning: damaged, the clone of agent 'ada'"), "{said}");
        }
        assert_eq!(desk.error(&["agents", "path", "ada"]), code);
        assert_eq!(desk.error(&["agents", "remove", "ada"]), code);
        desk.colony(&["clones", "gc", "--force"]);
        assert!(store.is_dir(), "it borrows from there");
    }
    fs::write(&record, whole).unwrap();
    assert_eq!(desk.json(&["fleet"])["damaged"].as_array().unwrap().len(), 0);
    assert_eq!(desk.json(&["merge", "ada"])["outcome"], "fast_forward");
}
