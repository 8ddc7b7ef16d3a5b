//! Bringing states back: what changes, what stays, what is refused.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::support::Sandbox;

#[test]
fn ignored_files_stay_and_those_in_the_way_are_kept() {
    let sandbox = Sandbox::new();
    sandbox.write("out/result", "tracked\n");
    sandbox.colony(&["checkpoint", "-m", "tracked"]);
    sandbox.write(".gitignore", "out\nnote.log\n");
    sandbox.git(&["rm", "-rq", "--cached", "out"]);
    sandbox.colony(&["checkpoint", "-m", "ignored"]);
    sandbox.write("out/result", "precious build output\n");
    sandbox.write("note.log", "stays\n");
    let report = sandbox.json(&["restore", "tracked"]);
    assert_eq!(report["ignored_kept"], serde_json::json!(["out/result"]));
    assert_eq!(sandbox.read("out/result"), "tracked\n");
    assert_eq!(sandbox.read("note.log"), "stays\n");
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.read("out/result"), "precious build output\n");
}

#[test]
fn bytes_git_could_not_give_back_survive_a_restore_and_its_undo() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "filter.lossy.clean", "tr -d 0-9"]);
    sandbox.git(&["config", "filter.lossy.smudge", "cat"]);
    sandbox.write(".gitattributes", "*.crlf text eol=crlf\n*.lossy filter=lossy\n");
    sandbox.write("x.crlf", "one\r\n");
    sandbox.write("y.lossy", "abc\n");
    sandbox.write("private", "secret\n");
    sandbox.colony(&["checkpoint", "-m", "state"]);
    sandbox.write("x.crlf", "mixed\r\nline\nends\r\n");
    sandbox.write("y.lossy", "abc123 more\n");
    sandbox.write("private", "changed\n");
    sandbox.set_mode("private", 0o600);
    let before = sandbox.worktree();
    sandbox.colony(&["restore", "state"]);
    assert_eq!(sandbox.read("x.crlf"), "one\r\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.worktree(), before);
}

#[test]
fn links_as_parents_are_never_followed() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "directory"]);
    let elsewhere = sandbox.outside().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("b.txt"), "somebody else's\n").unwrap();
    sandbox.remove("dir");
    symlink(&elsewhere, sandbox.path("dir")).unwrap();
    sandbox.colony(&["restore", "directory"]);
    assert_eq!(fs::read_to_string(elsewhere.join("b.txt")).unwrap(), "somebody else's\n");
    assert!(sandbox.path("dir").symlink_metadata().unwrap().is_dir());
    assert_eq!(sandbox.read("dir/b.txt"), "bee\n");
    sandbox.colony(&["undo"]);
    assert!(sandbox.path("dir").is_symlink());
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
}

#[test]
fn files_mode_leaves_branch_and_index() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "old"]);
    sandbox.write("a.txt", "two\n");
    sandbox.write("dir/b.txt", "two\n");
    sandbox.write("extra.txt", "extra\n");
    sandbox.colony(&["checkpoint", "-m", "new"]);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let index = sandbox.git(&["ls-files", "-s"]);
    sandbox.colony(&["restore", "old", "--", "dir"]);
    assert_eq!(sandbox.read("dir/b.txt"), "bee\n");
    assert_eq!(sandbox.read("a.txt"), "two\n");
    sandbox.colony(&["restore", "old", "--mode", "files"]);
    assert_eq!(sandbox.read("a.txt"), "one\n");
    assert!(!sandbox.path("extra.txt").exists());
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(sandbox.git(&["ls-files", "-s"]), index);
    assert_eq!(sandbox.error(&["restore", "old", "--", "nowhere"]), "path-not-found");
    assert_eq!(sandbox.error(&["restore", "old", "--", "../out"]), "path-outside");
    sandbox.check_invariants();
}

