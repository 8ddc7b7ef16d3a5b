//! What the name of an agent or of a branch means, at the desk and in the clones of agents.

use std::fs;

use crate::support::Sandbox;

use super::new_and_merge::{agent, commit};

#[test]
fn a_merge_in_an_agents_clone_goes_into_its_own_fork() {
    let desk = Sandbox::new();
    let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
    commit(&bob, "b.txt", "of bob\n");
    let main = ada.git(&["rev-parse", "main"]);
    let merged = ada.json(&["merge", "bob"]);
    assert_eq!(merged["into"], "fork/ada", "{merged:#}");
    assert_eq!(fs::read_to_string(ada.path("b.txt")).unwrap(), "of bob\n");
    assert_eq!(ada.git(&["rev-parse", "main"]), main);
    // What is named goes there still.
    let merged = ada.json(&["merge", "bob", "--into", "main"]);
    assert_eq!(merged["into"], "main", "{merged:#}");
}

#[test]
fn an_agent_takes_in_what_the_lead_has_committed() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "mine.txt", "of ada\n");
    desk.write("lead.txt", "of the lead\n");
    desk.colony(&["commit", "-m", "lead", "--all"]);
    let fleet = ada.json(&["fleet"]);
    let row = &fleet["agents"][0];
    assert_eq!(row["into"]["outcome"], "merged", "{fleet:#}");
    let merged = ada.json(&["merge", "main"]);
    assert_eq!(merged["into"], "fork/ada", "{merged:#}");
    assert_eq!(fs::read_to_string(ada.path("lead.txt")).unwrap(), "of the lead\n");
    let diff = ada.json(&["diff", "main", "HEAD"]);
    assert_eq!(diff["entries"][0]["path"], "mine.txt", "{diff:#}");
    assert_eq!(diff["entries"].as_array().unwrap().len(), 1);
    // A branch that only the desk has is known, too; and what is spelled out is what is here.
    desk.git(&["branch", "dev"]);
    desk.colony(&["checkpoint", "-m", "publishes"]);
    assert_eq!(ada.json(&["diff", "dev", "main"])["ok"], true);
    let old = ada.json(&["diff", "refs/heads/main", "main"]);
    assert_eq!(old["entries"][0]["path"], "lead.txt", "{old:#}");
    // One with work of its own is not passed over.
    let tree = ada.git(&["rev-parse", "HEAD^{tree}"]);
    let own = ada.git(&["commit-tree", "-p", "refs/heads/main", "-m", "own", &tree]);
    ada.git(&["update-ref", "refs/heads/main", &own]);
    let refused = ada.json(&["merge", "main"]);
    assert_eq!(refused["code"], "name-ambiguous", "{refused:#}");
    for name in refused["detail"]["names"].as_array().unwrap() {
        assert_eq!(ada.json(&["diff", name.as_str().unwrap()])["ok"], true);
    }
}

#[test]
fn the_row_of_an_agent_is_about_what_it_has_checked_out() {
    let desk = Sandbox::new();
    let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
    commit(&ada, "a.txt", "on the fork\n");
    commit(&bob, "a.txt", "of bob\n");
    ada.git(&["switch", "-qc", "feature", "main"]);
    commit(&ada, "a.txt", "on the branch\n");
    commit(&ada, "c.txt", "on the branch\n");
    let fleet = desk.json(&["fleet"]);
    let row = &fleet["agents"][0];
    assert_eq!(row["fork"], "feature", "{fleet:#}");
    assert_eq!((&row["commits"], &row["files"]), (&2.into(), &2.into()));
    assert_eq!(row["into"]["outcome"], "fast_forward");
    let message = fleet["message"].as_str().unwrap();
    assert!(message.ends_with(", 2 agents"), "{message}");
    let clashes = fleet["clashes"].as_array().unwrap();
    let has = |a: &str, b: &str| clashes.iter().any(|clash| clash["a"] == a && clash["b"] == b);
    assert!(has("fork/bob", "ada/feature"), "{fleet:#}");
    desk.colony(&["merge", "bob"]);
    desk.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let taken = desk.json(&["merge", "ada"]);
    assert_eq!(taken["source"], "feature", "{taken:#}");
    assert_eq!(desk.read("a.txt"), "on the branch\n");
    // What the hint names is what its row shows: the fork that was left behind, by agent and branch.
    let fleet = desk.json(&["fleet"]);
    let hint = "git colony merge ada/fork/ada --resolve";
    assert_eq!(fleet["hint"], hint, "{fleet:#}");
    assert_eq!(desk.json(&["merge", "ada/fork/ada", "-n"])["hint"], hint);
}

