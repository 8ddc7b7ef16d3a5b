//! What a command that was killed or stopped leaves beside the work: who tells of it, and who takes it
//! away.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use git_colony::testing::World;

use crate::support::Sandbox;

const SIGINT: i32 = 2;

#[test]
fn half_a_filter_of_git_lfs_is_told_with_the_way_to_mend_it() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "filter.lfs.clean", "git-lfs clean -- %f"]);
    let found = sandbox.json(&["status"])["health"].clone();
    assert_eq!(found[0]["name"], "git-lfs-filters", "{found:#}");
    let detail = found[0]["detail"].as_str().unwrap();
    assert!(detail.contains("git colony init"), "{detail}");
    assert_eq!(sandbox.json(&["status", "--line"])["attention"], true);
    let filters = |sandbox: &Sandbox| {
        let report = sandbox.run(&["--json", "doctor"]).stdout;
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        let checks = report["checks"].as_array().unwrap().clone();
        let mut checks = checks.into_iter();
        checks.find(|check| check["name"] == "git-lfs-filters")
    };
    assert_eq!(filters(&sandbox).unwrap()["fix"], "git colony init");
    sandbox.colony(&["init"]);
    assert_eq!(filters(&sandbox), None);
    let health = sandbox.json(&["status"])["health"].clone();
    assert_eq!(health, serde_json::Value::Array(Vec::new()));
}

/// Both branches have changed a file, and one has moved it: only git can tell what comes of it.
fn to_be_merged() -> Sandbox {
    let sandbox = Sandbox::new();
    let lines: Vec<_> = (0..40).map(|number| format!("line {number}\n")).collect();
    let lines = lines.concat();
    sandbox.write("a.txt", &lines);
    sandbox.git(&["commit", "-qam", "lines"]);
    sandbox.git(&["checkout", "-qb", "other"]);
    sandbox.git(&["mv", "a.txt", "c.txt"]);
    sandbox.write("c.txt", lines.replace("line 3\n", "theirs\n"));
    sandbox.git(&["commit", "-qam", "moved"]);
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.write("a.txt", lines.replace("line 30\n", "ours\n"));
    sandbox.git(&["commit", "-qam", "changed"]);
    sandbox
}

/// Runs a merge that is killed as it starts git's.
fn kill_in_a_merge(sandbox: &Sandbox, temporary: &Path) {
    let script = "case \" $* \" in *' merge-tree '*) kill -KILL $PPID; exit 1;; esac";
    let mut command = sandbox.stand_in("git", script).program();
    command.env("TMPDIR", temporary).args(["merge", "other"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), None, "{output:?}");
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<_> = entries.map(|e| name(e).into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn temporary_files_of_a_killed_merge_are_deleted_by_the_next() {
    let sandbox = to_be_merged();
    let temporary = sandbox.outside().join("temporary");
    fs::create_dir(&temporary).unwrap();
    kill_in_a_merge(&sandbox, &temporary);
    let left = names_in(&temporary);
    assert_eq!(left.len(), 1, "{left:?}");
    fs::write(temporary.join(&left[0]).join("object"), "left\n").unwrap();
    // Of the same name: one whose owner is at work, a link, a file. And folders of others.
    let alike = |end: &str| temporary.join(format!("{}{end}", left[0]));
    let alive = alike("alive");
    fs::create_dir(&alive).unwrap();
    let owner = fs::File::open(&alive).unwrap();
    owner.try_lock().unwrap();
    let elsewhere = sandbox.outside().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("kept"), "kept\n").unwrap();
    std::os::unix::fs::symlink(&elsewhere, alike("link")).unwrap();
    fs::write(alike("file"), "kept\n").unwrap();
    for foreign in ["git-colony-other", "other"] {
        fs::create_dir(temporary.join(foreign)).unwrap();
    }
    let mut stays = names_in(&temporary);
    stays.retain(|name| *name != left[0]);
    let mut world = sandbox.world();
    let variable = ("TMPDIR".into(), temporary.clone().into_os_string());
    world.variables.extend([variable]);
    assert_eq!(sandbox.run_in(world, &["merge", "-n", "other"]).code, 0);
    assert_eq!(names_in(&temporary), stays);
    assert_eq!(names_in(&elsewhere), ["kept"]);
    drop(owner);
}

/// The folders in which new files stand or were left.
fn staged(sandbox: &Sandbox) -> Vec<PathBuf> {
    let colony = sandbox.path(".git/colony");
    let names = names_in(&colony).into_iter();
    let staged = names.filter(|name| name.contains(".stage") || name.starts_with("left-"));
    staged.map(|name| colony.join(name)).collect()
}

/// Surroundings in which somebody asks to stop once new files are written.
fn stopped_when_staged(sandbox: &Sandbox) -> World {
    let world = sandbox.world();
    let (clock, interrupt) = (Arc::clone(&world.clock), world.interrupt.clone());
    let colony = sandbox.path(".git/colony");
    let is_staged = move || {
        let mut names = names_in(&colony).into_iter();
        names.any(|name| name.contains(".stage"))
    };
    let clock = move || {
        if is_staged() {
            interrupt.raise(SIGINT);
        }
        clock()
    };
    World { clock: Arc::new(clock), ..world }
}

#[test]
fn a_stopped_restore_leaves_new_files_to_the_next_command() {
    let sandbox = Sandbox::new();
    for number in 0..200 {
        sandbox.write(&format!("many/{number}.txt"), format!("{number}\n"));
    }
    sandbox.colony(&["checkpoint", "-m", "many"]);
    for number in 0..200 {
        sandbox.write(&format!("many/{number}.txt"), "changed\n");
    }
    sandbox.colony(&["checkpoint", "-m", "changed"]);
    let before = (sandbox.visible_state(), sandbox.refs());
    let run = sandbox.run_in(stopped_when_staged(&sandbox), &["restore", "many"]);
    assert_eq!(run.code, 130, "{}", run.stderr);
    assert_eq!((sandbox.visible_state(), sandbox.refs()), before);
    let left = staged(&sandbox);
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(names_in(&left[0].join("many")).len(), 200);
    sandbox.colony(&["restore", "many"]);
    assert_eq!(sandbox.read("many/7.txt"), "7\n");
    assert_eq!(staged(&sandbox), [""; 0].map(PathBuf::from));
    sandbox.check_invariants();
}
