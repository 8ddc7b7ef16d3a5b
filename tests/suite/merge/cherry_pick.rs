//! Picks: all or none, as git makes them, with author and origin kept.

use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::fixture::Fixture;

/// A repository whose branch `side` has three commits that `main` has not; HEAD is on `main`.
fn sided() -> Sandbox {
    SIDED.copy()
}

static SIDED: Fixture = Fixture::new(|| {
    let sandbox = Sandbox::new();
    sandbox.write("list.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "base"]);
    sandbox.git(&["switch", "-q", "-c", "side"]);
    let commits: [(&str, &str, &str); 3] = [
        ("list.txt", "1 side\n2\n3\n4\n5\n6\n7\n8\n9\n", "first of the side"),
        ("new.txt", "new\n", "second of the side\n\nWith a body.\n\nReviewed-by: Bob"),
        ("list.txt", "1 side\n2\n3\n4\n5\n6\n7\n8\n9 side\n", "third of the side"),
    ];
    for (path, content, message) in commits {
        sandbox.write(path, content);
        sandbox.git(&["add", "-A"]);
        let author = "--author=Zoe <zoe@example.com>";
        sandbox.git(&["commit", "-q", author, "--date=2001-02-03T04:05:06+0700", "-m", message]);
    }
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.write("main.txt", "main\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "of main"]);
    sandbox
});

fn id(sandbox: &Sandbox, revision: &str) -> String {
    sandbox.git(&["rev-parse", revision])
}

#[test]
fn copies_of_what_these_tests_begin_with_are_whole() {
    SIDED.check();
}

#[test]
fn picks_are_those_git_makes() {
    let sandbox = sided();
    let before = sandbox.visible_state();
    let referee = sandbox.copy("referee");
    referee.git(&["cherry-pick", "-x", "main..side"]);
    let answer = sandbox.json(&["cherry-pick", "main..side"]);
    assert_eq!(answer["picked"].as_array().unwrap().len(), 3);
    assert_eq!(answer["into"], "main");
    let said = ["log", "-3", "--format=%T %an %ae %ad %cn%n%B", "--date=iso"];
    assert_eq!(sandbox.git(&said), referee.git(&said));
    assert_eq!(sandbox.worktree(), referee.worktree());
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert_eq!(answer["commit"], json!(id(&sandbox, "main")));
    let from: Vec<_> =
        answer["picked"].as_array().unwrap().iter().map(|p| p["from"].clone()).collect();
    let expected = ["side~2", "side~1", "side"].map(|revision| json!(id(&sandbox, revision)));
    assert_eq!(from, expected);
    sandbox.check_invariants();
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.visible_state(), before);
}

#[test]
fn the_committer_is_who_picks() {
    let sandbox = sided();
    sandbox.colony(&["--agent", "ada", "cherry-pick", "side~1"]);
    let said = sandbox.git(&["log", "-1", "--format=%an|%cn|%s"]);
    assert_eq!(said, "Zoe|agent:ada:agent|second of the side");
}

#[test]
fn what_is_there_already_is_skipped_and_said() {
    let sandbox = sided();
    sandbox.colony(&["cherry-pick", "side~1"]);
    let answer = sandbox.json(&["cherry-pick", "side~1"]);
    assert_eq!(answer["picked"], json!([]));
    assert_eq!(answer["skipped"], json!([id(&sandbox, "side~1")]));
    assert_eq!(answer["op"], Value::Null);
    let answer = sandbox.json(&["cherry-pick", "main..side"]);
    assert_eq!(answer["picked"].as_array().unwrap().len(), 2);
    assert_eq!(answer["skipped"], json!([id(&sandbox, "side~1")]));
    sandbox.check_invariants();
}

#[test]
fn a_conflict_takes_back_nothing_because_nothing_was_done() {
    let sandbox = sided();
    sandbox.write("list.txt", "1 main\n2\n3\n4\n5\n6\n7\n8\n9\n");
    sandbox.git(&["commit", "-qam", "in the way"]);
    let before = sandbox.visible_state();
    let objects = sandbox.git(&["count-objects", "-v"]);
    for dry_run in [&[][..], &["--dry-run"][..]] {
        let run = sandbox.run(&[&["cherry-pick", "side~1", "side~2", "side"], dry_run].concat());
        assert_eq!(run.code, 1, "{}", run.stdout);
        assert_eq!(sandbox.visible_state(), before);
        assert_eq!(sandbox.git(&["count-objects", "-v"]), objects);
    }
    let answer = sandbox.json(&["cherry-pick", "side~1", "side~2", "side"]);
    assert_eq!(answer["stopped_at"], json!(id(&sandbox, "side~2")));
    assert_eq!(answer["conflicts"][0]["path"], "list.txt");
    assert_eq!(answer["conflicts"][0]["kind"], "content");
    assert_eq!(answer["commit"], Value::Null);
    sandbox.check_invariants();
}

#[test]
fn an_opened_conflict_is_gits_own_and_the_branch_moves_once() {
    let sandbox = sided();
    sandbox.write("list.txt", "1 main\n2\n3\n4\n5\n6\n7\n8\n9\n");
    sandbox.git(&["commit", "-qam", "in the way"]);
    let before = sandbox.visible_state();
    let tip = id(&sandbox, "main");
    let run = sandbox.run(&["cherry-pick", "side~1", "side~2", "side", "--resolve"]);
    assert_eq!(run.code, 1);
    assert_eq!(id(&sandbox, "main"), tip);
    assert_eq!(sandbox.read("new.txt"), "new\n");
    assert!(sandbox.git(&["status"]).contains("cherry-picking commit"));
    assert_eq!(sandbox.git(&["diff", "--name-only", "--diff-filter=U"]), "list.txt");
    assert_eq!(sandbox.error(&["cherry-pick", "--continue"]), "unmerged-paths");
    assert_eq!(sandbox.error(&["cherry-pick", "side"]), "operation-in-progress");
    sandbox.write("list.txt", "1 both\n2\n3\n4\n5\n6\n7\n8\n9\n");
    sandbox.git(&["add", "list.txt"]);
    let told = sandbox.json(&["cherry-pick", "--continue", "--dry-run"]);
    assert_eq!(told["picked"].as_array().unwrap().len(), 3);
    let answer = sandbox.json(&["cherry-pick", "--continue"]);
    assert_eq!(answer["picked"].as_array().unwrap().len(), 3);
    assert_eq!(sandbox.read("list.txt"), "1 both\n2\n3\n4\n5\n6\n7\n8\n9 side\n");
    let subjects = sandbox.git(&["log", "-3", "--format=%an %s"]);
    assert_eq!(subjects, "Zoe third of the side\nZoe first of the side\nZoe second of the side");
    assert_eq!(id(&sandbox, "main~3"), tip);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert!(!sandbox.path(".git/CHERRY_PICK_HEAD").exists());
    assert!(!sandbox.path(".git/MERGE_MSG").exists());
    sandbox.check_invariants();
    sandbox.colony(&["undo"]);
    assert!(sandbox.path(".git/CHERRY_PICK_HEAD").exists());
    assert_eq!(id(&sandbox, "main"), tip);
    sandbox.colony(&["cherry-pick", "--abort"]);
    assert_eq!(sandbox.visible_state(), before);
    sandbox.check_invariants();
}

#[test]
fn a_second_conflict_is_opened_in_its_turn() {
    let sandbox = sided();
    sandbox.write("list.txt", "1 main\n2\n3\n4\n5\n6\n7\n8\n9 main\n");
    sandbox.git(&["commit", "-qam", "in the way"]);
    let before = sandbox.visible_state();
    assert_eq!(sandbox.run(&["cherry-pick", "main..side", "--resolve"]).code, 1);
    sandbox.write("list.txt", "1 both\n2\n3\n4\n5\n6\n7\n8\n9 main\n");
    sandbox.git(&["add", "list.txt"]);
    let answer = sandbox.json(&["cherry-pick", "--continue"]);
    assert_eq!(answer["resolving"], true);
    assert_eq!(answer["stopped_at"], json!(id(&sandbox, "side")));
    assert_eq!(sandbox.read("new.txt"), "new\n");
    sandbox.git(&["checkout", "-q", "--ours", "list.txt"]);
    sandbox.git(&["add", "list.txt"]);
    let answer = sandbox.json(&["cherry-pick", "--continue"]);
    assert_eq!(answer["skipped"], json!([id(&sandbox, "side")]), "nothing was left of it");
    assert_eq!(answer["picked"].as_array().unwrap().len(), 2);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    sandbox.check_invariants();
    for _ in 0..3 {
        sandbox.colony(&["undo"]);
    }
    assert_eq!(sandbox.visible_state(), before);
    sandbox.check_invariants();
}

#[test]
fn into_a_branch_that_is_not_checked_out() {
    let sandbox = sided();
    sandbox.git(&["branch", "release"]);
    sandbox.write("list.txt", "unsaved\n");
    let before = sandbox.visible_state();
    sandbox.colony(&["cherry-pick", "side~1", "--into", "release"]);
    let after = sandbox.visible_state();
    assert_eq!(
        (&after.head, &after.index, &after.worktree),
        (&before.head, &before.index, &before.worktree)
    );
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s", "release"]), "second of the side");
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.visible_state(), before);
    assert_eq!(sandbox.error(&["cherry-pick", "side~2"]), "uncommitted-edits");
    assert_eq!(sandbox.visible_state(), before);
}

