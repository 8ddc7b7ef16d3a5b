//! Virtual context memory: resident pages within a budget, locks, pins, and what others see of them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use serde_json::{Value, json};

use super::edited_repository::commit;
use crate::agents::new_and_merge::agent;
use crate::support::{Sandbox, View};

const STATE: &str = ".git/colony/state/1.db";

/// A mapped repository with one file to a page, of about 100 tokens each.
pub(super) fn library(files: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "colony.map.flushThreshold", "1"]);
    for number in 0..files {
        sandbox.write(&name(number), text(number));
    }
    commit(&sandbox);
    sandbox.colony(&["map"]);
    sandbox
}

fn name(number: usize) -> String {
    format!("f{number:02}.txt")
}

fn text(number: usize) -> String {
    format!("line of file {number}\n").repeat(20)
}

/// The id of the page of a file.
fn page(view: &View, file: &str) -> String {
    let listed = view.json(&["pages", "--path", file]);
    listed["pages"][0]["page_id"].as_str().unwrap().to_owned()
}

pub(super) fn pages(view: &View, files: std::ops::Range<usize>) -> Vec<String> {
    files.map(|number| page(view, &name(number))).collect()
}

pub(super) fn on(view: &View, command: &[&str], ids: &[String]) -> Value {
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    view.json(&[&["pages"], command, &ids[..]].concat())
}

/// The ids of the resident pages, in their order.
pub(super) fn resident(view: &View) -> Vec<String> {
    let listed = view.json(&["pages", "resident"]);
    assert!(listed["used_tokens"].as_u64() <= listed["budget_tokens"].as_u64(), "{listed:#}");
    let pages = listed["pages"].as_array().unwrap().iter();
    pages.map(|page| page["page_id"].as_str().unwrap().to_owned()).collect()
}

/// Gives the budget space for that many pages of the first ten files.
fn allow(view: &View, count: u64) {
    let tokens = view.json(&["pages", "--path", &name(1)]);
    let tokens = tokens["pages"][0]["tokens"].as_u64().unwrap();
    let budget = (tokens * count + tokens / 2).to_string();
    view.git(&["config", "colony.context.budgetTokens", &budget]);
}

#[test]
fn the_least_recently_used_page_leaves_first() {
    let sandbox = library(5);
    allow(&sandbox, 3);
    let ids = pages(&sandbox, 0..5);
    let first = on(&sandbox, &["request"], &ids[..3]);
    assert_eq!(first["loaded"], true, "{first:#}");
    assert_eq!(resident(&sandbox), ids[..3]);
    let again = on(&sandbox, &["request"], &ids[..1]);
    assert_eq!((&again["already_resident"], &again["evicted"]), (&json!(1), &json!([])));
    let would = on(&sandbox, &["request", "-n"], &ids[3..4]);
    assert_eq!(would["evicted"], json!([ids[1]]), "{would:#}");
    assert_eq!(resident(&sandbox), ids[..3]);
    let fourth = on(&sandbox, &["request"], &ids[3..4]);
    assert_eq!(fourth["evicted"], would["evicted"], "{fourth:#}");
    // What was loaded first stays first: a prompt keeps its beginning.
    assert_eq!(resident(&sandbox), [&ids[0], &ids[2], &ids[3]].map(String::clone));
    // A page of a lower priority leaves before one that was used earlier.
    on(&sandbox, &["request", "--priority", "1"], &ids[3..4]);
    let fifth = on(&sandbox, &["request"], &ids[4..]);
    assert_eq!(fifth["evicted"], json!([ids[3]]), "{fifth:#}");
    let stats = sandbox.json(&["pages", "stats"]);
    let counts = json!({
        "resident": 3, "stale": 0, "pinned": 0, "locked": 0, "hits": 2, "faults": 5, "evictions": 2
    });
    assert_eq!(stats["stats"], counts, "{stats:#}");
    assert_eq!(stats["scopes"][0]["stats"], counts, "{stats:#}");
}

