//! Checkpoints are refs of ours: the tags of git, and what others make of those, are left alone.

use std::fs;
use std::path::Path;

use crate::support::{Sandbox, View};

/// The ref of a checkpoint that was just made.
fn ref_of(answer: &serde_json::Value) -> String {
    assert_eq!(answer["ok"], true, "{answer:#}");
    format!("refs/{}", answer["ref"].as_str().unwrap())
}

#[test]
fn a_checkpoint_is_an_annotated_tag_object_outside_of_the_tags() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    let made = sandbox.json(&["checkpoint", "-m", "kept", "--rationale", "because"]);
    let id = made["checkpoint_id"].as_str().unwrap();
    let name = ref_of(&made);
    assert_eq!(name, id.replacen("checkpoint/", "refs/colony/checkpoints/", 1));
    assert_eq!(sandbox.git(&["cat-file", "-t", &name]), "tag");
    assert_eq!(sandbox.git(&["for-each-ref", "refs/tags"]), "");
    for revision in [id, made["ref"].as_str().unwrap(), "kept", "@{0}"] {
        let shown = sandbox.json(&["checkpoints", "show", revision]);
        let is_ref = revision.starts_with("colony/");
        assert_eq!(shown["ok"], !is_ref, "{shown:#}");
        let diff = sandbox.json(&["diff", revision, "HEAD"]);
        assert_eq!(diff["ok"], true, "{revision}: {diff:#}");
    }
    let parent = sandbox.git(&["rev-parse", "HEAD~1"]);
    let forked = sandbox.json(&["fork", "x", "--from", &format!("{id}~1"), "--no-switch"]);
    assert_eq!(forked["head_sha"], parent.as_str(), "{forked:#}");
    let tagged = sandbox.json(&["tag", "-m", "again", "kept"]);
    assert_eq!(tagged["sha"], made["sha"], "{tagged:#}");
}

#[test]
fn git_tags_are_made_where_they_are_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "colony.checkpoint.gitTags", "true"]);
    sandbox.write("a.txt", "two\n");
    let made = sandbox.json(&["checkpoint", "-m", "kept"]);
    let id = made["checkpoint_id"].as_str().unwrap();
    assert_eq!(sandbox.git(&["tag"]), id);
    let objects = [id, made["ref"].as_str().unwrap()].map(|name| sandbox.git(&["rev-parse", name]));
    assert_eq!(objects[0], objects[1]);
    let listed = sandbox.json(&["checkpoints"]);
    assert_eq!(listed["count"], 1, "{listed:#}");
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.refs().lines().count(), 1, "{}", sandbox.refs());
}

#[test]
fn checkpoints_stored_as_tags_are_listed_and_restored() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    let made = sandbox.json(&["checkpoint", "-m", "old"]);
    let (id, name) = (made["checkpoint_id"].as_str().unwrap(), ref_of(&made));
    let object = sandbox.git(&["rev-parse", &name]);
    sandbox.git(&["tag", id, &object]);
    assert_eq!(sandbox.json(&["checkpoints"])["count"], 1, "one object is one checkpoint");
    sandbox.git(&["update-ref", "-d", &name]);
    let listed = sandbox.json(&["checkpoints"]);
    assert_eq!(listed["checkpoints"][0]["ref"], format!("tags/{id}"), "{listed:#}");
    sandbox.write("a.txt", "three\n");
    sandbox.colony(&["restore", "old", "--force"]);
    assert_eq!(sandbox.read("a.txt"), "two\n");
    sandbox.git(&["update-ref", &name, "HEAD"]);
    let refused = sandbox.json(&["restore", id]);
    assert_eq!(refused["code"], "checkpoint-ambiguous", "{refused:#}");
    let mut named: Vec<_> = refused["detail"]["candidates"].as_array().unwrap().clone();
    named.sort_by_key(|one| one.as_str().unwrap().to_owned());
    let both = [name.replacen("refs/", "", 1), format!("tags/{id}")];
    assert_eq!(named, both);
}

#[test]
fn checkpoints_go_beside_the_branch_where_a_person_wants_that() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "colony.checkpoint.offBranch", "true"]);
    sandbox.write("a.txt", "two\n");
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    let made = sandbox.json(&["checkpoint", "-m", "beside"]);
    assert_eq!(made["branch_moved"], false, "{made:#}");
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), tip);
    let made = sandbox.json(&["checkpoint", "-m", "on", "--on-branch"]);
    assert_eq!(made["branch_moved"], true, "{made:#}");
    let both = sandbox.run(&["checkpoint", "--on-branch", "--off-branch"]);
    assert_eq!(both.code, 129, "{}", both.stderr);
}

/// Counts the objects of git-lfs in its own store.
fn stored(sandbox: &Sandbox) -> usize {
    fn count(folder: &Path) -> usize {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        paths.map(|path| if path.is_dir() { count(&path) } else { 1 }).sum()
    }
    count(&sandbox.path(".git/lfs/objects"))
}

