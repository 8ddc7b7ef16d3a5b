//! `paths`: where everything about a checkout is kept.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Sandbox, View};

fn place(answer: &Value, name: &str) -> Value {
    let places = answer["places"].as_array().unwrap().iter();
    let found: Vec<_> = places.filter(|place| place["name"] == name).collect();
    assert_eq!(found.len(), 1, "{name}");
    found[0].clone()
}

/// Text and JSON, without what differs between runs.
fn told(view: &View, command: &[&str]) -> String {
    let id = view.json(&["id"])["repository_id"].clone();
    let json = [&["--json"], command].concat();
    let text = format!("{}\n\n{}", view.colony(&json), view.colony(command));
    let text = text.replace(view.outside().to_str().unwrap(), "<outside>");
    text.replace(id.as_str().unwrap(), "<id>")
}

#[test]
fn a_place_is_listed_with_its_size() {
    let sandbox = Sandbox::new();
    sandbox.write(".colony/colony.toml", "agent = \"x\"\n");
    fs::create_dir_all(sandbox.path(".git/colony/cache")).unwrap();
    sandbox.write(".git/colony/cache/a", "12345");
    sandbox.write(".git/colony-kept/b", "123");
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("paths", told(&sandbox, &["paths"]));
    });
}

#[test]
fn what_commands_have_made_is_in_a_listed_place() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    sandbox.colony(&["checkpoint", "-m", "kept"]);
    sandbox.write("a.txt", "three\n");
    sandbox.colony(&["restore", "kept", "--force"]);
    sandbox.colony(&["agents", "new", "ada"]);
    sandbox.colony(&["decide", "-m", "it is so"]);
    let answer = sandbox.json(&["paths"]);
    let folders: Vec<_> = answer["places"].as_array().unwrap().iter().collect();
    let listed = |path: &Path| {
        let under = |place: &&&Value| path.starts_with(place["path"].as_str().unwrap());
        folders.iter().any(|place| under(&place))
    };
    for name in ["worktree-state", "state", "kept-files", "hub", "shared-root", "decisions"] {
        let place = place(&answer, name);
        assert_eq!(place["exists"], true, "{name}");
        assert!(place["bytes"].as_u64().unwrap() > 0, "{name}");
    }
    // Outside of git's own files and the working tree, nothing of ours is anywhere else.
    let mut open = vec![sandbox.outside()];
    while let Some(path) = open.pop() {
        let is_own = path.file_name().is_some_and(|name| name.to_str().unwrap().contains("colony"));
        let is_of_git = ["refs", "logs", "objects"].iter().any(|name| path.ends_with(name));
        if is_of_git {
            continue;
        }
        if path.is_dir() && !listed(&path) {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let is_folder_of_user = path.ends_with(".local/share/git-colony");
        assert!(!is_own || listed(&path) || is_folder_of_user, "{}", path.display());
    }
}

#[test]
fn deletable_places_may_be_deleted() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    sandbox.colony(&["checkpoint", "-m", "kept"]);
    sandbox.colony(&["init", "--no-push"]);
    sandbox.colony(&["map"]);
    sandbox.colony(&["search", "two"]);
    let before = (sandbox.visible_state(), sandbox.json(&["checkpoints"]));
    let answer = sandbox.json(&["paths"]);
    for place in answer["places"].as_array().unwrap() {
        if place["deletable"] == true && place["exists"] == true {
            fs::remove_dir_all(place["path"].as_str().unwrap()).unwrap();
        }
    }
    assert_eq!((sandbox.visible_state(), sandbox.json(&["checkpoints"])), before);
    let found = |answer: Value| answer["hits"].as_array().unwrap().len();
    sandbox.colony(&["map"]);
    assert_eq!(found(sandbox.json(&["search", "two"])), 1);
}

#[test]
fn folders_of_another_id_are_orphans() {
    let sandbox = Sandbox::new();
    let id = sandbox.json(&["id"])["repository_id"].as_str().unwrap().to_owned();
    assert_eq!(sandbox.json(&["paths"])["orphans"], json!([]));
    sandbox.write(&format!(".colony/cache/repos/{id}/repo_index.json"), "{}");
    sandbox.write(".colony/cache/repos/not-an-id/x", "x");
    sandbox.write(".colony/sessions/0123456789ABCDEF/x", "x");
    assert_eq!(sandbox.json(&["paths"])["orphans"], json!([]));
    sandbox.git(&["config", "remote.origin.url", "https://host/new.git"]);
    let answer = sandbox.json(&["paths"]);
    let path = sandbox.path(".colony/cache/repos").join(&id);
    let expected = json!([{ "repository_id": id, "path": path.to_str().unwrap(), "bytes": 2 }]);
    assert_eq!(answer["orphans"], expected);
    assert!(sandbox.colony(&["paths"]).contains(&format!("orphan of {id}")));
    // A folder behind a symlink is not one of this checkout.
    fs::rename(sandbox.path(".colony"), sandbox.outside().join("away")).unwrap();
    std::os::unix::fs::symlink(sandbox.outside().join("away"), sandbox.path(".colony")).unwrap();
    assert_eq!(sandbox.json(&["paths"])["orphans"], json!([]));
}

#[test]
fn places_without_a_working_tree_are_those_that_remain() {
    let bare = Sandbox::init(&["--bare"]);
    let names = |view: &View| {
        let answer = view.json(&["paths"]);
        let places = answer["places"].as_array().unwrap().iter();
        let of = |place: &Value| place["of"].as_str().unwrap().to_owned();
        places.map(of).collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(names(&bare), ["repository", "tree", "user", "worktree"]);
    let none = bare.outside().join("none");
    fs::create_dir(&none).unwrap();
    assert_eq!(names(&bare.at(none)), ["tree", "user"]);
    let reftable = Sandbox::init(&["--ref-format=reftable"]);
    assert_eq!(names(&reftable), ["repository", "tree", "user", "worktree"]);
}
