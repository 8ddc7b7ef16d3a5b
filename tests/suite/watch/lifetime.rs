//! How long watches and their process live.

use std::fs;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::json;

use super::{SOON, Watcher, mapped, until};
use crate::support::Sandbox;

#[test]
fn watches_outlive_their_process_and_end_with_a_stop() {
    let sandbox = mapped();
    let report = sandbox.json(&["watch", "code", "--debounce", SOON, "-n"]);
    assert_eq!(report["dry_run"], true);
    assert_eq!(sandbox.json(&["watches"])["count"], 0);
    let args = ["code", "--on-change", "reindex", "--debounce", SOON, "--id", "mine"];
    let watcher = Watcher::start(&sandbox, &args);
    watcher.signal(Signal::KILL);
    assert_eq!(watcher.end(), None);
    let rows = sandbox.json(&["watches"]);
    assert_eq!(rows["running"], false);
    assert_eq!(rows["watches"][0]["watch_id"], "mine");
    assert_eq!(rows["watches"][0]["on_change"], "reindex");
    // What changed while no process watched is mapped when one resumes.
    sandbox.write("src/a.rs", "fn other() {}\n");
    sandbox.git(&["commit", "-qam", "other"]);
    assert_eq!(sandbox.json(&["scopes", "show", "code"])["stale"], true);
    let watcher = Watcher::start(&sandbox, &["--resume"]);
    until(|| sandbox.json(&["scopes", "show", "code"])["stale"] == false);
    assert_eq!(sandbox.json(&["watches", "stop", "mine", "-n"])["stopped"], true);
    assert_eq!(sandbox.json(&["watches", "stop", "mine"])["stopped"], true);
    assert_eq!(watcher.end(), Some(0));
    assert_eq!(sandbox.run(&["watches", "stop", "mine"]).code, 1);
}

#[test]
fn one_process_watches_and_others_add_to_it() {
    let sandbox = mapped();
    let mut watcher = Watcher::start(&sandbox, &["code", "--debounce", SOON, "--id", "one"]);
    // This one returns at once.
    let second = sandbox.json(&["watch", "code", "README.md", "--debounce", SOON, "--id", "two"]);
    assert_eq!((&second["running"], &second["existed"]), (&json!(true), &json!(false)));
    until(|| {
        sandbox.write("README.md", format!("{:?}\n", std::time::Instant::now()));
        let rows = sandbox.json(&["watches"])["watches"].clone();
        let mut rows = rows.as_array().unwrap().iter();
        rows.any(|row| row["watch_id"] == "two" && row["fire_count"] != 0)
    });
    assert_eq!(watcher.next()["watch_id"], "two");
    // An equal one is not started twice.
    let third = sandbox.json(&["watch", "code", "README.md", "--debounce", SOON]);
    assert_eq!((&third["watch_id"], &third["existed"]), (&json!("two"), &json!(true)));
    watcher.signal(Signal::INT);
    assert_eq!(watcher.end(), Some(0));
    assert_eq!(sandbox.json(&["watches"])["count"], 2);
}

#[test]
fn a_detached_process_watches_after_its_command() {
    let sandbox = mapped();
    let report = sandbox
        .program()
        .args(["--json", "watch", "code", "--detach", "--debounce", SOON])
        .output()
        .unwrap();
    assert!(report.status.success());
    until(|| sandbox.json(&["watches"])["running"] == true);
    sandbox.write("src/a.rs", "fn other() {}\n");
    until(|| sandbox.json(&["watches"])["watches"][0]["fire_count"] == 1);
    let id = sandbox.json(&["watches"])["watches"][0]["watch_id"].clone();
    sandbox.colony(&["watches", "stop", id.as_str().unwrap()]);
    until(|| sandbox.json(&["watches"])["running"] == false);
}

#[test]
fn a_detached_process_acts_as_the_agent_of_its_command() {
    let sandbox = mapped();
    let started = sandbox
        .program()
        .args(["--json", "--agent", "ada", "watch", "code", "--detach"])
        .args(["--on-change", "reindex", "--debounce", SOON])
        .output()
        .unwrap();
    assert!(started.status.success());
    sandbox.write("src/a.rs", "fn other() {}\n");
    sandbox.git(&["commit", "-qam", "other"]);
    let newest = || {
        let heard = sandbox.json(&["events", "--all", "--key", "mapped:", "-n", "1"]);
        heard["events"][0]["agent"].clone()
    };
    until(|| newest() == "ada");
    let id = sandbox.json(&["watches"])["watches"][0]["watch_id"].clone();
    sandbox.colony(&["watches", "stop", id.as_str().unwrap()]);
    until(|| sandbox.json(&["watches"])["running"] == false);
}

#[test]
fn a_deleted_or_damaged_state_loses_no_running_watch() {
    let sandbox = mapped();
    let mut watcher = Watcher::start(&sandbox, &["code", "--debounce", SOON, "--id", "one"]);
    let folder = sandbox.path(".git/colony/state");
    fs::remove_dir_all(&folder).unwrap();
    until(|| sandbox.json(&["watches"])["count"] == 1);
    sandbox.write("src/a.rs", "fn other() {}\n");
    assert_eq!(watcher.next()["watch_id"], "one");
    fs::write(folder.join("1.db"), "not a database, and longer than a header of one".repeat(50))
        .unwrap();
    sandbox.write("src/a.rs", "fn another() {}\n");
    assert_eq!(watcher.next()["watch_id"], "one");
    until(|| sandbox.json(&["watches"])["count"] == 1);
}

