//! Keeping states: names, labels, identities, what is left out, automatic ones.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::Sandbox;

#[test]
fn what_is_left_out_is_named_in_the_report_and_in_the_tag() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "colony.maxNewFileSize", "1k"]);
    sandbox.write("big.bin", vec![1_u8; 2048]);
    sandbox.write(".env", "TOKEN=x\n");
    sandbox.write("notes/id_ed25519", "key\n");
    sandbox.write("paste.txt", format!("export T=ghp_{}\n", "x1".repeat(20)));
    sandbox.write(".env.example", "TOKEN=\n");
    sandbox.write("nested/file", "x\n");
    sandbox.at(sandbox.path("nested")).git(&["init", "-q"]);
    let report = sandbox.json(&["checkpoint", "-m", "x"]);
    let wanted = json!([
        {"path": ".env", "reason": "secret"},
        {"path": "big.bin", "reason": "large"},
        {"path": "nested", "reason": "nested-repository"},
        {"path": "notes/id_ed25519", "reason": "secret"},
        {"path": "paste.txt", "reason": "secret"},
    ]);
    assert_eq!(report["left_out"], wanted);
    assert_eq!(sandbox.git(&["show", "--format=", "--name-only", "HEAD"]), ".env.example");
    assert_eq!(sandbox.json(&["checkpoints", "show", "x"])["left_out"], wanted);
    let allow = [
        "checkpoint",
        "-m",
        "y",
        "--allow-large",
        "--allow-secret",
        "notes",
        "--allow-secret",
        ".env",
    ];
    let report = sandbox.json(&allow);
    assert_eq!(report["left_out"].as_array().unwrap().len(), 2);
    assert_eq!(
        sandbox.git(&["ls-files", "notes", ".env", "big.bin"]),
        ".env\nbig.bin\nnotes/id_ed25519"
    );
}

#[test]
fn many_new_files_are_committed_only_on_request() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "colony.maxNewFiles", "3"]);
    for number in 0..4 {
        sandbox.write(&format!("home/{number}"), "x\n");
    }
    let before = sandbox.visible_state();
    for args in [
        &["checkpoint", "-m", "x"][..],
        &["checkpoint", "-m", "x", "-n"],
        &["checkpoint", "-m", "x", "--off-branch"],
        &["checkpoint", "--auto"],
        &["commit", "-m", "x", "--all"],
        &["commit", "-m", "x", "--all", "-n"],
        &["commit", "-m", "x", "home"],
        &["decide", "-m", "x", "home"],
    ] {
        assert_eq!(sandbox.error(args), "too-many-new-files", "{args:?}");
        assert_eq!(sandbox.visible_state(), before);
    }
    let named = ["commit", "-m", "x", "-n", "home/0", "home/1", "home/2", "home/3"];
    assert_eq!(sandbox.json(&named)["files_changed"], 4, "each is named");
    for command in ["commit", "decide"] {
        let args = [command, "-m", "x", "-n", "home", "--all-untracked"];
        assert_eq!(sandbox.json(&args)["changed"], true);
    }
    sandbox.json(&["checkpoint", "-m", "x", "--all-untracked"]);
    sandbox.write("one", "x\n");
    sandbox.json(&["checkpoint", "-m", "y"]);
    sandbox.git(&["config", "status.showUntrackedFiles", "no"]);
    sandbox.write("two", "x\n");
    for args in [
        &["checkpoint", "-m", "z"][..],
        &["commit", "-m", "z", "--all"],
        &["commit", "-m", "z", "."],
    ] {
        assert_eq!(sandbox.error(args), "too-many-new-files", "{args:?}");
    }
    sandbox.write("folder/three", "x\n");
    assert_eq!(
        sandbox.json(&["commit", "-m", "z", "-n", "folder"])["files_changed"],
        1,
        "it is named"
    );
    sandbox.remove("folder");
    sandbox.json(&["checkpoint", "-m", "z", "--all-untracked"]);
    assert_eq!(sandbox.git(&["ls-files", "one", "two"]), "one\ntwo");
}

#[test]
fn a_tracked_file_is_never_left_out() {
    let sandbox = Sandbox::new();
    sandbox.write(".env", "A=1\n");
    sandbox.git(&["add", ".env"]);
    sandbox.git(&["commit", "-qm", "on purpose"]);
    sandbox.write(".env", "A=2\n");
    let report = sandbox.json(&["checkpoint", "-m", "x"]);
    assert_eq!(
        (report["left_out"].clone(), report["files_changed"].as_u64()),
        (json!([]), Some(1))
    );
}

