//! `map`: what it says of what it cannot do now, and what it takes away.

use serde_json::{Value, json};

use crate::pages::edited_repository::{MAP, commit};
use crate::support::Sandbox;

#[test]
fn a_dry_run_tells_what_would_be_fetched_and_fetches_nothing() {
    let sandbox = Sandbox::new();
    let rows = "  - {name: here, type: git_repo}\n  \
        - {name: away, type: git_repo, origin_url: 'https://example.invalid/away'}\n";
    sandbox.write(MAP, format!("schema_version: 1\nsources:\n{rows}"));
    commit(&sandbox);
    let dry = sandbox.json(&["map", "-n"]);
    let status = |at: usize| dry["results"][at]["status"].clone();
    assert_eq!((status(0), status(1)), (json!("mapped"), json!("skipped")));
    assert_eq!(
        dry["results"][1]["message"],
        "nothing of 'https://example.invalid/away' is here yet, and a dry run fetches nothing"
    );
    assert!(!sandbox.outside().join("home").exists());
    let offline = sandbox.json(&["map", "-n", "--offline"]);
    assert_eq!(offline["results"][1]["status"], "error");
    assert_eq!(offline["results"][1]["hint"], "git colony map");
    let preview = sandbox.run(&["map", "preview"]).stdout;
    assert!(preview.ends_with("fetching is not permitted\n  hint: git colony map\n"), "{preview}");
    let told = sandbox.run(&["map", "--offline"]).stdout;
    assert!(told.ends_with("away: hint: git colony map\n"), "{told}");
}

#[test]
fn possible_credentials_in_an_address_are_not_repeated() {
    let sandbox = Sandbox::new();
    for (url, warned) in [
        ("https://u:s3cretWord@h.example/x.git", true),
        ("https://s3cretWord@h.example/x.git", true),
        ("ssh://git:s3cretWord@h.example/x.git", true),
        ("https://h.example/x.git", false),
        ("ssh://git@h.example/x.git", false),
        ("git@h.example:x/y.git", false),
    ] {
        let row = format!("  - {{name: a, type: git_repo, origin_url: '{url}'}}\n");
        sandbox.write(MAP, format!("schema_version: 1\nsources:\n{row}"));
        let run = sandbox.run(&["map", "check"]);
        assert_eq!(run.code, 0, "{url}: {}", run.stdout);
        assert_eq!(run.stdout.contains("warning: 'origin_url' contains "), warned, "{url}");
        assert!(!run.stdout.contains("s3cretWord"), "{}", run.stdout);
    }
}

#[test]
fn a_broken_map_of_a_revision_is_named_as_it_was_typed() {
    let sandbox = Sandbox::new();
    sandbox.write(MAP, "sources: 7\n");
    commit(&sandbox);
    sandbox.git(&["branch", "bad"]);
    let bad = sandbox.json(&["map", "--rev", "bad"]);
    assert_eq!(bad["code"], "map-invalid");
    let message = bad["message"].as_str().unwrap();
    assert!(message.starts_with("cannot use '.colony/repo_map.yaml' of 'bad': 1:"), "{message}");
    assert_eq!(bad["hint"], "git colony map check --rev bad");
    let head = sandbox.json(&["map"]);
    assert_eq!(head["hint"], "git colony map check --rev HEAD");
}

fn scopes_with_pages(sandbox: &Sandbox) -> Vec<String> {
    let stats = sandbox.json(&["pages", "stats"]);
    let scopes = stats["scopes"].as_array().unwrap().iter();
    scopes.map(|scope| scope["scope_id"].as_str().unwrap().to_owned()).collect()
}

fn retired(answer: &Value) -> Vec<&str> {
    let retired = answer["retired"].as_array().unwrap().iter();
    retired.map(|scope| scope["scope_id"].as_str().unwrap()).collect()
}

