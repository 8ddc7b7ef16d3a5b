//! Whose work comes in is a question of commits, not of the name that they come by.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::{Sandbox, View};

/// A repository that lets `ada` change `src`, and her clone with work outside of it.
fn with_work_outside() -> (Sandbox, View) {
    let desk = Sandbox::new();
    for path in ["src/a.rs", "lib/x.rs", "docs/a.md"] {
        desk.write(path, "first\n");
    }
    desk.write(".colony/agents/ada.md", "---\nscope: [src/**]\n---\n# Ada\n");
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "rules"]);
    let made = desk.json(&["agents", "new", "ada"]);
    let ada = desk.at(PathBuf::from(made["path"].as_str().unwrap()));
    ada.write("lib/x.rs", "ada\n");
    ada.json(&["checkpoint", "-m", "work"]);
    (desk, ada)
}

fn violations(answer: &Value) -> Vec<String> {
    assert_eq!(answer["code"], "scope-violation", "{answer:#}");
    let found = answer["detail"]["violations"].as_array().unwrap();
    found.iter().map(|one| one["path"].as_str().unwrap().to_owned()).collect()
}

/// Holds a branch of a person against the work of `ada`, by each of the names.
fn assert_refused(desk: &View, names: &[&str]) {
    for name in names {
        for args in [&["merge", name, "-n"][..], &["merge", name], &["merge", name, "--squash"]] {
            assert_eq!(violations(&desk.json(args)), ["lib/x.rs"], "{args:?}");
        }
    }
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
}

#[test]
fn no_other_name_of_an_agents_commits_is_a_way_around_its_rule() {
    let (desk, ada) = with_work_outside();
    desk.json(&["forks"]);
    let id = ada.git(&["rev-parse", "HEAD"]);
    let copies = desk.git(&["for-each-ref", "--format=%(refname)", "refs/colony-local/agents/ada"]);
    let copies: Vec<&str> = copies.lines().filter(|name| name.contains("/heads/fork/")).collect();
    assert!(!copies.is_empty());
    assert_refused(&desk, &copies);
    desk.git(&["tag", "of-ada", &id]);
    desk.git(&["tag", "-a", "-m", "x", "annotated", &id]);
    assert_refused(&desk, &[&id, &id[..10], "of-ada", "annotated", &format!("{id}^0")]);
    desk.git(&["branch", "by-git", &id]);
    desk.git(&["branch", "above", &id]);
    let above = desk.git(&["commit-tree", "-p", &id, "-m", "on top", &format!("{id}^{{tree}}")]);
    assert_refused(&desk, &["by-git", &above]);
    desk.git(&["branch", "-D", "by-git", "above"]);
    assert_eq!(desk.json(&["fork", "mine", "--from", "ada"])["ok"], true);
    desk.git(&["switch", "-q", "main"]);
    assert_refused(&desk, &["mine", "fork/mine"]);
    for pick in [&id, "mine", "of-ada"] {
        assert_eq!(violations(&desk.json(&["cherry-pick", pick])), ["lib/x.rs"], "{pick}");
    }
    let forced = desk.json(&["merge", &id, "--force"]);
    assert_eq!(forced["ok"], true, "{forced:#}");
}

#[test]
fn a_forged_author_hides_no_commit_that_only_an_agent_has() {
    let (desk, ada) = with_work_outside();
    let forged = ["-c", "user.name=Person", "-c", "user.email=p@example.com"];
    let amend = ["commit", "-q", "--amend", "--no-verify", "--reset-author", "-m", "forged"];
    ada.git(&[forged.as_slice(), &amend].concat());
    ada.write("src/a.rs", "ada\n");
    ada.json(&["checkpoint", "-m", "more"]);
    let id = ada.git(&["rev-parse", "HEAD~1"]);
    assert_eq!(ada.git(&["log", "-1", "--format=%an%cn", &id]), "PersonPerson");
    desk.json(&["forks"]);
    assert_refused(&desk, &[&id]);
    assert_eq!(violations(&desk.json(&["cherry-pick", &id])), ["lib/x.rs"]);
    assert_eq!(desk.json(&["fork", "mine", "--from", &id])["ok"], true);
    desk.git(&["switch", "-q", "main"]);
    assert_refused(&desk, &["mine"]);
}

#[test]
fn work_of_a_person_stays_so_when_an_agent_has_it_too() {
    let (desk, _) = with_work_outside();
    desk.git(&["switch", "-qc", "topic"]);
    desk.write("docs/a.md", "a person\n");
    desk.git(&["commit", "-qam", "docs"]);
    let made = desk.json(&["agents", "new", "bob", "--from", "topic"]);
    let bob = desk.at(PathBuf::from(made["path"].as_str().unwrap()));
    desk.write(".colony/agents/bob.md", "---\nscope: [src/**]\n---\n# Bob\n");
    desk.git(&["switch", "-q", "main"]);
    desk.git(&["add", ".colony"]);
    desk.git(&["commit", "-qm", "rule of bob"]);
    bob.write("src/a.rs", "bob\n");
    bob.json(&["checkpoint", "-m", "work"]);
    desk.json(&["forks"]);
    // Bob has the commit of the person, and the person has it first.
    let merged = desk.json(&["merge", "topic", "-n"]);
    assert_eq!(merged["ok"], true, "{merged:#}");
    let id = desk.git(&["rev-parse", "topic"]);
    assert_eq!(desk.json(&["merge", &id])["ok"], true);
    assert_eq!(desk.json(&["merge", "bob"])["ok"], true);
}

#[test]
fn only_the_work_of_the_agent_in_a_branch_is_asked_about() {
    let (desk, ada) = with_work_outside();
    ada.git(&["reset", "-q", "--hard", "HEAD~1"]);
    ada.write("src/a.rs", "ada\n");
    ada.json(&["checkpoint", "-m", "inside"]);
    desk.git(&["switch", "-qc", "topic"]);
    desk.write("docs/a.md", "a person\n");
    desk.git(&["commit", "-qam", "docs"]);
    assert_eq!(desk.json(&["merge", "ada"])["ok"], true);
    desk.git(&["switch", "-q", "main"]);
    let merged = desk.json(&["merge", "topic"]);
    assert_eq!(merged["ok"], true, "{merged:#}");
}
