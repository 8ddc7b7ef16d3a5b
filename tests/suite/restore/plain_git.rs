//! What plain git does between our commands: recorded, refused by undo, taken back by force.

use std::fs;

use git_colony::testing::{
    EXTERNAL_STEPS, Flags, GitHook, ObjectWrites, Session, World, plain_git,
};
use serde_json::Value;

use crate::support::fixture::Fixture;
use crate::support::{Sandbox, State};

/// A repository with one checkpoint and a branch `side` whose files differ.
fn kept() -> Sandbox {
    KEPT.copy()
}

static KEPT: Fixture = Fixture::new(|| {
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "-qb", "side"]);
    sandbox.write("a.txt", "side\n");
    sandbox.write("only-side.txt", "side\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "work on the side"]);
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.write("c.txt", "sea\n");
    sandbox.colony(&["checkpoint", "-m", "base"]);
    sandbox
});

fn with_refs_like(state: &State, worktree: &State) -> State {
    State { worktree: worktree.worktree.clone(), ..state.clone() }
}

/// Takes `change` back by force, and checks refusal, undo, redo, and that undo goes on.
fn assert_taken_back(sandbox: &Sandbox, before: &State, files: Files) {
    let changed = sandbox.visible_state();
    let refusal = sandbox.json(&["undo"]);
    assert_eq!(refusal["code"], "external-change", "{refusal:#}");
    assert!(refusal["hint"].as_str().unwrap().contains("git colony undo --force"));
    assert_eq!(sandbox.visible_state(), changed, "the refusal changed something");
    let plan = sandbox.json(&["undo", "--force", "--dry-run"]);
    assert_eq!(sandbox.visible_state(), changed, "the dry run changed something");
    let undone = sandbox.json(&["undo", "--force"]);
    assert_eq!(undone["ok"], true, "{undone:#}");
    assert_eq!(plan["refs"], undone["refs"]);
    assert_eq!(plan["files_restored"], undone["files_restored"]);
    let wanted = match files {
        Files::Follow => before.clone(),
        Files::Stay => with_refs_like(before, &changed),
    };
    assert_eq!(sandbox.visible_state(), wanted);
    sandbox.colony(&["redo"]);
    assert_eq!(sandbox.visible_state(), changed);
    assert_eq!(sandbox.error(&["undo"]), "external-change");
    sandbox.colony(&["undo", "--force"]);
    assert_eq!(sandbox.visible_state(), wanted);
    sandbox.colony(&["undo"]);
    assert!(!sandbox.refs().contains("refs/tags/checkpoint"), "the checkpoint is undone as well");
    sandbox.check_invariants();
}

#[derive(Clone, Copy)]
enum Files {
    Follow,
    Stay,
}

fn kinds(sandbox: &Sandbox) -> Vec<String> {
    let ops = sandbox.json(&["ops"]);
    let ops = ops["ops"].as_array().unwrap().iter();
    ops.map(|op| op["kind"].as_str().unwrap().to_owned()).collect()
}

fn newest(sandbox: &Sandbox) -> Value {
    sandbox.json(&["ops"])["ops"].as_array().unwrap().last().unwrap().clone()
}

#[test]
fn copies_of_what_these_tests_begin_with_are_whole() {
    KEPT.check();
}

