//! What a command does in a sandbox that lets it write nowhere: a read answers as always, and a change is refused with
//! the way out. And that reading writes no settings.

use std::fs;

use serde_json::{Value, json};

use crate::mcp::answer;
use crate::mcp::contract::{FULL, reading_calls};
use crate::support::{Sandbox, View};

/// Runs calls of actions where repository, home and temporary folder are read-only, each in a process; `None` where
/// this machine lets nobody mount.
fn call_read_only(view: &View, calls: &[(&str, Value)]) -> Option<Vec<(String, Value)>> {
    let lines: Vec<_> =
        calls.iter().map(|(action, arguments)| format!("{action}\t{arguments}\n")).collect();
    let list = view.outside().join("calls");
    fs::write(&list, lines.concat()).unwrap();
    let disk = view.outside();
    let (disk, list) = (disk.display(), list.display());
    let script = format!(
        "mount --bind '{disk}' '{disk}' 2>/dev/null && mount -o remount,bind,ro '{disk}' || exit 77; \
         cd \"$1\" && ! touch '{disk}/x' 2>/dev/null || exit 77; tab=$(printf '\\t'); \
         while IFS=$tab read -r action arguments; do \
           said=$(git-colony call \"$action\" \"$arguments\" 2>/dev/null </dev/null); \
           printf '%s\\t%s\\n' $? \"$said\"; \
         done <'{list}'"
    );
    let mut unshare = view.with_program().with("TMPDIR", view.outside()).process("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"]);
    let output = unshare.arg(&view.root).output().ok()?;
    if output.status.code() == Some(77) || output.stdout.is_empty() {
        return None;
    }
    let said = String::from_utf8(output.stdout).unwrap();
    let rows = said.lines().map(|line| line.split_once('\t').unwrap());
    Some(rows.map(|(code, said)| (code.to_owned(), answer(said))).collect())
}

/// Returns the calls of all actions that read, in a repository with uncommitted changes and two agents that clash.
fn with_agents(sandbox: &Sandbox) -> Vec<(&'static str, Value)> {
    for name in ["ada", "bob"] {
        let path = sandbox.json(&["agents", "new", name])["path"].clone();
        let clone = sandbox.at(path.as_str().unwrap().into());
        clone.write("src/a.rs", format!("fn {name}() {{}}\n"));
        clone.colony(&["checkpoint", "-m", name]);
        clone.write("new.txt", "uncommitted\n");
    }
    sandbox.write("src/a.rs", "fn changed() {}\n");
    let mut calls = reading_calls(sandbox);
    calls.extend([
        ("agent_path", json!({ "agent": "ada" })),
        ("memory_show", json!({})),
        ("query_text", json!({ "query": "fn" })),
        ("diff_design", json!({ "ref_a": "ada", "ref_b": "bob" })),
        ("diff_design", json!({ "ref_a": "HEAD", "ref_b": "other" })),
    ]);
    calls
}

/// Holds the answers on a read-only disk against the usual ones.
fn compare(view: &View, calls: &[(&'static str, Value)]) {
    // The copies of others' work and the index are made where they can be kept.
    let answer_of = |(action, arguments): &(&str, Value)| {
        let words = ["call".into(), (*action).into(), arguments.to_string().into()];
        view.run_os(view.world(), words.into())
    };
    let usual: Vec<_> = calls.iter().map(answer_of).collect();
    let Some(answers) = call_read_only(view, calls) else {
        // Not every machine lets its users mount.
        return;
    };
    assert_eq!(answers.len(), calls.len());
    for ((line, (code, said)), usual) in calls.iter().zip(answers).zip(usual) {
        let line = json!(line);
        assert_eq!(code, usual.code.to_string(), "{line} {said:#}");
        assert_eq!(said["code"], answer(&usual.stdout)["code"], "{line}");
        assert!(!said.to_string().contains("os error"), "{line} {said:#}");
    }
}

#[test]
fn no_action_that_reads_needs_a_writable_folder() {
    let sandbox = FULL.copy();
    let calls = with_agents(&sandbox);
    compare(&sandbox, &calls);
    let clone = sandbox.json(&["agents", "path", "ada"])["path"].clone();
    compare(&sandbox.at(clone.as_str().unwrap().into()), &calls);
}

#[test]
fn reading_renews_nothing_that_a_clone_has_of_its_checkout() {
    let sandbox = FULL.copy();
    let calls = with_agents(&sandbox);
    let clone = sandbox.json(&["agents", "path", "ada"])["path"].clone();
    let ada = sandbox.at(clone.as_str().unwrap().into());
    let settings = || {
        let told = ada.git(&["config", "--list", "--show-origin"]);
        let rules = ["info/exclude", "info/attributes"].map(|name| {
            let path = ada.git(&["rev-parse", "--git-path", name]);
            fs::read_to_string(ada.root.join(path.trim())).unwrap_or_default()
        });
        [told, rules.concat()].concat()
    };
    sandbox.git(&["config", "filter.later.clean", "cat"]);
    sandbox.write(".git/info/exclude", "later.txt\n");
    let before = settings();
    for (action, arguments) in &calls {
        let words = ["call".into(), (*action).into(), arguments.to_string().into()];
        let run = ada.run_os(ada.world(), words.into());
        assert_eq!(settings(), before, "{action} {arguments} {}", run.stderr);
    }
    ada.colony(&["checkpoint", "-m", "a change renews them"]);
    let after = settings();
    assert!(after.contains("filter.later.clean=cat") && after.contains("later.txt"), "{after}");
}

#[test]
fn what_maps_or_hydrates_renews_the_rules_of_a_clone() {
    let sandbox = FULL.copy();
    with_agents(&sandbox);
    let clone = sandbox.json(&["agents", "path", "ada"])["path"].clone();
    let ada = sandbox.at(clone.as_str().unwrap().into());
    let commands: [&[&str]; 4] = [
        &["search", "quagga", "--worktree", "--refresh"],
        &["context", "quagga", "--worktree", "--refresh"],
        &["context", "quagga", "--plan", "default"],
        &["context", "hydrate"],
    ];
    for (number, command) in commands.iter().enumerate() {
        let name = format!("hidden-{number}.txt");
        let rules = sandbox.path(".git/info/exclude");
        let before = fs::read_to_string(&rules).unwrap_or_default();
        sandbox.write(".git/info/exclude", format!("{before}\n{name}\n"));
        ada.write(&name, format!("quagga {number}\n"));
        let told = ada.json(command);
        assert!(!told.to_string().contains(&name), "{command:?} {told:#}");
    }
}

#[test]
fn on_a_read_only_disk_a_change_names_the_tools() {
    let sandbox = FULL.copy();
    let calls = [
        ("checkpoint_state", json!({ "label": "a" })),
        ("undo", json!({})),
        ("fork_design", json!({ "label": "a" })),
        ("get_repo_state", json!({})),
    ];
    let Some(answers) = call_read_only(&sandbox, &calls) else {
        // Not every machine lets its users mount.
        return;
    };
    for ((action, _), (code, said)) in calls.iter().zip(&answers).take(3) {
        assert_eq!((code.as_str(), &said["code"]), ("128", &json!("io")), "{action} {said:#}");
        let hint = said["hint"].as_str().unwrap_or_default();
        assert!(hint.contains("checkpoint_state"), "{action} {said:#}");
    }
    assert_eq!(answers[3].1["ok"], true);
}
