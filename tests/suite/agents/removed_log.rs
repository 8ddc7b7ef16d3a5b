//! What operations of a clone moved aside outlives the clone, and so does their log.

use std::fs;
use std::path::{Path, PathBuf};

use git_colony::testing::World;
use serde_json::Value;

use crate::support::{Sandbox, wait_for_locks};

const WORK: &str = "an hour of work\n";
const EDIT: &str = "an edit that nobody committed\n";

/// Makes an agent; removed clones are deleted at once here, so that only what the hub keeps is left.
fn agent(desk: &Sandbox, name: &str) -> PathBuf {
    desk.git(&["config", "colony.keepRemovedDays", "0"]);
    let made = desk.json(&["agents", "new", name]);
    PathBuf::from(made["path"].as_str().unwrap_or_else(|| panic!("{made:#}")))
}

/// An agent's clone whose restore has moved an untracked file and an edit aside.
fn restored(desk: &Sandbox, name: &str) -> PathBuf {
    let clone = agent(desk, name);
    let inside = desk.at(clone.clone());
    // A label of its own: the checkpoints of the desk are in its clones, too.
    let good = format!("good of {name}");
    inside.colony(&["checkpoint", "-m", &good]);
    fs::write(clone.join("scratch.txt"), WORK).unwrap();
    fs::write(clone.join("a.txt"), EDIT).unwrap();
    inside.colony(&["restore", &good, "--force"]);
    assert!(!clone.join("scratch.txt").exists());
    clone
}

/// The files below a folder that have this content, whatever their name.
fn with_content(folder: &Path, content: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(with_content(&entry.path(), content));
        } else if kind.is_file() && fs::read(entry.path()).unwrap() == content.as_bytes() {
            found.push(entry.path());
        }
    }
    found
}

/// Runs a command elsewhere whose process dies at a step.
fn die(desk: &Sandbox, place: &Path, step: &'static str, args: &[&str]) {
    let world = World { cwd: place.to_owned(), die_at: Some(step), ..desk.world() };
    let run = desk.run_in(world, args);
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(said.contains("died"), "{args:?} at {step}: {said}");
    wait_for_locks(&desk.outside().join("home/.local/share/git-colony/removing"));
}

#[test]
fn what_a_restore_moved_aside_outlives_the_clone() {
    for command in ["agents", "clones"] {
        let desk = Sandbox::new();
        let clone = restored(&desk, "ada");
        let removed = desk.json(&[command, "remove", "ada"]);
        assert_eq!(removed["left_behind"], Value::Null, "{removed:#}");
        assert!(!clone.exists());
        for content in [WORK, EDIT] {
            assert_eq!(with_content(&desk.outside(), content).len(), 1, "{content}");
        }
    }
}

/// An agent's clone whose restore died when the first of its files had moved aside.
fn half_restored(desk: &Sandbox) -> PathBuf {
    let clone = agent(desk, "bob");
    let inside = desk.at(clone.clone());
    inside.colony(&["checkpoint", "-m", "good"]);
    fs::write(clone.join("scratch.txt"), WORK).unwrap();
    fs::write(clone.join("a.txt"), EDIT).unwrap();
    die(desk, &clone, "large-files-kept", &["restore", "good", "--force"]);
    let operations = ["for-each-ref", "--format=%(refname)", "refs/colony-local/ops/"];
    let newest = inside.git(&operations);
    let newest = newest.lines().last().unwrap();
    let record = inside.git(&["show", &format!("{newest}:op.json")]);
    let record: Value = serde_json::from_str(&record).unwrap();
    let first = record["files"]["aside"][0].as_str().unwrap();
    let kept = newest.strip_prefix("refs/colony-local/ops/").unwrap();
    let kept = clone.join(".git/colony-kept").join(kept).join("0");
    fs::rename(clone.join(first), kept).unwrap();
    clone
}

#[test]
fn a_clone_removed_after_a_killed_restore_loses_no_kept_file() {
    for command in ["agents", "clones"] {
        let desk = Sandbox::new();
        let clone = half_restored(&desk);
        let removed = desk.json(&[command, "remove", "bob"]);
        assert_eq!(removed["left_behind"], Value::Null, "{removed:#}");
        assert!(!clone.exists());
        for content in [WORK, EDIT] {
            assert_eq!(with_content(&desk.outside(), content).len(), 1, "{content}");
        }
    }
}

