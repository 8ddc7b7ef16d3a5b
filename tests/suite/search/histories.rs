//! What commits say of files, and the files that a context only names.

use std::fs;

use serde_json::Value;

use crate::support::Sandbox;

use super::paths;

/// A repository where a message names what no file contains.
fn told() -> Sandbox {
    let sandbox = Sandbox::new();
    for number in 0..30 {
        sandbox.write(
            &format!("src/part{number}.rs"),
            format!("fn part_{number}() {{}}\n{}", "// Nothing else is here.\n".repeat(6)),
        );
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-qm", &format!("Add part {number}")]);
    }
    sandbox.write("src/zebra.rs", "fn stripes() {}\n");
    sandbox.write("src/part7.rs", "fn part_seven() {}\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&[
        "commit",
        "-qm",
        "Decode envelopes lazily\n\nA reader of mail waits for nothing.",
    ]);
    sandbox.write("docs/about.md", "# About\n\nIt is about parts.\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "Describe it"]);
    sandbox
}

fn context(sandbox: &Sandbox, question: &str, budget: &str) -> Value {
    sandbox.json_apart(&["context", "--budget", budget, "--question", question])
}

#[test]
fn a_message_leads_to_the_files_of_its_commit() {
    let sandbox = told();
    sandbox.colony(&["map"]);
    for question in ["lazy envelopes", "a reader of mail"] {
        let answer = context(&sandbox, question, "4000");
        let found = paths(&answer, "parts");
        assert_eq!(found, ["src/part7.rs", "src/zebra.rs"], "{question}: {answer:#}");
    }
    // The state before that commit has no such history.
    sandbox.git(&["switch", "-qd", "HEAD~2"]);
    sandbox.colony(&["map"]);
    assert_eq!(context(&sandbox, "lazy envelopes", "4000")["count"], 0);
}

#[test]
fn the_next_files_are_named_within_the_budget() {
    let sandbox = told();
    sandbox.colony(&["map"]);
    let answer = context(&sandbox, "part", "1000");
    let (parts, next) = (paths(&answer, "parts"), paths(&answer, "next_files"));
    assert!(!parts.is_empty() && !next.is_empty(), "{answer:#}");
    assert!(next.iter().all(|path| !parts.contains(path)), "{answer:#}");
    assert!(answer["used_tokens"].as_u64().unwrap() <= 1000);
    let text = answer["text"].as_str().unwrap();
    let (_, list) = text.split_once("==> further files that match, the best first <==\n").unwrap();
    assert_eq!(list.lines().count(), next.len());
    let first = &answer["next_files"][0];
    assert!(first["text"].as_str().unwrap().starts_with("fn part_"), "{first}");
    let wanted = format!("{}:1\n", first["path"].as_str().unwrap());
    assert!(list.starts_with(&wanted), "{list}");
}

#[test]
fn a_history_that_is_not_here_is_not_fetched() {
    let sandbox = told();
    sandbox.git(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", sandbox.path(".").display());
    let clone = sandbox.outside().join("treeless");
    sandbox.git(&["clone", "-q", "--filter=tree:0", &url, clone.to_str().unwrap()]);
    let view = sandbox.at(clone.clone());
    view.colony(&["map"]);
    let objects = || view.git(&["count-objects", "-v"]);
    let before = objects();
    let run = view.run(&["context", "--question", "stripes"]);
    assert!(run.stdout.contains("fn stripes"), "{}", run.stdout);
    assert!(run.stderr.contains("earlier commit"), "{}", run.stderr);
    assert_eq!(objects(), before);
}

#[test]
fn a_longer_history_is_known_as_if_it_were_new() {
    let sandbox = told();
    sandbox.git(&["branch", "other"]);
    let ask = || context(&sandbox, "lazy envelopes of part seven", "1500")["text"].clone();
    for step in 0..8_u32 {
        match (step * 7) % 5 {
            0 => drop(sandbox.git(&["switch", "-q", if step % 2 == 0 { "other" } else { "main" }])),
            1 => drop(sandbox.git(&["merge", "-q", "--no-edit", "main", "other"])),
            _ => {
                sandbox.write(&format!("src/part{step}.rs"), format!("fn new_{step}() {{}}\n"));
                let message = format!("Decode part {step} lazily");
                let date = ["2020", "2031", "2026"][step as usize % 3];
                let date = format!("{date}-01-01T00:00:00Z");
                let mut commit = sandbox.process("git");
                commit.env("GIT_COMMITTER_DATE", &date).args(["commit", "-qam", &message]);
                assert!(commit.status().unwrap().success());
            }
        }
        let known = ask();
        fs::remove_file(sandbox.path(".git/colony/cache/search-1.db")).unwrap();
        assert_eq!(ask(), known, "step {step}");
    }
}

#[test]
fn a_merged_history_is_known_as_if_it_were_new() {
    let sandbox = told();
    let ask = || context(&sandbox, "lazy envelopes of part seven", "1500")["text"].clone();
    let commit = |step: usize, date: u32| {
        sandbox.write(&format!("src/part{}.rs", step % 4), format!("fn new_{step}() {{}}\n"));
        let message = format!("Decode part {step} of envelopes lazily");
        let date = format!("{date}-01-01T00:00:00Z");
        let mut commit = sandbox.process("git");
        commit.env("GIT_COMMITTER_DATE", &date).args(["commit", "-qam", &message]);
        assert!(commit.status().unwrap().success());
    };
    for (round, dates) in
        [[2026; 4], [2030, 2031, 2032, 2033], [2036, 2034, 2020, 2035]].into_iter().enumerate()
    {
        let branch = format!("side-{round}");
        sandbox.git(&["switch", "-qc", &branch]);
        commit(4 * round, dates[0]);
        commit(4 * round + 1, dates[2]);
        sandbox.git(&["switch", "-q", "main"]);
        commit(4 * round + 2, dates[1]);
        commit(4 * round + 3, dates[3]);
        // One of the parents is known, but not the commit that both begin at.
        ask();
        sandbox.git(&["merge", "-q", "--no-edit", "-X", "ours", &branch]);
        let known = ask();
        fs::remove_file(sandbox.path(".git/colony/cache/search-1.db")).unwrap();
        assert_eq!(ask(), known, "round {round}");
    }
}

#[test]
fn a_damaged_history_stops_no_answer() {
    let sandbox = told();
    sandbox.colony(&["map"]);
    let lost = sandbox.git(&["rev-parse", "HEAD~5"]);
    let (folder, name) = lost.trim().split_at(2);
    let object = sandbox.path(&format!(".git/objects/{folder}/{name}"));
    fs::remove_file(object).unwrap();
    let run = sandbox.run(&["context", "--question", "stripes"]);
    assert!(run.stdout.contains("fn stripes"), "{}", run.stdout);
    assert!(run.stderr.contains("warning: cannot walk the history"), "{}", run.stderr);
}

#[test]
fn a_lost_first_commit_is_named_with_the_way_on() {
    let sandbox = told();
    let commits = sandbox.git(&["rev-list", "HEAD"]);
    let lost = commits.lines().last().unwrap();
    let (folder, name) = lost.split_at(2);
    fs::remove_file(sandbox.path(&format!(".git/objects/{folder}/{name}"))).unwrap();
    let told = sandbox.json(&["search", "stripes"]);
    assert_eq!(told["code"], "object-missing", "{told:#}");
    assert!(told["hint"].as_str().unwrap().starts_with("git fsck"), "{told:#}");
}