#[test]
fn large_files_of_checkpoints_off_the_branch_outlast_a_prune() {
    let sandbox = Sandbox::new();
    sandbox.git(&["lfs", "install", "--local", "--skip-repo"]);
    sandbox.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    sandbox.write("old.bin", "an old large file\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "large files"]);
    sandbox.colony(&["checkpoint", "-m", "first"]);
    // One comes by plain git, one by the checkpoint; neither is in what the branch goes back to.
    sandbox.write("by-git.bin", "by plain git\n");
    sandbox.git(&["rm", "-q", "old.bin"]);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "more"]);
    sandbox.write("new.bin", "a new large file\n");
    sandbox.colony(&["checkpoint", "-m", "second"]);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    sandbox.colony(&["tag", "-m", "named", &head]);
    sandbox.colony(&["restore", "first"]);
    sandbox.git(&["lfs", "prune"]);
    assert_eq!(stored(&sandbox), 1, "git-lfs keeps what the branch has");
    for name in ["second", "named"] {
        sandbox.colony(&["restore", name, "--force"]);
        assert_eq!(sandbox.read("by-git.bin"), "by plain git\n");
        assert_eq!(sandbox.read("new.bin"), "a new large file\n");
        sandbox.git(&["lfs", "fsck"]);
        sandbox.colony(&["restore", "first", "--force"]);
        assert_eq!(sandbox.read("old.bin"), "an old large file\n");
        sandbox.git(&["lfs", "prune"]);
    }
}

#[test]
fn large_files_go_with_the_last_checkpoint_and_operation() {
    let sandbox = Sandbox::new();
    sandbox.git(&["lfs", "install", "--local", "--skip-repo"]);
    sandbox.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    let mut names = Vec::new();
    for content in ["one\n", "two\n"] {
        sandbox.write("x.bin", content);
        names.push(ref_of(&sandbox.json(&["checkpoint", "-m", content.trim()])));
    }
    let held = || {
        let folder = sandbox.path(".git/colony-kept/large-files");
        crate::support::worktree_of(&folder).keys().filter(|name| name.len() > 60).count()
    };
    assert_eq!(held(), 2);
    sandbox.git(&["update-ref", "-d", &names[0]]);
    let prune = |args: &[&str]| {
        let later = sandbox.world_at(4000 * 24 * 60 * 60);
        let run = sandbox.run_in(later, &[&["prune"], args].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
    };
    prune(&["--keep", "100000"]);
    assert_eq!(held(), 2, "an operation could bring it back");
    prune(&["-n"]);
    assert_eq!(held(), 2);
    prune(&[]);
    assert_eq!(held(), 1);
}

#[test]
fn checkpoints_are_deleted_by_name_and_come_back() {
    let sandbox = Sandbox::new();
    for (text, label) in [("two\n", "one"), ("three\n", "two"), ("four\n", "three")] {
        sandbox.write("a.txt", text);
        sandbox.colony(&["checkpoint", "-m", label]);
    }
    let before = sandbox.visible_state();
    let dry = sandbox.json(&["checkpoints", "delete", "one", "@{0}", "-n"]);
    assert_eq!(dry["deleted"].as_array().unwrap().len(), 2, "{dry:#}");
    assert_eq!(sandbox.visible_state(), before);
    let deleted = sandbox.json(&["checkpoints", "delete", "one", "@{0}", "three"]);
    assert_eq!(deleted["deleted"].as_array().unwrap().len(), 2, "{deleted:#}");
    let listed = sandbox.json(&["checkpoints"]);
    assert_eq!(listed["count"], 1, "{listed:#}");
    assert_eq!(listed["checkpoints"][0]["label"], "two");
    assert_eq!(sandbox.error(&["checkpoints", "delete", "one"]), "checkpoint-not-found");
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.visible_state(), before);
    sandbox.write("a.txt", "five\n");
    sandbox.automatic_checkpoint();
    assert_eq!(sandbox.error(&["checkpoints", "delete", "auto@{0}"]), "invalid-value");
}