#[test]
fn pages_that_cannot_be_had_change_nothing() {
    let sandbox = library(2);
    let ids = pages(&sandbox, 0..2);
    let none = sandbox.json(&["pages", "request"]);
    assert_eq!((&none["loaded"], &none["fault_id"]), (&json!(true), &Value::Null));
    assert_eq!(none["message"], "no pages requested");
    assert!(!sandbox.path(STATE).exists());
    let some = on(&sandbox, &["request", &ids[0]], &["0000".to_owned()]);
    assert_eq!(some["loaded"], false, "{some:#}");
    assert_eq!(some["missing"], json!([{ "page_id": "0000", "reason": "not_found" }]));
    assert_eq!(sandbox.run(&["pages", "request", "0000"]).code, 1);
    assert!(resident(&sandbox).is_empty());
    sandbox.git(&["config", "colony.context.budgetTokens", "10"]);
    let large = on(&sandbox, &["request"], &ids);
    assert_eq!((&large["loaded"], &large["held"]), (&json!(false), &json!([])), "{large:#}");
    assert!(resident(&sandbox).is_empty());
}

#[test]
fn the_beginning_of_several_ids_names_none_of_them() {
    let sandbox = library(17);
    let ids = pages(&sandbox, 0..17);
    let alike = |first: &str| ids.iter().filter(|id| id.starts_with(first)).count();
    let digits: Vec<&str> = ids.iter().map(|id| &id[..1]).collect();
    let first = *digits.iter().find(|first| alike(first) > 1).unwrap();
    let one = ids.iter().find(|id| id.starts_with(first)).unwrap();
    on(&sandbox, &["request", one], &[]);
    let count = alike(first);
    let missing = on(&sandbox, &["request", first], &[])["missing"].clone();
    let wanted = json!([{ "page_id": first, "reason": "ambiguous", "begin_so": count }]);
    assert_eq!(missing, wanted);
    let locked = on(&sandbox, &["lock", first], &[]).to_string();
    let told = format!("{count} pages begin with this id");
    assert!(locked.contains(&told), "{locked}");
    let shown = on(&sandbox, &["show", first], &[]);
    assert_eq!(shown["detail"]["begin_so"], count, "{shown:#}");
}

#[test]
fn what_locks_hold_is_named_when_pages_do_not_fit() {
    let sandbox = library(4);
    allow(&sandbox, 2);
    let ids = pages(&sandbox, 0..4);
    on(&sandbox, &["request", "--lock", "3600", "--reason", "in the middle"], &ids[..1]);
    on(&sandbox, &["request"], &ids[1..2]);
    let third = on(&sandbox, &["request"], &ids[2..3]);
    assert_eq!(third["evicted"], json!([ids[1]]), "{third:#}");
    let both = on(&sandbox, &["request"], &ids[2..4]);
    assert_eq!(both["loaded"], false, "{both:#}");
    assert_eq!(both["held"][0]["page_id"], ids[0]);
    assert_eq!(both["held"][0]["lock"]["reason"], "in the middle");
    assert_eq!(resident(&sandbox), [&ids[0], &ids[2]].map(String::clone));
    let row = sandbox.json(&["pages", "--path", &name(0)]);
    assert_eq!(row["pages"][0]["resident"], true, "{row:#}");
    assert_eq!(row["pages"][0]["locked_until"], both["held"][0]["lock"]["locked_until"]);
}

#[test]
fn a_lock_ends_with_its_time_and_not_before() {
    let sandbox = library(2);
    let ids = pages(&sandbox, 0..2);
    let at = |seconds: i64, args: &[&str]| -> Value {
        let run = sandbox.run_in(sandbox.world_at(seconds), &[&["--json", "pages"], args].concat());
        serde_json::from_str(&run.stdout).unwrap()
    };
    let until = |answer: &Value| answer["locked"][0]["locked_until"].clone();
    let id = ids[0].as_str();
    let long = at(0, &["lock", id, "--ttl", "100"]);
    let short = at(10, &["lock", id, "--ttl", "5"]);
    assert_eq!(until(&long), until(&short));
    let unknown = at(10, &["lock", "0000", id]);
    assert_eq!(unknown["failed"][0]["page_id"], "0000", "{unknown:#}");
    assert_eq!(unknown["locked"].as_array().unwrap().len(), 1);
    let more = at(11, &["extend", id, "--by", "60"]);
    assert_eq!(more["extended"], true, "{more:#}");
    let other = at(12, &["--agent", "bob", "unlock", id]);
    assert_eq!(other["failed"][0]["error"], "locked by the user", "{other:#}");
    assert_eq!(at(12, &["--agent", "bob", "extend", id, "--by", "9"])["extended"], false);
    for (args, problem) in [
        (vec!["lock", id, "--ttl", "0"], "ttl_s must be positive"),
        (vec!["lock", id, "--ttl", "-1"], "ttl_s must be positive"),
        (vec!["lock", id, "--ttl", "99999999"], "ttl_s is at most 31536000"),
    ] {
        assert_eq!(at(12, &args)["failed"][0]["error"], problem);
    }
    let none = at(12, &["extend", id, "--by", "0"]);
    assert_eq!(none["problem"], "additional_s must be positive");
    let after = at(500, &["extend", id, "--by", "60"]);
    assert_eq!(after["problem"], "page was not locked", "{after:#}");
    let ended = at(500, &["unlock", id]);
    assert_eq!(ended["already_unlocked"], json!([id]), "{ended:#}");
}

