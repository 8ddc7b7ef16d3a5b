//! A migration to git-lfs where there is nothing left to migrate: only a file that is whole in git is a
//! reason to write history again.

use std::path::Path;

use serde_json::Value;

use crate::support::{Sandbox, View};

use super::rewrite::{POINTER, at, clone_of_another, grown, grown_with_origin};

/// Every ref but operations.
fn refs(sandbox: &Sandbox) -> String {
    let all = sandbox.git(&["for-each-ref"]);
    let kept = all.lines().filter(|line| !line.contains("colony-local/ops"));
    kept.collect::<Vec<_>>().join("\n")
}

/// Checks that a migration finds nothing to do, dry and for real, and changes nothing here or there.
fn nothing_to_do(sandbox: &Sandbox, bare: &Path) {
    let state = || (refs(sandbox), sandbox.visible_state());
    let (before, theirs) = (state(), at(bare, sandbox, &["for-each-ref"]));
    for args in [&["lfs", "migrate", "-n"][..], &["lfs", "migrate", "--push"]] {
        let answer = sandbox.json(args);
        assert_eq!(answer["status"], "up_to_date", "{answer:#}");
        assert_eq!(answer["op"], Value::Null, "{answer:#}");
        assert_eq!(answer["refs"], serde_json::json!([]), "{answer:#}");
        assert_eq!(state(), before);
        assert_eq!(at(bare, sandbox, &["for-each-ref"]), theirs);
    }
    sandbox.check_invariants_of_git();
}

/// A migrated repository with notes and records of ours on its origin, too.
fn migrated() -> (Sandbox, std::path::PathBuf) {
    let (sandbox, bare) = grown_with_origin();
    sandbox.colony(&["checkpoint", "-m", "named"]);
    sandbox.colony(&["fork", "idea", "--no-switch"]);
    sandbox.git(&["push", "-q", "origin", "main", "refs/notes/*"]);
    sandbox.colony(&["sync", "--push"]);
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["pushed"], true, "{answer:#}");
    (sandbox, bare)
}

#[test]
fn a_second_migration_has_nothing_to_do() {
    let (sandbox, bare) = migrated();
    nothing_to_do(&sandbox, &bare);
    // Notes and records that came since are no reason, nor is a history without any large file.
    sandbox.write("text.txt", "more\n");
    sandbox.git(&["commit", "-qam", "more"]);
    sandbox.write("paper.pdf", "a new version\n");
    sandbox.git(&["commit", "-qam", "a large file, by the filter"]);
    sandbox.git(&["notes", "add", "-m", "another", "HEAD"]);
    sandbox.colony(&["fork", "other", "--no-switch"]);
    sandbox.colony(&["checkpoint", "-m", "another"]);
    sandbox.write("paper.pdf", "staged\n");
    sandbox.git(&["add", "paper.pdf"]);
    sandbox.colony(&["checkpoint", "-m", "beside", "--off-branch"]);
    sandbox.git(&["switch", "-q", "--orphan", "pages", "-f"]);
    sandbox.write("index.html", "nothing large\n");
    sandbox.git(&["add", "index.html"]);
    sandbox.git(&["commit", "-qm", "pages"]);
    sandbox.git(&["switch", "-q", "main"]);
    nothing_to_do(&sandbox, &bare);
    sandbox.git(&["push", "-q", "origin", "--all"]);
    sandbox.git(&["push", "-q", "origin", "refs/notes/*"]);
    sandbox.colony(&["sync"]);
    nothing_to_do(&sandbox, &bare);
}

#[test]
fn notes_and_records_of_the_remote_are_no_history() {
    let (sandbox, _) = grown_with_origin();
    sandbox.git(&["push", "-q", "origin", "refs/notes/*"]);
    let notes = sandbox.git(&["rev-parse", "refs/notes/commits"]);
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["commits"], 5, "{answer:#}");
    let name = sandbox.git(&["ls-tree", "--name-only", "refs/colony/migrations"]);
    let map = sandbox.git(&["show", &format!("refs/colony/migrations:{name}/map")]);
    assert!(!map.contains(&notes), "{map}");
}