#[test]
fn a_commit_becomes_uncommitted_changes_again() {
    let sandbox = kept();
    let before = sandbox.visible_state();
    sandbox.write("a.txt", "committed\n");
    sandbox.write("new.txt", "new\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "by hand"]);
    assert_taken_back(&sandbox, &before, Files::Stay);
}

#[test]
fn an_amended_commit_comes_back() {
    let sandbox = kept();
    let before = sandbox.visible_state();
    sandbox.write("a.txt", "amended\n");
    sandbox.git(&["commit", "-qa", "--amend", "-m", "reworded"]);
    assert_taken_back(&sandbox, &before, Files::Stay);
}

#[test]
fn what_was_added_or_removed_from_the_index_comes_back() {
    for change in [&["add", "a.txt"][..], &["rm", "-q", "--cached", "c.txt"]] {
        let sandbox = kept();
        let before = sandbox.visible_state();
        sandbox.write("a.txt", "added\n");
        sandbox.git(change);
        assert_taken_back(&sandbox, &before, Files::Stay);
    }
}

#[test]
fn soft_and_mixed_resets_leave_files_alone_both_ways() {
    for mode in ["--soft", "--mixed"] {
        let sandbox = kept();
        let before = sandbox.visible_state();
        sandbox.write("untracked.txt", "mine\n");
        sandbox.git(&["reset", "-q", mode, "HEAD~1"]);
        assert_taken_back(&sandbox, &before, Files::Stay);
    }
}

#[test]
fn a_hard_reset_gives_its_files_back() {
    let sandbox = kept();
    let before = sandbox.visible_state();
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    assert_taken_back(&sandbox, &before, Files::Follow);
}

#[test]
fn commits_dropped_by_a_hard_reset_survive_garbage_collection() {
    let sandbox = kept();
    let before = sandbox.visible_state();
    sandbox.write("a.txt", "to be dropped\n");
    sandbox.git(&["commit", "-qam", "dropped"]);
    sandbox.colony(&["tag", "-m", "records the commit", "HEAD~1"]);
    sandbox.git(&["reset", "-q", "--hard", "HEAD~2"]);
    sandbox.git(&["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(&["gc", "-q", "--prune=now"]);
    sandbox.colony(&["undo", "--force"]);
    assert_eq!(sandbox.read("a.txt"), "to be dropped\n");
    sandbox.colony(&["undo"]);
    sandbox.colony(&["undo", "--force"]);
    let now = sandbox.visible_state();
    assert_eq!((now.refs, now.index), (before.refs, before.index));
    sandbox.check_invariants();
}

#[test]
fn a_switch_of_branches_comes_back_with_its_files() {
    for change in [
        &["checkout", "-q", "side"][..],
        &["switch", "-q", "side"],
        &["checkout", "-q", "--detach", "side"],
    ] {
        let sandbox = kept();
        let before = sandbox.visible_state();
        sandbox.git(change);
        assert_taken_back(&sandbox, &before, Files::Follow);
    }
}

#[test]
fn a_detached_head_is_put_back_where_it_was() {
    let sandbox = kept();
    sandbox.git(&["checkout", "-q", "--detach"]);
    sandbox.write("a.txt", "detached\n");
    sandbox.colony(&["checkpoint", "-m", "on no branch"]);
    let before = sandbox.visible_state();
    sandbox.git(&["checkout", "-q", "side"]);
    sandbox.colony(&["undo", "--force"]);
    assert_eq!(sandbox.visible_state(), before);
    sandbox.colony(&["redo"]);
    assert!(sandbox.visible_state().head.contains("refs/heads/side"));
    sandbox.check_invariants();
}

#[test]
fn a_new_branch_stays_and_head_leaves_it() {
    let sandbox = kept();
    let before = sandbox.visible_state();
    sandbox.git(&["switch", "-qc", "idea"]);
    sandbox.write("a.txt", "an idea\n");
    sandbox.git(&["commit", "-qam", "an idea"]);
    let idea = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.colony(&["undo", "--force"]);
    let now = sandbox.visible_state();
    assert_eq!((now.head, now.index), (before.head, before.index));
    assert_eq!(sandbox.git(&["rev-parse", "idea"]), idea);
    assert_eq!(sandbox.read("a.txt"), "an idea\n", "it was committed, not checked out");
    sandbox.check_invariants();
}

#[test]
fn a_renamed_branch_comes_back_under_its_old_name() {
    let sandbox = kept();
    let before = sandbox.visible_state();
    sandbox.git(&["branch", "-m", "main", "trunk"]);
    sandbox.colony(&["undo", "--force"]);
    let now = sandbox.visible_state();
    assert_eq!((&now.head, &now.index), (&before.head, &before.index));
    assert!(now.refs.contains("refs/heads/trunk"), "a branch of the user's stays");
    sandbox.colony(&["undo"]);
    sandbox.check_invariants();
}

#[test]
fn merges_and_picks_come_back_with_their_files() {
    for change in [
        &["merge", "-q", "--no-edit", "side"][..],
        &["cherry-pick", "side"],
        &["rebase", "-q", "side"],
        &["revert", "--no-edit", "HEAD"],
    ] {
        let sandbox = kept();
        let before = sandbox.visible_state();
        sandbox.git(change);
        assert_taken_back(&sandbox, &before, Files::Follow);
    }
}

#[test]
fn a_merge_is_recorded_when_it_has_ended() {
    let sandbox = kept();
    sandbox.write("a.txt", "in the way\n");
    sandbox.colony(&["checkpoint", "-m", "ours"]);
    let before = sandbox.visible_state();
    assert!(!sandbox.try_git(&["merge", "-q", "side"]));
    sandbox.colony(&["checkpoint", "--off-branch", "-m", "conflicted"]);
    assert_eq!(kinds(&sandbox), ["checkpoint"; 3], "a conflict is no state to record");
    assert_eq!(sandbox.error(&["undo", "--force"]), "operation-in-progress");
    sandbox.write("a.txt", "settled\n");
    sandbox.git(&["commit", "-qam", "merged"]);
    sandbox.colony(&["undo", "--force"]);
    assert_eq!(newest(&sandbox)["kind"], "undo");
    let now = sandbox.visible_state();
    assert_eq!((&now.head, &now.index), (&before.head, &before.index));
    assert_eq!(sandbox.read("a.txt"), "in the way\n");
    // Only this checkpoint has the conflict.
    assert_eq!(sandbox.error(&["undo"]), "checkpoint-needed");
    sandbox.colony(&["undo", "--force"]);
    sandbox.colony(&["undo"]);
    sandbox.check_invariants();
}

#[test]
fn edits_made_since_are_moved_aside_and_come_back() {
    let sandbox = kept();
    sandbox.git(&["checkout", "-q", "side"]);
    sandbox.write("a.txt", "edited on the side\n");
    sandbox.write("dir/b.txt", "edited, and the same on both\n");
    sandbox.colony(&["undo", "--force"]);
    assert_eq!(sandbox.read("a.txt"), "one\n");
    assert_eq!(sandbox.read("dir/b.txt"), "edited, and the same on both\n");
    sandbox.colony(&["redo"]);
    assert_eq!(sandbox.read("a.txt"), "edited on the side\n");
    sandbox.check_invariants();
}

#[test]
fn what_does_not_matter_is_stepped_over() {
    let sandbox = kept();
    let first = sandbox.git(&["rev-parse", "HEAD~1"]);
    sandbox.git(&["update-index", "--refresh"]);
    sandbox.git(&["branch", "-f", "side", "main"]);
    sandbox.git(&["tag", "v1"]);
    sandbox.git(&["update-ref", "refs/remotes/origin/other", &first]);
    sandbox.write("a.txt", "an edit\n");
    sandbox.write("untracked.txt", "new\n");
    sandbox.git(&["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(&["gc", "-q", "--prune=now"]);
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), first);
    assert_eq!(kinds(&sandbox), ["checkpoint", "undo"]);
    sandbox.check_invariants();
}

#[test]
fn every_changing_command_records_first() {
    let commands: [&[&str]; 4] = [
        &["checkpoint", "-m", "next"],
        &["checkpoint", "--off-branch", "-m", "next"],
        &["tag", "-m", "next"],
        &["restore", "base"],
    ];
    for command in commands {
        let sandbox = kept();
        sandbox.write("a.txt", "by hand\n");
        sandbox.git(&["commit", "-qam", "by hand"]);
        sandbox.write("a.txt", "later\n");
        sandbox.colony(command);
        let ops = sandbox.json(&["ops"]);
        assert_eq!(ops["ops"][1]["kind"], "external", "{command:?}");
        assert_eq!(ops["ops"][1]["summary"], "commit: by hand");
        assert_eq!(ops["ops"][2]["op"], "op-3");
        sandbox.colony(&["undo"]);
        assert_eq!(sandbox.error(&["undo"]), "external-change", "{command:?}");
        sandbox.check_invariants();
    }
}

#[test]
fn the_first_operation_and_automatic_ones_record_nothing() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "first"]);
    assert_eq!(kinds(&sandbox), ["checkpoint"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "plain"]);
    sandbox.write("a.txt", "work\n");
    sandbox.automatic_checkpoint();
    sandbox.colony(&["status"]);
    sandbox.colony(&["ops"]);
    sandbox.colony(&["checkpoint", "-m", "plan", "--dry-run"]);
    assert_eq!(kinds(&sandbox), ["checkpoint"]);
}

