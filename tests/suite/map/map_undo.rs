//! A change of the record of a scope is an operation: undo takes it back, and the pages of a mapping that is taken
//! back are not shown.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::agents::new_and_merge::agent;
use crate::support::{Sandbox, View};

const SCOPES: &str = "refs/colony/scopes";

/// Returns the ids of the mapped scopes.
fn scopes(view: &View) -> Vec<String> {
    let mappings = view.json(&["scopes"])["mappings"].clone();
    let mappings = mappings.as_array().unwrap().iter();
    mappings.map(|row| row["scope_id"].as_str().unwrap().to_owned()).collect()
}

/// Returns the kinds of the operations.
fn kinds(view: &View) -> Vec<Value> {
    let ops = view.json(&["ops"])["ops"].clone();
    let ops = ops.as_array().unwrap().iter();
    ops.map(|op| op["kind"].clone()).collect()
}

/// Undoes the newest operation that is in effect, by its name.
fn undo_newest(view: &View) -> Value {
    let ops = view.json(&["ops"])["ops"].clone();
    let mut ops = ops.as_array().unwrap().iter().rev();
    let newest = ops.find(|op| op["undone"] == false).unwrap();
    view.json(&["undo", newest["op"].as_str().unwrap()])
}

fn done(answer: &Value) {
    assert_eq!(answer["ok"], true, "{answer:#}");
}

/// Returns the number of pages, and why there is none.
fn pages(view: &View) -> (Value, Value) {
    let listed = view.json(&["pages", "list"]);
    done(&listed);
    (listed["total"].clone(), listed["nothing"].clone())
}

/// A sandbox with a checkpoint, and a map of one row with a limit.
fn mapped() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "one"]);
    let map = sandbox.json(&["map"]);
    assert_eq!((&map["recorded"], &map["op"]), (&json!(true), &json!("op-2")), "{map:#}");
    let scope = map["results"][0]["scope_id"].as_str().unwrap().to_owned();
    (sandbox, scope)
}

#[test]
fn a_map_is_one_operation_until_its_record_is_the_same() {
    let (sandbox, scope) = mapped();
    assert_eq!(kinds(&sandbox), ["checkpoint", "map"]);
    let before = sandbox.refs();
    let again = sandbox.json(&["map"]);
    assert_eq!((&again["recorded"], &again["op"]), (&json!(false), &json!(null)), "{again:#}");
    assert_eq!(sandbox.refs(), before);
    // It is not a step of the working tree; by its name it is previewed.
    assert_eq!(sandbox.json(&["undo", "-n"])["undone"], "op-1");
    let would = sandbox.colony(&["undo", "op-2", "-n"]);
    assert!(would.starts_with(&format!("would undo op-2: map scope '{scope}'\n")), "{would}");
    assert_eq!(sandbox.json(&["undo", "-n"])["not_undone"], Value::Null);
    assert_eq!(sandbox.refs(), before);
}

#[test]
fn a_mapping_that_is_taken_back_has_no_pages_until_redo() {
    let (sandbox, scope) = mapped();
    let tip = sandbox.git(&["rev-parse", SCOPES]);
    let listed = sandbox.json(&["pages", "list"]);
    let page = listed["pages"][0]["page_id"].as_str().unwrap().to_owned();
    done(&undo_newest(&sandbox));
    assert_eq!(sandbox.git(&["rev-parse", &format!("{SCOPES}~")]), tip);
    assert_eq!(scopes(&sandbox), [""; 0]);
    assert_eq!(sandbox.json(&["scopes", "mapped", &scope])["mapped"], false);
    assert_eq!(sandbox.error(&["scopes", "show", &scope]), "scope-not-found");
    assert_eq!(pages(&sandbox), (json!(0), json!("not_mapped")));
    assert_eq!(sandbox.json(&["pages", "stats"])["nothing"], "not_mapped");
    assert_eq!(sandbox.error(&["pages", "show", &page]), "page-not-found");
    let request = sandbox.json(&["pages", "request", &page]);
    assert_eq!(request["missing"][0]["reason"], "not_found", "{request:#}");
    done(&sandbox.json(&["redo"]));
    assert_eq!(scopes(&sandbox), [scope.as_str()]);
    assert_eq!(pages(&sandbox), (listed["total"].clone(), json!(null)));
    done(&sandbox.json(&["pages", "show", &page]));
    let map = sandbox.json(&["map"]);
    assert_eq!((&map["recorded"], &map["op"]), (&json!(false), &json!(null)));
    // What was taken back is mapped anew, without a page to make.
    done(&undo_newest(&sandbox));
    let map = sandbox.json(&["map"]);
    assert_eq!(map["recorded"], true, "{map:#}");
    assert_eq!(map["results"][0]["status"], "already_mapped", "{map:#}");
    assert_eq!(pages(&sandbox), (listed["total"].clone(), json!(null)));
    // The only step is the checkpoint.
    assert_eq!(sandbox.json(&["undo"])["undone"], "op-1");
    assert_eq!(scopes(&sandbox), [scope.as_str()]);
    sandbox.check_invariants_of_git();
}

