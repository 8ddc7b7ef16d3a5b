//! Reverts of merges: the files are those of `git revert -m 1`, and the agent keeps its work.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::fixture::Fixture;
use crate::support::{Sandbox, View};

fn agent(desk: &Sandbox, name: &str) -> View {
    let made = desk.json(&["agents", "new", name]);
    desk.at(PathBuf::from(made["path"].as_str().unwrap()))
}

fn commit(place: &View, path: &str, content: &str) {
    fs::write(place.path(path), content).unwrap();
    place.colony(&["commit", "-m", &format!("{path}: {}", content.trim()), "--all"]);
}

fn id(place: &View, revision: &str) -> String {
    place.git(&["rev-parse", revision])
}

fn row(desk: &View) -> Value {
    desk.json(&["fleet"])["agents"][0].clone()
}

/// A fork that was merged, and a later commit on the branch.
fn merged() -> Sandbox {
    MERGED.copy()
}

static MERGED: Fixture = Fixture::new(|| {
    let desk = Sandbox::new();
    commit(&desk, "list.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    desk.colony(&["fork", "try"]);
    commit(&desk, "list.txt", "1 try\n2\n3\n4\n5\n6\n7\n8\n9\n");
    commit(&desk, "try.txt", "try\n");
    desk.git(&["switch", "-q", "main"]);
    commit(&desk, "main.txt", "main\n");
    desk.colony(&["merge", "try"]);
    commit(&desk, "list.txt", "1 try\n2\n3\n4\n5\n6\n7\n8\n9 later\n");
    desk
});

/// The commit that git makes of it in a copy.
fn by_git(desk: &Sandbox, args: &[&str]) -> String {
    let referee = desk.copy("referee");
    referee.git(&[&["revert", "--no-edit"], args].concat());
    id(&referee, "HEAD^{tree}")
}

#[test]
fn a_copy_of_the_merged_fork_is_whole() {
    MERGED.check();
}

#[test]
fn a_merge_is_reverted_as_git_does_with_one_undo() {
    let desk = merged();
    let merge = id(&desk, "HEAD~1");
    let tree = by_git(&desk, &["-m", "1", &merge]);
    let before = id(&desk, "HEAD");
    let dry = desk.json(&["revert", "try", "-n"]);
    assert_eq!(dry["outcome"], "reverted", "{dry:#}");
    assert_eq!((id(&desk, "HEAD"), &dry["op"]), (before.clone(), &Value::Null));
    let report = desk.json(&["revert", "try"]);
    assert_eq!(report["reverted"][0]["merge"], merge.as_str(), "{report:#}");
    assert_eq!(report["commit"], id(&desk, "HEAD").as_str());
    assert_eq!((id(&desk, "HEAD^{tree}"), id(&desk, "HEAD~1")), (tree, before.clone()));
    let (of_git, of_colony) = (desk.copy("words"), desk.git(&["log", "-1", "--format=%B"]));
    of_git.git(&["reset", "-q", "--hard", &before]);
    of_git.git(&["revert", "--no-edit", "-m", "1", &merge]);
    let words = of_git.git(&["log", "-1", "--format=%B"]);
    assert_eq!(of_colony, format!("{words}\n\nColony-Reverted: {merge}"));
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    desk.colony(&["undo"]);
    assert_eq!(id(&desk, "HEAD"), before);
    desk.check_invariants_of_git();
}

#[test]
fn a_branch_elsewhere_is_reverted_without_a_switch() {
    let desk = merged();
    let tree = by_git(&desk, &["-m", "1", "HEAD~1"]);
    desk.git(&["switch", "-q", "-c", "aside"]);
    desk.write("try.txt", "edited\n");
    let before = desk.visible_state();
    desk.colony(&["revert", "try", "--into", "main"]);
    assert_eq!((id(&desk, "main^{tree}"), desk.read("try.txt")), (tree, "edited\n".to_owned()));
    desk.colony(&["undo"]);
    assert_eq!(desk.visible_state(), before);
    assert_eq!(desk.error(&["revert", "aside"]), "invalid-value");
}

#[test]
fn a_message_replaces_the_first_line_of_a_revert() {
    let desk = merged();
    let merge = id(&desk, "HEAD~1");
    desk.colony(&["revert", "fork/try", "-m", "Not yet"]);
    let said = desk.git(&["log", "-1", "--format=%B"]);
    assert!(said.starts_with(&format!("Not yet\n\nThis reverts commit {merge}, reversing\n")));
    assert!(said.ends_with(&format!("\n\nColony-Reverted: {merge}")), "{said}");
}

#[test]
fn a_revert_keeps_edits_that_are_not_in_its_way() {
    let desk = merged();
    desk.write("main.txt", "edited\n");
    desk.colony(&["revert", "try"]);
    assert_eq!(desk.read("main.txt"), "edited\n");
    assert!(!desk.path("try.txt").exists());
    desk.colony(&["undo"]);
    desk.write("try.txt", "edited\n");
    let before = desk.visible_state();
    assert_eq!(desk.error(&["revert", "try"]), "uncommitted-edits");
    assert_eq!(desk.error(&["revert", "try", "-n"]), "uncommitted-edits");
    assert_eq!(desk.visible_state(), before);
}

#[test]
fn a_revert_in_conflict_changes_nothing_and_names_the_paths() {
    let desk = merged();
    commit(&desk, "list.txt", "1 other\n2\n3\n4\n5\n6\n7\n8\n9 later\n");
    let before = desk.visible_state();
    let report = desk.json(&["revert", "try"]);
    assert_eq!(report["outcome"], "conflicted", "{report:#}");
    assert_eq!(report["conflicts"][0]["path"], "list.txt");
    assert_eq!(report["code"], "conflicted");
    let hint = report["hint"].as_str().unwrap();
    assert!(hint.starts_with("git revert -n -m 1 "), "{hint}");
    assert_eq!(desk.run(&["revert", "try"]).code, 1);
    assert_eq!(desk.visible_state(), before);
    // The hint opens the same conflicts, and its trailer makes the same revert of it.
    let command = hint.split("   #").next().unwrap();
    assert!(!desk.try_git(&command.split(' ').skip(1).collect::<Vec<_>>()));
    desk.write("list.txt", "1 other\n2\n3\n4\n5\n6\n7\n8\n9 later\n");
    desk.git(&["add", "list.txt"]);
    let trailer = hint.split('\'').nth(1).unwrap();
    desk.git(&["commit", "-q", "--no-edit", "--trailer", trailer]);
    assert_eq!(desk.json(&["forks"])["forks"][0]["reverted"]["commit"], id(&desk, "HEAD").as_str());
}

#[test]
fn a_squash_is_reverted_and_merges_again_whole() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "new.txt", "one\n");
    desk.colony(&["merge", "ada", "--squash"]);
    let squash = id(&desk, "HEAD");
    commit(&desk, "main.txt", "main\n");
    let tree = by_git(&desk, &[&squash]);
    desk.colony(&["revert", "ada"]);
    assert_eq!(id(&desk, "HEAD^{tree}"), tree);
    let row = row(&desk);
    assert_eq!((&row["merged"], &row["commits"]), (&false.into(), &1.into()), "{row:#}");
    ada.colony(&["merge", "main"]);
    assert_eq!(fs::read(ada.path("new.txt")).unwrap(), b"one\n");
    commit(&ada, "new.txt", "one\ntwo\n");
    desk.colony(&["merge", "ada", "--squash"]);
    assert_eq!(desk.read("new.txt"), "one\ntwo\n");
    assert_eq!(self::row(&desk)["merged"], true);
    desk.check_invariants_of_git();
}