#[test]
fn the_summary_tells_what_it_was() {
    let cases: [(&[&[&str]], &str); 5] = [
        (&[&["checkout", "-q", "side"]], "git switched from main to side"),
        (&[&["reset", "-q", "--hard", "HEAD~1"]], "reset: moving to HEAD~1"),
        (&[&["rm", "-q", "--cached", "a.txt", "c.txt"]], "git changed the index of 2 paths"),
        (
            &[&["update-index", "--assume-unchanged", "a.txt"]],
            "git changed flags or stages of the index",
        ),
        (
            &[
                &["commit", "-q", "--allow-empty", "-m", "x"],
                &["commit", "-q", "--allow-empty", "-m", "y"],
            ],
            "commit: y (the last of 2 moves of HEAD)",
        ),
    ];
    for (commands, summary) in cases {
        let sandbox = kept();
        for command in commands {
            sandbox.git(command);
        }
        sandbox.colony(&["tag", "-m", "records"]);
        assert_eq!(sandbox.json(&["ops"])["ops"][1]["summary"], summary);
    }
}

#[test]
fn without_a_reflog_it_is_found_all_the_same() {
    let sandbox = kept();
    sandbox.git(&["config", "core.logAllRefUpdates", "false"]);
    fs::remove_dir_all(sandbox.path(".git/logs")).unwrap();
    let before = sandbox.visible_state();
    sandbox.git(&["checkout", "-q", "side"]);
    let refusal = sandbox.json(&["undo"]);
    assert_eq!(refusal["detail"]["summary"], "HEAD went from 'main' to 'side'");
    sandbox.colony(&["undo", "--force"]);
    assert_eq!(sandbox.visible_state(), before);
    sandbox.check_invariants();
}