#[test]
fn an_unmapped_scope_comes_back_as_it_was() {
    let (sandbox, scope) = mapped();
    let shown = sandbox.json(&["scopes", "show", &scope]);
    let would = sandbox.json(&["scopes", "unmap", &scope, "-n"]);
    assert_eq!((&would["status"], &would["op"]), (&json!("unmapped"), &json!(null)), "{would:#}");
    assert_eq!(kinds(&sandbox), ["checkpoint", "map"]);
    let gone = sandbox.json(&["scopes", "unmap", &scope]);
    assert_eq!(gone["op"], "op-3", "{gone:#}");
    assert_eq!(gone["copies"], json!(["shared", "pages"]));
    assert_eq!(kinds(&sandbox), ["checkpoint", "map", "unmap"]);
    assert_eq!(scopes(&sandbox), [""; 0]);
    assert_eq!(undo_newest(&sandbox)["what"], format!("unmap scope '{scope}'"));
    let back = sandbox.json(&["scopes", "show", &scope]);
    assert_eq!(back["updated_at"], shown["updated_at"]);
    assert_eq!(back["materialized_locally"], false);
    assert_eq!(pages(&sandbox), (json!(0), json!("not_here")));
    let map = sandbox.json(&["map"]);
    assert_eq!(
        (&map["recorded"], &map["op"], &map["results"][0]["status"]),
        (&json!(false), &json!(null), &json!("mapped"))
    );
    sandbox.check_invariants_of_git();
}

#[test]
fn an_undo_of_another_limit_or_commit_is_seen() {
    let sandbox = Sandbox::new();
    let map = |rest: &str| {
        let rows = format!("schema_version: 1\nsources:\n- {{name: a, type: git_repo, {rest}}}\n");
        sandbox.write(".colony/repo_map.yaml", rows);
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-qm", "map"]);
    };
    map("flush_threshold: 7");
    sandbox.colony(&["map"]);
    let scope = scopes(&sandbox)[0].clone();
    map("flush_threshold: 9");
    sandbox.colony(&["map"]);
    let limit = || sandbox.json(&["scopes", "show", &scope])["config"]["flush_threshold"].clone();
    assert_eq!(limit(), 9);
    done(&undo_newest(&sandbox));
    assert_eq!(limit(), 7);
    // A static row stays at its commit until it is thawed.
    map("static: true");
    sandbox.colony(&["map"]);
    let stale = || sandbox.json(&["pages", "list"])["stale_scopes"].clone();
    sandbox.write("later.txt", "later\n");
    map("static: true, flush_threshold: 8");
    sandbox.colony(&["map", "--thaw", "a"]);
    assert_eq!(stale(), json!([]));
    done(&undo_newest(&sandbox));
    assert_eq!(stale(), json!([scope]));
    sandbox.colony(&["map"]);
    assert_eq!(stale(), json!([]));
}

#[test]
fn a_repository_and_a_blackboard_are_taken_back_too() {
    let (sandbox, scope) = mapped();
    sandbox.colony(&["blackboard", "put", "plan", "owner", "ada"]);
    let board = sandbox.json(&["map", "blackboard", "plan"]);
    assert_eq!(board["op"], "op-4", "{board:#}");
    assert_eq!(sandbox.json(&["map", "blackboard", "plan"])["op"], json!(null));
    let other = sandbox.outside().join("other");
    fs::create_dir(&other).unwrap();
    let there = sandbox.at(other.clone());
    there.git(&["init", "-q", "-b", "main", "--template="]);
    there.write("a.txt", "a\n");
    there.git(&["add", "-A"]);
    let who = ["-c", "user.name=Bo", "-c", "user.email=bo@example.com"];
    there.git(&[&who[..], &["commit", "-qm", "a"]].concat());
    let args = ["map", "repo", "--path", other.to_str().unwrap(), "--scope-id", "other"];
    assert_eq!(sandbox.json(&args)["op"], "op-5");
    assert_eq!(sandbox.json(&args)["op"], json!(null));
    let url = format!("file://{}", other.display());
    let mapped = sandbox.json(&["map", "--url", &url, "--base-scope", "theirs"]);
    assert_eq!(mapped["op"], "op-6", "{mapped:#}");
    let all = scopes(&sandbox);
    assert_eq!(all.len(), 4, "{all:?}");
    let (total, _) = pages(&sandbox);
    for op in ["op-6", "op-5", "op-4"] {
        done(&sandbox.json(&["undo", op]));
    }
    let left = scopes(&sandbox);
    assert_eq!((left.len(), left.contains(&scope)), (1, true), "{left:?}");
    assert!(pages(&sandbox).0.as_u64() < total.as_u64());
    done(&sandbox.json(&["redo", "3"]));
    assert_eq!((scopes(&sandbox), pages(&sandbox).0), (all, total));
    sandbox.check_invariants_of_git();
}

