//! The hub as a remote of a clone: other programs see what is published as pushed, and git-colony never does.

use crate::agents::new_and_merge::{agent, commit};
use crate::support::{Sandbox, View};

const TRACKING: &str = "refs/remotes/colony-hub/fork/ada";

/// The commits that no remote has, as programs that remove worktrees ask.
fn unpushed(view: &View) -> String {
    view.git(&["log", "--format=%s", "HEAD", "--not", "--remotes"])
}

#[test]
fn what_is_published_is_pushed_for_other_programs() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    let head = || ada.git(&["rev-parse", "HEAD"]);
    assert_eq!((ada.git(&["rev-parse", TRACKING]), unpushed(&ada)), (head(), String::new()));
    commit(&ada, "a.txt", "by git\n");
    assert_eq!((ada.git(&["rev-parse", TRACKING]), unpushed(&ada)), (head(), String::new()));
    ada.write("b.txt", "by us\n");
    ada.colony(&["checkpoint", "-m", "b"]);
    ada.git(&["branch", "side"]);
    ada.colony(&["checkpoint", "--off-branch", "-m", "c"]);
    assert_eq!((ada.git(&["rev-parse", TRACKING]), unpushed(&ada)), (head(), String::new()));
    assert_eq!(ada.git(&["rev-parse", "refs/remotes/colony-hub/side"]), head());
    // Without hooks nothing is published, and so nothing counts as pushed.
    ada.write("c.txt", "unseen\n");
    ada.git(&["add", "c.txt"]);
    ada.git(&["-c", "core.hooksPath=/dev/null", "commit", "-qm", "unseen"]);
    assert_eq!(unpushed(&ada).trim(), "unseen");
    ada.git(&["branch", "-D", "-q", "side"]);
    ada.colony(&["status"]);
    ada.colony(&["checkpoint", "--off-branch", "-m", "d"]);
    assert_eq!((ada.git(&["rev-parse", TRACKING]), unpushed(&ada)), (head(), String::new()));
    assert_eq!(ada.git(&["for-each-ref", "refs/remotes/colony-hub/side"]), "");
}

#[test]
fn the_hub_is_fetched_from_and_not_pushed_to() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "a.txt", "one\n");
    let before = ada.git(&["for-each-ref"]);
    ada.git(&["fetch", "-q", "--all", "--prune"]);
    let published = |refs: &str| -> Vec<String> {
        refs.lines().filter(|line| line.contains("colony-hub")).map(str::to_owned).collect()
    };
    assert_eq!(published(&ada.git(&["for-each-ref"])), published(&before));
    for args in [&["push", "colony-hub"][..], &["push", "-f", "colony-hub", "HEAD:refs/heads/x"]] {
        let refused = ada.git_output(args);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success(), "{args:?}");
        assert!(said.contains("'publish with git colony checkpoint'"), "{said}");
    }
    // git-lfs asks the remote of the branch for large files.
    assert_eq!(ada.git_output(&["config", "branch.fork/ada.remote"]).status.code(), Some(1));
}

#[test]
fn work_that_only_the_hub_has_is_not_elsewhere() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    ada.colony(&["fork", "side"]);
    commit(&ada, "a.txt", "only here\n");
    ada.git(&["switch", "-q", "fork/ada"]);
    assert_eq!(ada.error(&["forks", "delete", "side"]), "unmerged-commits");
    commit(&ada, "b.txt", "later\n");
    let restored = ada.json(&["restore", "HEAD~1"]);
    assert!(!restored.to_string().contains("colony-hub"), "{restored:#}");
    let fleet = desk.json(&["fleet"]);
    assert_eq!(fleet["ok"], true, "{fleet:#}");
    let remotes = ada.json(&["sync", "-n"]);
    assert!(!remotes.to_string().contains("colony-hub"), "{remotes:#}");
}

#[test]
fn a_branch_that_becomes_a_folder_of_branches_is_followed() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    for (from, to) in [("fork/ada", "fork/ada/x"), ("fork/ada/x", "fork/ada"), ("fork/ada", "fork")]
    {
        ada.git(&["branch", "-m", from, to]);
        commit(&ada, "a.txt", to);
        assert_eq!(unpushed(&ada), "", "{to}");
    }
}

#[test]
fn a_remote_of_the_user_with_that_name_is_left_alone() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    ada.git(&["remote", "remove", "colony-hub"]);
    ada.git(&["remote", "add", "colony-hub", &desk.root.display().to_string()]);
    ada.git(&["fetch", "-q", "colony-hub"]);
    let before = ada.git(&["for-each-ref", "refs/remotes/colony-hub"]);
    commit(&ada, "a.txt", "own\n");
    assert_eq!(ada.git(&["for-each-ref", "refs/remotes/colony-hub"]), before);
    assert_eq!(unpushed(&ada).trim(), "edit a.txt");
}
