//! Checkpoints are refs of ours: the tags of git, and what others make of those, are left alone.

use std::fs;
use std::path::Path;

use super::support::Sandbox;

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
    assert_eq!(
        name,
        id.replacen("checkpoint/", "refs/colony/checkpoints/", 1)
    );
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
fn checkpoints_that_are_tags_from_before_are_listed_and_restored() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    let made = sandbox.json(&["checkpoint", "-m", "old"]);
    let (id, name) = (made["checkpoint_id"].as_str().unwrap(), ref_of(&made));
    let object = sandbox.git(&["rev-parse", &name]);
    sandbox.git(&["tag", id, &object]);
    assert_eq!(
        sandbox.json(&["checkpoints"])["count"],
        1,
        "one object is one checkpoint"
    );
    sandbox.git(&["update-ref", "-d", &name]);
    let listed = sandbox.json(&["checkpoints"]);
    assert_eq!(
        listed["checkpoints"][0]["ref"],
        format!("tags/{id}"),
        "{listed:#}"
    );
    sandbox.write("a.txt", "three\n");
    sandbox.colony(&["restore", "old", "--force"]);
    assert_eq!(sandbox.read("a.txt"), "two\n");
    sandbox.git(&["update-ref", &name, "HEAD"]);
    let refused = sandbox.json(&["restore", id]);
    assert_eq!(refused["code"], "checkpoint-ambiguous", "{refused:#}");
    let both = [name.replacen("refs/", "", 1), format!("tags/{id}")];
    assert_eq!(refused["detail"]["candidates"], serde_json::json!(both));
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
        paths
            .map(|path| if path.is_dir() { count(&path) } else { 1 })
            .sum()
    }
    count(&sandbox.path(".git/lfs/objects"))
}

#[test]
fn large_files_of_checkpoints_that_left_the_branch_outlast_a_prune() {
    let sandbox = Sandbox::new();
    sandbox.git(&["lfs", "install", "--local", "--skip-repo"]);
    sandbox.write(
        ".gitattributes",
        "*.bin filter=lfs diff=lfs merge=lfs -text\n",
    );
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
fn large_files_go_with_the_last_checkpoint_and_operation_that_have_them() {
    let sandbox = Sandbox::new();
    sandbox.git(&["lfs", "install", "--local", "--skip-repo"]);
    sandbox.write(
        ".gitattributes",
        "*.bin filter=lfs diff=lfs merge=lfs -text\n",
    );
    let mut names = Vec::new();
    for content in ["one\n", "two\n"] {
        sandbox.write("x.bin", content);
        names.push(ref_of(&sandbox.json(&["checkpoint", "-m", content.trim()])));
    }
    let held = || {
        let folder = sandbox.path(".git/colony-kept/large-files");
        super::support::worktree_of(&folder)
            .keys()
            .filter(|name| name.len() > 60)
            .count()
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