#[test]
fn a_fast_forward_is_reverted_by_its_operation_or_name() {
    let desk = Sandbox::new();
    let tree = id(&desk, "HEAD^{tree}");
    let ada = agent(&desk, "ada");
    commit(&ada, "a.txt", "a\n");
    commit(&ada, "b.txt", "b\n");
    let report = desk.json(&["merge", "ada"]);
    assert_eq!(report["outcome"], "fast_forward");
    let op = report["op"].as_str().unwrap();
    desk.colony(&["revert", op]);
    assert_eq!(id(&desk, "HEAD^{tree}"), tree);
    assert_eq!(desk.error(&["revert", op]), "nothing-to-revert");
    assert_eq!(row(&desk)["commits"], 2);
    desk.colony(&["undo"]);
    desk.colony(&["revert", "ada"]);
    assert_eq!(id(&desk, "HEAD^{tree}"), tree);
    ada.colony(&["merge", "main"]);
    assert_eq!(fs::read(ada.path("a.txt")).unwrap(), b"a\n");
    desk.colony(&["merge", "ada"]);
    assert_eq!((desk.read("a.txt"), desk.read("b.txt")), ("a\n".to_owned(), "b\n".to_owned()));
    desk.check_invariants_of_git();
}

#[test]
fn merges_are_reverted_one_by_one_newest_first() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    for name in ["one", "two"] {
        commit(&ada, &format!("{name}.txt"), name);
        commit(&desk, &format!("of-{name}.txt"), name);
        desk.colony(&["merge", "ada"]);
    }
    desk.colony(&["revert", "ada"]);
    assert!(desk.path("one.txt").exists() && !desk.path("two.txt").exists());
    assert_eq!(row(&desk)["commits"], 1);
    desk.colony(&["revert", "ada"]);
    assert!(!desk.path("one.txt").exists());
    assert_eq!(row(&desk)["commits"], 2);
    let refused = desk.json(&["revert", "ada"]);
    assert_eq!(refused["code"], "nothing-to-revert", "{refused:#}");
    desk.colony(&["merge", "ada"]);
    assert!(desk.path("one.txt").exists() && desk.path("two.txt").exists());
    assert_eq!(row(&desk)["merged"], true);
}

