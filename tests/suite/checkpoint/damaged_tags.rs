//! Tags that are no tags: garbage, cut off, of another type than they say, chains of them. They stop
//! nothing but what is asked of them.

use crate::support::{Sandbox, id_of};

/// The name of the checkpoint that is damaged.
const DAMAGED: &str = "checkpoint/20250909T030405Z-5d105ac1";

/// A repository with the checkpoint 'good' and a ref of a checkpoint that holds `object`.
fn with_checkpoint(object: impl Fn(&Sandbox) -> String) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "good"]);
    let id = object(&sandbox);
    // As by hand: git refuses some of these.
    sandbox.write(&format!(".git/refs/tags/{DAMAGED}"), format!("{id}\n"));
    sandbox
}

fn tag_of(sandbox: &Sandbox, bytes: &[u8]) -> String {
    sandbox.hash_literally("tag", bytes)
}

/// What a tag object says, of a target and the type it claims.
fn tag_text(target: &str, kind: &str) -> String {
    let tagger = "Eve <e@example.com> 1767323045 +0000";
    format!("object {target}\ntype {kind}\ntag x\ntagger {tagger}\n\nmessage\n")
}

/// Every command that lists or names checkpoints, revisions and tags goes on, and names what is damaged.
fn goes_on(sandbox: &Sandbox, reason: &str) {
    let listed = sandbox.json(&["checkpoints"]);
    assert_eq!(listed["count"], 1, "{listed:#}");
    let row = &listed["damaged"][0];
    assert_eq!(row["checkpoint_id"], DAMAGED, "{listed:#}");
    let said = row["reason"].as_str().unwrap();
    assert!(said.contains(reason), "{said}");
    assert!(sandbox.colony(&["checkpoints"]).contains(DAMAGED));

    let status = sandbox.json(&["status"]);
    assert_eq!(status["ok"], true, "{status:#}");
    let health = status["health"].as_array().unwrap();
    let told = health.iter().find(|row| row["name"] == "checkpoint-damaged");
    let detail = told.unwrap()["detail"].as_str().unwrap();
    assert!(detail.contains(DAMAGED), "{detail}");

    let before = sandbox.visible_state();
    for name in [DAMAGED, "5d105ac1", "20250909T030405Z"] {
        let refused = sandbox.json(&["restore", name]);
        assert_eq!(refused["code"], "repository-broken", "{refused:#}");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains(DAMAGED), "{message}");
    }
    let shown = sandbox.json(&["checkpoints", "show", DAMAGED]);
    assert_eq!(shown["code"], "repository-broken", "{shown:#}");
    assert_eq!(sandbox.visible_state(), before);
    for args in [
        &["forks"][..],
        &["fleet"],
        &["topology"],
        &["ops"],
        &["doctor"],
        &["checkpoints", "--auto"],
        &["undo", "--dry-run"],
        &["prune", "--dry-run"],
    ] {
        let run = sandbox.run(args);
        assert!(run.code < 2, "{args:?} {}{}", run.stdout, run.stderr);
    }
    for args in [
        &["tag", "-m", "again", DAMAGED][..],
        &["map", "--rev", DAMAGED],
        &["fork", "from-it", "--from", DAMAGED],
        &["diff", "HEAD", DAMAGED],
        &["merge", DAMAGED],
        &["cherry-pick", DAMAGED],
    ] {
        let error = sandbox.json(args);
        assert_eq!(error["ok"], false, "{args:?} {error:#}");
    }
    sandbox.colony(&["restore", "good"]);
    // The hint is what clears it.
    sandbox.git(&["update-ref", "-d", &format!("refs/tags/{DAMAGED}")]);
    assert_eq!(sandbox.json(&["status"])["health"], serde_json::json!([]));
}

#[test]
fn a_tag_of_garbage_is_a_damaged_row_and_stops_nothing() {
    let sandbox = with_checkpoint(|sandbox| tag_of(sandbox, b"garbage"));
    goes_on(&sandbox, "cannot be read");
}

#[test]
fn a_tag_that_is_cut_off_is_damaged() {
    let sandbox = with_checkpoint(|sandbox| tag_of(sandbox, b"object 1234"));
    goes_on(&sandbox, "cannot be read");
}

