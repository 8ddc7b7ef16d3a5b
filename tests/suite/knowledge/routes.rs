//! Rows of the map and named paths: what goes into the knowledge base, what stays out, what leaves it.

use serde_json::json;

use super::{commit, ingest, listed, map, outcomes, routed, texts, tip};
use crate::support::Sandbox;

#[test]
fn a_row_of_a_source_keeps_files_out_in_any_order() {
    let sandbox = Sandbox::new();
    for path in ["lit/a.md", "lit/promoted/b.md", "lit/promoted/c.md", "x.md"] {
        sandbox.write(path, format!("# {path}\n"));
    }
    let take = r#"{paths: ["lit/"], profile: paper}"#;
    let veto = r#"{paths: ["lit/promoted/"], ingest_to: vcm}"#;
    for rows in [format!("[{take}, {veto}]"), format!("[{veto}, {take}]")] {
        sandbox.write(".colony/repo_map.yaml", map(&rows));
        commit(&sandbox);
        let told = sandbox.json(&["ingest", "-n"]);
        assert_eq!(outcomes(&told), ["lit/a.md ingested"], "{rows}");
        assert_eq!(told["records"][0]["data_type"], "paper");
        let check = sandbox.json(&["map", "check"]);
        assert_eq!(check["ok"], true);
        let warning = check["warnings"][0]["message"].as_str().unwrap();
        assert!(warning.contains("'lit/promoted/b.md', 'lit/promoted/c.md'"), "{warning}");
        assert_ne!(check["warnings"][0]["line"], 1, "{check:#}");
    }
    // A path needs no route, but is kept out as well.
    let told = sandbox.run(&["--json", "ingest", "x.md", "lit", "lit/promoted/b.md"]);
    assert_eq!(told.code, 1);
    assert_eq!(
        outcomes(&serde_json::from_str(&told.stdout).unwrap()),
        [
            "lit/a.md ingested",
            "lit/promoted/b.md failed routed_to_vcm",
            "lit/promoted/c.md skipped routed_to_vcm",
            "x.md ingested"
        ]
    );
    assert_eq!(listed(&sandbox), ["lit/a.md", "x.md unrouted"]);
    let told = sandbox.json(&["ingest", "lit/promoted/b.md"]);
    assert_eq!(outcomes(&told), ["lit/promoted/b.md failed routed_to_vcm"]);
    assert_eq!(sandbox.error(&["ingest", "lit/none.md"]), "path-not-found");
}

