//! Agents come and go whole: `agents new` and `agents remove` are cut off at every system call by which
//! they change something. Unlike the other commands they work beside the repository, so there is more
//! than one folder to look at.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use super::fault;
use super::matrix::is_long;
use super::repository::{self, Repository};

/// The calls by which these commands change what is on the disk.
const CALLS: [&str; 8] = [
    "rename",
    "renameat2",
    "link",
    "linkat",
    "unlink",
    "unlinkat",
    "mkdir",
    "fsync",
];

/// A checkout of a person, and the folder of everything shared beside it.
struct Desk {
    repository: Repository,
    shared: tempfile::TempDir,
}

impl Desk {
    fn new() -> Desk {
        let repository = Repository::new();
        repository.write("a.txt", "one\n");
        repository.write("dir/b.txt", "bee\n");
        repository.git(&["add", "-A"]);
        repository.git(&["commit", "-qm", "first"]);
        Desk {
            repository,
            shared: repository::temporary_folder(),
        }
    }

    fn run_in(&self, directory: &Path, args: &[&str]) -> Output {
        let mut colony = repository::command(env!("CARGO_BIN_EXE_git-colony"), directory);
        colony.env("COLONY_SHARED_ROOT", self.shared.path());
        repository::run(colony.args(args))
    }