#[test]
fn what_goes_along_is_named_before_and_after_and_is_found_again() {
    let desk = Sandbox::new();
    let clone = restored(&desk, "ada");
    let planned = desk.json(&["agents", "remove", "ada", "-n"]);
    assert_eq!(planned["kept_operations"], 3, "{planned:#}");
    assert_eq!(planned["kept_files_count"], 2);
    assert_eq!(planned["kept_files"][0], "a.txt");
    assert_eq!(planned["kept_files"][1], "scratch.txt");
    let dry = desk.colony(&["agents", "remove", "ada", "-n"]);
    assert!(!dry.contains("ops --removed"), "{dry}");
    assert!(clone.join(".git/colony-kept").exists());
    let said = desk.colony(&["agents", "remove", "ada"]);
    let told = "kept in the hub: 3 operations, with 2 files that they moved aside \
                (a.txt, scratch.txt): git colony ops --removed 'ada'";
    assert!(said.contains(told), "{said}");
    let listed = desk.json(&["ops", "--removed", "ada"]);
    assert_eq!(listed["count"], 3, "{listed:#}");
    assert_eq!(listed["removed"][0]["path"], clone.to_str().unwrap());
    let newest = listed["ops"][2]["op"].as_str().unwrap();
    let shown = desk.json(&["ops", "show", "--removed", "ada", newest]);
    for (number, content) in [EDIT, WORK].into_iter().enumerate() {
        let kept_at = shown["kept"][number]["kept_at"].as_str().unwrap();
        assert_eq!(fs::read_to_string(kept_at).unwrap(), content);
    }
    let snapshot = shown["snapshot"].as_str().unwrap();
    let hub = planned["hub"].as_str().unwrap();
    let kept = desk.git(&["-C", hub, "show", &format!("{snapshot}:scratch.txt")]);
    assert_eq!(format!("{kept}\n"), WORK);
    desk.git(&["-C", hub, "fsck", "--strict"]);
}

#[test]
fn the_log_of_the_newest_removed_clone_is_shown_others_named() {
    let desk = Sandbox::new();
    for _ in 0..2 {
        agent(&desk, "ada");
        desk.colony(&["agents", "remove", "ada"]);
    }
    let listed = desk.json(&["ops", "--removed", "ada"]);
    let removed = listed["removed"].as_array().unwrap();
    assert_eq!(removed.len(), 2, "{listed:#}");
    assert!(removed[0]["removed_at"].as_str() > removed[1]["removed_at"].as_str());
    let older = removed[1]["clone"].as_str().unwrap();
    let said = desk.run(&["ops", "--removed", "ada"]);
    assert!(said.stderr.contains(&older[..8]), "{}", said.stderr);
    let one = desk.json(&["ops", "--removed", older]);
    assert_eq!(one["removed"][0]["clone"], older);
    assert_eq!(desk.error(&["ops", "--removed", "eve"]), "clone-not-found");
    assert_eq!(desk.error(&["ops", "show", "--removed", "ada", "op-99"]), "operation-not-found");
}

#[test]
fn a_dry_run_reports_a_cut_off_operation_and_changes_nothing() {
    let desk = Sandbox::new();
    let clone = half_restored(&desk);
    let before = crate::support::worktree_of(&clone);
    let planned = desk.json(&["agents", "remove", "bob", "-n"]);
    assert_eq!(planned["pending_operation"]["op"], "op-3", "{planned:#}");
    assert_eq!(crate::support::worktree_of(&clone), before);
    assert!(clone.join(".git/colony/pending").exists());
    let removed = desk.json(&["agents", "remove", "bob"]);
    assert_eq!(removed["pending_operation"], Value::Null, "{removed:#}");
    assert_eq!(removed["kept_files_count"], 2);
}

#[test]
fn a_clone_whose_operation_cannot_be_finished_stays() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "bob");
    let inside = desk.at(clone.clone());
    inside.colony(&["checkpoint", "-m", "good"]);
    fs::write(clone.join("a.txt"), EDIT).unwrap();
    inside.colony(&["checkpoint", "-m", "later"]);
    die(&desk, &clone, "committed", &["restore", "good"]);
    let lock = clone.join(".git/refs/heads/fork/bob.lock");
    fs::write(&lock, "").unwrap();
    for force in [&[][..], &["--force"]] {
        let args = [&["agents", "remove", "bob"][..], force].concat();
        assert_eq!(desk.error(&args), "recovery-needed");
        assert_eq!(fs::read_to_string(clone.join("a.txt")).unwrap(), EDIT);
    }
    fs::remove_file(lock).unwrap();
    desk.colony(&["agents", "remove", "bob"]);
    assert_eq!(with_content(&desk.outside(), EDIT).len(), 1);
}

