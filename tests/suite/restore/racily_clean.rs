//! Files edited at the moment an index was written: their stat data are what the index says, and only
//! their content tells. What they hold is seen by every command, and by git after it.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::support::Sandbox;

/// A repository whose file `young` was edited, to the same size, at the very time that its entry and the
/// index have: git and the program have to compare its content.
fn edited_as_the_index_was_written() -> Sandbox {
    let sandbox = Sandbox::new();
    // The time of changes of a file cannot be set back.
    sandbox.git(&["config", "core.trustctime", "false"]);
    let at = SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 100_000_000);
    sandbox.write("young", "committed\n");
    date(&sandbox.path("young"), at);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "young"]);
    date(&sandbox.path(".git/index"), at);
    sandbox.write("young", "edited...\n");
    date(&sandbox.path("young"), at);
    sandbox
}

fn date(path: &Path, at: SystemTime) {
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(at).unwrap();
}

#[test]
fn a_commit_of_another_file_leaves_the_edit_in_sight() {
    let sandbox = edited_as_the_index_was_written();
    sandbox.write("a.txt", "changed\n");
    sandbox.colony(&["commit", "-m", "another file", "a.txt"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), " M young");
    assert_eq!(sandbox.json(&["status"])["changes"]["changed"], 1);
}

#[test]
fn a_merge_of_other_files_leaves_the_edit_in_sight() {
    let sandbox = edited_as_the_index_was_written();
    let elsewhere = sandbox.outside().join("elsewhere");
    let name = elsewhere.to_str().unwrap();
    sandbox.git(&["worktree", "add", "-q", "-b", "other", name]);
    fs::write(elsewhere.join("other.txt"), "other\n").unwrap();
    sandbox.git(&["-C", name, "add", "-A"]);
    sandbox.git(&["-C", name, "commit", "-qm", "other"]);
    sandbox.colony(&["merge", "other"]);
    assert_eq!(sandbox.read("other.txt"), "other\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), " M young");
    assert_eq!(sandbox.json(&["status"])["changes"]["changed"], 1);
}

#[test]
fn an_edit_in_the_second_of_an_index_is_seen_with_an_older_time() {
    let sandbox = edited_as_the_index_was_written();
    let at = SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 900_000_000);
    date(&sandbox.path(".git/index"), at);
    assert_eq!(sandbox.json(&["status"])["changes"]["changed"], 1);
}