#[test]
fn untracked_files_go_aside_unless_they_are_to_stay() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "clean"]);
    sandbox.write("scratch/idea", "idea\n");
    sandbox.colony(&["restore", "clean", "--keep-untracked"]);
    assert!(sandbox.path("scratch/idea").exists());
    sandbox.colony(&["restore", "clean"]);
    assert!(!sandbox.path("scratch").exists());
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.read("scratch/idea"), "idea\n");
}

#[test]
fn what_a_checkpoint_leaves_out_a_restore_leaves_alone() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "before"]);
    sandbox.write(".env", "TOKEN=1\n");
    sandbox.write("nested/file", "x\n");
    sandbox.at(sandbox.path("nested")).git(&["init", "-q"]);
    let report = sandbox.json(&["restore", "before"]);
    let left: Vec<_> =
        report["left_alone"].as_array().unwrap().iter().map(|l| &l["path"]).collect();
    assert_eq!(left, [".env", "nested"]);
    assert!(sandbox.path(".env").exists() && sandbox.path("nested/file").exists());
}

#[test]
fn a_repository_in_the_way_is_never_moved() {
    let sandbox = Sandbox::new();
    sandbox.write("thing", "a file\n");
    sandbox.colony(&["checkpoint", "-m", "file"]);
    sandbox.remove("thing");
    sandbox.colony(&["checkpoint", "-m", "gone"]);
    sandbox.write("thing/inner", "x\n");
    sandbox.at(sandbox.path("thing")).git(&["init", "-q"]);
    let before = sandbox.visible_state();
    assert_eq!(sandbox.error(&["restore", "file"]), "nested-repository-in-the-way");
    assert_eq!(sandbox.visible_state(), before);
    sandbox.check_invariants();
}

#[test]
fn submodules_are_named_and_not_touched() {
    let library = Sandbox::new();
    let sandbox = Sandbox::new();
    let url = library.root.to_str().unwrap();
    sandbox.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "lib"]);
    sandbox.colony(&["checkpoint", "-m", "one"]);
    let inner = sandbox.at(sandbox.path("lib"));
    let commit =
        ["-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "on"];
    inner.git(&commit);
    let tip = inner.git(&["rev-parse", "HEAD"]);
    sandbox.colony(&["checkpoint", "-m", "two"]);
    let report = sandbox.json(&["restore", "one"]);
    assert_eq!(report["submodules"], serde_json::json!(["lib"]));
    assert_eq!(inner.git(&["rev-parse", "HEAD"]), tip);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), " M lib");
}

#[test]
fn diverged_histories_are_not_dropped_by_accident() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "start"]);
    sandbox.write("a.txt", "two\n");
    sandbox.git(&["commit", "-qam", "second"]);
    let report = sandbox.json(&["restore", "start"]);
    assert_eq!(
        (report["ahead"].as_u64(), report["leaving"].as_array().unwrap().len()),
        (Some(1), 1)
    );
    sandbox.colony(&["undo"]);
    sandbox.git(&["checkout", "-qb", "side", "HEAD~1"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "side"]);
    sandbox.colony(&["checkpoint", "-m", "on the side"]);
    sandbox.git(&["checkout", "-q", "main"]);
    assert_eq!(sandbox.error(&["restore", "on the side"]), "diverged");
    sandbox.colony(&["restore", "on the side", "--force"]);
    sandbox.colony(&["undo"]);
    sandbox.check_invariants();
}

#[test]
fn names_that_differ_in_case_are_refused_where_they_collide() {
    let sandbox = Sandbox::new();
    sandbox.write("README", "one\n");
    sandbox.write("readme", "two\n");
    sandbox.colony(&["checkpoint", "-m", "both"]);
    sandbox.remove("readme");
    sandbox.git(&["config", "core.ignoreCase", "true"]);
    let before = sandbox.worktree();
    assert_eq!(sandbox.error(&["restore", "both"]), "path-collision");
    assert_eq!(sandbox.worktree(), before);
    sandbox.check_invariants();
}

