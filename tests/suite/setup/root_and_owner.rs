//! Root in the repository of another user: what reads works, and no file of root is left behind.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Sandbox, View, program_path};

/// The user nobody.
pub(crate) const OWNER: &str = "65534";

/// Changes, and what writes caches.
const COMMANDS: [&[&str]; 29] = [
    &["status"],
    &["fleet"],
    &["search", "words"],
    &["context", "words"],
    &["checkpoints"],
    &["checkpoint", "-m", "kept"],
    &["checkpoint", "--auto"],
    &["commit", "-m", "more", "--all"],
    &["restore", "HEAD"],
    &["undo"],
    &["fork", "try"],
    &["merge", "other"],
    &["cherry-pick", "other"],
    &["agents", "new", "ada"],
    &["map"],
    &["hooks", "install"],
    &["init"],
    &["prune"],
    &["memory", "add", "a note"],
    &["hook", "post-commit"],
    &["hook", "pre-commit"],
    &["hook", "post-merge"],
    &["hook", "claude-code"],
    &["tag", "-m", "kept"],
    &["decide", "-m", "so it is"],
    &["session", "new"],
    &["clones", "gc"],
    &["index", "--refresh"],
    &["memory", "add", "--long", "a note"],
];

/// The view of a user who trusts every repository.
pub(crate) fn trusting(sandbox: &Sandbox) -> View {
    let settings = sandbox.outside().join("settings");
    let text = "[user]\nname = Ada\nemail = ada@example.com\n[safe]\ndirectory = *\n";
    fs::write(&settings, text).unwrap();
    sandbox.with("GIT_CONFIG_GLOBAL", settings)
}

#[test]
fn root_leaves_no_file_in_the_repository_of_another_user() {
    let sandbox = Sandbox::new();
    sandbox.git(&["branch", "other"]);
    let root = sandbox.path(".");
    let chown = |user: &str| sandbox.process("chown").args(["-R", user]).arg(&root).status();
    if !chown(OWNER).unwrap().success() {
        // Only root gives files away.
        return;
    }
    let safe = trusting(&sandbox);
    sandbox.write("a.txt", "edited\n");
    sandbox.process("chown").arg(OWNER).arg(root.join("a.txt")).status().unwrap();
    let mut refused = 0;
    for args in COMMANDS {
        let run = safe.program().arg("--json").args(args).stdin(Stdio::null()).output().unwrap();
        let told = String::from_utf8([run.stdout, run.stderr].concat()).unwrap();
        if told.contains("untrusted-repository") {
            assert!(told.contains(&format!("sudo -u '#{OWNER}'")), "{args:?}: {told}");
            refused += 1;
        }
        let ours = sandbox.process("find").arg(&root).args(["!", "-user", OWNER]).output();
        let ours = String::from_utf8(ours.unwrap().stdout).unwrap();
        assert_eq!(ours, "", "{args:?}: {told}");
        assert!(matches!(run.status.code(), Some(0 | 1 | 128)), "{args:?}: {told}");
    }
    assert!(refused >= 16, "{refused}");
    chown("0").unwrap();
    assert!(safe.program().args(["checkpoint", "-m", "kept"]).status().unwrap().success());
}

/// What looks at the work of agents.
const READING: [&[&str]; 9] = [
    &["agents"],
    &["agents", "show", "ada"],
    &["diff", "ada"],
    &["diff", "ada@"],
    &["log", "ada"],
    &["merge", "-n", "ada"],
    &["fleet"],
    &["forks"],
    &["doctor"],
];

#[test]
fn root_learns_as_whom_to_look_at_the_colony_of_another_user() {
    let sandbox = Sandbox::new();
    let ada = crate::agents::new_and_merge::agent(&sandbox, "ada");
    crate::agents::new_and_merge::commit(&ada, "ada.txt", "of ada\n");
    let chown = sandbox.process("chown").args(["-R", OWNER]).arg(sandbox.outside()).status();
    if !chown.unwrap().success() {
        // Only root gives files away.
        return;
    }
    let safe = trusting(&sandbox);
    for args in READING {
        let run = safe.program().args(args).stdin(Stdio::null()).output().unwrap();
        let told = String::from_utf8([run.stdout, run.stderr].concat()).unwrap();
        let hint = format!("sudo -u '#{OWNER}' git colony");
        assert!(told.contains(&hint), "{args:?}: {told}");
        for other in ["considered unsafe", "fsck", "backup", "git colony doctor"] {
            assert!(!told.contains(other), "{args:?}: {told}");
        }
    }
}

#[test]
fn doctor_finds_each_place_that_refuses_the_owner() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["agents", "new", "ada"]);
    sandbox.write("a.txt", "edited\n");
    sandbox.colony(&["checkpoint", "-m", "first"]);
    let outside = sandbox.outside();
    let chown = |user: &str, path: &Path| {
        sandbox.process("chown").args(["-R", user]).arg(path).status().unwrap().success()
    };
    if !chown(OWNER, &outside) {
        // Only root gives files away.
        return;
    }
    let safe = trusting(&sandbox);
    let program = outside.join("git-colony-of-owner");
    // By another process: what this one has open for writing, no child of another test may run.
    let copied = sandbox.process("cp").arg(program_path()).arg(&program).status();
    assert!(copied.unwrap().success());
    let as_owner = |args: &[&str]| -> (Option<i32>, Value) {
        let mut run = safe.process("setpriv");
        run.args(["--reuid", OWNER, "--regid", OWNER, "--clear-groups"]).arg(&program);
        let done = run.args(args).output().unwrap();
        (done.status.code(), serde_json::from_slice(&done.stdout).unwrap_or_default())
    };
    let writing = || {
        let (_, told) = as_owner(&["--json", "doctor"]);
        let checks = told["checks"].as_array().unwrap_or_else(|| panic!("{told:#}")).clone();
        checks.into_iter().find(|check| check["name"] == "writing").unwrap()
    };
    assert_eq!(writing()["ok"], true, "{:#}", writing());
    let hub = crate::agents::new_and_merge::hub(&sandbox);
    let git = sandbox.path(".git");
    for place in [
        sandbox.path("."),
        git.clone(),
        git.join("objects"),
        git.join("refs/heads"),
        git.join("colony"),
        git.join("colony/lock"),
        hub.clone(),
        hub.join("objects"),
        hub.join("colony"),
    ] {
        assert!(place.exists(), "{}", place.display());
        // A file or folder of root, as one of its commands leaves it.
        let one = |user: &str| sandbox.process("chown").arg(user).arg(&place).status().unwrap();
        one("0");
        let told = writing();
        assert_eq!(told["ok"], false, "{}: {told:#}", place.display());
        assert!(told["fix"].as_str().unwrap().starts_with("sudo chown"), "{told:#}");
        one(OWNER);
    }
    assert_eq!(writing()["ok"], true, "{:#}", writing());
    assert_eq!(as_owner(&["--json", "checkpoint", "-m", "kept"]).0, Some(0));
}
