//! A command that dies at a named step: the next one finishes or cancels it.

use std::fs;

use git_colony::testing::{STEPS, World};

use crate::support::{Sandbox, State, eventually};

/// A repository in which a restore has something of everything to do.
fn prepared() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.log\n");
    sandbox.write("swap/inner", "inner\n");
    sandbox.write("private", "kept at 600\n");
    sandbox.write("old.log/deep", "tracked although its name is ignored\n");
    sandbox.git(&["add", "-Af"]);
    sandbox.colony(&["checkpoint", "-m", "good"]);
    sandbox.remove("swap");
    sandbox.write("swap", "a file now\n");
    sandbox.remove("old.log");
    sandbox.write("old.log", "ignored and in the way\n");
    sandbox.write("private", "changed\n");
    sandbox.set_mode("private", 0o600);
    sandbox.write("new/file.txt", "new\n");
    sandbox
}

fn die(sandbox: &Sandbox, step: &'static str, args: &[&str]) -> u8 {
    let world = World { die_at: Some(step), ..sandbox.world() };
    sandbox.run_in(world, args).code
}

/// Kills `args` at every step; afterwards everything is as before or as after.
fn assert_survives(
    prepare: impl Fn() -> Sandbox,
    args: &[&str],
    visible: impl Fn(&Sandbox) -> State,
) {
    let reference = prepare();
    let before = visible(&reference);
    reference.colony(args);
    let after = visible(&reference);
    assert_ne!(before, after);
    let committed = STEPS.iter().position(|step| *step == "committed").unwrap();
    for (number, step) in STEPS.iter().enumerate() {
        let sandbox = prepare();
        if die(&sandbox, step, args) == 0 {
            assert!(*step == "index-locked" || number == 0, "{args:?} never reached {step}");
            continue;
        }
        sandbox.automatic_checkpoint();
        let wanted = if number < committed { &before } else { &after };
        assert_eq!(visible(&sandbox), *wanted, "{args:?} killed at {step}");
        sandbox.check_invariants();
        if number < committed {
            sandbox.colony(args);
            assert_eq!(visible(&sandbox), after, "{args:?} again after {step}");
        }
    }
}

/// What two runs of the same command have in common: all but ids of commits and tags.
fn comparable(sandbox: &Sandbox) -> State {
    let mut state = sandbox.visible_state();
    let tree = sandbox.git(&["rev-parse", "HEAD^{tree}"]);
    let tags = sandbox.git(&["for-each-ref", "--format=%(contents:subject) %(*tree)", "refs/tags"]);
    state.refs = format!("{tree}\n{tags}");
    state
}

#[test]
fn a_checkpoint_survives_a_death_at_every_step() {
    assert_survives(prepared, &["checkpoint", "-m", "later"], comparable);
}

#[test]
fn a_restore_survives_a_death_at_every_step() {
    assert_survives(prepared, &["restore", "good"], comparable);
    assert_survives(prepared, &["restore", "good", "--mode", "files"], comparable);
}

#[test]
fn undo_and_redo_survive_a_death_at_every_step() {
    let restored = || {
        let sandbox = prepared();
        sandbox.colony(&["restore", "good"]);
        sandbox
    };
    assert_survives(restored, &["undo"], comparable);
    let undone = || {
        let sandbox = restored();
        sandbox.colony(&["undo"]);
        sandbox
    };
    assert_survives(undone, &["redo"], comparable);
}

#[test]
fn status_tells_of_an_operation_that_was_cut_off() {
    let sandbox = prepared();
    die(&sandbox, "committed", &["restore", "good"]);
    let status = sandbox.json(&["status"]);
    assert_eq!(status["pending_operation"]["op"], "op-2");
    assert_eq!(status["health"][0]["name"], "pending-operation");
    sandbox.automatic_checkpoint();
    assert!(sandbox.json(&["status"])["pending_operation"].is_null());
}

#[test]
fn an_edit_made_between_death_and_recovery_is_not_lost() {
    let sandbox = prepared();
    die(&sandbox, "refs-moved", &["restore", "good"]);
    sandbox.write("private", "edited after the crash\n");
    sandbox.automatic_checkpoint();
    assert_eq!(sandbox.read("private"), "kept at 600\n");
    sandbox.check_invariants();
    let kept = fs::read_dir(sandbox.path(".git/colony-kept")).unwrap().next().unwrap().unwrap();
    let all = crate::support::worktree_of(&kept.path());
    let all: Vec<_> = all.values().collect();
    assert!(all.iter().any(|file| file.contains("edited after the crash")), "{all:?}");
}