#[test]
fn pages_whose_row_is_gone_leave_this_worktree() {
    let sandbox = Sandbox::new();
    let map = |rows: &str| format!("schema_version: 1\nsources:\n{rows}");
    let (code, docs) = (
        "  - {name: code, type: git_repo}\n",
        "  - {name: docs, type: git_repo, start_dir: dir}\n",
    );
    sandbox.write(MAP, map(&format!("{code}{docs}")));
    let before = sandbox.run(&["map"]);
    assert!(
        before.stderr.contains("'.colony/repo_map.yaml' is not committed"),
        "{}",
        before.stderr
    );
    let whole = scopes_with_pages(&sandbox).remove(0);
    commit(&sandbox);
    sandbox.json(&["map", "--base-scope", "once"]);
    let other = sandbox.outside().join("other");
    std::fs::create_dir(&other).unwrap();
    sandbox.git(&["clone", "-q", ".", "../other/clone"]);
    sandbox.json(&["map", "repo", "--path", "../other/clone", "--scope-id", "else"]);
    sandbox.json(&["map", "--worktree"]);

    let dry = sandbox.json(&["map", "-n"]);
    assert_eq!(retired(&dry), [whole.as_str(), "once:code", "once:docs"]);
    assert_eq!(scopes_with_pages(&sandbox).len(), 6);
    let real = sandbox.json(&["map"]);
    assert_eq!(real["map_uncommitted"], false);
    assert_eq!(real["retired"], dry["retired"]);
    assert_eq!(real["retired"][0]["shared"], true, "others may use it: unmap takes it back");
    let rows = [format!("{whole}:code"), format!("{whole}:docs")];
    let uncommitted = rows.each_ref().map(|id| format!("{id}@worktree"));
    let mut left: Vec<String> = [rows, uncommitted].concat();
    left.push("else".to_owned());
    left.sort();
    assert_eq!(scopes_with_pages(&sandbox), left);
    assert_eq!(retired(&sandbox.json(&["map"])), [""; 0]);

    sandbox.write(MAP, map(code));
    commit(&sandbox);
    let part = sandbox.json(&["map", "--source", "code"]);
    assert_eq!(retired(&part), [""; 0], "not all rows were looked at");
    assert_eq!(retired(&sandbox.json(&["map"])), [left[2].as_str()]);
}

#[test]
fn a_record_goes_with_its_row_and_those_of_other_branches_stay() {
    let sandbox = Sandbox::new();
    let map =
        |name: &str| format!("schema_version: 1\nsources:\n  - {{name: {name}, type: git_repo}}\n");
    let records = || {
        let scopes = sandbox.json(&["scopes"])["mappings"].clone();
        let ids = scopes.as_array().unwrap().iter();
        let ids = ids.map(|scope| scope["scope_id"].as_str().unwrap().to_owned());
        ids.map(|id| id.rsplit(':').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (branch, name) in [("one", "a"), ("two", "b"), ("two", "c")] {
        sandbox.git(&["checkout", "-q", "-B", branch]);
        sandbox.write(MAP, map(name));
        commit(&sandbox);
        sandbox.colony(&["map"]);
    }
    assert_eq!(records(), ["a", "c"]);
    assert_eq!(scopes_with_pages(&sandbox).len(), 1);
}

#[test]
fn pages_of_several_scopes_name_theirs() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["map", "--base-scope", "one"]);
    assert!(!sandbox.colony(&["pages"]).contains("one"));
    sandbox.colony(&["map", "--base-scope", "two"]);
    let listed = sandbox.colony(&["pages"]);
    assert!(listed.contains("\none ") && listed.contains("\ntwo "), "{listed}");
}

#[test]
fn globs_that_match_nothing_are_told_when_they_are_new() {
    let sandbox = Sandbox::new();
    let row = "  - {name: all, type: git_repo, start_dir: dir, include_globs: ['*.txt', '*.tx'], exclude_globs: ['dir/*', '!b.*', 'c/']}\n";
    sandbox.write(MAP, format!("schema_version: 1\nsources:\n{row}"));
    commit(&sandbox);
    let dry = sandbox.json(&["map", "-n"]);
    let wanted = json!(["*.tx", "dir/*", "c/"]);
    assert_eq!(dry["results"][0]["unmatched_globs"], wanted);
    let told = sandbox.colony(&["map"]);
    assert!(told.contains("\nall: no file matches '*.tx'\n"), "{told}");
    let again = sandbox.json(&["map"]);
    assert_eq!(again["results"][0]["unmatched_globs"], json!([]));
}

