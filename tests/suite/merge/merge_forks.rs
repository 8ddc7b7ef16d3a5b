//! Merges: computed on trees, equal to git's; a conflict is an answer and changes nothing.

use serde_json::{Value, json};

use crate::support::fixture::Fixture;
use crate::support::{Sandbox, wait_for_locks};

/// What one side does.
type Act = fn(&Sandbox);

/// A repository with a fork `try`; both sides have one commit since, HEAD is on `main`.
fn diverged(
    before: impl Fn(&Sandbox),
    ours: impl Fn(&Sandbox),
    theirs: impl Fn(&Sandbox),
) -> Sandbox {
    let sandbox = Sandbox::new();
    before(&sandbox);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "before"]);
    sandbox.colony(&["fork", "try"]);
    theirs(&sandbox);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "theirs"]);
    sandbox.git(&["switch", "-q", "main"]);
    ours(&sandbox);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "ours"]);
    sandbox
}

fn clean() -> Sandbox {
    CLEAN.copy()
}

static CLEAN: Fixture = Fixture::new(|| {
    diverged(
        |s| s.write("both.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"),
        |s| {
            s.write("both.txt", "1 ours\n2\n3\n4\n5\n6\n7\n8\n9\n");
            s.write("ours.txt", "ours\n");
        },
        |s| {
            s.write("both.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9 theirs\n");
            s.write("theirs/new.txt", "theirs\n");
            s.git(&["mv", "dir/b.txt", "moved.txt"]);
        },
    )
});

fn conflicted() -> Sandbox {
    CONFLICTED.copy()
}

static CONFLICTED: Fixture = Fixture::new(|| {
    diverged(
        |s| s.write("gone.txt", "1\n"),
        |s| {
            s.write("a.txt", "ours\n");
            s.write("gone.txt", "1\n2\n");
            s.write("ours.txt", "ours\n");
        },
        |s| {
            s.write("a.txt", "theirs\n");
            s.remove("gone.txt");
            s.write("theirs.txt", "theirs\n");
        },
    )
});

fn tree(sandbox: &Sandbox, revision: &str) -> String {
    sandbox.git(&["rev-parse", &format!("{revision}^{{tree}}")])
}

#[test]
fn copies_of_what_these_tests_begin_with_are_whole() {
    CLEAN.check();
    CONFLICTED.check();
}

#[test]
fn a_clean_merge_is_the_one_git_makes() {
    let sandbox = clean();
    let before = sandbox.visible_state();
    let referee = sandbox.copy("referee");
    referee.git(&["merge", "-q", "--no-edit", "fork/try"]);
    let answer = sandbox.json(&["merge", "try"]);
    assert_eq!(answer["outcome"], "merged");
    assert_eq!(answer["into"], "main");
    assert_eq!(answer["conflicts"], json!([]));
    assert_eq!(tree(&sandbox, "HEAD"), referee.git(&["rev-parse", "HEAD^{tree}"]));
    assert_eq!(sandbox.worktree(), referee.worktree());
    let said = ["log", "-1", "--format=%B%P"];
    assert_eq!(sandbox.git(&said), referee.git(&said));
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    sandbox.check_invariants();
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.visible_state(), before);
    sandbox.colony(&["redo"]);
    assert_eq!(sandbox.worktree(), referee.worktree());
    assert_eq!(sandbox.json(&["merge", "try"])["outcome"], "up_to_date");
    sandbox.check_invariants();
}

#[test]
fn a_branch_that_is_not_checked_out_only_moves() {
    let sandbox = clean();
    sandbox.git(&["branch", "release"]);
    sandbox.write("a.txt", "unsaved\n");
    let before = sandbox.visible_state();
    let answer = sandbox.json(&["merge", "fork/try", "--into", "release", "-m", "brought in"]);
    assert_eq!(answer["into"], "release");
    let after = sandbox.visible_state();
    assert_eq!(
        (&after.head, &after.index, &after.worktree),
        (&before.head, &before.index, &before.worktree)
    );
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s", "release"]), "brought in");
    assert_eq!(answer["commit"], json!(sandbox.git(&["rev-parse", "release"])));
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.visible_state(), before);
    // On the fork itself, it goes to where it began.
    sandbox.git(&["checkout", "-q", "-f", "fork/try"]);
    assert_eq!(sandbox.json(&["merge", "try"])["into"], "main");
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "fork/try");
    sandbox.check_invariants();
}

#[test]
fn a_dry_run_says_it_all_and_writes_nothing() {
    for sandbox in [clean(), conflicted()] {
        let before = sandbox.visible_state();
        let objects = sandbox.git(&["count-objects", "-v"]);
        let told = sandbox.json(&["merge", "try", "--dry-run"]);
        assert_eq!(told["dry_run"], true);
        assert_eq!(sandbox.visible_state(), before);
        assert_eq!(sandbox.git(&["count-objects", "-v"]), objects);
        let done = sandbox.json(&["merge", "try"]);
        for field in ["outcome", "files_changed", "conflicts", "bases", "decisions"] {
            assert_eq!(told[field], done[field], "{field}");
        }
    }
}

