//! What names commits outside of history, and what a migration to git-lfs makes of it: decisions, rows of
//! the map, mappings. Files that a person reviewed stay as they are, and mean the new history.

use std::path::Path;

use serde_json::Value;

use crate::support::{Sandbox, View};

use super::rewrite::{POINTER, clone_of_another, grown, with_origin};

const SCOPES: &str = "refs/colony/scopes";

/// Somebody else's clone of the origin, from after the migration, with the records that travel.
fn new_clone(sandbox: &Sandbox, bare: &Path) -> View {
    let clone = clone_of_another(sandbox, bare, "new");
    clone.git(&["lfs", "install", "--local"]);
    clone.colony(&["sync", "--fetch"]);
    clone
}

/// A decision that names commits before it, and one that a message takes back by its id.
fn decided() -> Sandbox {
    let sandbox = grown();
    let (one, two) = (sandbox.git(&["rev-parse", "HEAD~3"]), sandbox.git(&["rev-parse", "HEAD~2"]));
    let named = ["--implements", &one, "--implements", &two];
    sandbox.colony(&[&["decide", "-m", "kept", "--id", "kept"][..], &named].concat());
    sandbox.colony(&["decide", "-m", "taken back", "--id", "back", "--implements", &one]);
    let back = sandbox.git(&["rev-parse", "HEAD"]);
    let message = format!("Revert it\n\nThis reverts commit {back}.");
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", &message]);
    sandbox
}

/// The ids, states and commits of the decisions; commits by their subject.
fn decisions(
    answer: &Value,
    subject: &dyn Fn(&str) -> String,
) -> Vec<(String, String, Vec<String>)> {
    let all = answer["decisions"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let of = |one: &Value| {
        let commits = one["commits"].as_array().unwrap().iter();
        let implements = one["implements"].as_array().unwrap().iter();
        let commits = commits.chain(implements);
        let commits = commits.map(|id| subject(id.as_str().unwrap())).collect();
        (text(&one["decision_id"]), text(&one["status"]), commits)
    };
    all.map(of).collect()
}

#[test]
fn decisions_name_the_new_commits_here_and_elsewhere() {
    let sandbox = decided();
    let bare = with_origin(&sandbox);
    let subject = |id: &str| sandbox.git(&["log", "-1", "--format=%s", id]);
    let before = decisions(&sandbox.json(&["decisions"]), &subject);
    assert_eq!(before.len(), 2, "{before:?}");
    assert_eq!(before[1].1, "reverted", "{before:?}");
    let record = sandbox.read("design/decisions/kept.json");
    sandbox.colony(&["lfs", "migrate", "--push"]);
    let within = |id: &str| {
        sandbox.git(&["merge-base", "--is-ancestor", id, "main"]);
        subject(id)
    };
    let answer = sandbox.json(&["decisions"]);
    assert_eq!(decisions(&answer, &within), before);
    assert_eq!(sandbox.read("design/decisions/kept.json"), record);
    // Where nobody has ever seen the old history.
    let clone = new_clone(&sandbox, &bare);
    let there = |id: &str| clone.git(&["log", "-1", "--format=%s", id]);
    assert_eq!(decisions(&clone.json(&["decisions"]), &there), before);
    // And it can be picked by its id.
    sandbox.git(&["switch", "-q", "-c", "other", "main~6"]);
    let picked = sandbox.json(&["cherry-pick", "kept", "-n"]);
    assert_eq!(picked["ok"], true, "{picked:#}");
}

#[test]
fn decisions_are_what_they_were_when_a_migration_is_taken_back() {
    let sandbox = decided();
    let before = sandbox.json(&["decisions"]);
    sandbox.colony(&["lfs", "migrate", "--no-push"]);
    assert_ne!(sandbox.json(&["decisions"]), before);
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.json(&["decisions"]), before);
}

