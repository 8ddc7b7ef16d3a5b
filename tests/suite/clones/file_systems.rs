//! The shared root on another file system than the repository: where no hard links can be made,
//! everything is copied, and everything works.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use git_colony::testing::World;

use crate::agents::new_and_merge::{agent, commit, hub};
use crate::support::{Run, Sandbox, View};

/// A desk, and the folder of everything shared on another device.
struct Apart {
    desk: Sandbox,
    shared: TempDir,
}

impl Apart {
    fn new() -> Apart {
        let desk = Sandbox::new();
        let device = |path: &Path| fs::metadata(path).unwrap().dev();
        let own = device(&desk.root);
        let places = ["/dev/shm", "/run", env!("CARGO_TARGET_TMPDIR")];
        let shared = places
            .iter()
            .filter(|place| fs::metadata(place).is_ok_and(|found| found.dev() != own))
            .find_map(|place| tempfile::tempdir_in(place).ok());
        let shared = shared.unwrap_or_else(|| {
            panic!("a second file system is needed at one of {places:?}: mount a tmpfs on /dev/shm")
        });
        assert_ne!(device(shared.path()), own);
        Apart { desk, shared }
    }

    fn run(&self, root: &Path, args: &[&str]) -> Run {
        let mut world = World { cwd: root.to_owned(), ..self.desk.world() };
        let variable = "COLONY_SHARED_ROOT".into();
        world.variables.insert(variable, self.shared.path().into());
        self.desk.run_in(world, &[&["--json"], args].concat())
    }

    /// Runs the program, which has to succeed without a warning.
    fn json(&self, root: &Path, args: &[&str]) -> Value {
        let run = self.run(root, args);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{args:?} {}", run.stdout);
        serde_json::from_str(&run.stdout).unwrap()
    }

    fn clone(&self, report: &Value) -> PathBuf {
        let path = PathBuf::from(report["path"].as_str().unwrap());
        assert!(path.starts_with(self.shared.path()), "{report:#}");
        path
    }

    fn check_whole(&self, places: &[&Path]) {
        for place in places {
            let place = self.desk.at((*place).to_owned());
            place.git(&["fsck", "--strict", "--no-dangling"]);
            place.git(&["lfs", "fsck"]);
        }
    }
}

#[test]
fn agents_work_on_another_file_system_than_the_desk() {
    let apart = Apart::new();
    let desk = &apart.desk;
    let root = desk.root.clone();
    apart.json(&root, &["init"]);
    desk.write(".gitignore", "build/\ncache/\n");
    desk.write(".colony/colony.toml", "[clone]\ncopy = [\"build\"]\nlink = [\"cache\"]\n");
    desk.write("big.stl", "x".repeat(5000));
    apart.json(&root, &["commit", "-m", "large", "--all"]);
    desk.write("build/out.o", "object");
    desk.write("cache/big", "big");
    let made = apart.json(&root, &["agents", "new", "ada"]);
    let ada = apart.clone(&made);
    for (path, content) in [("build/out.o", "object"), ("cache/big", "big")] {
        assert_eq!(fs::read_to_string(ada.join(path)).unwrap(), content);
    }
    assert_eq!(fs::read_to_string(ada.join("big.stl")).unwrap().len(), 5000);
    // What is committed in the one is published, and merged with its content in the other.
    fs::write(ada.join("new.stl"), "y".repeat(6000)).unwrap();
    fs::write(ada.join("a.txt"), "of ada\n").unwrap();
    apart.json(&ada, &["commit", "-m", "of ada", "--all"]);
    let merged = apart.json(&root, &["merge", "ada"]);
    assert_eq!(merged["outcome"], "fast_forward", "{merged:#}");
    assert_eq!(desk.read("new.stl"), "y".repeat(6000));
    // And back: what the desk has is there for the agent.
    desk.write("a.txt", "of the desk\n");
    apart.json(&root, &["commit", "-m", "of the desk", "--all"]);
    desk.git(&["gc", "-q", "--prune=now"]);
    desk.write("dir/b.txt", "packed below\n");
    apart.json(&root, &["checkpoint", "-m", "later"]);
    let made = apart.json(&root, &["clone", "--agent", "bob", "--scope", "other"]);
    let bob = apart.clone(&made);
    assert_eq!(fs::read_to_string(bob.join("dir/b.txt")).unwrap(), "packed below\n");
    let hub = PathBuf::from(made["hub"].as_str().unwrap());
    apart.check_whole(&[&root, &ada, &bob]);
    // A hub has no HEAD that git-lfs could check.
    let hub = desk.at(hub);
    hub.git(&["fsck", "--strict", "--no-dangling"]);
    desk.git(&["config", "colony.keepRemovedDays", "0"]);
    for agent in ["ada", "bob"] {
        let removed = apart.json(&root, &["agents", "remove", agent]);
        assert!(removed["kept_as"].is_string(), "{removed:#}");
    }
    let gc = apart.json(&root, &["clones", "gc", "--force"]);
    assert_eq!(gc["removed"].as_array().unwrap().len(), 1, "{gc:#}");
    apart.check_whole(&[&root]);
}

