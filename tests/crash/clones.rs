//! Clones and hubs come and go whole: what makes and removes them is cut off at every system call by
//! which it changes something. Unlike the other commands these work beside the repository, so there is
//! more than one folder to look at.

use std::fs;
use std::path::{Path, PathBuf};

use super::desk::{Desk, EDIT, Point, WORK, Whom, each_point};
use super::{fault, repository};

#[test]
fn a_killed_agents_new_made_the_clone_or_did_not() {
    each_point(("agents new", Whom::Program), 4, |point| {
        let desk = Desk::new();
        let before = desk.state();
        let struck = desk.strike(&["agents", "new", "ada"], point);
        desk.check_whole(&before);
        // The next command makes what is not there, and sweeps.
        let again = desk.run_in(&desk.repository.root, &["agents", "new", "ada"]);
        let said = repository::words(&again);
        assert!(again.status.success() || said.contains("works in"), "{point:?} {said}");
        desk.colony(&["agents", "new", "bob"]);
        desk.check_swept(&said);
        desk.check_whole(&before);
        let clone = PathBuf::from(desk.colony(&["agents", "path", "ada"]));
        Desk::git_in(&clone, &["fsck", "--strict", "--no-dangling"]);
        assert_eq!(Desk::git_in(&clone, &["status", "--porcelain"]), "", "{point:?}");
        assert_eq!(Desk::git_in(&clone, &["branch", "--show-current"]), "fork/ada\n");
        fs::write(clone.join("a.txt"), "of ada\n").expect("it is there");
        desk.colony_in(&clone, &["commit", "-m", "edit", "--all"]);
        desk.colony(&["merge", "ada"]);
        let merged = fs::read_to_string(desk.repository.root.join("a.txt")).expect("it is there");
        assert_eq!(merged, "of ada\n", "{point:?}");
        struck
    });
}

/// Makes an agent with a commit and an uncommitted file; returns its clone and its tip.
fn agent_with_work(desk: &Desk) -> (PathBuf, String) {
    let clone = PathBuf::from(desk.colony(&["agents", "new", "ada"]));
    fs::write(clone.join("a.txt"), "of ada\n").expect("it is there");
    desk.colony_in(&clone, &["commit", "-m", "edit", "--all"]);
    let tip = Desk::git_in(&clone, &["rev-parse", "HEAD"]);
    fs::write(clone.join("c.txt"), "unsaved\n").expect("it is there");
    (clone, tip)
}

#[test]
fn a_killed_agents_remove_loses_nothing() {
    each_point(("agents remove", Whom::Program), 4, |point| {
        let desk = Desk::new();
        let (clone, tip) = agent_with_work(&desk);
        let before = desk.state();
        let struck = desk.strike(&["agents", "remove", "ada"], point);
        desk.check_whole(&before);
        if clone.exists() {
            // It is whole, and what was not saved is in it.
            Desk::git_in(&clone, &["fsck", "--strict", "--no-dangling"]);
            assert_eq!(Desk::git_in(&clone, &["rev-parse", "HEAD"]), tip);
            assert_eq!(fs::read_to_string(clone.join("c.txt")).expect("it is there"), "unsaved\n");
        }
        let again = desk.run_in(&desk.repository.root, &["agents", "remove", "ada"]);
        let said = repository::words(&again);
        assert!(again.status.success() || said.contains("was removed"), "{point:?} {said}");
        assert!(!clone.exists());
        desk.check_swept(&format!("{point:?} {said}"));
        let hub = desk.hub().expect("it is there");
        let refs = Desk::git_in(&hub, &["for-each-ref", "--format=%(refname)"]);
        assert!(!refs.contains("refs/colony/agents/"), "{point:?} {refs}");
        let kept = refs.lines().filter(|name| name.starts_with("refs/colony/kept/"));
        let kept: Vec<_> = kept.collect();
        let of = |end: &str| {
            kept.iter().find(|name| name.ends_with(end)).unwrap_or_else(|| panic!("{refs}"))
        };
        assert_eq!(Desk::git_in(&hub, &["rev-parse", of("/heads/fork/ada")]), tip);
        let saved = kept.iter().filter(|name| name.contains("/tags/checkpoint/"));
        let mut saved = saved.map(|name| {
            let file = format!("{name}^{{commit}}:c.txt");
            repository::run(repository::command("git", &hub).args(["show", &file]))
        });
        assert!(saved.any(|shown| shown.stdout == b"unsaved\n"), "{point:?} {refs}");
        desk.colony(&["agents", "restore", "ada"]);
        check_as_it_stood(&clone, &tip);
        struck
    });
}