#[test]
fn a_conflict_changes_nothing_and_leaves_no_object() {
    let sandbox = conflicted();
    let before = sandbox.visible_state();
    let objects = sandbox.git(&["count-objects", "-v"]);
    let run = sandbox.run(&["merge", "try"]);
    assert_eq!(run.code, 1);
    let answer = sandbox.json(&["merge", "try"]);
    assert_eq!(answer["ok"], false);
    assert_eq!(answer["outcome"], "conflicted");
    assert_eq!(answer["commit"], Value::Null);
    let blob = |revision: &str| json!(sandbox.git(&["rev-parse", revision]));
    let expected = json!([
        {
            "path": "a.txt", "paths": ["a.txt"], "kind": "content",
            "base": blob("main~1:a.txt"), "ours": blob("main:a.txt"), "theirs": blob("fork/try:a.txt"),
        },
        {
            "path": "gone.txt", "paths": ["gone.txt"], "kind": "modify_delete",
            "base": blob("main~1:gone.txt"), "ours": blob("main:gone.txt"), "theirs": null,
        },
    ]);
    assert_eq!(answer["conflicts"], expected);
    assert_eq!(sandbox.visible_state(), before);
    assert_eq!(sandbox.git(&["count-objects", "-v"]), objects);
    assert_eq!(sandbox.json(&["ops"])["ops"].as_array().unwrap().len(), 1, "only the fork");
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("merge_conflicted", run.stdout);
    });
}

/// A conflict of each kind: its name, the state both begin with, what each side does.
const KINDS: [(&str, Act, Act, Act); 9] = [
    ("add_add", |_| {}, |s| s.write("n", "ours\n"), |s| s.write("n", "theirs\n")),
    (
        "binary",
        |s| s.write("n", b"\0one"),
        |s| s.write("n", b"\0ours"),
        |s| s.write("n", b"\0theirs"),
    ),
    (
        "symlink",
        |s| std::os::unix::fs::symlink("base", s.path("n")).unwrap(),
        |s| relink(s, "ours"),
        |s| relink(s, "theirs"),
    ),
    (
        "rename_rename",
        |s| s.write("n", "1\n2\n3\n4\n5\n"),
        |s| drop(s.git(&["mv", "n", "n-ours"])),
        |s| drop(s.git(&["mv", "n", "n-theirs"])),
    ),
    (
        "rename_delete",
        |s| s.write("n", "1\n2\n3\n4\n5\n"),
        |s| drop(s.git(&["mv", "n", "n-ours"])),
        |s| s.remove("n"),
    ),
    (
        "directory_file",
        |_| {},
        |s| s.write("n", "a file\n"),
        |s| s.write("n/below", "a directory\n"),
    ),
    (
        "directory_rename",
        |s| s.write("old/1", "1\n2\n3\n"),
        |s| drop(s.git(&["mv", "old", "new"])),
        |s| s.write("old/2", "new in the old directory\n"),
    ),
    (
        "mode",
        |_| {},
        |s| s.write("n", "same\n"),
        |s| {
            s.write("n", "same\n");
            s.set_mode("n", 0o755);
        },
    ),
    (
        "lfs_pointer",
        |s| s.write("n", pointer('1')),
        |s| s.write("n", pointer('2')),
        |s| s.write("n", pointer('3')),
    ),
];

#[test]
fn every_kind_of_conflict_has_its_name() {
    for (kind, before, ours, theirs) in KINDS {
        let sandbox = diverged(before, ours, theirs);
        let answer = sandbox.json(&["merge", "try"]);
        let kinds: Vec<_> =
            answer["conflicts"].as_array().unwrap().iter().map(|c| &c["kind"]).collect();
        assert_eq!(kinds, [kind], "{answer:#}");
        for side in ["--ours", "--theirs"] {
            let revision = if side == "--ours" { "main" } else { "fork/try" };
            let path = answer["conflicts"][0]["path"].as_str().unwrap().to_owned();
            let paths = answer["conflicts"][0]["paths"].as_array().unwrap().clone();
            let settled = sandbox.json(&["merge", "try", side, &path]);
            assert_eq!(settled["outcome"], "merged", "{kind} {side} {settled:#}");
            for path in paths {
                let path = path.as_str().unwrap();
                let listed = |revision| sandbox.git(&["ls-tree", "-r", revision, "--", path]);
                assert_eq!(listed("HEAD"), listed(revision), "{kind} {side} {path}");
            }
            assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "{kind} {side}");
            sandbox.check_invariants();
            sandbox.colony(&["undo"]);
        }
    }
}

fn relink(sandbox: &Sandbox, target: &str) {
    sandbox.remove("n");
    std::os::unix::fs::symlink(target, sandbox.path("n")).unwrap();
}

fn pointer(digit: char) -> String {
    let oid: String = std::iter::repeat_n(digit, 64).collect();
    format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 12{digit}\n")
}

#[test]
fn a_submodule_is_a_conflict_of_its_own() {
    let sandbox = Sandbox::new();
    let other = sandbox.outside().join("other");
    sandbox.git(&["init", "-q", other.to_str().unwrap()]);
    let view = sandbox.at(other);
    view.git(&["config", "user.name", "Ada"]);
    view.git(&["config", "user.email", "ada@example.com"]);
    let commit = |subject: &str| {
        view.git(&["commit", "-q", "--allow-empty", "-m", subject]);
        view.git(&["rev-parse", "HEAD"])
    };
    let ids = [commit("one"), commit("two"), commit("three")];
    let set = |id: &str| {
        let entry = format!("160000,{id},sub");
        sandbox.git(&["update-index", "--add", "--cacheinfo", &entry]);
        sandbox.git(&["commit", "-qm", id]);
    };
    set(&ids[0]);
    sandbox.git(&["switch", "-q", "-c", "side"]);
    set(&ids[1]);
    sandbox.git(&["switch", "-q", "main"]);
    set(&ids[2]);
    let answer = sandbox.json(&["merge", "side"]);
    assert_eq!(answer["conflicts"][0]["kind"], "submodule");
    assert_eq!(sandbox.error(&["merge", "side", "--both", "sub"]), "invalid-value");
    sandbox.colony(&["merge", "side", "--theirs", "sub"]);
    assert!(sandbox.git(&["ls-tree", "HEAD", "sub"]).contains(&ids[1]));
}

