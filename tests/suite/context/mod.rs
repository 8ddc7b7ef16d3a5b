//! Projects and plans, the tiers of their files, and contexts made of them.

mod assembly;
mod hydration;
mod projects;
mod tiers;

use serde_json::Value;

use crate::support::{Sandbox, View};

/// A repository without files.
fn empty() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.git(&["rm", "-qr", "."]);
    sandbox.git(&["commit", "-qm", "empty"]);
    sandbox
}

/// A repository with files of three directories.
fn repository() -> Sandbox {
    let sandbox = empty();
    sandbox.write("src/lock.rs", "/// Takes a lock.\npub fn take_lock() {}\n");
    sandbox.write("src/other.rs", "pub fn other() {}\n");
    sandbox.write("docs/guide.md", "# Guide\n\nHow a lock is taken.\n");
    sandbox.write("web/page.html", "<p>page</p>\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "files"]);
    sandbox
}

/// Writes and commits projects and plans.
fn configure(view: &View, text: &str) {
    view.write(".colony/colony.toml", text);
    view.git(&["add", "-A"]);
    view.git(&["commit", "-qm", "projects"]);
}

/// Returns `tier project path` of each fragment.
fn listed(view: &View, args: &[&str]) -> Vec<String> {
    let told = view.json(&[&["context", "list"], args].concat());
    let rows = told["fragments"].as_array().unwrap().iter();
    let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
    rows.map(|row| {
        let parts = ["tier", "project", "path"].map(|name| text(row, name));
        parts.join(" ")
    })
    .collect()
}

/// Returns `path reason` of each skipped file.
fn skipped(told: &Value) -> Vec<String> {
    let rows = told["skipped"].as_array().unwrap().iter();
    rows.map(|row| format!("{} {}", row["path"].as_str().unwrap(), row["reason"].as_str().unwrap()))
        .collect()
}

/// Returns what a refused command says on standard error.
fn refused(view: &View, args: &[&str]) -> String {
    let run = view.run(args);
    assert!(run.code >= 128, "{}", run.stdout);
    run.stderr
}
