//! Names with several meanings: refused, with names that each stand for one of them, and a hint that works as printed.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::agents::new_and_merge::{agent, commit};
use crate::support::{Sandbox, View};

/// Runs a hint as a shell does.
fn run(view: &View, hint: &str) -> String {
    let mut shell = view.with_program().process("sh");
    let output = shell.args(["-c", hint]).current_dir(&view.root).output().unwrap();
    let code = output.status.code();
    match code {
        Some(0) => String::new(),
        _ => format!("{hint}: {code:?} {}", String::from_utf8_lossy(&output.stderr)),
    }
}

/// Returns what is wrong with how a command refuses an ambiguous name: each candidate has to be one of the states that the
/// name may mean, and the hint has to run.
pub(crate) fn faults(view: &View, line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split(' ').collect();
    let refused = view.json(&words);
    let code = refused["code"].as_str().unwrap_or("ok");
    if !["name-ambiguous", "checkpoint-ambiguous"].contains(&code) {
        return vec![format!("{line}: {code}")];
    }
    let detail = &refused["detail"];
    let names = detail["names"].as_array().or_else(|| detail["candidates"].as_array());
    let names: Vec<&str> = names.unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let mut wrong = Vec::new();
    let mut meanings = BTreeSet::new();
    for name in &names {
        let restored = view.json(&["restore", "-fn", name]);
        if restored["ok"] != true {
            wrong.push(format!("{line}: '{name}' is {}", restored["code"]));
        }
        meanings.insert(restored["checkpoint_id"].to_string());
    }
    if meanings.len() != names.len() || names.len() < 2 {
        wrong.push(format!("{line}: {names:?} are {meanings:?}"));
    }
    let hint = refused["hint"].as_str().unwrap();
    let named = names.iter().filter(|name| hint.contains(*name)).count();
    if named == 0 {
        wrong.push(format!("{line}: '{hint}' spells nothing out"));
    }
    let failed = run(view, hint);
    wrong.extend(Some(format!("{line}: {failed}")).filter(|_| !failed.is_empty()));
    wrong
}

/// Makes a commit beside main, and refs to it.
fn beside(sandbox: &Sandbox, refs: &[&str]) -> String {
    let tree = sandbox.git(&["rev-parse", "HEAD^{tree}"]);
    let id = sandbox.git(&["commit-tree", "-p", "HEAD", "-m", refs[0], &tree]);
    for name in refs {
        sandbox.git(&["update-ref", &format!("refs/{name}"), &id]);
    }
    id
}

