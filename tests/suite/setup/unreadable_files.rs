//! What doctor reports where the user may not read what commands depend on.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::support::{Sandbox, program_path};

use super::root_and_owner::{OWNER, trusting};

/// Files and folders in the git directory.
const PLACES: [&str; 11] = [
    "HEAD",
    "index",
    "config",
    "packed-refs",
    "refs/heads/main",
    "refs/heads",
    "refs/tags/v1",
    "objects",
    "objects/pack",
    "colony/membership.json",
    "colony/worktree-key",
];

#[test]
fn doctor_reports_each_place_that_cannot_be_read() {
    let sandbox = Sandbox::new();
    sandbox.git(&["tag", "v0"]);
    sandbox.git(&["pack-refs", "--all"]);
    sandbox.colony(&["agents", "new", "ada"]);
    sandbox.git(&["tag", "v1"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "a loose ref"]);
    sandbox.write("a.txt", "edited\n");
    sandbox.colony(&["checkpoint", "-m", "first"]);
    let outside = sandbox.outside();
    let safe = trusting(&sandbox);
    let program = outside.join("git-colony-of-owner");
    // By another process: what this one has open for writing, no child of another test may run.
    let copied = sandbox.process("cp").arg(program_path()).arg(&program).status();
    assert!(copied.unwrap().success());
    // Root reads everything: there another user owns it all, and asks.
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        let chown = sandbox.process("chown").args(["-R", OWNER]).arg(&outside).status();
        assert!(chown.unwrap().success());
    }
    let doctor = || -> (Option<i32>, Value) {
        let mut run = if is_root {
            let mut run = safe.process("setpriv");
            run.args(["--reuid", OWNER, "--regid", OWNER, "--clear-groups"]).arg(&program);
            run
        } else {
            safe.process(&program)
        };
        let done = run.args(["--json", "doctor"]).output().unwrap();
        (done.status.code(), serde_json::from_slice(&done.stdout).unwrap_or_default())
    };
    assert_eq!(doctor().0, Some(0), "{:#}", doctor().1);
    for place in PLACES {
        let path = sandbox.path(".git").join(place);
        let mode = fs::metadata(&path).unwrap_or_else(|_| panic!("{place}")).permissions();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).unwrap();
        let (code, report) = doctor();
        fs::set_permissions(&path, mode).unwrap();
        let checks = report["checks"].as_array().unwrap_or_else(|| panic!("{place}: {report:#}"));
        let found = checks.iter().find(|check| check["name"] == "reading");
        let found = found.unwrap_or_else(|| panic!("{place}: {report:#}"));
        assert_eq!((code, &found["ok"]), (Some(1), &Value::Bool(false)), "{place}");
        let shown = path.display().to_string();
        assert!(found["detail"].as_str().unwrap().contains(&shown), "{place}: {found:#}");
        assert!(found["fix"].as_str().unwrap().starts_with("chmod u+rX "), "{place}: {found:#}");
    }
    assert_eq!(doctor().0, Some(0), "{:#}", doctor().1);
}