#[test]
fn an_agent_whose_head_is_on_no_branch_is_seen_and_merged() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    ada.git(&["checkout", "-q", "--detach"]);
    commit(&ada, "a.txt", "detached\n");
    let fleet = desk.json(&["fleet"]);
    assert_eq!(fleet["agents"][0]["commits"], 1, "{fleet:#}");
    assert_eq!(fleet["hint"], "git colony merge ada", "{fleet:#}");
    assert_eq!(fleet["agents"].as_array().unwrap().len(), 1, "{fleet:#}");
    desk.colony(&["merge", "ada"]);
    assert_eq!(desk.read("a.txt"), "detached\n");
}

#[test]
fn a_copy_of_a_fork_does_not_hide_its_agent() {
    let desk = Sandbox::new();
    let one = agent(&desk, "one");
    commit(&one, "a.txt", "pushed\n");
    let refused = one.git_output(&["push", "-q", "origin", "fork/one"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("'publish with git colony checkpoint'"), "{said}");
    one.git(&["push", "-q", &desk.root.display().to_string(), "fork/one"]);
    commit(&one, "a.txt", "newer\n");
    let fleet = desk.json(&["fleet"]);
    assert_eq!(fleet["agents"].as_array().unwrap().len(), 1, "{fleet:#}");
    let diff = desk.json(&["diff", "main", "one", "--patch"]);
    assert!(diff.to_string().contains("+newer"), "{diff:#}");
    let merged = desk.json(&["merge", "one"]);
    assert_eq!(merged["commit"], one.git(&["rev-parse", "HEAD"]), "{merged:#}");
    // With work of its own it is another line of work: nobody guesses.
    desk.git(&["switch", "-q", "fork/one"]);
    desk.write("c.txt", "of the desk\n");
    desk.colony(&["commit", "-m", "other", "--all"]);
    desk.git(&["switch", "-q", "main"]);
    assert_eq!(desk.error(&["merge", "one"]), "name-ambiguous");
    assert_eq!(desk.json(&["diff", "main", "fork/one"])["ok"], true);
    assert_eq!(desk.json(&["diff", "main", "one/fork/one"])["ok"], true);
}

#[test]
fn a_branch_named_like_an_agent_is_told_apart() {
    let desk = Sandbox::new();
    let refused = desk.json(&["agents", "new", "main"]);
    assert_eq!(refused["code"], "branch-exists", "{refused:#}");
    let ada = agent(&desk, "ada");
    commit(&ada, "a.txt", "of ada\n");
    desk.git(&["branch", "ada"]);
    let refused = desk.json(&["merge", "ada"]);
    assert_eq!(refused["code"], "name-ambiguous", "{refused:#}");
    assert_eq!(refused["detail"]["names"][0], "refs/heads/ada");
    assert_eq!(refused["detail"]["names"][1], "ada/fork/ada");
    let merged = desk.json(&["merge", "ada/fork/ada"]);
    assert_eq!(merged["outcome"], "fast_forward", "{merged:#}");
}

#[test]
fn an_agent_begins_at_what_another_has_without_more_ado() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "a.txt", "of ada\n");
    let made = desk.json(&["agents", "new", "bob", "--from", "ada"]);
    let tip = ada.git(&["rev-parse", "HEAD"]);
    assert_eq!(made["head_sha"], tip, "{made:#}");
    let short = tip.get(..8).unwrap();
    let message = format!("agent 'bob' works on 'fork/bob', created from commit {short}");
    assert_eq!(made["message"], message);
    commit(&ada, "a.txt", "more\n");
    let would = desk.json(&["agents", "new", "cy", "--from", "ada", "-n"]);
    assert_eq!(would["head_sha"], ada.git(&["rev-parse", "HEAD"]), "{would:#}");
    // Commits and files are counted from the same base.
    let fleet = desk.json(&["fleet"]);
    let row = &fleet["agents"][1];
    assert_eq!(row["agent"], "bob");
    assert_eq!((&row["commits"], &row["files"]), (&1.into(), &1.into()), "{fleet:#}");
}

#[test]
fn the_guide_names_the_branch_of_the_repository() {
    let desk = Sandbox::new();
    desk.git(&["branch", "-m", "main", "master"]);
    let guide = desk.json(&["agents", "guide"]);
    let guide = guide["guide"].as_str().unwrap();
    assert!(guide.contains("git colony merge master "), "{guide}");
    let mut words = guide.split(|c: char| !c.is_alphanumeric());
    assert!(!words.any(|word| word == "main"), "{guide}");
    assert!(guide.contains("list the operations, oldest first"), "{guide}");
}

