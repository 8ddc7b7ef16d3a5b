//! `catalog add`, `remove` and `focus`: edits of the file that a person could have made, and that undo reverts.

use std::fs;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::catalog::{FILE, repository};
use crate::support::{Sandbox, View};

/// Bytes that no edit is about: comments, order, quotes, line endings.
const WRITTEN: &str = "# ours\r\nrepositories:\r\n  # the first\r\n  - root_path: '/nowhere' # gone\r\n    display_name: \"one\"\r\n\r\n  - metadata: {a: [1, 2]}\r\n    repository_id: two\r\n    access_mode: remote_mcp\r\n# end\r\nschema_version: 1 # v\r\n";

fn names(view: &View) -> Vec<Value> {
    let answer = view.json(&["catalog"]);
    let rows = answer["repositories"].as_array().unwrap().iter();
    rows.map(|row| row["display_name"].clone()).collect()
}

#[test]
fn the_first_repository_creates_the_catalog() {
    let sandbox = Sandbox::new();
    let other = repository(&sandbox, "other");
    let before = sandbox.visible_state();
    let planned = sandbox.colony(&["catalog", "add", "-n", "../other"]);
    assert!(planned.contains("+repositories:"), "{planned}");
    assert_eq!(sandbox.visible_state(), before, "a dry run writes nothing");
    let answer = sandbox.json(&["catalog", "add", "../other"]);
    assert_eq!(answer["change"], "added");
    assert_eq!(answer["repository_id"], other.json(&["id"])["repository_id"]);
    assert_eq!(answer["op"], "op-1");
    let text = sandbox.read(FILE).replace(sandbox.outside().to_str().unwrap(), "<outside>");
    insta::assert_snapshot!(text, @r#"
    schema_version: 1
    repositories:
      - display_name: "other"
        root_path: "<outside>/other"
        access_mode: local
    "#);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "?? .colony/", "nothing is staged");
    assert_eq!(
        sandbox.json(&["catalog"])["repositories"][0]["resolution_status"],
        "resolved_local"
    );
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.visible_state(), before);
    sandbox.colony(&["redo"]);
    assert_eq!(names(&sandbox), ["other"]);
}

#[test]
fn an_edit_changes_only_its_lines() {
    let sandbox = Sandbox::new();
    sandbox.write(FILE, WRITTEN);
    let before = sandbox.visible_state();
    sandbox.colony(&["catalog", "add", ".", "--name", "here: #1", "--id", "x"]);
    let added = sandbox.read(FILE);
    let expected = WRITTEN.replace(
        "# end",
        "  - display_name: \"here: #1\"\r\n    repository_id: \"x\"\r\n    root_path: \".\"\r\n    access_mode: local\r\n# end",
    );
    assert_eq!(added, expected);
    sandbox.colony(&["catalog", "focus", "two"]);
    let focused = sandbox.read(FILE);
    assert_eq!(sandbox.json(&["catalog"])["primary_repository_id"], "two");
    assert_eq!(sandbox.json(&["catalog", "focus", "two"])["change"], "nothing");
    sandbox.colony(&["catalog", "focus"]);
    assert_eq!(sandbox.read(FILE), added, "{focused}");
    sandbox.colony(&["catalog", "remove", "here: #1"]);
    assert_eq!(sandbox.read(FILE), WRITTEN);
    sandbox.colony(&["catalog", "remove", "/nowhere"]);
    assert_eq!(names(&sandbox), ["two"]);
    sandbox.colony(&["catalog", "remove", "two"]);
    assert_eq!(names(&sandbox), Vec::<Value>::new());
    sandbox.colony(&["undo", "6"]);
    assert_eq!(sandbox.visible_state(), before);
}

#[test]
fn what_cannot_be_added_changes_nothing() {
    let sandbox = Sandbox::new();
    let other = repository(&sandbox, "other");
    sandbox.colony(&["catalog", "add", "../other"]);
    let before = sandbox.visible_state();
    let path = other.root.to_str().unwrap();
    for (arguments, code) in [
        (&["add", "../other"][..], "catalog-row-exists"),
        (&["add", path], "catalog-row-exists"),
        (&["add", "."], ""),
        (&["add", "dir"], "not-a-repository"),
        (&["add", "missing"], "path-not-found"),
        (&["add", "/"], "not-a-repository"),
        (&["add", ".", "--mode", "remote_mcp"], "invalid-value"),
        (&["add", ".", "--name", "a\nb"], "invalid-value"),
        (&["add", "ext::sh -c x"], "url-refused"),
        (&["remove", "nobody"], "repository-not-found"),
        (&["focus", "nobody"], "repository-not-found"),
    ] {
        let run = [&["catalog"], arguments, &["-n"]].concat();
        let found = sandbox.json(&run);
        assert_eq!(found["code"].as_str().unwrap_or_default(), code, "{arguments:?} {found:#}");
        if !code.is_empty() {
            let real = [&["catalog"], arguments].concat();
            assert_eq!(sandbox.error(&real), code, "{arguments:?}");
        }
        assert_eq!(sandbox.visible_state(), before, "{arguments:?}");
    }
    sandbox.write(FILE, "schema_version: 1\nrepositories: [{root_path: a}]\n");
    let answer = sandbox.json(&["catalog", "add", "."]);
    assert_eq!(answer["code"], "catalog-not-editable");
    assert!(answer["detail"]["wanted"].as_str().unwrap().contains("root_path: \".\""));
    let outside = sandbox.at(sandbox.outside().join("none"));
    fs::create_dir(&outside.root).unwrap();
    assert_eq!(outside.error(&["catalog", "add", "../other"]), "not-a-repository");
}

