//! What counts as a change, and what happens then.

use std::fs;

use serde_json::json;

use super::{SOON, Watcher, keys, mapped, until};

#[test]
fn a_watch_of_the_map_fires_for_files_of_its_rows() {
    let sandbox = mapped();
    let mut watcher = Watcher::start(&sandbox, &["--debounce", SOON]);
    // None of these has a row that is not static, or is a file for git.
    sandbox.write("old/b.txt", "c\n");
    sandbox.write("src/noise.log", "x\n");
    sandbox.write("elsewhere.txt", "x\n");
    fs::create_dir_all(sandbox.path("src/deep/er")).unwrap();
    sandbox.write("src/deep/er/new.rs", "fn new() {}\n");
    let fired = watcher.next();
    assert_eq!(fired["paths"], json!(["src/deep/er/new.rs"]), "{fired}");
    sandbox.write("src/deep/er/new.rs", "fn newer() {}\n");
    assert_eq!(watcher.next()["paths"], json!(["src/deep/er/new.rs"]));
    sandbox.remove("src/a.rs");
    assert_eq!(watcher.next()["paths"], json!(["src/a.rs"]));
    // HEAD has other versions now.
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "all"]);
    let fired = watcher.next();
    assert_eq!(fired["paths"], json!(["src/a.rs", "src/deep/er/new.rs"]));
    let id = fired["watch_id"].as_str().unwrap();
    let rows = sandbox.json(&["watches"]);
    assert_eq!(rows["watches"][0]["fire_count"], 4);
    let key = format!("watch_fired:{id}");
    assert_eq!(keys(&sandbox).iter().filter(|found| **found == key).count(), 4);
}

#[test]
fn a_watch_of_paths_fires_for_these_also_before_they_exist() {
    let sandbox = mapped();
    let args = ["code", "new", "README.md", "--debounce", SOON];
    let mut watcher = Watcher::start(&sandbox, &args);
    sandbox.write("src/a.rs", "fn other() {}\n");
    sandbox.write("newer.txt", "x\n");
    sandbox.write("new/file", "x\n");
    let fired = watcher.next();
    assert_eq!(fired["paths"], json!(["new/file"]), "{fired}");
    assert!(fired["scope_id"].as_str().unwrap().ends_with(":code"));
}

/// Returns `true` if a process has a watch of the kernel on a directory.
#[cfg(target_os = "linux")]
fn has_events(process: u32, directory: &std::path::Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let inode = format!(" ino:{:x} ", fs::metadata(directory).unwrap().ino());
    let files = fs::read_dir(format!("/proc/{process}/fdinfo")).unwrap();
    let texts = files.filter_map(|file| fs::read_to_string(file.unwrap().path()).ok());
    texts.into_iter().any(|text| text.contains(&inode))
}

#[test]
#[cfg(target_os = "linux")]
fn a_watch_fires_for_files_in_directories_that_were_empty() {
    let sandbox = mapped();
    let empty = ["src/empty", "src/a/nested/one", "src/again"];
    for directory in empty {
        fs::create_dir_all(sandbox.path(directory)).unwrap();
    }
    fs::create_dir_all(sandbox.path("src/out.log/put")).unwrap();
    let mut watcher = Watcher::start(&sandbox, &["--debounce", SOON]);
    let process = watcher.child.id();
    let has = |directory: &str| has_events(process, &sandbox.path(directory));
    assert_eq!(empty.map(has), [true; 3]);
    // No file in it counts.
    assert!(!has("src/out.log/put"));
    sandbox.write("src/empty/new.rs", "fn new() {}\n");
    assert_eq!(watcher.next()["paths"], json!(["src/empty/new.rs"]));
    sandbox.write("src/a/nested/one/new.rs", "fn new() {}\n");
    assert_eq!(watcher.next()["paths"], json!(["src/a/nested/one/new.rs"]));
    fs::remove_dir_all(sandbox.path("src/again")).unwrap();
    fs::create_dir_all(sandbox.path("src/again/below")).unwrap();
    until(|| has("src/again") && has("src/again/below"));
    sandbox.write("src/again/below/new.rs", "fn new() {}\n");
    assert_eq!(watcher.next()["paths"], json!(["src/again/below/new.rs"]));
}

#[test]
fn reindex_ends_at_the_pages_of_a_scratch_map() {
    let sandbox = mapped();
    let args = ["--on-change", "reindex", "--debounce", SOON];
    let mut watcher = Watcher::start(&sandbox, &args);
    for number in 0..12 {
        sandbox.write(&format!("src/f{}.rs", number % 5), format!("fn f{number}() {{}}\n"));
        if number % 3 == 0 {
            sandbox.git(&["add", "-A"]);
            sandbox.git(&["commit", "-qm", "step"]);
        }
        if number % 4 == 3 {
            sandbox.remove("src/f2.rs");
        }
    }
    let is_fresh = || {
        let scopes = sandbox.json(&["scopes"]);
        let mut rows = scopes["mappings"].as_array().unwrap().iter();
        rows.all(|row| row["stale"] == false)
    };
    until(is_fresh);
    let reindexed = watcher.next();
    assert!(!reindexed["reindexed"].as_array().unwrap().is_empty(), "{reindexed}");
    let pages = || (sandbox.json(&["pages"]), sandbox.json(&["pages", "--worktree"]));
    let (committed, uncommitted) = pages();
    drop(watcher);
    fs::remove_dir_all(sandbox.path(".git/colony/cache")).unwrap();
    sandbox.colony(&["map"]);
    sandbox.colony(&["map", "--worktree"]);
    let scratch = pages();
    assert_eq!(committed["pages"], scratch.0["pages"]);
    assert_eq!(uncommitted["pages"], scratch.1["pages"]);
    assert!(keys(&sandbox).iter().any(|key| key.starts_with("reindexed:")));
}

