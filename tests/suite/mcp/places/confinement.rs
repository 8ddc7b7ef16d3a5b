//! What a server reaches: one colony, told by what it is and not by where it lies.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::mcp::client::{Client, USUAL};
use crate::mcp::where_user_sets;
use crate::support::{Sandbox, View};

/// Another repository of the same user, with an agent.
fn other_repository(sandbox: &Sandbox) -> (View, PathBuf) {
    let other = sandbox.at(sandbox.outside().join("other"));
    sandbox.git(&["init", "-q", "-b", "main", other.root.to_str().unwrap()]);
    other.write("secret.txt", "of another project\n");
    other.git(&["add", "."]);
    other.git(&["-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "other"]);
    let clone = clone_of(&other, "bob");
    (other, clone)
}

fn clone_of(desk: &View, agent: &str) -> PathBuf {
    let made = desk.json(&["agents", "new", agent]);
    PathBuf::from(made["path"].as_str().unwrap_or_else(|| panic!("{made:#}")))
}

fn map(client: &mut Client, place: impl Into<PathBuf>) -> Value {
    let answer = client.call("mmap_repo", &json!({ "local_repo_path": place.into() }));
    answer["structuredContent"].clone()
}

#[test]
fn only_clones_of_the_same_repository_are_reached() {
    let sandbox = Sandbox::new();
    let (other, theirs) = other_repository(&sandbox);
    let own = clone_of(&sandbox, "ada");
    let reader = other.json(&["clone", other.root.to_str().unwrap(), "--read-only"]);
    let reader = PathBuf::from(reader["path"].as_str().unwrap());
    symlink(&theirs, sandbox.path("link")).unwrap();
    let shared = sandbox.outside().join("home/.local/share/git-colony");
    for view in [sandbox.at(sandbox.root.clone()), sandbox.at(own.clone())] {
        let mut client = Client::of(&view, USUAL, &["mcp", "--trust"]);
        let hubs = shared.join("hubs");
        for place in [&theirs, &theirs.join(".git"), &reader, &sandbox.path("link"), &shared, &hubs]
        {
            let told = map(&mut client, place);
            assert_eq!(told["code"], "path-outside", "{} {told:#}", place.display());
            assert!(!told.to_string().contains("secret"), "{told:#}");
            let from = json!({ "from": place, "source_uri": "https://example.com/", "to": "docs" });
            let told = client.call("ingest", &from)["structuredContent"].clone();
            assert_eq!(told["code"], "path-outside", "{} {told:#}", place.display());
        }
        let told = map(&mut client, own.clone());
        assert_eq!(told["ok"], true, "{told:#}");
    }
}

#[test]
fn repositories_below_the_roots_of_catalogs_are_mapped() {
    let sandbox = Sandbox::new();
    let (other, _) = other_repository(&sandbox);
    let roots = sandbox.outside().join("roots");
    let inside = sandbox.at(roots.join("inside"));
    sandbox.git(&["clone", "-q", other.root.to_str().unwrap(), inside.root.to_str().unwrap()]);
    // What is below a root may lead out of it: by its '.git', a link, or the repository around.
    sandbox.git(&["init", "-q", roots.parent().unwrap().join("around").to_str().unwrap()]);
    let around = sandbox.outside().join("around/sub");
    fs::create_dir_all(&around).unwrap();
    for (name, text) in [("pointing", other.root.join(".git")), ("linked", sandbox.path("x"))] {
        fs::create_dir(roots.join(name)).unwrap();
        fs::write(roots.join(name).join(".git"), format!("gitdir: {}\n", text.display())).unwrap();
    }
    symlink(&other.root, roots.join("link")).unwrap();
    other.git(&["worktree", "add", "-q", "--detach", roots.join("tree").to_str().unwrap()]);
    let both = format!("{},{}", roots.display(), around.display());
    let allowed = where_user_sets(&sandbox, "colony.catalog.roots", &both);
    let mut client = Client::of(&allowed, USUAL, &["mcp", "--trust"]);
    let told = map(&mut client, inside.root.clone());
    assert_eq!(told["ok"], true, "{told:#}");
    let outside = ["pointing", "linked", "link", "tree", "link/..", "none"];
    let outside = outside.iter().map(|name| roots.join(name));
    for place in outside.chain([around.clone(), other.root.clone(), roots.join("../other")]) {
        let told = map(&mut client, place.clone());
        assert_eq!(told["code"], "path-outside", "{} {told:#}", place.display());
        assert!(told["message"].as_str().unwrap().contains("'colony.catalog.roots'"), "{told:#}");
    }
    // Only repositories, and only where the user says so.
    let from = json!({ "from": inside.root, "source_uri": "https://example.com/", "to": "docs" });
    let told = client.call("ingest", &from)["structuredContent"].clone();
    assert_eq!(told["code"], "path-outside", "{told:#}");
    sandbox.git(&["config", "colony.catalog.roots", &both]);
    let mut client = Client::of(&sandbox, USUAL, &["mcp", "--trust"]);
    let told = map(&mut client, inside.root.clone());
    assert_eq!(told["code"], "path-outside", "{told:#}");
}

#[test]
fn a_server_outside_of_repositories_lists_one_colony() {
    let sandbox = Sandbox::new();
    other_repository(&sandbox);
    let remote = sandbox.outside().join("remote.git");
    let (here, there) = (sandbox.root.to_str().unwrap(), remote.to_str().unwrap());
    sandbox.git(&["clone", "-q", "--bare", here, there]);
    let nowhere = sandbox.at(sandbox.outside().join("nowhere"));
    fs::create_dir(&nowhere.root).unwrap();
    nowhere.colony(&["colony", "set", there]);
    let mut client = Client::of(&nowhere, USUAL, &["--agent", "ada", "mcp"]);
    let listed = client.done("list_clones", &json!({}));
    assert_eq!(listed["count"], 1, "{listed:#}");
    assert_eq!(listed["clones"][0]["agent"], "ada");
    let refused = client.failed("refresh_clone", &json!({ "clone_id": "bob" }));
    assert_eq!(refused["code"], "clone-not-found", "{refused:#}");
}

#[test]
fn no_swapped_link_or_folder_leads_a_server_elsewhere() {
    let sandbox = Sandbox::new();
    let (other, _) = other_repository(&sandbox);
    let before = other.visible_state();
    let link = sandbox.outside().join("link");
    symlink(&sandbox.root, &link).unwrap();
    let outside = sandbox.at(sandbox.outside());
    let mut client = Client::of(&outside, USUAL, &["-C", link.to_str().unwrap(), "mcp"]);
    client.done("checkpoint_state", &json!({ "label": "first" }));
    fs::remove_file(&link).unwrap();
    symlink(&other.root, &link).unwrap();
    client.done("checkpoint_state", &json!({ "label": "second" }));
    assert_eq!(sandbox.json(&["checkpoints"])["count"], 2);
    // A folder in its place is another one, even with the same name.
    let aside = sandbox.outside().join("aside");
    fs::rename(&sandbox.root, &aside).unwrap();
    let copied = sandbox
        .at(sandbox.outside())
        .process("cp")
        .arg("-a")
        .arg(&other.root)
        .arg(&sandbox.root)
        .status();
    assert!(copied.unwrap().success());
    for (tool, arguments) in [
        ("checkpoint_state", json!({ "label": "third" })),
        ("get_repo_state", json!({})),
        ("mmap_repo", json!({ "local_repo_path": "." })),
    ] {
        let refused = client.failed(tool, &arguments);
        assert_eq!(refused["code"], "other-repository", "{refused:#}");
    }
    fs::remove_dir_all(&sandbox.root).unwrap();
    fs::rename(&aside, &sandbox.root).unwrap();
    client.done("checkpoint_state", &json!({ "label": "fourth" }));
    assert_eq!(other.visible_state(), before);
}