#[test]
fn a_misspelt_agent_and_the_commits_before_its_own_are_reported() {
    let desk = Sandbox::new();
    let ana = agent(&desk, "ana");
    commit(&ana, "a.txt", "first\n");
    commit(&ana, "a.txt", "two\n");
    for command in ["merge", "diff"] {
        let refused = desk.json(&[command, "anna"]);
        assert_eq!(refused["code"], "revision-not-found", "{refused:#}");
        assert_eq!(refused["detail"]["similar"], "ana", "{refused:#}");
    }
    let diff = desk.json(&["diff", "ana~1", "ana"]);
    assert_eq!(diff["ref_a"], "ana~1", "{diff:#}");
    let merged = desk.json(&["merge", "ana^"]);
    assert_eq!(merged["commit"], ana.git(&["rev-parse", "HEAD~1"]), "{merged:#}");
    assert_eq!(desk.error(&["merge", "ana~9"]), "revision-not-found");
}

#[test]
fn the_work_of_a_removed_agent_is_found_again() {
    let desk = Sandbox::new();
    let cy = agent(&desk, "cy");
    commit(&cy, "a.txt", "of cy\n");
    let tip = cy.git(&["rev-parse", "HEAD"]);
    desk.colony(&["agents", "remove", "cy"]);
    let listed = desk.json(&["agents"]);
    assert_eq!(listed["removed"][0]["agent"], "cy", "{listed:#}");
    let refused = desk.json(&["merge", "cy"]);
    assert_eq!(refused["code"], "revision-not-found", "{refused:#}");
    assert_eq!(refused["hint"], "git colony agents restore cy");
    desk.colony(&["agents", "restore", "cy"]);
    assert_eq!(cy.git(&["rev-parse", "HEAD"]), tip);
    desk.colony(&["agents", "remove", "cy"]);
    // It is said where one of that name begins, and listed as gone no more.
    let made = desk.run(&["agents", "new", "cy"]);
    assert!(made.stderr.contains("was removed before"), "{}", made.stderr);
    let listed = desk.json(&["agents"]);
    assert_eq!(listed["removed"].as_array().unwrap().len(), 0, "{listed:#}");
}

#[test]
fn what_a_new_agent_does_not_get_is_said() {
    let desk = Sandbox::new();
    desk.git(&["config", "colony.clone.copy", "target"]);
    desk.write("c.txt", "not committed\n");
    let made = desk.run(&["agents", "new", "ada"]);
    let said = &made.stderr;
    assert!(said.contains("uncommitted here"), "{said}");
    assert!(said.contains("'target' was not copied"), "{said}");
    assert_eq!(made.stdout.lines().count(), 1);
}

#[test]
fn refusals_about_agents_name_what_helps() {
    let desk = Sandbox::new();
    desk.write(".colony/agents/eve.md", "---\nscope: ['src/**']\n---\n");
    let unsaved = desk.json(&["agents", "check", "eve", "a.txt"]);
    assert_eq!(unsaved["code"], "scope-missing", "{unsaved:#}");
    let hint = unsaved["hint"].as_str().unwrap();
    assert!(hint.starts_with("git colony commit "), "{hint}");
    let eve = agent(&desk, "eve");
    commit(&eve, "a.txt", "outside\n");
    desk.colony(&["commit", "-m", "rule", "--all"]);
    let refused = desk.json(&["merge", "eve"]);
    assert_eq!(refused["code"], "scope-violation", "{refused:#}");
    assert!(refused["hint"].as_str().unwrap().contains("--force"));
    desk.colony(&["merge", "eve", "--force"]);
    fs::write(eve.path(".env"), "TOKEN=ghp_0123456789abcdefghijklmnopqrstuvwxyz\n").unwrap();
    let refused = desk.json(&["agents", "remove", "eve"]);
    assert_eq!(refused["code"], "clone-in-use", "{refused:#}");
    let hint = refused["hint"].as_str().unwrap();
    assert!(
        hint.contains("agents remove 'eve' --force") || hint.contains("agents remove eve --force"),
        "{hint}"
    );
}

