//! Two clones and a remote between them: what travels, what stays, and who wins.

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use crate::support::fixture::Fixture;
use crate::support::{Sandbox, View, write_program};

/// A sandbox whose `origin` is a bare repository beside it, and another clone of that.
pub(crate) struct Two {
    pub(crate) a: Sandbox,
    pub(crate) remote: String,
    /// Whether the people of all clones have consented to publish there.
    consents: bool,
}

static TWO: Fixture = Fixture::new(|| {
    let two = Two::of(Sandbox::new());
    let a = &two.a;
    a.git(&["clone", "-q", "--bare", a.root.to_str().unwrap(), &two.remote]);
    a.git(&["remote", "add", "origin", &two.remote]);
    a.git(&["fetch", "-q", "origin"]);
    two.clone("b", "Bob");
    two.a
});

impl Two {
    pub(crate) fn new() -> Two {
        let mut two = Two::without_consent();
        two.consents = true;
        two.a.colony(&["sync", "--push"]);
        two.b().colony(&["sync", "--push"]);
        two
    }

    pub(crate) fn without_consent() -> Two {
        Two::of(TWO.copy())
    }

    fn of(a: Sandbox) -> Two {
        let remote = a.outside().join("remote.git").to_str().unwrap().to_owned();
        Two { a, remote, consents: false }
    }

    fn clone(&self, name: &str, user: &str) {
        let path = self.a.outside().join(name).to_str().unwrap().to_owned();
        self.a.git(&["clone", "-q", &self.remote, &path]);
        let mail = format!("{}@example.com", user.to_lowercase());
        self.a.git(&["-C", &path, "config", "user.name", user]);
        self.a.git(&["-C", &path, "config", "user.email", &mail]);
        if self.consents {
            self.at(name).colony(&["sync", "--push"]);
        }
    }

    fn at(&self, name: &str) -> View {
        self.a.at(self.a.outside().join(name))
    }

    pub(crate) fn b(&self) -> View {
        self.at("b")
    }

    /// Another clone of the user of the sandbox.
    pub(crate) fn same_user(&self) -> View {
        self.clone("c", "Ada");
        self.at("c")
    }

    pub(crate) fn at_remote(&self, args: &[&str]) -> String {
        self.a.git(&[&["--git-dir", &self.remote], args].concat())
    }

    /// The refs of the remote below a prefix, with what they hold.
    pub(crate) fn remote_refs(&self, prefix: &str) -> String {
        self.at_remote(&["for-each-ref", "--format=%(refname) %(objectname)", prefix])
    }

    fn hook(path: &Path, script: &str) {
        write_program(path, format!("#!/bin/sh\n{script}\n"));
    }

    pub(crate) fn remote_hook(&self, name: &str, script: &str) {
        Two::hook(&Path::new(&self.remote).join("hooks").join(name), script);
    }
}

/// What became of a ref; empty where nothing is told of it.
#[test]
fn a_copy_of_two_clones_and_their_remote_is_whole() {
    TWO.check();
}

pub(crate) fn result(report: &Value, name: &str) -> String {
    let result = &row(report, name)["result"];
    result.as_str().unwrap_or_default().to_owned()
}

/// What is told of a ref; null where nothing is.
pub(crate) fn row(report: &Value, name: &str) -> Value {
    let rows = report["refs"].as_array();
    let rows = rows.unwrap_or_else(|| panic!("{report:#}"));
    let row = rows.iter().find(|row| row["name"] == name);
    row.cloned().unwrap_or_default()
}

fn results(report: &Value, names: &[&str]) -> Vec<String> {
    names.iter().map(|name| result(report, name)).collect()
}

const RECORD: &str = "refs/colony/forks/x";
const BRANCH: &str = "refs/heads/fork/x";

