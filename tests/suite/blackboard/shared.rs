//! Several clones: what both have changed is merged key by key, by a remote and in a hub.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::{Value, json};

use crate::agents::new_and_merge::{agent, hub};
use crate::remote::sync_refs::{Two, result, row};
use crate::support::{Sandbox, View};

use super::keys::{get, put};

const BOARD: &str = "refs/colony/blackboard/plan";
const KNOWLEDGE: &str = "refs/colony/knowledge";

fn synced(view: &View) -> Value {
    let answer = view.json(&["sync"]);
    assert_eq!(answer["ok"], true, "{answer:#}");
    answer
}

fn entry(view: &View, key: &str) -> Value {
    view.json(&["blackboard", "get", "plan", key])
}

#[test]
fn two_values_of_a_key_are_kept_until_one_names_both() {
    let two = Two::new();
    let (a, b): (&View, View) = (&two.a, two.b());
    put(a, "owner", "nobody");
    synced(a);
    assert_eq!(result(&synced(&b), BOARD), "fetched");
    put(a, "owner", "ada");
    put(&b, "owner", "bob");
    synced(a);
    assert_eq!(result(&synced(&b), BOARD), "merged");
    assert_eq!(result(&synced(a), BOARD), "fetched");
    let joint = entry(a, "owner");
    assert_eq!(joint, entry(&b, "owner"));
    assert_eq!((&joint["conflict"], &joint["value"]), (&json!(true), &json!(null)));
    assert_eq!(joint["values"][0]["value"], "ada");
    assert_eq!(joint["values"][1]["value"], "bob");
    assert_eq!(a.run(&["blackboard", "get", "plan", "owner"]).code, 1);
    // Who has not seen both does not replace them.
    let blind = a.json(&["blackboard", "put", "plan", "owner", "me"]);
    assert_eq!(blind["code"], "version-mismatch", "{blind:#}");
    assert_eq!(a.error(&["blackboard", "delete", "plan", "owner"]), "version-mismatch");
    let version = joint["version"].as_str().unwrap();
    let settle = ["blackboard", "put", "plan", "owner", "both", "--if-version", version];
    assert_eq!(a.json(&settle)["version"].as_str().unwrap().split('-').next(), Some("3"));
    synced(a);
    synced(&b);
    assert_eq!(get(&b, "owner"), "both");
    // The same text of both is one value.
    put(a, "agreed", "yes");
    put(&b, "agreed", "yes");
    synced(a);
    synced(&b);
    assert_eq!(get(&b, "agreed"), "yes");
    a.check_invariants_of_git();
}

#[test]
fn a_deleted_key_stays_deleted_when_a_history_begins_anew() {
    let two = Two::new();
    let (a, b): (&View, View) = (&two.a, two.b());
    put(a, "old", "1");
    put(a, "kept", "1");
    synced(a);
    synced(&b);
    a.colony(&["blackboard", "delete", "plan", "old"]);
    put(&b, "new", "1");
    // The history of A is cut off: the two have no commit in common.
    let tree = a.git(&["rev-parse", &format!("{BOARD}^{{tree}}")]);
    let commit = a.git(&["commit-tree", &tree, "-m", "cut\n\nCommits: 1"]);
    a.git(&["update-ref", BOARD, &commit]);
    assert_eq!(result(&synced(a), BOARD), "pushed");
    assert_eq!(result(&synced(&b), BOARD), "merged");
    assert_eq!(result(&synced(a), BOARD), "fetched");
    for view in [a, &b] {
        let listed = view.json(&["blackboard", "list", "plan"]);
        let keys = listed["keys"].as_array().unwrap().iter();
        let keys: Vec<_> = keys.map(|row| row["key"].clone()).collect();
        assert_eq!(keys, ["kept", "new"]);
    }
    // A deletion loses against a change.
    a.colony(&["blackboard", "delete", "plan", "kept"]);
    put(&b, "kept", "2");
    synced(&b);
    synced(a);
    assert_eq!(get(a, "kept"), "2");
    // Where nothing is noted, nothing is taken for deleted.
    a.colony(&["blackboard", "delete", "plan", "new"]);
    for note in a.git(&["for-each-ref", "--format=%(refname)", "refs/colony-local/remotes"]).lines()
    {
        a.git(&["update-ref", "-d", note]);
    }
    let commit = a.git(&["commit-tree", &format!("{BOARD}^{{tree}}"), "-m", "cut\n\nCommits: 1"]);
    a.git(&["update-ref", BOARD, &commit]);
    synced(a);
    assert_eq!(get(a, "new"), "1");
}

