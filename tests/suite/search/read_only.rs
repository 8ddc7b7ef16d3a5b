//! Questions in a repository that cannot be written: nothing is a dead end, and what an answer needs is made once.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::Sandbox;

/// Runs lines of a shell in a namespace in which the repository cannot be written; `colony` is the program.
fn in_read_only(desk: &Sandbox, script: &str) -> std::process::Output {
    let all = format!(
        "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" && cd \"$1\" && \
         ! touch .git/x 2>/dev/null || exit 9\ncolony() {{ \"$2\" \"$@\"; }}\n{script}"
    );
    let all = all.replace("\"$2\"", &format!("'{}'", env!("CARGO_BIN_EXE_git-colony")));
    let mut unshare = desk.process("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "sh", "-c", &all, "sh"]);
    unshare.arg(&desk.root).current_dir("/").output().unwrap()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            found.extend(files_below(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

#[cfg(target_os = "linux")]
#[test]
fn a_question_of_what_cannot_be_written_keeps_its_index() {
    let desk = Sandbox::new();
    desk.write("src/lib.rs", "fn zebra_crossing() {}\n");
    let resource = "{ id = \"code\", type = \"git-checkout\", location = \"src\" }";
    let plan =
        format!("[projects.app]\nresources = [{resource}]\n[plans.all]\nprojects = [\"app\"]\n");
    desk.write(".colony/colony.toml", plan);
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "files"]);
    let before = files_below(&desk.path(".git"));
    for script in [
        "colony search zebra_crossing",
        "colony search zebra_crossing",
        "colony context zebra_crossing",
        "colony context --plan all zebra_crossing",
    ] {
        let output = in_read_only(&desk, script);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let warned = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script} {warned}");
        assert!(said.contains("src/lib.rs"), "{script} {said} {warned}");
        assert!(!warned.contains("warning"), "{warned}");
    }
    assert_eq!(files_below(&desk.path(".git")), before);
    let kept = files_below(&desk.outside().join("home/.cache/git-colony/repositories"));
    assert!(kept.iter().any(|path| path.ends_with("search-1.db")), "{kept:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_plan_is_hydrated_for_an_answer_where_nothing_is_kept() {
    let desk = Sandbox::new();
    desk.write("src/lib.rs", "fn zebra_crossing() {}\n");
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "files"]);
    drop(desk.json(&["context", "--plan", "default", "zebra_crossing"]));
    desk.write("src/lib.rs", "fn zebra_crossing() { later(); }\n");
    let state = fs::read(desk.path(".git/colony/state/1.db")).unwrap();
    let output = in_read_only(&desk, "colony context --plan default zebra_crossing");
    let warned = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{warned}");
    assert!(!warned.contains("warning"), "{warned}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("later()"));
    assert_eq!(fs::read(desk.path(".git/colony/state/1.db")).unwrap(), state);
    fs::remove_file(desk.path(".git/colony/state/1.db")).unwrap();
    let output = in_read_only(&desk, "colony context --plan default zebra_crossing");
    assert!(String::from_utf8_lossy(&output.stdout).contains("later()"));
    let output = in_read_only(&desk, "colony context hydrate");
    assert_eq!(output.status.code(), Some(128));
}
