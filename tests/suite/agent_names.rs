//! What the name of an agent or of a branch means, at the desk and in the clones of agents.

use std::fs;

use serde_json::Value;

use super::agents::{agent, commit};
use super::support::Sandbox;

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
    assert_eq!(
        fs::read_to_string(ada.path("lead.txt")).unwrap(),
        "of the lead\n"
    );
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
    let has = |a: &str, b: &str| {
        clashes
            .iter()
            .any(|clash| clash["a"] == a && clash["b"] == b)
    };
    assert!(has("fork/bob", "ada/feature"), "{fleet:#}");
    desk.colony(&["merge", "bob"]);
    desk.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let taken = desk.json(&["merge", "ada"]);
    assert_eq!(taken["source"], "feature", "{taken:#}");
    assert_eq!(desk.read("a.txt"), "on the branch\n");
    // What the hint names is what its row shows.
    let fleet = desk.json(&["fleet"]);
    assert_eq!(fleet["hint"], Value::Null, "{fleet:#}");
}

#[test]
fn an_agent_whose_head_is_on_no_branch_is_seen_and_merged() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    ada.git(&["checkout", "-q", "--detach"]);
    commit(&ada, "a.txt", "detached\n");
    let fleet = desk.json(&["fleet"]);
    assert_eq!(fleet["agents"][0]["commits"], 1, "{fleet:#}");
    assert_eq!(fleet["hint"], "git colony merge 'ada'", "{fleet:#}");
    assert_eq!(fleet["agents"].as_array().unwrap().len(), 1, "{fleet:#}");
    desk.colony(&["merge", "ada"]);
    assert_eq!(desk.read("a.txt"), "detached\n");
}

#[test]
fn a_copy_of_a_fork_does_not_hide_its_agent() {
    let desk = Sandbox::new();
    let one = agent(&desk, "one");
    commit(&one, "a.txt", "pushed\n");
    one.git(&["push", "-q", "origin", "fork/one"]);
    commit(&one, "a.txt", "newer\n");
    let fleet = desk.json(&["fleet"]);
    assert_eq!(fleet["agents"].as_array().unwrap().len(), 1, "{fleet:#}");
    let diff = desk.json(&["diff", "main", "one", "--patch"]);
    assert!(diff.to_string().contains("+newer"), "{diff:#}");
    let merged = desk.json(&["merge", "one"]);
    assert_eq!(
        merged["commit"],
        one.git(&["rev-parse", "HEAD"]),
        "{merged:#}"
    );
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
    assert_eq!(
        made["head_sha"],
        ada.git(&["rev-parse", "HEAD"]),
        "{made:#}"
    );
    commit(&ada, "a.txt", "more\n");
    let would = desk.json(&["agents", "new", "cy", "--from", "ada", "-n"]);
    assert_eq!(
        would["head_sha"],
        ada.git(&["rev-parse", "HEAD"]),
        "{would:#}"
    );
    // Commits and files are counted from the same base.
    let fleet = desk.json(&["fleet"]);
    let row = &fleet["agents"][1];
    assert_eq!(row["agent"], "bob");
    assert_eq!(
        (&row["commits"], &row["files"]),
        (&1.into(), &1.into()),
        "{fleet:#}"
    );
}

#[test]
fn the_guide_names_the_branch_of_the_repository() {
    let desk = Sandbox::new();
    desk.git(&["branch", "-m", "main", "master"]);
    let guide = desk.json(&["agents", "guide"]);
    let guide = guide["guide"].as_str().unwrap();
    assert!(guide.contains("git colony merge master "), "{guide}");
    assert!(!guide.contains("main"), "{guide}");
    assert!(guide.contains("every step, oldest first"), "{guide}");
}
