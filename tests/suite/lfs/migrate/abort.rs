//! Taking a migration to git-lfs back after work has gone on: nothing is lost from sight, and each way on
//! that is named works as it stands.

use crate::support::Sandbox;

use super::in_progress::{hint_of, paste, shell};
use super::rewrite::{grown, grown_with_origin};

/// A migration that is not published, and a commit since on a branch that is not checked out.
fn moved_on() -> (Sandbox, String) {
    let (sandbox, _) = grown_with_origin();
    let before = sandbox.refs();
    sandbox.colony(&["lfs", "migrate", "--no-push"]);
    (sandbox, before)
}

#[test]
fn commits_below_a_tag_that_stay_are_not_called_published() {
    // The first commit has the patterns already: git-lfs leaves it as it is.
    let sandbox = Sandbox::unborn();
    sandbox.write(".gitattributes", "*.psd filter=lfs diff=lfs merge=lfs -text\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "patterns"]);
    sandbox.write("a.psd", "large\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "large"]);
    sandbox.git(&["tag", "-am", "annotated", "v1"]);
    let url = sandbox.outside().join("origin.git").display().to_string();
    sandbox.git(&["init", "-q", "--bare", &url]);
    sandbox.git(&["remote", "add", "origin", &url]);
    sandbox.git(&["push", "-q", "origin", "main", "v1"]);
    sandbox.git(&["fetch", "-q", "origin"]);
    let before = sandbox.refs();
    let made = sandbox.json(&["lfs", "migrate", "--no-push"]);
    assert_eq!(made["commits"], 1, "{made:#}");
    sandbox.colony(&["lfs", "migrate", "--abort"]);
    assert_eq!(sandbox.refs(), before);
}

#[test]
fn a_branch_whose_name_is_no_text_is_rewritten_and_comes_back() {
    let sandbox = grown();
    // The shell makes the byte that is no text.
    shell(&sandbox, &sandbox.root, r#"git update-ref "$(printf 'refs/heads/l\351')" HEAD"#);
    let listed = || {
        let listed = shell(&sandbox, &sandbox.root, "git for-each-ref refs/heads");
        listed.stdout
    };
    let before = listed();
    sandbox.colony(&["lfs", "migrate"]);
    let after = listed();
    assert!(after.windows(2).any(|bytes| bytes == b"l\xe9"));
    assert_ne!(after, before);
    sandbox.colony(&["lfs", "migrate", "--abort"]);
    assert_eq!(listed(), before);
}

fn commit_on(sandbox: &Sandbox, branch: &str) -> String {
    sandbox.git(&["switch", "-q", branch]);
    sandbox.write("since.txt", "since\n");
    sandbox.git(&["add", "since.txt"]);
    sandbox.git(&["commit", "-qm", "worked on"]);
    let made = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["switch", "-q", "main"]);
    made
}

#[test]
fn commits_on_another_branch_stop_it_and_are_kept_by_force() {
    let (sandbox, before) = moved_on();
    let made = commit_on(&sandbox, "side");
    let state = (sandbox.git(&["for-each-ref"]), sandbox.visible_state());
    let refused = sandbox.json(&["lfs", "migrate", "--abort"]);
    assert_eq!(refused["code"], "external-change", "{refused:#}");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("'side' has 1 commit since"), "{message}");
    assert!(message.contains("'worked on'"), "{message}");
    assert_eq!((sandbox.git(&["for-each-ref"]), sandbox.visible_state()), state);
    let dry = sandbox.json(&["lfs", "migrate", "--abort", "--force", "-n"]);
    assert_eq!(dry["kept"][0]["to"], made.as_str(), "{dry:#}");
    assert_eq!((sandbox.git(&["for-each-ref"]), sandbox.visible_state()), state);
    paste(&sandbox, &sandbox.root, hint_of(&refused));
    let kept = dry["kept"][0]["kept_as"].as_str().unwrap();
    assert_eq!(sandbox.git(&["rev-parse", kept]), made);
    let rest = sandbox.refs().replace(&format!("{kept} {made}\n"), "");
    assert_eq!(rest, before);
    sandbox.check_invariants_of_git();
}

#[test]
fn what_is_kept_comes_back_to_its_branch_as_it_is_told() {
    let (sandbox, _) = moved_on();
    commit_on(&sandbox, "side");
    let old = sandbox.git(&["rev-parse", "refs/colony-local/backup/op-1/heads/side"]);
    let text = sandbox.colony(&["lfs", "migrate", "--abort", "--force"]);
    let line = text.lines().find(|line| line.contains("of side kept as")).unwrap();
    let (_, way) = line.split_once(": ").unwrap();
    paste(&sandbox, &sandbox.root, way);
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s", "side"]), "worked on");
    assert_eq!(sandbox.git(&["rev-parse", "side~1"]), old);
}

#[test]
fn commits_on_the_current_branch_stop_it_and_are_kept() {
    let (sandbox, before) = moved_on();
    let made = commit_on(&sandbox, "main");
    let refused = sandbox.json(&["lfs", "migrate", "--abort"]);
    assert_eq!(refused["code"], "external-change", "{refused:#}");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("'main' has 1 commit since"), "{message}");
    paste(&sandbox, &sandbox.root, hint_of(&refused));
    let kept = format!("refs/heads/kept/main-{} {made}\n", &made[..8]);
    assert!(sandbox.refs().contains(kept.trim()), "{}", sandbox.refs());
    assert_eq!(sandbox.refs().replace(&kept, ""), before);
}

