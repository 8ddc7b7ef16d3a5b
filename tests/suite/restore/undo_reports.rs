//! What undo and restore say of what goes, and of what undo does not take back.

use serde_json::Value;

use crate::support::Sandbox;

/// Three checkpoints on the branch, with commits of plain git between the second and the third.
fn with_commits(count: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    for label in ["state one", "state two"] {
        sandbox.write("a.txt", label);
        sandbox.colony(&["checkpoint", "-m", label]);
    }
    for number in 0..count {
        sandbox.write("a.txt", format!("{number}\n"));
        sandbox.git(&["commit", "-qam", &format!("work {number}")]);
    }
    sandbox
}

/// Checks that undo names an act in words and as JSON, takes the older step, and names it once only.
fn assert_named(sandbox: &Sandbox, command: &str, way_back: &str) {
    let plan = sandbox.json(&["undo", "-n"]);
    assert_eq!(plan["not_undone"]["command"], command, "{plan:#}");
    let undone = sandbox.colony(&["undo"]);
    let line = format!(
        "not undone: '{command}', which came later and undo does not cover; to reverse it: {way_back}"
    );
    assert!(undone.contains(&line), "{undone}");
    sandbox.colony(&["redo"]);
    let again = sandbox.json(&["undo"]);
    assert_eq!(again["not_undone"], Value::Null, "{again:#}");
    sandbox.colony(&["redo"]);
}

#[test]
fn what_came_later_and_is_no_step_is_named_with_its_way_back() {
    let sandbox = with_commits(0);
    sandbox.colony(&["hooks", "install", "--for", "codex"]);
    let way_back = "git colony hooks uninstall --for codex";
    assert_named(&sandbox, "hooks install --for codex", way_back);
    sandbox.colony(&["hooks", "uninstall", "--for", "codex"]);
    let way_back = "git colony hooks install --for codex";
    assert_named(&sandbox, "hooks uninstall --for codex", way_back);
    let mapped = sandbox.json(&["map", "--worktree"]);
    let scope = mapped["results"][0]["scope_id"].as_str().unwrap();
    let way_back = format!("git colony map scopes unmap '{scope}'");
    assert_named(&sandbox, "map --worktree", &way_back);
    sandbox.colony(&["agents", "new", "ada"]);
    let way_back = "git colony agents remove ada";
    assert_named(&sandbox, "agents new ada", way_back);
    sandbox.colony(&["agents", "remove", "ada"]);
    let way_back = "git colony agents restore ada";
    assert_named(&sandbox, "agents remove ada", way_back);
    sandbox.colony(&["agents", "restore", "ada"]);
    let way_back = "git colony agents remove ada";
    assert_named(&sandbox, "agents restore ada", way_back);
}