#[test]
fn labels_may_hold_anything_and_are_read_back() {
    let sandbox = Sandbox::new();
    let labels = [
        "plain",
        "two\nlines",
        "-m",
        "--output=pwn",
        "\u{1b}[31mred",
        " outer ",
        "Colony-Mode: auto",
    ];
    for label in labels {
        sandbox.colony(&["checkpoint", &format!("--label={label}")]);
    }
    let listed = sandbox.json(&["checkpoints"]);
    let read: Vec<_> = listed["checkpoints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["label"].as_str().unwrap())
        .collect();
    assert_eq!(read, labels);
    assert!(!sandbox.path("pwn").exists());
    assert_eq!(sandbox.json(&["checkpoints", "show", "two\nlines"])["label"], "two\nlines");
}

#[test]
fn checkpoints_are_found_by_id_label_prefix_and_position() {
    let sandbox = Sandbox::new();
    let first = sandbox.json(&["checkpoint", "-m", "first draft"]);
    let second = sandbox.json(&["checkpoint", "-m", "second"]);
    sandbox.colony(&["checkpoint", "-m", "second"]);
    let id = first["checkpoint_id"].as_str().unwrap();
    let nonce = id.rsplit('-').next().unwrap();
    let short = id.trim_start_matches("checkpoint/");
    for name in [id, short, nonce, "first draft", "first", "@{2}"] {
        assert_eq!(sandbox.json(&["checkpoints", "show", name])["checkpoint_id"], id, "{name}");
    }
    let exact = second["checkpoint_id"].as_str().unwrap();
    assert_eq!(sandbox.json(&["checkpoints", "show", exact])["checkpoint_id"], exact);
    assert_eq!(sandbox.error(&["restore", "second"]), "checkpoint-ambiguous");
    for name in ["nothing", "@{3}", "@{-1}", "@{99999999999999999999}", "", "2"] {
        assert_eq!(sandbox.error(&["restore", name]), "checkpoint-not-found", "{name}");
    }
}

#[test]
fn order_and_ids_do_not_depend_on_the_clock_alone() {
    let sandbox = Sandbox::new();
    for (label, seconds) in [("one", 100), ("two", 100), ("three", 50), ("four", 50)] {
        let run = sandbox.run_in(sandbox.world_at(seconds), &["checkpoint", "-m", label]);
        assert_eq!(run.code, 0);
    }
    let labels = |sandbox: &Sandbox| {
        let listed = sandbox.json(&["checkpoints"]);
        let all = listed["checkpoints"].as_array().unwrap().clone();
        all.iter().map(|c| c["label"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(labels(&sandbox), ["one", "two", "three", "four"]);
    sandbox.colony(&["prune", "--keep", "0"]);
    let run = sandbox.run_in(sandbox.world_at(10), &["checkpoint", "-m", "five"]);
    assert_eq!(run.code, 0);
    assert_eq!(labels(&sandbox), ["one", "two", "three", "four", "five"]);
}

/// Row 20 of the attacks.
#[test]
fn ids_and_order_hold_while_the_clock_jumps() {
    const DAYS: i64 = 24 * 3600;
    let sandbox = Sandbox::new();
    let mut ids = BTreeSet::new();
    // It stands still, goes back by years, far ahead, and back again.
    for (number, seconds) in
        [0, 0, -900 * DAYS, 9_000 * DAYS, 9_000 * DAYS, -1, 5].into_iter().enumerate()
    {
        sandbox.write("a.txt", format!("{number}\n"));
        let (beside, on) = (format!("beside-{number}"), format!("on-{number}"));
        for (args, newest) in [
            (&["checkpoint", "--auto"][..], "auto@{0}"),
            (&["checkpoint", "--off-branch", "-m", &beside], "@{0}"),
            (&["checkpoint", "-m", &on], "@{0}"),
        ] {
            let made = loop {
                let args = [&["--json"], args].concat();
                let run = sandbox.run_in(sandbox.world_at(seconds), &args);
                let made: Value = serde_json::from_str(&run.stdout).unwrap();
                // A child of another test may hold a copy of the lock for a moment.
                if made["reason"] != "busy" {
                    break made;
                }
            };
            let id = made["checkpoint_id"].as_str();
            let id = id.unwrap_or_else(|| panic!("{args:?} {made:#}"));
            assert!(ids.insert(id.to_owned()), "{made:#}");
            // The newest is the newest, whatever the time is that it was made at.
            let shown = sandbox.json(&["checkpoints", "show", newest]);
            assert_eq!(shown["checkpoint_id"], id, "{args:?} {shown:#}");
        }
    }
    let listed = sandbox.json(&["checkpoints"]);
    let labels = listed["checkpoints"].as_array().unwrap().iter();
    let labels: Vec<_> = labels.map(|one| one["label"].as_str().unwrap()).collect();
    let made = (0..7).flat_map(|number| [format!("beside-{number}"), format!("on-{number}")]);
    assert_eq!(labels, made.collect::<Vec<_>>());
    let ops = sandbox.json(&["ops"]);
    let ops = ops["ops"].as_array().unwrap().iter();
    let ops: Vec<_> = ops.map(|op| op["op"].as_str().unwrap()).collect();
    let in_order = (1..=14).map(|number| format!("op-{number}"));
    assert_eq!(ops, in_order.collect::<Vec<_>>());
    // Undo goes by the order of what was done.
    for (number, content) in [(6, "5\n"), (5, "4\n")] {
        sandbox.colony(&["restore", &format!("on-{}", number - 1), "--force"]);
        assert_eq!(sandbox.read("a.txt"), content);
        sandbox.colony(&["undo"]);
        assert_eq!(sandbox.read("a.txt"), "6\n");
    }
    sandbox.check_invariants();
}

/// What is built reproducibly has every date fixed.
#[test]
fn fixed_dates_in_the_environment_make_no_two_ids_the_same() {
    let sandbox = Sandbox::new();
    for number in 0..4 {
        let label = format!("kept-{number}");
        let mut world = sandbox.world_at(0);
        world.variables.insert("SOURCE_DATE_EPOCH".into(), "0".into());
        let run = sandbox.run_in(world, &["checkpoint", "-m", &label]);
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    let listed = sandbox.json(&["checkpoints"]);
    let listed = listed["checkpoints"].as_array().unwrap();
    let labels: Vec<_> = listed.iter().map(|one| &one["label"]).collect();
    assert_eq!(labels, ["kept-0", "kept-1", "kept-2", "kept-3"]);
    let ids = listed.iter().map(|one| one["checkpoint_id"].as_str());
    let ids: BTreeSet<_> = ids.map(Option::unwrap).collect();
    assert_eq!(ids.len(), 4);
    sandbox.check_invariants();
}

#[test]
fn automatic_checkpoints_keep_what_is_new_and_stay_out_of_sight() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.automatic_checkpoint()["reason"], "unchanged");
    sandbox.write("a.txt", "two\n");
    let before = sandbox.visible_state();
    let index = std::fs::read(sandbox.path(".git/index")).unwrap();
    let report = sandbox.json(&["checkpoint", "--auto", "--rationale", "end of turn"]);
    assert_eq!(report["changed"], true);
    assert_eq!(sandbox.visible_state(), before);
    assert_eq!(sandbox.git(&["tag"]), "");
    assert!(std::fs::read(sandbox.path(".git/index")).unwrap() == index);
    let again = sandbox.automatic_checkpoint();
    assert_eq!((again["changed"].as_bool(), again["checkpoint_id"].is_null()), (Some(false), true));
    assert_eq!(sandbox.json(&["ops"])["count"], 0);
    assert_eq!(sandbox.error(&["undo"]), "nothing-to-undo");
    sandbox.write("a.txt", "ruined\n");
    sandbox.colony(&["restore", "auto@{0}"]);
    assert_eq!(sandbox.read("a.txt"), "two\n");
    assert!(sandbox.json(&["status"])["last_quiescence_at"].is_string());
}

#[test]
fn automatic_checkpoints_of_one_second_keep_their_order() {
    let sandbox = Sandbox::new();
    for content in ["1", "2", "3"] {
        sandbox.write("a.txt", content);
        // Another test thread that starts a child holds a copy of our lock for a moment.
        while sandbox
            .run_in(sandbox.world_at(5), &["checkpoint", "--auto"])
            .stdout
            .contains("another command is running")
        {}
    }
    for (position, content) in [("auto@{2}", "1"), ("auto@{1}", "2"), ("auto@{0}", "3")] {
        sandbox.colony(&["restore", position]);
        assert_eq!(sandbox.read("a.txt"), content);
    }
}

#[test]
fn automatic_checkpoints_are_thinned() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "colony.keepAutoPerBranch", "5"]);
    for number in 0..12 {
        sandbox.write("a.txt", format!("{number}\n"));
        sandbox.automatic_checkpoint();
    }
    let count = sandbox.json(&["checkpoints", "--auto"])["count"].as_u64().unwrap();
    assert!((5..=6).contains(&count), "{count}");
    sandbox.colony(&["prune"]);
    let left = sandbox.json(&["checkpoints", "--auto"]);
    assert_eq!(left["count"], 5);
    sandbox.check_invariants();
}