/// The values of each key: several where clones have written it at once.
type Model = BTreeMap<String, BTreeSet<String>>;

fn values(view: &View) -> Model {
    let listed = view.json(&["blackboard", "list", "plan"]);
    let keys = listed["keys"].as_array().unwrap().iter();
    keys.map(|row| {
        let key = row["key"].as_str().unwrap();
        let entry = entry(view, key);
        let values = entry["values"].as_array().unwrap().iter();
        let values = values.map(|one| one["value"].as_str().unwrap().to_owned());
        (key.to_owned(), values.collect())
    })
    .collect()
}

/// Changes some keys of one side at random; returns what was written, or `None` for a deleted key.
fn change(
    view: &View,
    who: &str,
    draw: &mut impl FnMut(u64) -> u64,
) -> BTreeMap<String, Option<String>> {
    let mut done = BTreeMap::new();
    for number in 0..3 {
        let key = format!("k{number}");
        let version = entry(view, &key)["version"].as_str().unwrap_or("0").to_owned();
        let command = match draw(4) {
            0 => continue,
            1 if version == "0" => continue,
            1 => {
                done.insert(key.clone(), None);
                vec!["delete", "plan", &key]
            }
            _ => {
                done.insert(key.clone(), Some(who.to_owned()));
                vec!["put", "plan", &key, who]
            }
        };
        let words = [vec!["blackboard"], command, vec!["--if-version", &version]].concat();
        let answer = view.json(&words);
        assert_eq!(answer["ok"], true, "{answer:#}");
    }
    done
}

/// Adds a record of knowledge as a commit of git.
fn record(view: &View, name: &str) {
    let index = view.outside().join(format!("index-{name}"));
    let there = view.with("GIT_INDEX_FILE", index);
    let tip = there.git_any(&["rev-parse", "-q", "--verify", KNOWLEDGE]);
    let tip = tip.trim();
    if !tip.is_empty() {
        there.git(&["read-tree", tip]);
    }
    let blob = there.git(&["rev-parse", "HEAD:a.txt"]);
    let path = format!("ab/source-{name}-settings/source.json");
    there.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},{path}")]);
    let tree = there.git(&["write-tree"]);
    let parent = if tip.is_empty() { vec![] } else { vec!["-p", tip] };
    let commit = there.git(&[vec!["commit-tree", &tree, "-m", name], parent].concat());
    there.git(&["update-ref", KNOWLEDGE, &commit]);
}

/// The record that both have after syncs in this order, from the tips that each had before.
fn order(two: &Two, [first, second]: [&View; 2]) -> [String; 2] {
    synced(first);
    synced(second);
    let of = |name: &str| {
        assert_eq!(two.at_remote(&["rev-parse", name]), second.git(&["rev-parse", name]));
        second.git(&["rev-parse", name])
    };
    [BOARD, KNOWLEDGE].map(of)
}

