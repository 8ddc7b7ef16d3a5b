//! The first question of a repository: answered in part while a process builds the index, and whole afterwards.

use std::fs;

use serde_json::Value;

use crate::support::{Sandbox, View, eventually};

use super::{output, paths};

/// The lock of the process that builds.
const LOCK: &str = ".git/colony/cache/build.lock";

const INDEX: &str = ".git/colony/cache/search-1.db";

/// A repository that nobody has mapped, and the same asked without waiting for its index.
fn unmapped() -> (Sandbox, View) {
    let sandbox = Sandbox::new();
    for number in 0..20 {
        let text = format!("fn item_{number}() {{ call(); }}\n");
        sandbox.write(&format!("src/part/{number}.rs"), text);
    }
    sandbox.write("src/tide.rs", "fn quiescence() {}\n");
    sandbox.write("docs/quiescence.md", "# Rest\n");
    sandbox.write("image.bin", b"quiescence\0");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "more"]);
    let hasty = sandbox.with("COLONY_FIRST_ANSWER_TIME", "0");
    (sandbox, hasty)
}

/// Asks until the answer is whole.
pub(super) fn whole(view: &View, args: &[&str]) -> Value {
    let mut told = Value::Null;
    eventually("the index is built", || {
        told = view.json_apart(args);
        told["partial"] == false
    });
    told
}

/// An answer without what depends on who has built the index.
fn comparable(mut told: Value) -> Value {
    told["indexed"].take();
    told
}

#[test]
fn a_hasty_question_is_answered_in_part_and_then_whole() {
    let (_sandbox, hasty) = unmapped();
    let told = hasty.json_apart(&["search", "quiescence"]);
    assert_eq!((&told["partial"], &told["building"]), (&true.into(), &true.into()), "{told:#}");
    let mut found = paths(&told, "hits");
    found.sort();
    assert_eq!(found, ["docs/quiescence.md", "src/tide.rs"]);
    let told = whole(&hasty, &["search", "quiescence"]);
    assert_eq!((&told["building"], &told["indexed"]), (&false.into(), &0.into()));
    assert_eq!(paths(&told, "hits").len(), 2);
    let told = hasty.json_apart(&["context", "--question", "quiescence"]);
    assert_eq!((&told["partial"], &told["indexed"]), (&false.into(), &0.into()));
    assert_eq!(hasty.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_partial_context_has_the_files_that_match() {
    let (_sandbox, hasty) = unmapped();
    let told = hasty.json_apart(&["context", "--question", "quiescence"]);
    assert_eq!(told["partial"], true, "{told:#}");
    assert!(told["text"].as_str().unwrap().contains("fn quiescence()"), "{told:#}");
    let told = hasty.json_apart(&["context", "--", "src/tide.rs"]);
    assert!(paths(&told, "parts").contains(&"src/tide.rs".to_owned()), "{told:#}");
    whole(&hasty, &["search", "quiescence"]);
}

#[test]
fn people_read_that_an_answer_is_partial() {
    let (_sandbox, hasty) = unmapped();
    let run = hasty.program().args(["search", "quiescence"]).output().unwrap();
    let noted = String::from_utf8(run.stderr).unwrap();
    assert_eq!(noted.matches("still being built").count(), 1, "{noted}");
    whole(&hasty, &["search", "quiescence"]);
}

#[test]
fn the_index_is_the_same_whoever_builds_it() {
    let (sandbox, hasty) = unmapped();
    let questions = [["search", "quiescence"], ["search", "item call part"]];
    whole(&hasty, &questions[0]);
    let built = questions.map(|args| comparable(hasty.json_apart(&args)));
    fs::remove_dir_all(sandbox.path(".git/colony/cache")).unwrap();
    let patient = sandbox.with("COLONY_FIRST_ANSWER_TIME", "");
    let own = questions.map(|args| comparable(patient.json_apart(&args)));
    assert_eq!(built, own);
}

#[test]
fn first_questions_at_once_build_once() {
    let (sandbox, hasty) = unmapped();
    let held = fs::create_dir_all(sandbox.path(".git/colony/cache"))
        .and_then(|()| fs::File::create(sandbox.path(LOCK)))
        .unwrap();
    held.lock().unwrap();
    // While another process builds, no question starts one or builds itself.
    for _ in 0..2 {
        assert_eq!(hasty.json_apart(&["search", "quiescence"])["building"], true);
    }
    let builder = sandbox.program().args(["search", "--build", "HEAD"]).output().unwrap();
    assert!(builder.status.success());
    assert_eq!(hasty.json_apart(&["search", "quiescence"])["partial"], true);
    drop(held);
    whole(&hasty, &["search", "quiescence"]);
}

#[test]
fn a_builder_that_was_killed_is_followed_by_another() {
    let (sandbox, hasty) = unmapped();
    let mut builder = sandbox.program().args(["search", "--build", "HEAD"]).spawn().unwrap();
    eventually("the builder has begun", || {
        sandbox.path(INDEX).exists() || builder.try_wait().unwrap().is_some()
    });
    builder.kill().unwrap();
    builder.wait().unwrap();
    let told = whole(&hasty, &["search", "quiescence"]);
    assert_eq!(paths(&told, "hits").len(), 2);
}

#[test]
fn where_nothing_can_be_kept_nothing_is_built() {
    let (sandbox, hasty) = unmapped();
    // A file in its place: root writes into folders without the right to.
    sandbox.write(".git/colony/cache", "");
    for _ in 0..2 {
        let told = hasty.json_apart(&["search", "quiescence"]);
        assert_eq!((&told["partial"], &told["building"]), (&true.into(), &false.into()));
        assert_eq!(paths(&told, "hits").len(), 2);
    }
    assert_eq!(fs::read(sandbox.path(".git/colony/cache")).unwrap(), b"");
    let patient = sandbox.with("COLONY_FIRST_ANSWER_TIME", "");
    assert_eq!(patient.json_apart(&["search", "quiescence"])["partial"], false);
}

#[test]
fn a_partial_answer_writes_nothing_for_another_user() {
    let (sandbox, hasty) = unmapped();
    let root = sandbox.path(".");
    if !sandbox.process("chown").args(["-R", "65534"]).arg(&root).status().unwrap().success() {
        // Only root gives files away.
        return;
    }
    // The global configuration of a test is a device, which git would replace.
    let safe = hasty
        .with("GIT_CONFIG_COUNT", "1")
        .with("GIT_CONFIG_KEY_0", "safe.directory")
        .with("GIT_CONFIG_VALUE_0", "*");
    let told = safe.run(&["--json", "search", "quiescence"]);
    assert!(told.code == 128 || told.stdout.contains("\"building\":false"), "{}", output(&told));
    let ours =
        sandbox.process("find").arg(root.join(".git")).args(["!", "-user", "65534"]).output();
    assert_eq!(String::from_utf8(ours.unwrap().stdout).unwrap(), "");
}

#[test]
fn a_mapped_repository_is_not_asked_in_part() {
    let (sandbox, hasty) = unmapped();
    sandbox.colony(&["map"]);
    sandbox.colony(&["search", "quiescence"]);
    sandbox.write("src/new.rs", "fn quiescence() {}\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "even more"]);
    let told = hasty.json_apart(&["search", "quiescence"]);
    assert_eq!((&told["partial"], paths(&told, "hits").len()), (&false.into(), 3));
}