    fn colony_in(&self, directory: &Path, args: &[&str]) -> String {
        let output = self.run_in(directory, args);
        let said = repository::words(&output);
        assert!(output.status.success(), "{args:?} {said}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn colony(&self, args: &[&str]) -> String {
        self.colony_in(&self.repository.root, args)
    }

    fn git_in(directory: &Path, args: &[&str]) -> String {
        let output = repository::run(repository::command("git", directory).args(args));
        let said = repository::words(&output);
        assert!(
            output.status.success(),
            "git {args:?} in {}: {said}",
            directory.display()
        );
        said
    }

    /// Runs the program under strace, which kills it at one call; tells whether it came to that.
    fn strike(&self, args: &[&str], (call, at): (&str, usize)) -> bool {
        let scratch = repository::temporary_folder();
        let log = scratch.path().join("log");
        let inject = format!("inject=?{call}:signal=KILL:when={at}");
        let tracer: Vec<String> = [
            "strace",
            "-o",
            log.to_str().expect("our names are UTF-8"),
            "-e",
            &inject,
        ]
        .map(str::to_owned)
        .to_vec();
        let mut traced = self.repository.traced_colony(&tracer, scratch.path());
        traced.env("COLONY_SHARED_ROOT", self.shared.path());
        repository::run(traced.args(args));
        fs::read_to_string(&log)
            .expect("strace writes it")
            .contains("killed by SIGKILL")
    }

    /// What plain git sees of the checkout.
    fn state(&self) -> String {
        let refs = self.repository.git(&["for-each-ref"]);
        let refs = refs
            .lines()
            .filter(|line| !line.contains("refs/colony-local/"));
        let status = self.repository.git(&["status", "--porcelain", "--branch"]);
        format!("{status}{}", refs.collect::<Vec<_>>().join("\n"))
    }

    fn hub(&self) -> Option<PathBuf> {
        let hubs = fs::read_dir(self.shared.path().join("hubs"));
        let hubs = hubs
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        let mut hubs = hubs.filter(|path| path.extension().is_some_and(|end| end == "git"));
        hubs.next()
    }

    fn check_whole(&self, before: &str) {
        assert_eq!(self.state(), before);
        self.repository.git(&["fsck", "--strict", "--no-dangling"]);
        if let Some(hub) = self.hub() {
            Desk::git_in(&hub, &["fsck", "--strict", "--no-dangling"]);
        }
    }

    /// What a killed command left is gone with the next.
    fn check_swept(&self) {
        for folder in ["staging", "trash"] {
            let left = fs::read_dir(self.shared.path().join(folder));
            let left: Vec<_> = left.into_iter().flatten().flatten().collect();
            assert!(left.is_empty(), "{left:?}");
        }
        let hubs = fs::read_dir(self.shared.path().join("hubs")).expect("a hub was made");
        let begun = hubs
            .flatten()
            .filter(|hub| hub.path().extension().is_some_and(|end| end == "new"));
        assert_eq!(begun.count(), 0, "a hub that was begun is left");
    }
}

/// Goes on until a run gets through without being struck, for each call.
fn each_point(mut act: impl FnMut((&str, usize)) -> bool) {
    fault::require_strace();
    let stride = if is_long() { 1 } else { 4 };
    let mut points = 0;
    for call in CALLS {
        for at in (1..).step_by(stride) {
            if !act((call, at)) {
                break;
            }
            points += 1;
        }
    }
    assert!(points > 8, "hardly anything was struck");
}

#[test]
fn a_killed_agents_new_made_the_clone_or_did_not() {
    each_point(|point| {
        let desk = Desk::new();
        let before = desk.state();
        let struck = desk.strike(&["agents", "new", "ada"], point);
        desk.check_whole(&before);
        // The next command makes what is not there, and sweeps.
        let again = desk.run_in(&desk.repository.root, &["agents", "new", "ada"]);
        let said = repository::words(&again);
        assert!(
            again.status.success() || said.contains("works in"),
            "{point:?} {said}"
        );
        desk.colony(&["agents", "new", "bob"]);
        desk.check_swept();
        desk.check_whole(&before);
        let clone = PathBuf::from(desk.colony(&["agents", "path", "ada"]));
        Desk::git_in(&clone, &["fsck", "--strict", "--no-dangling"]);
        assert_eq!(
            Desk::git_in(&clone, &["status", "--porcelain"]),
            "",
            "{point:?}"
        );
        assert_eq!(
            Desk::git_in(&clone, &["branch", "--show-current"]),
            "fork/ada\n"
        );
        fs::write(clone.join("a.txt"), "of ada\n").expect("it is there");
        desk.colony_in(&clone, &["commit", "-m", "edit", "--all"]);
        desk.colony(&["merge", "ada"]);
        let merged = fs::read_to_string(desk.repository.root.join("a.txt")).expect("it is there");
        assert_eq!(merged, "of ada\n", "{point:?}");
        struck
    });
}

#[test]
fn a_killed_agents_remove_loses_nothing() {
    each_point(|point| {
        let desk = Desk::new();
        let clone = PathBuf::from(desk.colony(&["agents", "new", "ada"]));
        fs::write(clone.join("a.txt"), "of ada\n").expect("it is there");
        desk.colony_in(&clone, &["commit", "-m", "edit", "--all"]);
        let tip = Desk::git_in(&clone, &["rev-parse", "HEAD"]);
        fs::write(clone.join("c.txt"), "unsaved\n").expect("it is there");
        let before = desk.state();
        let struck = desk.strike(&["agents", "remove", "ada"], point);
        desk.check_whole(&before);
        if clone.exists() {
            // It is whole, and what was not saved is in it.
            Desk::git_in(&clone, &["fsck", "--strict", "--no-dangling"]);
            assert_eq!(Desk::git_in(&clone, &["rev-parse", "HEAD"]), tip);
            assert_eq!(
                fs::read_to_string(clone.join("c.txt")).expect("it is there"),
                "unsaved\n"
            );
        }
        let again = desk.run_in(&desk.repository.root, &["agents", "remove", "ada"]);
        let said = repository::words(&again);
        assert!(
            again.status.success() || said.contains("no agent or clone"),
            "{point:?} {said}"
        );
        assert!(!clone.exists());
        desk.check_swept();
        let hub = desk.hub().expect("it is there");
        let refs = Desk::git_in(&hub, &["for-each-ref", "--format=%(refname)"]);
        assert!(!refs.contains("refs/colony/agents/"), "{point:?} {refs}");
        let kept = refs
            .lines()
            .filter(|name| name.starts_with("refs/colony/kept/"));
        let kept: Vec<_> = kept.collect();
        let of = |end: &str| {
            kept.iter()
                .find(|name| name.ends_with(end))
                .unwrap_or_else(|| panic!("{refs}"))
        };
        assert_eq!(
            Desk::git_in(&hub, &["rev-parse", of("/heads/fork/ada")]),
            tip
        );
        let saved = kept
            .iter()
            .filter(|name| name.contains("/tags/checkpoint/"));
        let mut saved = saved.map(|name| {
            let file = format!("{name}^{{commit}}:c.txt");
            repository::run(repository::command("git", &hub).args(["show", &file]))
        });
        assert!(
            saved.any(|shown| shown.stdout == b"unsaved\n"),
            "{point:?} {refs}"
        );
        struck
    });
}
