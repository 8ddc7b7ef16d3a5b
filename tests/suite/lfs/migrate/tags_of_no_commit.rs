//! Tags of trees and blobs, annotated or not, here and on the remote: a migration to git-lfs leaves them
//! alone, and they stop it nowhere.

use std::path::Path;

use crate::support::Sandbox;

use super::rewrite::{POINTER, at, grown_with_origin};

const NAMES: [&str; 4] = ["blob", "tree", "of-blob", "of-tree"];

/// Tags what is no commit.
fn tag(sandbox: &Sandbox) {
    sandbox.git(&["tag", "blob", "HEAD:text.txt"]);
    sandbox.git(&["tag", "tree", "HEAD^{tree}"]);
    sandbox.git(&["tag", "-am", "a blob", "of-blob", "HEAD:paper.pdf"]);
    sandbox.git(&["tag", "-am", "a tree", "of-tree", "HEAD~1^{tree}"]);
}

fn ids(sandbox: &Sandbox, bare: &Path) -> (Vec<String>, String) {
    let here = NAMES.map(|name| sandbox.git(&["rev-parse", &format!("refs/tags/{name}")]));
    let there = at(bare, sandbox, &["for-each-ref", "refs/tags/*blob", "refs/tags/*tree"]);
    (here.to_vec(), there)
}

fn migrated(sandbox: &Sandbox, bare: &Path) {
    let before = ids(sandbox, bare);
    for args in [&["lfs", "migrate", "-n"][..], &["lfs", "migrate", "--push"]] {
        let answer = sandbox.json(args);
        assert_eq!(answer["status"], "migrated", "{answer:#}");
        let notes = answer["notes"].to_string();
        assert!(NAMES.iter().all(|name| notes.contains(name)), "{notes}");
        let refs = answer["refs"].to_string();
        assert!(!refs.contains("blob") && !refs.contains("tree"), "{refs}");
    }
    assert_eq!(ids(sandbox, bare), before);
    let pointer = at(bare, sandbox, &["show", "main:paper.pdf"]);
    assert!(pointer.starts_with(POINTER), "{pointer}");
    let again = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(again["status"], "up_to_date", "{again:#}");
    assert_eq!(ids(sandbox, bare), before);
    sandbox.check_invariants_of_git();
}

#[test]
fn tags_of_no_commit_stay_here_and_on_the_remote() {
    let (sandbox, bare) = grown_with_origin();
    tag(&sandbox);
    sandbox.git(&["push", "-q", "origin", "--tags"]);
    migrated(&sandbox, &bare);
}

#[test]
fn tags_of_no_commit_that_differ_at_the_remote_stay() {
    let (sandbox, bare) = grown_with_origin();
    tag(&sandbox);
    sandbox.git(&[
        "push",
        "-q",
        "origin",
        "light:refs/tags/blob",
        "blob:refs/tags/tree",
        "tree:refs/tags/of-blob",
    ]);
    migrated(&sandbox, &bare);
}

#[test]
fn tags_that_only_the_remote_has_stay_there() {
    let (sandbox, bare) = grown_with_origin();
    let there = sandbox.at(bare.clone());
    let file = sandbox.outside().join("there");
    std::fs::write(&file, "only there\n").unwrap();
    let blob = there.git(&["hash-object", "-w", file.to_str().unwrap()]);
    there.git(&["update-ref", "refs/tags/there-blob", &blob]);
    sandbox.git(&["push", "-q", "origin", "main~1:refs/tags/there"]);
    let before = at(&bare, &sandbox, &["for-each-ref", "refs/tags/there*"]);
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["pushed"], true, "{answer:#}");
    assert_eq!(at(&bare, &sandbox, &["for-each-ref", "refs/tags/there*"]), before);
}