#[test]
fn an_operation_overtaken_by_git_is_cancelled_not_forced() {
    let sandbox = prepared();
    die(&sandbox, "committed", &["restore", "good"]);
    fs::remove_file(sandbox.path(".git/index.lock")).unwrap();
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "somebody went on"]);
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    let before = sandbox.worktree();
    sandbox.automatic_checkpoint();
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), tip);
    assert_eq!(sandbox.worktree(), before);
    sandbox.check_invariants();
}

#[test]
fn a_foreign_index_lock_is_reported_and_left() {
    let sandbox = prepared();
    sandbox.write(".git/index.lock", "");
    let answer = sandbox.json(&["--timeout", "2", "checkpoint", "-m", "x"]);
    assert_eq!(answer["code"], "locked");
    assert!(answer["message"].as_str().unwrap().contains("index.lock"));
    assert!(answer["detail"]["age_seconds"].is_u64());
    assert!(sandbox.path(".git/index.lock").exists());
    fs::remove_file(sandbox.path(".git/index.lock")).unwrap();
    sandbox.colony(&["checkpoint", "-m", "x"]);
    sandbox.check_invariants();
}

#[test]
fn a_foreign_lock_on_head_is_named_with_its_age_and_a_way_out() {
    let sandbox = Sandbox::new();
    let lock = sandbox.path(".git/HEAD.lock");
    assert_ne!(die(&sandbox, "committed", &["fork", "f1"]), 0);
    fs::write(&lock, "somebody's").unwrap();
    let answer = sandbox.json(&["checkpoint", "--auto"]);
    assert_eq!(answer["code"], "recovery-needed", "{answer:#}");
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains(lock.to_str().unwrap()), "{message}");
    assert!(message.contains(" s old)"), "{message}");
    let hint = answer["hint"].as_str().unwrap();
    assert!(hint.starts_with(&format!("rm '{}'", lock.display())), "{hint}");
    assert_eq!(fs::read_to_string(&lock).unwrap(), "somebody's");
    fs::remove_file(lock).unwrap();
    sandbox.automatic_checkpoint();
    let on = sandbox.git(&["symbolic-ref", "HEAD"]);
    assert_eq!(on.trim_end(), "refs/heads/fork/f1");
    sandbox.check_invariants();
}

#[test]
fn a_fork_that_meets_a_foreign_lock_on_head_is_taken_back() {
    let sandbox = Sandbox::new();
    let before = sandbox.visible_state();
    sandbox.write(".git/HEAD.lock", "");
    let answer = sandbox.json(&["fork", "f1"]);
    assert_eq!(answer["code"], "locked", "{answer:#}");
    assert!(answer["hint"].as_str().unwrap().contains("HEAD.lock"));
    fs::remove_file(sandbox.path(".git/HEAD.lock")).unwrap();
    assert_eq!(sandbox.visible_state(), before);
    sandbox.check_invariants();
}

#[test]
fn a_live_command_of_ours_is_waited_for() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "first"]);
    let lock = fs::File::open(sandbox.path(".git/colony/lock")).unwrap();
    lock.lock().unwrap();
    sandbox.write("a.txt", "changed\n");
    assert_eq!(sandbox.error(&["--timeout", "0.05", "checkpoint", "-m", "x"]), "locked");
    let auto = sandbox.json(&["checkpoint", "--auto"]);
    assert_eq!((auto["changed"].as_bool(), auto["reason"].as_str()), (Some(false), Some("busy")));
    drop(lock);
    sandbox.colony(&["checkpoint", "-m", "x"]);
}

#[test]
fn a_cut_off_undo_is_completed_by_the_next_one_and_no_more() {
    for (way, back) in [("undo", "redo"), ("redo", "undo")] {
        for step in ["committed", "refs-moved", "files-moved", "index-replaced"] {
            let sandbox = prepared();
            sandbox.colony(&["restore", "good"]);
            sandbox.write("swap/inner", "changed since\n");
            sandbox.colony(&["checkpoint", "-m", "newer"]);
            if way == "redo" {
                sandbox.colony(&["undo"]);
                sandbox.colony(&["undo"]);
            }
            let reference = sandbox.visible_state();
            sandbox.colony(&[way]);
            let once = sandbox.visible_state();
            sandbox.colony(&[back]);
            assert_eq!(sandbox.visible_state(), reference, "{way} {step}");
            assert_ne!(die(&sandbox, step, &[way]), 0, "{way} {step}");
            let again = sandbox.json(&[way]);
            assert_eq!(again["completed"], true, "{again:#}");
            assert_eq!(sandbox.visible_state(), once, "{way} {step}");
            let next = sandbox.json(&[way]);
            assert_eq!(next["completed"], false, "{next:#}");
            assert_ne!(sandbox.visible_state(), once, "{way} {step}");
        }
    }
}

