//! After a migration to git-lfs: a clone with the old history is told so by one line, which works when
//! pasted; `merge` rewrites commits from before.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Sandbox, View};

use super::in_progress::{hint_of, paste, shell};
use super::rewrite::{POINTER, at, clone_of_another, grown, grown_with_origin};

/// A clone of the sandbox's origin by another person, from before the migration, with a commit of its own.
fn old_clone(sandbox: &Sandbox, bare: &Path) -> View {
    let old = clone_of_another(sandbox, bare, "old");
    old.git(&["lfs", "install", "--local"]);
    old.git(&["config", "lfs.locksverify", "false"]);
    old.write("paper.pdf", "mine\n");
    old.git(&["commit", "-qam", "mine"]);
    old
}

/// Checks that a clone is in the new history, with its own commit on top.
fn is_along(sandbox: &Sandbox, old: &View) {
    let main = sandbox.git(&["rev-parse", "main"]);
    assert!(old.git(&["rev-list", "main"]).contains(&main));
    assert!(old.git(&["log", "--format=%s %an", "main"]).contains("mine Bob"));
    let pointer = old.git(&["show", "main:paper.pdf"]);
    assert!(pointer.starts_with(POINTER), "{pointer}");
    assert_eq!(fs::read_to_string(old.path("paper.pdf")).unwrap(), "mine\n");
}

#[test]
fn one_line_takes_the_commits_of_an_old_clone_along() {
    let (sandbox, bare) = grown_with_origin();
    let old = old_clone(&sandbox, &bare);
    sandbox.colony(&["lfs", "migrate", "--push"]);
    let before = old.git(&["for-each-ref", "refs/heads"]);
    let refused = old.json(&["sync"]);
    assert_eq!(refused["code"], "history-rewritten", "{refused:#}");
    assert_eq!(old.git(&["for-each-ref", "refs/heads"]), before);
    paste(&sandbox, &old.path(""), hint_of(&refused));
    is_along(&sandbox, &old);
    old.colony(&["sync"]);
    old.git(&["push", "-q", "origin", "main"]);
    assert!(at(&bare, &sandbox, &["log", "--format=%s", "main"]).contains("mine"));
}

#[test]
fn each_old_branch_is_moved_by_its_own_line_wherever_head_is() {
    let (sandbox, bare) = grown_with_origin();
    let old = old_clone(&sandbox, &bare);
    old.git(&["branch", "-q", "side", "origin/side"]);
    old.git(&["branch", "-q", "kept", "main"]);
    sandbox.colony(&["lfs", "migrate", "--push"]);
    let mut moved = Vec::new();
    for _ in 0..2 {
        let refused = old.json(&["sync"]);
        let message = refused["message"].as_str().unwrap();
        moved.extend(["'main'", "'side'"].into_iter().filter(|name| message.contains(name)));
        paste(&sandbox, &old.path(""), hint_of(&refused));
    }
    moved.sort_unstable();
    assert_eq!(moved, ["'main'", "'side'"]);
    // What is kept of the old history beside them does not matter.
    old.colony(&["sync"]);
    old.git(&["switch", "-q", "main"]);
    is_along(&sandbox, &old);
    assert_eq!(old.git(&["rev-parse", "side"]), old.git(&["rev-parse", "origin/side"]));
}

#[test]
fn a_migration_that_was_undone_is_redone_as_the_answers_say() {
    let (sandbox, _bare) = grown_with_origin();
    sandbox.colony(&["lfs", "migrate", "--push"]);
    let new = sandbox.git(&["rev-parse", "main"]);
    let undone = sandbox.run(&["undo"]);
    let told = [undone.stdout, undone.stderr].concat();
    assert!(told.contains("git pull would join both histories"), "{told}");
    drop(sandbox.run(&["sync"]));
    let redone = sandbox.json(&["redo"]);
    if redone["ok"] == false {
        paste(&sandbox, &sandbox.root, hint_of(&redone));
    }
    assert_eq!(sandbox.git(&["rev-parse", "main"]), new);
}