#[test]
fn a_failing_filter_changes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitattributes", "*.x filter=broken\n");
    sandbox.write("f.x", "one\n");
    sandbox.colony(&["checkpoint", "-m", "one"]);
    sandbox.write("f.x", "two\n");
    sandbox.colony(&["checkpoint", "-m", "two"]);
    sandbox.git(&["config", "filter.broken.smudge", "false"]);
    sandbox.git(&["config", "filter.broken.clean", "cat"]);
    sandbox.git(&["config", "filter.broken.required", "true"]);
    let before = sandbox.visible_state();
    assert_eq!(sandbox.error(&["restore", "one"]), "filter-failed");
    assert_eq!(sandbox.visible_state(), before);
    sandbox.check_invariants();
}

#[test]
fn nothing_is_restored_while_git_is_in_the_middle_of_something() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "x"]);
    sandbox.git(&["bisect", "start"]);
    assert_eq!(sandbox.error(&["restore", "x"]), "operation-in-progress");
    assert_eq!(sandbox.error(&["undo"]), "operation-in-progress");
    sandbox.colony(&["checkpoint", "--off-branch", "-m", "y"]);
    sandbox.git(&["bisect", "reset"]);
    sandbox.colony(&["restore", "x"]);
}

#[test]
fn an_off_branch_checkpoint_restores_the_state_it_was_made_of() {
    let sandbox = Sandbox::new();
    sandbox.write("staged.txt", "staged\n");
    sandbox.git(&["add", "staged.txt"]);
    sandbox.write("staged.txt", "and changed\n");
    sandbox.write("untracked.txt", "untracked\n");
    sandbox.remove("a.txt");
    let before = sandbox.visible_state();
    sandbox.colony(&["checkpoint", "--off-branch", "-m", "half done"]);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "rushed"]);
    sandbox.write("staged.txt", "ruined\n");
    sandbox.colony(&["restore", "half done"]);
    let after = sandbox.visible_state();
    assert_eq!((after.index, after.worktree), (before.index, before.worktree));
    assert_eq!(sandbox.git(&["log", "--format=%s"]), "first");
    sandbox.git(&["commit", "-qm", "only this", "staged.txt"]);
    assert_eq!(sandbox.git(&["show", "--format=", "--name-only", "HEAD"]), "staged.txt");
}

#[test]
fn after_a_restore_a_plain_commit_takes_one_file() {
    let sandbox = Sandbox::new();
    for number in 0..20 {
        sandbox.write(&format!("many/{number}"), format!("{number}\n"));
    }
    sandbox.colony(&["checkpoint", "-m", "many"]);
    sandbox.remove("many");
    sandbox.colony(&["checkpoint", "-m", "none"]);
    sandbox.colony(&["restore", "many"]);
    assert_eq!(sandbox.git(&["write-tree"]), sandbox.git(&["rev-parse", "HEAD^{tree}"]));
    sandbox.write("many/7", "seven\n");
    sandbox.git(&["commit", "-qam", "one file"]);
    assert_eq!(sandbox.git(&["show", "--format=", "--name-only", "HEAD"]), "many/7");
}

#[test]
fn the_post_checkout_hook_is_called_and_cannot_spoil_a_restore() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "one"]);
    sandbox.write("a.txt", "two\n");
    sandbox.colony(&["checkpoint", "-m", "two"]);
    sandbox.write_program(
        ".git/hooks/post-checkout",
        "#!/bin/sh\necho \"$3\" >> ../hook-ran\nexit 3\n",
    );
    let run = sandbox.run(&["restore", "one"]);
    assert_eq!(run.code, 0);
    assert!(run.stderr.contains("post-checkout hook exited with 3"), "{}", run.stderr);
    assert_eq!(fs::read_to_string(sandbox.outside().join("hook-ran")).unwrap(), "1\n");
}