#[test]
fn two_sided_syncs_lose_nothing_and_agree_in_either_order() {
    let is_long = std::env::var_os("COLONY_TEST_LONG").is_some();
    let rounds = if is_long { 200 } else { 20 };
    let two = Two::new();
    let (a, b): (&View, View) = (&two.a, two.b());
    let mut seed = 1_u64;
    let mut draw = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    put(a, "k0", "first");
    record(a, "first");
    order(&two, [a, &b]);
    let mut model: Model = [("k0".to_owned(), BTreeSet::from(["first".to_owned()]))].into();
    let refs = "refs/colony-local/remotes/origin";
    for round in 0..rounds {
        let state =
            |view: &View| view.git(&["for-each-ref", "--format=%(refname) %(objectname)", refs]);
        let notes = [a, &b].map(state);
        let of_remote = [BOARD, KNOWLEDGE].map(|name| two.at_remote(&["rev-parse", name]));
        let mine = change(a, &format!("a{round}"), &mut draw);
        let yours = change(&b, &format!("b{round}"), &mut draw);
        record(a, &format!("a{round}"));
        record(&b, &format!("b{round}"));
        let tips =
            [a, &b].map(|view| [BOARD, KNOWLEDGE].map(|name| view.git(&["rev-parse", name])));
        let one = order(&two, [a, &b]);
        // Everything as it was, and the other way round.
        for (name, tip) in [BOARD, KNOWLEDGE].iter().zip(&of_remote) {
            two.at_remote(&["update-ref", name, tip]);
        }
        for ((view, notes), tips) in [a, &b].into_iter().zip(&notes).zip(&tips) {
            let view: &View = view;
            for (name, tip) in [BOARD, KNOWLEDGE].iter().zip(tips) {
                view.git(&["update-ref", name, tip]);
            }
            for line in notes.lines() {
                let (name, id) = line.split_once(' ').unwrap();
                view.git(&["update-ref", name, id]);
            }
        }
        let other = order(&two, [&b, a]);
        assert_eq!(one, other, "round {round}");
        synced(&b);
        for key in mine.keys().chain(yours.keys()) {
            let written = [&mine, &yours].map(|side| side.get(key));
            let mut now: BTreeSet<String> =
                written.into_iter().flatten().flatten().cloned().collect();
            // A deletion loses against a change, and a conflict that one side left alone against its deletion.
            let is_deleted = now.is_empty();
            if is_deleted {
                model.remove(key);
            } else {
                model.entry(key.clone()).or_default().clear();
                model.entry(key.clone()).or_default().append(&mut now);
            }
        }
        assert_eq!(values(a), model, "round {round}: {mine:?} {yours:?}");
    }
    assert_eq!(values(&b), model);
    let files = a.git(&["ls-tree", "-r", "--name-only", KNOWLEDGE]);
    assert_eq!(files.lines().count(), 2 * rounds + 1);
    two.at_remote(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn a_blackboard_in_the_way_of_all_others_is_named() {
    let two = Two::new();
    let (a, b): (&View, View) = (&two.a, two.b());
    two.at_remote(&["update-ref", "refs/colony/blackboard", "refs/heads/main"]);
    put(a, "owner", "ada");
    a.colony(&["map"]);
    let would = a.json(&["sync", "-n"]);
    let told = a.json(&["sync"]);
    for told in [&would, &told] {
        let row = row(told, BOARD);
        assert_eq!(row["result"], "conflict", "{row:#}");
        assert_eq!(
            row["reason"],
            "the ref 'refs/colony/blackboard' of 'origin' is in the way of this name"
        );
    }
    // Whatever else there is goes on.
    assert_eq!(result(&told, "refs/colony/scopes"), "created");
    assert_eq!(get(a, "owner"), "ada");
    synced(&b);
    assert!(!b.try_git(&["rev-parse", "-q", "--verify", "refs/colony/blackboard"]));
    // It may be symbolic there: nothing that deletes it is offered.
    let hint = row(&told, BOARD)["hint"].as_str().unwrap().to_owned();
    assert!(hint.starts_with("git ls-remote 'origin' "), "{hint}");
    two.at_remote(&["update-ref", "-d", "refs/colony/blackboard"]);
    synced(a);
    synced(&b);
    assert_eq!(get(&b, "owner"), "ada");
}

#[test]
fn a_folder_in_the_way_of_a_shared_record_is_named() {
    let two = Two::new();
    let (a, b): (&View, View) = (&two.a, two.b());
    two.at_remote(&["update-ref", "refs/colony/scopes/x", "refs/heads/main"]);
    two.at_remote(&["update-ref", "refs/colony/knowledge/x/y", "refs/heads/main"]);
    two.at_remote(&["update-ref", "refs/heads/fork/f/g", "refs/heads/main"]);
    a.colony(&["map"]);
    a.colony(&["fork", "f", "--no-switch"]);
    let told = a.json(&["sync"]);
    let names = ["refs/colony/scopes", "refs/heads/fork/f", "refs/colony/forks/f"];
    for name in names {
        assert_eq!(result(&told, name), "conflict", "{told:#}");
    }
    assert_eq!(
        row(&told, "refs/heads/fork/f")["hint"],
        "git ls-remote 'origin' 'refs/heads/fork/f/g'   # rename it there, then sync again"
    );
    two.at_remote(&["update-ref", "-d", "refs/colony/scopes/x"]);
    assert_eq!(result(&a.json(&["sync"]), "refs/colony/scopes"), "created");
    // The other way round: the name is taken here.
    put(a, "owner", "ada");
    synced_but_the_fork(a);
    b.git(&["update-ref", "refs/colony/blackboard", "HEAD"]);
    let told = b.json(&["sync"]);
    assert_eq!(result(&told, BOARD), "conflict", "{told:#}");
    let hint = row(&told, BOARD)["hint"].as_str().unwrap().to_owned();
    assert!(b.process("sh").args(["-c", &hint]).status().unwrap().success());
    assert_eq!(result(&b.json(&["sync"]), BOARD), "fetched");
    assert_eq!(get(&b, "owner"), "ada");
}

#[test]
fn a_symbolic_ref_here_that_is_in_the_way_stays() {
    let two = Two::new();
    let (a, b): (&View, View) = (&two.a, two.b());
    put(a, "owner", "ada");
    record(a, "x");
    a.colony(&["map"]);
    synced(a);
    let links = [
        ("refs/colony/blackboard", BOARD, "refs/heads/main"),
        ("refs/colony/knowledge/x", KNOWLEDGE, "refs/heads/none"),
        ("refs/colony/scopes", "refs/colony/scopes", "refs/heads/main"),
    ];
    for (link, _, target) in links {
        b.git(&["symbolic-ref", link, target]);
    }
    let main = b.git(&["rev-parse", "main"]);
    let (would, told) = (b.json(&["sync", "-n"]), b.json(&["sync"]));
    for (link, name, target) in links {
        for told in [&would, &told] {
            let row = row(told, name);
            assert_eq!(row["result"], "conflict", "{row:#}");
            let reason = format!(
                "the symbolic ref '{link}' here, which leads to '{target}', is in the way of this name"
            );
            assert_eq!(row["reason"], reason);
        }
        assert_eq!(b.git(&["symbolic-ref", link]), target);
        let hint = row(&told, name)["hint"].as_str().unwrap().to_owned();
        let done = b.process("sh").args(["-c", &hint]).status();
        assert!(done.unwrap().success(), "{hint}");
    }
    assert_eq!(b.git(&["rev-parse", "main"]), main);
    let told = synced(&b);
    for (_, name, _) in links {
        assert_eq!(result(&told, name), "fetched", "{told:#}");
    }
}

/// Runs the command of a hint.
fn run_hint(view: &View, hint: &Value) {
    let hint = hint.as_str().unwrap();
    let done = view.process("sh").args(["-c", hint]).status();
    assert!(done.unwrap().success(), "{hint}");
}

/// Returns how a broken ref is named with its file.
fn broken(view: &View, name: &str, holds: &str) -> String {
    let file = view.path(&format!(".git/{name}"));
    format!(
        "the broken ref '{name}' here is in the way of this name: its file '{}' has '{holds}' in place of an object id",
        file.display()
    )
}

#[test]
fn a_broken_ref_here_stops_a_sync_and_is_no_deletion() {
    let two = Two::new();
    let (a, b): (&View, View) = (&two.a, two.b());
    put(a, "owner", "ada");
    a.colony(&["map"]);
    synced(a);
    synced(&b);
    let names = [BOARD, "refs/colony/scopes"];
    for name in names {
        b.write(&format!(".git/{name}"), "garbage\n");
    }
    let told = b.json(&["sync", "-n"]);
    for name in names {
        let row = row(&told, name);
        assert_eq!(row["result"], "conflict", "{row:#}");
        assert_eq!(row["reason"], broken(&b, name, "garbage"));
    }
    // Where there is something to fetch, git fetches nothing beside such a ref.
    two.at_remote(&["branch", "new", "main"]);
    for name in names {
        let refused = b.json(&["sync"]);
        assert_eq!(refused["code"], "repository-broken", "{refused:#}");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains(b.path(&format!(".git/{name}")).to_str().unwrap()));
        run_hint(&b, &refused["hint"]);
    }
    let told = synced(&b);
    for name in names {
        assert_eq!(result(&told, name), "fetched", "{told:#}");
    }
}

#[test]
fn a_broken_ref_that_is_in_the_way_is_named_with_its_file() {
    let desk = Sandbox::new();
    let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
    let args = ["blackboard", "put", "plan", "turn", "ada"];
    ada.write(".git/refs/colony/blackboard", "garbage\n");
    let refused = ada.json(&args);
    assert_eq!(refused["code"], "repository-broken", "{refused:#}");
    let reason = broken(&ada, "refs/colony/blackboard", "garbage");
    assert_eq!(refused["message"], format!("cannot create ref '{BOARD}': {reason}"));
    run_hint(&ada, &refused["hint"]);
    assert_eq!(ada.json(&args)["ok"], true);
    // One of the very name, empty as after a power cut.
    ada.write(&format!(".git/{BOARD}"), "");
    put(&bob, "turn", "bob");
    let warning = ada.json(&["blackboard", "list"])["warnings"][0].clone();
    let reason = broken(&ada, BOARD, "");
    assert_eq!(warning["message"], format!("'{BOARD}' is not shared with the hub: {reason}"));
    let refused = ada.json(&args);
    assert_eq!(refused["code"], "repository-broken", "{refused:#}");
    let file = ada.path(&format!(".git/{BOARD}"));
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains(file.to_str().unwrap()), "{message}");
    run_hint(&ada, &refused["hint"]);
    assert_eq!(get(&ada, "turn"), "bob");
}

