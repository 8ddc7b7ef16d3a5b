//! Outboxes that are not what they seem, and repositories that are not whole: nothing of others is lost, and each sync
//! ends.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

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

#[test]
fn an_outbox_that_cannot_be_fetched_is_left_out() {
    let (two, b) = with_post();
    let blob = b.git(&["rev-parse", "HEAD:a.txt"]);
    let inner = b.make_tree(&format!("100644 blob {blob}\tconfig\n"));
    let raw = [b"40000 .git\0".as_slice(), &bytes_of(&inner)].concat();
    let tree = b.hash_literally("tree", &raw);
    post(&b, &b.git(&["commit-tree", &tree, "-m", "dotgit"]));
    two.a.git(&["config", "transfer.fsckObjects", "true"]);
    put(&two.a, "a", "2");
    let run = two.a.run(&["--json", "sync"]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("outboxes are left out"), "{}", run.stderr);
    b.colony(&["sync", "--fetch"]);
    assert_eq!(get(&b, "a").as_deref(), Some("2"));
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
