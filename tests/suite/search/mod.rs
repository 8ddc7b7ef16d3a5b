//! `search` and `context`: what is found, in which order, within how many tokens, and what the index may not change.

mod contexts;
mod first_questions;
mod histories;
mod index;
mod known_documents;
mod read_only;
mod searches;
mod shown_texts;
mod uncommitted;

use serde_json::Value;

use crate::support::{Run, Sandbox, View};

/// Commits all files and maps the commit.
fn map(sandbox: &View) {
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "files"]);
    sandbox.colony(&["map"]);
}

/// A mapped repository with a definition, uses of it, a document and a file that has nothing to do with them.
fn mapped() -> Sandbox {
    let sandbox = Sandbox::new();
    let uses = "    total += merge_base(one, other);\n".repeat(40);
    sandbox.write("src/uses.rs", format!("fn count() {{\n{uses}}}\n"));
    let definition = "/// Finds the common commit.\npub fn merge_base(one: Oid, other: Oid) -> Oid {\n    one\n}\n";
    sandbox.write("src/graph/base.rs", definition);
    sandbox.write(
        "docs/merging.md",
        "# Merging\n\nTwo branches meet.\n\n## The merge base\n\nIt is the newest common commit.\n",
    );
    sandbox.write("src/other.rs", "fn other() {}\n");
    map(&sandbox);
    sandbox
}

fn paths(told: &Value, list: &str) -> Vec<String> {
    let rows = told[list].as_array().unwrap().iter();
    rows.map(|row| row["path"].as_str().unwrap().to_owned()).collect()
}

/// Everything that a command has printed.
fn output(run: &Run) -> String {
    format!("{}{}", run.stdout, run.stderr)
}