#[test]
fn pinned_pages_stay_while_their_mapping_does() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "colony.map.flushThreshold", "1"]);
    for number in 0..4 {
        let folder = if number < 2 { "rules" } else { "src" };
        sandbox.write(&format!("{folder}/{}", name(number)), text(number));
    }
    let map = "schema_version: 1\nsources:\n  \
        - {name: rules, type: git_repo, start_dir: rules, pinned: true}\n  \
        - {name: src, type: git_repo, start_dir: src}\n";
    sandbox.write(".colony/repo_map.yaml", map);
    commit(&sandbox);
    let mapped = sandbox.run(&["map"]);
    assert_eq!(mapped.code, 0, "{}{}", mapped.stdout, mapped.stderr);
    let of = |path: &str| page(&sandbox, path);
    let rules = [of("rules/f00.txt"), of("rules/f01.txt")];
    let src = [of("src/f02.txt"), of("src/f03.txt")];
    let tokens = sandbox.json(&["pages", "stats"])["total"]["tokens"].as_u64().unwrap();
    let budget = (tokens * 3 / 4 + 5).to_string();
    sandbox.git(&["config", "colony.context.budgetTokens", &budget]);
    assert!(sandbox.run(&["map"]).stderr.contains("more than half"), "{budget}");
    on(&sandbox, &["request"], &rules);
    on(&sandbox, &["request"], &src[..1]);
    let both = on(&sandbox, &["request"], &src);
    assert_eq!(both["loaded"], false, "{both:#}");
    assert_eq!(both["held"].as_array().unwrap().len(), 2);
    assert_eq!(both["held"][0]["lock"], Value::Null);
    let rows = sandbox.json(&["pages", "--path", "rules"]);
    assert_eq!(rows["pages"][0]["pinned"], true, "{rows:#}");
    // A new page of the row is pinned without another word.
    sandbox.write("rules/f00.txt", text(9));
    commit(&sandbox);
    sandbox.colony(&["map"]);
    let rows = sandbox.json(&["pages", "--path", "rules"]);
    assert_eq!(rows["pages"][0]["pinned"], true, "{rows:#}");
    // The page that it had before may leave now.
    on(&sandbox, &["request"], &[of("rules/f00.txt")]);
    let listed = sandbox.json(&["pages", "resident"]);
    let pinned = listed["pages"].as_array().unwrap().iter();
    let pinned = pinned.filter(|page| page["pinned"] == true).count();
    assert_eq!((pinned, listed["count"].as_u64()), (2, Some(3)), "{listed:#}");
    let scope = rows["pages"][0]["scope_id"].as_str().unwrap();
    sandbox.colony(&["scopes", "unmap", scope]);
    let both = on(&sandbox, &["request"], &src);
    assert_eq!(both["loaded"], true, "{both:#}");
}

