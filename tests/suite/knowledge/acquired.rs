//! Documents from outside of the repository: committed with their origin, and ingested.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::{listed, outcomes, texts, tip};
use crate::lfs::prune_race::with_lfs;
use crate::support::{Sandbox, View};

const URI: &str = "https://example.com/p?a=\"1\"";

/// A directory with a document, outside of the repository.
fn fetched(sandbox: &Sandbox) -> String {
    let folder = sandbox.outside().join("fetched");
    fs::create_dir_all(folder.join("deep")).unwrap();
    fs::write(folder.join("a.md"), "# A\n\nFetched.\n").unwrap();
    fs::write(folder.join("deep/b.txt"), "Deep.\n").unwrap();
    folder.to_str().unwrap().to_owned()
}

fn args<'a>(from: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["ingest", "--from", from, "--source-uri", URI], more].concat()
}

/// What no refusal may change.
fn state(view: &View) -> [String; 3] {
    [view.git(&["rev-parse", "HEAD"]), view.git(&["status", "--porcelain", "--ignored"]), tip(view)]
}

#[test]
fn fetched_files_are_committed_with_their_origin_and_ingested() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "edited\n");
    let from = fetched(&sandbox);
    let before = state(&sandbox);
    let dry = sandbox.json(&args(&from, &["-n"]));
    assert_eq!(dry["acquired"].as_array().unwrap().len(), 4, "{dry:#}");
    assert_eq!(state(&sandbox), before);
    let told = sandbox.json(&args(&from, &["--profile", "paper"]));
    assert_eq!(
        outcomes(&told),
        ["literature/acquired/a.md ingested", "literature/acquired/deep/b.txt ingested"]
    );
    assert_eq!(texts(&sandbox, "literature/acquired/deep/b.txt"), ["Deep."]);
    let sidecar = sandbox.git(&["show", "HEAD:literature/acquired/a.md.source.yaml"]);
    let lines: Vec<_> = sidecar.lines().collect();
    assert_eq!(lines[0], r#"source_uri: "https://example.com/p?a=\"1\"""#);
    assert!(lines[1].starts_with("sha256: ") && lines[1].len() == 72, "{sidecar}");
    assert!(lines[2].starts_with("acquired_at: 2026-") && lines[3].starts_with("by: \"A"));
    // Other work stays as it is.
    assert_eq!(sandbox.git(&["status", "--porcelain"]), " M a.txt");
    // The same files again are nothing to do.
    let again = sandbox.json(&args(&from, &["--profile", "paper"]));
    assert_eq!((&again["acquired"], &again["op"]), (&json!([]), &json!(null)));
    assert_eq!(sandbox.git(&["rev-list", "--count", "HEAD"]), "2");
    sandbox.colony(&["undo", "2"]);
    assert_eq!(listed(&sandbox), [""; 0]);
    assert!(!sandbox.path("literature").exists());
}

#[test]
fn what_may_not_be_committed_is_refused_before_anything_changes() {
    let sandbox = Sandbox::new();
    let from = fetched(&sandbox);
    sandbox.write("lit/a.md", "another\n");
    let before = state(&sandbox);
    let code = |more: &[&str]| sandbox.error(&args(&from, more));
    assert_eq!(code(&["--to", "lit"]), "path-in-the-way");
    assert_eq!(code(&["--to", "a.txt"]), "path-in-the-way");
    assert_eq!(code(&["--to", ".."]), "path-outside");
    assert_eq!(sandbox.error(&args("/nonexistent", &[])), "path-not-found");
    let of = |uri: &str| sandbox.error(&["ingest", "--from", &from, "--source-uri", uri]);
    assert_eq!(of("https://ada:secret@example.com/p"), "invalid-value");
    assert_eq!(of("a\nb"), "invalid-value");
    let within = |name: &str| std::path::Path::new(&from).join(name);
    symlink("/etc/passwd", within("link.md")).unwrap();
    assert_eq!(code(&[]), "invalid-value");
    fs::remove_file(within("link.md")).unwrap();
    fs::write(within("id_rsa"), "key").unwrap();
    assert_eq!(code(&[]), "invalid-value");
    fs::remove_file(within("id_rsa")).unwrap();
    fs::create_dir(within(".git")).unwrap();
    fs::write(within(".git/config"), "x").unwrap();
    assert_eq!(code(&[]), "invalid-value");
    fs::remove_dir_all(within(".git")).unwrap();
    sandbox.git(&["config", "colony.ingest.maxBytes", "3"]);
    assert_eq!(code(&[]), "invalid-value");
    assert_eq!(state(&sandbox), before);
}

#[test]
fn an_agent_commits_only_where_it_may() {
    let sandbox = Sandbox::new();
    let rule = "---\nscope: [\"src/**\"]\n---\n# Ada\n";
    sandbox.write(".colony/agents/ada.md", rule);
    super::commit(&sandbox);
    let from = fetched(&sandbox);
    let before = state(&sandbox);
    let by_ada = |to: &str| {
        let all = [&["--agent", "ada"][..], &args(&from, &["--to", to])].concat();
        sandbox.json(&all)
    };
    assert_eq!(by_ada("lit")["code"], "scope-violation");
    assert_eq!(state(&sandbox), before);
    let told = by_ada("src");
    assert_eq!(told["ok"], true, "{told:#}");
    assert_eq!(listed(&sandbox).len(), 2);
}

#[test]
fn a_fetched_file_that_git_lfs_stores_is_in_its_store() {
    let sandbox = with_lfs();
    let folder = sandbox.outside().join("fetched");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("a.bin"), "large\n").unwrap();
    let told = sandbox.json(&args(folder.to_str().unwrap(), &[]));
    assert_eq!(told["acquired"].as_array().unwrap().len(), 2, "{told:#}");
    assert_eq!(sandbox.read("literature/acquired/a.bin"), "large\n");
    let stored = sandbox.git(&["show", "HEAD:literature/acquired/a.bin"]);
    assert!(stored.starts_with("version https://git-lfs.github.com/"));
    sandbox.git(&["lfs", "fsck"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}