#[test]
fn an_operation_and_a_ref_of_one_name_are_refused() {
    let sandbox = Sandbox::new();
    for number in 1..=4 {
        sandbox.write("a.txt", format!("{number}\n"));
        sandbox.colony(&["checkpoint", "-m", &format!("state {number}"), "--off-branch"]);
    }
    let before = sandbox.json(&["restore", "-fn", "op-1"])["sha"].clone();
    let branch = beside(&sandbox, &["heads/op-1", "tags/op-2", "heads/fork/op-3"]);
    let mut wrong = Vec::new();
    for name in ["op-1", "op-2", "op-3"] {
        let commands =
            ["restore -fn NAME", "restore NAME", "diff NAME", "diff main NAME", "revert NAME"];
        for command in commands {
            wrong.extend(faults(&sandbox, &command.replace("NAME", name)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let refused = sandbox.json(&["restore", "op-1"]);
    let names = &refused["detail"]["names"];
    let restored = |name: &Value| sandbox.json(&["restore", "-fn", name.as_str().unwrap()]);
    assert_eq!(restored(&names[0])["sha"], before);
    assert_eq!(names[1], "refs/heads/op-1");
    assert_eq!(restored(&names[1])["sha"], branch.as_str());
    // No command about work means the operation, and those about operations mean nothing else.
    assert_eq!(sandbox.json(&["log", "op-1"])["head_sha"], branch.as_str());
    assert_eq!(sandbox.json(&["ops", "show", "op-1"])["ok"], true);
    // Another name of an operation than one that exists is the branch alone.
    sandbox.git(&["branch", "op-99", &branch]);
    assert_eq!(sandbox.json(&["restore", "-fn", "op-99"])["sha"], branch.as_str());
    assert_eq!(sandbox.error(&["revert", "op-99"]), "nothing-to-revert");
}

#[test]
fn what_undo_offers_means_the_operation() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "kept\n");
    let made = sandbox.json(&["checkpoint", "-m", "one"]);
    let operation = made["op"].as_str().unwrap().to_owned();
    let before = sandbox.json(&["restore", "-fn", &operation])["sha"].clone();
    sandbox.write("a.txt", "by git\n");
    sandbox.git(&["commit", "-qam", "by git"]);
    sandbox.git(&["tag", &operation]);
    let refused = sandbox.json(&["undo"]);
    assert_eq!(refused["code"], "external-change", "{refused:#}");
    let hint = refused["hint"].as_str().unwrap();
    let (_, rest) = hint.split_once("or git colony restore ").unwrap();
    let restored = sandbox.json(&["restore", "-fn", rest]);
    assert_eq!(restored["sha"], before, "{hint}: {restored:#}");
}

/// Runs every command in a hint: also what is after `or`.
fn run_all(view: &View, hint: &str) -> Vec<String> {
    let mut hints = vec![hint.to_owned()];
    if let Some((_, other)) = hint.split_once("or git colony ") {
        let other = other.trim_end_matches(", as before it");
        hints.push(format!("git colony {other}").replace("colony restore", "colony restore -fn"));
    }
    if let (Some((_, other)), true) = (hint.split_once("# or diff "), hint.contains("restore")) {
        hints.push(format!("git colony diff {other}"));
    }
    hints.iter().map(|hint| run(view, hint)).filter(|failed| !failed.is_empty()).collect()
}

#[test]
fn a_hint_about_an_operation_works_as_printed() {
    let sandbox = Sandbox::new();
    // The first operation recorded no files.
    sandbox.colony(&["blackboard", "put", "plan", "key", "value"]);
    for number in 1..=3 {
        sandbox.write("a.txt", format!("{number}\n"));
        sandbox.colony(&["checkpoint", "-m", &format!("state {number}"), "--off-branch"]);
    }
    assert_eq!(sandbox.error(&["restore", "-n", "op-1"]), "operation-not-found");
    let names = ["op-1", "op-2", "op-3", "op-4"];
    let refs = sandbox.git(&["for-each-ref", "--format=%(refname)", "refs/colony-local/ops/"]);
    let mut wrong = Vec::new();
    for is_hidden in [false, true] {
        for name in names.iter().filter(|_| is_hidden) {
            beside(&sandbox, &[&format!("heads/{name}")]);
        }
        for name in names.into_iter().chain(refs.lines()) {
            for command in ["undo", "log", "merge", "restore", "diff", "revert", "land"] {
                // Where it does what it is told, there is no hint.
                if command == "undo" && ["op-4", refs.lines().last().unwrap()].contains(&name) {
                    continue;
                }
                let words: Vec<&str> = command.split(' ').chain([name]).collect();
                let words = if command == "restore" { vec!["restore", "-fn", name] } else { words };
                let answer = sandbox.json(&words);
                let hint = answer["hint"].as_str().unwrap_or_default();
                let failed = if hint.is_empty() { Vec::new() } else { run_all(&sandbox, hint) };
                wrong.extend(failed.iter().map(|failed| format!("{command} {name}: {failed}")));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn commands_about_operations_take_their_full_names() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "changed\n");
    let made = sandbox.json(&["checkpoint", "-m", "one"]);
    let operation = made["op"].as_str().unwrap();
    let refs = sandbox.git(&["for-each-ref", "--format=%(refname)", "refs/colony-local/ops/"]);
    let full = refs.lines().last().unwrap();
    assert_eq!(sandbox.json(&["ops", "show", full])["op"], operation);
    assert_eq!(sandbox.json(&["undo", full])["undone"], operation);
    assert_eq!(sandbox.json(&["redo", full])["undone"], operation);
}

/// The clone of an agent that is here already.
fn clone_of(sandbox: &Sandbox, name: &str) -> View {
    let path = sandbox.json(&["agents", "path", name])["path"].as_str().unwrap().to_owned();
    sandbox.at(path.into())
}

/// Gives names to a commit, to agents and to checkpoints: of what another thing is called, and of what spells that out.
fn name_twice(sandbox: &Sandbox, side: &str) {
    for remote in ["one", "two"] {
        sandbox.git(&["remote", "add", remote, "nowhere"]);
        let [far, hid] = ["far", "hid"].map(|name| format!("remotes/{remote}/fork/{name}"));
        beside(sandbox, &[&far, &hid]);
    }
    beside(sandbox, &["heads/one/fork/hid"]);
    for name in ["ada", "bob", "cleo", "dan"] {
        commit(&agent(sandbox, name), &format!("{name}.txt"), "work\n");
    }
    for name in ["cleo", "dan"] {
        let clone = clone_of(sandbox, name);
        clone.git(&["switch", "-qc", "fork/shared"]);
        commit(&clone, "shared.txt", name);
    }
    for label in ["twice one", "twice two"] {
        clone_of(sandbox, "ada").colony(&["checkpoint", "--off-branch", "-m", label]);
    }
    beside(sandbox, &["heads/bob", "tags/bob/fork/bob", "tags/cleo/fork/shared"]);
    for label in ["both", "many", "many", "tagged", "work", "ada", "ada/fork/ada"] {
        sandbox.colony(&["checkpoints", "tag", "-m", label, "main"]);
    }
    for label in ["refs/heads/both", "refs/tags/tagged", side] {
        sandbox.colony(&["checkpoints", "tag", "-m", label, "main"]);
    }
}

#[test]
fn each_way_out_of_an_ambiguous_name_works() {
    let sandbox = Sandbox::new();
    let side = beside(&sandbox, &["heads/both", "heads/many", "tags/tagged", "heads/fork/work"]);
    name_twice(&sandbox, &side);
    let mut wrong = Vec::new();
    let refused = "both many tagged work ada ada/fork/ada ada/twice bob far hid shared";
    for name in refused.split(' ') {
        wrong.extend(faults(&sandbox, &format!("restore {name}")));
    }
    for name in ["bob", "far", "hid", "shared", "bob~1"] {
        for command in ["merge", "log", "diff main", "fork new --from", "land"] {
            wrong.extend(faults(&sandbox, &format!("{command} {name}")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // What is spelled out is never refused, whatever a checkpoint is called.
    for name in ["refs/heads/both", "refs/tags/tagged", &side] {
        let restored = sandbox.json(&["restore", "-fn", name]);
        assert_eq!(restored["sha"], side.as_str(), "{name}: {restored:#}");
    }
}

#[test]
fn a_range_to_an_agents_working_tree_is_a_log() {
    let sandbox = Sandbox::new();
    let ada = agent(&sandbox, "ada");
    commit(&ada, "a.txt", "committed\n");
    ada.write("b.txt", "not committed\n");
    let whole = sandbox.json(&["log", "ada@"]);
    let range = sandbox.json(&["log", "main..ada@"]);
    assert_eq!(range["commits"].as_array().unwrap().len(), 1, "{range:#}");
    for field in ["commits", "uncommitted", "head_sha"] {
        assert_eq!(range[field], whole[field], "{range:#}");
    }
    assert_eq!(sandbox.json(&["log", "ada@..main"])["commits"], serde_json::json!([]));
    // Where a commit is needed, the end is refused, and no agent is called like a range.
    for line in
        ["cherry-pick -n main..ada@", "agents check ada --range main..ada@", "log main...ada@"]
    {
        let refused = sandbox.json(&line.split(' ').collect::<Vec<_>>());
        let message = refused["message"].as_str().unwrap();
        assert!(!message.contains("no agent 'main"), "{line}: {message}");
    }
    assert_eq!(sandbox.error(&["cherry-pick", "-n", "main..ada@"]), "uncommitted-edits");
}
