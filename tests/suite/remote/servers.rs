//! Servers of other kinds: ssh with `git-shell`, hidden refs, no outboxes, no deletions. Each sync has a typed outcome.

use std::path::Path;

use crate::support::{View, write_program};

use super::sync_refs::{Two, result, row};

const BOARD: &str = "refs/colony/blackboard/plan";

fn put(view: &View, key: &str, value: &str) {
    view.colony(&["blackboard", "put", "plan", key, value]);
}

/// Has somebody else write the board between the list of the refs and the push of a sync: so that loses the race.
fn race(two: &Two, other: &View) {
    let hook = two.a.root.join(".git/hooks/pre-push");
    let board = other.git(&["rev-parse", BOARD]);
    let script = format!(
        "#!/bin/sh\n[ -e .git/raced ] && exit 0\ntouch .git/raced\nunset $(git rev-parse --local-env-vars)\n\
        cd '{}' && git push -q -f origin {board}:{BOARD}\nexit 0\n",
        other.path("").display()
    );
    write_program(&hook, script);
}

#[test]
fn a_server_behind_ssh_with_git_shell_is_one_as_any() {
    let two = Two::new();
    let a = &two.a;
    // It gets the options of ssh, the host and one command, as 'sshd' would hand it to the shell of the user.
    let ssh = a.outside().join("ssh");
    let script = "#!/bin/sh\nfor last; do :; done\nexec git-shell -c \"$last\"\n";
    write_program(&ssh, script);
    a.git(&["remote", "set-url", "origin", &format!("ssh://git.example.com{}", two.remote)]);
    let there = a.with("GIT_SSH_COMMAND", ssh.as_os_str());
    put(a, "k", "1");
    assert_eq!(result(&there.json(&["sync", "--push"]), BOARD), "created");
    assert_eq!(result(&two.b().json(&["sync"]), BOARD), "fetched");
    assert_eq!(result(&there.json(&["sync"]), BOARD), "up_to_date");
}

#[test]
fn a_lost_race_is_posted_and_joined_by_the_next_sync() {
    let two = Two::new();
    let (a, b) = (&two.a, two.b());
    put(&b, "b", "1");
    put(a, "a", "1");
    race(&two, &b);
    // The second try sees the other's version, and wins.
    assert_eq!(result(&a.json(&["sync"]), BOARD), "merged");
    // Somebody moves the record at every push.
    let hook =
        "case $1 in refs/colony/blackboard/*) echo 'cannot lock ref: busy' >&2; exit 1;; esac";
    two.remote_hook("update", hook);
    put(a, "a", "2");
    let told = row(&a.json(&["sync"]), BOARD);
    assert_eq!(told["result"], "refused_by_server", "{told:#}");
    std::fs::remove_file(Path::new(&two.remote).join("hooks/update")).unwrap();
    a.colony(&["sync"]);
    b.colony(&["sync"]);
    assert_eq!(a.git(&["rev-parse", BOARD]), b.git(&["rev-parse", BOARD]));
}

#[test]
fn a_race_that_is_always_lost_is_no_failure_once_posted() {
    let two = Two::new();
    let a = &two.a;
    put(a, "a", "1");
    a.colony(&["sync"]);
    // At every push somebody else has just moved the record.
    let hook = format!(
        "#!/bin/sh\nunset $(git rev-parse --local-env-vars)\ncd '{}' && git update-ref {BOARD} $(\
        git -c user.name=B -c user.email=b@example.com commit-tree -p {BOARD} -m x {BOARD}^{{tree}})\n",
        two.remote
    );
    a.write_program(".git/hooks/pre-push", hook);
    put(a, "a", "2");
    for _ in 0..2 {
        // The first posts, the second has nothing new.
        let did = a.json(&["sync"]);
        assert_eq!((&did["ok"], result(&did, BOARD).as_str()), (&true.into(), "queued"), "{did:#}");
    }
    a.remove(".git/hooks/pre-push");
    let b = two.b();
    b.colony(&["sync"]);
    assert_eq!(b.json(&["blackboard", "get", "plan", "a"])["value"], "2");
}

#[test]
fn what_a_server_hides_is_refused_in_words() {
    let two = Two::new();
    let a = &two.a;
    two.at_remote(&["config", "transfer.hideRefs", "refs/colony"]);
    put(a, "k", "1");
    a.colony(&["fork", "x", "--no-switch"]);
    let did = a.json(&["sync"]);
    assert_eq!(did["ok"], false, "{did:#}");
    let told = row(&did, BOARD);
    assert_eq!(told["result"], "refused_by_server", "{told:#}");
    assert!(told["hint"].as_str().unwrap().contains("asBranches"), "{told:#}");
    assert_eq!(result(&did, "refs/heads/fork/x"), "created");
    // As branches they are not hidden.
    a.git(&["config", "colony.sync.origin.asBranches", "true"]);
    assert_eq!(result(&a.json(&["sync"]), BOARD), "created");
}