#[test]
fn rows_that_left_the_map_go_in_the_operation_of_the_map() {
    let (sandbox, scope) = mapped();
    sandbox.git(&["switch", "-qc", "side"]);
    let rows =
        "schema_version: 1\nsources:\n- {name: a, type: git_repo}\n- {name: b, type: git_repo}\n";
    sandbox.write(".colony/repo_map.yaml", rows);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "two rows"]);
    sandbox.colony(&["map"]);
    let two = scopes(&sandbox);
    assert_eq!(two.len(), 3, "{two:?}");
    sandbox.write(".colony/repo_map.yaml", rows.replace("name: b", "name: c"));
    sandbox.git(&["commit", "-qam", "another row"]);
    let map = sandbox.json(&["map"]);
    let ops = sandbox.json(&["ops"])["ops"].clone();
    let newest = ops.as_array().unwrap().last().unwrap();
    assert_eq!(newest["op"], map["op"], "{ops:#}");
    assert_eq!(newest["refs"].as_array().unwrap().len(), 1, "{ops:#}");
    assert_ne!(scopes(&sandbox), two);
    done(&undo_newest(&sandbox));
    assert_eq!(scopes(&sandbox), two);
    assert!(two.contains(&scope));
}

#[test]
fn undo_of_one_clone_is_for_all_of_the_hub() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    desk.colony(&["map"]);
    let scope = scopes(&desk)[0].clone();
    assert_eq!(scopes(&ada), [scope.as_str()]);
    assert_eq!(desk.json(&["pages", "stats"])["nothing"], json!(null));
    assert_eq!(ada.json(&["scopes", "unmap", &scope])["status"], "unmapped");
    assert_eq!(scopes(&desk), [""; 0]);
    // The desk still has the pages, and no mapping that they are of.
    assert_eq!(pages(&desk), (json!(0), json!("not_mapped")));
    done(&undo_newest(&ada));
    assert_eq!((scopes(&ada), scopes(&desk)), (vec![scope.clone()], vec![scope.clone()]));
    assert_eq!(pages(&desk).1, json!(null));
    assert_eq!(desk.json(&["map"])["op"], json!(null));
    // What the other has changed since is not taken back unseen.
    done(&undo_newest(&desk));
    desk.git(&["config", "colony.map.flushThreshold", "7"]);
    desk.colony(&["map"]);
    assert_eq!(ada.error(&["redo"]), "external-change");
    assert_eq!(scopes(&ada), [scope]);
    desk.check_invariants_of_git();
}

#[test]
fn a_map_inside_an_operation_is_no_step_of_its_own() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "one"]);
    let program = env!("CARGO_BIN_EXE_git-colony");
    sandbox.write_program(".git/hooks/pre-commit", format!("#!/bin/sh\n{program} map -q\n"));
    sandbox.write("a.txt", "two\n");
    sandbox.colony(&["commit", "-m", "two", "--all"]);
    assert_eq!(kinds(&sandbox), ["checkpoint", "commit"]);
    assert_eq!(scopes(&sandbox).len(), 1);
    done(&sandbox.json(&["undo"]));
    assert_eq!(scopes(&sandbox).len(), 1);
    // A hook of plain git is no part of an operation: what it maps is a step like any other.
    fs::rename(sandbox.path(".git/hooks/pre-commit"), sandbox.path(".git/hooks/post-commit"))
        .unwrap();
    sandbox.git(&["config", "colony.map.flushThreshold", "7"]);
    sandbox.git(&["commit", "-qam", "three"]);
    let kinds = kinds(&sandbox);
    assert_eq!(kinds.last().unwrap(), "map", "{kinds:?}");
    assert_eq!(undo_newest(&sandbox)["what"], format!("map scope '{}'", scopes(&sandbox)[0]));
}