#[test]
fn a_locked_page_stays_readable_when_its_file_changes() {
    let sandbox = library(2);
    let ids = pages(&sandbox, 0..2);
    on(&sandbox, &["request"], &ids[1..]);
    on(&sandbox, &["lock", "--ttl", "100000"], &ids[..1]);
    let before = sandbox.json(&["pages", "show", &ids[0]])["pages"][0].clone();
    sandbox.write(&name(0), text(7));
    sandbox.write(&name(1), text(8));
    commit(&sandbox);
    sandbox.colony(&["map"]);
    let new = pages(&sandbox, 0..2);
    let after = sandbox.json(&["pages", "show", &ids[0]])["pages"][0].clone();
    assert_eq!(after["records"][0]["text"], before["records"][0]["text"], "{after:#}");
    assert_eq!((&after["stale"], &after["successors"]), (&json!(true), &json!([new[0]])));
    let listed = sandbox.json(&["pages", "resident"]);
    assert_eq!(listed["pages"][0]["stale"], true, "{listed:#}");
    assert_eq!(listed["pages"][0]["successors"], json!([new[1]]));
    on(&sandbox, &["unlock"], &ids[..1]);
    assert_eq!(sandbox.error(&["pages", "show", &ids[0]]), "page-not-found");
}

#[test]
fn the_text_for_a_prompt_has_at_most_the_budget() {
    let sandbox = library(6);
    let ids = pages(&sandbox, 0..6);
    on(&sandbox, &["request"], &ids);
    let whole = sandbox.json(&["pages", "resident", "--format", "text"]);
    assert_eq!(whole["left_out"], json!([]));
    let tokens = whole["text_tokens"].as_u64().unwrap();
    let plain = sandbox.run(&["pages", "resident", "--format", "text"]);
    assert_eq!(plain.stdout, whole["text"].as_str().unwrap());
    assert_eq!(plain.stderr, "");
    for format in ["text", "json"] {
        for budget in [tokens, tokens - 1, 200, 1] {
            let budget = budget.to_string();
            sandbox.git(&["config", "colony.context.budgetTokens", &budget]);
            let cut = sandbox.json(&["pages", "resident", "--format", format]);
            assert!(cut["text_tokens"].as_u64().unwrap() <= budget.parse().unwrap(), "{cut:#}");
            let left_out = cut["left_out"].as_array().unwrap().len();
            assert!(left_out > 0 || budget == tokens.to_string(), "{cut:#}");
        }
    }
    // A page that is used again does not move.
    sandbox.git(&["config", "--unset", "colony.context.budgetTokens"]);
    on(&sandbox, &["request"], &ids[..1]);
    let again = sandbox.json(&["pages", "resident", "--format", "text"]);
    assert_eq!(again["text"], whole["text"]);
}

#[test]
fn all_clones_of_a_hub_name_one_resident_set() {
    let desk = library(2);
    let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
    for clone in [&ada, &bob] {
        clone.git(&["config", "colony.map.flushThreshold", "1"]);
        clone.colony(&["map"]);
    }
    let ids = pages(&desk, 0..2);
    assert_eq!(pages(&ada, 0..2), ids);
    on(&ada, &["request"], &ids[..1]);
    on(&ada, &["lock", "--ttl", "100000", "--reason", "mine"], &ids[..1]);
    let at_desk = desk.json(&["--agent", "ada", "pages", "resident"]);
    assert_eq!(at_desk["pages"][0]["page_id"], ids[0], "{at_desk:#}");
    assert!(resident(&desk).is_empty());
    for view in [&desk as &View, &ada, &bob] {
        let row = view.json(&["pages", "--path", &name(0)]);
        assert!(row["pages"][0]["locked_until"].is_string(), "{row:#}");
    }
    let failed = on(&bob, &["unlock"], &ids[..1]);
    assert_eq!(failed["failed"][0]["error"], "locked by 'ada'", "{failed:#}");
    desk.colony(&["agents", "remove", "ada"]);
    let row = desk.json(&["pages", "--path", &name(0)]);
    assert_eq!(row["pages"][0]["locked_until"], Value::Null, "{row:#}");
    let gone = desk.json(&["--agent", "ada", "pages", "resident"]);
    assert_eq!(gone["count"], 0, "{gone:#}");
    desk.json(&["--agent", "zoe", "pages", "lock", &ids[0]]);
    let doctor = desk.json(&["doctor"]);
    let checks = doctor["checks"].as_array().unwrap();
    let state = checks.iter().find(|check| check["name"] == "page-state").unwrap();
    assert!(state["detail"].as_str().unwrap().ends_with("without a clone: zoe"), "{state:#}");
}

