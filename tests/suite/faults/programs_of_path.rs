//! Which file a name of a program stands for: never one of the repository, and never one that cannot be run.

use std::fs;
use std::path::Path;

use crate::support::{Sandbox, View};

const READING: &[&[&str]] = &[
    &["status"],
    &["diff"],
    &["doctor"],
    &["merge", "-n", "side"],
    &["lfs", "status"],
    &["init", "-n"],
];
const CHANGING: &[&[&str]] = &[&["checkpoint", "-m", "one"], &["merge", "side"], &["undo"]];

/// Makes files with the names of programs that leave a mark when they are run.
fn plant(sandbox: &Sandbox, folder: &str, mark: &Path) {
    for name in ["git", "sh", "cat", "git-lfs"] {
        let text = format!("#!/bin/sh\necho \"$0\" >>'{}'\nexit 3\n", mark.display());
        sandbox.write_program(&format!("{folder}{name}"), text);
    }
}

fn with_first(sandbox: &Sandbox, folder: &str) -> View {
    let path = sandbox.git(&["--exec-path"]);
    let rest = std::env::var("PATH").unwrap();
    // git prefers its own folder for its commands, and the test is about what this program starts.
    sandbox.with("PATH", format!("{folder}:{rest}")).with("GIT_EXEC_PATH", path)
}

#[test]
fn no_program_is_taken_from_the_current_folder() {
    for (folder, first) in [("", ""), ("", "."), ("tools/", "tools"), ("tools/", "./tools")] {
        let sandbox = Sandbox::new();
        sandbox.git(&["branch", "side"]);
        let mark = sandbox.outside().join("mark");
        plant(&sandbox, folder, &mark);
        let view = with_first(&sandbox, first);
        for args in READING.iter().chain(CHANGING) {
            let run = view.run(args);
            assert!(!mark.exists(), "{first:?} {args:?}: {}", fs::read_to_string(mark).unwrap());
            assert!(run.code < 2, "{first:?} {args:?}: {}", run.stderr);
        }
    }
}

#[test]
fn a_file_that_cannot_be_run_hides_no_program() {
    let sandbox = Sandbox::new();
    sandbox.git(&["branch", "side"]);
    let odd = sandbox.outside().join("odd");
    fs::create_dir_all(odd.join("git")).unwrap();
    fs::write(odd.join("sh"), "no program\n").unwrap();
    let view = sandbox.with_path(&odd);
    for args in READING.iter().chain(CHANGING) {
        assert!(view.run(args).code < 2, "{args:?}");
    }
}

#[test]
fn without_an_absolute_folder_that_has_git_none_is_run() {
    for path in ["tools", "./tools", ":", "", "tools:/empty", "/empty"] {
        let sandbox = Sandbox::new();
        sandbox.git(&["branch", "side"]);
        sandbox.json(&["checkpoint", "-m", "first"]);
        let mark = sandbox.outside().join("mark");
        plant(&sandbox, "tools/", &mark);
        plant(&sandbox, "", &mark);
        let view = sandbox.with("PATH", path);
        for args in READING.iter().chain(CHANGING) {
            let run = view.run(args);
            assert!(!mark.exists(), "{path:?} {args:?}: {}", fs::read_to_string(mark).unwrap());
            // What asks no git goes on.
            let is_told = run.code < 2 || run.stderr.contains("cannot start git");
            assert!(is_told, "{path:?} {args:?}: {} {}", run.code, run.stderr);
        }
    }
}
