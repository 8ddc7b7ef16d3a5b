//! Calls with a `directory`: work lands in the clone it belongs to, and nowhere that the server did not reach before.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::mcp::client::{Client, USUAL, with_preview};
use crate::support::{Sandbox, View};

fn clone_of(desk: &View, agent: &str) -> View {
    let made = desk.json(&["agents", "new", agent]);
    desk.at(PathBuf::from(made["path"].as_str().unwrap_or_else(|| panic!("{made:#}"))))
}

/// Arguments with the directory of a call.
fn at(directory: impl AsRef<Path>, mut arguments: Value) -> Value {
    arguments["directory"] = directory.as_ref().to_str().unwrap().into();
    arguments
}

fn label(text: &str) -> Value {
    json!({ "label": text })
}

#[test]
fn work_lands_in_the_clone_that_the_call_names() {
    let sandbox = Sandbox::new();
    let ada = clone_of(&sandbox, "ada");
    let mut client = Client::new(&sandbox);
    fs::create_dir(ada.path("deep")).unwrap();
    ada.write("a.txt", "of ada\n");
    sandbox.write("a.txt", "of the person\n");
    let before = sandbox.visible_state();
    let kept = client.done("checkpoint_state", &at(ada.path("deep"), label("of ada")));
    assert_eq!(kept["branch"], "fork/ada", "{kept:#}");
    let author = ada.git(&["log", "-1", "--format=%an"]);
    assert!(author.contains("agent:ada"), "{author}");
    // Each preview is of one place.
    ada.write("a.txt", "later\n");
    let restore = json!({ "checkpoint_id": "of ada" });
    let shown = client.done("restore_checkpoint", &at(&ada.root, restore.clone()));
    let elsewhere = at(&sandbox.root, with_preview(&json!({ "checkpoint_id": "HEAD" }), &shown));
    assert_eq!(client.failed("restore_checkpoint", &elsewhere)["code"], "preview-stale");
    let shown = client.done("restore_checkpoint", &at(&ada.root, restore.clone()));
    client.done("restore_checkpoint", &at(&ada.root, with_preview(&restore, &shown)));
    assert_eq!(ada.read("a.txt"), "of ada\n");
    assert_eq!(sandbox.visible_state(), before);
    // A link to the clone is the clone, and the checkout can be named as well.
    symlink(&ada.root, sandbox.outside().join("link")).unwrap();
    let state = client.done("get_repo_state", &at(sandbox.outside().join("link"), json!({})));
    assert_eq!(state["current_branch"], "fork/ada");
    let state = client.done("get_repo_state", &at(&sandbox.root, json!({})));
    assert_eq!(state["current_branch"], "main");
}

#[test]
fn the_server_of_an_agent_reaches_its_own_clones_alone() {
    let sandbox = Sandbox::new();
    let (ada, bob) = (clone_of(&sandbox, "ada"), clone_of(&sandbox, "bob"));
    for options in [&["mcp"][..], &["--agent", "ada", "mcp"]] {
        let place = if options.len() == 1 {
            sandbox.at(ada.root.clone())
        } else {
            sandbox.at(sandbox.root.clone())
        };
        let mut client = Client::of(&place, USUAL, options);
        client.done("checkpoint_state", &at(&ada.root, label("own")));
        for (tool, arguments) in [("checkpoint_state", label("x")), ("get_repo_state", json!({}))] {
            let refused = client.failed(tool, &at(&bob.root, arguments));
            assert_eq!(refused["code"], "path-outside", "{refused:#}");
        }
    }
    assert_eq!(sandbox.at(bob.root).json(&["checkpoints"])["count"], 0);
    let mut client = Client::new(&ada);
    let refused = client.failed("checkpoint_state", &at(&sandbox.root, label("x")));
    assert_eq!(refused["code"], "path-outside", "{refused:#}");
    let made = client.done("new_agent", &json!({ "name": "cleo" }));
    let cleo = made["path"].as_str().unwrap();
    let kept = client.done("checkpoint_state", &at(cleo, label("of cleo")));
    assert_eq!(kept["branch"], "fork/cleo", "{kept:#}");
}

