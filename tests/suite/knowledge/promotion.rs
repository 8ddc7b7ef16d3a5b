//! Promotion and demotion: one commit of the map, which moves the files that were named and no others.

use super::{commit, ingest, listed, outcomes, routed, tip};
use crate::support::{Sandbox, View};

const MAP: &str = ".colony/repo_map.yaml";

fn routes(view: &View, of: &str) -> Vec<String> {
    let answer = view.json(&["map", "show"]);
    let rows = answer["parsed"]["knowledge_routing"].as_array().unwrap();
    let rows = rows.iter().filter(|row| row["ingest_to"] == of);
    rows.map(|row| row["paths"].to_string()).collect()
}

/// What no refusal may change.
fn state(view: &View) -> [String; 3] {
    [view.git(&["rev-parse", "HEAD"]), view.git(&["status", "--porcelain", "--ignored"]), tip(view)]
}

#[test]
fn a_promoted_document_becomes_pages_and_is_ingested_no_more() {
    let sandbox = routed();
    ingest(&sandbox);
    sandbox.write("notes.txt", "not committed\n");
    let before = state(&sandbox);
    let dry = sandbox.json(&["promote", "-n", "lit/a.md"]);
    let diff = dry["diff"].as_str().unwrap();
    assert!(diff.contains("+    include_globs: [\"/lit/a.md\"]\n"), "{diff}");
    assert_eq!(dry["commit"], serde_json::Value::Null);
    assert_eq!(state(&sandbox), before);

    let told = sandbox.json(&["promote", "lit/a.md"]);
    assert_eq!(told["count"], 1, "{told:#}");
    assert_eq!(told["diff"], dry["diff"]);
    // The only source is not named 'default'.
    assert_eq!(told["scopes_renamed"], false);
    assert_eq!(told["sources_added"], serde_json::json!(["literature"]));
    assert_eq!(told["commit"], sandbox.git(&["rev-parse", "HEAD"]).trim());
    let changed = sandbox.git(&["show", "--format=", "--name-only", "HEAD"]);
    assert_eq!(changed.trim(), MAP);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "?? notes.txt");
    assert_eq!(routes(&sandbox, "vcm"), [r#"["/lit/a.md"]"#]);
    assert_eq!(sandbox.json(&["map", "check"])["warnings"], serde_json::json!([]));

    // The record stays until the command that was printed deletes it.
    assert_eq!(ingest(&sandbox), ["lit/b.txt unchanged"]);
    assert_eq!(listed(&sandbox), ["lit/a.md unrouted", "lit/b.txt"]);
    let clear = told["clear"][0].as_str().unwrap();
    let words: Vec<&str> = clear.split(' ').skip(2).collect();
    assert_eq!(sandbox.json(&words)["count"], 1, "{clear}");
    assert_eq!(listed(&sandbox), ["lit/b.txt"]);
    sandbox.json(&["map", "--no-ingest"]);
    let pages = sandbox.json(&["pages", "--path", "lit/a.md"]);
    let scopes = pages["pages"].as_array().unwrap().iter();
    let scopes: Vec<_> = scopes.map(|page| page["scope_id"].as_str().unwrap()).collect();
    assert!(scopes.iter().any(|scope| scope.ends_with(":literature")), "{pages:#}");

    let again = sandbox.json(&["promote", "lit/a.md"]);
    assert_eq!((&again["count"], &again["op"]), (&serde_json::json!(0), &serde_json::Value::Null));
    let map = sandbox.git(&["show", &format!("HEAD~1:{MAP}")]);
    sandbox.json(&["demote", "lit/a.md"]);
    let after = sandbox.git(&["show", &format!("HEAD:{MAP}")]);
    assert_eq!(after, map);
    assert_eq!(ingest(&sandbox), ["lit/a.md ingested", "lit/b.txt unchanged"]);
}

#[test]
fn a_promotion_can_be_undone_and_done_again() {
    let sandbox = routed();
    let rows = "\n  - paths: [\"lit/**\"]";
    sandbox.write(MAP, super::map(rows));
    commit(&sandbox);
    let before = state(&sandbox);
    sandbox.json(&["promote", "lit"]);
    let promoted = state(&sandbox);
    // All that the row is about moved: the row itself changes.
    assert_eq!(routes(&sandbox, "vcm"), [r#"["lit/**"]"#]);
    assert_eq!(routes(&sandbox, "knowledge_base"), Vec::<String>::new());
    sandbox.json(&["undo"]);
    assert_eq!(state(&sandbox), before);
    sandbox.json(&["redo"]);
    assert_eq!(state(&sandbox), promoted);
}

#[test]
fn a_refused_promotion_changes_nothing() {
    let sandbox = routed();
    sandbox.write(".colonyignore", "private/\n");
    sandbox.write("private/p.md", "# P\n");
    commit(&sandbox);
    let before = state(&sandbox);
    assert_eq!(sandbox.error(&["promote", "lit/none.md"]), "path-not-found");
    assert_eq!(sandbox.error(&["promote", "private/p.md"]), "path-not-found");
    assert_eq!(state(&sandbox), before);

    // A row in braces is not edited.
    let rows = "[{paths: [\"lit/**\", \"x/**\"]}]";
    sandbox.write(MAP, super::map(rows));
    commit(&sandbox);
    let before = state(&sandbox);
    let refused = sandbox.json(&["promote", "lit/a.md"]);
    assert_eq!(refused["code"], "map-not-editable", "{refused:#}");
    let wanted = refused["detail"]["wanted"][0].as_str().unwrap();
    assert_eq!(wanted, r#"row 1 of 'knowledge_routing': add to 'paths': ["!/lit/a.md"]"#);
    assert_eq!(state(&sandbox), before);
}

#[test]
fn uncommitted_edits_of_the_map_stop_a_promotion() {
    let sandbox = routed();
    let map = sandbox.read(MAP);
    for is_staged in [false, true] {
        sandbox.write(MAP, format!("{map}# more\n"));
        if is_staged {
            sandbox.git(&["add", MAP]);
        }
        let before = state(&sandbox);
        assert_eq!(sandbox.error(&["promote", "lit/a.md"]), "uncommitted-edits");
        assert_eq!(sandbox.error(&["demote", "-n", "lit/a.md"]), "uncommitted-edits");
        assert_eq!(state(&sandbox), before);
    }
    sandbox.git(&["rm", "-q", "-f", MAP]);
    commit(&sandbox);
    assert_eq!(sandbox.error(&["promote", "lit/a.md"]), "path-not-found");
}

#[test]
fn an_agent_promotes_only_if_it_may_change_the_map() {
    let sandbox = routed();
    sandbox.write(".colony/agents/ada.md", "---\nscope: [\"lit/**\"]\n---\n");
    commit(&sandbox);
    let before = state(&sandbox);
    let args = ["--agent", "ada", "promote", "lit/a.md"];
    assert_eq!(sandbox.error(&args), "scope-violation");
    assert_eq!(state(&sandbox), before);
    sandbox.json(&["promote", "lit/a.md"]);
}

#[test]
fn line_ends_and_comments_of_a_map_stay() {
    let sandbox = Sandbox::new();
    let map = "# mine\r\nschema_version: 1\r\nsources:\r\n- name: all  # everything\r\n  type: git_repo\r\nknowledge_routing:\r\n# papers\r\n- paths:\r\n  - 'docs/*.md'  # all\r\n";
    sandbox.write(MAP, map);
    sandbox.write("docs/a.md", "# A\n");
    sandbox.write("docs/b.md", "# B\n");
    commit(&sandbox);
    sandbox.json(&["promote", "docs/b.md"]);
    let wanted = map
        .replace("git_repo\r\n", "git_repo\r\n- name: literature\r\n  type: literature\r\n  include_globs: [\"/docs/b.md\"]\r\n")
        .replace("# all\r\n", "# all\r\n  - '!/docs/b.md'\r\n- paths: [\"/docs/b.md\"]\r\n  ingest_to: vcm\r\n");
    assert_eq!(sandbox.read(MAP), wanted);
    assert_eq!(outcomes(&sandbox.json(&["ingest", "-n"])), ["docs/a.md ingested"]);
}

#[test]
fn files_that_no_source_reads_are_not_promoted_in_silence() {
    let sandbox = routed();
    sandbox.write("lit/t.csv", "a,b\n1,2\n");
    commit(&sandbox);
    let before = state(&sandbox);
    assert_eq!(sandbox.error(&["promote", "lit/t.csv"]), "invalid-value");
    assert_eq!(state(&sandbox), before);
    let told = sandbox.json(&["promote", "lit"]);
    assert_eq!(told["unread"], serde_json::json!(["lit/t.csv"]), "{told:#}");
    let told = sandbox.json(&["demote", "lit/t.csv"]);
    assert_eq!(told["count"], 1, "{told:#}");
    assert_eq!(ingest(&sandbox), ["lit/t.csv ingested"]);
}

#[test]
fn a_hidden_edit_of_the_map_stops_a_promotion() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let sandbox = routed();
        let own = format!("{}# mine\n", sandbox.read(MAP));
        sandbox.git(&["update-index", flag, MAP]);
        // Unchanged, it is changed as any other.
        assert_eq!(sandbox.json(&["promote", "lit/a.md", "-n"])["count"], 1);
        sandbox.write(MAP, &own);
        let before = state(&sandbox);
        for dry in [&["-n"][..], &[]] {
            let refused = sandbox.json(&[&["promote", "lit/a.md"], dry].concat());
            assert_eq!(refused["code"], "uncommitted-edits", "{refused:#}");
            assert_eq!(state(&sandbox), before);
        }
        assert_eq!(sandbox.read(MAP), own);
        let refused = sandbox.json(&["promote", "lit/a.md"]);
        for command in refused["hint"].as_str().unwrap().split(" && ") {
            let words = command.split(' ').skip(1);
            let words: Vec<&str> = words.map(|word| word.trim_matches('\'')).collect();
            sandbox.git(&words);
        }
        let refused = sandbox.json(&["promote", "lit/a.md"]);
        assert!(refused["hint"].as_str().unwrap().starts_with("git add "), "{refused:#}");
    }
}

#[test]
fn a_promoted_map_keeps_its_encoding_and_its_mode() {
    let sandbox = routed();
    let text = sandbox.read(MAP);
    let line = format!("/{MAP} text working-tree-encoding=UTF-16LE-BOM\n");
    sandbox.write(".gitattributes", line);
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    let bytes: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
    sandbox.write(MAP, bytes);
    sandbox.set_mode(MAP, 0o755);
    commit(&sandbox);
    let told = sandbox.json(&["promote", "lit/a.md"]);
    assert_eq!(told["count"], 1, "{told:#}");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    let listed = sandbox.git(&["ls-tree", "HEAD", MAP]);
    assert!(listed.starts_with("100755 "), "{listed}");
    let stored = sandbox.git(&["show", &format!("HEAD:{MAP}")]);
    assert!(stored.contains("- \"/lit/a.md\"") || stored.contains("/lit/a.md"), "{stored}");
    let there = std::fs::read(sandbox.path(MAP)).unwrap();
    assert_eq!(there[..2], [0xff, 0xfe]);
}

#[test]
fn a_source_of_all_files_is_the_same_after_a_round_trip() {
    let sandbox = routed();
    let rows = "\n  - paths: [\"lit/**\"]\n    ingest_to: vcm";
    let source = "sources:\n  - name: papers\n    type: literature\n    start_dir: lit\n";
    let map = super::map(rows).replacen("sources:\n", source, 1);
    sandbox.write(MAP, &map);
    commit(&sandbox);
    let told = sandbox.json(&["demote", "lit/a.md"]);
    assert_eq!(told["count"], 1, "{told:#}");
    assert!(sandbox.read(MAP).contains("exclude_globs: [\"/a.md\"]"));
    let back = sandbox.json(&["promote", "lit/a.md"]);
    assert_eq!(back["count"], 1, "{back:#}");
    assert!(!sandbox.read(MAP).contains("exclude_globs"));
}