#[test]
fn our_hooks_stop_an_old_clone_from_pushing_with_the_same_line() {
    let (sandbox, bare) = grown_with_origin();
    let old = old_clone(&sandbox, &bare);
    old.colony(&["hooks", "install"]);
    sandbox.colony(&["lfs", "migrate", "--push"]);
    let theirs = at(&bare, &sandbox, &["for-each-ref"]);
    let mut said = String::new();
    for line in ["git push --force origin main", "git push origin main:refs/heads/another"] {
        let output = shell(&sandbox, &old.path(""), line);
        said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("history rewritten"), "{line}: {said}");
        assert_eq!(at(&bare, &sandbox, &["for-each-ref"]), theirs);
    }
    // A history that has nothing to do with it goes through.
    let tree = old.git(&["mktree"]);
    let apart = old.git(&["commit-tree", "-m", "apart", &tree]);
    old.git(&["push", "-q", "origin", &format!("{apart}:refs/heads/apart")]);
    let hint = said.lines().find_map(|line| line.strip_prefix("hint: ")).unwrap();
    paste(&sandbox, &old.path(""), hint);
    is_along(&sandbox, &old);
}

#[test]
fn a_second_migration_rewrites_commits_from_before_the_first() {
    let (sandbox, bare) = grown_with_origin();
    let old = old_clone(&sandbox, &bare);
    sandbox.colony(&["lfs", "migrate", "--push"]);
    let attributes = sandbox.read(".gitattributes");
    let more = "*.txt filter=lfs diff=lfs merge=lfs -text\n";
    sandbox.write(".gitattributes", format!("{attributes}{more}"));
    sandbox.git(&["-c", "filter.lfs.clean=cat", "add", ".gitattributes"]);
    sandbox.git(&["commit", "-qm", "more patterns"]);
    let second = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!((&second["status"], &second["pushed"]), (&"migrated".into(), &true.into()));
    paste(&sandbox, &old.path(""), hint_of(&old.json(&["sync"])));
    is_along(&sandbox, &old);
    let pointer = old.git(&["show", "main:text.txt"]);
    assert!(pointer.starts_with(POINTER), "{pointer}");
}

/// The clone of an agent, made now.
fn agent(sandbox: &Sandbox, name: &str) -> View {
    let made = sandbox.json(&["agents", "new", name]);
    sandbox.at(PathBuf::from(made["path"].as_str().unwrap()))
}

#[test]
fn an_agent_with_work_stops_it_and_is_merged_after_it() {
    let sandbox = grown();
    let ada = agent(&sandbox, "ada");
    ada.write("text.txt", "ada\n");
    let refused = sandbox.json(&["lfs", "migrate"]);
    assert_eq!(refused["code"], "left-behind", "{refused:#}");
    assert!(refused["message"].as_str().unwrap().contains("'ada' has 1 file with edits"));
    ada.colony(&["commit", "-m", "work", "--all"]);
    let refused = sandbox.json(&["lfs", "migrate"]);
    assert!(refused["message"].as_str().unwrap().contains("commits on fork/ada"), "{refused:#}");
    let migrated = sandbox.json(&["lfs", "migrate", "--leave-agents"]);
    assert_eq!(migrated["status"], "migrated", "{migrated:#}");
    // The agent works on, in the history that it has.
    ada.write("paper.pdf", "ada\n");
    ada.colony(&["commit", "-m", "more", "--all"]);
    let refused = ada.json(&["merge", "main"]);
    assert_eq!(refused["code"], "history-rewritten", "{refused:#}");
    assert!(hint_of(&refused).starts_with("git colony merge "), "{refused:#}");
    let dry = sandbox.json(&["merge", "ada", "-n"]);
    assert_eq!(dry["ok"], true, "{dry:#}");
    paste(&sandbox, &sandbox.root, hint_of(&refused));
    assert_eq!(
        (sandbox.read("paper.pdf"), sandbox.read("text.txt")),
        ("ada\n".into(), "ada\n".into())
    );
    let pointer = sandbox.git(&["show", "main:paper.pdf"]);
    assert!(pointer.starts_with(POINTER), "{pointer}");
    let log = sandbox.git(&["log", "--format=%s", "main"]);
    assert_eq!(log.lines().filter(|line| *line == "change 1").count(), 1, "{log}");
    assert!(!sandbox.path(".git/colony/migration").exists());
    sandbox.check_invariants_of_git();
}