#[test]
fn refused_watches_say_why() {
    let sandbox = mapped();
    let code = |args: &[&str]| sandbox.json(args)["code"].clone();
    assert_eq!(code(&["watch", "--scope", "nothing", "-n"]), "scope-not-found");
    assert_eq!(code(&["watch", "code", "../out", "-n"]), "path-outside");
    assert_eq!(code(&["watch", "code", "--debounce", "-1"]), "usage");
    assert_eq!(code(&["watch", "--id", "a\nb", "-n"]), "usage");
    assert_eq!(sandbox.run(&["watch", "--on-change", "remap"]).code, 129);
    let mut watcher = Watcher::start(&sandbox, &["--id", "one", "--debounce", SOON]);
    assert_eq!(code(&["watch", "code", "--id", "one"]), "usage");
    let limited = sandbox.with("COLONY_WATCH_MAX", "1");
    let refused = limited.json(&["watch", "code", "--id", "two"]);
    assert_eq!(refused["code"], "too-many-watches", "{refused}");
    assert_eq!(
        limited.run(&["watch", "code", "--id", "two"]).code,
        128,
        "the command line is right"
    );
    // A word that names no scope is a path, as in git.
    let path = sandbox.json(&["watch", "src", "--debounce", SOON]);
    assert_eq!((&path["scope_id"], &path["paths"]), (&json!(null), &json!(["src"])));
    sandbox.write("src/a.rs", "fn other() {}\n");
    watcher.next();
}

#[test]
fn a_map_that_breaks_ends_no_process() {
    let sandbox: Sandbox = mapped();
    let mut watcher = Watcher::start(&sandbox, &["--on-change", "reindex", "--debounce", SOON]);
    let map = sandbox.read(".colony/repo_map.yaml");
    sandbox.write(".colony/repo_map.yaml", "sources: {");
    sandbox.write("src/a.rs", "fn other() {}\n");
    assert_eq!(watcher.next()["reindexed"], json!([]));
    sandbox.write(".colony/repo_map.yaml", map);
    sandbox.write("src/a.rs", "fn another() {}\n");
    until(|| !watcher.next()["reindexed"].as_array().unwrap().is_empty());
}

#[test]
fn a_process_ends_with_its_working_tree() {
    let sandbox = mapped();
    let clone = sandbox.json(&["agents", "new", "ada"])["path"].clone();
    let clone = sandbox.at(clone.as_str().unwrap().into());
    let watcher = Watcher::start(&clone, &["--debounce", SOON]);
    sandbox.colony(&["agents", "remove", "ada"]);
    assert_eq!(watcher.end(), Some(0));
}

#[test]
fn a_killed_process_leaves_all_that_the_next_one_needs() {
    let sandbox = mapped();
    let args = ["--on-change", "reindex", "--debounce", "0.01", "--id", "one"];
    let mut watcher = Some(Watcher::start(&sandbox, &args));
    for round in 0..8_u64 {
        for number in 0..4 {
            sandbox.write(&format!("src/f{number}.rs"), format!("fn f{round}() {{}}\n"));
        }
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-qm", "round"]);
        std::thread::sleep(std::time::Duration::from_millis(round * 23));
        let killed = watcher.take().unwrap();
        killed.signal(Signal::KILL);
        killed.end();
        watcher = Some(Watcher::start(&sandbox, &["--resume"]));
    }
    until(|| sandbox.json(&["scopes", "show", "code"])["stale"] == false);
    let watched = sandbox.json(&["pages"]);
    drop(watcher);
    assert_eq!(sandbox.json(&["watches"])["watches"][0]["watch_id"], "one");
    fs::remove_dir_all(sandbox.path(".git/colony/cache")).unwrap();
    sandbox.colony(&["map"]);
    assert_eq!(watched["pages"], sandbox.json(&["pages"])["pages"]);
}

#[test]
fn the_process_ends_with_its_last_watch_whatever_else_it_does() {
    let sandbox = mapped();
    assert_eq!(sandbox.run(&["watch", "--resume"]).code, 1);
    let args = ["code", "--id", "one", "--auto-checkpoint", "1"];
    let watcher = Watcher::start(&sandbox, &args);
    sandbox.colony(&["watches", "stop", "one"]);
    assert_eq!(watcher.end(), Some(0));
}