#[test]
fn outside_of_the_colony_nothing_is_changed() {
    let sandbox = Sandbox::new();
    let ada = clone_of(&sandbox, "ada");
    let other = sandbox.at(sandbox.outside().join("other"));
    sandbox.git(&["init", "-q", "-b", "main", other.root.to_str().unwrap()]);
    other.git(&[
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@b",
        "commit",
        "-qm",
        "x",
        "--allow-empty",
    ]);
    let theirs = clone_of(&other, "bob");
    let reader = sandbox.json(&["clone", "--read-only"]);
    let linked = sandbox.path(".claude/worktrees/side");
    sandbox.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    let nested = ada.path("nested");
    sandbox.git(&["init", "-q", nested.to_str().unwrap()]);
    symlink(&other.root, ada.path("link")).unwrap();
    let places = [
        other.root.clone(),
        theirs.root.clone(),
        PathBuf::from(reader["path"].as_str().unwrap()),
        linked,
        nested,
        ada.path("link"),
        sandbox.outside(),
        PathBuf::from("/"),
    ];
    let before = [&*sandbox, &other, &theirs, &ada].map(View::visible_state);
    let mut client = Client::new(&sandbox);
    for place in places {
        let refused = client.failed("checkpoint_state", &at(&place, label("x")));
        assert_eq!(refused["code"], "path-outside", "{} {refused:#}", place.display());
        let read = client.call("get_repo_state", &at(&place, json!({})));
        let text = read["content"][0]["text"].as_str().unwrap();
        let is_noted = text.contains("the answer is about the repository of the server");
        let is_refused = read["structuredContent"]["code"] == "path-outside";
        assert!(is_noted || is_refused, "{} {read:#}", place.display());
    }
    let refused = client.failed("checkpoint_state", &at(sandbox.path("none"), label("x")));
    assert_eq!(refused["code"], "clone-not-found", "{refused:#}");
    let refused = client.failed("undo", &json!({ "directory": ["a"] }));
    assert_eq!(refused["code"], "invalid-value", "{refused:#}");
    assert_eq!([&*sandbox, &other, &theirs, &ada].map(View::visible_state), before);
}

#[test]
fn a_clone_that_was_removed_or_made_again_is_refused() {
    let sandbox = Sandbox::new();
    let ada = clone_of(&sandbox, "ada");
    let mut client = Client::new(&sandbox);
    client.done("checkpoint_state", &at(&ada.root, label("first")));
    assert_eq!(sandbox.json_apart(&["agents", "remove", "ada"])["ok"], true);
    let gone = client.failed("checkpoint_state", &at(&ada.root, label("second")));
    assert_eq!(gone["code"], "clone-not-found", "{gone:#}");
    let again = clone_of(&sandbox, "ada");
    assert_eq!(again.root, ada.root);
    for (tool, arguments) in [("checkpoint_state", label("third")), ("get_repo_state", json!({}))] {
        let other = client.failed(tool, &at(&ada.root, arguments));
        assert_eq!(other["code"], "other-repository", "{other:#}");
    }
    assert_eq!(again.json(&["checkpoints"])["count"], 0);
}

#[test]
fn a_change_without_a_directory_is_refused_beside_own_work() {
    let sandbox = Sandbox::new();
    let ada = clone_of(&sandbox, "ada");
    let client_of = |session: &str| Client::new(&sandbox.with("COLONY_SESSION", session));
    let mut client = client_of("s-1");
    client.done("checkpoint_state", &label("before"));
    ada.with("COLONY_SESSION", "s-1").json_apart(&["checkpoint", "-m", "by a shell"]);
    let before = sandbox.visible_state();
    let refused = client.failed("checkpoint_state", &label("where"));
    assert_eq!(refused["code"], "directory-needed", "{refused:#}");
    assert_eq!(refused["detail"]["clone"].as_str(), ada.root.to_str(), "{refused:#}");
    assert_eq!(sandbox.visible_state(), before);
    client.done("get_repo_state", &json!({}));
    client.done("checkpoint_state", &at(&sandbox.root, label("here")));
    client.done("checkpoint_state", &at(&ada.root, label("there")));
    // Another session has no work there.
    client_of("s-2").done("checkpoint_state", &label("of another"));
}

