//! A store of large files that is not the remote: what an agent commits goes there, and comes from there.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::remote::credentials_leak::{Desk, TOKEN, files_below};
use crate::support::git_server::{GitServer, Manner, Wire};

const CONTENT: &str = "large and elsewhere\n";

/// A desk whose remote is one server and whose large files are on another one.
fn desk_with_store() -> (Desk, GitServer, GitServer) {
    let desk = Desk::new();
    let login = format!("ada:{TOKEN}");
    let place = desk.sandbox.outside().join("store");
    fs::create_dir(&place).unwrap();
    let (origin, store) =
        (desk.server(Wire::Tls), GitServer::start(&place, Wire::Tls, Manner::Serve { login }));
    desk.configure(&[&origin, &store]);
    let sandbox = &desk.sandbox;
    let url = origin.url("design.git");
    sandbox.git(&["remote", "add", "origin", &url]);
    sandbox.colony(&["init", "--no-lfs"]);
    let text = sandbox.read(".colony/manifest.json");
    let mut manifest: Value = serde_json::from_str(&text).unwrap();
    manifest["lfs"]["mode"] = "separate".into();
    manifest["lfs"]["separate_url"] = store.url("large/info/lfs").into();
    sandbox.write(".colony/manifest.json", manifest.to_string());
    sandbox.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "large files are elsewhere"]);
    let bare = desk.served.join("design.git");
    sandbox.git(&["push", "-q", bare.to_str().unwrap(), "main"]);
    (desk, origin, store)
}

fn run(desk: &Desk, at: &Path, args: &[&str]) -> Value {
    let at = ["-C", at.to_str().unwrap(), "--json"];
    let output = desk.program(TOKEN, &[&at[..], args].concat());
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["ok"], true, "{args:?} {answer:#}");
    answer
}

/// The requests to git-lfs that a server has had.
fn of_large_files(server: &GitServer, method: &str) -> Vec<String> {
    let lines = server.seen().into_iter().map(|seen| seen.line);
    let lines = lines.filter(|line| line.contains("lfs/") && line.starts_with(method));
    lines.collect()
}

#[test]
fn large_files_go_to_a_store_of_their_own_and_come_from_there() {
    let (desk, origin, store) = desk_with_store();
    let here = &desk.sandbox.root;
    run(&desk, here, &["sync", "--push"]);
    let made = run(&desk, here, &["agents", "new", "ada"]);
    let ada = PathBuf::from(made["path"].as_str().unwrap());
    fs::write(ada.join("new.bin"), CONTENT).unwrap();
    run(&desk, &ada, &["commit", "-m", "large", "--all"]);
    // Publication stays on this machine.
    assert_eq!(of_large_files(&store, "PUT"), Vec::<String>::new());
    run(&desk, &ada, &["sync"]);
    let stored = files_below(&desk.sandbox.outside().join("store/lfs"));
    assert_eq!(stored.len(), 1, "{stored:?} {:?}", store.seen());
    assert_eq!(fs::read_to_string(&stored[0]).unwrap(), CONTENT);
    let bare = desk.served.join("design.git/refs/heads/fork/ada");
    assert!(bare.exists());
    // Somebody else, on another machine: no hub here has the object.
    let hub = PathBuf::from(made["hub"].as_str().unwrap());
    fs::remove_dir_all(hub.join("lfs/objects")).unwrap();
    let url = origin.url("design.git");
    let other = ["clone", &url, "--branch", "fork/ada", "--agent", "eve"];
    let made = run(&desk, &desk.sandbox.outside(), &other);
    let eve = PathBuf::from(made["path"].as_str().unwrap());
    assert_eq!(fs::read_to_string(eve.join("new.bin")).unwrap(), CONTENT);
    assert!(!of_large_files(&store, "GET").is_empty());
    assert_eq!(of_large_files(&origin, ""), Vec::<String>::new());
    assert!(!desk.served.join("lfs").exists());
    desk.hunt(&[&origin, &store], &[]);
}