#[test]
fn a_submodule_that_was_not_updated_stops_no_merge() {
    let sandbox = Sandbox::new();
    sandbox.git(&["init", "-q", "sub"]);
    let view = sandbox.at(sandbox.path("sub"));
    view.git(&["config", "user.name", "Ada"]);
    view.git(&["config", "user.email", "ada@example.com"]);
    let commit = |subject: &str| {
        view.git(&["commit", "-q", "--allow-empty", "-m", subject]);
        view.git(&["rev-parse", "HEAD"])
    };
    let ids = [commit("one"), commit("two"), commit("three")];
    let set = |id: &str| {
        let entry = format!("160000,{id},sub");
        sandbox.git(&["update-index", "--add", "--cacheinfo", &entry]);
        sandbox.git(&["commit", "-qm", id]);
    };
    set(&ids[0]);
    view.git(&["checkout", "-q", &ids[0]]);
    sandbox.git(&["switch", "-q", "-c", "side"]);
    set(&ids[1]);
    sandbox.git(&["branch", "further"]);
    sandbox.git(&["symbolic-ref", "HEAD", "refs/heads/further"]);
    set(&ids[2]);
    sandbox.git(&["symbolic-ref", "HEAD", "refs/heads/main"]);
    sandbox.git(&["reset", "-q"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    sandbox.colony(&["merge", "side"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), " M sub");
    sandbox.colony(&["merge", "further"]);
    assert!(sandbox.git(&["ls-tree", "HEAD", "sub"]).contains(&ids[2]));
    assert_eq!(view.git(&["rev-parse", "HEAD"]), ids[0], "it stays where it is");
    sandbox.colony(&["undo"]);
    // What is staged is somebody's intent.
    let entry = format!("160000,{},sub", ids[0]);
    sandbox.git(&["update-index", "--cacheinfo", &entry]);
    assert_eq!(sandbox.error(&["merge", "further"]), "uncommitted-edits");
}

#[test]
fn both_sides_can_stay() {
    let sandbox = diverged(
        |s| {
            s.write("list.txt", "1\n");
            s.write("image", b"\0one");
        },
        |s| {
            s.write("list.txt", "1\nours\n");
            s.write("image", b"\0ours");
        },
        |s| {
            s.write("list.txt", "1\ntheirs\n");
            s.write("image", b"\0theirs");
        },
    );
    let answer = sandbox.json(&["merge", "try", "--both", "list.txt"]);
    assert_eq!(answer["outcome"], "conflicted");
    assert_eq!(answer["settled"], json!(["list.txt"]));
    let answer = sandbox.json(&["merge", "try", "--both", "."]);
    assert_eq!(answer["settled"], json!(["image", "list.txt"]));
    assert_eq!(sandbox.read("list.txt"), "1\nours\ntheirs\n");
    assert_eq!(sandbox.read("image"), "\0ours");
    assert_eq!(sandbox.read("image~fork_try"), "\0theirs");
    sandbox.check_invariants();
    let sandbox = conflicted();
    sandbox.colony(&["merge", "try", "--both", ".", "--theirs", "a.txt"]);
    assert_eq!(sandbox.read("a.txt"), "theirs\n", "the nearer choice counts");
    assert_eq!(sandbox.read("gone.txt"), "1\n2\n");
    let sandbox = conflicted();
    assert_eq!(sandbox.error(&["merge", "try", "--ours", "ours.txt"]), "path-not-found");
}

#[test]
fn a_choice_is_refused_where_nothing_is_in_conflict() {
    let fast_forward = || {
        let sandbox = Sandbox::new();
        sandbox.colony(&["fork", "try"]);
        sandbox.write("new.txt", "new\n");
        sandbox.colony(&["checkpoint", "-m", "new"]);
        sandbox.git(&["checkout", "-q", "main"]);
        sandbox
    };
    let merged = fast_forward();
    merged.colony(&["merge", "try"]);
    for sandbox in [clean(), fast_forward(), merged] {
        let before = sandbox.visible_state();
        for side in ["--ours", "--theirs", "--both"] {
            let answer = sandbox.json(&["merge", "try", side, "new.txt"]);
            assert_eq!(answer["code"], "path-not-found", "{answer:#}");
            assert_eq!(
                answer["message"],
                "'new.txt' is not in conflict; this merge has no conflict; nothing has changed"
            );
        }
        assert_eq!(sandbox.visible_state(), before);
    }
}

#[test]
fn a_dirty_worktree_goes_along_where_the_paths_are_disjoint() {
    let sandbox = clean();
    sandbox.write("ours.txt", "edited\n");
    sandbox.write("a.txt", "staged\n");
    sandbox.git(&["add", "a.txt"]);
    sandbox.write("free.txt", "untracked\n");
    let before = sandbox.visible_state();
    let referee = sandbox.copy("referee");
    // git refuses a staged change, although nothing of it is touched.
    referee.git(&["reset", "-q"]);
    referee.git(&["merge", "-q", "--no-edit", "fork/try"]);
    sandbox.colony(&["merge", "try"]);
    assert_eq!(sandbox.worktree(), referee.worktree());
    assert_eq!(sandbox.git(&["diff", "--cached", "--name-only"]), "a.txt");
    assert_eq!(tree(&sandbox, "HEAD"), referee.git(&["rev-parse", "HEAD^{tree}"]));
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.visible_state(), before);
    for (path, content) in [("both.txt", "edited\n"), ("theirs", "in the way\n")] {
        let sandbox = clean();
        sandbox.write(path, content);
        let before = sandbox.visible_state();
        assert_eq!(sandbox.error(&["merge", "try"]), "uncommitted-edits", "{path}");
        assert_eq!(sandbox.visible_state(), before);
        sandbox.check_invariants();
    }
}

#[test]
fn fast_forward_unless_a_commit_is_asked_for() {
    let ahead: fn() -> Sandbox = || {
        let sandbox = Sandbox::new();
        sandbox.colony(&["fork", "try"]);
        sandbox.write("new.txt", "new\n");
        sandbox.colony(&["checkpoint", "-m", "new"]);
        sandbox.git(&["switch", "-q", "main"]);
        sandbox
    };
    let sandbox = ahead();
    let answer = sandbox.json(&["merge", "try"]);
    assert_eq!(answer["outcome"], "fast_forward");
    assert_eq!(sandbox.git(&["rev-parse", "main"]), sandbox.git(&["rev-parse", "fork/try"]));
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    for (args, parents) in [(vec!["-m", "why"], 2), (vec!["--squash"], 1)] {
        let sandbox = ahead();
        let answer = sandbox.json(&[&["merge", "try"][..], &args].concat());
        assert_eq!(answer["outcome"], "merged");
        let listed = sandbox.git(&["log", "-1", "--format=%P"]);
        assert_eq!(listed.split(' ').count(), parents, "{args:?}");
        assert_eq!(tree(&sandbox, "HEAD"), tree(&sandbox, "fork/try"));
        sandbox.check_invariants();
    }
    let sandbox = ahead();
    sandbox.git(&["config", "merge.ff", "false"]);
    assert_eq!(sandbox.json(&["merge", "try"])["outcome"], "merged");
    let sandbox = ahead();
    sandbox.git(&["config", "merge.ff", "only"]);
    assert_eq!(sandbox.json(&["merge", "try"])["outcome"], "fast_forward");
    let sandbox = clean();
    sandbox.git(&["config", "merge.ff", "only"]);
    let before = sandbox.visible_state();
    assert_eq!(sandbox.error(&["merge", "try"]), "diverged");
    assert_eq!(sandbox.error(&["merge", "try", "-m", "why"]), "diverged");
    assert_eq!(sandbox.visible_state(), before);
    sandbox.colony(&["merge", "try", "--squash"]);
}

#[test]
fn what_is_squashed_already_is_not_squashed_again() {
    let sandbox = clean();
    assert_eq!(sandbox.json(&["merge", "try", "--squash"])["outcome"], "merged");
    let before = sandbox.visible_state();
    for run in ["--dry-run", "-q"] {
        let answer = sandbox.json(&["merge", "try", "--squash", run]);
        assert_eq!(answer["outcome"], "up_to_date", "{answer:#}");
    }
    assert_eq!(sandbox.visible_state(), before);
    // What is new is taken in.
    sandbox.git(&["switch", "-q", "fork/try"]);
    sandbox.write("later.txt", "later\n");
    sandbox.colony(&["commit", "-m", "later", "--all"]);
    sandbox.git(&["switch", "-q", "main"]);
    assert_eq!(sandbox.json(&["merge", "try", "--squash"])["outcome"], "merged");
    assert!(sandbox.path("later.txt").exists());
}

#[test]
fn a_squash_carries_the_decisions_of_its_commits() {
    let sandbox = clean();
    sandbox.git(&["switch", "-q", "fork/try"]);
    let message = "choose it\n\nColony-Decision: use-it";
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", message]);
    let decided = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["switch", "-q", "main"]);
    let answer = sandbox.json(&["merge", "try", "--squash"]);
    assert_eq!(
        answer["decisions"],
        json!([{"decision_id": "use-it", "title": "use-it", "sha": decided}])
    );
    let trailers = ["log", "-1", "--format=%(trailers:only,unfold)"];
    let carried = sandbox.git(&trailers);
    assert_eq!(carried, format!("Colony-Decision: use-it\nColony-Squashed: {decided}"));
    let body = sandbox.git(&["log", "-1", "--format=%B"]);
    assert!(body.starts_with("Squash 'fork/try'\n\n* theirs\n* choose it\n"), "{body}");
}