#[test]
fn an_agent_signs_with_its_own_name_and_config_stays() {
    let sandbox = Sandbox::new();
    let config = sandbox.read(".git/config");
    sandbox.write("a.txt", "two\n");
    sandbox.colony(&["--agent", "ada", "checkpoint", "-m", "x"]);
    let wanted = "agent:ada:agent <ada@external.agent.colony.local>";
    assert_eq!(sandbox.git(&["log", "-1", "--format=%an <%ae>"]), wanted);
    assert_eq!(sandbox.git(&["log", "-1", "--format=%cn <%ce>"]), wanted);
    assert_eq!(sandbox.json(&["checkpoints", "show", "x"])["author"], wanted);
    assert_eq!(sandbox.read(".git/config"), config);
    assert_eq!(sandbox.error(&["--agent", "a b", "checkpoint", "-m", "x"]), "invalid-value");
}

#[test]
fn without_a_name_nothing_is_signed_but_the_safety_net_holds() {
    let sandbox = Sandbox::new();
    // Else git takes the name from the system.
    sandbox.git(&["config", "user.useConfigOnly", "true"]);
    sandbox.git(&["config", "--unset", "user.name"]);
    sandbox.write("a.txt", "two\n");
    assert_eq!(sandbox.error(&["checkpoint", "-m", "x"]), "identity-unknown");
    assert_eq!(sandbox.automatic_checkpoint()["changed"], true);
}

