//! Hooks folders that are shared by a link, and hooks that are folders: nothing is written through the
//! one, and both come back as they were.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::support::Sandbox;

/// A repository whose hooks are in a folder that others share.
fn shared() -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    let shared = sandbox.outside().join("shared");
    fs::create_dir(&shared).unwrap();
    if sandbox.path(".git/hooks").exists() {
        sandbox.remove(".git/hooks");
    }
    symlink(&shared, sandbox.path(".git/hooks")).unwrap();
    (sandbox, shared)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).unwrap().is_symlink()
}

#[test]
fn init_writes_no_hook_through_a_link_into_a_shared_folder() {
    let (sandbox, shared) = shared();
    let config = sandbox.read(".git/config");
    assert_eq!(sandbox.error(&["init"]), "hooks-in-the-way");
    assert_eq!(names(&shared), Vec::<String>::new());
    assert_eq!(sandbox.read(".git/config"), config);
    // The way that the hint tells.
    sandbox.colony(&["hooks", "install"]);
    sandbox.colony(&["init"]);
    assert_eq!(names(&shared), Vec::<String>::new());
    sandbox.colony(&["deinit", "--purge"]);
    assert!(is_link(&sandbox.path(".git/hooks")));
    assert_eq!(names(&shared), Vec::<String>::new());
    assert_eq!(sandbox.read(".git/config"), config);
}

#[test]
fn deinit_completes_where_the_hooks_folder_has_become_a_link() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init"]);
    let shared = sandbox.outside().join("shared");
    fs::rename(sandbox.path(".git/hooks"), &shared).unwrap();
    symlink(&shared, sandbox.path(".git/hooks")).unwrap();
    let before = names(&shared);
    assert!(before.contains(&"pre-push".to_owned()), "{before:?}");
    let run = sandbox.run(&["deinit"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("stay"), "{}", run.stderr);
    assert_eq!(names(&shared), before);
    assert!(is_link(&sandbox.path(".git/hooks")));
    assert!(!sandbox.try_git(&["config", "--get-regexp", "^(filter|merge)\\."]));
    assert_eq!(sandbox.run(&["deinit"]).code, 0);
}

#[test]
fn a_linked_hooks_folder_inside_the_git_directory_is_our_own() {
    let sandbox = Sandbox::new();
    let real = sandbox.path(".git/real");
    fs::create_dir(&real).unwrap();
    if sandbox.path(".git/hooks").exists() {
        sandbox.remove(".git/hooks");
    }
    symlink("real", sandbox.path(".git/hooks")).unwrap();
    sandbox.colony(&["init"]);
    assert!(names(&real).contains(&"pre-push".to_owned()));
    sandbox.colony(&["deinit"]);
    assert_eq!(names(&real), Vec::<String>::new());
    assert!(is_link(&sandbox.path(".git/hooks")));
    assert_eq!(sandbox.run(&["deinit"]).code, 0);
}

#[test]
fn a_folder_in_place_of_a_hook_comes_back_as_it_was() {
    let sandbox = Sandbox::new();
    let hook = sandbox.path(".git/hooks/pre-push");
    fs::create_dir_all(&hook).unwrap();
    fs::write(hook.join("notes"), "mine\n").unwrap();
    let hooks = sandbox.path(".git/hooks");
    let before = names(&hooks);
    sandbox.colony(&["hooks", "install"]);
    assert!(fs::metadata(&hook).unwrap().is_file());
    sandbox.colony(&["hooks", "uninstall"]);
    assert_eq!(names(&hooks), before);
    assert_eq!(fs::read_to_string(hook.join("notes")).unwrap(), "mine\n");
    assert_eq!(sandbox.error(&["init"]), "hooks-in-the-way");
    sandbox.colony(&["hooks", "install"]);
    sandbox.colony(&["init"]);
    sandbox.colony(&["deinit"]);
    assert_eq!(names(&hooks), before);
    assert_eq!(fs::read_to_string(hook.join("notes")).unwrap(), "mine\n");
}