#[test]
fn opened_conflicts_are_gits_own_and_end_with_continue() {
    let sandbox = conflicted();
    sandbox.write("free.txt", "untracked\n");
    let before = sandbox.visible_state();
    let referee = sandbox.copy("referee");
    assert!(!referee.try_git(&["merge", "-q", "--no-edit", "fork/try"]));
    let run = sandbox.run(&["merge", "try", "--resolve"]);
    assert_eq!(run.code, 1);
    let listed = ["ls-files", "-s"];
    assert_eq!(sandbox.git(&listed), referee.git(&listed));
    assert_eq!(sandbox.read("gone.txt"), "1\n2\n");
    let marked = sandbox.read("a.txt");
    assert!(marked.contains("<<<<<<< ") && marked.contains(">>>>>>> fork/try"), "{marked}");
    let porcelain = ["status", "--porcelain"];
    assert_eq!(sandbox.git(&porcelain), referee.git(&porcelain));
    assert!(
        sandbox.git(&["status"]).contains("All conflicts fixed")
            || sandbox.git(&["status"]).contains("unmerged paths")
    );
    assert_eq!(sandbox.error(&["merge", "--continue"]), "unmerged-paths");
    assert_eq!(sandbox.error(&["merge", "try"]), "operation-in-progress");
    sandbox.write("a.txt", "settled\n");
    sandbox.git(&["add", "a.txt", "gone.txt"]);
    let halfway = sandbox.visible_state();
    let answer = sandbox.json(&["merge", "--continue"]);
    assert_eq!(answer["outcome"], "merged");
    assert_eq!(answer["source"], "fork/try");
    assert_eq!(sandbox.git(&["log", "-1", "--format=%B"]), "Merge branch 'fork/try'");
    assert_eq!(sandbox.git(&["rev-list", "--count", "main", "^fork/try"]), "2");
    assert!(!sandbox.path(".git/MERGE_HEAD").exists());
    assert!(!sandbox.path(".git/MERGE_MSG").exists());
    sandbox.check_invariants();
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.visible_state(), halfway);
    assert!(sandbox.path(".git/MERGE_HEAD").exists());
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.visible_state(), before);
    assert!(!sandbox.path(".git/MERGE_HEAD").exists());
    sandbox.colony(&["redo"]);
    sandbox.colony(&["redo"]);
    assert_eq!(sandbox.read("a.txt"), "settled\n");
    sandbox.check_invariants();
}