/// A map whose rows stand for a commit, for a beginning of its id, and for the one they were first mapped at.
fn mapped() -> Sandbox {
    let sandbox = grown();
    let old = sandbox.git(&["rev-parse", "HEAD~2"]);
    let rows = [
        format!("{{name: full, type: git_repo, commit: {old}}}"),
        format!("{{name: short, type: git_repo, commit: {}}}", &old[..12]),
        "{name: frozen, type: git_repo, static: true}".to_owned(),
    ];
    let rows = rows.map(|row| format!("  - {row}\n")).concat();
    sandbox.write(".colony/repo_map.yaml", format!("schema_version: 1\nsources:\n{rows}"));
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "map"]);
    let answer = sandbox.json(&["map"]);
    assert_eq!(answer["ok"], true, "{answer:#}");
    sandbox
}

/// The commits that rows come to, by their name.
fn commits(answer: &Value) -> Vec<(String, String)> {
    let rows = answer["rows"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    rows.map(|row| (text(&row["name"]), text(&row["mmap_kwargs"]["commit"]))).collect()
}

#[test]
fn rows_of_the_map_stand_for_commits_of_the_new_history() {
    let sandbox = mapped();
    let bare = with_origin(&sandbox);
    let frozen = sandbox.git(&["rev-parse", "HEAD"]);
    let before = commits(&sandbox.json(&["map", "preview"]));
    assert_eq!(before[2].1, frozen);
    sandbox.colony(&["lfs", "migrate", "--push"]);
    let id = |rev: &str| sandbox.git(&["rev-parse", rev]);
    let wanted = [("full", id("HEAD~3")), ("short", id("HEAD~3")), ("frozen", id("HEAD"))];
    let wanted: Vec<_> = wanted.map(|(name, id)| (name.to_owned(), id)).into();
    assert_eq!(commits(&sandbox.json(&["map", "preview"])), wanted);
    let clone = new_clone(&sandbox, &bare);
    assert_eq!(commits(&clone.json(&["map", "preview"])), wanted);
    sandbox.check_invariants_of_git();
}

#[test]
fn mappings_are_of_the_new_history_and_keep_none_of_the_old() {
    let sandbox = mapped();
    let old = sandbox.git(&["rev-list", "main"]);
    let root = |sandbox: &Sandbox| sandbox.git(&["rev-list", "--max-parents=0", "main"]);
    let first = root(&sandbox);
    let shown = sandbox.json(&["scopes", "show", &format!("{first}:frozen")]);
    assert_eq!(shown["scope_id"], format!("{first}:frozen"), "{shown:#}");
    sandbox.colony(&["lfs", "migrate", "--push"]);
    let scope = format!("{}:frozen", root(&sandbox));
    let listed = sandbox.git(&["ls-tree", "-r", "--name-only", SCOPES]);
    assert!(!listed.contains(&first), "{listed}");
    let record =
        sandbox.git(&["show", &format!("{SCOPES}:{}%3Afrozen/scope.json", root(&sandbox))]);
    let record: Value = serde_json::from_str(&record).unwrap();
    assert_eq!(record["frozen"], sandbox.git(&["rev-parse", "HEAD"]));
    assert_eq!(record["scope_id"], scope);
    let kept = sandbox.git(&["rev-list", SCOPES]);
    assert!(old.lines().all(|id| !kept.contains(id)), "{kept}");
    assert!(kept.contains(&sandbox.git(&["rev-parse", "HEAD"])));
    let again = sandbox.json(&["map"]);
    assert_eq!(again["ok"], true, "{again:#}");
    let shown = sandbox.json(&["scopes", "show", &scope]);
    assert_eq!(shown["stale"], false, "{shown:#}");
    assert!(sandbox.git(&["show", "HEAD:paper.pdf"]).starts_with(POINTER));
    sandbox.colony(&["scopes", "unmap", &scope]);
    sandbox.check_invariants_of_git();
}

#[test]
fn mappings_are_what_they_were_when_a_migration_is_taken_back() {
    let sandbox = mapped();
    sandbox.git(&["switch", "-qc", "other"]);
    sandbox.colony(&["map"]);
    let refs = || sandbox.git(&["for-each-ref", "refs/colony", "refs/colony-local/scopes"]);
    let (before, local) = (refs(), refs().contains("refs/colony-local/scopes/"));
    assert!(local, "{before}");
    sandbox.colony(&["lfs", "migrate", "--push"]);
    let moved = refs();
    assert!(before.lines().all(|line| !moved.contains(line)), "{moved}");
    sandbox.colony(&["undo"]);
    assert_eq!(refs(), before);
}
