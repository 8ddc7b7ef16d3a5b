//! Outboxes that are not what they seem, and repositories that are not whole: nothing of others is lost, and each sync
//! ends.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use crate::support::View;

use super::sync_refs::{Two, result, row};

const BOARD: &str = "refs/colony/blackboard/plan";
const OUTBOX: &str = "refs/colony/outbox/00000000000000aa/blackboard/plan";

fn put(view: &View, key: &str, value: &str) {
    view.colony(&["blackboard", "put", "plan", key, value]);
}

fn get(view: &View, key: &str) -> Option<String> {
    view.json(&["blackboard", "get", "plan", key])["value"].as_str().map(str::to_owned)
}

/// Two clones with one key of each: that of the second is only in an outbox.
fn with_post() -> (Two, View) {
    let two = Two::new();
    let b = two.b();
    put(&two.a, "a", "1");
    two.a.colony(&["sync"]);
    b.colony(&["sync"]);
    put(&b, "b", "1");
    post(&b, &b.git(&["rev-parse", BOARD]));
    (two, b)
}

fn post(from: &View, commit: &str) {
    from.git(&["push", "-q", "-f", "origin", &format!("{commit}:{OUTBOX}")]);
}

/// Makes commits of one tree, each on the one before, and returns the last.
fn chain(view: &View, tree: &str, count: usize) -> String {
    let mut lines = String::new();
    for number in 0..count {
        let message = format!("put\n\nCommits: {}\n", number.min(900));
        lines.push_str("commit refs/heads/chain\ncommitter A <a@example.com> 1767312000 +0000\n");
        let content = format!("M 040000 {tree} \"\"\n\n");
        lines.extend([format!("data {}\n", message.len()), message, content]);
    }
    let mut import = view.process("git");
    let import = import.args(["fast-import", "--quiet", "--force"]).current_dir(view.path(""));
    let mut child = import.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    let tip = view.git(&["rev-parse", "refs/heads/chain"]);
    view.git(&["update-ref", "-d", "refs/heads/chain"]);
    tip
}