#[test]
fn git_commit_ends_it_too_and_undo_goes_back_step_by_step() {
    let sandbox = conflicted();
    let before = sandbox.visible_state();
    assert_eq!(sandbox.run(&["merge", "try", "--resolve"]).code, 1);
    sandbox.write("a.txt", "settled\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "--no-edit"]);
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s"]), "Merge branch 'fork/try'");
    assert_eq!(sandbox.git(&["rev-list", "--count", "main", "^fork/try"]), "2");
    assert_eq!(sandbox.error(&["undo"]), "external-change");
    sandbox.colony(&["undo", "--force"]);
    assert!(sandbox.path(".git/MERGE_HEAD").exists());
    assert_eq!(sandbox.read("a.txt"), "settled\n");
    sandbox.colony(&["merge", "--abort"]);
    assert_eq!(sandbox.visible_state(), before);
    sandbox.check_invariants();
}

#[test]
fn abort_keeps_what_was_edited_meanwhile() {
    let sandbox = conflicted();
    let before = sandbox.visible_state();
    let run = sandbox.run(&["merge", "try", "--resolve", "--ours", "gone.txt"]);
    assert_eq!(run.code, 1);
    sandbox.write("a.txt", "half settled\n");
    sandbox.colony(&["checkpoint", "--off-branch", "-m", "half way"]);
    sandbox.write("a.txt", "further\n");
    let objects = sandbox.visible_state();
    sandbox.colony(&["merge", "--abort", "--dry-run"]);
    assert_eq!(sandbox.visible_state(), objects);
    sandbox.colony(&["merge", "--abort"]);
    let after = sandbox.visible_state();
    assert_eq!(
        (&after.head, &after.index, &after.worktree),
        (&before.head, &before.index, &before.worktree)
    );
    assert_eq!(sandbox.error(&["merge", "--abort"]), "nothing-to-resolve");
    assert_eq!(sandbox.error(&["merge", "--continue"]), "nothing-to-resolve");
    sandbox.colony(&["redo"]);
    assert_eq!(sandbox.read("a.txt"), "further\n");
    assert!(sandbox.path(".git/MERGE_HEAD").exists());
    // One that git began is git's.
    let sandbox = conflicted();
    assert!(!sandbox.try_git(&["merge", "-q", "fork/try"]));
    assert_eq!(sandbox.error(&["merge", "--abort"]), "operation-in-progress");
    sandbox.git(&["checkout", "-q", "--theirs", "a.txt"]);
    sandbox.git(&["add", "-A"]);
    sandbox.colony(&["merge", "--continue"]);
    assert_eq!(sandbox.git(&["log", "-1", "--format=%P"]).split(' ').count(), 2);
}

#[test]
fn a_large_file_is_chosen_and_never_merged_as_text() {
    let sandbox = diverged(
        |s| s.write("n", pointer('1')),
        |s| s.write("n", pointer('2')),
        |s| s.write("n", pointer('3')),
    );
    assert_eq!(sandbox.run(&["merge", "try", "--resolve"]).code, 1);
    assert_eq!(sandbox.read("n"), pointer('2'));
    sandbox.colony(&["merge", "--abort"]);
    sandbox.colony(&["merge", "try", "--both", "n"]);
    assert_eq!(sandbox.read("n"), pointer('2'));
    assert_eq!(sandbox.read("n~fork_try"), pointer('3'));
}

#[test]
fn both_versions_of_a_large_file_are_owned_by_git_lfs() {
    let sandbox = diverged(
        |s| {
            s.write(".gitattributes", "*.stl filter=lfs -text\n/big.bin filter=lfs -text\n");
            s.write("parts/a.v1.stl", pointer('1'));
            s.write("big.bin", pointer('1'));
        },
        |s| {
            s.write("parts/a.v1.stl", pointer('2'));
            s.write("big.bin", pointer('2'));
        },
        |s| {
            s.write("parts/a.v1.stl", pointer('3'));
            s.write("big.bin", pointer('3'));
        },
    );
    let choices = ["merge", "try", "--both", "parts", "--ours", "big.bin"];
    sandbox.colony(&choices);
    assert_eq!(sandbox.read("parts/a.v1.stl"), pointer('2'));
    assert_eq!(sandbox.read("parts/a~fork_try.v1.stl"), pointer('3'));
    sandbox.colony(&["undo"]);
    // No other name than this one is git-lfs's.
    assert_eq!(sandbox.error(&["merge", "try", "--both", "."]), "invalid-value");
    sandbox.check_invariants();
}

#[test]
fn records_are_never_the_lines_of_both() {
    let sandbox = diverged(
        |s| {
            s.write(".gitattributes", "budgets/*.yaml merge=colony-budget\n");
            s.write("budgets/power.yaml", "items:\n  motor: 30\n");
        },
        |s| s.write("budgets/power.yaml", "items:\n  motor: 35\n"),
        |s| s.write("budgets/power.yaml", "items:\n  motor: 25\n"),
    );
    let before = sandbox.visible_state();
    let refused = sandbox.json(&["merge", "try", "--both", "."]);
    assert_eq!(refused["code"], "invalid-value");
    assert_eq!(refused["detail"]["path"], "budgets/power.yaml");
    assert_eq!(sandbox.visible_state(), before);
}

#[test]
fn lines_of_both_that_are_no_valid_data_are_refused() {
    for (path, base, ours, theirs) in [
        ("Cargo.toml", "a = 1\n", "a = 1\nb = 2\n", "a = 1\nb = 3\n"),
        ("data/list.json", "[\n1\n]\n", "[\n1,\n2\n]\n", "[\n1,\n3\n]\n"),
        ("ci.YML", "on:\n  a: 1\n", "on:\n  a: 1\n  b: 2\n", "on:\n  a: 1\n  b: 3\n"),
    ] {
        let sandbox =
            diverged(|s| s.write(path, base), |s| s.write(path, ours), |s| s.write(path, theirs));
        let before = sandbox.visible_state();
        let refused = sandbox.json(&["merge", "try", "--both", "."]);
        assert_eq!(refused["code"], "invalid-value", "{refused:#}");
        assert!(refused["message"].as_str().unwrap().contains("invalid "), "{refused:#}");
        assert_eq!(sandbox.visible_state(), before);
        // What was invalid before is not our business.
        let broken = diverged(
            |s| s.write(path, base),
            |s| s.write(path, format!("{{{{ {ours}")),
            |s| s.write(path, format!("{{{{ {theirs}")),
        );
        assert_eq!(broken.json(&["merge", "try", "--both", "."])["ok"], true, "{path}");
    }
}

#[test]
fn a_merge_is_computed_anew_as_often_as_its_goal_moves() {
    let sandbox = diverged(
        |s| {
            s.write(".gitattributes", "moving merge=moving\n");
            s.write("moving", "base\n");
        },
        |s| s.write("moving", "ours\n"),
        |s| s.write("moving", "theirs\n"),
    );
    sandbox.git(&["branch", "goal"]);
    sandbox.git(&["switch", "-q", "--detach"]);
    for step in 0..9 {
        sandbox.git(&["commit", "-q", "--allow-empty", "-m", &format!("step {step}")]);
        sandbox.git(&["update-ref", &format!("refs/steps/{step}"), "HEAD"]);
    }
    sandbox.git(&["switch", "-q", "main"]);
    // Whoever merges 'moving' finds that somebody has moved the goal meanwhile, nine times.
    let git_dir = sandbox.path(".git");
    let git_dir = git_dir.display();
    let moves = format!(
        "n=$(cat '{git_dir}/n' 2>/dev/null || echo 0); echo $((n + 1)) >'{git_dir}/n'; \
         git --git-dir='{git_dir}' update-ref refs/heads/goal refs/steps/$n 2>/dev/null || true"
    );
    sandbox.git(&["config", "merge.moving.driver", &moves]);
    // Five times are not enough.
    let goal = sandbox.git(&["rev-parse", "goal"]);
    wait_for_locks(&sandbox.path(".git/colony"));
    let hasty = ["--timeout", "0.001", "merge", "try", "--into", "goal"];
    let answer = sandbox.json_apart(&hasty);
    assert_eq!(answer["code"], "ref-moved");
    assert_eq!(
        answer["hint"],
        "git colony status   # others are changing that branch; then run it again"
    );
    sandbox.git(&["update-ref", "refs/heads/goal", &goal]);
    sandbox.remove(".git/n");
    let answer = sandbox.json(&["merge", "try", "--into", "goal"]);
    assert_eq!(answer["outcome"], "merged", "{answer:#}");
    assert_eq!(sandbox.git(&["rev-parse", "goal^1"]), sandbox.git(&["rev-parse", "refs/steps/8"]));
    sandbox.check_invariants();
}

#[test]
fn hints_of_a_merge_can_be_followed() {
    let sandbox = conflicted();
    sandbox.git(&["branch", "other", "main"]);
    let run = sandbox.run(&["merge", "try", "--into", "other"]);
    assert!(
        run.stdout.contains("--both PATH\nopen them: git switch 'other'   # then"),
        "{}",
        run.stdout
    );
    sandbox.git(&["switch", "-q", "other"]);
    assert_eq!(sandbox.run(&["merge", "try", "--into", "other", "--resolve"]).code, 1);
    sandbox.colony(&["merge", "--abort"]);
    sandbox.git(&["switch", "-q", "main"]);
    let answer = sandbox.json(&["merge", "try", "--into", "nosuch"]);
    let message = "'nosuch' is not a local branch; nothing has changed";
    assert_eq!(
        (&answer["message"], &answer["hint"]),
        (&message.into(), &"git branch --list".into())
    );
    let twice = ["merge", "try", "--ours", "a.txt", "--theirs", "a.txt"];
    assert_eq!(sandbox.run(&twice).code, 129);
    // Once git has left what we opened, a merge that it begins is git's.
    assert_eq!(sandbox.run(&["merge", "try", "--resolve"]).code, 1);
    sandbox.git(&["merge", "--abort"]);
    sandbox.colony(&["tag", "-m", "now"]);
    assert!(!sandbox.try_git(&["merge", "-q", "fork/try"]));
    let answer = sandbox.json(&["merge", "--abort"]);
    assert_eq!(answer["hint"], "git merge --abort", "{answer:#}");
    sandbox.git(&["merge", "--abort"]);
    sandbox.remove("a.txt");
    sandbox.git(&["commit", "-qam", "gone"]);
    sandbox.write("theirs.txt", "mine\n");
    let answer = sandbox.json(&["merge", "try", "--theirs", "."]);
    assert_eq!(answer["code"], "uncommitted-edits");
    assert_eq!(answer["hint"], "mv 'theirs.txt' ..   # or any other place; then run it again");
}

#[test]
fn a_branch_is_not_moved_under_a_rebase() {
    let sandbox = conflicted();
    sandbox.git(&["branch", "other", "main~1"]);
    assert!(!sandbox.try_git(&["rebase", "-q", "fork/try"]));
    let refs = sandbox.refs();
    for command in ["merge", "cherry-pick"] {
        let answer = sandbox.json(&[command, "try", "--into", "other"]);
        assert_eq!(answer["code"], "operation-in-progress");
    }
    assert_eq!(sandbox.refs(), refs);
}

#[test]
fn histories_without_a_base_are_refused_in_words() {
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "-q", "--orphan", "other"]);
    sandbox.git(&["commit", "-qm", "unrelated"]);
    assert_eq!(sandbox.error(&["merge", "main"]), "unrelated-histories");
    let sandbox = clean();
    let url = format!("file://{}", sandbox.root.display());
    let shallow = sandbox.outside().join("shallow");
    sandbox.git(&[
        "clone",
        "-q",
        "--depth=1",
        "--no-single-branch",
        &url,
        shallow.to_str().unwrap(),
    ]);
    let view = sandbox.at(shallow);
    assert_eq!(view.error(&["merge", "origin/fork/try"]), "shallow-no-base");
}