#[test]
fn merging_the_branch_keeps_the_reverted_work_of_an_agent() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "ada.txt", "one\ntwo\nthree\n");
    commit(&desk, "main.txt", "main\n");
    desk.colony(&["merge", "ada"]);
    commit(&desk, "later.txt", "later\n");
    desk.colony(&["revert", "ada"]);
    let row = row(&desk);
    assert_eq!((&row["merged"], &row["commits"]), (&false.into(), &1.into()), "{row:#}");
    assert_eq!(row["reverted"]["commit"], id(&desk, "HEAD").as_str());
    let shown = desk.colony(&["fleet"]);
    assert!(shown.contains("reverted"), "{shown}");
    assert!(!shown.contains("git colony merge ada"), "{shown}");
    // git deletes it.
    let referee = ada.copy("referee");
    referee.git(&["merge", "-q", "--no-edit", &id(&desk, "main")]);
    assert!(!referee.path("ada.txt").exists());
    ada.colony(&["merge", "main"]);
    assert_eq!(fs::read(ada.path("ada.txt")).unwrap(), b"one\ntwo\nthree\n");
    assert!(ada.path("later.txt").exists());
    commit(&ada, "ada.txt", "one\nTWO\nthree\n");
    commit(&desk, "more.txt", "more\n");
    desk.colony(&["merge", "ada"]);
    assert_eq!(desk.read("ada.txt"), "one\nTWO\nthree\n");
    let row = self::row(&desk);
    assert_eq!((&row["merged"], &row["reverted"]), (&true.into(), &Value::Null), "{row:#}");
    assert_eq!(desk.json(&["merge", "ada"])["outcome"], "up_to_date");
    desk.check_invariants_of_git();
}

