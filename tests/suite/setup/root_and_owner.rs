//! Root in the repository of another user: what reads works, and no file of root is left behind.

use std::fs;
use std::process::Stdio;

use crate::support::{Sandbox, View};

/// The user nobody.
const OWNER: &str = "65534";

/// Changes, and what writes caches.
const COMMANDS: [&[&str]; 27] = [
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
    assert!(refused >= 14, "{refused}");
    chown("0").unwrap();
    assert!(safe.program().args(["checkpoint", "-m", "kept"]).status().unwrap().success());
}
