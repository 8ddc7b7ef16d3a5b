//! What a migration to git-lfs tells, and what it leaves behind in the way of notes: counts, the index,
//! commits that somebody noted elsewhere.

use std::collections::BTreeSet;

use crate::support::Sandbox;

use super::rewrite::{POINTER, grown, grown_with_origin, with_origin};

#[test]
fn the_files_of_head_that_move_to_git_lfs_are_counted() {
    let (sandbox, _) = grown_with_origin();
    let dry = sandbox.json(&["lfs", "migrate", "-n"]);
    assert_eq!(dry["files"], 2, "{dry:#}");
    let real = sandbox.json(&["lfs", "migrate", "--no-push"]);
    assert_eq!(real["files"], 2, "{real:#}");
    assert_eq!(sandbox.json(&["lfs", "migrate", "--push"])["files"], 0);
}

#[test]
fn a_migration_says_that_ids_of_scopes_and_pages_change() {
    let sandbox = grown();
    let is_said = |args: &[&str]| {
        let notes = sandbox.json(&[&["lfs", "migrate"], args].concat())["notes"].to_string();
        notes.contains("scope ids that begin with a commit change")
    };
    assert!(!is_said(&["-n"]), "nothing is mapped");
    let ids = || -> BTreeSet<String> {
        sandbox.json(&["map"]);
        let pages = sandbox.json(&["pages"])["pages"].as_array().unwrap().clone();
        let id = |name: &str| pages[0][name].as_str().unwrap().to_owned();
        BTreeSet::from([id("scope_id"), id("page_id")])
    };
    let before = ids();
    assert!(is_said(&["-n"]));
    assert!(is_said(&["--no-push"]));
    assert_eq!(before.intersection(&ids()).count(), 0);
}

#[test]
fn who_wants_to_hear_nothing_hears_nothing() {
    let said = |flags: &[&str]| {
        let sandbox = grown();
        let run = sandbox.run(&[flags, &["lfs", "migrate", "--push"]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.stderr
    };
    assert_eq!(said(&["--quiet"]), "");
    assert_eq!(said(&["--no-progress"]), "");
    assert!(said(&[]).contains("rewriting history"));
}

#[test]
fn no_file_looks_modified_after_a_migration_was_taken_back() {
    let sandbox = grown();
    // The attributes file at the root is another one in the new history.
    sandbox.write("lit/.gitattributes", "*.dat filter=lfs diff=lfs merge=lfs -text\n");
    sandbox.git(&["add", "lit"]);
    sandbox.git(&["commit", "-qm", "attributes of a directory"]);
    sandbox.colony(&["lfs", "migrate", "--push"]);
    assert!(sandbox.read(".gitattributes").contains("lit/"));
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.git_any(&["diff-files", "--name-only"]), "");
    assert_eq!(sandbox.git_any(&["diff-index", "--name-only", "HEAD"]), "");
    sandbox.check_invariants_of_git();
}

/// A repository whose large files nobody has given to git-lfs yet.
fn without_patterns() -> Sandbox {
    let sandbox = grown();
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    with_origin(&sandbox);
    sandbox
}

#[test]
fn a_dry_run_of_init_tells_of_the_migration() {
    let sandbox = without_patterns();
    let plain = sandbox.colony(&["init", "-n"]);
    assert!(!plain.contains("rewrite"), "{plain}");
    let before = (sandbox.refs(), sandbox.visible_state());
    let told = sandbox.colony(&["init", "-n", "--migrate-existing-to-lfs"]);
    for words in [
        "would commit 4 files",
        "would rewrite the history of 5 refs; 2 files of HEAD would go to git-lfs",
        "a push would replace main on origin (file://",
        "attention: every commit that is rewritten gets another id",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(!told.contains("stay as they are"), "{told}");
    let pushed = sandbox.json(&["init", "-n", "--migrate-existing-to-lfs", "--push"]);
    let outlook = pushed["would_migrate"].to_string();
    assert!(outlook.contains("\"would replace main on origin"), "{outlook}");
    assert_eq!((sandbox.refs(), sandbox.visible_state()), before);
    sandbox.colony(&["init", "--push", "--migrate-existing-to-lfs"]);
    let again = sandbox.json(&["init", "-n", "--migrate-existing-to-lfs"]);
    assert_eq!(again["would_migrate"], serde_json::json!(["git-lfs has every large file already"]));
}

#[test]
fn a_clone_of_a_colony_begins_at_what_its_commit_has_become() {
    let (sandbox, bare) = grown_with_origin();
    let url = format!("file://{}", bare.display());
    let noted = sandbox.git(&["rev-parse", "main~1"]);
    let elsewhere = Sandbox::new();
    let set = ["colony", "set", "default", &url, "--commit", &noted, "--branch", "main"];
    elsewhere.colony(&set);
    let outside = elsewhere.at(elsewhere.outside());
    // Who has a clone from before has the old history, too.
    let before = outside.json(&["clone", "--read-only", "--scope", "before"]);
    assert_eq!(before["commit"], noted, "{before:#}");
    sandbox.colony(&["lfs", "migrate", "--push"]);
    let after = outside.json(&["clone", "--agent", "ada"]);
    assert_eq!(after["commit"], sandbox.git(&["rev-parse", "main~1"]), "{after:#}");
    let ada = elsewhere.at(after["path"].as_str().unwrap().into());
    assert!(ada.git(&["show", "HEAD:paper.pdf"]).starts_with(POINTER));
    let shown = elsewhere.json(&["colony", "show"]);
    assert_eq!(shown["commit"], noted, "{shown:#}");
}

#[test]
fn taking_out_what_keeps_large_files_says_so_beforehand() {
    let sandbox = grown();
    sandbox.write("paper.pdf", "beside\n");
    sandbox.colony(&["checkpoint", "-m", "beside", "--off-branch"]);
    sandbox.git(&["checkout", "-q", "--", "paper.pdf"]);
    sandbox.colony(&["lfs", "migrate", "--push"]);
    let line = "from 'git lfs prune'";
    let dry = sandbox.json(&["deinit", "--purge", "-n"]);
    assert!(dry["removed"].to_string().contains(line), "{dry:#}");
    let plain = sandbox.json(&["deinit", "-n"]);
    assert!(!plain.to_string().contains(line), "{plain:#}");
}