#[test]
fn a_clone_for_reading_is_mapped_without_an_operation() {
    let sandbox = Sandbox::new();
    let url = format!("file://{}", sandbox.path("").display());
    let made = sandbox.json(&["clone", &url, "--read-only"]);
    let clone = sandbox.at(PathBuf::from(made["path"].as_str().unwrap()));
    let map = clone.json(&["map"]);
    assert_eq!((&map["recorded"], &map["op"]), (&json!(true), &json!(null)), "{map:#}");
    assert_eq!(pages(&clone).1, json!(null));
    let scope = scopes(&clone).remove(0);
    assert_eq!(clone.error(&["scopes", "unmap", &scope]), "read-only-clone");
    assert_eq!(kinds(&clone), [""; 0]);
}

#[test]
fn with_a_sparse_index_a_map_is_recorded_and_is_no_operation() {
    let sandbox = Sandbox::new();
    sandbox.write("in/a.txt", "a\n");
    sandbox.write("out/b.txt", "b\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "two folders"]);
    sandbox.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "in"]);
    assert_eq!(sandbox.error(&["tag", "-m", "x", "HEAD"]), "unsupported");
    let map = sandbox.json(&["map"]);
    assert_eq!((&map["recorded"], &map["op"]), (&json!(true), &json!(null)), "{map:#}");
    let scope = scopes(&sandbox).remove(0);
    let gone = sandbox.json(&["scopes", "unmap", &scope]);
    assert_eq!(gone["copies"], json!(["shared", "pages"]), "{gone:#}");
    assert!(!sandbox.path(".git/colony/pending").exists());
}

#[test]
fn a_mapping_recorded_again_says_that() {
    let (sandbox, _) = mapped();
    done(&undo_newest(&sandbox));
    let run = sandbox.run(&["map"]);
    assert!(run.stdout.contains("recorded, no page has changed"), "{}", run.stdout);
    done(&undo_newest(&sandbox));
    let map = sandbox.json(&["map"]);
    let result = &map["results"][0];
    assert_eq!(
        (&result["recorded"], &result["message"]),
        (&json!(true), &json!("recorded, no page has changed")),
        "{map:#}"
    );
    let again = sandbox.json(&["map"]);
    let result = &again["results"][0];
    assert_eq!(
        (&result["recorded"], &result["message"]),
        (&json!(false), &json!("nothing has changed"))
    );
}

#[test]
fn an_undone_unmap_says_that_pages_are_missing() {
    let (sandbox, scope) = mapped();
    sandbox.colony(&["scopes", "unmap", &scope]);
    let would = sandbox.json(&["undo", "op-3", "-n"]);
    assert_eq!(would["scopes_without_pages"], json!([scope]), "{would:#}");
    let run = sandbox.run(&["undo", "op-3"]);
    assert_eq!(run.stderr, "the pages of 1 scope are not here; run 'git colony map'\n");
    sandbox.colony(&["map"]);
    // Where the pages are here, nothing is missing.
    done(&undo_newest(&sandbox));
    let back = sandbox.json(&["redo"]);
    assert_eq!(back["scopes_without_pages"], json!(null), "{back:#}");
}

#[test]
fn a_mapping_is_undone_alone_after_changes_by_git() {
    let (sandbox, scope) = mapped();
    sandbox.write("a.txt", "two\n");
    sandbox.git(&["commit", "-qam", "two"]);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let refused = sandbox.json(&["undo"]);
    assert_eq!(refused["code"], "external-change", "{refused:#}");
    let hint = refused["hint"].as_str().unwrap();
    assert!(hint.contains("git colony undo op-2, that one alone"), "{hint}");
    let would = sandbox.json(&["undo", "op-2", "-n"]);
    assert_eq!(would["undone"], "op-2", "{would:#}");
    assert_eq!(scopes(&sandbox), [scope.as_str()]);
    let undone = sandbox.json(&["undo", "op-2"]);
    assert_eq!(undone["undone"], "op-2", "{undone:#}");
    assert_eq!(scopes(&sandbox), [""; 0]);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    done(&sandbox.json(&["redo"]));
    assert_eq!(scopes(&sandbox), [scope.as_str()]);
    // The change by plain git is the next step then, and still needs '--force'.
    done(&sandbox.json(&["undo", "op-2"]));
    assert_eq!(sandbox.error(&["undo"]), "external-change");
    // An operation below one that changed HEAD is not undone alone.
    assert_eq!(sandbox.error(&["undo", "op-1"]), "invalid-value");
    sandbox.check_invariants_of_git();
}