#[test]
fn a_dry_run_tells_and_writes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "one"]);
    sandbox.write("a.txt", "a content nobody has stored\n");
    let objects = sandbox.git(&["count-objects", "-v"]);
    let before = sandbox.visible_state();
    let plan = sandbox.json(&["restore", "one", "-n"]);
    assert_eq!(plan["files"]["rewritten"], 1);
    assert_eq!(plan["dry_run"], true);
    let kept = sandbox.json(&["checkpoint", "-m", "x", "--dry-run"]);
    assert!(kept["checkpoint_id"].is_null());
    sandbox.colony(&["undo", "--dry-run"]);
    assert_eq!(sandbox.git(&["count-objects", "-v"]), objects);
    assert_eq!(sandbox.visible_state(), before);
}

#[test]
fn an_operation_can_be_restored_like_a_checkpoint() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "one"]);
    sandbox.write("a.txt", "work in progress\n");
    sandbox.write("new.txt", "new\n");
    sandbox.colony(&["restore", "one"]);
    sandbox.write("a.txt", "something else\n");
    sandbox.colony(&["checkpoint", "-m", "three"]);
    sandbox.colony(&["restore", "op-2"]);
    assert_eq!(sandbox.read("a.txt"), "work in progress\n");
    assert_eq!(sandbox.read("new.txt"), "new\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), " M a.txt\n?? new.txt");
    assert_eq!(sandbox.error(&["restore", "op-99"]), "operation-not-found");
}

#[test]
fn any_commit_can_be_brought_back_and_named_like_one() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    sandbox.git(&["commit", "-qam", "second"]);
    let [tip, first] = ["HEAD", "HEAD~1"].map(|name| sandbox.git(&["rev-parse", name]));
    sandbox.git(&["tag", "-a", "-m", "annotated", "v1", "HEAD~1"]);
    sandbox.git(&["branch", "side", "HEAD~1"]);
    // What is not committed goes, staged or not, and comes back.
    sandbox.write("a.txt", "edited\n");
    sandbox.write("new.txt", "new\n");
    sandbox.git(&["add", "new.txt"]);
    sandbox.write("dir/untracked", "scratch\n");
    let edited = sandbox.visible_state();
    let report = sandbox.json(&["restore", "HEAD"]);
    assert_eq!(report["checkpoint_id"], tip, "{report:#}");
    assert_eq!(report["label"], "HEAD");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), tip);
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.visible_state(), edited);
    sandbox.colony(&["redo"]);
    for name in ["HEAD~1", "v1", "side", &first, &first[..9], "refs/heads/side"] {
        let told = sandbox.colony(&["restore", "-n", name]);
        assert!(told.contains("second"), "{name}: {told}");
        let report = sandbox.json(&["restore", name]);
        assert_eq!(report["leaving"], serde_json::json!([tip]), "{report:#}");
        assert_eq!(sandbox.git(&["rev-parse", "main"]), first, "{name}");
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "{name}");
        sandbox.colony(&["undo"]);
        assert_eq!(sandbox.git(&["rev-parse", "main"]), tip, "{name}");
    }
    sandbox.colony(&["restore", "side", "--", "a.txt"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), " M a.txt");
    let forked = sandbox.json(&["restore", "v1", "--mode", "fork"]);
    let label = format!("fork/from-{}", &first[..10]);
    assert_eq!(forked["branch"], label, "{forked:#}");
    sandbox.check_invariants();
}

#[test]
fn commits_of_a_remote_leave_the_branch_and_return() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    sandbox.git(&["commit", "-qam", "published"]);
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    let before = sandbox.visible_state();
    let note = "1 commit is on origin/main: the next push is refused; \
                git pull brings them back\n";
    let told = sandbox.colony(&["restore", "HEAD~1"]);
    assert!(told.contains(note), "{told}");
    assert_eq!(sandbox.read("a.txt"), "one\n");
    assert!(!sandbox.colony(&["undo"]).contains("origin/main"), "its commits are back");
    assert_eq!(sandbox.visible_state(), before);
    let told = sandbox.colony(&["redo"]);
    assert!(told.contains(note), "{told}");
    let forward = sandbox.json(&["restore", "origin/main"]);
    assert_eq!(forward["on_remote"], serde_json::Value::Null);
    assert_eq!(sandbox.json(&["undo"])["on_remote"]["count"], 1);
    sandbox.check_invariants();
}