#[test]
fn a_branch_in_another_worktree_is_not_taken() {
    let sandbox = kept();
    sandbox.git(&["checkout", "-q", "side"]);
    let linked = sandbox.outside().join("linked");
    sandbox.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "main"]);
    let before = sandbox.visible_state();
    assert_eq!(sandbox.error(&["undo", "--force"]), "branch-in-use");
    assert_eq!(sandbox.visible_state(), before);
    sandbox.check_invariants();
}

#[test]
fn commits_of_a_remote_are_counted() {
    let sandbox = kept();
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "pushed"]);
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    let undone = sandbox.json(&["undo", "--force"]);
    assert_eq!(undone["on_remote"]["count"], 1);
}

#[test]
fn a_redone_change_of_plain_git_is_named_as_one() {
    let sandbox = kept();
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "plain"]);
    sandbox.colony(&["undo", "--force"]);
    let few = sandbox.json(&["redo", "3", "-n"]);
    let told = "there is 1 step to redo in this worktree, not 3";
    let refused = &few["refused"];
    assert_eq!(refused["message"].as_str().unwrap().split(';').next(), Some(told));
    assert_eq!(refused["hint"], "git colony redo 1 -n");
    sandbox.colony(&["redo"]);
    let refused = sandbox.json(&["undo"]);
    let message = refused["message"].as_str().unwrap();
    let start = "the newest step, op-4, redid a change by plain git: 'commit: plain'";
    assert!(message.starts_with(start), "{message}");
}

#[test]
fn a_switch_from_a_detached_head_has_short_ids() {
    let sandbox = kept();
    sandbox.git(&["checkout", "-q", "--detach"]);
    sandbox.colony(&["checkpoint", "-m", "detached"]);
    let detached = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["checkout", "-q", "side"]);
    let refused = sandbox.json(&["undo"]);
    let told = format!("git switched from {} to side", &detached[..8]);
    assert_eq!(refused["detail"]["summary"], told);
    assert_eq!(refused["detail"]["changes"][0], "HEAD (detached) -> 'side'");
}

