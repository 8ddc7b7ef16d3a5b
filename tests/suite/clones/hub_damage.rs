//! A hub that is gone or broken: every command that fails for it says so, and doctor finds it.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::agents::new_and_merge::{agent, commit, hub};
use crate::support::{Sandbox, View};

fn checks_of_hub(view: &View, args: &[&str]) -> Vec<Value> {
    let report = view.json(args);
    let checks = report["checks"].as_array().unwrap_or_else(|| panic!("{report:#}")).iter();
    checks.filter(|check| check["name"] == "hub").cloned().collect()
}

#[test]
fn a_clone_whose_hub_is_gone_says_so_whatever_fails() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "a.txt", "of ada\n");
    let store = hub(&desk);
    fs::rename(&store, store.with_extension("elsewhere")).unwrap();
    ada.write("b.txt", "new\n");
    for args in [
        &["checkpoint", "-m", "x"][..],
        &["checkpoint", "--auto"],
        &["commit", "--all", "-m", "x"],
        &["fork", "more"],
        &["restore", "HEAD~1"],
        &["merge", "main"],
    ] {
        let refused = ada.json(args);
        assert_eq!(refused["code"], "hub-missing", "{args:?} {refused:#}");
        assert!(refused["hint"].as_str().unwrap().contains("agents new"), "{refused:#}");
    }
    assert_eq!(ada.read("b.txt"), "new\n");
    // The checkout of the user needs no hub, and says what its clones lack.
    desk.write("c.txt", "desk\n");
    let done = desk.run(&["checkpoint", "-m", "x"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(done.stderr.contains("is gone"), "{}", done.stderr);
    assert_eq!(checks_of_hub(&desk, &["doctor"]).len(), 1);
    // Once the last clone is gone, nobody misses it.
    fs::rename(store.with_extension("elsewhere"), &store).unwrap();
    assert_eq!(ada.json(&["checkpoint", "-m", "x"])["ok"], true);
}

#[test]
fn doctor_finds_each_damage_of_a_hub() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "a.txt", "of ada\n");
    let store = hub(&desk);
    let git = store.to_str().unwrap();
    desk.git(&["-C", git, "pack-refs", "--all"]);
    assert_eq!(checks_of_hub(&desk, &["doctor"]), Vec::<Value>::new());
    assert_eq!(checks_of_hub(&desk, &["doctor", "--deep"]), Vec::<Value>::new());
    let cycle = format!("{}\n", store.join("objects").display());
    let damages: [(&str, &str); 6] = [
        ("packed-refs", "no refs\n"),
        ("config", "[broken\n"),
        ("HEAD", "nothing\n"),
        ("objects/info/alternates", &cycle),
        ("refs/colony/agents/ada/main/heads/broken", "not an id\n"),
        ("refs/heads/lost", "1234567890123456789012345678901234567890\n"),
    ];
    for (path, content) in damages {
        let path = store.join(path);
        let whole = fs::read(&path).ok();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        // A clone that borrows in a circle is not opened at all, and the error names the hub.
        let is_circle = path.ends_with("alternates");
        let views = [desk.at(desk.root.clone()), ada.at(ada.root.clone())];
        for view in views.iter().take(if is_circle { 1 } else { 2 }) {
            let found = checks_of_hub(view, &["doctor"]);
            assert_eq!(found.len(), 1, "{}", path.display());
            assert_eq!(found[0]["ok"], false, "{found:#?}");
            assert!(found[0]["fix"].as_str().unwrap().contains(git), "{found:#?}");
        }
        restore(&path, whole.as_deref());
    }
    assert_eq!(checks_of_hub(&desk, &["doctor", "--deep"]), Vec::<Value>::new());
}

#[test]
fn a_deep_look_finds_an_object_of_the_hub_that_is_broken() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "a.txt", "of ada\n");
    let store = hub(&desk);
    let blob = ada.git(&["rev-parse", "HEAD:a.txt"]);
    let path = store.join("objects").join(&blob[..2]).join(&blob[2..]);
    // A hard link of the clone's: only the name in the hub is given another content.
    fs::remove_file(&path).unwrap();
    fs::write(&path, "no object").unwrap();
    assert_eq!(checks_of_hub(&desk, &["doctor"]), Vec::<Value>::new());
    assert_eq!(checks_of_hub(&desk, &["doctor", "--deep"]).len(), 1);
}

fn restore(path: &Path, whole: Option<&[u8]>) {
    match whole {
        Some(whole) => fs::write(path, whole).unwrap(),
        None => fs::remove_file(path).unwrap(),
    }
}