#[test]
fn state_that_cannot_be_used_grants_nothing() {
    let sandbox = library(1);
    let ids = pages(&sandbox, 0..1);
    on(&sandbox, &["request"], &ids);
    // A file that is no database is one of ours that was damaged: it is made again.
    fs::write(sandbox.path(STATE), [b'x'; 10_000]).unwrap();
    assert!(resident(&sandbox).is_empty());
    assert_eq!(on(&sandbox, &["request"], &ids)["loaded"], true);
    fs::remove_dir_all(sandbox.path(".git/colony/state")).unwrap();
    fs::write(sandbox.path(".git/colony/state"), "in the way").unwrap();
    let refused = on(&sandbox, &["lock"], &ids);
    assert_eq!(refused["locked"], json!([]), "{refused:#}");
    assert_eq!(refused["failed"][0]["page_id"], ids[0]);
    let refused = on(&sandbox, &["request"], &ids);
    assert_eq!(refused["loaded"], false, "{refused:#}");
    let stats = sandbox.json(&["pages", "stats"]);
    assert_eq!((&stats["ok"], &stats["stats"]), (&json!(true), &Value::Null), "{stats:#}");
    assert!(stats["problem"].is_string());
    assert_eq!(sandbox.error(&["pages", "resident"]), "state-unusable");
}

#[test]
fn a_state_that_is_read_only_grants_no_lock() {
    if rustix::process::geteuid().is_root() {
        // Root writes anyway; an immutable file would need a file system that has such.
        let sandbox = library(1);
        let ids = pages(&sandbox, 0..1);
        on(&sandbox, &["request"], &ids);
        let would = on(&sandbox, &["lock", "-n"], &ids);
        assert_eq!(would["dry_run"], true);
        let row = sandbox.json(&["pages"]);
        assert_eq!(row["pages"][0]["locked_until"], Value::Null, "{row:#}");
        return;
    }
    let sandbox = library(1);
    let ids = pages(&sandbox, 0..1);
    on(&sandbox, &["request"], &ids);
    let folder = sandbox.path(".git/colony/state");
    fs::set_permissions(sandbox.path(STATE), fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    let refused = on(&sandbox, &["lock"], &ids);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(refused["locked"], json!([]), "{refused:#}");
}

#[test]
fn requesters_that_are_killed_leave_a_whole_resident_set() {
    let sandbox = library(8);
    allow(&sandbox, 4);
    let ids = pages(&sandbox, 0..8);
    for round in 0..3_usize {
        let start = |number: usize| {
            let agent = format!("agent{}", number % 4);
            let id = &ids[(number + round) % ids.len()];
            sandbox
                .program()
                .args(["--agent", &agent, "pages", "request", "--lock", "60", id])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        };
        let mut running: Vec<_> = (0..16).map(start).collect();
        for (number, child) in running.iter_mut().enumerate() {
            if number % 3 == round {
                std::thread::sleep(std::time::Duration::from_millis(7));
                child.kill().unwrap();
            }
        }
        for mut child in running {
            child.wait().unwrap();
        }
        for number in 0..4 {
            let agent = format!("agent{number}");
            let listed =
                sandbox.json(&["--agent", &agent, "pages", "resident", "--format", "text"]);
            assert!(listed["used_tokens"].as_u64() <= listed["budget_tokens"].as_u64());
            assert_eq!(listed["left_out"], json!([]), "{listed:#}");
        }
    }
}

#[test]
fn a_page_of_a_repository_that_is_gone_is_missing() {
    let sandbox = library(1);
    let other = sandbox.outside().join("other");
    let path = other.to_str().unwrap();
    sandbox.git(&["clone", "-q", ".", path]);
    sandbox.json(&["map", "repo", "--path", path, "--scope-id", "other"]);
    let listed = sandbox.json(&["pages", "--scope", "other"]);
    let id = listed["pages"][0]["page_id"].as_str().unwrap().to_owned();
    fs::remove_dir_all(other).unwrap();
    let missing = on(&sandbox, &["request"], &[id]);
    assert_eq!(missing["missing"][0]["reason"], "source_gone", "{missing:#}");
}