#[test]
fn commits_of_checkpoints_and_on_two_branches_lead_in_no_circle() {
    let (sandbox, _) = moved_on();
    let side = commit_on(&sandbox, "side");
    sandbox.write("text.txt", "one\n");
    sandbox.colony(&["checkpoint", "-m", "one"]);
    sandbox.write("text.txt", "two\n");
    sandbox.colony(&["checkpoint", "-m", "two"]);
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    let mut rounds = 0;
    loop {
        let answer = sandbox.json(&["lfs", "migrate", "--abort", "-n"]);
        if answer["ok"] == true {
            sandbox.colony(&["lfs", "migrate", "--abort"]);
            break;
        }
        // Its last part may be refused again, for what comes next.
        super::in_progress::shell(&sandbox, &sandbox.root, hint_of(&answer));
        rounds += 1;
        assert!(rounds < 6, "{answer:#}");
        if sandbox.json(&["status"])["migration"].is_null() {
            break;
        }
    }
    let reachable =
        sandbox.git(&["for-each-ref", "--format=%(objectname)", "refs/heads", "refs/colony/kept"]);
    assert!(reachable.contains(&tip) && reachable.contains(&side), "{reachable}");
}

#[test]
fn branches_and_tags_made_since_are_named_with_a_command() {
    let (sandbox, _) = moved_on();
    sandbox.git(&["branch", "later"]);
    sandbox.git(&["branch", "own", "main~1"]);
    sandbox.git(&["tag", "named", "main"]);
    commit_on(&sandbox, "own");
    sandbox.git(&["branch", "unrelated", "refs/colony-local/backup/op-1/heads/side"]);
    let answer = sandbox.json(&["lfs", "migrate", "--abort"]);
    let left = answer["left_on_new"].as_array().unwrap();
    let names: Vec<_> = left.iter().map(|one| one["ref"].as_str().unwrap()).collect();
    assert_eq!(names, ["refs/heads/later", "refs/heads/own", "refs/tags/named"]);
    for one in left {
        paste(&sandbox, &sandbox.root, one["way_back"].as_str().unwrap());
    }
    let main = sandbox.git(&["rev-parse", "main"]);
    assert_eq!(sandbox.git(&["rev-parse", "later"]), main);
    assert_eq!(sandbox.git(&["rev-parse", "named"]), main);
    assert_eq!(sandbox.git(&["rev-parse", "own~1"]), sandbox.git(&["rev-parse", "main~1"]));
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s", "own"]), "worked on");
}

#[test]
fn another_checked_out_branch_is_taken_back_as_reported() {
    let (sandbox, before) = moved_on();
    sandbox.git(&["switch", "-q", "side"]);
    let refused = sandbox.json(&["lfs", "migrate", "--abort"]);
    assert_eq!(refused["code"], "external-change", "{refused:#}");
    assert!(!hint_of(&refused).contains("restore"), "{refused:#}");
    paste(&sandbox, &sandbox.root, hint_of(&refused));
    sandbox.colony(&["lfs", "migrate", "--abort"]);
    assert_eq!(sandbox.refs(), before);
}

#[test]
fn undo_says_what_is_true_of_a_migration_that_others_have() {
    let (sandbox, _) = grown_with_origin();
    sandbox.write("text.txt", "kept\n");
    let checkpoint = sandbox.json(&["checkpoint", "-m", "one"]);
    sandbox.git(&["push", "-q", "origin", "main"]);
    let made = sandbox.json(&["lfs", "migrate", "--no-push"]);
    let op = made["op"].as_str().unwrap();
    for args in [&["undo"][..], &["undo", "--force"], &["restore", op]] {
        let refused = sandbox.json(args);
        assert_eq!(refused["code"], "history-rewritten", "{refused:#}");
        assert!(hint_of(&refused).contains("--abort"), "{refused:#}");
    }
    sandbox.colony(&["lfs", "migrate", "--continue"]);
    for args in [&["undo"][..], &["undo", "--force"], &["restore", op]] {
        let refused = sandbox.json(args);
        assert_eq!(refused["code"], "history-rewritten", "{refused:#}");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("others already have that history"), "{message}");
        assert!(!hint_of(&refused).contains("--abort"), "{refused:#}");
        paste(&sandbox, &sandbox.root, hint_of(&refused));
    }
    sandbox.colony(&["restore", checkpoint["checkpoint_id"].as_str().unwrap()]);
}