#[test]
fn checkpoint_runs_no_commit_hooks() {
    let sandbox = Sandbox::new();
    for hook in ["pre-commit", "commit-msg", "post-commit", "prepare-commit-msg"] {
        let path = format!(".git/hooks/{hook}");
        sandbox.write_program(&path, "#!/bin/sh\ntouch ran\nexit 1\n");
    }
    sandbox.write("a.txt", "two\n");
    sandbox.colony(&["checkpoint", "-m", "x"]);
    assert!(!sandbox.path("ran").exists());
}

#[test]
fn a_file_nobody_edited_is_not_converted_by_a_new_attribute() {
    let sandbox = Sandbox::new();
    sandbox.write("old.txt", "one\r\ntwo\r\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "crlf"]);
    sandbox.write(".gitattributes", "*.txt text\n");
    sandbox.write("old.txt", "one\r\ntwo\r\n");
    let report = sandbox.json(&["checkpoint", "-m", "x"]);
    assert_eq!(report["files_changed"], 1);
    assert_eq!(sandbox.git(&["show", "--format=", "--name-only", "HEAD"]), ".gitattributes");
}

#[test]
fn tag_names_a_commit_and_can_be_undone() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "uncommitted\n");
    let first = sandbox.git(&["rev-parse", "HEAD"]);
    let report = sandbox.json(&["tag", "-m", "the start", "--rationale", "because", "HEAD"]);
    assert_eq!(
        (report["sha"].as_str(), report["branch_moved"].as_bool()),
        (Some(first.as_str()), Some(false))
    );
    let shown = sandbox.json(&["checkpoints", "show", "the start"]);
    assert_eq!(shown["rationale"], "because");
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.json(&["checkpoints"])["count"], 0);
    sandbox.git(&["gc", "-q", "--prune=now"]);
    sandbox.colony(&["redo"]);
    assert_eq!(sandbox.json(&["checkpoints"])["count"], 1);
    assert_eq!(sandbox.error(&["tag", "-m", "x", "nowhere"]), "revision-not-found");
    sandbox.check_invariants();
}

#[test]
fn a_checkpoint_of_a_clean_tree_moves_no_branch() {
    let sandbox = Sandbox::new();
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let report = sandbox.json(&["checkpoint", "-m", "here"]);
    assert_eq!(
        (report["changed"].as_bool(), report["branch_moved"].as_bool()),
        (Some(true), Some(false))
    );
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "git still works"]);
    sandbox.check_invariants();
}