#[test]
fn outboxes_are_left_where_a_server_deletes_nothing() {
    let two = Two::new();
    let (a, b) = (&two.a, two.b());
    put(a, "a", "1");
    a.colony(&["sync"]);
    b.colony(&["sync"]);
    // A post of a third machine, which the record has not.
    put(&b, "b", "1");
    let posted = b.git(&["rev-parse", BOARD]);
    let outbox = "refs/colony/outbox/00000000000000aa/blackboard/plan";
    b.git(&["push", "-q", "origin", &format!("{posted}:{outbox}")]);
    let hook = "case $1-$3 in refs/colony/outbox/*-0000000*) exit 1;; esac";
    two.remote_hook("update", hook);
    put(a, "a", "2");
    for _ in 0..2 {
        let did = a.json(&["sync"]);
        assert_eq!(did["ok"], true, "{did:#}");
    }
    assert_eq!(a.json(&["blackboard", "get", "plan", "b"])["value"], "1");
    assert_ne!(two.remote_refs("refs/colony/outbox"), "");
    std::fs::remove_file(Path::new(&two.remote).join("hooks/update")).unwrap();
    a.colony(&["sync"]);
    assert_eq!(two.remote_refs("refs/colony/outbox"), "");
    assert_eq!(result(&b.json(&["sync"]), BOARD), "fetched");
}

#[test]
fn what_others_post_is_looked_at_first() {
    let two = Two::new();
    let (a, b) = (&two.a, two.b());
    put(a, "a", "1");
    a.colony(&["sync"]);
    let tree = two.at_remote(&["rev-parse", "main^{tree}"]);
    let blob = two.at_remote(&["rev-parse", "main:a.txt"]);
    let forged = [
        ("00000000000000aa/blackboard/plan", blob.as_str()),
        ("00000000000000ab/blackboard/plan", &tree),
        ("00000000000000ac/blackboard/other", &blob),
        ("00000000000000AD/blackboard/plan", "main"),
        ("00000000000000ae/forks/x", "main"),
        ("short/blackboard/plan", "main"),
    ];
    for (name, object) in forged {
        two.at_remote(&["update-ref", &format!("refs/colony/outbox/{name}"), object]);
    }
    let before = two.remote_refs("refs/colony/outbox");
    put(&b, "b", "1");
    let did = b.json(&["sync"]);
    assert_eq!(did["ok"], true, "{did:#}");
    assert_eq!(result(&did, "refs/colony/outbox/00000000000000aa/blackboard/plan"), "invalid");
    assert_eq!(result(&did, BOARD), "merged");
    assert_eq!(two.remote_refs("refs/colony/outbox"), before, "nothing of others is deleted");
    assert_eq!(b.json(&["blackboard", "get", "plan", "a"])["value"], "1");
    two.at_remote(&["fsck", "--no-dangling"]);
}

#[test]
fn a_copied_repository_posts_under_a_new_name() {
    let two = Two::new();
    let (a, b) = (&two.a, two.b());
    put(a, "a", "1");
    a.colony(&["sync"]);
    b.colony(&["sync"]);
    // Others write: so a posts as well.
    put(&b, "b", "1");
    let posted = b.git(&["rev-parse", BOARD]);
    let outbox = "refs/colony/outbox/00000000000000aa/blackboard/plan";
    b.git(&["push", "-q", "origin", &format!("{posted}:{outbox}")]);
    put(a, "a", "2");
    a.colony(&["sync"]);
    let writer = a.read(".git/colony/writer");
    let own = format!("refs/colony/outbox/{writer}/blackboard/plan");
    assert!(two.remote_refs("refs/colony/outbox").contains(&own));
    // The copy goes on from the same state, and finds what the first has posted since.
    let copy = a.copy("copy");
    for (view, key) in [(a.at(a.root.clone()), "x"), (copy.copy("copy-of-copy"), "y")] {
        put(&b, key, "of b");
        let posted = b.git(&["rev-parse", BOARD]);
        b.git(&["push", "-q", "-f", "origin", &format!("{posted}:{outbox}")]);
        put(&view, &format!("of-{key}"), "1");
        let run = view.run(&["--json", "sync"]);
        assert_eq!(run.code, 0, "{}", run.stdout);
        let is_told = run.stderr.contains("a copy of this repository syncs as well");
        assert_eq!(is_told, key == "y", "{}", run.stderr);
    }
    for _ in 0..2 {
        a.colony(&["sync"]);
        b.colony(&["sync"]);
    }
    for key in ["a", "b", "x", "y", "of-x", "of-y"] {
        assert!(!b.json(&["blackboard", "get", "plan", key])["value"].is_null(), "{key}");
    }
    assert_eq!(two.remote_refs("refs/colony/outbox"), "");
}
