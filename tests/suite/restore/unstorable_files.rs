//! Files that cannot be stored: a restore never says that all is as it was without having looked.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Sandbox, program_path};

/// The user whom nothing belongs to.
const NOBODY: u32 = 65_534;

fn kept() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "c0"]);
    sandbox
}

#[test]
fn a_restore_moves_aside_what_cannot_be_stored() {
    let sandbox = kept();
    sandbox.write(".git/info/attributes", "x filter=broken\n");
    sandbox.git(&["config", "filter.broken.clean", "false"]);
    sandbox.git(&["config", "filter.broken.required", "true"]);
    sandbox.write("x", "mine\n");
    let dry = sandbox.json(&["restore", "c0", "-n"]);
    assert_eq!(dry["files"]["removed"], 1, "{dry:#}");
    assert!(sandbox.path("x").exists());
    let answer = sandbox.json(&["restore", "c0"]);
    assert_eq!(answer["ignored_kept"], json!(["x"]), "{answer:#}");
    assert!(!sandbox.path("x").exists());
    let again = sandbox.json(&["restore", "c0"]);
    assert_eq!(again["message"], "'c0' is already the current state");
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.read("x"), "mine\n");
    sandbox.check_invariants();
}

#[test]
fn a_tracked_file_that_cannot_be_stored_gives_way_too() {
    let sandbox = kept();
    sandbox.write("x", "tracked since\n");
    sandbox.git(&["add", "x"]);
    sandbox.write(".git/info/attributes", "x filter=broken\n");
    sandbox.git(&["config", "filter.broken.clean", "false"]);
    sandbox.git(&["config", "filter.broken.required", "true"]);
    sandbox.write("x", "edited\n");
    sandbox.colony(&["restore", "c0"]);
    assert!(!sandbox.path("x").exists());
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.read("x"), "edited\n");
    sandbox.check_invariants();
}

/// Runs the program as a user who may not read everything; returns its answer.
fn as_ordinary_user(sandbox: &Sandbox, args: &[&str]) -> Value {
    // Root alone could have given it away.
    let owner = fs::metadata(sandbox.outside()).unwrap().uid();
    let is_root = [0, NOBODY].contains(&owner);
    let program = sandbox.outside().join("git-colony");
    if !program.exists() {
        // A copy of our own could be open in what another test forks.
        let mut copy = Command::new("cp");
        copy.arg(program_path());
        assert!(copy.arg(&program).status().unwrap().success());
    }
    let mut command = if is_root {
        give_away(&sandbox.outside());
        let mut command = sandbox.process("setpriv");
        let nobody = NOBODY.to_string();
        command.args(["--reuid", &nobody, "--regid", &nobody, "--clear-groups"]);
        command.arg(&program);
        command
    } else {
        sandbox.process(&program)
    };
    command.arg("--json").args(args);
    let output = command.output().unwrap();
    let answer = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&answer).unwrap_or_else(|e| panic!("{e}: {output:?}"))
}

/// Gives a folder with all below it to the user whom nothing belongs to.
fn give_away(path: &Path) {
    let metadata = fs::symlink_metadata(path).unwrap();
    lchown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if metadata.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give_away(&entry.unwrap().path());
        }
    }
}

#[test]
fn a_file_that_may_not_be_read_is_moved_aside_unread() {
    let sandbox = kept();
    sandbox.write("x", "mine\n");
    sandbox.set_mode("x", 0);
    let answer = as_ordinary_user(&sandbox, &["restore", "c0"]);
    assert_eq!(answer["ok"], true, "{answer:#}");
    assert_eq!(answer["ignored_kept"], json!(["x"]), "{answer:#}");
    assert!(!sandbox.path("x").exists());
    let answer = as_ordinary_user(&sandbox, &["undo"]);
    assert_eq!(answer["ok"], true, "{answer:#}");
    let mode = fs::metadata(sandbox.path("x")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0);
    sandbox.set_mode("x", 0o644);
    assert_eq!(sandbox.read("x"), "mine\n");
}
