//! Documents of the knowledge base, found beside mapped files.

use serde_json::{Value, json};

use crate::pages::literature::pdf;
use crate::support::Sandbox;

use super::{output, paths};

/// A repository with a PDF and a text in the knowledge base; code alone is mapped.
fn repository() -> Sandbox {
    let sandbox = Sandbox::new();
    let map = "schema_version: 1\nsources:\n- {name: code, type: git_repo, include_globs: [\"*.rs\"]}\nknowledge_routing:\n- {paths: [\"lit/\"], profile: paper}\n";
    sandbox.write(".colony/repo_map.yaml", map);
    sandbox.write("src/base.rs", "fn tidal_wave() {}\n");
    sandbox.write("lit/waves.pdf", pdf(&["Of winds.", "A tidal wave is long."], ""));
    let lines = "Nothing of it.\n".repeat(300);
    sandbox.write("lit/notes.md", format!("# Notes\n\n{lines}\n## Tides\n\nA tidal wave again.\n"));
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "files"]);
    sandbox.colony(&["map"]);
    sandbox
}

#[test]
fn documents_of_the_knowledge_base_are_found_and_cited() {
    let sandbox = repository();
    let told = sandbox.json(&["search", "tidal wave"]);
    let hit = |path: &str| -> Value {
        let hits = told["hits"].as_array().unwrap();
        hits.iter().find(|hit| hit["path"] == path).unwrap().clone()
    };
    let page = hit("lit/waves.pdf");
    assert_eq!(page["source"], "knowledge");
    assert_eq!(page["source_uri"], "repo:lit/waves.pdf");
    assert_eq!((&page["page"], &page["line"]), (&json!(2), &Value::Null));
    assert_eq!(page["citation"], "lit/waves.pdf, page 2");
    let notes = hit("lit/notes.md");
    assert_eq!((&notes["line"], &notes["section"]), (&json!(306), &json!("Tides")));
    let code = hit("src/base.rs");
    assert_eq!((&code["source"], &code["source_uri"]), (&json!("pages"), &Value::Null));
}

#[test]
fn a_search_is_of_pages_or_of_knowledge() {
    let sandbox = repository();
    let found = |place: &[&str]| {
        let mut found = paths(&sandbox.json(&[&["search", "tidal wave"], place].concat()), "hits");
        found.sort();
        found.dedup();
        found
    };
    assert_eq!(found(&["--in", "pages"]), ["src/base.rs"]);
    assert_eq!(found(&["--in", "knowledge"]), ["lit/notes.md", "lit/waves.pdf"]);
    assert_eq!(found(&["--data-type", "paper"]), ["lit/notes.md", "lit/waves.pdf"]);
    assert_eq!(found(&["--path", "*.pdf"]), ["lit/waves.pdf"]);
    assert_eq!(sandbox.run(&["search", "tidal wave", "--data-type", "other"]).code, 1);
    sandbox.colony(&["knowledge", "clear", "lit/waves.pdf"]);
    assert_eq!(found(&["--in", "knowledge"]), ["lit/notes.md"]);
    sandbox.colony(&["undo"]);
    assert_eq!(found(&["--in", "knowledge"]), ["lit/notes.md", "lit/waves.pdf"]);
}

#[test]
fn a_file_that_is_mapped_and_ingested_is_found_once() {
    let sandbox = repository();
    sandbox.colony(&["ingest", "src/base.rs"]);
    let told = sandbox.json(&["search", "tidal_wave", "--path", "*.rs"]);
    assert_eq!(paths(&told, "hits"), ["src/base.rs"]);
    assert_eq!(told["total"], 1);
    let told = sandbox.json(&["context", "tidal_wave", "--path", "*.rs"]);
    assert_eq!(paths(&told, "parts"), ["src/base.rs"]);
}

#[test]
fn a_context_has_documents_of_the_knowledge_base() {
    let sandbox = repository();
    let run = sandbox.run(&["context", "tidal wave", "--budget", "600"]);
    assert_eq!(run.code, 0, "{}", output(&run));
    assert!(run.stdout.contains("==> lit/waves.pdf, page 2 "), "{}", run.stdout);
    assert!(run.stdout.contains("A tidal wave is long."), "{}", run.stdout);
}