/// Somebody else's clone of the origin, made after the migration.
fn new_clone(sandbox: &Sandbox, bare: &Path) -> View {
    let clone = clone_of_another(sandbox, bare, "new");
    clone.git(&["lfs", "install", "--local"]);
    clone.git(&["lfs", "pull"]);
    clone
}

#[test]
fn a_fork_that_came_to_the_remote_later_is_no_reason_elsewhere() {
    let (sandbox, bare) = migrated();
    let clone = new_clone(&sandbox, &bare);
    sandbox.colony(&["fork", "later"]);
    sandbox.write("paper.pdf", "later\n");
    sandbox.colony(&["checkpoint", "-m", "later"]);
    sandbox.git(&["push", "-q", "origin", "fork/later", "main"]);
    for fetched in [false, true] {
        if fetched {
            clone.git(&["fetch", "-q"]);
        }
        let visible = ["for-each-ref", "refs/heads", "refs/tags", "refs/remotes"];
        let before = clone.git(&visible);
        for args in [&["lfs", "migrate", "-n"][..], &["lfs", "migrate", "--push"]] {
            let answer = clone.json(args);
            assert_eq!(answer["status"], "up_to_date", "{answer:#}");
            assert_eq!(clone.git(&visible), before);
        }
        let again = clone.json(&["init", "--migrate-existing-to-lfs", "-n"]);
        assert_eq!(again["ok"], true, "{again:#}");
    }
    nothing_to_do(&sandbox, &bare);
}

#[test]
fn each_migration_without_a_remote_can_be_undone() {
    let sandbox = grown();
    let visible = || sandbox.git(&["for-each-ref", "refs/heads", "refs/tags", "refs/colony"]);
    let before = visible();
    sandbox.colony(&["lfs", "migrate", "--push"]);
    let first = visible();
    for args in [&["lfs", "migrate", "-n"][..], &["lfs", "migrate", "--push"]] {
        let answer = sandbox.json(args);
        assert_eq!(answer["status"], "up_to_date", "{answer:#}");
        assert_eq!(visible(), first);
    }
    let attributes = sandbox.read(".gitattributes");
    let more = "*.txt filter=lfs diff=lfs merge=lfs -text\n";
    sandbox.write(".gitattributes", attributes + more);
    sandbox.colony(&["commit", "-m", "texts as well", ".gitattributes"]);
    let between = visible();
    let second = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(second["status"], "migrated", "{second:#}");
    let pointer = sandbox.git(&["show", "main~1:text.txt"]);
    assert!(pointer.starts_with(POINTER), "{pointer}");
    sandbox.colony(&["undo"]);
    assert_eq!(visible(), between);
    sandbox.colony(&["undo"]);
    sandbox.colony(&["undo"]);
    assert_eq!(visible(), before);
    sandbox.check_invariants_of_git();
}

#[test]
fn a_migrated_repository_with_edits_has_nothing_to_migrate() {
    let (sandbox, bare) = migrated();
    sandbox.write("text.txt", "edited\n");
    nothing_to_do(&sandbox, &bare);
}

#[test]
fn a_file_that_is_whole_in_the_new_history_is_migrated_alone() {
    let (sandbox, bare) = migrated();
    let before = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.write("late.pdf", "whole\n");
    let blob = sandbox.git(&["hash-object", "-w", "--no-filters", "late.pdf"]);
    let entry = format!("100644,{blob},late.pdf");
    sandbox.git(&["update-index", "--add", "--cacheinfo", &entry]);
    sandbox.git(&["commit", "-qm", "whole"]);
    let dry = sandbox.json(&["lfs", "migrate", "-n"]);
    assert_eq!(dry["status"], "migrated", "{dry:#}");
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["status"], "migrated", "{answer:#}");
    assert_eq!(answer["commits"], 1, "{answer:#}");
    assert_eq!(sandbox.git(&["rev-parse", "HEAD~1"]), before);
    let pointer = at(&bare, &sandbox, &["show", "main:late.pdf"]);
    assert!(pointer.starts_with(POINTER), "{pointer}");
    nothing_to_do(&sandbox, &bare);
}
