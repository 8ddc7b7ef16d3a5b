//! The program and a git of it are killed together while that git holds locks that nobody could name
//! beforehand: the next command goes on, and no lock is left.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::remote::sync_refs::Two;
use crate::support::Sandbox;

/// Runs the program in a group of its own, with a stand-in for git that does `killed` and kills all of the group
/// when it is to run the git command `when` for the `nth` time. Returns whether that came to pass.
fn kill_group(
    sandbox: &Sandbox,
    directory: &Path,
    args: &[&str],
    (when, nth, killed): (&str, usize, &str),
) -> bool {
    let count = sandbox.outside().join("count");
    fs::write(&count, "").unwrap();
    let script = format!(
        "case \" $* \" in *' {when} '*) echo >>'{count}'\n\
         if [ $(wc -l <'{count}') = {nth} ]; then {killed}\nkill -9 0; fi;; esac",
        count = count.display(),
    );
    let stand_in = sandbox.stand_in("git", &script);
    let mut command = stand_in.at(directory.to_owned()).program();
    command.args(args).process_group(0);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    std::os::unix::process::ExitStatusExt::signal(&status) == Some(9)
}

/// Lists the locks that stand in a git directory.
fn locks(git_dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![git_dir.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "lock") {
                found.push(path);
            }
        }
    }
    found
}

/// Has a git leave locks with what it writes into them.
fn leaving(git_dir: &Path, locks: &[(&str, &str)]) -> String {
    let lines = locks.iter().map(|(name, holds)| {
        let path = git_dir.join(name);
        format!("printf '{holds}' >'{}'\n", path.display())
    });
    lines.collect()
}

#[test]
fn locks_of_a_fetch_killed_with_the_program_are_removed() {
    let two = Two::new();
    let git_dir = two.a.path(".git");
    let id = two.a.git(&["rev-parse", "HEAD"]);
    let left = leaving(
        &git_dir,
        &[
            ("refs/remotes/origin/main.lock", &id),
            ("refs/remotes/origin/new.lock", ""),
            ("packed-refs.lock", ""),
        ],
    );
    two.b().git(&["commit", "-q", "--allow-empty", "-m", "of b"]);
    two.b().git(&["push", "-q", "origin", "main"]);
    let root = &two.a.root;
    assert!(kill_group(&two.a, root, &["sync"], ("fetch", 1, &left)));
    assert_eq!(locks(&git_dir).len(), 3);
    two.a.colony(&["sync"]);
    assert_eq!(locks(&git_dir), [] as [PathBuf; 0]);
    let tip = two.b().git(&["rev-parse", "HEAD"]);
    assert_eq!(two.a.git(&["rev-parse", "origin/main"]), tip);
}

#[test]
fn locks_of_a_killed_fetch_are_removed_by_the_next_command() {
    let two = Two::new();
    two.at_remote(&["branch", "new", "main"]);
    let git_dir = two.a.path(".git");
    let left = leaving(&git_dir, &[("refs/remotes/origin/main.lock", "")]);
    let root = &two.a.root;
    assert!(kill_group(&two.a, root, &["sync"], ("fetch", 1, &left)));
    two.a.colony(&["checkpoint", "-m", "next"]);
    assert_eq!(locks(&git_dir), [] as [PathBuf; 0]);
}

#[test]
fn a_lock_below_remote_branches_that_was_there_before_is_left() {
    let two = Two::new();
    two.at_remote(&["branch", "new", "main"]);
    let git_dir = two.a.path(".git");
    let theirs = git_dir.join("refs/remotes/origin/theirs.lock");
    fs::create_dir_all(theirs.parent().unwrap()).unwrap();
    fs::write(&theirs, "").unwrap();
    let left = leaving(&git_dir, &[("refs/remotes/origin/main.lock", "")]);
    let root = &two.a.root;
    assert!(kill_group(&two.a, root, &["sync"], ("fetch", 1, &left)));
    two.a.colony(&["checkpoint", "-m", "next"]);
    assert_eq!(locks(&git_dir), [theirs]);
}

#[test]
fn a_reading_clone_whose_checkout_was_killed_is_completed() {
    let sandbox = Sandbox::new();
    let bare = sandbox.outside().join("remote.git");
    let url = bare.to_str().unwrap();
    let root = sandbox.root.to_str().unwrap();
    sandbox.git(&["clone", "-q", "--bare", root, url]);
    // In no repository, whose clones alone would be known.
    let place = sandbox.outside().join("nowhere");
    fs::create_dir(&place).unwrap();
    let nowhere = sandbox.at(place.clone());
    let report = nowhere.json(&["clone", url, "--read-only"]);
    let clone = PathBuf::from(report["path"].as_str().unwrap());
    let id = report["id"].as_str().unwrap();
    sandbox.write("a.txt", "two\n");
    sandbox.write("new.txt", "new\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "second"]);
    sandbox.git(&["push", "-q", url, "main"]);
    let git_dir = clone.join(".git");
    let left = [("index.lock", "DIRC half"), ("HEAD.lock", "")];
    let half = format!("cd '{}'; echo two >a.txt; echo new >new.txt\n", clone.display());
    let left = half + &leaving(&git_dir, &left);
    let args = ["clones", "refresh", id];
    assert!(kill_group(&sandbox, &place, &args, ("checkout", 1, &left)));
    assert_eq!(locks(&git_dir).len(), 2);
    nowhere.colony(&args);
    assert_eq!(locks(&git_dir), [] as [PathBuf; 0]);
    assert_eq!(fs::read_to_string(clone.join("a.txt")).unwrap(), "two\n");
    let status = sandbox.at(clone).git(&["status", "--porcelain"]);
    assert_eq!(status, "");
}

/// What git-lfs has written, and holds, when it is killed.
const HALF_A_FILTER: &str = "git config filter.lfs.clean x; : >\"$GIT_DIR/config.lock\"";
/// It says how it keeps things where nothing says so yet.
const WITHOUT_A_FORMAT: &str =
    "git config lfs.repositoryformatversion >/dev/null || : >\"$GIT_DIR/config.lock\"";

#[test]
fn an_init_killed_with_git_lfs_leaves_no_lock_or_half_filter() {
    for (when, killed) in [("install", HALF_A_FILTER), ("update", WITHOUT_A_FORMAT)] {
        let sandbox = Sandbox::new();
        let strike = (when, 1, killed);
        assert!(kill_group(&sandbox, &sandbox.root, &["init"], strike));
        let filter = |name: &str| sandbox.try_git(&["config", &format!("filter.lfs.{name}")]);
        assert!(!filter("clean") && !filter("smudge"), "{when}");
        sandbox.colony(&["init"]);
        assert!(filter("clean") && filter("smudge") && filter("process"));
        assert_eq!(locks(&sandbox.path(".git")), [] as [PathBuf; 0], "{when}");
        sandbox.git(&["config", "--local", "some.key", "value"]);
    }
}
