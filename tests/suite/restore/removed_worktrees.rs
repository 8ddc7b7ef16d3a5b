//! Operations of worktrees that were removed, and the files they moved aside: pruned after their time, and only then.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::{Sandbox, View};

/// A checkout and a linked worktree, each with a restore that moved a file aside.
fn two_worktrees() -> (Sandbox, View) {
    let sandbox = Sandbox::new();
    let linked = sandbox.outside().join("linked");
    let place = linked.to_str().unwrap();
    sandbox.git(&["worktree", "add", "-q", "-b", "other", place]);
    let sibling = sandbox.at(linked.clone());
    for view in [&sandbox.at(sandbox.root.clone()), &sibling] {
        view.colony(&["checkpoint", "-m", "base"]);
        view.write("a.txt", "work\n");
        view.colony(&["restore", "@{0}", "--force"]);
    }
    (sandbox, sibling)
}

fn kept_folders(sandbox: &Sandbox) -> Vec<PathBuf> {
    let entries = fs::read_dir(sandbox.path(".git/colony-kept")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn operations_of_a_removed_worktree_are_pruned_after_their_time() {
    let (sandbox, sibling) = two_worktrees();
    let day = 24 * 60 * 60;
    let late = |args: &[&str]| {
        let run = sandbox.run_in(sandbox.world_at(91 * day), &[&["--json"], args].concat());
        serde_json::from_str::<Value>(&run.stdout).unwrap()
    };
    let all = || sandbox.json(&["ops", "--all-worktrees"])["count"].clone();
    // As long as it exists, only it prunes what is its own; git may know it although its files are gone.
    assert_eq!(late(&["prune", "-n"])["of_removed_worktrees"], 0);
    fs::rename(&sibling.root, sibling.root.with_extension("away")).unwrap();
    assert_eq!(late(&["prune", "-n"])["of_removed_worktrees"], 0);
    fs::rename(sibling.root.with_extension("away"), &sibling.root).unwrap();
    let place = sibling.root.to_str().unwrap();
    sandbox.git(&["worktree", "remove", "--force", place]);
    let before = all();
    assert_eq!(sandbox.json(&["prune"])["of_removed_worktrees"], 0);
    assert_eq!(all(), before);
    assert_eq!(kept_folders(&sandbox).len(), 2);
    let planned = late(&["ops", "prune", "-n"]);
    assert_eq!(planned["of_removed_worktrees"], 2, "{planned:#}");
    assert_eq!(all(), before);
    let pruned = late(&["ops", "prune"]);
    assert_eq!(pruned["of_removed_worktrees"], 2, "{pruned:#}");
    assert_eq!(pruned["freed"], planned["freed"]);
    assert_eq!(all(), 0);
    assert_eq!(kept_folders(&sandbox).len(), 1);
    sandbox.git(&["fsck", "--strict"]);
}

#[test]
fn a_worktree_with_a_damaged_key_counts_as_existing() {
    let (sandbox, _sibling) = two_worktrees();
    let key = sandbox.path(".git/worktrees/linked/colony/worktree-key");
    fs::write(key, "damaged\n").unwrap();
    let plan = sandbox.json(&["prune", "--keep", "0", "-n"]);
    assert_eq!(plan["of_removed_worktrees"], 0, "{plan:#}");
}

#[test]
fn worktrees_that_cannot_be_listed_count_as_existing() {
    let (sandbox, sibling) = two_worktrees();
    let place = sibling.root.to_str().unwrap();
    sandbox.git(&["worktree", "remove", "--force", place]);
    fs::write(sandbox.path(".git/worktrees"), "not a folder").unwrap();
    let plan = sandbox.json(&["prune", "--keep", "0", "-n"]);
    assert_eq!(plan["of_removed_worktrees"], 0, "{plan:#}");
    assert_eq!(kept_folders(&sandbox).len(), 2);
}