/// Syncs a clone whose fork cannot be sent.
fn synced_but_the_fork(view: &View) {
    let told = view.json(&["sync"]);
    assert_eq!(result(&told, BOARD), "created", "{told:#}");
}

#[test]
fn a_tree_that_git_refuses_is_not_fetched() {
    let two = Two::new();
    let (a, b): (&View, View) = (&two.a, two.b());
    put(a, "owner", "ada");
    synced(a);
    let blob = two.at_remote(&["rev-parse", "HEAD:a.txt"]);
    let octal = |digits: &[u8]| {
        let digits = std::str::from_utf8(digits).unwrap();
        format!("\\{:03o}", u8::from_str_radix(digits, 16).unwrap())
    };
    let raw: String = blob.as_bytes().chunks(2).map(octal).collect();
    let tree =
        format!("printf '100644 ..\\000{raw}' | git hash-object -t tree --literally -w --stdin");
    let tree = a.process("sh").args(["-c", &tree]).output().unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap();
    let commit = a.git(&["commit-tree", "-m", "dots", tree.trim()]);
    let to = format!("{commit}:refs/colony/blackboard/dots");
    a.git(&["push", "-q", "origin", &to]);
    let told = b.json(&["sync"]);
    assert_eq!(result(&told, "refs/colony/blackboard/dots"), "invalid", "{told:#}");
    assert!(!b.try_git(&["rev-parse", "-q", "--verify", "refs/colony/blackboard/dots"]));
    assert_eq!(get(&b, "owner"), "ada");
}

