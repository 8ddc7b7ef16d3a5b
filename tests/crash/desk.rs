//! A desk with everything shared beside it, and what strikes the commands that work there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use super::fault::{self, Fault};
use super::matrix::is_long;
use super::repository::{self, Repository};
use super::table;

/// The calls by which these commands change what is on the disk.
pub(crate) const CALLS: [&str; 8] =
    ["rename", "renameat2", "link", "linkat", "unlink", "unlinkat", "mkdir", "fsync"];

/// The name of a call, and which of its calls from 1.
pub(crate) type Point = (&'static str, usize);

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Whom {
    /// The program; the gits it started end by themselves.
    Program,
    /// A git that moves refs or HEAD, and the program with it.
    Group,
    /// Whoever comes to its own call of that number first, be it a git.
    Everybody,
}

/// What is in files that no commit has and that a restore moves aside.
pub(crate) const WORK: &str = "an hour of work\n";
/// The same, of a file that git has otherwise.
pub(crate) const EDIT: &str = "an edit that nobody committed\n";

/// A checkout of a person, and the folder of everything shared beside it.
pub(crate) struct Desk {
    /// The checkout.
    pub(crate) repository: Repository,
    /// The shared root.
    pub(crate) shared: tempfile::TempDir,
}

impl Desk {
    pub(crate) fn new() -> Desk {
        let repository = Repository::new();
        repository.write("a.txt", "one\n");
        repository.write("dir/b.txt", "bee\n");
        repository.git(&["add", "-A"]);
        repository.git(&["commit", "-qm", "first"]);
        Desk { repository, shared: repository::temporary_folder() }
    }

    pub(crate) fn run_in(&self, directory: &Path, args: &[&str]) -> Output {
        let mut colony = repository::command(env!("CARGO_BIN_EXE_git-colony"), directory);
        colony.env("COLONY_SHARED_ROOT", self.shared.path());
        repository::run(colony.args(args))
    }

    pub(crate) fn colony_in(&self, directory: &Path, args: &[&str]) -> String {
        let output = self.run_in(directory, args);
        let said = repository::words(&output);
        assert!(output.status.success(), "{args:?} {said}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    pub(crate) fn colony(&self, args: &[&str]) -> String {
        self.colony_in(&self.repository.root, args)
    }

    pub(crate) fn git_in(directory: &Path, args: &[&str]) -> String {
        let output = repository::run(repository::command("git", directory).args(args));
        let said = repository::words(&output);
        assert!(output.status.success(), "git {args:?} in {}: {said}", directory.display());
        said
    }

    /// Runs the program under strace, which kills it at one call; tells whether it came to that.
    pub(crate) fn strike(&self, args: &[&str], point: Point) -> bool {
        self.strike_in(&self.repository.root, args, (point, Whom::Program))
    }

    /// Does that in another directory, or to every process that comes of it.
    pub(crate) fn strike_in(
        &self,
        directory: &Path,
        args: &[&str],
        ((call, at), whom): (Point, Whom),
    ) -> bool {
        let scratch = repository::temporary_folder();
        let log = scratch.path().join("log");
        let inject = format!("inject=?{call}:signal=KILL:when={at}");
        let log_path = log.to_str().expect("our names are UTF-8");
        let mut tracer = vec!["strace", "-o", log_path, "-e", &inject];
        if whom == Whom::Everybody {
            tracer.push("-f");
        }
        let tracer: Vec<String> = tracer.into_iter().map(str::to_owned).collect();
        let mut traced = self.repository.traced_colony(&tracer, scratch.path());
        traced.current_dir(directory).env("HOME", directory);
        traced.env("COLONY_SHARED_ROOT", self.shared.path());
        repository::run(traced.args(args));
        fs::read_to_string(&log).expect("strace writes it").contains("killed by SIGKILL")
    }

    /// Runs the program, and kills it with its git at one moment; returns what strace saw of all its gits.
    pub(crate) fn strike_group(
        &self,
        directory: &Path,
        args: &[&str],
        fault: Option<&Fault>,
    ) -> String {
        let scratch = repository::temporary_folder();
        let logs = scratch.path().join("logs");
        fault::strike_group(scratch.path(), &logs, fault);
        let mut traced = self.repository.traced_colony(&[], scratch.path());
        traced.current_dir(directory).env("HOME", directory);
        traced.env("COLONY_SHARED_ROOT", self.shared.path());
        repository::run(traced.args(args));
        fault::read_logs(&logs)
    }

    /// What plain git sees of the checkout.
    pub(crate) fn state(&self) -> String {
        let refs = self.repository.git(&["for-each-ref"]);
        let refs = refs.lines().filter(|line| !line.contains("refs/colony-local/"));
        let status = self.repository.git(&["status", "--porcelain", "--branch"]);
        format!("{status}{}", refs.collect::<Vec<_>>().join("\n"))
    }

    pub(crate) fn hub(&self) -> Option<PathBuf> {
        let hubs = fs::read_dir(self.shared.path().join("hubs"));
        let hubs = hubs.into_iter().flatten().flatten().map(|entry| entry.path());
        let mut hubs = hubs.filter(|path| path.extension().is_some_and(|end| end == "git"));
        hubs.next()
    }

    pub(crate) fn check_whole(&self, before: &str) {
        assert_eq!(self.state(), before);
        self.repository.git(&["fsck", "--strict", "--no-dangling"]);
        if let Some(hub) = self.hub() {
            Desk::git_in(&hub, &["fsck", "--strict", "--no-dangling"]);
        }
    }

    /// What was moved aside in a clone is on the disk, once.
    pub(crate) fn check_kept(&self, said: &str) {
        for content in [WORK, EDIT] {
            let mut count = 0;
            let mut open = vec![self.shared.path().to_owned()];
            while let Some(folder) = open.pop() {
                let entries = fs::read_dir(folder).expect("nobody else is at work");
                for path in entries.flatten().map(|entry| entry.path()) {
                    match fs::symlink_metadata(&path) {
                        Ok(found) if found.is_dir() => open.push(path),
                        Ok(found) if found.is_file() => {
                            let bytes = fs::read(&path).expect("it is there");
                            count += usize::from(bytes == content.as_bytes());
                        }
                        _ => {}
                    }
                }
            }
            assert_eq!(count, 1, "{content} {said}");
        }
    }

    /// What a killed command left is gone with the next.
    pub(crate) fn check_swept(&self, said: &str) {
        for folder in ["staging", "trash", "removing"] {
            let left = fs::read_dir(self.shared.path().join(folder));
            let left: Vec<_> = left.into_iter().flatten().flatten().collect();
            assert!(left.is_empty(), "{left:?} {said}");
        }
        let hubs = fs::read_dir(self.shared.path().join("hubs")).expect("a hub was made");
        let begun = hubs
            .flatten()
            .filter(|hub| hub.path().extension().is_some_and(|end| end == "new" || end == "gone"));
        assert_eq!(begun.count(), 0, "a hub that was begun or set aside is left");
    }
}

/// What is struck: the command as the table names it, and who is killed.
type Struck = (&'static str, Whom);

/// Goes on until a run gets through without being struck, for each call.
pub(crate) fn each_point(what: Struck, stride: usize, act: impl FnMut(Point) -> bool) {
    each_point_of(what, (&CALLS, stride), act);
}

/// Does that for some calls.
pub(crate) fn each_point_of(
    (name, whom): Struck,
    (calls, stride): (&[&'static str], usize),
    mut act: impl FnMut(Point) -> bool,
) {
    fault::require_strace();
    let stride = if is_long() { 1 } else { stride };
    let mut all = 0;
    for &call in calls {
        let mut points = 0;
        for at in (1..).step_by(stride) {
            if !act((call, at)) {
                break;
            }
            points += 1;
        }
        all += points;
        table::note_beside((name, whom, call), (stride, points));
    }
    assert!(all > 8, "hardly anything was struck: {all}");
}
