//! What merges and picks meet in the worktree, in the places people type from, and in old states.

use git_colony::testing::World;
use serde_json::json;

use crate::support::Sandbox;

/// A fork `try` with one commit that `act` makes; HEAD is on `main`, which has one of its own.
fn forked(act: impl Fn(&Sandbox)) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.colony(&["fork", "try"]);
    act(&sandbox);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "theirs"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "ours"]);
    sandbox
}

#[test]
fn a_path_is_taken_as_typed_here_and_as_the_answer_names_it() {
    let both = |s: &Sandbox, text: &str| {
        s.write("dir/b.txt", text);
        s.write("dir/dir/b.txt", text);
        s.write("dir/c.txt", text);
    };
    let sandbox = Sandbox::new();
    both(&sandbox, "base\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "base"]);
    sandbox.colony(&["fork", "try"]);
    both(&sandbox, "theirs\n");
    sandbox.git(&["commit", "-qam", "theirs"]);
    sandbox.git(&["switch", "-q", "main"]);
    both(&sandbox, "ours\n");
    sandbox.git(&["commit", "-qam", "ours"]);
    let below = sandbox.at(sandbox.path("dir"));
    let settled = |paths: &[&str]| {
        let mut args = vec!["merge", "try", "--dry-run"];
        for path in paths {
            args.extend(["--theirs", path]);
        }
        let answer = below.json(&args);
        answer.get("settled").cloned().unwrap_or(answer["code"].clone())
    };
    // Whatever the answer lists can be pasted.
    let answer = below.json(&["merge", "try"]);
    let listed = answer["conflicts"].as_array().unwrap().iter();
    let listed: Vec<_> = listed.map(|c| c["path"].as_str().unwrap().to_owned()).collect();
    assert_eq!(listed, ["dir/b.txt", "dir/c.txt", "dir/dir/b.txt"]);
    assert_eq!(settled(&["dir/c.txt"]), json!(["dir/c.txt"]));
    assert_eq!(settled(&["c.txt"]), json!(["dir/c.txt"]));
    // One that means two is not guessed.
    assert_eq!(settled(&["dir/b.txt"]), "invalid-value");
    assert_eq!(settled(&["./dir/b.txt"]), json!(["dir/dir/b.txt"]));
    assert_eq!(settled(&[":/dir/b.txt"]), json!(["dir/b.txt"]));
    assert_eq!(settled(&[":(top)dir/b.txt"]), json!(["dir/b.txt"]));
    assert_eq!(settled(&["../dir/c.txt"]), json!(["dir/c.txt"]));
    assert_eq!(settled(&["."]), json!(listed));
    assert_eq!(settled(&[":/"]), json!(listed));
    assert_eq!(settled(&["nothing.txt"]), "path-not-found");
    assert_eq!(settled(&["../../out"]), "path-outside");
}

#[test]
fn the_markers_of_a_pick_say_what_is_picked_as_git_does() {
    for style in ["merge", "diff3"] {
        let sandbox = forked(|s| s.write("a.txt", "theirs\n"));
        sandbox.git(&["config", "merge.conflictStyle", style]);
        sandbox.git(&["config", "core.abbrev", "8"]);
        sandbox.git(&["switch", "-q", "fork/try"]);
        sandbox.git(&["commit", "-q", "--amend", "-m", "it's \u{1b}[31m(red)\n\nbody"]);
        sandbox.git(&["switch", "-q", "main"]);
        sandbox.write("a.txt", "ours\n");
        sandbox.git(&["commit", "-qam", "ours"]);
        let referee = sandbox.copy("referee");
        assert!(!referee.try_git(&["cherry-pick", "fork/try"]));
        assert_eq!(sandbox.run(&["cherry-pick", "fork/try", "--resolve"]).code, 1);
        let theirs = std::fs::read_to_string(sandbox.outside().join("referee/a.txt")).unwrap();
        let theirs = theirs.replace('\u{1b}', " ");
        assert_eq!(sandbox.read("a.txt"), theirs, "{style}");
        assert!(theirs.contains("it's"), "{theirs}");
        sandbox.check_invariants_of_git();
    }
}

#[test]
fn a_new_tool_goes_through_the_filters_of_git() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "filter.up.clean", "tr a-z A-Z"]);
    sandbox.git(&["config", "filter.up.smudge", "tr A-Z a-z"]);
    sandbox.git(&["config", "filter.up.required", "true"]);
    sandbox.write(".gitattributes", "*.md filter=up\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "attributes"]);
    let new = |name| {
        let what = ["--template", "rust_crate", "--purpose", "signal", "--name", name];
        let more = ["--capability", "filter signals", "--license", "MIT"];
        sandbox.json(&[&["tools", "new"][..], &what, &more].concat())
    };
    let answer = new("low-pass");
    assert_eq!(answer["ok"], true, "{answer:#}");
    let files = sandbox.git(&["ls-files", "*.md"]);
    let file = files.lines().next().unwrap();
    let stored = sandbox.git(&["show", &format!("HEAD:{file}")]);
    assert_eq!(stored, stored.to_uppercase());
    // Git adds the same blobs again.
    sandbox.git(&["rm", "-rq", "--cached", "."]);
    sandbox.git(&["add", "-A"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    sandbox.git(&["config", "filter.up.clean", "false"]);
    let before = sandbox.visible_state();
    assert_eq!(new("high-pass")["code"], "filter-failed");
    assert_eq!(sandbox.visible_state(), before);
}

#[test]
fn a_file_of_a_nested_repository_in_the_way_is_refused() {
    for ignored in [false, true] {
        let sandbox = forked(|s| s.write("vendor/lib.c", "theirs\n"));
        let vendor = sandbox.path("vendor");
        sandbox.git(&["init", "-q", "-b", "main", vendor.to_str().unwrap()]);
        sandbox.write("vendor/lib.c", "mine\n");
        if ignored {
            sandbox.write(".git/info/exclude", "vendor/\n");
        }
        assert!(ignored || !sandbox.copy("referee").try_git(&["merge", "-q", "fork/try"]));
        let before = sandbox.visible_state();
        for args in [
            &["merge", "try"][..],
            &["cherry-pick", "fork/try"],
            &["fork", "other", "--from", "fork/try"],
        ] {
            let answer = sandbox.json(args);
            assert_eq!(answer["code"], "nested-repository-in-the-way", "{answer:#}");
            assert_eq!(answer["detail"]["repository"], "vendor");
            assert_eq!(sandbox.visible_state(), before);
        }
        assert_eq!(sandbox.read("vendor/lib.c"), "mine\n");
        sandbox.check_invariants();
    }
}

/// A fork that adds and changes files outside the cone, seen from a sparse `main`.
fn sparse() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("far/old.txt", "old\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "far"]);
    sandbox.colony(&["fork", "try"]);
    sandbox.write("far/old.txt", "theirs\n");
    sandbox.write("far/new.txt", "theirs\n");
    sandbox.write("away/new.txt", "theirs\n");
    sandbox.write("dir/new.txt", "theirs\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "theirs"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "ours"]);
    sandbox.git(&["sparse-checkout", "set", "--cone", "--no-sparse-index", "dir"]);
    sandbox
}

#[test]
fn what_sparse_checkout_leaves_out_stays_out() {
    for args in [
        &["merge", "try"][..],
        &["cherry-pick", "fork/try"],
        &["fork", "other", "--from", "fork/try"],
    ] {
        let sandbox = sparse();
        let before = sandbox.visible_state();
        let referee = sandbox.copy("referee");
        match args[0] {
            "merge" => referee.git(&["merge", "-q", "--no-edit", "fork/try"]),
            "fork" => referee.git(&["switch", "-q", "-c", "other", "fork/try"]),
            _ => referee.git(&["cherry-pick", "fork/try"]),
        };
        sandbox.colony(args);
        assert_eq!(sandbox.worktree(), referee.worktree(), "{args:?}");
        let listed = ["ls-files", "-s", "-t"];
        assert_eq!(sandbox.git(&listed), referee.git(&listed), "{args:?}");
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
        sandbox.check_invariants();
        sandbox.colony(&["undo"]);
        assert_eq!(sandbox.visible_state(), before);
    }
}

#[test]
fn a_killed_merge_in_a_sparse_checkout_leaves_out_the_same() {
    let sandbox = sparse();
    sandbox.git(&["sparse-checkout", "set", "--cone", "dir", "far"]);
    let referee = sandbox.copy("referee");
    referee.git(&["merge", "-q", "--no-edit", "fork/try"]);
    let world = World { die_at: Some("files-moved"), ..sandbox.world() };
    assert_ne!(sandbox.run_in(world, &["merge", "try"]).code, 0);
    sandbox.automatic_checkpoint();
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert_eq!(sandbox.git(&["ls-files", "-t"]), referee.git(&["ls-files", "-t"]));
    assert!(!sandbox.path("away").exists());
}

#[test]
fn a_conflict_outside_the_cone_is_seen() {
    let sandbox = sparse();
    sandbox.git(&["sparse-checkout", "disable"]);
    sandbox.write("far/old.txt", "ours\n");
    sandbox.git(&["commit", "-qam", "ours"]);
    sandbox.git(&["sparse-checkout", "set", "--cone", "--no-sparse-index", "dir"]);
    assert_eq!(sandbox.run(&["merge", "try", "--resolve"]).code, 1);
    assert!(sandbox.read("far/old.txt").contains("<<<<<<<"));
    assert!(!sandbox.path("far/new.txt").exists());
    assert_eq!(
        sandbox.git(&["status", "--porcelain", "-uno"]),
        "A  away/new.txt\nA  dir/new.txt\nA  far/new.txt\nUU far/old.txt"
    );
    sandbox.colony(&["merge", "--abort"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_restore_leaves_out_what_sparse_checkout_leaves_out() {
    let sandbox = sparse();
    sandbox.colony(&["tag", "fork/try", "-m", "theirs"]);
    let run = sandbox.run(&["restore", "theirs", "--force"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!sandbox.path("away").exists());
    assert_eq!(sandbox.read("dir/new.txt"), "theirs\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

/// A merge that was opened, half settled, and ended as operations of their own.
fn ended() -> (Sandbox, String) {
    let sandbox = forked(|s| s.write("a.txt", "theirs\n"));
    sandbox.write("a.txt", "ours\n");
    sandbox.git(&["commit", "-qam", "ours"]);
    assert_eq!(sandbox.run(&["merge", "try", "--resolve"]).code, 1);
    sandbox.write("a.txt", "both\n");
    sandbox.git(&["add", "a.txt"]);
    let answer = sandbox.json(&["merge", "--continue"]);
    assert_eq!(answer["ok"], true, "{answer:#}");
    let op = answer["op"].as_str().unwrap().to_owned();
    (sandbox, op)
}

#[test]
fn the_state_before_the_end_of_a_merge_is_in_the_middle_of_it() {
    let (sandbox, op) = ended();
    let merged = sandbox.visible_state();
    let log = sandbox.git(&["log", "--format=%T %P", "-1"]);
    let told = sandbox.json(&["restore", &op, "--dry-run"]);
    assert_eq!(told["in_progress"], "merge", "{told:#}");
    assert_eq!(sandbox.visible_state(), merged);
    let answer = sandbox.json(&["restore", &op]);
    assert_eq!(answer["in_progress"], "merge", "{answer:#}");
    assert!(sandbox.git(&["status"]).contains("still merging"));
    assert_eq!(sandbox.read("a.txt"), "both\n");
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.visible_state(), merged);
    assert!(!sandbox.path(".git/MERGE_HEAD").exists());
    sandbox.colony(&["restore", &op]);
    sandbox.colony(&["merge", "--continue"]);
    assert_eq!(sandbox.git(&["log", "--format=%T %P", "-1"]), log);
    sandbox.check_invariants();
}

#[test]
fn a_state_in_what_git_began_is_refused_in_words() {
    let sandbox = forked(|s| s.write("a.txt", "theirs\n"));
    sandbox.write("a.txt", "ours\n");
    sandbox.git(&["commit", "-qam", "ours"]);
    assert!(!sandbox.try_git(&["merge", "-q", "fork/try"]));
    let answer = sandbox.json(&["checkpoint", "-m", "in it", "--off-branch"]);
    let op = answer["op"].as_str().unwrap();
    sandbox.git(&["merge", "--abort"]);
    let before = sandbox.visible_state();
    let answer = sandbox.json(&["restore", op]);
    assert_eq!(answer["code"], "unsupported", "{answer:#}");
    assert_eq!(answer["detail"]["in_progress"], "merge");
    assert_eq!(sandbox.visible_state(), before);
    sandbox.colony(&["restore", op, "--mode", "files"]);
    assert!(sandbox.read("a.txt").contains("<<<<<<<"));
}