#[test]
fn a_device_name_is_refused_for_agents_and_read_if_git_has_it() {
    let desk = Sandbox::new();
    for name in ["con", "NUL", "aux.txt", "com1", "lpt9.x"] {
        for args in
            [&["agents", "new", name][..], &["fork", name], &["fork", &format!("try/{name}")]]
        {
            let refused = desk.json(args);
            assert_eq!(refused["code"], "invalid-value", "{args:?} {refused:#}");
            let said = refused["message"].as_str().unwrap();
            assert!(said.contains("on some systems"), "{said}");
        }
    }
    for name in ["console", "com0", "com10", "null"] {
        desk.colony(&["fork", name, "--no-switch"]);
    }
    // What plain git has made is there.
    desk.git(&["branch", "fork/con"]);
    assert_eq!(desk.json(&["forks"])["count"], 5);
    assert_eq!(desk.json(&["diff", "con"])["ok"], true);
    assert_eq!(desk.error(&["merge", "nul"]), "revision-not-found");
}

#[test]
fn a_checkpoint_of_an_agent_is_named_from_the_desk() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    ada.write("a.txt", "of ada\n");
    ada.colony(&["checkpoint", "-m", "parser works", "--off-branch"]);
    let id = ada.json(&["checkpoints"])["checkpoints"][0]["checkpoint_id"].clone();
    // The first command that asks for it brings it over.
    let shown = desk.json(&["checkpoints", "show", "ada/parser works"]);
    desk.colony(&["restore", "ada/parser works", "--", "a.txt"]);
    assert_eq!(desk.read("a.txt"), "of ada\n");
    let full = format!("ada/{}", id.as_str().unwrap());
    assert_eq!(shown["checkpoint_id"], full, "{shown:#}");
    let diff = desk.json(&["diff", "main", "ada/parser"]);
    assert_eq!(diff["entries"][0]["path"], "a.txt", "{diff:#}");
    assert_eq!(desk.json(&["diff", "main", &full])["ok"], true);
    assert_eq!(desk.error(&["restore", "bob/parser"]), "checkpoint-not-found");
}

#[test]
fn the_name_of_a_removed_agent_says_where_its_work_is() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "a.txt", "of ada\n");
    let own = ada.json(&["agents", "remove", "ada"]);
    assert_eq!(own["code"], "clone-in-use");
    let hint = own["hint"].as_str().unwrap();
    assert!(hint.ends_with("&& git colony clones remove 'ada'"), "{hint}");
    desk.colony(&["agents", "remove", "ada"]);
    for args in [
        &["diff", "ada"][..],
        &["diff", "main", "ada~1"],
        &["cherry-pick", "ada"],
        &["cherry-pick", "main..ada"],
        &["merge", "ada"],
    ] {
        let refused = desk.json(args);
        assert_eq!(refused["code"], "revision-not-found", "{args:?}");
        let hint = refused["hint"].as_str().unwrap();
        assert_eq!(hint, "git colony agents restore ada", "{args:?}");
    }
    let nothing = desk.json(&["undo"]);
    assert_eq!(nothing["code"], "nothing-to-undo", "{nothing:#}");
    let hint = nothing["hint"].as_str().unwrap();
    assert!(hint.starts_with("git colony agents "), "{hint}");
    for args in [&["redo"][..], &["undo", "op-1"]] {
        assert_eq!(desk.json(args)["hint"], "git colony ops", "{args:?}");
    }
}

#[test]
fn published_checkpoints_are_listed_by_agent() {
    let desk = Sandbox::new();
    desk.colony(&["checkpoint", "-m", "of all"]);
    let ada = agent(&desk, "ada");
    ada.write("a.txt", "of ada\n");
    ada.colony(&["checkpoint", "-m", "parser works", "--off-branch"]);
    let own = desk.json(&["checkpoints"]);
    assert_eq!(own["count"], 1, "{own:#}");
    let all = desk.json(&["checkpoints", "--all"]);
    assert_eq!(all["count"], 2, "{all:#}");
    let [first, second] = [&all["checkpoints"][0], &all["checkpoints"][1]];
    assert_eq!(first["label"], "of all");
    assert!(first.get("agent").is_none(), "{first:#}");
    assert_eq!(second["agent"], "ada");
    assert_eq!(second["label"], "parser works");
    let id = second["checkpoint_id"].as_str().unwrap();
    assert!(id.starts_with("ada/checkpoint/"), "{id}");
    let text = desk.colony(&["checkpoints", "--all"]);
    assert!(text.contains("ada/parser works"), "{text}");
    desk.colony(&["restore", id, "--", "a.txt"]);
    assert_eq!(desk.read("a.txt"), "of ada\n");
}
