//! The job people come for, with real processes: twenty agents work at once in clones of a repository of
//! thousands of files, and one desk lists, compares, takes, picks and throws away. There is no remote.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::support::Sandbox;

const AGENTS: usize = 20;
const FILES: usize = 2_000;

/// Runs the real program, which has to succeed, and returns its answer.
fn colony(desk: &Sandbox, directory: &Path, args: &[&str]) -> Value {
    let answer = try_colony(desk, directory, args);
    assert_eq!(answer["ok"], true, "{args:?} {answer:#}");
    answer
}

/// Runs the real program and returns its answer.
fn try_colony(desk: &Sandbox, directory: &Path, args: &[&str]) -> Value {
    let mut command = desk.at(directory.to_owned()).program();
    command.args(["--json", "--timeout", "600"]).args(args);
    // The clock of the tests stands still; that of real processes does not.
    command.env_remove("GIT_AUTHOR_DATE");
    command.env_remove("GIT_COMMITTER_DATE");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{args:?} {e} {said}"))
}

fn name(number: usize) -> String {
    format!("agent-{number:02}")
}

/// What one agent does, from its clone on.
fn work(desk: &Sandbox, number: usize) -> PathBuf {
    let agent = name(number);
    let made = colony(desk, &desk.root, &["agents", "new", &agent]);
    let clone = PathBuf::from(made["path"].as_str().unwrap());
    // Each has a file of its own; neighbors share one.
    fs::write(clone.join(format!("part-{number:02}.txt")), agent.as_bytes()).unwrap();
    let shared = format!("dir-{}/file-0.txt", number / 2);
    fs::write(clone.join(&shared), format!("as {agent} has it\n")).unwrap();
    colony(desk, &clone, &["checkpoint", "-m", "half way"]);
    let decision = format!("part-{number:02}");
    let decided = clone.join(format!("decided-{number:02}.txt"));
    fs::write(decided, "so it is\n").unwrap();
    let file = format!("decided-{number:02}.txt");
    colony(desk, &clone, &["decide", "-m", "Take it", "--id", &decision, &file]);
    fs::write(clone.join(format!("more-{number:02}.txt")), "more\n").unwrap();
    colony(desk, &clone, &["commit", "-m", "more", "--all"]);
    fs::write(clone.join("unsaved.txt"), "unsaved\n").unwrap();
    clone
}

/// Fills the repository and has all agents do their work; returns where.
fn at_work(desk: &Sandbox) -> Vec<PathBuf> {
    for number in 0..FILES {
        desk.write(&format!("dir-{}/file-{}.txt", number / 40, number % 40), format!("{number}\n"));
    }
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "thousands of files"]);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                let mine = (0..AGENTS).filter(move |number| number % 4 == worker);
                scope.spawn(move || {
                    mine.map(|number| (number, work(desk, number))).collect::<Vec<_>>()
                })
            })
            .collect();
        let mut all: Vec<_> =
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect();
        all.sort();
        all.into_iter().map(|(_, clone)| clone).collect()
    })
}

#[test]
fn twenty_agents_work_and_one_desk_takes_what_is_good() {
    let desk = Sandbox::new();
    let clones = at_work(&desk);
    let fleet = colony(&desk, &desk.root, &["fleet"]);
    let rows = fleet["agents"].as_array().unwrap();
    assert_eq!(rows.len(), AGENTS, "{fleet:#}");
    for (number, row) in rows.iter().enumerate() {
        assert_eq!(row["agent"], name(number).as_str());
        assert_eq!((&row["commits"], &row["unsaved"]), (&3.into(), &1.into()), "{row:#}");
        assert_eq!(row["into"]["outcome"], "fast_forward");
    }
    // Two by two they have changed one file.
    assert_eq!(fleet["clashes"].as_array().unwrap().len(), AGENTS / 2);
    let diff = colony(&desk, &desk.root, &["diff", &name(0), &name(1)]);
    let entries = diff["entries"].as_array().unwrap();
    let both = entries.iter().find(|entry| entry["path"] == "dir-0/file-0.txt");
    assert_eq!(both.unwrap()["change_type"], "modified", "{diff:#}");
    // Three are merged, each of another pair.
    for number in [0, 2, 4] {
        colony(&desk, &desk.root, &["merge", &name(number)]);
        assert!(desk.path(&format!("part-{number:02}.txt")).exists());
    }
    // Of one only a decision is taken, with its commit.
    let picked = colony(&desk, &desk.root, &["cherry-pick", "part-07"]);
    assert_eq!(picked["picked"].as_array().unwrap().len(), 1, "{picked:#}");
    assert!(desk.path("decided-07.txt").exists() && !desk.path("more-07.txt").exists());
    let removed = colony(&desk, &desk.root, &["agents", "remove", &name(0)]);
    assert!(removed["kept_as"].is_string() && !clones[0].exists());
    let fleet = colony(&desk, &desk.root, &["fleet"]);
    assert_eq!(fleet["agents"].as_array().unwrap().len(), AGENTS - 1);
    assert_eq!(fleet["agents"][1]["into"]["outcome"], "up_to_date", "{fleet:#}");
    for place in [&desk.root, &clones[1], &clones[19]] {
        let place = place.to_str().unwrap();
        desk.git(&["-C", place, "fsck", "--strict", "--no-dangling"]);
    }
}