#[test]
fn an_agent_that_lost_its_work_by_plain_git_is_shown() {
    let ways: [&[&str]; 2] = [&["merge", "-q", "--no-edit"], &["rebase", "-q"]];
    for way in ways {
        let desk = Sandbox::new();
        let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
        commit(&ada, "ada.txt", "one\n");
        commit(&ada, "list.txt", "one\n");
        commit(&desk, "main.txt", "main\n");
        desk.colony(&["merge", "ada"]);
        commit(&desk, "later.txt", "later\n");
        desk.colony(&["revert", "ada"]);
        commit(&ada, "more.txt", "more\n");
        assert_eq!(row(&desk).get("lost_with"), None);
        let by_git = |place: &View| {
            place.json(&["fleet"]);
            place.git(&[way, &[&id(&desk, "main")]].concat());
        };
        by_git(&ada);
        by_git(&bob);
        assert!(!ada.path("ada.txt").exists());
        ada.colony(&["agents", "done"]);
        let shown_row = row(&desk);
        let reverted = id(&desk, "main");
        assert_eq!(
            shown_row["lost_with"]["commit"],
            reverted.as_str(),
            "{way:?} {shown_row:#} {}",
            ada.git(&["log", "--oneline", "--graph"])
        );
        let shown = desk.colony(&["fleet"]);
        let (_, command) = shown.split_once("which is gone there too: ").expect(&shown);
        assert!(!shown.contains("bob merged the revert"), "{shown}");
        let line = command.lines().next().unwrap();
        let done = desk.with_program().process("sh").args(["-c", line]).status();
        assert!(done.unwrap().success(), "{line}");
        assert!(ada.path("ada.txt").exists() && ada.path("list.txt").exists());
        ada.colony(&["agents", "done"]);
        assert_eq!(row(&desk).get("lost_with"), None, "{way:?}");
        desk.colony(&["merge", "ada"]);
        assert!(desk.path("ada.txt").exists() && desk.path("list.txt").exists(), "{way:?}");
        desk.check_invariants_of_git();
    }
}

#[test]
fn lost_work_is_shown_until_it_is_back_or_accepted() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&desk, "list.txt", "1\n2\n3\n4\n5\n");
    ada.colony(&["merge", "main"]);
    commit(&ada, "one.txt", "one\n");
    commit(&ada, "two.txt", "two\n");
    commit(&ada, "list.txt", "ada\n2\n3\n4\n5\n");
    commit(&desk, "main.txt", "main\n");
    desk.colony(&["merge", "ada"]);
    desk.colony(&["revert", "ada"]);
    // What others change in a shared file hides nothing.
    commit(&desk, "list.txt", "1\n2\n3\n4\nlater\n");
    ada.json(&["fleet"]);
    ada.git(&["merge", "-q", "--no-edit", &id(&desk, "main")]);
    let is_lost = || {
        ada.colony(&["agents", "done"]);
        row(&desk).get("lost_with").is_some()
    };
    commit(&ada, "more.txt", "more\n");
    assert!(is_lost());
    commit(&ada, "one.txt", "one\n");
    assert!(is_lost(), "the other file is missing still");
    commit(&ada, "two.txt", "two\n");
    assert!(!is_lost());
    ada.git(&["revert", "--no-edit", "HEAD"]);
    assert!(is_lost());
    // It was right so.
    desk.colony(&["merge", "ada"]);
    assert_eq!(row(&desk).get("lost_with"), None);
}

