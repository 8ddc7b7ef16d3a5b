//! Large files in clones that were made without them.

use std::fs;

use crate::support::Sandbox;

const POINTER: &str = "version https://git-lfs";

#[test]
fn hydrate_brings_content_into_a_clone_without_large_files() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init"]);
    sandbox.write("a.pdf", "large\n");
    sandbox.write("b.pdf", "large too\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "large"]);
    for (name, lfs) in [("none", "none"), ("some", "b.pdf")] {
        let clone = sandbox.colony(&["agents", "new", name, "--lfs", lfs]);
        let clone = sandbox.at(clone.trim().into());
        let read = || fs::read_to_string(clone.path("a.pdf")).unwrap();
        assert!(read().starts_with(POINTER), "{name}");
        let answer = clone.json(&["lfs", "hydrate", "a.pdf"]);
        assert_eq!(answer["hydrated"], serde_json::json!(["a.pdf"]), "{answer:#}");
        assert_eq!(read(), "large\n");
        assert_eq!(clone.git(&["status", "--porcelain"]), "");
    }
}

#[test]
fn a_clone_for_reading_is_told_what_brings_content_in() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init"]);
    sandbox.write("a.pdf", "large\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "large"]);
    let url = format!("file://{}", sandbox.root.display());
    let made = sandbox.json(&["clone", "--read-only", "--lfs", "none", &url]);
    let clone = sandbox.at(made["path"].as_str().unwrap().into());
    let by = clone.json(&["lfs", "status"])["hydrate_by"].clone();
    let words: Vec<&str> = by.as_str().unwrap().split(' ').skip(1).collect();
    clone.git(&[&words[..], &["a.pdf"]].concat());
    assert_eq!(fs::read_to_string(clone.path("a.pdf")).unwrap(), "large\n");
    assert_eq!(clone.git(&["status", "--porcelain"]), "");
}