#[test]
fn the_desk_says_which_agents_are_older_than_a_rewrite() {
    let sandbox = grown();
    for name in ["ada", "bob"] {
        let agent = agent(&sandbox, name);
        agent.write(&format!("{name}.txt"), "work\n");
        agent.colony(&["commit", "-m", "work", "--all"]);
    }
    agent(&sandbox, "cleo");
    sandbox.colony(&["lfs", "migrate", "--leave-agents"]);
    let before = sandbox.visible_state();
    let desk = sandbox.json(&["fleet"]);
    let row = |name: &str| {
        let rows = desk["agents"].as_array().unwrap().iter();
        rows.clone().find(|row| row["agent"] == name).unwrap().clone()
    };
    for name in ["ada", "bob"] {
        let row = row(name);
        assert_eq!(row["into"]["outcome"], "old_history", "{row:#}");
        // The commits of the old history are not its work.
        let work = (&row["commits"], &row["files"], &row["insertions"], &row["deletions"]);
        assert_eq!(work, (&1.into(), &1.into(), &1.into(), &0.into()));
    }
    assert_eq!(row("cleo")["work"], "idle");
    assert_eq!(desk["next"]["command"], "git colony merge ada");
    insta::assert_snapshot!(sandbox.colony(&["fleet"]), @r"
    main: nothing uncommitted, 3 agents
      AGENT  WORK        NEWEST       SEEN  INTO main
      ada    1c +1 -0    work         6m    old history
      bob    1c +1 -0    work         4m    old history
      cleo               nothing yet  3m
    older than the rewrite for git-lfs: ada bob   # a merge rewrites their commits first
    next: git colony merge ada
    ");
    let shown = sandbox.json(&["agents", "show", "ada"]);
    assert_eq!(shown["commits"].as_array().unwrap().len(), 1, "{shown:#}");
    assert_eq!(shown["files"][0]["path"], "ada.txt");
    assert_eq!(sandbox.json(&["log", "ada"])["commits"].as_array().unwrap().len(), 1);
    assert_eq!(sandbox.json(&["diff", "ada"])["entries"][0]["path"], "ada.txt");
    assert_eq!(sandbox.visible_state(), before, "a look writes nothing");
    paste(&sandbox, &sandbox.root, "git colony merge ada");
    let desk = sandbox.json(&["fleet"]);
    let ada = desk["agents"].as_array().unwrap()[0].clone();
    assert_eq!((&ada["agent"], &ada["work"]), (&"ada".into(), &"merged".into()), "{ada:#}");
    assert_eq!(desk["next"]["command"], "git colony merge bob");
    for _ in 0..2 {
        sandbox.colony(&["undo"]);
    }
    assert_eq!(sandbox.json(&["fleet"])["next"]["clean"], serde_json::json!(["ada", "bob"]));
}

#[test]
fn a_clone_of_an_agent_cannot_migrate() {
    let (sandbox, bare) = grown_with_origin();
    let ada = agent(&sandbox, "ada");
    let theirs = at(&bare, &sandbox, &["for-each-ref"]);
    for args in [&["lfs", "migrate", "--push"][..], &["lfs", "migrate", "-n"]] {
        let refused = ada.json(args);
        assert_eq!(refused["code"], "unsupported", "{refused:#}");
    }
    assert_eq!(at(&bare, &sandbox, &["for-each-ref"]), theirs);
}

#[test]
fn a_commit_from_before_is_merged_as_its_new_one() {
    let sandbox = grown();
    let old = sandbox.git(&["rev-parse", "side"]);
    sandbox.git(&["branch", "work", "main~1"]);
    sandbox.colony(&["lfs", "migrate"]);
    let merged = sandbox.json(&["merge", &old]);
    assert_eq!(merged["outcome"], "up_to_date", "{merged:#}");
}
