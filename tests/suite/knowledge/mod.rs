//! The knowledge base: which documents it takes, what stays of them, and how clones share it.

mod acquired;
mod documents;
mod promotion;
mod routes;
mod shared;

use git_colony::testing::{Flags, KnowledgeChunk, ObjectWrites, Session, Sources};
use serde_json::Value;

use crate::support::{Sandbox, View};

/// The ref of the records.
const REF: &str = "refs/colony/knowledge";

/// A map with these routing rows, in the notation of JSON.
fn map(rows: &str) -> String {
    format!(
        "schema_version: 1\nsources:\n  - name: code\n    type: git_repo\nknowledge_routing: {rows}\n"
    )
}

/// Commits everything there is.
fn commit(view: &View) {
    view.git(&["add", "-A"]);
    view.git(&["commit", "-qm", "more"]);
}

/// A repository whose map routes `lit/` to the knowledge base.
fn routed() -> Sandbox {
    let sandbox = Sandbox::new();
    let rows = "\n  - paths: [\"lit/\"]\n    profile: paper";
    sandbox.write(".colony/repo_map.yaml", map(rows));
    sandbox.write("lit/a.md", "# A\n\nWords of a.\n");
    sandbox.write("lit/b.txt", "Words of b.\n");
    commit(&sandbox);
    sandbox
}

/// What became of each document, as `path status` and the code of the reason.
fn outcomes(answer: &Value) -> Vec<String> {
    let records = answer["records"].as_array().or(answer["knowledge"].as_array());
    let records = records.unwrap_or_else(|| panic!("{answer:#}")).iter();
    let told = records.map(|one| {
        let word = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
        let all = [word("path"), word("status"), word("code")];
        all.join(" ").trim_end().to_owned()
    });
    told.collect()
}

fn ingest(view: &View) -> Vec<String> {
    outcomes(&view.json(&["ingest"]))
}

/// The documents that are listed, with their notes.
fn listed(view: &View) -> Vec<String> {
    let answer = view.json(&["knowledge"]);
    assert_eq!(answer["unreadable"], serde_json::json!([]), "{answer:#}");
    let sources = answer["sources"].as_array().unwrap().iter();
    let told = sources.map(|one| {
        let mut told = one["path"].as_str().unwrap().to_owned();
        for note in ["stale", "unrouted"] {
            if one[note] == true {
                told = format!("{told} {note}");
            }
        }
        told
    });
    told.collect()
}

/// The chunks of a document, as another part of the program reads them.
fn chunks(view: &View, path: &str) -> Vec<KnowledgeChunk> {
    let flags = Flags::default();
    let session = Session::open(view.world(), &flags, ObjectWrites::InMemory).unwrap();
    let repo = &session.repo;
    let tree = repo.tree_of(repo.head().unwrap().commit()).unwrap();
    let sources = Sources::load(repo).unwrap();
    let blob_of = |path: &_| Ok(repo.leaf_in(tree, path)?.map(|leaf| leaf.id));
    let found = sources.in_effect(blob_of).unwrap().into_iter();
    let mut found = found.filter(|record| record.path == path.into());
    found.next().unwrap().chunks(repo).unwrap()
}

fn texts(view: &View, path: &str) -> Vec<String> {
    chunks(view, path).into_iter().map(|it| it.text).collect()
}

fn tip(view: &View) -> String {
    view.git_any(&["rev-parse", "-q", "--verify", REF])
}
