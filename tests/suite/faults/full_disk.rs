//! A full disk is told as one, whoever met it first, and changes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use git_colony::testing::World;
use serde_json::Value;

use crate::support::{Sandbox, worktree_of};

/// A repository on a file system of a few megabytes, beside a copy of it as it was.
struct Small {
    sandbox: Sandbox,
    disk: PathBuf,
}

impl Small {
    fn new() -> Small {
        let sandbox = Sandbox::new();
        let disk = sandbox.outside().join("disk");
        fs::create_dir(&disk).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"])
            .arg(&disk)
            .status()
            .is_ok_and(|status| status.success());
        assert!(
            mounted,
            "mounting a small tmpfs needs root: run the tests as root or in a user namespace"
        );
        let small = Small { sandbox, disk };
        small.fill_in();
        copy(&small.root(), &small.kept());
        small
    }

    /// A branch to merge, a filter, a file with changes, one that is new.
    fn fill_in(&self) {
        let root = self.root();
        let url = self.sandbox.root.to_str().unwrap();
        self.sandbox.git(&["clone", "-q", "--template=", url, root.to_str().unwrap()]);
        let repo = self.sandbox.at(root.clone());
        for (key, value) in [
            ("user.name", "Ada"),
            ("user.email", "ada@example.com"),
            ("gc.auto", "0"),
            ("filter.x.clean", "tee"),
            ("filter.x.smudge", "tee"),
        ] {
            repo.git(&["config", key, value]);
        }
        repo.git(&["switch", "-qc", "other"]);
        fs::write(root.join(".gitattributes"), "*.x filter=x\n").unwrap();
        fs::write(root.join("of-other.x"), noise(30_000)).unwrap();
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-qm", "other"]);
        repo.git(&["switch", "-q", "main"]);
        fs::write(root.join(".gitattributes"), "*.x filter=x\n").unwrap();
        fs::write(root.join("a.txt"), "ours\n").unwrap();
        repo.colony(&["checkpoint", "-m", "base"]);
        fs::write(root.join("a.txt"), "work\n").unwrap();
        fs::write(root.join("new.x"), noise(25_000)).unwrap();
    }

    fn root(&self) -> PathBuf {
        self.disk.join("repo")
    }

    fn kept(&self) -> PathBuf {
        self.sandbox.outside().join("kept")
    }

    /// Has everything as it was, and so much left on the disk.
    fn leave(&self, bytes: u64) {
        for entry in fs::read_dir(&self.disk).unwrap() {
            let path = entry.unwrap().path();
            let is_folder = path.is_dir();
            let removed = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
            removed.unwrap();
        }
        copy(&self.kept(), &self.root());
        let told = rustix::fs::statvfs(&self.disk).unwrap();
        let free = told.f_bavail * told.f_frsize;
        let filler = vec![1_u8; usize::try_from(free.saturating_sub(bytes)).unwrap()];
        fs::write(self.disk.join("filler"), filler).unwrap();
    }

    fn run(&self, args: &[&str]) -> Value {
        let mut world = World { cwd: self.root(), ..self.sandbox.world() };
        for (name, folder) in [("COLONY_SHARED_ROOT", "shared"), ("TMPDIR", "")] {
            let place = self.disk.join(folder);
            world.variables.insert(name.into(), place.into());
        }
        let run = self.sandbox.run_in(world, &[&["--json"], args].concat());
        serde_json::from_str(&run.stdout).unwrap()
    }

    fn state(&self) -> (String, String, BTreeMap<String, String>) {
        let repo = self.sandbox.at(self.root());
        let refs = repo.git(&["for-each-ref"]);
        let index = repo.git(&["ls-files", "-s"]);
        (refs, index, worktree_of(&self.root()))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        // What stays mounted keeps the temporary directory, and harms nothing else.
        drop(Command::new("umount").arg("-l").arg(&self.disk).status());
    }
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(copied.unwrap().success());
}

/// Bytes that nothing compresses.
fn noise(count: u64) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.to_be_bytes()[0]
    };
    (0..count).map(|_| next()).collect()
}

const COMMANDS: [&[&str]; 9] = [
    &["checkpoint", "-m", "kept"],
    &["checkpoint", "--auto"],
    &["restore", "base", "--force"],
    &["merge", "other"],
    &["cherry-pick", "other"],
    &["fork", "one"],
    &["init"],
    &["commit", "-m", "all", "--all"],
    &["agents", "new", "ada"],
];

#[test]
fn a_full_disk_is_told_as_one_whoever_met_it_first() {
    let small = Small::new();
    let mut met = 0;
    for kilobytes in [0, 8, 24, 48, 64, 96, 128, 160] {
        for args in COMMANDS {
            small.leave(kilobytes << 10);
            let before = small.state();
            let answer = small.run(args);
            if answer["ok"] == true {
                continue;
            }
            met += 1;
            let what = format!("{args:?} with {kilobytes} kB: {answer:#}");
            assert_eq!(answer["code"], "no-space", "{what}");
            let hint = answer["hint"].as_str().unwrap_or_default();
            assert!(hint.starts_with("df -h '/"), "{what}");
            assert_eq!(small.state(), before, "{what}");
            fs::remove_file(small.disk.join("filler")).unwrap();
            let again = small.run(args);
            // A clone that is in its place may have been published only in part.
            let is_there = args.starts_with(&["agents"]) && again["code"] == "agent-exists";
            assert!(again["ok"] == true || is_there, "{what} then {again:#}");
        }
    }
    assert!(met > 20, "{met} met a full disk");
}