#[test]
fn check_warns_of_credentials_and_points_to_what_looks_further() {
    let sandbox = Sandbox::new();
    let row = "  - {name: a, type: git_repo, origin_url: 'https://me:secret@example.com/x'}\n";
    sandbox.write(MAP, format!("schema_version: 1\nsources:\n{row}"));
    let told = sandbox.colony(&["map", "check"]);
    assert!(told.contains("'git colony map preview --worktree' resolves them"), "{told}");
    assert!(
        told.contains("warning: 'origin_url' contains credentials") && !told.contains("secret"),
        "{told}"
    );
}

#[test]
fn a_scope_is_named_by_its_row_by_its_beginning_or_in_full() {
    let sandbox = Sandbox::new();
    let rows =
        "  - {name: papers, type: git_repo}\n  - {name: dir, type: git_repo, start_dir: dir}\n";
    sandbox.write(MAP, format!("schema_version: 1\nsources:\n{rows}"));
    commit(&sandbox);
    sandbox.json(&["map", "--worktree"]);
    assert_eq!(sandbox.json(&["pages", "--scope", "dir@worktree"])["total"], 1);
    let full = sandbox.json(&["map"])["results"][0]["scope_id"].clone();
    let full = full.as_str().unwrap();
    let beginning = full.rsplit_once('e').unwrap().0;
    for name in ["papers", full, beginning] {
        assert_eq!(sandbox.json(&["scopes", "show", name])["scope_id"], full);
        let mapped = sandbox.json(&["scopes", "mapped", name]);
        assert_eq!((&mapped["meant"], &mapped["mapped"]), (&json!([full]), &json!(name == full)));
        let listed = sandbox.json(&["pages", "--scope", name]);
        assert_eq!(listed["pages"][0]["scope_id"], full);
    }
    let many = full.rsplit_once(':').unwrap().0;
    for command in [["scopes", "unmap", many], ["pages", "--scope", many]] {
        assert_eq!(sandbox.error(&command), "name-ambiguous");
    }
    let shown = sandbox.json(&["scopes", "show", "papers"]);
    assert_eq!(shown["mapped_commit"], sandbox.git(&["rev-parse", "HEAD"]).trim());
    sandbox.write("later", "later\n");
    commit(&sandbox);
    let scopes = sandbox.json(&["scopes"]);
    let of = |id: &str| {
        let mut all = scopes["mappings"].as_array().unwrap().iter();
        all.find(|scope| scope["scope_id"] == id).unwrap().clone()
    };
    assert_eq!(of(full)["stale"], true);
    sandbox.remove(".git/colony/cache");
    let gone = sandbox.json(&["pages", "--scope", "papers"]);
    assert_eq!(gone["code"], "scope-not-found");
    assert!(
        gone["message"]
            .as_str()
            .unwrap()
            .ends_with("is recorded, but its pages were not made here; nothing has changed")
    );
}

#[test]
fn taking_a_mapping_back_says_which_copies_went() {
    let sandbox = Sandbox::new();
    let scope = sandbox.json(&["map"])["results"][0]["scope_id"].clone();
    let scope = scope.as_str().unwrap();
    let dry = sandbox.json(&["scopes", "unmap", "-n", scope]);
    assert_eq!(dry["copies"], json!(["shared", "pages"]));
    let real = sandbox.colony(&["scopes", "unmap", scope]);
    assert_eq!(real, format!("unmapped (the shared record and the pages here): {scope}\n"));
    let none = sandbox.run(&["scopes", "unmap", "nope"]);
    assert_eq!((none.code, none.stdout.as_str()), (0, "not mapped: nope\n"));
    assert!(none.stderr.contains("'git colony map scopes' lists"), "{}", none.stderr);
    assert_eq!(sandbox.error(&["map", "--thaw", "default"]), "usage");
}