#[test]
fn a_url_is_added_without_its_credentials() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["catalog", "add", "https://ada:secret@host/acme/x.git"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("left out"), "{}", run.stderr);
    assert!(!sandbox.read(FILE).contains("secret"));
    sandbox.colony(&["catalog", "add", "https://host/mcp", "--mode", "remote_mcp", "--id", "m"]);
    let rows = sandbox.json(&["catalog"])["repositories"].clone();
    assert_eq!(rows[0]["display_name"], "x");
    assert_eq!(rows[0]["origin_url"], "https://host/acme/x.git");
    assert_eq!(rows[1]["remote"], json!({ "mcp_url": "https://host/mcp" }));
    assert_eq!(sandbox.error(&["catalog", "add", "https://host/acme/x.git"]), "catalog-row-exists");
    // The id is that of the project, the same on every machine.
    sandbox.git(&["remote", "add", "origin", "https://host/acme/x.git"]);
    assert_eq!(rows[0]["repository_id"], sandbox.json(&["id"])["project_id"]);
}

#[test]
fn an_agent_may_change_the_catalog_only_within_its_paths() {
    let sandbox = Sandbox::new();
    sandbox.write(".colony/agents/ada.md", "---\nscope: [\"src/**\"]\n---\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "agent"]);
    let agent = sandbox.with("COLONY_AGENT", "ada");
    assert_eq!(agent.error(&["catalog", "add", "."]), "scope-violation");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn any_name_is_written_so_that_it_is_read_back(name in "[ -~\u{e9}\u{2028}\u{feff}]{1,20}") {
        let sandbox = Sandbox::unborn();
        let answer = sandbox.json(&["catalog", "add", ".", &format!("--name={name}")]);
        prop_assert_eq!(&answer["ok"], &json!(true), "{}", answer);
        prop_assert_eq!(names(&sandbox), [json!(name)]);
    }
}

#[test]
fn a_clone_for_reading_keeps_no_answers() {
    let desk = Sandbox::new();
    desk.write(".colony/repositories.yaml", "schema_version: 1\nrepositories: []\n");
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "catalog"]);
    let made = desk.json(&["clone", "--read-only"]);
    let reader = desk.at(made["path"].as_str().unwrap().into());
    for command in [&["catalog", "refresh"][..], &["index", "--refresh"]] {
        assert_eq!(reader.error(command), "read-only-clone", "{command:?}");
    }
    assert!(!reader.path(".colony/cache").exists());
    assert_eq!(reader.json(&["catalog"])["ok"], true);
}

#[test]
fn removing_the_primary_repository_ends_its_being_named() {
    let sandbox = Sandbox::new();
    let one = repository(&sandbox, "one");
    repository(&sandbox, "two");
    for name in ["one", "two"] {
        let path = one.root.parent().unwrap().join(name);
        sandbox.colony(&["catalog", "add", path.to_str().unwrap()]);
    }
    sandbox.colony(&["catalog", "focus", "one"]);
    let before = sandbox.read(FILE);
    assert!(before.contains("primary_repository_id"), "{before}");
    let other = sandbox.json(&["catalog", "remove", "two", "-n"]);
    assert_eq!(other["was_primary"], false);
    let removed = sandbox.json(&["catalog", "remove", "one"]);
    assert_eq!(removed["was_primary"], true, "{removed:#}");
    assert!(!sandbox.read(FILE).contains("primary_repository_id"));
    assert_eq!(sandbox.json(&["catalog", "check"])["count"], 0);
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.read(FILE), before);
}

#[test]
fn a_diff_shows_no_password_of_rows_beside_the_change() {
    let sandbox = Sandbox::new();
    sandbox.write(
        FILE,
        "schema_version: 1\nrepositories:\n  - display_name: far\n    repository_id: far\n    access_mode: remote_git_host\n    origin_url: https://ada:hunter2@host/far.git\n",
    );
    let added = sandbox.json(&["catalog", "add", "https://host/near.git", "-n"]);
    let diff = added["diff"].as_str().unwrap();
    assert!(diff.contains("host/far.git"), "the row is shown: {diff}");
    assert!(!added.to_string().contains("hunter2"), "{diff}");
    let said = sandbox.run(&["catalog", "add", "https://host/near.git", "-n"]);
    assert!(!(said.stdout + &said.stderr).contains("hunter2"));
}