#[test]
fn a_label_and_a_revision_are_told_apart() {
    let sandbox = Sandbox::new();
    let made = sandbox.json(&["checkpoint", "-m", "side"]);
    let id = made["checkpoint_id"].as_str().unwrap();
    sandbox.colony(&["checkpoint", "-m", "other state"]);
    sandbox.write("a.txt", "two\n");
    sandbox.git(&["commit", "-qam", "second"]);
    sandbox.git(&["tag", "side"]);
    sandbox.git(&["branch", "other"]);
    let both = sandbox.json(&["restore", "-n", "side"]);
    assert_eq!(both["code"], "name-ambiguous", "{both:#}");
    assert_eq!(both["detail"]["names"], json!([id, "refs/tags/side"]));
    for (name, rewritten) in [(id, 1), ("refs/tags/side", 0)] {
        let labelled = sandbox.json(&["restore", "-n", name]);
        assert_eq!(labelled["files"]["rewritten"], rewritten, "{labelled:#}");
    }
    let revision = sandbox.json(&["restore", "-n", "other"]);
    assert_eq!(revision["label"], "other", "{revision:#}");
    assert_eq!(revision["files"]["rewritten"], 0);
    // The same where the beginning fits more than one.
    sandbox.colony(&["checkpoint", "-m", "other place", "--off-branch"]);
    let revision = sandbox.json(&["restore", "-n", "other"]);
    assert_eq!(revision["label"], "other", "{revision:#}");
    sandbox.colony(&["checkpoint", "-m", "side", "--off-branch"]);
    let both = sandbox.json(&["restore", "side"]);
    assert_eq!(both["code"], "name-ambiguous", "{both:#}");
    assert_eq!(both["detail"]["names"].as_array().unwrap().len(), 3, "{both:#}");
}

#[test]
fn a_label_hides_neither_head_nor_a_branch() {
    let sandbox = Sandbox::new();
    let made = sandbox.json(&["checkpoint", "-m", "other"]);
    let id = made["checkpoint_id"].as_str().unwrap();
    sandbox.write("a.txt", "two\n");
    sandbox.git(&["commit", "-qam", "second"]);
    sandbox.git(&["branch", "other"]);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let refused = sandbox.json(&["restore", "other"]);
    assert_eq!(refused["code"], "name-ambiguous", "{refused:#}");
    assert_eq!(refused["detail"]["names"], json!([id, "refs/heads/other"]));
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head);
    // Another program may have given a tag any label.
    let name = format!("refs/colony/{}", id.replace("checkpoint/", "checkpoints/"));
    let tag = sandbox.git(&["cat-file", "tag", &name]);
    sandbox.write("tag", format!("{}\n", tag.replace("other", "HEAD")));
    let object = sandbox.git(&["hash-object", "-t", "tag", "-w", "tag"]);
    sandbox.git(&["update-ref", &name, object.trim()]);
    fs::remove_file(sandbox.path("tag")).unwrap();
    assert_eq!(sandbox.json(&["checkpoints"])["checkpoints"][0]["label"], "HEAD");
    for (name, commit) in
        [("HEAD", "HEAD"), ("other", "HEAD"), ("HEAD~1", "HEAD~1"), (id, "HEAD~1")]
    {
        let would = sandbox.json(&["restore", "-n", name]);
        let commit = sandbox.git(&["rev-parse", commit]);
        assert_eq!(would["sha"], commit.trim(), "{name}: {would:#}");
    }
}