#[test]
fn invalidate_marks_the_scope_stale_until_it_is_mapped() {
    let sandbox = mapped();
    let stale = || sandbox.json(&["scopes", "show", "code"])["stale"].clone();
    assert_eq!(stale(), false);
    let args = ["code", "--on-change", "invalidate", "--debounce", SOON];
    let mut watcher = Watcher::start(&sandbox, &args);
    let before = sandbox.json(&["pages"])["pages"].clone();
    sandbox.write("src/a.rs", "fn other() {}\n");
    watcher.next();
    assert_eq!(stale(), true);
    // The pages stay readable, and mapping makes the same ones of what is committed.
    assert_eq!(sandbox.json(&["pages"])["pages"], before);
    assert_eq!(sandbox.json(&["pages"])["stale"], true);
    sandbox.colony(&["map"]);
    assert_eq!(stale(), false);
    assert_eq!(sandbox.json(&["pages"])["pages"], before);
}

#[test]
fn quiet_states_are_kept_once_and_never_during_a_merge() {
    let sandbox = mapped();
    sandbox.git(&["switch", "-qc", "other"]);
    sandbox.write("src/a.rs", "fn theirs() {}\n");
    sandbox.git(&["commit", "-qam", "theirs"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.write("src/a.rs", "fn ours() {}\n");
    sandbox.git(&["commit", "-qam", "ours"]);
    let count = || sandbox.json(&["checkpoints", "--auto"])["count"].clone();
    let args = ["src", "--debounce", SOON, "--auto-checkpoint", "1"];
    let mut watcher = Watcher::start(&sandbox, &args);
    let before = count();
    for number in 0..5 {
        sandbox.write("src/new.rs", format!("fn f{number}() {{}}\n"));
    }
    until(|| watcher.next()["event"] == "kept");
    assert_eq!(count(), before.as_u64().unwrap() + 1);
    assert!(!sandbox.try_git(&["merge", "-q", "other"]));
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert_eq!(count(), before.as_u64().unwrap() + 1);
    sandbox.git(&["merge", "--abort"]);
    sandbox.write("src/new.rs", "fn last() {}\n");
    until(|| watcher.next()["event"] == "kept");
    assert_eq!(count(), before.as_u64().unwrap() + 2);
}

#[test]
fn a_branch_that_moved_at_the_remote_is_an_event() {
    let sandbox = mapped();
    let remote = sandbox.outside().join("remote.git");
    let url = remote.to_str().unwrap();
    sandbox.git(&["clone", "-q", "--bare", ".", url]);
    sandbox.git(&["remote", "add", "origin", url]);
    sandbox.git(&["fetch", "-q", "origin"]);
    let mut watcher = Watcher::start(&sandbox, &["--remote", "1"]);
    let elsewhere = sandbox.outside().join("elsewhere");
    sandbox.git(&["clone", "-q", url, elsewhere.to_str().unwrap()]);
    let there = sandbox.at(elsewhere);
    there.write("src/a.rs", "fn there() {}\n");
    there.git(&["-c", "user.name=t", "-c", "user.email=t@x", "commit", "-qam", "there"]);
    there.git(&["push", "-q", "origin", "HEAD:main"]);
    let moved = watcher.next();
    assert_eq!(moved, json!({"event": "branch_changed", "branch": "origin/main"}));
    assert!(keys(&sandbox).contains(&"branch_changed:origin/main".to_owned()));
}

#[test]
fn an_agent_hears_of_its_own_watch_and_not_of_its_own_work() {
    let sandbox = mapped();
    let path = sandbox.json(&["agents", "new", "ada"])["path"].clone();
    let clone = sandbox.at(path.as_str().unwrap().into());
    let since = sandbox.json(&["events"])["position"].clone();
    let mut watcher = Watcher::start(&clone, &["code", "--debounce", SOON, "--id", "own"]);
    clone.write("src/a.rs", "fn other() {}\n");
    watcher.next();
    clone.colony(&["checkpoint", "-m", "own work"]);
    let heard = clone.json(&["events", "--since", since.as_str().unwrap()]);
    let keys = heard["events"].as_array().unwrap().iter();
    let keys: Vec<_> = keys.map(|event| event["key"].as_str().unwrap()).collect();
    assert_eq!(keys.first(), Some(&"watch_fired:own"), "{heard:#}");
    assert!(keys.iter().all(|key| *key == "watch_fired:own"), "{heard:#}");
}