#[test]
fn redo_is_refused_after_plain_git_and_then_there_is_none() {
    let sandbox = kept();
    sandbox.colony(&["undo"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "plain"]);
    let before = sandbox.visible_state();
    assert_eq!(sandbox.error(&["redo"]), "external-change");
    assert_eq!(sandbox.error(&["redo", "--force"]), "external-change");
    assert_eq!(sandbox.visible_state(), before);
    sandbox.colony(&["tag", "-m", "records"]);
    assert_eq!(sandbox.error(&["redo"]), "nothing-to-undo");
}

#[test]
fn a_tag_that_was_deleted_by_hand_takes_force() {
    let sandbox = kept();
    let tag = sandbox.git(&["for-each-ref", "--format=%(refname)", "refs/colony/checkpoints"]);
    sandbox.git(&["update-ref", "-d", &tag]);
    assert_eq!(sandbox.error(&["undo"]), "external-change");
    sandbox.colony(&["undo", "--force"]);
    assert_eq!(sandbox.git(&["log", "--format=%s"]), "first");
    sandbox.check_invariants();
}

#[test]
fn the_state_before_an_external_step_can_be_restored() {
    let sandbox = kept();
    let before = sandbox.visible_state();
    sandbox.git(&["rm", "-q", "c.txt"]);
    sandbox.git(&["commit", "-qm", "removed"]);
    sandbox.colony(&["tag", "-m", "records", "HEAD~1"]);
    let tag = sandbox.git(&[
        "for-each-ref",
        "--format=%(refname)",
        "--sort=-refname",
        "refs/colony/checkpoints",
    ]);
    sandbox.git(&["update-ref", "-d", tag.lines().next().unwrap()]);
    sandbox.colony(&["restore", "op-2"]);
    assert_eq!(sandbox.visible_state(), before);
    sandbox.check_invariants();
}

#[test]
fn a_death_around_the_recording_loses_nothing() {
    for (number, step) in EXTERNAL_STEPS.iter().enumerate() {
        let sandbox = kept();
        sandbox.git(&["checkout", "-q", "side"]);
        let before = sandbox.visible_state();
        let world = World { die_at: Some(step), ..sandbox.world() };
        assert_ne!(sandbox.run_in(world, &["undo", "--force"]).code, 0);
        assert_eq!(sandbox.visible_state(), before, "killed at {step}");
        assert_eq!(kinds(&sandbox).len(), 1 + number);
        sandbox.check_invariants();
        sandbox.colony(&["undo", "--force"]);
        assert_eq!(kinds(&sandbox), ["checkpoint", "external", "undo"]);
        assert_eq!(sandbox.git(&["branch", "--show-current"]), "main");
    }
}

fn hooked(sandbox: &Sandbox, hook: GitHook, inside: bool) -> Option<String> {
    let mut world = sandbox.world();
    if inside {
        world.variables.insert("COLONY_OPERATION".into(), "op-1".into());
    }
    let session = Session::open(world, &Flags::default(), ObjectWrites::Durable).unwrap();
    plain_git::record(&session, hook).map(|op| op.to_string())
}

#[test]
fn a_reset_to_head_does_not_make_a_later_commit_move_files() {
    let sandbox = kept();
    sandbox.git(&["reset", "-q", "--mixed", "HEAD~0"]);
    sandbox.remove("dir");
    std::os::unix::fs::symlink("../elsewhere", sandbox.path("dir")).unwrap();
    let before = sandbox.worktree();
    sandbox.git(&["commit", "-qam", "the link is untracked"]);
    sandbox.colony(&["undo", "--force"]);
    assert_eq!(sandbox.worktree(), before);
    sandbox.check_invariants();
}

#[test]
fn from_a_hook_each_change_is_a_step_of_its_own() {
    let sandbox = kept();
    for subject in ["one", "two"] {
        sandbox.git(&["commit", "-q", "--allow-empty", "-m", subject]);
        assert_eq!(hooked(&sandbox, GitHook::PostCommit, true), None);
        assert!(hooked(&sandbox, GitHook::PostCommit, false).is_some());
        assert_eq!(hooked(&sandbox, GitHook::PostCommit, false), None, "it is known by then");
    }
    sandbox.colony(&["undo", "--force"]);
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s"]), "one");
    sandbox.check_invariants();
}