#[test]
fn a_file_that_a_checkpoint_left_out_stays_on_the_disk() {
    let sandbox = Sandbox::new();
    sandbox.write(".env", "TOKEN=1\n");
    sandbox.colony(&["checkpoint", "-m", "s"]);
    sandbox.colony(&["checkpoint", "-m", "with it", "--allow-secret", ".env"]);
    sandbox.write("a.txt", "two\n");
    let before = sandbox.visible_state();
    let report = sandbox.json(&["restore", "s"]);
    assert_eq!(sandbox.read(".env"), "TOKEN=1\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "?? .env");
    assert_eq!(report["left_alone"][0]["path"], ".env", "{report:#}");
    assert_eq!(report["files"]["removed"], 0);
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.visible_state(), before);
    sandbox.check_invariants();
}

#[test]
fn commits_that_come_in_are_told_of() {
    let sandbox = Sandbox::new();
    let first = sandbox.git(&["rev-parse", "HEAD"]);
    for label in ["one", "two"] {
        sandbox.write("a.txt", label);
        sandbox.colony(&["checkpoint", "-m", label]);
    }
    let last = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.colony(&["restore", "HEAD~2"]);
    let short = |id: &str| id.trim()[..8].to_owned();
    let (from, to) = (short(&first), short(&last));
    let plan = sandbox.colony(&["restore", "two", "-n"]);
    let told = format!("'main' would move {from} -> {to}, 2 commits would come in\n");
    assert!(plan.contains(&told), "{plan}");
    let done = sandbox.json(&["restore", "two"]);
    assert_eq!(done["behind"], 2, "{done:#}");
    assert_eq!(done["branch_move"]["from"], first.trim(), "{done:#}");
    assert_eq!(done["branch_move"]["to"], last.trim(), "{done:#}");
    sandbox.colony(&["undo"]);
    let done = sandbox.colony(&["restore", "one"]);
    assert!(done.contains(", 1 commit came in\n"), "{done}");
}

#[test]
fn a_path_in_the_place_of_a_state_is_told_how_it_comes_back() {
    let sandbox = Sandbox::new();
    for (typed, kind) in [("a.txt", "file"), ("dir", "directory"), ("dir/b.txt", "file")] {
        sandbox.write("a.txt", "edited\n");
        sandbox.write("dir/b.txt", "edited\n");
        let refused = sandbox.json(&["restore", typed]);
        assert_eq!(refused["code"], "checkpoint-not-found", "{refused:#}");
        let message = refused["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("'{typed}' is a {kind}, ")), "{message}");
        let hint = format!("git colony restore HEAD -- {typed}");
        assert_eq!(refused["hint"], hint, "{refused:#}");
        let words: Vec<&str> = hint.split(' ').skip(2).collect();
        sandbox.colony(&words);
        let path = if kind == "file" { typed } else { "dir/b.txt" };
        assert_ne!(sandbox.read(path), "edited\n");
    }
    let unknown = sandbox.json(&["restore", "nothing"]);
    assert!(unknown["message"].as_str().unwrap().contains("'nothing'"));
    assert_ne!(unknown["hint"], "git colony restore HEAD -- nothing");
}

#[test]
fn an_empty_list_of_paths_does_not_bring_back_everything() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "edited\n");
    let before = sandbox.visible_state();
    for options in [&[][..], &["-n"], &["--mode", "files"]] {
        let args = [&["restore", "HEAD"], options, &["--"]].concat();
        assert_eq!(sandbox.error(&args), "usage", "{args:?}");
        assert_eq!(sandbox.visible_state(), before);
    }
    sandbox.colony(&["restore", "HEAD", "--", "a.txt"]);
    assert_eq!(sandbox.read("a.txt"), "one\n");
}

#[test]
fn restore_writes_the_executable_bit_as_git_does() {
    let sandbox = Sandbox::new();
    sandbox.write("run.sh", "true\n");
    sandbox.set_mode("run.sh", 0o755);
    sandbox.colony(&["checkpoint", "-m", "with a program"]);
    sandbox.git(&["config", "core.fileMode", "false"]);
    sandbox.remove("run.sh");
    sandbox.colony(&["restore", "with a program"]);
    assert!(sandbox.worktree()["run.sh"].starts_with("file 755"));
}
