//! The agent of a removed clone has written everything in its folder, before the removal and since: none of that reaches
//! the files of others, makes a command wait, or takes work away.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Sandbox, View, worktree_of};

const DAY: i64 = 24 * 60 * 60;

fn agent(desk: &Sandbox, name: &str) -> View {
    let made = desk.json(&["agents", "new", name]);
    let path = made["path"].as_str().unwrap_or_else(|| panic!("{made:#}"));
    desk.at(PathBuf::from(path))
}

/// Removes an agent; returns where its folder is now.
fn removed(desk: &Sandbox, name: &str) -> PathBuf {
    let answer = desk.json(&["agents", "remove", name]);
    let folder = answer["folder"]["path"].as_str();
    PathBuf::from(folder.unwrap_or_else(|| panic!("{answer:#}")))
}

/// Runs a command when all days are over.
fn later(desk: &Sandbox, args: &[&str]) -> Value {
    let run = desk.run_in(desk.world_at(30 * DAY), &[&["--json"], args].concat());
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{args:?} {}", run.stderr))
}

fn edit(path: &Path, name: &str, value: impl Into<Value>) {
    let mut json: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    json[name] = value.into();
    fs::write(path, json.to_string()).unwrap();
}

#[test]
fn an_id_that_is_a_path_names_no_file() {
    for is_standing in [true, false] {
        let desk = Sandbox::new();
        let clone = agent(&desk, "ada");
        let root = if is_standing { clone.root } else { removed(&desk, "ada") };
        let lock = desk.path("yarn.lock");
        fs::write(&lock, "precious\n").unwrap();
        let id = desk.path("yarn").display().to_string();
        edit(&root.join(".git/colony/membership.json"), "id", id);
        for args in
            ["agents remove ada --force", "agents restore ada", "clones gc", "agents new eve"]
        {
            later(&desk, &args.split(' ').collect::<Vec<_>>());
            assert_eq!(fs::read_to_string(&lock).unwrap(), "precious\n", "{args}");
        }
        assert!(root.exists());
    }
}

#[test]
fn a_link_among_the_kept_files_leads_nowhere() {
    for name in ["colony-kept", "colony-kept/00112233445566aa"] {
        for is_standing in [true, false] {
            let desk = Sandbox::new();
            let clone = agent(&desk, "ada");
            let root = if is_standing { clone.root } else { removed(&desk, "ada") };
            let precious = desk.outside().join("precious");
            fs::create_dir_all(precious.join("00112233445566aa/1700000000")).unwrap();
            for file in ["removed.json", "1700000000/0", "00112233445566aa/removed.json"] {
                fs::create_dir_all(precious.join(file).parent().unwrap()).unwrap();
                fs::write(precious.join(file), "precious\n").unwrap();
            }
            let before = worktree_of(&precious);
            let link = root.join(".git").join(name);
            fs::remove_dir_all(&link).ok();
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(&precious, &link).unwrap();
            for args in [
                "agents remove ada --force",
                "clones gc",
                "agents restore ada",
                "prune --keep 0",
                "clones gc --force",
            ] {
                later(&desk, &args.split(' ').collect::<Vec<_>>());
                assert_eq!(worktree_of(&precious), before, "{name} {is_standing} {args}");
            }
        }
    }
}

#[test]
fn the_log_of_another_agent_is_neither_replaced_nor_deleted() {
    for takes_the_same in [false, true] {
        let desk = Sandbox::new();
        let bob = agent(&desk, "bob");
        bob.write("a.txt", "of bob\n");
        bob.json(&["checkpoint", "-m", "of bob"]);
        desk.git(&["config", "colony.keepRemovedDays", "0"]);
        desk.json(&["agents", "remove", "bob"]);
        desk.git(&["config", "--unset", "colony.keepRemovedDays"]);
        let before = desk.json(&["ops", "--removed", "bob"]);
        let hub = desk.json(&["agents"])["hub"].as_str().unwrap().to_owned();
        let format = "--format=%(refname) %(objectname)";
        let listed = desk.git(&["-C", &hub, "for-each-ref", format, "refs/colony-local/ops/"]);
        let ada = agent(&desk, "ada");
        for line in listed.lines() {
            let (name, id) = line.split_once(' ').unwrap();
            let id = if takes_the_same { id } else { "HEAD" };
            ada.git(&["update-ref", name, id]);
        }
        desk.json(&["agents", "remove", "ada"]);
        desk.json(&["agents", "restore", "ada"]);
        assert_eq!(desk.json(&["ops", "--removed", "bob"])["ops"], before["ops"]);
        let back = desk.json(&["agents", "restore", "bob"]);
        assert_eq!(back["operations"], before["count"], "{back:#}");
    }
}

