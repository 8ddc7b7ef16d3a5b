//! Submodules that others control, and records of checkpoints that others wrote: nothing hangs, nothing is lost without a
//! word, and no other repository is written to.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::process::Command;

use serde_json::Value;

use super::submodule_edits::{FILES, Nested, WHO};
use crate::support::{Sandbox, View};

fn agent(desk: &Sandbox, name: &str) -> View {
    desk.git(&["config", "colony.keepRemovedDays", "0"]);
    let made = desk.json(&["agents", "new", name]);
    assert_eq!(made["ok"], true, "{made:#}");
    let clone = desk.at(made["path"].as_str().unwrap().into());
    let update = ["submodule", "--quiet", "update", "--init", "--recursive"];
    clone.git(&[&FILES[..], &update].concat());
    clone
}

/// Makes the repository of a submodule one that cannot be read here, in some way.
fn make_unreadable(of: &View, way: usize) {
    match way {
        0 => drop(of.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "dir"])),
        1 => {
            let index = of.git(&["rev-parse", "--git-path", "index"]);
            let file = fs::File::options().write(true).open(of.path(index.trim())).unwrap();
            file.write_at(b"x", file.metadata().unwrap().len()).unwrap();
        }
        _ => {
            let folder = of.git(&["rev-parse", "--git-path", "refs/heads"]);
            drop(std::os::unix::fs::symlink("elsewhere", of.path(folder.trim()).join("link")));
        }
    }
}

#[test]
fn a_submodule_that_cannot_be_read_counts_as_edited() {
    for way in 0..3 {
        let nested = Nested::new();
        let desk = &nested.top;
        let clone = agent(desk, "ada");
        for view in [desk.at(desk.root.clone()), clone] {
            view.at(view.path("sub")).write("a.txt", "edited\n");
            make_unreadable(&view.at(view.path("sub")), way);
            let told = view.json(&["status"]);
            assert_eq!(told["edited_submodules"][0], "sub", "{way}: {told:#}");
            let kept = view.json(&["checkpoint", "--off-branch", "-m", "kept"]);
            assert_eq!(kept["left_out"][0]["path"], "sub", "{way}: {kept:#}");
        }
        let removed = desk.json(&["agents", "remove", "ada"]);
        assert_eq!(removed["ok"], false, "{way}: {removed:#}");
    }
}

#[test]
fn a_pipe_in_a_submodule_stops_no_command() {
    let nested = Nested::new();
    let desk = &nested.top;
    let clone = agent(desk, "ada");
    for view in [desk.at(desk.root.clone()), clone.clone()] {
        for name in ["packed-refs", "HEAD", "config"] {
            let git_dir = view.path(".git/modules/sub");
            drop(fs::rename(git_dir.join(name), git_dir.join("aside")));
            let made = Command::new("mkfifo").arg(git_dir.join(name)).status().unwrap();
            assert!(made.success());
            assert_eq!(view.json(&["status"])["edited_submodules"][0], "sub", "{name}");
            drop(view.json(&["checkpoint", "--off-branch", "-m", name]));
            drop(desk.json(&["agents", "remove", "ada", "-n"]));
            fs::remove_file(git_dir.join(name)).unwrap();
            drop(fs::rename(git_dir.join("aside"), git_dir.join(name)));
        }
    }
    assert_eq!(desk.json(&["agents", "remove", "ada", "-n"])["ok"], true);
}

#[test]
fn a_forged_checkpoint_writes_to_no_other_repository() {
    let nested = Nested::new();
    let desk = &nested.top;
    let mine = desk.at(desk.path("mine"));
    desk.write("mine/v.txt", "one\n");
    mine.git(&["init", "-q"]);
    mine.git(&["add", "-A"]);
    mine.git(&[&WHO[..], &["commit", "-qm", "one"]].concat());
    let old = mine.git(&["rev-parse", "HEAD"]);
    mine.write("v.txt", "work in progress\n");
    desk.write("a.txt", "other\n");
    desk.colony(&["checkpoint", "--off-branch", "-m", "kept"]);
    let tag = desk.git(&["for-each-ref", "--format=%(refname)", "refs/colony/checkpoints/"]);
    let tag = tag.lines().last().unwrap();
    let text = desk.git(&["cat-file", "tag", tag]);
    for path in ["mine", "sub"] {
        let snapshot =
            if path == "mine" { &old } else { &nested.inner().git(&["rev-parse", "HEAD"]) };
        let line = format!(
            "\nColony-Submodule: {{\"path\":\"{path}\",\"snapshot\":\"{}\"}}\n",
            snapshot.trim()
        );
        let file = desk.outside().join("forged");
        fs::write(&file, format!("{}{line}", text.trim_end())).unwrap();
        let forged = desk.git(&["hash-object", "-t", "tag", "-w", file.to_str().unwrap()]);
        desk.git(&["update-ref", tag, forged.trim()]);
        nested.inner().write("a.txt", "of the submodule\n");
        let refs = mine.git(&["for-each-ref"]);
        let restored = desk.json(&["restore", "kept", "--force"]);
        assert_eq!(restored["ok"], true, "{restored:#}");
        assert_eq!(restored["submodules_absent"][0]["path"], path, "{restored:#}");
        assert_eq!(mine.read("v.txt"), "work in progress\n");
        assert_eq!(nested.inner().read("a.txt"), "of the submodule\n");
        assert_eq!(mine.git(&["for-each-ref"]), refs);
    }
}

#[test]
fn a_path_inside_a_submodule_is_restored() {
    let nested = Nested::new();
    let desk = &nested.top;
    nested.inner().write("a.txt", "edited\n");
    desk.colony(&["checkpoint", "--off-branch", "-m", "kept"]);
    nested.inner().git(&["checkout", "-q", "a.txt"]);
    let restored = desk.json(&["restore", "kept", "--", "sub/a.txt"]);
    assert_eq!(restored["ok"], true, "{restored:#}");
    assert_eq!(nested.inner().read("a.txt"), "edited\n");
    let refused = desk.json(&["commit", "-m", "inside", "sub/a.txt"]);
    assert_ne!(refused["code"], "object-missing", "{refused:#}");
}

#[test]
fn kept_edits_of_a_submodule_stop_a_removal() {
    let nested = Nested::new();
    let desk = &nested.top;
    let clone = agent(desk, "ada");
    let inner = clone.at(clone.path("sub"));
    inner.write("a.txt", "edited\n");
    clone.colony(&["checkpoint", "--off-branch", "-m", "kept"]);
    inner.git(&["checkout", "-q", "a.txt"]);
    let refused = desk.json(&["agents", "remove", "ada"]);
    assert_eq!((&refused["ok"], &refused["code"]), (&Value::Bool(false), &"clone-in-use".into()));
    // It is in one, and goes with the clone all the same.
    assert!(!refused["message"].as_str().unwrap().contains("in no checkpoint"), "{refused:#}");
}
