//! A repository that several users share (`core.sharedRepository`): files of ours give the group the access that git
//! gives it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::support::Sandbox;

/// Lists everything below a folder that the group may not change, by path and mode.
fn closed_to_group(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = path.symlink_metadata().unwrap();
        let mode = metadata.permissions().mode() & 0o7777;
        let wanted = if metadata.is_dir() { 0o2070 } else { 0o060 };
        // A file that was moved aside is the user's, and keeps its mode.
        let is_moved =
            path.components().any(|part| part.as_os_str() == "colony-kept") && metadata.is_file();
        if mode & wanted != wanted && !is_moved {
            found.push(format!("{mode:o} {}", path.display()));
        }
        if metadata.is_dir() {
            closed_to_group(&path, found);
        }
    }
}

#[test]
fn files_below_git_belong_to_the_users_who_share_the_repository() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "core.sharedRepository", "group"]);
    let chmod = sandbox.process("chmod").args(["-R", "g+rwX", ".git"]).status();
    assert!(chmod.unwrap().success());
    let find = ["-c", "find .git -type d -exec chmod g+s {} +"];
    assert!(sandbox.process("sh").args(find).status().unwrap().success());
    sandbox.write("a.txt", "one\n");
    sandbox.colony(&["checkpoint", "-m", "one"]);
    sandbox.write("a.txt", "two\n");
    sandbox.colony(&["restore", "one", "--force"]);
    sandbox.colony(&["blackboard", "put", "scope", "key", "value"]);
    sandbox.colony(&["init", "--no-lfs"]);
    sandbox.colony(&["map"]);
    let search = sandbox.run(&["search", "two", "--refresh"]);
    assert_eq!(search.code, 1, "{}", search.stdout);
    let git = sandbox.path(".git");
    let mut found = Vec::new();
    for folder in ["colony", "colony-kept", "refs/colony", "refs/colony-local"] {
        if git.join(folder).exists() {
            closed_to_group(&git.join(folder), &mut found);
        }
    }
    assert_eq!(found, [""; 0]);
    assert!(git.join("colony-kept").exists());
    let lock = git.join("colony/lock").metadata().unwrap();
    assert_eq!(lock.permissions().mode() & 0o060, 0o060);
}

#[test]
fn files_below_git_of_one_user_follow_the_umask() {
    let sandbox = Sandbox::new();
    let mode = |path: &str| sandbox.path(path).metadata().unwrap().permissions().mode();
    let usual = mode(".git/HEAD") & 0o777;
    sandbox.colony(&["checkpoint", "-m", "one"]);
    assert_eq!(mode(".git/colony/worktree-key") & 0o777, usual);
    assert_eq!(mode(".git/colony") & 0o7777, mode(".git/refs") & 0o7777);
}