#[test]
fn a_size_that_lies_takes_no_folder_of_others_away() {
    let desk = Sandbox::new();
    agent(&desk, "bob");
    let of_bob = removed(&desk, "bob");
    agent(&desk, "ada");
    let of_ada = removed(&desk, "ada");
    for size in [9_000_000_000_000_000, u64::MAX] {
        edit(&of_ada.join(".git/colony/removal.json"), "size", size);
        for args in [&["clones", "gc", "-n"][..], &["clones", "gc"], &["agents", "new", "eve"]] {
            desk.json(args);
            assert!(of_bob.exists(), "{args:?}");
        }
    }
}

#[test]
fn a_record_that_does_not_fit_its_place_is_not_followed() {
    let values: [(&str, Value); 5] = [
        ("removed_at", "x".into()),
        ("kept", "refs/colony/kept/ada/main/".into()),
        ("place", "x y".into()),
        ("place", "%zz".into()),
        ("place", ".hidden".into()),
    ];
    for (name, value) in values {
        let desk = Sandbox::new();
        let clone = agent(&desk, "ada");
        clone.write("scratch.txt", "mine\n");
        let folder = removed(&desk, "ada");
        let value = match (name, value.as_str().unwrap()) {
            ("place", last) => clone.root.parent().unwrap().join(last).to_str().unwrap().to_owned(),
            (_, text) => text.to_owned(),
        };
        edit(&folder.join(".git/colony/removal.json"), name, value);
        let swept = later(&desk, &["clones", "gc"]);
        assert_eq!(swept["left"][0]["path"], folder.to_str().unwrap(), "{name} {swept:#}");
        let run = desk.run(&["agents", "restore", "ada"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(run.stderr.contains("cannot be read; it stays"), "{}", run.stderr);
        assert_eq!(clone.read("scratch.txt"), "mine\n");
        assert!(folder.exists());
    }
}

#[test]
fn a_pipe_in_place_of_a_file_makes_no_command_wait() {
    for name in ["index", "colony/lock", "colony/removal.json", "colony/membership.json"] {
        for is_standing in [true, false] {
            let desk = Sandbox::new();
            let clone = agent(&desk, "ada");
            clone.write("a.txt", "edited\n");
            let root = if is_standing { clone.root } else { removed(&desk, "ada") };
            let pipe = root.join(".git").join(name);
            fs::remove_file(&pipe).ok();
            assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
            for args in ["agents remove ada -n", "agents remove ada", "clones gc", "agents new eve"]
            {
                later(&desk, &args.split(' ').collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn work_in_a_submodule_since_the_removal_stays() {
    let (library, desk) = (Sandbox::new(), Sandbox::new());
    let file = ["-c", "protocol.file.allow=always"];
    let add = ["submodule", "--quiet", "add", library.root.to_str().unwrap(), "lib"];
    desk.git(&[&file[..], &add].concat());
    desk.git(&["commit", "-qm", "a submodule"]);
    agent(&desk, "ada");
    let folder = removed(&desk, "ada");
    let inside = desk.at(folder.clone());
    inside.git(&[&file[..], &["submodule", "--quiet", "update", "--init"]].concat());
    let module = desk.at(folder.join("lib"));
    let commit = ["commit", "-q", "--allow-empty", "-m", "an hour of work"];
    module.git(&[&["-c", "user.name=A", "-c", "user.email=a@b"], &commit[..]].concat());
    let tip = module.git(&["rev-parse", "HEAD"]);
    for _ in 0..2 {
        let swept = later(&desk, &["clones", "gc"]);
        assert_eq!(swept["left"][0]["path"], folder.to_str().unwrap(), "{swept:#}");
        assert_eq!(module.git(&["rev-parse", "HEAD"]), tip);
    }
}

#[test]
fn a_worktree_of_a_kept_folder_is_not_of_the_next_agent() {
    let desk = Sandbox::new();
    agent(&desk, "ada");
    let folder = removed(&desk, "ada");
    let beside = desk.outside().join("beside");
    let add = ["worktree", "add", "-q", "-b", "wk", beside.to_str().unwrap()];
    desk.at(folder.clone()).git(&add);
    let next = agent(&desk, "ada");
    next.write("next.txt", "next\n");
    next.json(&["commit", "-m", "of the next", "--all"]);
    let beside = desk.at(beside);
    beside.write("beside.txt", "beside\n");
    beside.git(&["add", "beside.txt"]);
    beside.git(&["commit", "-qm", "of the one before"]);
    let refused = beside.json(&["checkpoint", "-m", "x"]);
    assert_eq!(refused["code"], "clone-not-found", "{refused:#}");
    let merged = desk.json(&["merge", "ada", "-n"]);
    assert_eq!(merged["source"], "fork/ada", "{merged:#}");
    let swept = later(&desk, &["clones", "gc"]);
    assert_eq!(swept["left"][0]["path"], folder.to_str().unwrap(), "{swept:#}");
    beside.git(&["status"]);
}

#[test]
fn a_folder_that_the_agent_calls_a_worktree_stops_no_removal() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    let forged = clone.path(".git/worktrees/x");
    fs::create_dir_all(&forged).unwrap();
    let of_desk = desk.path(".git").display().to_string();
    fs::write(forged.join("gitdir"), format!("{of_desk}\n")).unwrap();
    fs::write(forged.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(forged.join("commondir"), "../..\n").unwrap();
    removed(&desk, "ada");
}

#[test]
fn tags_come_back_after_each_of_two_removals() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    clone.git(&["tag", "-a", "-m", "mine", "mine"]);
    clone.git(&["commit", "-q", "--allow-empty", "-m", "tagged"]);
    clone.git(&["tag", "light"]);
    clone.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let before = clone.git(&["for-each-ref", "refs/tags"]);
    removed(&desk, "ada");
    desk.json(&["agents", "restore", "ada"]);
    desk.git(&["config", "colony.keepRemovedDays", "0"]);
    desk.json(&["agents", "remove", "ada"]);
    desk.json(&["agents", "restore", "ada"]);
    assert_eq!(clone.git(&["for-each-ref", "refs/tags"]), before);
}

#[test]
fn another_name_is_refused_work_that_cannot_be_kept() {
    let desk = Sandbox::new();
    agent(&desk, "ada");
    let folder = removed(&desk, "ada");
    fs::write(
        folder.join(".env"),
        "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLE1\n",
    )
    .unwrap();
    let refused = desk.json(&["agents", "restore", "ada", "--as", "eve"]);
    assert_eq!(refused["code"], "clone-in-use", "{refused:#}");
    assert_eq!(desk.json(&["agents", "restore", "ada"])["as_it_stood"], true);
}

#[test]
fn a_late_folder_with_a_git_directory_is_moved_aside_too() {
    for how in ["mkdir", "init", "clone"] {
        let desk = Sandbox::new();
        let clone = agent(&desk, "ada");
        clone.write("scratch.txt", "mine\n");
        removed(&desk, "ada");
        let path = clone.root.to_str().unwrap();
        match how {
            "mkdir" => fs::create_dir_all(clone.path(".git")).unwrap(),
            "init" => drop(desk.git(&["init", "-q", path])),
            _ => drop(desk.git(&["clone", "-q", desk.root.to_str().unwrap(), path])),
        }
        let run = desk.run(&["agents", "restore", "ada"]);
        assert_eq!(run.code, 0, "{how} {}", run.stderr);
        assert!(run.stderr.contains("-late'"), "{}", run.stderr);
        assert_eq!(clone.read("scratch.txt"), "mine\n");
    }
}