#[test]
fn a_killed_agents_restore_loses_nothing() {
    each_point(("agents restore", Whom::Program), 1, |point| {
        let desk = Desk::new();
        let (clone, tip) = agent_with_work(&desk);
        desk.colony(&["agents", "remove", "ada"]);
        let before = desk.state();
        let struck = desk.strike(&["agents", "restore", "ada"], point);
        desk.check_whole(&before);
        let again = desk.run_in(&desk.repository.root, &["agents", "restore", "ada"]);
        let said = repository::words(&again);
        assert!(again.status.success() || said.contains("works in"), "{point:?} {said}");
        check_as_it_stood(&clone, &tip);
        // What the restore had not come to is done by the next command in the clone.
        desk.colony_in(&clone, &["checkpoint", "-m", "on it goes"]);
        desk.colony(&["clones", "gc"]);
        desk.check_swept(&format!("{point:?} {said}"));
        let hub = desk.hub().expect("it is there");
        let refs = Desk::git_in(&hub, &["for-each-ref", "--format=%(refname)"]);
        assert!(refs.contains("refs/colony/agents/ada/"), "{point:?} {refs}");
        struck
    });
}

/// A clone is whole, with its commit and its uncommitted file.
fn check_as_it_stood(clone: &Path, tip: &str) {
    Desk::git_in(clone, &["fsck", "--strict", "--no-dangling"]);
    assert_eq!(Desk::git_in(clone, &["rev-parse", "HEAD"]), tip);
    assert_eq!(fs::read_to_string(clone.join("c.txt")).expect("it is there"), "unsaved\n");
}

/// The files of a clone that are made from those of its checkout, in its git directory.
const COPIED: [&str; 3] = ["colony/checkout.config", "info/exclude", "info/attributes"];

/// Has a checkout settings, ignore rules, attributes and a hook that its clone does not have yet.
fn change_settings(desk: &Desk) {
    desk.repository.git(&["config", "merge.ours.driver", "true"]);
    desk.repository.write(".git/info/exclude", "*.scratch\n");
    desk.repository.write(".git/info/attributes", "*.keep merge=ours\n");
}

fn copied(clone: &Path) -> Vec<String> {
    let read = |name| fs::read_to_string(clone.join(".git").join(name)).unwrap_or_default();
    COPIED.map(read).to_vec()
}