#[test]
fn merging_an_agent_after_a_revert_brings_all_of_its_work() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "ada.txt", "one\n");
    commit(&desk, "main.txt", "main\n");
    desk.colony(&["merge", "ada"]);
    desk.colony(&["revert", "ada"]);
    commit(&ada, "more.txt", "more\n");
    let row = row(&desk);
    assert_eq!((&row["commits"], &row["files"]), (&2.into(), &2.into()), "{row:#}");
    assert_eq!(desk.json(&["log", "ada"])["commits"].as_array().unwrap().len(), 2);
    let dry = desk.json(&["merge", "ada", "-n"]);
    assert_eq!(dry["files_changed"], 2, "{dry:#}");
    desk.colony(&["merge", "ada"]);
    assert_eq!((desk.read("ada.txt"), desk.read("more.txt")), ("one\n".into(), "more\n".into()));
    // The second merge is reverted as a whole, and comes again.
    desk.colony(&["revert", "ada"]);
    assert!(!desk.path("ada.txt").exists() && !desk.path("more.txt").exists());
    desk.colony(&["merge", "ada"]);
    assert!(desk.path("ada.txt").exists() && desk.path("more.txt").exists());
    desk.check_invariants_of_git();
}

#[test]
fn an_agent_that_was_fast_forwarded_to_the_merge_keeps_its_work() {
    let desk = Sandbox::new();
    let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
    commit(&ada, "ada.txt", "one\n");
    commit(&desk, "main.txt", "main\n");
    desk.colony(&["merge", "ada"]);
    assert_eq!(ada.json(&["merge", "main"])["outcome"], "fast_forward");
    bob.colony(&["merge", "main"]);
    commit(&bob, "bob.txt", "bob\n");
    desk.colony(&["revert", "ada"]);
    // bob has it only from the branch.
    bob.colony(&["merge", "main"]);
    assert!(!bob.path("ada.txt").exists());
    desk.colony(&["merge", "bob"]);
    assert!(!desk.path("ada.txt").exists() && desk.path("bob.txt").exists());
    ada.colony(&["merge", "main"]);
    assert!(ada.path("ada.txt").exists() && ada.path("bob.txt").exists());
    desk.colony(&["merge", "ada"]);
    assert!(desk.path("ada.txt").exists() && desk.path("bob.txt").exists());
}

#[test]
fn a_change_of_the_branch_that_it_took_off_itself_stays_off() {
    let desk = Sandbox::new();
    let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
    commit(&ada, "ada.txt", "one\n");
    commit(&bob, "bob.txt", "bob\n");
    commit(&desk, "main.txt", "1\n");
    desk.colony(&["merge", "ada"]);
    desk.colony(&["merge", "bob"]);
    commit(&ada, "ada.txt", "one\ntwo\n");
    ada.colony(&["merge", "main"]);
    assert!(ada.path("bob.txt").exists());
    commit(&desk, "main.txt", "2\n");
    desk.colony(&["revert", "bob"]);
    desk.colony(&["revert", "ada"]);
    desk.colony(&["merge", "ada"]);
    assert_eq!((desk.read("ada.txt"), desk.read("main.txt")), ("one\ntwo\n".into(), "2\n".into()));
    assert!(!desk.path("bob.txt").exists());
}

#[test]
fn a_revert_of_the_revert_by_git_is_the_work_again() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "ada.txt", "one\n");
    commit(&desk, "main.txt", "main\n");
    desk.colony(&["merge", "ada"]);
    desk.colony(&["revert", "ada"]);
    desk.git(&["revert", "--no-edit", "HEAD"]);
    assert_eq!(desk.read("ada.txt"), "one\n");
    assert_eq!(row(&desk)["merged"], true);
    commit(&desk, "later.txt", "later\n");
    assert_eq!(ada.json(&["merge", "main"])["outcome"], "fast_forward");
    assert!(ada.path("ada.txt").exists());
    // And that one reverted, too.
    desk.git(&["revert", "--no-edit", "HEAD~1"]);
    assert!(!desk.path("ada.txt").exists());
    assert_eq!(row(&desk)["merged"], false);
    desk.colony(&["merge", "ada"]);
    assert_eq!(desk.read("ada.txt"), "one\n");
}