#[test]
fn a_criss_cross_has_two_bases_and_merges_as_git_does() {
    let sandbox = clean();
    sandbox.git(&["branch", "crossed", "fork/try"]);
    let ours = sandbox.git(&["rev-parse", "main"]);
    let theirs = sandbox.git(&["rev-parse", "fork/try"]);
    sandbox.git(&["merge", "-q", "--no-edit", &theirs]);
    sandbox.git(&["switch", "-q", "crossed"]);
    sandbox.git(&["merge", "-q", "--no-edit", &ours]);
    sandbox.write("last.txt", "last\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "last"]);
    sandbox.git(&["switch", "-q", "main"]);
    let expected = sandbox.git(&["merge-tree", "--write-tree", "main", "crossed"]);
    let answer = sandbox.json(&["merge", "crossed"]);
    assert_eq!(answer["bases"].as_array().unwrap().len(), 2);
    assert_eq!(tree(&sandbox, "HEAD"), expected);
}

#[test]
fn where_it_cannot_go_it_says_so() {
    let sandbox = clean();
    assert_eq!(sandbox.error(&["merge", "nothing"]), "revision-not-found");
    assert_eq!(sandbox.error(&["merge", "main"]), "invalid-value");
    assert_eq!(sandbox.error(&["merge", "try", "--into", "HEAD~1"]), "revision-not-found");
    assert_eq!(sandbox.run(&["merge"]).code, 129);
    let other = sandbox.outside().join("other");
    sandbox.git(&["worktree", "add", "-q", "-b", "busy", other.to_str().unwrap()]);
    assert_eq!(sandbox.error(&["merge", "try", "--into", "busy"]), "branch-in-use");
    sandbox.git(&["branch", "free"]);
    assert_eq!(sandbox.error(&["merge", "try", "--into", "free", "--resolve"]), "invalid-value");
    sandbox.git(&["checkout", "-q", "--detach"]);
    sandbox.colony(&["merge", "try", "--into", "HEAD"]);
}

#[test]
fn an_opened_merge_is_left_by_our_own_abort() {
    let sandbox = conflicted();
    assert_eq!(sandbox.run(&["merge", "try", "--resolve"]).code, 1);
    sandbox.write("a.txt", "settled\n");
    let answer = sandbox.json(&["fork", "x"]);
    assert_eq!(answer["hint"], "git colony merge --abort   # or settle the paths, then --continue");
    sandbox.colony(&["merge", "--abort"]);
    sandbox.colony(&["redo"]);
    assert_eq!(sandbox.read("a.txt"), "settled\n", "nothing was thrown away");
}

#[test]
fn what_is_staged_does_not_become_part_of_an_opened_merge() {
    let sandbox = conflicted();
    sandbox.write("dir/b.txt", "staged\n");
    sandbox.git(&["add", "dir/b.txt"]);
    let before = sandbox.visible_state();
    let answer = sandbox.json(&["merge", "try", "--resolve"]);
    assert_eq!(answer["code"], "uncommitted-edits");
    assert_eq!(answer["detail"]["paths"], json!(["dir/b.txt"]));
    assert_eq!(sandbox.visible_state(), before);
    assert_eq!(sandbox.run(&["merge", "try", "--ours", ""]).code, 129);
}

#[test]
fn a_fork_whose_branch_is_gone_needs_a_target() {
    let sandbox = Sandbox::new();
    sandbox.git(&["switch", "-q", "-c", "gone"]);
    sandbox.colony(&["fork", "try"]);
    sandbox.write("new.txt", "new\n");
    sandbox.colony(&["checkpoint", "-m", "new"]);
    sandbox.git(&["branch", "-q", "-D", "gone"]);
    sandbox.git(&["switch", "-q", "main"]);
    let answer = sandbox.json(&["merge", "try"]);
    assert_eq!(answer["code"], "revision-not-found");
    assert_eq!(answer["detail"]["branch"], "gone");
    let listed = sandbox.colony(&["forks"]);
    assert!(
        listed.contains("merges cleanly into main (its 'gone' is gone: --into main)"),
        "{listed}"
    );
    sandbox.colony(&["merge", "try", "--into", "main"]);
    // The label of a fork that git deleted is free again.
    sandbox.git(&["branch", "-q", "-D", "fork/try"]);
    sandbox.colony(&["fork", "try"]);
    sandbox.check_invariants();
}

#[test]
fn what_git_aborted_comes_back_with_every_file() {
    let sandbox = conflicted();
    assert_eq!(sandbox.run(&["merge", "try", "--resolve"]).code, 1);
    sandbox.git(&["merge", "--abort"]);
    sandbox.colony(&["undo", "--force"]);
    assert!(sandbox.path("a.txt").exists(), "a file in conflict is there");
    assert!(sandbox.path(".git/MERGE_HEAD").exists());
    sandbox.colony(&["merge", "--abort"]);
    assert_eq!(sandbox.read("a.txt"), "ours\n");
    sandbox.check_invariants();
}

#[test]
fn abort_takes_back_the_opening_and_nothing_made_since() {
    let sandbox = conflicted();
    sandbox.git(&["branch", "other", "main~1"]);
    let before = sandbox.visible_state();
    assert_eq!(sandbox.run(&["merge", "try", "--resolve"]).code, 1);
    sandbox.colony(&["checkpoint", "--off-branch", "-m", "half way"]);
    sandbox.colony(&["fork", "keep", "--no-switch"]);
    sandbox.colony(&["cherry-pick", "try", "--into", "other"]);
    sandbox.git(&["branch", "-q", "-f", "unrelated", "main"]);
    let refs = sandbox.refs();
    let planned = sandbox.json(&["merge", "--abort", "--dry-run"]);
    let done = sandbox.json(&["merge", "--abort"]);
    assert_eq!(planned["undone"], "op-3");
    assert_eq!(done["undone"], "op-3");
    assert_eq!(sandbox.refs(), refs, "what was made since stays");
    let after = sandbox.visible_state();
    assert_eq!(
        (&after.head, &after.index, &after.worktree),
        (&before.head, &before.index, &before.worktree)
    );
    sandbox.colony(&["redo"]);
    assert!(sandbox.path(".git/MERGE_HEAD").exists());
    sandbox.colony(&["merge", "--abort"]);
    // What stayed can still be taken back, newest first.
    assert_eq!(sandbox.json(&["undo"])["undone"], "op-6");
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.git(&["branch", "--list", "fork/keep"]), "");
    sandbox.check_invariants();
}