#[test]
fn a_change_right_after_a_detached_start_is_noticed() {
    let sandbox = mapped();
    let command = ["watch", "code", "--detach", "--debounce", SOON, "--id", "one"];
    assert!(sandbox.program().args(command).output().unwrap().status.success());
    sandbox.write("src/a.rs", "fn other() {}\n");
    until(|| sandbox.json(&["watches"])["watches"][0]["fire_count"] == 1);
    let doctor = sandbox.json(&["doctor"]);
    let mut checks = doctor["checks"].as_array().unwrap().iter();
    let check = checks.find(|check| check["name"] == "watches");
    let log = sandbox.path(".git/colony/watcher.log");
    assert_eq!(
        check.unwrap()["detail"],
        format!("1 watch; in the background, the log is '{}'", log.display())
    );
    sandbox.colony(&["watches", "stop", "one"]);
    until(|| sandbox.json(&["watches"])["running"] == false);
    let places = sandbox.json(&["paths"])["places"].clone();
    let mut places = places.as_array().unwrap().iter();
    let place = places.find(|place| place["name"] == "watcher-log").unwrap();
    assert_eq!(place["path"], log.to_str().unwrap());
    assert_eq!(place["exists"], true);
    // Each line has its time.
    until(|| fs::read_to_string(&log).unwrap().lines().count() == 2);
    let text = fs::read_to_string(&log).unwrap();
    let told: Vec<&str> = text.lines().map(|line| line.split_once("  ").unwrap().1).collect();
    assert_eq!(told, ["begins to watch", "has ended"]);
}

#[test]
fn a_closed_pipe_ends_the_process_and_keeps_the_watch() {
    let sandbox = mapped();
    let mut command = sandbox.program();
    command.args(["watch", "code", "--id", "one"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    until(|| sandbox.json(&["watches"])["running"] == true);
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr), (Some(0), Vec::new()));
    let left = sandbox.json(&["watches"]);
    assert_eq!((&left["count"], &left["running"]), (&json!(1), &json!(false)));
}

#[test]
fn a_watch_and_a_reader_follow_their_repository_into_a_hub() {
    let sandbox = mapped();
    let watcher = Watcher::start(&sandbox, &["code", "--id", "one"]);
    let mut reader = sandbox.program();
    reader.args(["--json", "events", "--follow", "--since", "0:0", "--key", "mapped:"]);
    let mut reader = reader.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(reader.stdout.take().unwrap()));
    let mut next =
        || -> serde_json::Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert!(next()["key"].as_str().unwrap().starts_with("mapped:"));
    next();
    sandbox.json(&["agents", "new", "ada"]);
    // The list of watches moves, too.
    until(|| sandbox.json(&["watches"])["count"] == 1);
    sandbox.write("src/a.rs", "fn other() {}\n");
    sandbox.git(&["commit", "-qam", "other"]);
    sandbox.colony(&["map"]);
    assert_eq!(next()["gap"], true);
    assert!(next()["key"].as_str().unwrap().starts_with("mapped:"));
    reader.kill().unwrap();
    reader.wait().unwrap();
    sandbox.colony(&["watches", "stop", "one"]);
    assert_eq!(watcher.end(), Some(0));
}

#[test]
fn a_process_ends_when_another_repository_takes_its_place() {
    for act in [
        "mv .git ../away",
        // The process may create its state again while this deletes it.
        "until rm -rf .git; do :; done && cp -a ../copy/.git .",
    ] {
        let sandbox = mapped();
        // Before the process starts, whose files come and go.
        sandbox.copy("copy");
        let watcher = Watcher::start(&sandbox, &["code", "--id", "one"]);
        let done = sandbox.process("sh").args(["-c", act]).status().unwrap();
        assert!(done.success());
        assert_eq!(watcher.end(), Some(0), "{act}");
    }
}

#[test]
fn clones_of_a_hub_may_name_their_watches_alike() {
    let sandbox = mapped();
    let clone = |agent: &str| {
        let path = sandbox.json(&["agents", "new", agent])["path"].clone();
        sandbox.at(path.as_str().unwrap().into())
    };
    let (ada, bob) = (clone("ada"), clone("bob"));
    let watchers = [&ada, &bob].map(|view| Watcher::start(view, &["code", "--id", "mine"]));
    assert_eq!(ada.json(&["watches", "stop", "mine"])["stopped"], true);
    assert_eq!(bob.json(&["watches"])["count"], 1);
    assert_eq!(bob.json(&["watches", "stop", "mine"])["stopped"], true);
    for watcher in watchers {
        assert_eq!(watcher.end(), Some(0));
    }
}

#[test]
fn a_remote_that_hangs_delays_neither_watches_nor_the_end() {
    let sandbox = mapped();
    // It accepts connections, in the kernel, and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/x.git", silent.local_addr().unwrap());
    sandbox.git(&["remote", "add", "origin", &url]);
    let args = ["code", "--id", "one", "--debounce", SOON, "--remote", "1"];
    let mut watcher = Watcher::start(&sandbox, &args);
    let refused = sandbox.json(&["watch", "--resume", "--remote", "1"]);
    assert_eq!(refused["code"], "usage");
    silent.set_nonblocking(true).unwrap();
    let mut asked = None;
    until(|| {
        asked = silent.accept().ok();
        asked.is_some()
    });
    sandbox.write("src/a.rs", "fn other() {}\n");
    assert_eq!(watcher.next()["watch_id"], "one");
    sandbox.colony(&["watches", "stop", "one"]);
    assert_eq!(watcher.end(), Some(0));
}