#[test]
fn a_hook_creates_nothing_where_we_have_never_been() {
    let sandbox = Sandbox::new();
    assert_eq!(hooked(&sandbox, GitHook::PostCommit, false), None);
    assert!(!sandbox.path(".git/colony").exists());
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "work\n");
    sandbox.automatic_checkpoint();
    sandbox.git(&["commit", "-qam", "plain"]);
    assert_eq!(hooked(&sandbox, GitHook::PostCommit, false), None);
    assert_eq!(sandbox.json(&["ops"])["count"], 0);
}

#[test]
fn a_file_that_was_only_added_to_the_index_stays_where_it_is() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["tag", "-m", "begin"]);
    sandbox.write("new.txt", "new\n");
    // It moves no file, but git writes down no more of it than of one that does.
    sandbox.git(&["reset", "-q", "--mixed", "HEAD"]);
    sandbox.git(&["add", "new.txt"]);
    sandbox.colony(&["undo", "--force"]);
    assert_eq!(sandbox.read("new.txt"), "new\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "?? new.txt");
}

#[test]
fn what_redo_of_plain_git_moved_aside_comes_back_as_it_was() {
    let sandbox = kept();
    sandbox.write("c.txt", "staged\n");
    sandbox.git(&["add", "c.txt"]);
    sandbox.colony(&["checkpoint", "--off-branch", "-m", "staged"]);
    sandbox.git(&["reset", "-q", "--hard"]);
    sandbox.colony(&["undo", "--force"]);
    sandbox.write("c.txt", "edited since\n");
    let before = sandbox.visible_state();
    sandbox.colony(&["redo"]);
    assert_eq!(sandbox.read("c.txt"), "sea\n");
    sandbox.colony(&["undo", "--force"]);
    assert_eq!(sandbox.visible_state(), before);
}

#[test]
fn a_removal_from_the_index_after_an_empty_reset_keeps_files() {
    let sandbox = kept();
    let before = sandbox.visible_state();
    sandbox.remove("dir");
    sandbox.write("dir", "a file now\n");
    sandbox.git(&["reset", "-q", "--soft", "HEAD"]);
    sandbox.git(&["rm", "-q", "--cached", "dir/b.txt"]);
    assert_taken_back(&sandbox, &before, Files::Stay);
}

/// A checkpoint on `main`, a fork that was taken back, and one commit that has come to `main` meanwhile.
fn grown_elsewhere() -> Sandbox {
    let sandbox = kept();
    sandbox.colony(&["fork", "away"]);
    sandbox.git(&["commit", "-qm", "one", "--allow-empty"]);
    sandbox.git(&["commit", "-qm", "two", "--allow-empty"]);
    sandbox.git(&["branch", "-f", "main", "HEAD~1"]);
    sandbox.colony(&["undo", "--force"]);
    sandbox.colony(&["undo", "--force"]);
    sandbox
}

#[test]
fn commits_made_while_head_was_elsewhere_are_one_more_step() {
    let sandbox = grown_elsewhere();
    let grown = sandbox.visible_state();
    let refused = sandbox.json(&["undo"]);
    assert_eq!(refused["code"], "external-change", "{refused:#}");
    assert_eq!(refused["detail"]["summary"], "'main' was moved");
    assert_eq!(sandbox.visible_state(), grown);
    let undone = sandbox.json(&["undo", "--force"]);
    assert_eq!(undone["what"], "'main' was moved", "{undone:#}");
    let subject = sandbox.git(&["log", "-1", "--format=%s"]);
    assert_eq!(subject, "checkpoint: base");
    assert_eq!(sandbox.json(&["undo"])["what"], "checkpoint 'base'");
    sandbox.colony(&["redo"]);
    sandbox.colony(&["redo"]);
    assert_eq!(sandbox.visible_state(), grown);
}

#[test]
fn a_fork_is_redone_whatever_came_to_the_branch_it_left() {
    let sandbox = grown_elsewhere();
    let main = sandbox.git(&["rev-parse", "main"]);
    sandbox.colony(&["redo"]);
    assert_eq!(sandbox.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/fork/away");
    assert_eq!(sandbox.git(&["rev-parse", "main"]), main);
    sandbox.check_invariants();
}