#[test]
fn only_what_has_changed_is_read_again() {
    let sandbox = routed();
    assert_eq!(ingest(&sandbox), ["lit/a.md ingested", "lit/b.txt ingested"]);
    let before = tip(&sandbox);
    let again = sandbox.json(&["ingest"]);
    assert_eq!(outcomes(&again), ["lit/a.md unchanged", "lit/b.txt unchanged"]);
    assert_eq!((&again["op"], tip(&sandbox)), (&json!(null), before));
    // What is not committed does not count.
    sandbox.write("lit/a.md", "# A\n\nOther words.\n");
    sandbox.write("lit/new.md", "# New\n");
    assert_eq!(ingest(&sandbox), ["lit/a.md unchanged", "lit/b.txt unchanged"]);
    commit(&sandbox);
    assert_eq!(listed(&sandbox), ["lit/a.md stale", "lit/b.txt"]);
    assert_eq!(
        ingest(&sandbox),
        ["lit/a.md replaced", "lit/b.txt unchanged", "lit/new.md ingested"]
    );
    assert_eq!(texts(&sandbox, "lit/a.md"), ["# A\n\nOther words."]);
    assert_eq!(sandbox.json(&["knowledge"])["sources"][0]["versions"], 1);
    // Another kind, and other chunks, are another record.
    let told = sandbox.json(&["ingest", "lit/b.txt", "--profile", "note"]);
    assert_eq!(outcomes(&told), ["lit/b.txt replaced"]);
    sandbox.git(&["config", "colony.map.chunkTargetTokens", "16"]);
    assert_eq!(ingest(&sandbox).len(), 3);
    assert_eq!(sandbox.json(&["knowledge"])["sources"][1]["data_type"], "paper");
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn a_deleted_document_is_retired_and_an_unrouted_one_stays() {
    let sandbox = routed();
    ingest(&sandbox);
    sandbox.git(&["switch", "-qc", "other"]);
    sandbox.git(&["rm", "-q", "lit/a.md"]);
    sandbox.write(".colony/repo_map.yaml", map(r#"[{paths: ["none/", "lit/a.md"]}]"#));
    commit(&sandbox);
    // The other branch has it.
    assert_eq!(ingest(&sandbox), [""; 0]);
    assert_eq!(listed(&sandbox), ["lit/a.md stale", "lit/b.txt unrouted"]);
    sandbox.git(&["branch", "-qf", "main", "other"]);
    let told = sandbox.json(&["ingest", "lit/b.txt"]);
    assert_eq!(outcomes(&told), ["lit/b.txt replaced"]);
    assert_eq!(listed(&sandbox), ["lit/a.md stale", "lit/b.txt unrouted"]);
    assert_eq!(ingest(&sandbox), ["lit/a.md retired"]);
    assert_eq!(listed(&sandbox), ["lit/b.txt unrouted"]);
    // A record of a branch that was never here is not judged.
    sandbox.colony(&["undo"]);
    assert_eq!(listed(&sandbox), ["lit/a.md stale", "lit/b.txt unrouted"]);
}

#[test]
fn map_ingests_at_its_end_and_is_not_failed_by_it() {
    let sandbox = routed();
    sandbox.write("lit/c.xyz", "?");
    commit(&sandbox);
    let skipped = sandbox.json(&["map", "--no-ingest"]);
    assert_eq!((&skipped["knowledge"], skipped["knowledge_op"].is_null()), (&json!([]), true));
    let only = sandbox.json(&["map", "--source", "code"]);
    assert_eq!(only["knowledge"], json!([]));
    let dry = sandbox.json(&["map", "-n"]);
    assert_eq!(outcomes(&dry).len(), 3);
    assert_eq!(tip(&sandbox), "");
    let told = sandbox.run(&["--json", "map"]);
    assert_eq!(told.code, 0, "{}", told.stderr);
    let told = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(
        outcomes(&told),
        ["lit/a.md ingested", "lit/b.txt ingested", "lit/c.xyz failed unknown_format"]
    );
    assert_eq!(told["knowledge_op"], "op-2");
    let again = sandbox.json(&["map"]);
    assert_eq!(outcomes(&again), ["lit/c.xyz failed unknown_format"]);
    assert_eq!(again["knowledge_unchanged"], 2);
    let text = sandbox.colony(&["map"]);
    assert!(text.contains("knowledge base: documents: 1 failed"), "{text}");
}

#[test]
fn a_document_is_cut_as_its_row_of_literature_cuts_it() {
    let sandbox = Sandbox::new();
    let words = "Some words of a long paragraph that goes on. ".repeat(60);
    sandbox.write("lit/a.md", &words);
    sandbox.write("other/a.md", &words);
    sandbox.write(
        ".colony/repo_map.yaml",
        "schema_version: 1\nsources:\n  - name: prose\n    type: literature\n    start_dir: lit\n    \
         chunk_target_tokens: 600\n    flush_token_budget: 260\nknowledge_routing: [{paths: [\"*.md\"]}]\n",
    );
    commit(&sandbox);
    ingest(&sandbox);
    // 260 tokens of a page have room for 100.
    let most = |path| super::chunks(&sandbox, path).iter().map(|it| it.tokens).max();
    assert!((60..=100).contains(&most("lit/a.md").unwrap()));
    assert!((300..=800).contains(&most("other/a.md").unwrap()));
}