#[test]
fn after_a_squash_the_branch_merges_cleanly_in_the_clone() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "new.txt", "one\n");
    desk.colony(&["merge", "ada", "--squash"]);
    let copy = ada.copy("as-it-is");
    copy.colony(&["merge", "main"]);
    assert_eq!(fs::read(copy.path("new.txt")).unwrap(), b"one\n");
    commit(&ada, "new.txt", "ONE\n");
    let squash = id(&desk, "main");
    assert!(!ada.copy("referee").try_git(&["merge", "-q", "--no-edit", &squash]));
    let report = ada.json(&["merge", "main"]);
    assert_eq!(report["outcome"], "merged", "{report:#}");
    assert_eq!(fs::read(ada.path("new.txt")).unwrap(), b"ONE\n");
    desk.colony(&["merge", "ada"]);
    assert_eq!(desk.read("new.txt"), "ONE\n");
    assert_eq!(row(&desk)["merged"], true);
    desk.check_invariants_of_git();
}

#[test]
fn a_revert_says_what_it_cannot_revert() {
    let desk = merged();
    assert_eq!(desk.error(&["revert", "nobody"]), "revision-not-found");
    assert_eq!(desk.error(&["revert", "op-99"]), "operation-not-found");
    assert_eq!(desk.error(&["revert", "op-1"]), "invalid-value");
    desk.colony(&["fork", "idle", "--no-switch"]);
    assert_eq!(desk.error(&["revert", "idle"]), "nothing-to-revert");
    let ops = desk.json(&["ops"]);
    let merge = ops["ops"].as_array().unwrap().iter().find(|op| op["kind"] == "merge");
    let op = merge.unwrap()["op"].as_str().unwrap().to_owned();
    let by_number = desk.json(&["revert", op.trim_start_matches("op-"), "-n"]);
    assert_eq!(by_number["source"], op.as_str());
    desk.git(&["switch", "-q", "fork/try"]);
    assert_eq!(desk.error(&["revert", &op]), "invalid-value");
    desk.git(&["switch", "-q", "main"]);
    desk.git(&["reset", "-q", "--hard", "HEAD~2"]);
    assert_eq!(desk.error(&["revert", &op]), "nothing-to-revert");
}

#[test]
fn an_agent_hears_that_its_work_was_reverted() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "ada.txt", "one\n");
    commit(&desk, "main.txt", "main\n");
    desk.colony(&["merge", "ada"]);
    let merge = id(&desk, "HEAD");
    let report = desk.json(&["revert", "ada"]);
    assert_eq!(report["agents"], serde_json::json!(["ada"]));
    let heard = ada.json(&["events", "--key", "work_reverted:ada"]);
    let event = heard["events"].as_array().unwrap().last().unwrap().clone();
    let value = &event["value"];
    assert_eq!(event["key"], "work_reverted:ada", "{event:#}");
    assert_eq!((&value["branch"], &value["merge"]), (&"main".into(), &merge.into()), "{event:#}");
    assert_eq!((&value["commit"], &value["op"]), (&report["commit"], &report["op"]));
    let hint = value["hint"].as_str().unwrap();
    assert!(hint.ends_with("git colony merge main"), "{hint}");
}

#[test]
fn an_agent_may_not_revert_on_a_protected_branch() {
    let desk = merged();
    desk.git(&["config", "colony.protect", "main"]);
    let before = id(&desk, "main");
    assert_eq!(desk.error(&["--agent", "ada", "revert", "try"]), "branch-protected");
    assert_eq!(id(&desk, "main"), before);
}

#[test]
fn an_agent_reverts_only_what_it_may_change() {
    let desk = merged();
    fs::create_dir_all(desk.path(".colony/agents")).unwrap();
    commit(&desk, ".colony/agents/ada.md", "---\nscope: src\n---\n# Ada\n");
    let before = desk.visible_state();
    let refused = desk.json(&["--agent", "ada", "revert", "try"]);
    assert_eq!(refused["code"], "scope-violation", "{refused:#}");
    assert_eq!(desk.error(&["--agent", "ada", "revert", "try", "-n"]), "scope-violation");
    assert_eq!(desk.visible_state(), before);
    desk.colony(&["revert", "try"]);
}