#[test]
fn a_removal_that_dies_at_any_step_loses_no_file_or_operation() {
    for step in
        ["clone-kept", "clone-gone", "clone-kept-again", "clone-in-trash", "clone-is-rubbish"]
    {
        let desk = Sandbox::new();
        restored(&desk, "ada");
        die(&desk, &desk.root, step, &["agents", "remove", "ada"]);
        for content in [WORK, EDIT] {
            let found = with_content(&desk.outside(), content);
            assert_eq!(found.len(), 1, "{step} {found:?}");
        }
        if step == "clone-kept" {
            desk.colony(&["agents", "remove", "ada"]);
        } else {
            // What can be told already names the files where they are now.
            if step != "clone-gone" {
                shows_kept_files(&desk, step);
            }
            desk.colony(&["agents", "new", "next"]);
        }
        shows_kept_files(&desk, step);
        for content in [WORK, EDIT] {
            assert_eq!(with_content(&desk.outside(), content).len(), 1, "{step}");
        }
    }
}

/// The log of the removed clone says where the files are, and they are there.
fn shows_kept_files(desk: &Sandbox, step: &str) {
    let listed = desk.json(&["ops", "--removed", "ada"]);
    let restore = listed["ops"].as_array().unwrap().iter();
    let mut restore = restore.filter(|operation| operation["kind"] == "restore");
    let op = restore.next().unwrap_or_else(|| panic!("{step} {listed:#}"))["op"].as_str().unwrap();
    let shown = desk.json(&["ops", "show", "--removed", "ada", op]);
    for (number, content) in [EDIT, WORK].into_iter().enumerate() {
        let kept_at = shown["kept"][number]["kept_at"].as_str();
        let kept_at = kept_at.unwrap_or_else(|| panic!("{step} {shown:#}"));
        assert_eq!(fs::read_to_string(kept_at).unwrap(), content);
    }
}

#[test]
fn a_hub_with_the_log_of_a_removed_clone_is_deleted_with_force() {
    let desk = Sandbox::new();
    restored(&desk, "ada");
    let hub = desk.json(&["agents", "remove", "ada"])["hub"].clone();
    let hub = hub.as_str().unwrap();
    // What was published is let go of by hand: the log alone keeps the hub.
    let kept = ["-C", hub, "for-each-ref", "--format=delete %(refname)", "refs/colony/kept/"];
    for line in desk.git(&kept).lines() {
        desk.git(&["-C", hub, "update-ref", "-d", line.trim_start_matches("delete ")]);
    }
    let said = desk.colony(&["clones", "gc"]);
    assert!(said.contains("removed 0 hubs"), "{said}");
    assert!(said.contains("(3 operations, 2 files moved aside)"), "{said}");
    assert_eq!(with_content(&desk.outside(), WORK).len(), 1);
    let swept = desk.json(&["clones", "gc", "--force"]);
    assert_eq!(swept["removed"][0], hub, "{swept:#}");
    assert_eq!(swept["logs"][0]["operations"], 3);
    assert_eq!(swept["logs"][0]["files"], 2);
    assert_eq!(with_content(&desk.outside(), WORK).len(), 0);
}

#[test]
fn prune_lets_go_of_the_logs_of_removed_clones_after_their_time() {
    let desk = Sandbox::new();
    restored(&desk, "ada");
    let hub = desk.json(&["agents", "remove", "ada"])["hub"].clone();
    let hub = hub.as_str().unwrap();
    for command in [&["prune"][..], &["ops", "prune"]] {
        let young = desk.json(command);
        assert_eq!(young["of_removed_clones"], 0, "{young:#}");
    }
    let day = 24 * 60 * 60;
    let late = |args: &[&str]| {
        let run = desk.run_in(desk.world_at(91 * day), &[&["--json"], args].concat());
        serde_json::from_str::<Value>(&run.stdout).unwrap()
    };
    // Whoever works in a clone prunes what is theirs.
    let other = agent(&desk, "bob");
    let world = World { cwd: other, ..desk.world_at(91 * day) };
    let run = desk.run_in(world, &["prune"]);
    assert!(!run.stdout.contains("removed clones"), "{}", run.stdout);
    let planned = late(&["prune", "-n"]);
    assert_eq!(planned["of_removed_clones"], 3, "{planned:#}");
    assert_eq!(with_content(&desk.outside(), WORK).len(), 1);
    let pruned = late(&["prune"]);
    assert_eq!(pruned["of_removed_clones"], 3, "{pruned:#}");
    assert_eq!(pruned["files_of_removed_clones"], 2);
    assert_eq!(with_content(&desk.outside(), WORK).len(), 0);
    let operations = ["-C", hub, "for-each-ref", "refs/colony-local/ops/"];
    assert_eq!(desk.git(&operations), "");
    let left = fs::read_dir(Path::new(hub).join("colony-kept")).unwrap();
    assert_eq!(left.count(), 0);
    assert_eq!(late(&["prune"])["of_removed_clones"], 0);
    assert_eq!(desk.error(&["ops", "--removed", "ada"]), "clone-not-found");
}