#[test]
fn where_git_merges_otherwise_git_counts() {
    // git asks about a file that is new in a directory the other side renamed; gix decides.
    let sandbox = Sandbox::new();
    sandbox.write("old/1.txt", "1\n2\n3\n4\n5\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "base"]);
    sandbox.git(&["switch", "-q", "-c", "side"]);
    sandbox.write("old/2.txt", "new\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "new file"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.git(&["mv", "old", "renamed"]);
    sandbox.git(&["commit", "-qm", "renamed"]);
    let referee = sandbox.copy("referee");
    let clean = referee.try_git(&["cherry-pick", "side"]);
    let run = sandbox.run(&["cherry-pick", "side"]);
    assert_eq!(run.code == 0, clean, "{}", run.stdout);
}

#[test]
fn what_cannot_be_picked_is_refused() {
    let sandbox = sided();
    assert_eq!(sandbox.error(&["cherry-pick", "nothing"]), "revision-not-found");
    assert_eq!(sandbox.error(&["cherry-pick", "side..main~1"]), "revision-not-found");
    assert_eq!(sandbox.run(&["cherry-pick"]).code, 129);
    assert_eq!(sandbox.error(&["cherry-pick", "--continue"]), "nothing-to-resolve");
    assert_eq!(sandbox.error(&["cherry-pick", "--abort"]), "nothing-to-resolve");
    sandbox.git(&["merge", "-q", "--no-edit", "side"]);
    sandbox.git(&["branch", "other", "main~1"]);
    assert_eq!(sandbox.error(&["cherry-pick", "main", "--into", "other"]), "invalid-value");
    let sandbox = sided();
    sandbox.write("list.txt", "1 main\n");
    sandbox.git(&["commit", "-qam", "in the way"]);
    assert!(!sandbox.try_git(&["cherry-pick", "side~2"]));
    assert_eq!(sandbox.error(&["cherry-pick", "--continue"]), "operation-in-progress");
    assert_eq!(sandbox.error(&["cherry-pick", "--abort"]), "operation-in-progress");
}

#[test]
fn a_decision_brings_its_commits_and_says_what_it_needs() {
    let sandbox = sided();
    sandbox.git(&["switch", "-q", "side"]);
    let decide = |id: &str, more: &[&str], path: &str| {
        sandbox.write(path, format!("{id}\n"));
        sandbox.colony(&[&["decide", "-m", id, "--id", id], more, &[path]].concat());
    };
    decide("base-of-it", &[], "base.txt");
    sandbox.write("later.txt", "later\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "unrelated"]);
    let earlier = id(&sandbox, "side~2");
    decide("use-it", &["--depends-on", "base-of-it", "--implements", &earlier], "use.txt");
    sandbox.git(&["switch", "-q", "main"]);
    let answer = sandbox.json(&["cherry-pick", "use-it"]);
    assert_eq!(answer["code"], "missing-dependencies");
    assert_eq!(answer["detail"]["decisions"], json!(["base-of-it"]));
    let said = answer["message"].as_str().unwrap();
    assert!(said.contains("needs a decision first: 'base-of-it'"), "{said}");
    let answer = sandbox.json(&["cherry-pick", "use-it", "--with-dependencies"]);
    assert_eq!(answer["ok"], true, "{answer:#}");
    let named: Vec<_> =
        answer["picked"].as_array().unwrap().iter().map(|p| &p["decision_id"]).collect();
    assert_eq!(named, ["base-of-it", "use-it", "use-it"]);
    assert_eq!(answer["picked"][1]["from"], json!(earlier));
    assert!(sandbox.path("use.txt").exists() && sandbox.path("base.txt").exists());
    assert!(!sandbox.path("later.txt").exists());
    let known = sandbox.json(&["decisions"]);
    assert_eq!(known["count"], 2, "{known:#}");
    // What the branch has is not asked for again.
    assert_eq!(sandbox.error(&["cherry-pick", "no-such-decision"]), "revision-not-found");
    sandbox.check_invariants();
}

#[test]
fn missing_decisions_are_named_with_those_they_need() {
    let sandbox = sided();
    sandbox.git(&["switch", "-q", "side"]);
    let mut before: Option<&str> = None;
    for id in ["use-steel", "weld-it", "paint-it"] {
        let mut args = vec!["decide", "-m", id, "--id", id];
        args.extend(before.iter().flat_map(|before| ["--depends-on", before]));
        sandbox.colony(&args);
        before = Some(id);
    }
    sandbox.git(&["switch", "-q", "main"]);
    let answer = sandbox.json(&["cherry-pick", "paint-it"]);
    assert_eq!(answer["detail"]["decisions"], json!(["use-steel", "weld-it"]));
    let said = answer["message"].as_str().unwrap();
    assert!(said.starts_with("'paint-it' needs decisions first: 'use-steel'"), "{said}");
}

#[test]
fn an_agent_stands_for_its_commits_since_it_left() {
    let desk = Sandbox::new();
    let made = desk.json(&["agents", "new", "ada"]);
    let clone = desk.at(made["path"].as_str().unwrap().into());
    assert_eq!(desk.error(&["cherry-pick", "ada"]), "revision-not-found", "it has done nothing");
    for name in ["one", "two", "three"] {
        clone.write(&format!("{name}.txt"), name);
        clone.colony(&["commit", "-m", name, "--all"]);
    }
    desk.write("own.txt", "own\n");
    desk.colony(&["commit", "-m", "own", "--all"]);
    let picked = desk.json(&["cherry-pick", "ada"]);
    assert_eq!(picked["picked"].as_array().map(Vec::len), Some(3), "{picked:#}");
    let subjects = desk.git(&["log", "-4", "--format=%s"]);
    assert_eq!(subjects, "three\ntwo\none\nown");
    desk.colony(&["undo"]);
    // A commit is one commit.
    let tip = clone.git(&["rev-parse", "HEAD"]);
    let picked = desk.json(&["cherry-pick", &tip]);
    assert_eq!(picked["picked"].as_array().map(Vec::len), Some(1), "{picked:#}");
}