#[test]
fn an_undo_cut_off_before_its_commit_point_starts_again() {
    let sandbox = prepared();
    sandbox.colony(&["restore", "good"]);
    let after = sandbox.visible_state();
    assert_ne!(die(&sandbox, "prepared", &["undo"]), 0);
    let again = sandbox.json(&["undo"]);
    assert_eq!(again["completed"], false, "{again:#}");
    sandbox.colony(&["redo"]);
    assert_eq!(sandbox.visible_state(), after);
}

/// Holds a lock of git by a git that lives, from the moment a transaction of ours is at `state`.
fn hold_lock_from(sandbox: &Sandbox, state: &str, lock: &str, commands: &str) {
    let fifo = sandbox.outside().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
    let script = format!(
        "#!/bin/sh\nlines=$(cat)\n[ \"$1\" = {state} ] && [ ! -e '{mark}' ] || exit 0\n\
         case \"$lines\" in *refs/heads/*) ;; *) exit 0;; esac\n: >'{mark}'\n\
         unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE\n\
         ( (printf '{commands}'; cat '{fifo}') | \
         {{ git -C '{root}' update-ref --no-deref --stdin; : >'{mark}-ended'; }} ) \
         </dev/null >/dev/null 2>&1 &\n\
         until [ -e '{root}/.git/{lock}' ] || [ -e '{mark}-ended' ]; do sleep 0.01; done\n",
        mark = sandbox.outside().join("mark").display(),
        fifo = fifo.display(),
        root = sandbox.root.display(),
    );
    sandbox.write_program(".git/hooks/reference-transaction", script);
}

#[test]
fn a_git_that_holds_a_lock_as_refs_move_leaves_all_or_nothing() {
    for state in ["prepared", "committed"] {
        for lock in ["HEAD.lock", "packed-refs.lock"] {
            let sandbox = Sandbox::new();
            sandbox.colony(&["checkpoint", "-m", "base"]);
            sandbox.git(&["branch", "victim"]);
            sandbox.colony(&["fork", "work"]);
            sandbox.git(&["pack-refs", "--all"]);
            sandbox.write("a.txt", "edited\n");
            let head = sandbox.git(&["rev-parse", "HEAD"]);
            let commands = match lock {
                "HEAD.lock" => format!("start\\nupdate HEAD {head}\\nprepare\\n"),
                _ => "start\\ndelete refs/heads/victim\\nprepare\\n".to_owned(),
            };
            hold_lock_from(&sandbox, state, lock, &commands);
            let answer = sandbox.json(&["--timeout", "0.5", "undo"]);
            let held = sandbox.path(&format!(".git/{lock}")).exists();
            let code = answer["code"].as_str().unwrap_or("ok").to_owned();
            assert!(
                ["ok", "locked", "recovery-needed"].contains(&code.as_str()),
                "{state} {lock}: {answer:#}"
            );
            // The other git goes, and takes back what it had begun.
            drop(std::fs::OpenOptions::new().write(true).open(sandbox.outside().join("fifo")));
            let lock_file = sandbox.path(&format!(".git/{lock}"));
            eventually(&format!("{state} {lock}: {answer:#}"), || !lock_file.exists());
            sandbox.remove(".git/hooks/reference-transaction");
            sandbox.automatic_checkpoint();
            assert!(!sandbox.path(".git/colony/pending").exists(), "{state} {lock} {held}");
            assert_eq!(sandbox.read("a.txt"), "edited\n");
            let branch = sandbox.git(&["symbolic-ref", "--short", "HEAD"]);
            // What could be neither finished nor taken back is one or the other with the next command.
            let wanted: &[&str] = match code.as_str() {
                "ok" => &["main"],
                "locked" => &["fork/work"],
                _ => &["main", "fork/work"],
            };
            assert!(wanted.contains(&branch.as_str()), "{state} {lock}: {answer:#}");
            let forks = sandbox.git(&["branch", "--list", "fork/work"]);
            assert_eq!(forks.is_empty(), branch == "main", "{state} {lock}: {answer:#}");
            sandbox.check_invariants();
        }
    }
}