#[test]
fn an_empty_tag_is_damaged() {
    let sandbox = with_checkpoint(|sandbox| tag_of(sandbox, b""));
    goes_on(&sandbox, "cannot be read");
}

#[test]
fn a_tag_that_calls_a_blob_a_commit_is_damaged() {
    let sandbox = with_checkpoint(|sandbox| {
        let blob = sandbox.git(&["rev-parse", "HEAD:a.txt"]);
        tag_of(sandbox, tag_text(&blob, "commit").as_bytes())
    });
    goes_on(&sandbox, "is a blob");
}

#[test]
fn a_tag_of_what_is_not_there_is_damaged() {
    let sandbox =
        with_checkpoint(|sandbox| tag_of(sandbox, tag_text(&"1".repeat(40), "commit").as_bytes()));
    goes_on(&sandbox, "is missing");
}

#[test]
fn a_checkpoint_that_is_a_blob_is_damaged() {
    let sandbox = with_checkpoint(|sandbox| sandbox.git(&["rev-parse", "HEAD:a.txt"]));
    goes_on(&sandbox, "is a blob");
}

#[test]
fn a_checkpoint_that_is_a_tree_is_damaged() {
    let sandbox = with_checkpoint(|sandbox| sandbox.git(&["rev-parse", "HEAD^{tree}"]));
    goes_on(&sandbox, "is a tree");
}

#[test]
fn a_checkpoint_of_a_commit_that_makes_no_sense_is_damaged() {
    let sandbox = with_checkpoint(|sandbox| sandbox.hash_literally("commit", b"garbage"));
    goes_on(&sandbox, "cannot read commit");
}

#[test]
fn ten_thousand_tags_of_each_other_are_damaged() {
    let sandbox = with_checkpoint(|sandbox| {
        let head = sandbox.git(&["rev-parse", "HEAD"]);
        let mut texts = vec![tag_text(&head, "commit")];
        for _ in 1..10_000 {
            let below = id_of("tag", texts.last().unwrap());
            texts.push(tag_text(&below, "tag"));
        }
        sandbox.hash_all_literally("tag", &texts)
    });
    goes_on(&sandbox, "tags inside each other");
}

#[test]
fn a_few_tags_of_each_other_are_followed() {
    let sandbox = Sandbox::new();
    sandbox.git(&["tag", "-a", "-m", "one", "one"]);
    sandbox.git(&["-c", "advice.nestedTag=false", "tag", "-a", "-m", "two", "two", "one"]);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    for name in ["two", "two^{}", "two^0", "two~0", "two^{commit}", "refs/tags/two", "@"] {
        let answer = sandbox.json(&["tag", "-m", "followed", name]);
        assert_eq!(answer["sha"], head.as_str(), "{name} {answer:#}");
    }
}

#[test]
fn revisions_step_over_what_is_damaged_without_a_crash() {
    let sandbox = Sandbox::new();
    let tag = tag_of(&sandbox, b"garbage");
    let tree = sandbox.git(&["rev-parse", "HEAD^{tree}"]);
    let who = "Eve <e@example.com> 1767323045 +0000";
    let text = format!("tree {tree}\nparent {tag}\nauthor {who}\ncommitter {who}\n\nx\n");
    let commit = sandbox.hash_literally("commit", text.as_bytes());
    sandbox.write(".git/refs/heads/odd", format!("{commit}\n"));
    sandbox.write(".git/refs/tags/garbage", format!("{tag}\n"));
    let steps = [
        "",
        "~",
        "~1",
        "^",
        "^1",
        "^{}",
        "^{commit}",
        "^{tree}",
        "^{/x}",
        ":a.txt",
        "^1^1",
        "~2",
        "@{0}",
    ];
    for name in ["odd", "garbage", &tag[..12], &commit[..12]] {
        for step in steps {
            let revision = format!("{name}{step}");
            let run = sandbox.run(&["map", "--rev", &revision]);
            assert_ne!(run.code, 101, "{revision}");
            let run = sandbox.run(&["diff", "HEAD", &revision]);
            assert!(!run.stderr.contains("panic"), "{revision} {}", run.stderr);
        }
    }
    let refused = sandbox.json(&["diff", "HEAD", "garbage"]);
    assert_eq!(refused["code"], "repository-broken", "{refused:#}");
    assert!(refused["message"].as_str().unwrap().contains("'garbage'"), "{refused:#}");
}
