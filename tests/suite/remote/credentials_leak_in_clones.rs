//! The hunt for the token among hubs, clones and what `clone`, `sync` and their like say.

use std::fs;
use std::process::Output;

use crate::support::git_server::{GitServer, Wire};

use super::credentials_leak::{Desk, TOKEN, files_below};

/// A desk whose server has its branch.
fn served() -> Desk {
    let desk = Desk::new();
    let place = desk.served.join("design.git");
    desk.sandbox.git(&["push", "-q", place.to_str().unwrap(), "main"]);
    desk
}

fn said(output: &Output) -> String {
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&said).into_owned()
}

#[test]
fn hubs_clones_and_syncs_use_the_token_and_leave_it_nowhere() {
    let desk = served();
    let server = desk.server(Wire::Tls);
    desk.configure(&[&server]);
    let url = &server.url("design.git");
    let mut all = String::new();
    desk.sandbox.git(&["remote", "add", "origin", url]);
    for args in [
        &["clone", url, "--agent", "ada"][..],
        &["--json", "clone", url, "--read-only"],
        &["--json", "colony", "set", url],
        &["fork", "x", "--no-switch"],
        &["sync", "--push"],
        &["--json", "clones", "refresh", "ada"],
        &["clones"],
        &["agents", "new", "bob"],
        &["agents", "remove", "ada"],
    ] {
        let before = server.authorized().len();
        let output = desk.program(TOKEN, args);
        let words = said(&output);
        assert!(output.status.success(), "{args:?} {words}");
        let asks = ["sync", "clone"].contains(&args[0]) || args.contains(&"refresh");
        assert!(!asks || server.authorized().len() > before, "{args:?}");
        all.push_str(&words);
    }
    assert!(desk.served.join("design.git/refs/heads/fork/x").exists());
    desk.hunt(&[&server], &[all.as_bytes()]);
}

#[test]
fn a_refused_token_is_in_no_word_or_file_of_a_failing_clone() {
    let desk = served();
    let server = desk.server_for(Wire::Tls, "ada:another");
    desk.configure(&[&server]);
    let url = &server.url("design.git");
    desk.sandbox.git(&["remote", "add", "origin", url]);
    let mut all = String::new();
    for args in [
        &["clone", url, "--agent", "ada"][..],
        &["--json", "clone", url, "--agent", "ada"],
        &["sync"],
        &["--json", "sync", "-n"],
    ] {
        let output = desk.program(TOKEN, args);
        let words = said(&output);
        assert_eq!(output.status.code(), Some(128), "{args:?} {words}");
        assert!(words.contains("DESK_TOKEN"), "{args:?} {words}");
        all.push_str(&words);
    }
    let hubs = desk.sandbox.outside().join("home/.local/share/git-colony/hubs");
    let left = files_below(&hubs);
    let only_locks = left.iter().all(|path| path.extension().is_some_and(|end| end == "lock"));
    assert!(only_locks, "{left:?}");
    desk.hunt(&[&server], &[all.as_bytes()]);
}

#[test]
fn credentials_in_a_clone_url_are_neither_shown_nor_stored() {
    let desk = served();
    let server: GitServer = desk.server_for(Wire::Tls, "eve:right@s3cret");
    desk.configure(&[&server]);
    let plain = server.url("design.git");
    let url = &plain.replace("://", "://eve:right%40s3cret@");
    desk.sandbox.git(&["remote", "add", "origin", url]);
    // The hub is made by the first clone, with git. Only the user's own command line has the password.
    let made = desk.program("unused", &["clone", url, "--agent", "zoe"]);
    assert!(made.status.success(), "{}", said(&made));
    let traced = fs::read_to_string(desk.sandbox.outside().join("execve")).unwrap();
    let with_it = traced.lines().filter(|line| line.contains("s3cret"));
    assert_eq!(with_it.count(), 1, "{traced}");
    assert!(traced.contains("git-remote-https"), "{traced}");
    for (args, works) in [
        (&["clone", url, "--agent", "ada"][..], true),
        (&["--json", "clone", url, "--agent", "bob"], true),
        (&["--json", "clone", url, "--agent", "bob"], false),
        (&["--json", "clone", url, "-n", "--read-only"], true),
        (&["--json", "colony", "set", url], true),
        (&["colony", "show"], true),
        (&["--json", "colony"], true),
        (&["clones"], true),
        (&["--json", "clones"], true),
        (&["fork", "x", "--no-switch"], true),
        (&["sync", "--push"], true),
        (&["--json", "sync", "-n"], true),
        (&["--json", "agents", "new", "eve"], true),
        (&["--json", "fleet"], true),
        (&["fleet"], true),
        // A hub knows no credentials: it is refused.
        (&["--json", "clones", "refresh", "ada"], false),
        (&["map", "--url", url, "--base-scope", "x"], true),
        (&["--json", "map", "--url", url, "--base-scope", "x"], true),
        (&["--json", "map", "--url", url, "--commit", "none"], false),
        (&["--json", "map", "check", "--url", url], true),
        (&["--json", "map", "show", "--url", url], true),
        (&["map", "preview", "--url", url], true),
        (&["--json", "map", "tree", "--url", url, "--tokens"], true),
        (&["--json", "scopes", "show", "x"], true),
        (&["doctor"], true),
        (&["--json", "status"], true),
    ] {
        let output = desk.program("unused", args);
        let words = said(&output);
        assert!(!words.contains("s3cret"), "{args:?} {words}");
        assert_eq!(output.status.success(), works, "{args:?} {words}");
        // Nor is it in the arguments of any process but those that the user typed.
        let traced = fs::read_to_string(desk.sandbox.outside().join("execve")).unwrap_or_default();
        let with_it = traced.lines().filter(|line| line.contains("s3cret")).count();
        assert_eq!(with_it, usize::from(args.contains(&&url[..])), "{args:?} {traced}");
    }
    // What git hands to the user's own helper is between these two: that is not below here.
    let shared = desk.sandbox.outside().join("home/.local/share/git-colony");
    let mut files = files_below(&shared);
    // The user's own remote is in the configuration.
    let own = files_below(&desk.sandbox.path(".git")).into_iter();
    files.extend(own.filter(|file| !file.ends_with(".git/config")));
    assert!(files.len() > 60, "{files:?}");
    for file in files {
        let bytes = fs::read(&file).unwrap();
        let found = bytes.windows(6).any(|part| part == b"s3cret");
        assert!(!found, "it is in {}", file.display());
    }
}