/// Counts an agent out, also one that fails: the storm ends with the last.
struct Done<'a>(&'a AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The content of a large file.
fn large(of: &str) -> String {
    of.repeat(200)
}

/// Tells whether a repository, bare or not, has a large file in its own store, byte for byte.
fn has_large(place: &Path, content: &str) -> bool {
    let mut open: Vec<PathBuf> = [place.join("lfs/objects"), place.join(".git/lfs/objects")].into();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if fs::read(&path).is_ok_and(|bytes| bytes == content.as_bytes()) {
                return true;
            }
        }
    }
    false
}

/// What a prune takes of one's own is one name of a file: whoever has another one keeps it.
fn check_large(hub: &Path, clones: &[PathBuf]) {
    for (number, clone) in clones.iter().enumerate() {
        for turn in 0..6 {
            let content = large(&format!("of-{number}-{turn}.txt"));
            assert!(has_large(hub, &content), "the hub lost one of {number}");
            assert!(has_large(clone, &content), "{number} lost one of its own");
        }
    }
    assert!(has_large(hub, &large("of all")));
}

/// Commits six times a file and a large one.
fn commit_large_files(desk: &Sandbox, number: usize, clone: &Path) {
    for turn in 0..6 {
        let path = format!("of-{number}-{turn}.txt");
        fs::write(clone.join(&path), &path).unwrap();
        fs::write(clone.join(format!("{path}.stl")), large(&path)).unwrap();
        // What a command has written and no ref reaches yet, git may take away with
        // --prune=now; then the command is refused, and nothing has changed.
        let args = ["commit", "-m", &path, "--all"];
        let mut answer = Value::Null;
        let kept = (0..100).any(|_| {
            answer = try_colony(desk, clone, &args);
            answer["ok"] == true
        });
        assert!(kept, "{path} {answer:#}");
    }
}

#[test]
fn clones_stay_whole_in_a_storm_of_gc() {
    let desk = Sandbox::new();
    colony(&desk, &desk.root, &["init"]);
    desk.write("all.stl", large("of all"));
    colony(&desk, &desk.root, &["commit", "-m", "large", "--all"]);
    let made = (0..8).map(|number| colony(&desk, &desk.root, &["agents", "new", &name(number)]));
    let made: Vec<Value> = made.collect();
    let hub = PathBuf::from(made[0]["hub"].as_str().unwrap());
    let clones: Vec<PathBuf> =
        made.iter().map(|one| PathBuf::from(one["path"].as_str().unwrap())).collect();
    let at_work = AtomicUsize::new(clones.len());
    let git = |place: &Path, args: &[&str]| {
        let place = place.to_str().unwrap();
        desk.try_git(&[&["-C", place][..], args].concat())
    };
    std::thread::scope(|scope| {
        for (number, clone) in clones.iter().enumerate() {
            let (desk, at_work) = (&desk, &at_work);
            scope.spawn(move || {
                let _done = Done(at_work);
                commit_large_files(desk, number, clone);
            });
        }
        scope.spawn(|| {
            while at_work.load(Ordering::SeqCst) > 0 {
                for place in clones.iter().chain([&desk.root]) {
                    // One that meets a command at work gives up, as it may.
                    git(place, &["gc", "-q", "--prune=now"]);
                    // Nothing was pushed to a remote: nothing that a commit holds may go.
                    git(place, &["lfs", "prune"]);
                }
                git(&hub, &["multi-pack-index", "write"]);
                git(&hub, &["multi-pack-index", "expire"]);
                assert!(git(&hub, &["repack", "-q"]));
                assert!(git(&hub, &["prune-packed", "-q"]));
                assert!(!git(&hub, &["prune"]), "a hub drops nothing");
            }
        });
    });
    for place in clones.iter().chain([&hub, &desk.root]) {
        assert!(git(place, &["fsck", "--strict", "--no-dangling"]), "{}", place.display());
    }
    for place in clones.iter().chain([&desk.root]) {
        assert!(git(place, &["lfs", "fsck"]), "{}", place.display());
    }
    check_large(&hub, &clones);
    for number in 0..8 {
        let merged = colony(&desk, &desk.root, &["merge", &name(number)]);
        assert_ne!(merged["outcome"], "conflicted", "{merged:#}");
    }
    let files = desk.git(&["ls-files", "of-*"]);
    assert_eq!(files.lines().count(), 2 * 8 * 6);
    for number in 0..8 {
        let path = format!("of-{number}-5.txt");
        assert_eq!(desk.read(&format!("{path}.stl")), large(&path));
    }
}
