//! A list of what is wanted (`*`, then `!notes.txt`) in the places that git has for ignore rules: what git shows is
//! kept, and comes back.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::Sandbox;

/// Rules that ignore everything at the root, and then include a name again.
const EVERYTHING: [&str; 5] = ["*", "/*", "**", "/**", "*\n!*/"];

/// Where the rules are.
const PLACES: [&str; 3] = ["info/exclude", "core.excludesFile", ".gitignore"];

fn write_rules(sandbox: &Sandbox, git_dir: &Path, place: &str, rules: &str) {
    let path = match place {
        "info/exclude" => {
            fs::create_dir_all(git_dir.join("info")).unwrap();
            git_dir.join("info/exclude")
        }
        "core.excludesFile" => {
            let path = sandbox.outside().join("of-user");
            sandbox.git(&["config", "core.excludesFile", path.to_str().unwrap()]);
            path
        }
        name => sandbox.path(name),
    };
    fs::write(path, rules).unwrap();
}

#[test]
fn what_a_list_of_wanted_files_names_is_kept() {
    for place in PLACES {
        for everything in EVERYTHING {
            let sandbox = Sandbox::new();
            let rules = format!("{everything}\n!notes.txt\n!.gitignore\n");
            write_rules(&sandbox, &sandbox.path(".git"), place, &rules);
            sandbox.write("notes.txt", "mine\n");
            sandbox.write("other.txt", "ignored\n");
            let shown = sandbox.git(&["status", "--porcelain", "-uall", "--", "notes.txt"]);
            assert_eq!(shown, "?? notes.txt", "{place} {everything:?}");
            assert_eq!(sandbox.json(&["status"])["uncommitted_changes"], true);
            sandbox.json(&["checkpoint", "--off-branch", "-m", "kept"]);
            fs::remove_file(sandbox.path("notes.txt")).unwrap();
            sandbox.json(&["restore", "kept"]);
            assert_eq!(fs::read_to_string(sandbox.path("notes.txt")).unwrap(), "mine\n");
            assert!(sandbox.path("other.txt").exists(), "{place} {everything:?}");
            sandbox.json(&["commit", "-m", "all", "--all"]);
            let tracked = sandbox.git(&["ls-files", "notes.txt", "other.txt"]);
            assert_eq!(tracked, "notes.txt", "{place} {everything:?}");
        }
    }
}

#[test]
fn a_removed_clone_keeps_what_its_rules_want() {
    let desk = Sandbox::new();
    let made = desk.json(&["agents", "new", "ada"]);
    let clone = PathBuf::from(made["path"].as_str().unwrap());
    fs::create_dir_all(clone.join(".git/info")).unwrap();
    fs::write(clone.join(".git/info/exclude"), "/*\n!/notes.txt\n").unwrap();
    fs::write(clone.join("notes.txt"), "of ada\n").unwrap();
    desk.json(&["agents", "remove", "ada"]);
    desk.json(&["agents", "restore", "ada"]);
    assert_eq!(fs::read_to_string(clone.join("notes.txt")).unwrap(), "of ada\n");
}