#[test]
fn what_is_left_of_an_object_of_git_lfs_is_not_shared() {
    let apart = Apart::new();
    let root = apart.desk.root.clone();
    apart.json(&root, &["init"]);
    apart.desk.write("big.stl", "x".repeat(5000));
    apart.json(&root, &["commit", "-m", "large", "--all"]);
    let objects = |place: &Path| {
        let listed = apart.desk.git(&[
            "-C",
            place.to_str().unwrap(),
            "rev-parse",
            "--git-path",
            "lfs/objects",
        ]);
        place.join(listed.trim())
    };
    let left = objects(&root).join("ab/cd");
    fs::create_dir_all(&left).unwrap();
    fs::write(left.join(".tmpHalf"), "half").unwrap();
    let made = apart.json(&root, &["agents", "new", "ada"]);
    let hub = PathBuf::from(made["hub"].as_str().unwrap());
    assert!(!hub.join("lfs/objects/ab/cd/.tmpHalf").exists());
    assert!(!objects(&apart.clone(&made)).join("ab/cd/.tmpHalf").exists());
}

/// Checks that a refused removal of an agent is none: not in the hub, not for the desk, not for the clone.
fn check_not_removed(desk: &Sandbox, ada: &View, code: &str) {
    for args in [["agents", "remove", "ada"], ["agents", "remove", "ada"]] {
        assert_eq!(desk.error(&args), code);
        assert_eq!(ada.read("loose.txt"), "not committed\n");
    }
    let kept =
        ["for-each-ref", "--format=%(refname)", "refs/colony/kept/", "refs/colony-local/ops/"];
    assert_eq!(desk.at(hub(desk)).git(&kept), "");
    let listed = desk.json(&["agents"]);
    assert_eq!((&listed["count"], &listed["removed"]), (&json!(1), &json!([])), "{listed:#}");
    ada.colony(&["checkpoint", "-m", "again"]);
}

#[test]
fn a_removal_that_cannot_rename_the_clone_leaves_no_record() {
    let apart = Apart::new();
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "ada.txt", "of ada\n");
    ada.colony(&["checkpoint", "-m", "before"]);
    ada.write("loose.txt", "not committed\n");
    let folder = desk.outside().join("home/.local/share/git-colony/agents/ada");
    // Something is in the way of the folder.
    fs::write(folder.join("removed"), "").unwrap();
    check_not_removed(&desk, &ada, "io");
    fs::remove_file(folder.join("removed")).unwrap();
    // It would have to go to another file system: that is refused, also in a dry run.
    let (clones, elsewhere) = (folder.join("clones"), apart.shared.path().join("clones"));
    let copy = |from: &Path, to: &Path| {
        assert!(desk.process("cp").arg("-a").args([from, to]).status().unwrap().success());
    };
    copy(&clones, &elsewhere);
    fs::remove_dir_all(&clones).unwrap();
    symlink(&elsewhere, &clones).unwrap();
    check_not_removed(&desk, &ada, "clone-in-use");
    assert_eq!(desk.error(&["agents", "remove", "ada", "-n"]), "clone-in-use");
    fs::create_dir(folder.with_file_name("bob")).unwrap();
    symlink(&elsewhere, folder.with_file_name("bob").join("clones")).unwrap();
    desk.git(&["branch", "other"]);
    assert_eq!(desk.error(&["agents", "new", "bob", "--from", "other"]), "unsupported");
    fs::remove_file(folder.with_file_name("bob").join("clones")).unwrap();
    desk.colony(&["agents", "new", "bob", "--from", "other"]);
    fs::remove_file(&clones).unwrap();
    copy(&elsewhere, &clones);
    desk.colony(&["agents", "remove", "ada"]);
    desk.colony(&["agents", "restore", "ada"]);
    assert_eq!(ada.read("loose.txt"), "not committed\n");
}