#[test]
fn forks_and_checkpoints_of_either_side_arrive() {
    let two = Two::new();
    let (a, b) = (&two.a, two.b());
    a.colony(&["fork", "x"]);
    a.write("new.txt", "by a\n");
    let kept = a.json(&["checkpoint", "-m", "of a"])["ref"].clone();
    let tag = format!("refs/{}", kept.as_str().unwrap());
    b.colony(&["fork", "y/z", "--no-switch"]);
    let would = a.json(&["sync", "-n"]);
    assert_eq!(results(&would, &[RECORD, BRANCH, &tag]), ["created"; 3]);
    assert_eq!(two.remote_refs("refs/colony"), "", "a dry run changes nothing");
    let did = a.json(&["sync"]);
    assert_eq!(did["ok"], true, "{did:#}");
    assert_eq!(results(&did, &[RECORD, BRANCH, &tag]), ["created"; 3]);
    assert_eq!(did["dry_run"], false);
    let did = b.json(&["sync"]);
    assert_eq!(results(&did, &[RECORD, BRANCH, &tag]), ["fetched", "", "fetched"], "{did:#}");
    let names = ["refs/colony/forks/y/z", "refs/heads/fork/y/z"];
    assert_eq!(results(&did, &names), ["created"; 2]);
    assert_eq!(did["branch_changed"][0]["name"], "origin/fork/x");
    for name in [RECORD, &tag] {
        assert_eq!(b.git(&["rev-parse", name]), a.git(&["rev-parse", name]));
    }
    assert_eq!(b.git(&["rev-parse", "origin/fork/x"]), a.git(&["rev-parse", BRANCH]));
    assert!(!b.try_git(&["rev-parse", "-q", "--verify", BRANCH]), "branches here never move");
    assert_eq!(b.json(&["merge", "origin/fork/x"])["outcome"], "fast_forward");
    let did = a.json(&["sync"]);
    assert_eq!(results(&did, &[names[0], RECORD]), ["fetched", "up_to_date"]);
    let said = a.run(&["sync"]).stdout;
    assert!(said.starts_with("up to date with 'origin'\n  at /"), "{said}");
    assert_eq!(said.lines().count(), 2, "{said}");
    // Only what travels has travelled.
    assert_eq!(two.remote_refs("refs/colony-local"), "");
    a.check_invariants_of_git();
    b.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn a_sync_tells_sums_and_with_verbose_each_ref() {
    let two = Two::new();
    let (a, b) = (&two.a, two.b());
    for number in 0..4 {
        a.colony(&["fork", &format!("f{number}"), "--no-switch"]);
        a.write("new.txt", format!("{number}\n"));
        a.colony(&["checkpoint", "-m", "kept"]);
    }
    two.at_remote(&["branch", "new", "main"]);
    let went = a.colony(&["sync"]);
    let lines: Vec<&str> = went.lines().skip(2).collect();
    let expected =
        ["  came in:  1 remote branch", "  went out: 4 forks (f0, f1, f2, ...) and 4 checkpoints"];
    assert_eq!(lines[..2], expected, "{went}");
    let came = b.colony(&["sync", "-n", "-v"]);
    assert!(came.contains("  fetched  refs/colony/forks/f3"), "{came}");
    let came = b.colony(&["sync"]);
    assert!(came.contains("  came in:  4 forks (f0, f1, f2, ...), 4 checkpoints and "), "{came}");
    assert!(came.starts_with("synced with 'origin'\n  at "), "{came}");
    assert!(came.lines().count() <= 4, "{came}");
    a.colony(&["forks", "delete", "f0"]);
    assert!(a.colony(&["sync"]).contains("  went out: 1 deletion\n"));
    assert!(b.colony(&["sync"]).contains("  came in:  1 deletion"));
}

#[test]
fn one_way_is_one_way() {
    let two = Two::new();
    let (a, b) = (&two.a, two.b());
    a.colony(&["fork", "x", "--no-switch"]);
    b.colony(&["fork", "y", "--no-switch"]);
    b.colony(&["sync"]);
    let did = a.json(&["sync", "--fetch"]);
    assert_eq!(results(&did, &["refs/colony/forks/y", RECORD, BRANCH]), ["fetched", "", ""]);
    assert_eq!(two.remote_refs(RECORD), "");
    b.colony(&["fork", "z", "--no-switch"]);
    b.colony(&["sync"]);
    let did = a.json(&["sync", "--push"]);
    assert_eq!(
        results(&did, &["refs/colony/forks/z", RECORD, BRANCH]),
        ["behind", "created", "created"]
    );
    assert!(!a.try_git(&["rev-parse", "-q", "--verify", "refs/colony/forks/z"]));
    assert_eq!(did["branch_changed"].as_array().unwrap().len(), 0);
    assert_eq!(a.run(&["sync", "--push", "--fetch"]).code, 129);
    assert_eq!(a.error(&["sync", "nowhere"]), "remote-not-found");
    assert_eq!(a.error(&["sync", "--", "--upload-pack=x"]), "remote-not-found");
}

#[test]
fn a_fork_that_was_deleted_goes_where_nobody_has_changed_it() {
    let two = Two::new();
    let (a, c) = (&two.a, two.same_user());
    a.colony(&["fork", "x", "--no-switch"]);
    a.colony(&["sync"]);
    c.colony(&["sync"]);
    a.colony(&["forks", "delete", "x"]);
    let did = a.json(&["sync"]);
    assert_eq!(results(&did, &[RECORD, BRANCH]), ["deleted"; 2], "{did:#}");
    assert_eq!(two.remote_refs("refs/colony"), "");
    assert_eq!(two.remote_refs("refs/heads/fork"), "");
    let did = c.json(&["sync"]);
    assert_eq!(results(&did, &[RECORD]), ["deleted"], "{did:#}");
    assert!(!c.try_git(&["rev-parse", "-q", "--verify", RECORD]));
    assert_eq!(a.json(&["sync"])["refs"].as_array().unwrap().len(), 0);
}

#[test]
fn a_fork_that_was_changed_outlives_its_deletion() {
    let two = Two::new();
    let (a, c) = (&two.a, two.same_user());
    a.colony(&["fork", "x", "--no-switch"]);
    a.colony(&["sync"]);
    c.colony(&["sync"]);
    c.git(&["switch", "-q", "-c", "fork/x", "origin/fork/x"]);
    c.git(&["commit", "-q", "--allow-empty", "-m", "more"]);
    let did = c.json(&["sync"]);
    assert_eq!(results(&did, &[RECORD, BRANCH]), ["up_to_date", "pushed"], "{did:#}");
    a.colony(&["forks", "delete", "x"]);
    let did = a.json(&["sync"]);
    assert_eq!(results(&did, &[RECORD, BRANCH]), ["fetched", ""], "{did:#}");
    assert_eq!(two.remote_refs(BRANCH).split(' ').nth(1).unwrap(), c.git(&["rev-parse", BRANCH]));
    // The other way round: deleted on the remote, changed here.
    two.at_remote(&["update-ref", "-d", RECORD]);
    two.at_remote(&["update-ref", "-d", BRANCH]);
    c.git(&["commit", "-q", "--allow-empty", "-m", "even more"]);
    let did = c.json(&["sync"]);
    assert_eq!(results(&did, &[RECORD, BRANCH]), ["created"; 2], "{did:#}");
    // Deleted there and not changed here: the record goes, the branch stays.
    two.at_remote(&["update-ref", "-d", RECORD]);
    two.at_remote(&["update-ref", "-d", BRANCH]);
    let did = c.json(&["sync"]);
    assert_eq!(results(&did, &[RECORD, BRANCH]), ["deleted", "kept_here"], "{did:#}");
    assert!(c.try_git(&["rev-parse", "-q", "--verify", BRANCH]));
}

#[test]
fn of_two_changes_the_later_counts_and_the_other_is_kept() {
    let two = Two::new();
    let (a, c) = (&two.a, two.same_user());
    a.colony(&["fork", "x", "--no-switch"]);
    c.colony(&["fork", "x", "--no-switch"]);
    let (first, second) = (a.git(&["rev-parse", RECORD]), c.git(&["rev-parse", RECORD]));
    assert_ne!(first, second);
    c.colony(&["sync"]);
    let did = a.json(&["sync"]);
    assert_eq!(results(&did, &[RECORD, BRANCH]), ["merged", "up_to_date"], "{did:#}");
    let joined = a.git(&["rev-parse", RECORD]);
    assert_eq!(a.git(&["rev-parse", &format!("{RECORD}^@")]), format!("{second}\n{first}"));
    assert_eq!(
        a.git(&["show", &format!("{RECORD}:fork.json")]),
        c.git(&["show", &format!("{second}:fork.json")])
    );
    let lost = a.git(&["rev-parse", &format!("{first}:fork.json")]);
    assert_eq!(a.git(&["rev-parse", &format!("{RECORD}:superseded/{lost}.json")]), lost);
    assert_eq!(result(&c.json(&["sync"]), RECORD), "fetched");
    assert_eq!(c.git(&["rev-parse", RECORD]), joined);
    // Whoever joins makes the very same commit.
    let other = two.a.outside().join("d");
    two.clone("d", "Ada");
    let d = two.a.at(other);
    d.git(&["fetch", "-q", c.path("").to_str().unwrap(), &format!("{first}:{RECORD}")]);
    two.at_remote(&["update-ref", RECORD, &second]);
    assert_eq!(result(&d.json(&["sync"]), RECORD), "merged");
    assert_eq!(d.git(&["rev-parse", RECORD]), joined);
}

#[test]
fn forks_of_others_are_not_sent() {
    let two = Two::new();
    let a = &two.a;
    a.colony(&["--agent", "eve", "fork", "x", "--no-switch"]);
    a.git(&["branch", "fork/plain"]);
    let did = a.json(&["sync"]);
    assert_eq!(did["ok"], true);
    assert_eq!(results(&did, &[RECORD, BRANCH, "refs/heads/fork/plain"]), ["not_owned"; 3]);
    assert_eq!(two.remote_refs("refs/colony"), "");
    assert_eq!(two.remote_refs("refs/heads/fork"), "");
    let did = a.json(&["--agent", "eve", "sync"]);
    assert_eq!(results(&did, &[RECORD, BRANCH]), ["created"; 2], "{did:#}");
}

#[test]
fn the_first_of_two_forks_of_one_name_wins_and_that_is_reported() {
    let two = Two::new();
    let (a, b) = (&two.a, two.b());
    a.colony(&["fork", "x", "--no-switch"]);
    b.colony(&["fork", "x"]);
    b.git(&["commit", "-q", "--allow-empty", "-m", "of b"]);
    a.colony(&["sync"]);
    let before = two.remote_refs("refs");
    let run = b.run(&["--json", "sync"]);
    assert_eq!(run.code, 1);
    let did: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(results(&did, &[RECORD, BRANCH]), ["rejected"; 2], "{did:#}");
    assert_eq!(two.remote_refs("refs"), before);
    let hint = did["refs"][0]["hint"].as_str().unwrap();
    assert!(hint.starts_with("git colony fork 'x-2' --from 'fork/x'"), "{hint}");
    // What the hint says works.
    b.colony(&["fork", "x-2", "--from", "fork/x"]);
    b.colony(&["forks", "delete", "fork/x"]);
    let did = b.json(&["sync"]);
    assert_eq!(results(&did, &[RECORD, "refs/heads/fork/x-2"]), ["fetched", "created"], "{did:#}");
    // One's own fork that went on in two clones is for a merge.
    let c = two.same_user();
    a.git(&["switch", "-q", "fork/x"]);
    a.git(&["commit", "-q", "--allow-empty", "-m", "in a"]);
    c.colony(&["sync"]);
    c.git(&["switch", "-q", "-c", "fork/x", "origin/fork/x"]);
    c.git(&["commit", "-q", "--allow-empty", "-m", "in c"]);
    c.colony(&["sync"]);
    let did = a.json(&["sync"]);
    assert_eq!(results(&did, &[RECORD, BRANCH]), ["up_to_date", "rejected"], "{did:#}");
    a.colony(&["merge", "origin/fork/x", "--into", "fork/x"]);
    assert_eq!(result(&a.json(&["sync"]), BRANCH), "pushed");
    assert_eq!(result(&c.json(&["sync"]), BRANCH), "behind");
}

#[test]
fn a_fork_written_anew_goes_over_what_was_pushed_from_here() {
    let two = Two::new();
    let a = &two.a;
    a.colony(&["fork", "x"]);
    a.git(&["commit", "-q", "--allow-empty", "-m", "one"]);
    a.colony(&["sync"]);
    a.git(&["commit", "-q", "--allow-empty", "--amend", "-m", "better"]);
    assert_eq!(result(&a.json(&["sync"]), BRANCH), "pushed");
    assert_eq!(two.remote_refs(BRANCH).split(' ').nth(1).unwrap(), a.git(&["rev-parse", BRANCH]));
}

#[test]
fn what_a_remote_offers_is_looked_at_first() {
    let two = Two::new();
    let a = &two.a;
    a.colony(&["fork", "a", "--no-switch"]);
    let main = a.git(&["rev-parse", "main"]);
    let record = a.git(&["rev-parse", "refs/colony/forks/a"]);
    let blob = a.git(&["rev-parse", "main:a.txt"]);
    a.git(&["push", "-q", "origin", &format!("{record}:refs/colony/forks/a/b")]);
    two.at_remote(&["symbolic-ref", "refs/colony/forks/link", "refs/heads/main"]);
    for (name, id) in [
        ("refs/colony/forks/no-record", &main),
        ("refs/colony/forks/--upload-pack=pwn", &record),
        ("refs/colony/forks/blob", &blob),
        ("refs/colony/scopes", &blob),
        ("refs/tags/checkpoint/blob", &blob),
        ("refs/colony/agents/eve/main/heads/x", &main),
        ("refs/colony/desks/1/heads/x", &main),
        ("refs/colony/kept/x", &main),
        ("refs/colony-local/ops/00112233445566aa/0000000001", &main),
    ] {
        two.at_remote(&["update-ref", name, id]);
    }
    let refs = a.refs();
    let did = a.json(&["sync", "--fetch"]);
    let invalid = [
        "refs/colony/forks/link",
        "refs/colony/forks/no-record",
        "refs/colony/forks/blob",
        "refs/colony/scopes",
        "refs/tags/checkpoint/blob",
    ];
    assert_eq!(results(&did, &invalid), ["invalid"; 5], "{did:#}");
    assert_eq!(result(&did, "refs/colony/forks/a/b"), "conflict");
    assert_eq!(did["ok"], false);
    let seen: Vec<_> = did["refs"].as_array().unwrap().iter().collect();
    assert_eq!(seen.len(), 6, "{did:#}");
    assert_eq!(a.refs(), refs);
    assert!(!a.path("pwn").exists());
    let left = a.git(&["for-each-ref", "refs/colony-local/remotes"]);
    assert!(!left.contains("incoming"), "{left}");
}

#[test]
fn records_that_are_none_are_not_taken_over() {
    let two = Two::new();
    let a = &two.a;
    let main = a.git(&["rev-parse", "main"]);
    let names = ["refs/colony/scopes", "refs/colony/migrations"];
    let hostile = a.outside().join("hostile");
    let commit = |files: &[(&str, &str)]| {
        fs::remove_dir_all(&hostile).ok();
        fs::create_dir(&hostile).unwrap();
        let there = a.at(hostile.clone());
        there.git(&["init", "-q", "--template="]);
        for (path, text) in files {
            let path = hostile.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        there.git(&["add", "-A"]);
        let author = ["-c", "user.name=Eve", "-c", "user.email=e@example.com"];
        there.git(&[&author[..], &["commit", "-q", "--allow-empty", "-m", "x"]].concat());
        let root = hostile.to_str().unwrap();
        a.git(&["fetch", "-q", root, "HEAD"]);
        there.git(&["rev-parse", "HEAD"])
    };
    let about =
        r#"{"format":1,"created_at":"2026-01-01T00:00:00Z","author":"Eve <e@x>","patterns":[]}"#;
    let cases = [
        (main.clone(), main.clone()),
        (commit(&[("a/scope.json", "{}"), ("b", "x")]), commit(&[("m/migration.json", about)])),
        (
            commit(&[("%1b/scope.json", "{}")]),
            commit(&[("m/migration.json", about), ("m/map", "not a map\n")]),
        ),
        (commit(&[("a/scope.json", "[]")]), commit(&[("m/migration.json", "[]"), ("m/map", "")])),
    ];
    for (scopes, migrations) in cases {
        for (name, id) in names.iter().zip([&scopes, &migrations]) {
            let refspec = format!("+{}:{name}", id.trim());
            a.git(&["push", "-q", "origin", &refspec]);
        }
        let refs = a.refs();
        let did = a.json(&["sync"]);
        assert_eq!(results(&did, &names), ["invalid"; 2], "{did:#}");
        for row in did["refs"].as_array().unwrap() {
            assert_ne!(row["reason"], Value::Null, "{row:#}");
        }
        assert_eq!(a.refs(), refs);
    }
}

#[test]
fn a_server_that_refuses_our_namespace_is_told_of_ref_by_ref() {
    let two = Two::new();
    let a = &two.a;
    two.remote_hook("update", "case $1 in refs/colony/*) echo 'not here' >&2; exit 1;; esac");
    a.colony(&["fork", "x", "--no-switch"]);
    let run = a.run(&["--json", "sync"]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    let did: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(results(&did, &[RECORD, BRANCH]), ["refused_by_server", "created"], "{did:#}");
    assert_eq!(did["refs"][0]["reason"], "hook declined");
    let hint = "git config 'colony.sync.origin.asBranches' true   # its server may take branches and tags only";
    assert_eq!(did["refs"][0]["hint"], hint);
    fs::remove_file(Path::new(&two.remote).join("hooks/update")).unwrap();
    let did = a.json(&["sync"]);
    assert_eq!(results(&did, &[RECORD, BRANCH]), ["created", "up_to_date"], "{did:#}");
}

#[test]
fn a_server_of_branches_and_tags_takes_ours_as_such() {
    let two = Two::new();
    let (a, b): (&View, View) = (&two.a, two.b());
    two.remote_hook("update", "case $1 in refs/heads/*|refs/tags/*) ;; *) exit 1;; esac");
    for view in [a, &b] {
        view.git(&["config", "colony.sync.origin.asBranches", "true"]);
    }
    a.colony(&["fork", "x", "--no-switch"]);
    a.write("new.txt", "by a\n");
    let tag = a.json(&["checkpoint", "-m", "of a"])["ref"].as_str().unwrap().to_owned();
    let tag = format!("refs/{tag}");
    let put = |view: &View, key: &str| view.colony(&["blackboard", "put", "plan", key, "1"]);
    put(a, "a");
    let board = "refs/colony/blackboard/plan";
    let names = [RECORD, BRANCH, &tag, board];
    assert_eq!(results(&a.json(&["sync"]), &names), ["created"; 4]);
    assert_eq!(two.remote_refs("refs/colony"), "");
    let on_remote = two.remote_refs("refs/heads/colony");
    assert!(on_remote.contains("refs/heads/colony/forks/x "), "{on_remote}");
    put(&b, "b");
    let did = b.json(&["sync"]);
    assert_eq!(results(&did, &names), ["fetched", "", "fetched", "merged"], "{did:#}");
    // None of them is fetched as a branch; those that git pushes, it also has there.
    let branches = b.git(&["branch", "-r", "--list", "origin/colony/*"]);
    assert_eq!(branches.trim(), "origin/colony/blackboard/plan");
    let moved = did["branch_changed"].as_array().unwrap();
    assert!(moved.iter().all(|branch| branch["name"] == "origin/fork/x"), "{did:#}");
    a.colony(&["sync"]);
    assert_eq!(a.git(&["rev-parse", board]), b.git(&["rev-parse", board]));
    a.colony(&["forks", "delete", "x"]);
    assert_eq!(results(&a.json(&["sync"]), &names[..2]), ["deleted"; 2]);
    assert!(!two.remote_refs("refs/heads/colony").contains("forks/x"));
    assert_eq!(b.json(&["sync"])["refs"].as_array().unwrap().len(), 3);
}

#[test]
fn a_race_that_is_lost_is_run_again() {
    let two = Two::new();
    let (a, c) = (&two.a, two.same_user());
    a.colony(&["fork", "x", "--no-switch"]);
    c.colony(&["fork", "x", "--no-switch"]);
    let c_root = c.path("");
    let hook = a.root.join(".git/hooks/pre-push");
    let script = format!(
        "unset $(git rev-parse --local-env-vars); cd '{}' && [ ! -e raced ] && touch raced && git push -q origin {RECORD} {BRANCH}; exit 0",
        c_root.display()
    );
    Two::hook(&hook, &script);
    let did = a.json(&["sync"]);
    assert_eq!(did["ok"], true, "{did:#}");
    assert!(c_root.join("raced").exists());
    assert_eq!(result(&did, RECORD), "merged");
    c.colony(&["sync"]);
    assert_eq!(c.git(&["rev-parse", RECORD]), a.git(&["rev-parse", RECORD]));
    // Somebody holds the ref on the remote all the time.
    Two::hook(&hook, "echo >> .git/pushes");
    a.colony(&["fork", "y", "--no-switch"]);
    let lock = Path::new(&two.remote).join("refs/colony/forks/y.lock");
    fs::write(&lock, "").unwrap();
    let asked = Arc::new(AtomicU64::new(0));
    let chance = Arc::clone(&asked);
    let mut world = a.world();
    world.entropy = Arc::new(move || chance.fetch_add(1, Ordering::SeqCst));
    let run = a.run_in(world, &["--json", "sync"]);
    assert_eq!(run.code, 1);
    // Each further try comes after a pause that chance gives.
    assert_eq!(asked.load(Ordering::SeqCst), 4);
    let did: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(result(&did, "refs/colony/forks/y"), "rejected", "{did:#}");
    assert_eq!(result(&did, "refs/heads/fork/y"), "created");
    let pushes = a.read(".git/pushes").lines().count();
    assert_eq!(pushes, 5);
    fs::remove_file(lock).unwrap();
    let mut world = a.world();
    world.variables.insert("COLONY_OPERATION".into(), "x".into());
    let nested = a.run_in(world, &["--json", "sync"]);
    assert!(nested.stdout.contains("operation-in-progress"), "{}", nested.stdout);
    let did = a.json(&["sync"]);
    assert_eq!(result(&did, "refs/colony/forks/y"), "created", "{did:#}");
}

#[test]
fn a_checkpoint_that_holds_a_secret_stays_at_home() {
    let two = Two::new();
    let a = &two.a;
    let clean = a.json(&["checkpoint", "-m", "clean"])["ref"].clone();
    a.colony(&["fork", "x"]);
    a.write(".env", "TOKEN=1\n");
    let kept = a.json(&["checkpoint", "-m", "secret", "--allow-secret", ".env"]);
    a.write("later.txt", "later\n");
    let later = a.json(&["checkpoint", "-m", "later"])["ref"].clone();
    let tag = |id: &Value| format!("refs/{}", id.as_str().unwrap());
    let message = a.git(&["cat-file", "tag", &tag(&kept["ref"])]);
    assert!(message.contains("\nColony-Secret: \".env\""), "{message}");
    let names = [tag(&clean), tag(&kept["ref"]), tag(&later)];
    let names = [names[0].as_str(), &names[1], &names[2], BRANCH, RECORD];
    let did = a.json(&["sync"]);
    let wanted = ["created", "kept_home", "kept_home", "kept_home", "kept_home"];
    assert_eq!(results(&did, &names), wanted, "{did:#}");
    assert_eq!(did["ok"], true);
    assert!(!two.at_remote(&["for-each-ref"]).contains("fork"));
    let blob = a.git(&["hash-object", ".env"]);
    let has = |id: &str| two.a.try_git(&["--git-dir", &two.remote, "cat-file", "-e", id]);
    assert!(!has(&blob), "nothing of it has been sent");
    // What git itself has published is no secret any more.
    a.git(&["push", "-q", "origin", "fork/x"]);
    let did = a.json(&["sync"]);
    let wanted = ["up_to_date", "created", "created", "up_to_date", "created"];
    assert_eq!(results(&did, &names), wanted, "{did:#}");
}

#[test]
fn a_checkpoint_that_was_deleted_does_not_come_back() {
    let two = Two::new();
    let (a, b) = (&two.a, two.b());
    let kept = a.json(&["checkpoint", "-m", "one"])["ref"].clone();
    let tag = format!("refs/{}", kept.as_str().unwrap());
    a.colony(&["sync"]);
    b.colony(&["sync"]);
    a.git(&["update-ref", "-d", &tag]);
    assert_eq!(result(&a.json(&["sync"]), &tag), "");
    assert!(!a.try_git(&["rev-parse", "-q", "--verify", &tag]));
    assert_ne!(two.remote_refs("refs/colony/checkpoints"), "", "nor is it taken from others");
    two.at_remote(&["update-ref", "-d", &tag]);
    assert_eq!(result(&b.json(&["sync"]), &tag), "kept_here");
    assert_eq!(two.remote_refs("refs/colony/checkpoints"), "");
}

#[test]
fn a_clone_for_reading_only_fetches() {
    let two = Two::new();
    two.a.colony(&["fork", "x", "--no-switch"]);
    two.a.colony(&["sync"]);
    let place = two.a.outside().join("nowhere");
    fs::create_dir_all(&place).unwrap();
    let report = two.a.at(place).json(&["clone", &two.remote, "--read-only"]);
    let clone = two.a.at(report["path"].as_str().unwrap().into());
    assert_eq!(clone.error(&["sync", "--push"]), "read-only-clone");
    assert_eq!(result(&clone.json(&["sync"]), RECORD), "fetched");
}

/// Starts a process of the program; it has to end well.
fn process(sandbox: &Sandbox, root: &Path, args: &[&str]) {
    let output = output(sandbox, root, args);
    let said = String::from_utf8_lossy(&output.stderr);
    let answer = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{args:?}: {said}{answer}");
}

/// Runs a command until no sync beside it moves the record that it was about to make.
fn until_done(sandbox: &Sandbox, root: &Path, args: &[&str]) {
    let tries = (0..5).map(|_| output(sandbox, root, args));
    let last = tries.take_while(|output| !output.status.success()).last();
    let said = last.map(|output| String::from_utf8_lossy(&output.stderr).into_owned());
    let known = ["another process moved a ref", "exists already"];
    let is_race = |said: &String| known.iter().any(|known| said.contains(known));
    assert!(said.as_ref().is_none_or(is_race), "{args:?}: {said:?}");
}

fn output(sandbox: &Sandbox, root: &Path, args: &[&str]) -> Output {
    sandbox
        .program()
        .current_dir(root)
        .args(["--timeout", "600"])
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .unwrap()
}

#[test]
fn many_syncs_at_once_lose_nothing() {
    let is_long = std::env::var_os("COLONY_TEST_LONG").is_some();
    let each = if is_long { 50 } else { 5 };
    let two = Two::new();
    let roots = [two.a.root.clone(), two.same_user().path("")];
    std::thread::scope(|scope| {
        for (number, root) in roots.iter().chain(&roots).enumerate() {
            let sandbox = &two.a;
            scope.spawn(move || {
                for round in 0..each {
                    let label = format!("{number}-{round}");
                    process(sandbox, root, &["fork", &label, "--no-switch"]);
                    if number < 2 {
                        let both = format!("both-{round}");
                        until_done(sandbox, root, &["fork", &both, "--no-switch"]);
                    }
                    process(sandbox, root, &["sync"]);
                }
            });
        }
    });
    let listed = |root: &Path| {
        process(&two.a, root, &["sync"]);
        let refs = ["for-each-ref", "--format=%(refname) %(objectname)", "refs/colony/forks"];
        two.a.at(root.to_owned()).git(&refs)
    };
    listed(&roots[1]);
    let of_a = listed(&roots[0]);
    assert_eq!(of_a, listed(&roots[1]));
    assert_eq!(of_a, two.remote_refs("refs/colony/forks"));
    assert_eq!(of_a.lines().count(), 5 * each);
    assert_eq!(two.remote_refs("refs/heads/fork").lines().count(), 5 * each);
    two.at_remote(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn one_of_two_pushes_of_one_name_wins_and_the_other_is_told() {
    let is_long = std::env::var_os("COLONY_TEST_LONG").is_some();
    let two = Two::new();
    let roots = [two.a.root.clone(), two.b().path("")];
    for round in 0..if is_long { 50 } else { 6 } {
        let (label, message) = (format!("race-{round}"), format!("round {round}"));
        let branch = format!("refs/heads/fork/{label}");
        let tips: Vec<String> = roots
            .iter()
            .enumerate()
            .map(|(number, root)| {
                let view = two.a.at(root.clone());
                view.colony(&["fork", &label]);
                let message = format!("{message} of {number}");
                view.git(&["commit", "-q", "--allow-empty", "-m", &message]);
                view.git(&["rev-parse", &branch])
            })
            .collect();
        let args = ["--json", "sync", "--push"];
        let answers: Vec<Value> = std::thread::scope(|scope| {
            let runs: Vec<_> =
                roots.iter().map(|root| scope.spawn(|| output(&two.a, root, &args))).collect();
            let outputs = runs.into_iter().map(|run| run.join().unwrap());
            outputs.map(|output| serde_json::from_slice(&output.stdout).unwrap()).collect()
        });
        let told: Vec<_> = answers.iter().map(|did| result(did, &branch)).collect();
        let winner = told.iter().position(|told| told == "created").unwrap();
        assert_eq!(told[1 - winner], "rejected", "{answers:#?}");
        assert_eq!(two.at_remote(&["rev-parse", &branch]).trim(), tips[winner].trim());
        let rows = answers[1 - winner]["refs"].as_array().unwrap();
        let row = rows.iter().find(|row| row["name"] == branch.as_str());
        let row = row.unwrap();
        assert!(row["reason"].is_string() && row["hint"].is_string(), "{row:#}");
        // Both still have what they did.
        for (root, tip) in roots.iter().zip(&tips) {
            assert_eq!(&two.a.at(root.clone()).git(&["rev-parse", &branch]), tip);
        }
    }
    two.at_remote(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn a_fork_of_somebody_else_is_known_by_its_label_at_all_remotes() {
    let two = Two::new();
    let (a, b) = (&two.a, two.b());
    a.colony(&["fork", "x"]);
    a.write("new.txt", "by a\n");
    a.colony(&["commit", "-m", "of a", "--all"]);
    a.colony(&["sync"]);
    b.colony(&["sync"]);
    let of_a = a.git(&["rev-parse", BRANCH]);
    for name in ["x", "fork/x", "origin/fork/x"] {
        let diff = b.json(&["diff", "main", name]);
        assert_eq!(diff["commit_b"], of_a.trim(), "{name} {diff:#}");
        let would = b.json(&["merge", name, "-n"]);
        assert_eq!(would["outcome"], "fast_forward", "{name} {would:#}");
        let would = b.json(&["cherry-pick", name, "-n"]);
        assert_eq!(would["ok"], true, "{name} {would:#}");
    }
    // What git knows by that name counts.
    b.git(&["tag", "x", "main"]);
    let diff = b.json(&["diff", "main", "x"]);
    assert_eq!(diff["commit_b"], diff["commit_a"], "{diff:#}");
    b.git(&["tag", "-d", "x"]);
    // Another remote that has the same changes nothing; one that has another is no answer.
    let second = a.outside().join("second.git").to_str().unwrap().to_owned();
    a.git(&["clone", "-q", "--bare", &two.remote, &second]);
    b.git(&["remote", "add", "second", &second]);
    b.git(&["fetch", "-q", "second"]);
    assert_eq!(b.json(&["merge", "x", "-n"])["outcome"], "fast_forward");
    b.git(&["push", "-q", "-f", &second, "main:refs/heads/fork/x"]);
    b.git(&["fetch", "-q", "second"]);
    let before = b.git(&["for-each-ref"]);
    let answer = b.json(&["merge", "x"]);
    assert_eq!(answer["code"], "name-ambiguous", "{answer:#}");
    let names = serde_json::json!(["origin/fork/x", "second/fork/x"]);
    assert_eq!(answer["detail"]["names"], names, "{answer:#}");
    assert_eq!(b.git(&["for-each-ref"]), before);
    let hint = answer["hint"].as_str().unwrap().replace('\'', "");
    let hint = hint.split("   #").next().unwrap().split(' ').skip(2);
    assert_eq!(b.json(&hint.collect::<Vec<_>>())["ok"], true);
    b.colony(&["merge", "origin/fork/x"]);
    assert_eq!(fs::read_to_string(b.path("new.txt")).unwrap(), "by a\n");
}

#[test]
fn a_remote_that_is_another_place_now_has_deleted_nothing() {
    let two = Two::new();
    let a = &two.a;
    a.colony(&["fork", "try", "--no-switch"]);
    a.colony(&["checkpoint", "--off-branch", "-m", "kept"]);
    a.colony(&["sync"]);
    let refs = two.remote_refs("refs/colony") + &two.remote_refs("refs/heads/fork");
    assert!(refs.contains("refs/colony/forks/try"), "{refs}");
    let here = a.refs();
    // Another server under the same name, and then the same one, emptied.
    let other = a.outside().join("other.git").to_str().unwrap().to_owned();
    a.git(&["init", "-q", "--bare", &other]);
    a.git(&["push", "-q", &other, "main"]);
    a.git(&["remote", "set-url", "origin", &other]);
    let at = |args: &[&str]| a.git(&[&["--git-dir", &other], args].concat());
    for empty in [false, true] {
        if empty {
            fs::remove_dir_all(&other).unwrap();
            a.git(&["init", "-q", "--bare", &other]);
        }
        let run = a.run(&["sync", "--fetch"]);
        assert!(run.stderr.contains("do not count as deleted"), "{}", run.stderr);
        let of_ours = |refs: &str| {
            let lines = refs
                .lines()
                .filter(|line| line.contains("refs/colony/") || line.contains("refs/heads/"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(of_ours(&a.refs()), of_ours(&here));
        let answer = a.json(&["sync", "--push"]);
        assert!(!answer.to_string().contains("was deleted"), "{answer:#}");
        let format = "--format=%(refname) %(objectname)";
        let there = at(&["for-each-ref", format, "refs/colony"])
            + &at(&["for-each-ref", format, "refs/heads/fork"]);
        assert_eq!(there, refs);
    }
    // From now on what goes there was deleted there.
    at(&["update-ref", "-d", "refs/heads/fork/try"]);
    at(&["update-ref", "-d", "refs/colony/forks/try"]);
    let answer = a.json(&["sync"]);
    assert!(answer.to_string().contains("deleted"), "{answer:#}");
}

#[test]
fn a_fork_that_only_a_remote_has_is_listed_and_named_as_in_git() {
    let two = Two::new();
    let (a, b) = (&two.a, two.b());
    a.colony(&["fork", "x"]);
    a.write("new.txt", "by a\n");
    a.colony(&["commit", "-m", "of a", "--all"]);
    a.colony(&["sync"]);
    b.colony(&["sync"]);
    let listed = b.json(&["forks"]);
    let fork = &listed["forks"][0];
    assert_eq!(listed["count"], 1, "{listed:#}");
    assert_eq!(fork["name"], "origin/fork/x");
    assert_eq!(fork["remote"], "origin");
    assert_eq!(fork["diverged_from_branch"], "main");
    assert_eq!(fork["into"]["outcome"], "fast_forward");
    assert!(fork["owner"].is_string(), "{fork:#}");
    assert!(b.colony(&["forks"]).contains("origin/fork/x"));
    // Who has it here sees it once.
    let own = a.json(&["forks"]);
    assert_eq!(own["count"], 1, "{own:#}");
    assert_eq!(own["forks"][0]["name"], "fork/x");
    assert!(own["forks"][0].get("remote").is_none());
    let told = b.json(&["forks", "delete", "origin/fork/x"]);
    assert_eq!(told["code"], "fork-not-found", "{told:#}");
    assert_eq!(told["hint"], "git push 'origin' --delete 'fork/x'   # deletes it there");
    // Merging goes where the fork began, whatever is checked out.
    b.git(&["switch", "-qc", "elsewhere"]);
    let would = b.json(&["merge", "origin/fork/x", "-n"]);
    assert_eq!(would["into"], "main", "{would:#}");
    b.git(&["switch", "-q", "main"]);
    b.colony(&["restore", "origin/fork/x"]);
    assert_eq!(fs::read_to_string(b.path("new.txt")).unwrap(), "by a\n");
    b.colony(&["undo"]);
    // A fork here that has all of it hides it; one that lacks something does not.
    b.git(&["branch", "fork/x", "origin/fork/x"]);
    assert_eq!(b.json(&["forks"])["forks"][0]["name"], "fork/x");
    b.git(&["branch", "-f", "fork/x", "main"]);
    assert_eq!(b.json(&["forks"])["count"], 2);
}

#[test]
fn the_record_of_a_fork_that_git_deleted_is_not_published() {
    let two = Two::new();
    let a = &two.a;
    a.colony(&["fork", "x", "--no-switch"]);
    a.git(&["branch", "-D", "fork/x"]);
    let would = a.json(&["sync", "-n"]);
    assert!(!would.to_string().contains("refs/colony/forks/x"), "{would:#}");
    a.colony(&["sync"]);
    assert_eq!(two.remote_refs("refs/colony/forks"), "");
    // With its branch it goes.
    a.git(&["branch", "fork/x"]);
    a.colony(&["sync"]);
    assert!(two.remote_refs("refs/colony/forks").contains("refs/colony/forks/x"));
}