/// A desk and two clones, one of them removed, whose restores have each moved files aside; and what the
/// files of the three say.
fn colony() -> (Sandbox, [String; 3]) {
    let desk = Sandbox::new();
    let contents = ["desk", "ada", "bob"].map(|whose| format!("an hour of work of {whose}\n"));
    let [of_desk, of_ada, of_bob] = contents.clone();
    desk.colony(&["checkpoint", "-m", "good"]);
    for (name, content) in [("ada", of_ada), ("bob", of_bob)] {
        let clone = agent(&desk, name);
        let inside = desk.at(clone.clone());
        inside.colony(&["checkpoint", "-m", "own good"]);
        fs::write(clone.join("scratch.txt"), content).unwrap();
        inside.colony(&["restore", "own good", "--force"]);
    }
    desk.write("scratch.txt", of_desk);
    desk.colony(&["restore", "good", "--force"]);
    desk.colony(&["agents", "remove", "ada"]);
    (desk, contents)
}

#[test]
fn a_folder_with_kept_files_is_deleted_only_where_that_is_asked() {
    let all = ["desk", "ada", "bob"];
    let by_itself: [&[&str]; 15] = [
        &["agents", "remove", "bob"],
        &["agents", "remove", "bob", "--force"],
        &["clones", "remove", "bob"],
        &["clones", "remove", "bob", "--force"],
        &["clones", "refresh", "bob"],
        &["clones", "gc"],
        &["agents", "new", "eve"],
        &["clone", "URL", "--read-only"],
        &["deinit"],
        &["deinit", "--purge"],
        &["init"],
        &["prune"],
        &["ops", "prune"],
        &["undo"],
        &["tour"],
    ];
    for args in by_itself {
        assert_eq!(left_by(args), all, "{args:?}");
    }
    assert_eq!(left_by(&["deinit", "--purge", "--force"]), ["ada", "bob"]);
    assert_eq!(left_by(&["prune", "--keep", "0"]), ["bob"]);
    assert_eq!(left_by(&["ops", "prune", "--keep", "0"]), ["bob"]);
}

/// Whose kept files are on the disk after a command, be it done or refused, and after `clones gc`.
fn left_by(args: &[&str]) -> Vec<&'static str> {
    let (desk, contents) = colony();
    let url = desk.root.to_str().unwrap().to_owned();
    let args: Vec<_> = args.iter().map(|word| word.replace("URL", &url)).collect();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let run = desk.run(&args);
    assert!(matches!(run.code, 0 | 128), "{args:?} {}", run.stderr);
    desk.colony(&["clones", "gc"]);
    let whose = ["desk", "ada", "bob"].into_iter().zip(&contents);
    let left = whose.filter(|(_, content)| !with_content(&desk.outside(), content).is_empty());
    left.map(|(whose, _)| whose).collect()
}

#[test]
fn the_hub_with_kept_files_of_removed_clones_needs_force() {
    let (desk, [_, of_ada, of_bob]) = colony();
    desk.colony(&["clones", "remove", "bob"]);
    desk.colony(&["clones", "gc"]);
    for content in [&of_ada, &of_bob] {
        assert_eq!(with_content(&desk.outside(), content).len(), 1);
    }
    desk.colony(&["clones", "gc", "--force"]);
    for content in [&of_ada, &of_bob] {
        assert_eq!(with_content(&desk.outside(), content).len(), 0);
    }
}

#[test]
fn automatic_checkpoints_outlive_the_clone_until_a_prune() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    let inside = desk.at(clone.clone());
    let mut made = Vec::new();
    for text in ["one\n", "two\n", "three\n"] {
        fs::write(clone.join("draft.txt"), text).unwrap();
        let answer = inside.json(&["checkpoint", "--auto"]);
        made.push(answer["sha"].as_str().unwrap().to_owned());
    }
    fs::remove_file(clone.join("draft.txt")).unwrap();
    let removed = desk.json(&["agents", "remove", "ada"]);
    let hub = removed["hub"].as_str().unwrap();
    let kept = || {
        let format = "--format=%(*objectname)";
        desk.git(&["-C", hub, "for-each-ref", format, "refs/colony-local/auto/"])
    };
    let sorted = |text: String| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    made.sort();
    assert_eq!(sorted(kept()), made);
    desk.colony(&["prune"]);
    assert_eq!(sorted(kept()), made, "they are young");
    let later = desk.world_at(40 * 24 * 60 * 60);
    let run = desk.run_in(later, &["--json", "prune"]);
    let pruned: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(pruned["automatic_removed"], 3, "{pruned:#}");
    assert_eq!(kept(), "");
}