#[test]
fn nothing_that_only_the_clone_has_is_run() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
    sandbox.git(&["config", "filter.upper.smudge", "tr A-Z a-z"]);
    sandbox.write_program(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n");
    sandbox.write(".gitattributes", "*.up filter=upper\n");
    sandbox.git(&["add", ".gitattributes"]);
    sandbox.git(&["commit", "-qm", "attributes"]);
    let ada = clone_of(&sandbox, "ada");
    let mut client = Client::new(&sandbox);
    ada.write("a.up", "text\n");
    client.done("checkpoint_state", &at(&ada.root, label("with the filter")));
    assert_eq!(ada.git(&["show", "HEAD:a.up"]), "TEXT");
    client.done("commit_state", &at(&ada.root, json!({ "message": "x", "all_changes": true })));
    let config = ada.read(".git/config");
    let evil = ada.path("evil").display().to_string();
    let touch = format!("touch '{evil}'");
    let attacks: [(&str, String); 5] = [
        (".git/config", format!("{config}[core]\n\tfsmonitor = {touch}\n")),
        (".git/config", format!("{config}[filter \"upper\"]\n\tclean = {touch}\n")),
        (".git/config", format!("{config}[include]\n\tpath = ../more\n")),
        (".git/config.worktree", "[core]\n\thooksPath = ../hooks\n".to_owned()),
        (".git/hooks/post-commit", format!("#!/bin/sh\n{touch}\n")),
    ];
    for (file, text) in attacks {
        let before = fs::read(ada.path(file)).ok();
        if file.contains("hooks/") {
            ada.write_program(file, text);
        } else {
            ada.write(file, text);
        }
        for (tool, arguments) in [("checkpoint_state", label("x")), ("git_status", json!({}))] {
            let refused = client.failed(tool, &at(&ada.root, arguments));
            assert_eq!(refused["code"], "agent-config-refused", "{file} {refused:#}");
        }
        match before {
            Some(bytes) => ada.write(file, bytes),
            None => fs::remove_file(ada.path(file)).unwrap(),
        }
    }
    // Another git directory behind it has other hooks and settings.
    let copied = ada.process("cp").args(["-a", ".git", "elsewhere"]).status();
    assert!(copied.unwrap().success());
    ada.write(".git/commondir", "../elsewhere\n");
    let led = client.failed("get_repo_state", &at(&ada.root, json!({})));
    assert_eq!(led["code"], "agent-config-refused", "{led:#}");
    ada.remove(".git/commondir");
    fs::remove_dir_all(ada.path("elsewhere")).unwrap();
    assert!(!ada.path("evil").exists());
    client.done("checkpoint_state", &at(&ada.root, label("sound again")));
    // What changes in the checkout is renewed in the clone.
    sandbox.git(&["config", "core.autocrlf", "input"]);
    client.done("get_repo_state", &at(&ada.root, json!({})));
    assert_eq!(ada.git(&["config", "core.autocrlf"]).trim(), "input");
}

#[test]
fn a_clone_cannot_pass_for_one_that_the_server_has_made() {
    let sandbox = Sandbox::new();
    let (ada, bob) = (clone_of(&sandbox, "ada"), clone_of(&sandbox, "bob"));
    let mut client = Client::new(&ada);
    let made = client.done("new_agent", &json!({ "name": "eve" }));
    let record = bob.read(".git/colony/membership.json");
    let mut forged: Value = serde_json::from_str(&record).unwrap();
    forged["id"] = made["clone"].clone();
    bob.write(".git/colony/membership.json", forged.to_string());
    let refused = client.failed("checkpoint_state", &at(&bob.root, label("x")));
    assert_eq!(refused["code"], "path-outside", "{refused:#}");
    // What it has made is checked as every other clone.
    let eve = sandbox.at(PathBuf::from(made["path"].as_str().unwrap()));
    client.done("checkpoint_state", &at(&eve.root, label("sound")));
    eve.git(&["config", "core.fsmonitor", "true"]);
    let refused = client.failed("checkpoint_state", &at(&eve.root, label("x")));
    assert_eq!(refused["code"], "agent-config-refused", "{refused:#}");
}

#[test]
fn a_clone_with_large_files_and_directories_takes_calls() {
    let sandbox = Sandbox::init(&[]);
    sandbox.colony(&["init"]);
    sandbox.write("large.psd", vec![0_u8; 4096]);
    fs::create_dir_all(sandbox.path("part")).unwrap();
    sandbox.write("part/x", "x");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "large"]);
    let made = sandbox.json(&["agents", "new", "ada", "--sparse", "part"]);
    let ada = sandbox.at(PathBuf::from(made["path"].as_str().unwrap()));
    let mut client = Client::new(&sandbox);
    ada.write("part/x", "y");
    client.done("checkpoint_state", &at(&ada.root, label("of ada")));
}