#[test]
fn abort_minds_no_branch_that_moved_meanwhile() {
    let sandbox = conflicted();
    sandbox.git(&["branch", "other", "main~1"]);
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    assert_eq!(sandbox.run(&["merge", "try", "--resolve"]).code, 1);
    sandbox.colony(&["fork", "keep", "--no-switch"]);
    sandbox.colony(&["merge", "main", "--into", "other"]);
    sandbox.git(&["branch", "-q", "-f", "other", "main~1"]);
    sandbox.colony(&["merge", "--abort"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn abort_puts_back_what_was_chosen_of_files_it_had_left_alone() {
    let sandbox = diverged(
        |s| {
            s.write("image", b"\0 base");
            s.write("beside", "base\n");
        },
        |s| {
            s.write("image", b"\0 ours");
        },
        |s| {
            s.write("image", b"\0 theirs");
            s.write("new", "theirs\n");
        },
    );
    sandbox.write("a.txt", "edited before\n");
    let before = sandbox.visible_state();
    assert_eq!(sandbox.run(&["merge", "try", "--resolve"]).code, 1);
    sandbox.git(&["checkout", "-q", "--theirs", "image"]);
    sandbox.write("beside", "settled\n");
    sandbox.git(&["add", "image", "beside"]);
    sandbox.write("dir/b.txt", "not staged\n");
    sandbox.write("note", "of mine\n");
    sandbox.colony(&["merge", "--abort"]);
    assert_eq!(sandbox.read("image"), sandbox.git(&["show", "HEAD:image"]));
    assert_eq!(sandbox.read("beside"), "base\n");
    assert_eq!(sandbox.read("a.txt"), "edited before\n");
    // As with git's own: what was never staged stays.
    assert_eq!(sandbox.read("dir/b.txt"), "not staged\n");
    assert_eq!(sandbox.read("note"), "of mine\n");
    assert_eq!(sandbox.visible_state().index, before.index);
    sandbox.colony(&["redo"]);
    assert_eq!(sandbox.read("image"), "\0 theirs");
    assert_eq!(sandbox.read("beside"), "settled\n");
    sandbox.check_invariants();
}