#[test]
fn undo_looks_first_at_what_other_clones_wrote() {
    let desk = Sandbox::new();
    let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
    put(&ada, "turn", "one");
    put(&bob, "turn", "two");
    let refused = ada.json(&["undo"]);
    assert_eq!(refused["code"], "external-change", "{refused:#}");
    assert_eq!(get(&desk, "turn"), "two");
}

#[test]
fn three_clones_without_a_remote_share_keys_and_mappings() {
    let desk = Sandbox::new();
    desk.write("docs/b.md", "# B\n\nWords.\n");
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "b"]);
    let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
    let first = put(&ada, "turn", "ada");
    assert_eq!((get(&bob, "turn"), get(&desk, "turn")), (json!("ada"), json!("ada")));
    let take = |view: &View, who: &str| {
        view.json(&["blackboard", "put", "plan", "turn", who, "--if-version", &first])
    };
    assert_eq!(take(&bob, "bob")["ok"], true);
    assert_eq!(take(&desk, "desk")["code"], "version-mismatch");
    assert_eq!(get(&ada, "turn"), "bob");
    // What one takes back, all see; and what one deletes does not come back from another.
    assert_eq!(bob.json(&["undo"])["ok"], true);
    assert_eq!((get(&ada, "turn"), get(&desk, "turn")), (json!("ada"), json!("ada")));
    desk.colony(&["blackboard", "delete", "plan", "turn"]);
    put(&ada, "other", "1");
    for view in [&ada, &bob, &desk] {
        let view: &View = view;
        let listed = view.json(&["blackboard", "list", "plan"]);
        assert_eq!(listed["count"], 1, "{listed:#}");
    }
    // A mapping of the default branch is one for all.
    assert_eq!(desk.json(&["map"])["recorded"], true);
    let ids = |view: &View| {
        let scopes = view.json(&["scopes"])["mappings"].clone();
        let rows = scopes.as_array().unwrap().iter();
        rows.map(|row| row["scope_id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&desk).len(), 1);
    assert_eq!((ids(&ada), ids(&bob)), (ids(&desk), ids(&desk)));
    let scope = ids(&desk)[0].as_str().unwrap().to_owned();
    assert_eq!(bob.json(&["scopes", "unmap", &scope])["status"], "unmapped");
    assert_eq!((ids(&ada).len(), ids(&bob).len()), (0, 0));
    desk.check_invariants_of_git();
}

/// Returns the hint of a command that shares no record of this name, with the reason that is expected.
fn hint_of_unshared(view: &View, args: &[&str], name: &str, reason: &str) -> String {
    let run = view.run(args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let told = format!(
        "warning: '{name}' is not shared with the hub: {reason} is in the way of this name\nhint: "
    );
    let at = run.stderr.find(&told).map(|at| at + told.len());
    let rest = &run.stderr[at.unwrap_or_else(|| panic!("{}", run.stderr))..];
    rest.lines().next().unwrap().to_owned()
}

#[test]
fn a_ref_of_the_hub_that_is_in_the_way_is_named() {
    let desk = Sandbox::new();
    let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
    let hub = hub(&desk);
    let in_hub = |args: &[&str]| {
        let hub = ["--git-dir", hub.to_str().unwrap()];
        desk.git(&[&hub[..], args].concat())
    };
    let main = desk.git(&["rev-parse", "main"]);
    in_hub(&["update-ref", "refs/colony/blackboard", &main]);
    in_hub(&["symbolic-ref", "refs/colony/scopes/x", "refs/heads/none"]);
    let put = ["blackboard", "put", "plan", "turn", "ada"];
    let reason = "the ref 'refs/colony/blackboard' of the hub";
    let of_board = hint_of_unshared(&ada, &put, BOARD, reason);
    let reason =
        "the symbolic ref 'refs/colony/scopes/x' of the hub, which leads to 'refs/heads/none',";
    let of_scopes = hint_of_unshared(&desk, &["map"], "refs/colony/scopes", reason);
    let warning = &ada.json(&put)["warnings"][0];
    let message = warning["message"].as_str().unwrap();
    assert!(message.starts_with(&format!("'{BOARD}' is not shared")), "{message}");
    assert_eq!(warning["hint"], json!(of_board));
    // Whatever else there is goes on.
    record(&ada, "x");
    for view in [&ada, &bob] {
        view.colony(&["scopes"]);
    }
    let tip = |view: &View| view.git(&["rev-parse", KNOWLEDGE]);
    assert_eq!(tip(&bob), tip(&ada));
    for hint in [of_board, of_scopes] {
        let done = desk.process("sh").args(["-c", &hint]).status();
        assert!(done.unwrap().success(), "{hint}");
    }
    assert_eq!(in_hub(&["rev-parse", "refs/saved/colony-blackboard"]), main);
    for view in [&ada, &desk as &View] {
        assert_eq!(view.run(&["scopes"]).stderr, "");
    }
    assert_eq!(get(&ada, "turn"), "ada");
    assert_eq!(get(&bob, "turn"), "ada");
    assert_eq!(bob.json(&["scopes"])["count"], 1);
}

#[test]
fn an_answer_in_json_says_that_a_key_is_not_shared() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    let put = ["blackboard", "put", "plan", "turn", "ada"];
    let get = ["blackboard", "get", "plan", "turn"];
    let list = ["blackboard", "list"];
    // Its objects are still found.
    let (head, aside) = (hub(&desk).join("HEAD"), hub(&desk).join("aside"));
    fs::rename(&head, &aside).unwrap();
    for args in [&put[..], &get, &list] {
        let told = ada.json(args);
        assert_eq!(told["ok"], true, "{told:#}");
        let message = told["warnings"][0]["message"].as_str().unwrap();
        assert!(message.starts_with("cannot share records with the hub: "), "{message}");
        assert_eq!(told["warnings"].as_array().unwrap().len(), 1, "{told:#}");
    }
    fs::rename(&aside, &head).unwrap();
    for args in [&put[..], &get, &list] {
        assert_eq!(ada.json(args)["warnings"], json!([]));
    }
    assert_eq!(desk.json(&get)["value"], "ada");
}

#[test]
fn clones_that_write_at_once_lose_nothing() {
    let desk = Sandbox::new();
    let views = [agent(&desk, "ada"), agent(&desk, "bob"), agent(&desk, "eve")];
    std::thread::scope(|scope| {
        for (number, view) in views.iter().enumerate() {
            scope.spawn(move || {
                for round in 0..5 {
                    let key = format!("k{number}-{round}");
                    let args = ["--timeout", "600", "blackboard", "put", "plan", &key, "v"];
                    let done = view.program().args(args).output().unwrap();
                    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
                }
            });
        }
    });
    assert_eq!(desk.json(&["blackboard", "list", "plan"])["count"], 15);
}

#[test]
fn records_from_before_the_hub_are_in_the_first_clone() {
    let desk = Sandbox::new();
    put(&desk, "owner", "nobody");
    desk.write("notes.md", "# Notes\n\nOf flux.\n");
    desk.write(
        ".colony/repo_map.yaml",
        "schema_version: 1\nsources:\n- {name: all, type: git_repo}\n",
    );
    desk.colony(&["commit", "-m", "map", "--all"]);
    desk.colony(&["knowledge", "ingest", "notes.md"]);
    desk.colony(&["map"]);
    let ada = agent(&desk, "ada");
    assert_eq!(get(&ada, "owner"), "nobody");
    let refs = ["for-each-ref", "--format=%(refname) %(objectname)", "refs/colony"];
    let shared = |view: &View| -> Vec<String> {
        let all = view.git(&refs);
        let is_record = |line: &&str| !line.contains("/forks/") && !line.contains("/checkpoints/");
        all.lines().filter(is_record).map(str::to_owned).collect()
    };
    ada.colony(&["map", "scopes"]);
    ada.colony(&["knowledge"]);
    assert_eq!(shared(&ada), shared(&desk));
    assert_eq!(shared(&desk).len(), 3, "{:?}", shared(&desk));
}