#[test]
fn a_post_of_which_a_killed_fetch_left_parts_is_fetched_whole() {
    let (two, b) = with_post();
    let a = &two.a;
    // All but the value, as loose objects that no ref has.
    let posted = b.git(&["rev-list", "--objects", BOARD, "--not", &a.git(&["rev-parse", BOARD])]);
    for line in posted.lines() {
        let id = line.split(' ').next().unwrap();
        let kind = b.git(&["cat-file", "-t", id]);
        if kind != "blob" {
            let bytes = b.object(&kind, id);
            assert_eq!(a.hash_literally(&kind, &bytes), id);
        }
    }
    // And a ref that it has fetched and nobody has looked at.
    let left = "refs/colony-local/remotes/origin/incoming/below/00000000000000aa/blackboard/plan";
    a.git(&["update-ref", left, "HEAD"]);
    assert_eq!(a.json(&["sync"])["ok"], true);
    assert_eq!(get(a, "b").as_deref(), Some("1"));
    assert_eq!(a.git(&["for-each-ref", "refs/colony-local/remotes/origin/incoming"]), "");
    a.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn a_symbolic_outbox_deletes_no_branch() {
    let (two, b) = with_post();
    for target in ["refs/heads/main", BOARD] {
        two.at_remote(&["symbolic-ref", OUTBOX, target]);
        let before = two.at_remote(&["rev-parse", target]);
        for view in [&two.a, &b, &two.a] {
            let did = view.json(&["sync"]);
            assert_eq!(did["ok"], true, "{did:#}");
        }
        assert!(!two.at_remote(&["rev-parse", "-q", "--verify", target]).is_empty());
        if target != BOARD {
            assert_eq!(two.at_remote(&["rev-parse", target]), before);
        }
        two.at_remote(&["symbolic-ref", "-d", OUTBOX]);
    }
    assert_eq!(get(&two.a, "b").as_deref(), Some("1"));
}

#[test]
fn refspecs_of_the_user_hide_no_record() {
    let two = Two::new();
    let (a, b) = (&two.a, two.b());
    put(a, "k", "1");
    a.colony(&["sync"]);
    b.colony(&["sync"]);
    b.git(&["config", "--add", "remote.origin.fetch", "^refs/colony/*"]);
    put(a, "k2", "1");
    a.colony(&["sync"]);
    two.at_remote(&["branch", "new", "main"]);
    put(&b, "k3", "1");
    assert_eq!(result(&b.json(&["sync"]), BOARD), "merged");
    a.colony(&["sync"]);
    for view in [a, &b] {
        assert_eq!([get(view, "k2"), get(view, "k3")], [Some("1".into()), Some("1".into())]);
    }
}

#[test]
fn an_outbox_with_too_long_a_history_stops_nothing() {
    let (two, b) = with_post();
    let tree = b.git(&["rev-parse", &format!("{BOARD}^{{tree}}")]);
    post(&b, &chain(&b, &tree, 50_500));
    put(&two.a, "a", "2");
    two.a.colony(&["blackboard", "put", "other", "k", "1"]);
    let did = two.a.json(&["sync"]);
    assert_eq!(did["ok"], true, "{did:#}");
    assert_eq!(result(&did, BOARD), "pushed");
    assert_eq!(result(&did, "refs/colony/blackboard/other"), "created");
}

#[test]
fn a_wide_history_starts_a_new_era_at_a_join() {
    let two = Two::new();
    let (a, b) = (&two.a, two.b());
    put(a, "gone", "1");
    put(a, "a", "1");
    a.colony(&["sync"]);
    b.colony(&["sync"]);
    a.colony(&["blackboard", "delete", "plan", "gone"]);
    let tree = a.git(&["rev-parse", &format!("{BOARD}^{{tree}}")]);
    let wide = chain(a, &tree, 4_100);
    let joined =
        a.git(&["commit-tree", &tree, "-p", BOARD, "-p", &wide, "-m", "join\n\nCommits: 901"]);
    a.git(&["update-ref", BOARD, &joined]);
    put(&b, "b", "1");
    a.colony(&["sync"]);
    assert_eq!(result(&b.json(&["sync"]), BOARD), "merged");
    assert_eq!(b.git(&["rev-list", "--count", BOARD]), "1");
    a.colony(&["sync"]);
    assert_eq!(a.git(&["rev-parse", BOARD]), b.git(&["rev-parse", BOARD]));
    assert_eq!(
        [get(a, "gone"), get(a, "a"), get(a, "b")],
        [None, Some("1".into()), Some("1".into())]
    );
}

#[test]
fn a_tree_that_names_another_a_thousand_times_is_read_once() {
    let (two, b) = with_post();
    let blob = b.git(&["rev-parse", "HEAD:a.txt"]);
    let mut tree = b.make_tree(&format!("100644 blob {blob}\tx\n"));
    for _ in 0..9 {
        let lines = (0..60).map(|number| format!("040000 tree {tree}\tn{number:02}\n"));
        tree = b.make_tree(&lines.collect::<String>());
    }
    post(&b, &b.git(&["commit-tree", &tree, "-m", "bomb"]));
    put(&two.a, "a", "2");
    assert_eq!(two.a.json(&["sync"])["ok"], true);
    assert_eq!(get(&two.a, "a").as_deref(), Some("2"));
}

/// A commit that git's own checks refuse.
fn refused_commit(view: &View) -> String {
    let blob = view.git(&["rev-parse", "HEAD:a.txt"]);
    let inner = view.make_tree(&format!("100644 blob {blob}\tconfig\n"));
    let raw = [b"40000 .git\0".as_slice(), &bytes_of(&inner)].concat();
    let tree = view.hash_literally("tree", &raw);
    view.git(&["commit-tree", &tree, "-m", "dotgit"])
}

#[test]
fn a_ref_that_cannot_be_fetched_stops_no_other() {
    let bad = "refs/colony/outbox/0000000000000001/blackboard/plan";
    let others = ["refs/colony/forks/bad", "refs/colony/machines/00000000000000aa"];
    for name in [bad, others[0], others[1]] {
        // What git's own checks refuse, and what is damaged on the server.
        for is_damaged in [false, true] {
            let (two, b) = with_post();
            let a = &two.a;
            b.git(&["push", "-q", "origin", &format!("{}:{name}", refused_commit(&b))]);
            if is_damaged {
                let tree = two.at_remote(&["rev-parse", &format!("{name}^{{tree}}")]);
                let file = format!("{}/objects/{}/{}", two.remote, &tree[..2], &tree[2..]);
                fs::remove_file(file).unwrap();
            } else {
                a.git(&["config", "transfer.fsckObjects", "true"]);
            }
            put(a, "a", "2");
            let did = a.json(&["sync"]);
            let told = row(&did, name);
            assert_eq!(told["result"], "invalid", "{did:#}");
            assert!(told["reason"].as_str().unwrap().starts_with("cannot fetch"), "{told:#}");
            if name == bad {
                let hint = told["hint"].as_str().unwrap();
                assert!(hint.starts_with("git fetch 'origin' "), "{hint}");
                assert!(hint.ends_with(&format!("git push 'origin' --delete '{bad}'")), "{hint}");
            }
            // The honest one beside it was read, and what is here is there.
            assert_eq!(result(&did, BOARD), "merged", "{did:#}");
            assert_eq!(get(a, "b").as_deref(), Some("1"));
            b.colony(&["sync", "--fetch"]);
            assert_eq!(get(&b, "a").as_deref(), Some("2"));
            two.at_remote(&["update-ref", "-d", name]);
            let did = a.json(&["sync"]);
            assert_eq!((did["ok"].clone(), row(&did, name)), (true.into(), Value::Null));
        }
    }
}

#[test]
fn an_outbox_that_is_left_alone_is_named_with_a_way_out() {
    let (two, b) = with_post();
    let name = |number: usize| format!("refs/colony/outbox/{number:016x}/blackboard/plan");
    let tree = b.git(&["rev-parse", &format!("{BOARD}^{{tree}}")]);
    let blob = b.git(&["rev-parse", "HEAD:a.txt"]);
    let odd = b.make_tree(&format!("100644 blob {blob}\tx:y\n"));
    let odd = b.git(&["commit-tree", &odd, "-m", "odd"]);
    let long = chain(&b, &tree, 50_500);
    for (number, object) in [&tree, &odd, &long].into_iter().enumerate() {
        b.git(&["push", "-q", "origin", &format!("{object}:{}", name(number))]);
    }
    // One that may lead to a branch, where the server does not tell, and one that does.
    let tagged = two.at_remote(&["rev-parse", "main^{tree}"]);
    two.at_remote(&["update-ref", "refs/tags/tree", &tagged]);
    two.at_remote(&["update-ref", &name(3), &tagged]);
    two.at_remote(&["symbolic-ref", &name(4), "refs/heads/main"]);
    for view in [&two.a, &b] {
        let did = view.json(&["sync"]);
        for number in 0..5 {
            let told = row(&did, &name(number));
            assert_eq!(told["result"], "invalid", "{number}: {did:#}");
            assert_ne!(told["reason"], Value::Null, "{told:#}");
            let hint = told["hint"].as_str().unwrap();
            let starts = ["git push 'origin' --delete ", "git ls-remote --symref 'origin' "];
            assert!(hint.starts_with(starts[usize::from(number > 2)]), "{number}: {hint}");
        }
        // The honest one among them.
        assert_eq!(get(view, "b").as_deref(), Some("1"));
    }
    let did = two.a.json(&["sync"]);
    for number in 0..5 {
        let hint = row(&did, &name(number))["hint"].as_str().unwrap().to_owned();
        assert!(two.a.process("sh").args(["-c", &hint]).output().unwrap().status.success());
    }
    let left = two.remote_refs("refs/colony/outbox");
    assert_eq!(left.lines().count(), 2, "{left}");
    assert!(!two.remote_refs("refs/heads/main").is_empty());
}

#[test]
fn any_number_of_forged_outboxes_starves_no_honest_one() {
    let (two, b) = with_post();
    let a = &two.a;
    // The server deletes nothing, so all of them stay.
    two.at_remote(&["config", "receive.denyDeletes", "true"]);
    let honest = b.git(&["rev-parse", BOARD]);
    let last = "refs/colony/outbox/ffffffffffffffff/blackboard/plan";
    two.at_remote(&["update-ref", last, &honest]);
    two.at_remote(&["update-ref", "-d", OUTBOX]);
    let board = two.at_remote(&["rev-parse", BOARD]);
    let commit = |number: usize| {
        let message = format!("forged {number}");
        format!(
            "commit refs/colony/outbox/{number:016x}/blackboard/plan\n\
             committer A <a@example.com> 1767312000 +0000\n\
             data {}\n{message}\nfrom {board}\n\n",
            message.len()
        )
    };
    import(&two, &(0..300).map(commit).collect::<Vec<String>>().concat());
    let mut syncs = 0;
    while get(a, "b").is_none() {
        syncs += 1;
        assert!(syncs <= 3, "it is never read");
        assert_eq!(a.json(&["sync"])["ok"], true);
    }
    let board = two.at_remote(&["rev-parse", BOARD]);
    two.at_remote(&["merge-base", "--is-ancestor", &honest, &board]);
}

/// Imports commits into the remote.
fn import(two: &Two, lines: &str) {
    let mut import = two.a.process("git");
    let import = import.args(["--git-dir", &two.remote, "fast-import", "--quiet", "--force"]);
    let mut child = import.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let pairs = (0..hex.len() / 2).map(|at| &hex[2 * at..2 * at + 2]);
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

#[test]
fn a_name_that_is_taken_or_cannot_be_kept_stops_no_post() {
    let (two, b) = with_post();
    let a = &two.a;
    fs::write(a.path(".git/colony/writer"), "00000000000000ff").unwrap();
    let tree = two.at_remote(&["rev-parse", "main^{tree}"]);
    let own = "refs/colony/outbox/00000000000000ff/blackboard/plan";
    two.at_remote(&["update-ref", own, &tree]);
    put(a, "a", "2");
    let did = a.json(&["sync"]);
    assert_eq!(result(&did, BOARD), "merged", "{did:#}");
    assert_eq!(row(&did, own)["result"], "invalid");
    assert_ne!(a.read(".git/colony/writer"), "00000000000000ff");
    // A directory in place of the name.
    fs::remove_file(a.path(".git/colony/writer")).unwrap();
    fs::create_dir(a.path(".git/colony/writer")).unwrap();
    b.colony(&["sync"]);
    put(&b, "b", "2");
    post(&b, &b.git(&["rev-parse", BOARD]));
    put(a, "a", "3");
    let did = a.json(&["sync"]);
    assert_eq!(did["ok"], true, "{did:#}");
    assert_eq!([get(a, "a"), get(a, "b")], [Some("3".into()), Some("2".into())]);
}