#[test]
fn checkpoints_travel_as_our_refs_and_tags_stay_on_the_remote() {
    let two = crate::remote::sync_refs::Two::new();
    let (a, b) = (&two.a, two.b());
    a.write("a.txt", "two\n");
    let made = a.json(&["checkpoint", "-m", "of a"]);
    let (id, name) = (made["checkpoint_id"].as_str().unwrap(), ref_of(&made));
    // Another checkout, with 'colony.checkpoint.gitTags', has published it as a tag as well.
    a.git(&["push", "-q", "origin", &format!("{name}:refs/tags/{id}")]);
    a.colony(&["sync", "--push"]);
    assert_eq!(two.at_remote(&["for-each-ref", "--format=%(refname)", "refs/colony"]), name);
    a.git(&["fetch", "-q", "--no-tags", "origin"]);
    a.colony(&["sync"]);
    b.colony(&["sync"]);
    for clone in [a.at(a.root.clone()), b] {
        assert_eq!(clone.git(&["tag", "--list", "checkpoint/*"]), "");
        assert_eq!(clone.json(&["checkpoints"])["count"], 1);
    }
    let deleted = a.json(&["checkpoints", "delete", id]);
    assert_eq!(deleted["deleted"][0]["published"], serde_json::json!(["origin"]), "{deleted:#}");
    // Where a plain fetch has brought the tag, it is a checkpoint as ever.
    a.git(&["tag", id, &two.at_remote(&["rev-parse", &name])]);
    assert_eq!(a.json(&["restore", id, "-n"])["ok"], true);
}

#[test]
fn a_server_that_wants_no_such_refs_is_heard_with_a_way_on() {
    let two = crate::remote::sync_refs::Two::new();
    two.remote_hook(
        "update",
        "case \"$1\" in refs/colony/*) echo 'no such refs here' >&2; exit 1;; esac",
    );
    two.a.write("a.txt", "two\n");
    let name = ref_of(&two.a.json(&["checkpoint", "-m", "of a"]));
    let did = two.a.json(&["sync", "--push"]);
    let row = crate::remote::sync_refs::row(&did, &name);
    assert_eq!(row["result"], "refused_by_server", "{did:#}");
    let hint = row["hint"].as_str().unwrap();
    assert!(hint.contains("git config 'colony.sync.origin.asBranches' true"), "{hint}");
}

#[test]
fn a_new_agent_begins_with_the_checkpoints_of_the_team() {
    let two = crate::remote::sync_refs::Two::new();
    let (a, b) = (&two.a, two.b());
    b.write("b.txt", "by b\n");
    b.colony(&["checkpoint", "-m", "of b"]);
    b.colony(&["sync", "--push"]);
    a.write("a.txt", "two\n");
    a.colony(&["checkpoint", "-m", "of a"]);
    let made = a.json(&["agents", "new", "ada"]);
    let ada = a.at(made["path"].as_str().unwrap().into());
    let labels = |view: &View| {
        let listed = view.json(&["checkpoints"]);
        let listed = listed["checkpoints"].as_array().unwrap().clone();
        let mut labels: Vec<_> =
            listed.iter().map(|row| row["label"].as_str().unwrap().to_owned()).collect();
        labels.sort();
        labels
    };
    assert_eq!(labels(&ada), ["of a"], "the remote was not asked since");
    a.colony(&["clones", "remove", "ada", "--force"]);
    let hub = made["hub"].as_str().unwrap();
    a.git(&[
        "-C",
        hub,
        "fetch",
        "-q",
        "origin",
        "+refs/colony/checkpoints/*:refs/colony/checkpoints/*",
    ]);
    let made = a.json(&["agents", "new", "bob"]);
    let bob = a.at(made["path"].as_str().unwrap().into());
    assert_eq!(labels(&bob), ["of a", "of b"]);
    bob.write("c.txt", "by bob\n");
    bob.colony(&["checkpoint", "-m", "of bob"]);
    let of_bob = a.git(&["-C", hub, "for-each-ref", "refs/colony/agents/bob"]);
    assert_eq!(of_bob.matches("/tags/checkpoint/").count(), 1, "{of_bob}");
    assert_eq!(a.json(&["checkpoints", "show", "bob/of bob"])["label"], "of bob");
}

#[test]
fn tags_that_a_person_made_are_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "colony.checkpoint.gitTags", "true"]);
    sandbox.write("a.txt", "two\n");
    sandbox.colony(&["checkpoint", "-m", "ours"]);
    sandbox.git(&["tag", "-am", "mine", "checkpoint/rc1"]);
    sandbox.git(&["tag", "checkpoint/light"]);
    sandbox.colony(&["deinit", "--purge", "--force"]);
    assert_eq!(sandbox.git(&["tag"]), "checkpoint/light\ncheckpoint/rc1");
    assert_eq!(sandbox.git(&["for-each-ref", "refs/colony"]), "");
}

#[test]
fn the_newest_of_checkpoints_within_a_second_is_named_first() {
    let sandbox = Sandbox::new();
    let mut ids = Vec::new();
    for text in ["1\n", "2\n", "3\n"] {
        sandbox.write("a.txt", text);
        let run = sandbox.run_in(sandbox.world_at(0), &["--json", "checkpoint", "-m", "same"]);
        let made: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        ids.insert(0, made["checkpoint_id"].clone());
    }
    let refused = sandbox.json(&["restore", "same"]);
    assert_eq!(refused["detail"]["candidates"], serde_json::json!(ids), "{refused:#}");
}