#[test]
fn each_act_is_named_by_the_undo_of_the_step_before_it() {
    let sandbox = with_commits(0);
    let acts = |report: &Value| {
        let acts = report["acts_since"].as_array().unwrap().iter();
        acts.map(|act| act["command"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    sandbox.colony(&["agents", "new", "ada"]);
    sandbox.colony(&["hooks", "install", "--for", "codex"]);
    sandbox.colony(&["agents", "new", "bob"]);
    sandbox.colony(&["agents", "remove", "bob"]);
    sandbox.colony(&["checkpoint", "-m", "state three", "--off-branch"]);
    sandbox.colony(&["map", "--worktree"]);
    let plan = sandbox.json(&["undo", "-n"]);
    assert_eq!(acts(&plan), ["map --worktree"]);
    let undone = sandbox.json(&["undo"]);
    assert_eq!(
        (acts(&undone), &undone["not_undone"]["command"]),
        (acts(&plan), &"map --worktree".into())
    );
    sandbox.colony(&["agents", "new", "cleo"]);
    // What was taken back meanwhile is no news, and what was told is not told again.
    let before =
        ["agents new cleo", "agents remove bob", "hooks install --for codex", "agents new ada"];
    assert_eq!(acts(&sandbox.json(&["undo", "-n"])), before);
    let screen = sandbox.colony(&["undo"]);
    assert!(screen.contains("not undone: 'agents new cleo', which came later"), "{screen}");
    assert!(screen.contains("and 3 earlier commands that undo does not cover"), "{screen}");
    assert_eq!(acts(&sandbox.json(&["undo", "-n"])), [""; 0]);
}

#[test]
fn no_more_than_twenty_acts_are_kept() {
    let sandbox = with_commits(0);
    for number in 0..22 {
        sandbox.colony(&["agents", "new", &format!("a{number}"), "-q"]);
    }
    let undone = sandbox.json(&["undo"]);
    assert_eq!(undone["acts_since"].as_array().unwrap().len(), 20);
}

#[test]
fn a_sync_is_named_once_something_has_travelled() {
    let sandbox = with_commits(0);
    let remote = sandbox.outside().join("remote.git");
    let remote = remote.to_str().unwrap();
    sandbox.git(&["init", "-q", "--bare", remote]);
    sandbox.git(&["remote", "add", "origin", remote]);
    sandbox.json(&["sync", "--push"]);
    assert_eq!(sandbox.json(&["undo", "-n"])["not_undone"]["command"], "sync");
    sandbox.colony(&["checkpoint", "-m", "later"]);
    assert_eq!(sandbox.json(&["undo", "-n"])["not_undone"], Value::Null);
}

#[test]
fn a_dry_run_and_a_refusal_are_no_act() {
    let sandbox = with_commits(0);
    sandbox.colony(&["agents", "new", "ada", "-n"]);
    assert_eq!(sandbox.error(&["agents", "new", "HEAD"]), "invalid-value");
    assert_eq!(sandbox.json(&["undo", "-n"])["not_undone"], Value::Null);
}

#[test]
fn what_plain_git_did_later_still_is_the_last_thing_done() {
    let sandbox = with_commits(0);
    sandbox.colony(&["agents", "new", "ada"]);
    sandbox.git(&["commit", "-qm", "by hand", "--allow-empty"]);
    for args in [&["undo", "--force", "-n"][..], &["undo", "--force"]] {
        let undone = sandbox.json(args);
        assert_eq!(undone["what"], "commit: by hand", "{undone:#}");
        assert_eq!(undone["not_undone"], Value::Null, "{undone:#}");
    }
}

#[test]
fn the_hint_after_nothing_to_undo_is_the_way_back() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["agents", "new", "ada"]);
    let refused = sandbox.json(&["undo"]);
    assert_eq!(refused["code"], "nothing-to-undo", "{refused:#}");
    assert_eq!(refused["hint"], "git colony agents remove ada", "{refused:#}");
    assert_eq!(refused["detail"]["not_undone"]["command"], "agents new ada");
    let redo = sandbox.json(&["redo"]);
    assert_eq!(redo["hint"], "git colony ops", "{redo:#}");
}

#[test]
fn a_restore_lists_a_few_of_the_commits_that_leave_by_subject() {
    let sandbox = with_commits(7);
    let restored = sandbox.colony(&["restore", "state two"]);
    let from = restored.find("7 commits").unwrap_or_else(|| panic!("{restored}"));
    let told: Vec<String> = restored[from..]
        .lines()
        .take(7)
        .map(|line| {
            let (start, rest) = line.split_at(2);
            let subject = rest.split_once(' ').map_or(rest, |(_, subject)| subject);
            if start == "  " { subject.to_owned() } else { line.to_owned() }
        })
        .collect();
    assert_eq!(
        told,
        [
            "7 commits leave 'main', kept by the operation:",
            "work 6",
            "work 5",
            "work 4",
            "work 3",
            "work 2",
            "2 more"
        ],
        "{restored}"
    );
}

#[test]
fn an_undo_lists_leaving_commits_and_how_a_label_comes_back() {
    let sandbox = with_commits(0);
    let undone = sandbox.json(&["undo"]);
    let left = &undone["leaving_commits"][0];
    assert_eq!(left["branch"], "main", "{undone:#}");
    assert_eq!(left["count"], 1, "{undone:#}");
    assert_eq!(left["newest"][0]["subject"], "checkpoint: state two");
    assert_eq!(undone["checkpoints_gone"][0]["label"], "state two");
    sandbox.colony(&["redo"]);
    let said = sandbox.colony(&["undo"]);
    for line in [
        "1 commit leaves 'main', kept by the operation:",
        "checkpoint 'state two' is gone; it comes back with: git colony redo",
    ] {
        assert!(said.contains(line), "{said}");
    }
    let said = sandbox.colony(&["redo"]);
    assert!(!said.contains("leave") && !said.contains("gone"), "{said}");
    sandbox.colony(&["restore", "state two"]);
}

#[test]
fn a_redo_that_takes_a_label_says_that_undo_brings_it_back() {
    let sandbox = with_commits(0);
    sandbox.colony(&["checkpoints", "delete", "state one"]);
    sandbox.colony(&["undo"]);
    let said = sandbox.colony(&["redo"]);
    let line = "checkpoint 'state one' is gone; it comes back with: git colony undo";
    assert!(said.contains(line), "{said}");
}

#[test]
fn a_checkpoint_that_has_a_tag_of_git_is_not_called_gone() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    let id = sandbox.json(&["checkpoint", "-m", "kept"])["checkpoint_id"].clone();
    let id = id.as_str().unwrap();
    let name = id.replacen("checkpoint/", "refs/colony/checkpoints/", 1);
    sandbox.git(&["tag", id, &name]);
    let undone = sandbox.json(&["undo"]);
    assert_eq!(undone["checkpoints_gone"], Value::Array(Vec::new()), "{undone:#}");
}

#[test]
fn the_beginning_of_a_name_takes_no_commit_off_the_branch() {
    let sandbox = with_commits(2);
    let before = sandbox.visible_state();
    for args in [&["restore", "state t", "-n"][..], &["restore", "state t"]] {
        let refused = sandbox.json(args);
        assert_eq!(refused["code"], "name-abbreviated", "{refused:#}");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("2 commits would leave 'main'"), "{message}");
        let newest = &refused["detail"]["leaving_commits"]["newest"][0];
        assert_eq!(newest["subject"], "work 1");
        assert_eq!(refused["detail"]["leaving_commits"]["count"], 2);
        assert_eq!(sandbox.visible_state(), before);
    }
    let hint = sandbox.json(&["restore", "state t"])["hint"].as_str().unwrap().to_owned();
    let id = hint.split('\'').nth(1).unwrap().to_owned();
    // Files alone take nothing off the branch.
    sandbox.json(&["restore", "state t", "--mode", "files"]);
    sandbox.colony(&["undo"]);
    for named in [&["state two"][..], &[&id], &["@{0}"], &["state t", "--force"]] {
        let restored = sandbox.json(&[&["restore"], named].concat());
        assert_eq!(restored["ahead"], 2, "{named:?} {restored:#}");
        sandbox.colony(&["undo"]);
        assert_eq!(sandbox.visible_state(), before, "{named:?}");
    }
    // What takes no commit away needs no more than the beginning.
    sandbox.colony(&["restore", "state two"]);
    sandbox.write("a.txt", "edited\n");
    sandbox.colony(&["restore", "state t"]);
}