/// Each file is as it was or as it becomes, git reads them, and nothing of the writing is left in the end.
fn a_clone_was_renewed_or_was_not(
    (name, stride): (&'static str, usize),
    act: impl Fn(&Desk, &Path, Point) -> bool,
) {
    each_point((name, Whom::Program), stride, |point| {
        let desk = Desk::new();
        let clone = PathBuf::from(desk.colony(&["agents", "new", "ada"]));
        let old = copied(&clone);
        change_settings(&desk);
        let before = desk.state();
        let struck = act(&desk, &clone, point);
        let left = copied(&clone);
        Desk::git_in(&clone, &["status", "--porcelain"]);
        desk.check_whole(&before);
        // It recovers what a command in the clone has left.
        desk.colony_in(&clone, &["checkpoint", "--auto"]);
        desk.colony(&["clones", "refresh", "ada"]);
        let new = copied(&clone);
        assert!(old.iter().zip(&new).all(|(old, new)| old != new), "each file changes");
        for (left, (old, new)) in left.iter().zip(old.iter().zip(&new)) {
            assert!(left == old || left == new, "{point:?} {left}");
        }
        assert_eq!(Desk::git_in(&clone, &["config", "merge.ours.driver"]), "true\n");
        for folder in [".git", ".git/colony", ".git/info", ".git/hooks"] {
            let entries = fs::read_dir(clone.join(folder)).expect("it is there").flatten();
            let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
            let rest: Vec<_> = names.filter(|name| is_rest(name)).collect();
            assert!(rest.is_empty(), "{point:?} {folder}: {rest:?}");
        }
        struck
    });
}

fn is_rest(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    name.starts_with("tmp") || ending == Some("lock") || name == "pending"
}

#[test]
fn a_killed_clones_refresh_renewed_each_file_or_did_not() {
    a_clone_was_renewed_or_was_not(("clones refresh", 1), |desk, _, point| {
        desk.strike(&["clones", "refresh", "ada"], point)
    });
}

#[test]
fn a_killed_command_in_a_clone_renewed_each_file_or_did_not() {
    a_clone_was_renewed_or_was_not(("commit in a clone", 4), |desk, clone, point| {
        fs::write(clone.join("a.txt"), "of ada\n").expect("it is there");
        let commit = ["commit", "-m", "edit", "--all"];
        desk.strike_in(clone, &commit, (point, Whom::Program))
    });
}

#[test]
fn a_killed_agents_restore_did_all_or_can_be_run_again() {
    each_point(("agents restore from the hub", Whom::Program), 4, |point| {
        let desk = Desk::new();
        desk.repository.git(&["config", "colony.keepRemovedDays", "0"]);
        let clone = PathBuf::from(desk.colony(&["agents", "new", "ada"]));
        fs::write(clone.join("a.txt"), "of ada\n").expect("it is there");
        desk.colony_in(&clone, &["checkpoint", "-m", "kept"]);
        fs::write(clone.join("aside.txt"), "moved aside\n").expect("it is there");
        desk.colony_in(&clone, &["restore", "kept", "--force"]);
        fs::write(clone.join("c.txt"), "unsaved\n").expect("it is there");
        let tip = Desk::git_in(&clone, &["rev-parse", "HEAD"]);
        let log = ["for-each-ref", "--format=%(refname)", "refs/colony-local/ops/"];
        desk.colony(&["agents", "remove", "ada"]);
        let hub = desk.hub().expect("it is there");
        let operations = Desk::git_in(&hub, &log);
        let before = desk.state();
        let struck = desk.strike(&["agents", "restore", "ada"], point);
        desk.check_whole(&before);
        let again = desk.run_in(&desk.repository.root, &["agents", "restore", "ada"]);
        let said = repository::words(&again);
        assert!(again.status.success() || said.contains("works in"), "{point:?} {said}");
        assert_eq!(Desk::git_in(&clone, &["rev-parse", "HEAD"]), tip);
        let unsaved = fs::read_to_string(clone.join("c.txt")).expect("it is there");
        assert_eq!(unsaved, "unsaved\n");
        assert_eq!(Desk::git_in(&clone, &log), operations, "{point:?}");
        let key = fs::read_to_string(clone.join(".git/colony/worktree-key"));
        let key = key.expect("it goes on with the log");
        let kept = clone.join(".git/colony-kept").join(key.trim());
        let found = folders_and_files(&kept);
        let mut found = found.iter().filter_map(|path| fs::read(path).ok());
        assert!(found.any(|bytes| bytes == b"moved aside\n"), "{point:?} {said}");
        Desk::git_in(&clone, &["fsck", "--strict", "--no-dangling"]);
        struck
    });
}

/// Everything that is in the folders of a folder.
fn folders_and_files(folder: &Path) -> Vec<PathBuf> {
    let entries = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
    let inner = entries(folder).flat_map(|folder| entries(&folder.path()).collect::<Vec<_>>());
    inner.map(|entry| entry.path()).collect()
}

/// A bare repository beside the shared root that the desk was pushed to, and a place in no repository.
fn elsewhere(desk: &Desk) -> (String, PathBuf) {
    let remote = desk.shared.path().join("remote.git");
    let remote = remote.to_str().expect("our names are UTF-8").to_owned();
    desk.repository.git(&["clone", "-q", "--bare", ".", &remote]);
    let nowhere = desk.shared.path().join("nowhere");
    fs::create_dir(&nowhere).expect("it is not there");
    (remote, nowhere)
}

fn a_killed_clone_was_made_or_was_not(whom: Whom, stride: usize) {
    each_point(("clone URL", whom), stride, |point: Point| {
        let desk = Desk::new();
        let (url, nowhere) = elsewhere(&desk);
        let before = desk.state();
        let struck = desk.strike_in(&nowhere, &["clone", &url, "--agent", "ada"], (point, whom));
        desk.check_whole(&before);
        let again = desk.run_in(&nowhere, &["clone", &url, "--agent", "ada"]);
        let said = repository::words(&again);
        assert!(again.status.success() || said.contains("exists already"), "{point:?} {said}");
        desk.colony_in(&nowhere, &["clone", &url, "--read-only"]);
        desk.check_swept(&format!("{point:?}"));
        desk.check_whole(&before);
        for place in ["agents/ada/clones/main", "shared_clones/main"] {
            let clone = desk.shared.path().join(place);
            Desk::git_in(&clone, &["fsck", "--strict", "--no-dangling"]);
            let status = Desk::git_in(&clone, &["status", "--porcelain"]);
            assert_eq!(status, "", "{point:?} {place}");
        }
        let clone = desk.shared.path().join("agents/ada/clones/main");
        fs::write(clone.join("a.txt"), "of ada\n").expect("it is there");
        desk.colony_in(&clone, &["commit", "-m", "edit", "--all"]);
        let tip = Desk::git_in(&clone, &["rev-parse", "HEAD"]);
        let name = "refs/colony/agents/ada/main/heads/main";
        let hub = desk.hub().expect("it was made");
        assert_eq!(Desk::git_in(&hub, &["rev-parse", name]), tip, "{point:?}");
        struck
    });
}

#[test]
fn a_killed_clone_of_a_url_was_made_or_was_not() {
    a_killed_clone_was_made_or_was_not(Whom::Program, 4);
}

#[test]
fn a_clone_of_a_url_with_killed_gits_was_made_or_was_not() {
    a_killed_clone_was_made_or_was_not(Whom::Everybody, 9);
}

#[test]
fn a_killed_clones_remove_loses_nothing() {
    each_point(("clones remove", Whom::Program), 4, |point| {
        let desk = Desk::new();
        // Its folder is deleted at once.
        desk.repository.git(&["config", "colony.keepRemovedDays", "0"]);
        let clone = PathBuf::from(desk.colony(&["agents", "new", "ada"]));
        fs::write(clone.join("a.txt"), "of ada\n").expect("it is there");
        desk.colony_in(&clone, &["commit", "-m", "edit", "--all"]);
        move_aside(&desk, &clone);
        let tip = Desk::git_in(&clone, &["rev-parse", "HEAD"]);
        let before = desk.state();
        let struck = desk.strike(&["clones", "remove", "ada"], point);
        desk.check_whole(&before);
        desk.check_kept(&format!("{point:?} at once"));
        if clone.exists() {
            Desk::git_in(&clone, &["fsck", "--strict", "--no-dangling"]);
            assert_eq!(Desk::git_in(&clone, &["rev-parse", "HEAD"]), tip);
        }
        let again = desk.run_in(&desk.repository.root, &["clones", "remove", "ada"]);
        let said = repository::words(&again);
        assert!(again.status.success() || said.contains("no agent or clone"), "{point:?} {said}");
        assert!(!clone.exists());
        desk.check_swept(&format!("{point:?}"));
        let hub = desk.hub().expect("it is there");
        let refs = Desk::git_in(&hub, &["for-each-ref", "--format=%(refname) %(objectname)"]);
        assert!(!refs.contains("refs/colony/agents/"), "{point:?} {refs}");
        let kept = format!("/heads/fork/ada {}", tip.trim_end());
        assert!(refs.contains(&kept), "{point:?} {refs}");
        desk.check_kept(&format!("{point:?} {said}"));
        check_log(&desk, &format!("{point:?}"));
        struck
    });
}

/// Has a restore move an untracked file and an edit aside.
fn move_aside(desk: &Desk, clone: &Path) {
    desk.colony_in(clone, &["checkpoint", "--off-branch", "-m", "good"]);
    write_work(clone);
    desk.colony_in(clone, &["restore", "good", "--force"]);
    assert!(!clone.join("scratch.txt").exists());
}

fn write_work(clone: &Path) {
    for (path, content) in [("scratch.txt", WORK), ("dir/b.txt", EDIT)] {
        fs::write(clone.join(path), content).expect("it is there");
    }
}

/// The log of the removed clone says where the files are, and they are there.
fn check_log(desk: &Desk, said: &str) {
    let log = desk.colony(&["ops", "--removed", "ada"]);
    let restore = log.lines().find(|line| line.contains("restore"));
    let restore = restore.unwrap_or_else(|| panic!("{said} {log}"));
    let op = restore.split_whitespace().next().expect("its id");
    let shown = desk.colony(&["ops", "show", "--removed", "ada", op]);
    let kept = shown.lines().filter(|line| line.starts_with("moved aside"));
    let kept = kept.filter_map(|line| fs::read_to_string(line.split("  ").last()?).ok());
    let mut kept: Vec<_> = kept.collect();
    kept.sort();
    assert_eq!(kept, [EDIT, WORK], "{said} {shown}");
}

#[test]
fn a_clone_whose_restore_was_killed_is_removed_without_loss() {
    fault::require_strace();
    for at in 1..=4 {
        let desk = Desk::new();
        let clone = PathBuf::from(desk.colony(&["agents", "new", "ada"]));
        desk.colony_in(&clone, &["checkpoint", "-m", "good"]);
        write_work(&clone);
        let restore = ["restore", "good", "--force"];
        let point = ("renameat2", at);
        desk.strike_in(&clone, &restore, (point, Whom::Program));
        desk.colony(&["agents", "remove", "ada"]);
        desk.check_kept(&format!("{point:?}"));
        desk.check_swept(&format!("{point:?}"));
        check_log(&desk, &format!("{point:?}"));
    }
}

#[test]
fn a_killed_clones_gc_removes_a_hub_whole_or_leaves_it() {
    each_point(("clones gc --force", Whom::Program), 2, |point| {
        let desk = Desk::new();
        desk.repository.git(&["config", "colony.keepRemovedDays", "0"]);
        desk.colony(&["agents", "new", "ada"]);
        desk.colony(&["agents", "remove", "ada"]);
        let before = desk.state();
        let gc = ["clones", "gc", "--force"];
        let struck = desk.strike(&gc, point);
        desk.check_whole(&before);
        // Who comes next finds the hub, or makes it.
        let clone = PathBuf::from(desk.colony(&["agents", "new", "bob"]));
        desk.colony(&gc);
        desk.check_swept(&format!("{point:?}"));
        desk.check_whole(&before);
        Desk::git_in(&clone, &["fsck", "--strict", "--no-dangling"]);
        desk.colony(&["agents", "remove", "bob"]);
        desk.colony(&gc);
        desk.check_swept(&format!("{point:?}"));
        assert_eq!(desk.hub(), None, "{point:?}");
        struck
    });
}
