//! A power cut leaves what was synced and forgets the rest. Whatever ref a command creates or moves, all objects
//! in its repository have to be on disk by then, also those that plain git has written a moment ago, and the ref
//! itself must not be renamed into place while it may still be an empty file.
//!
//! strace records what a command and its gits write, sync, rename and link; the log is judged.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::command::{
    BLACKBOARD_PUT, CATALOG_ADD, CHECKPOINT, CHECKPOINT_AUTO, CHECKPOINT_OF_A_CLEAN_STATE,
    CHECKPOINT_OFF_BRANCH, CHECKPOINTS_DELETE, COMMIT, ChangingCommand, DECIDE, FORK,
    FORK_WITHOUT_A_SWITCH, FORKS_DELETE, INGEST, INIT, INIT_BESIDE, KNOWLEDGE_CLEAR, LAND,
    LFS_MIGRATE, MAP, MERGE, MERGE_ABORT, MERGE_CONTINUE, MERGE_ELSEWHERE, MERGE_RESOLVE, PICK,
    PICK_ABORT, PICK_CONTINUE, PICK_RESOLVE, PROMOTE, PRUNE, PRUNE_PACKED, RECOVERY,
    RECOVERY_BACKWARDS, REDO, RESTORE, RESTORE_FILES, RESTORE_FORK, RESTORE_OFF_BRANCH, TAG,
    TAG_AFTER_PLAIN_GIT, TOOLS_NEW, UNDO, UNDO_OF_PLAIN_GIT, UNDO_PACKED, UNMAP,
};
use super::desk::Desk;
use super::{fault, repository};

/// The calls that write, name or sync a file.
const TRACED: &str = "trace=?openat,?write,?pwrite64,?rename,?renameat,?renameat2,?link,?linkat,?fsync,?fdatasync,\
                      ?syncfs,?sync_file_range";

/// What was on disk when a command began.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// No object: plain git has just written all of them.
    Nothing,
    /// Everything.
    All,
}

/// The disk as a power cut would leave it.
struct Disk {
    /// Files with content that is not on disk.
    unsynced: BTreeSet<PathBuf>,
    /// Those of which not even blocks were written.
    unwritten: BTreeSet<PathBuf>,
    directories: BTreeMap<String, PathBuf>,
    refs: usize,
    problems: Vec<String>,
}

impl Disk {
    fn new(folders: &[&Path], before: Before) -> Disk {
        let mut unsynced = BTreeSet::new();
        if before == Before::Nothing {
            for folder in folders {
                collect_objects(folder, &mut unsynced);
            }
            assert!(!unsynced.is_empty(), "no repository has an object");
        }
        Disk {
            unsynced,
            unwritten: BTreeSet::new(),
            directories: BTreeMap::new(),
            refs: 0,
            problems: Vec::new(),
        }
    }

    /// Takes in a line of the log: the process, the call, its arguments and its result.
    fn see(&mut self, line: &str) {
        let Some((pid, rest)) = line.split_once(' ') else { return };
        let Some((call, rest)) = rest.trim_start().split_once('(') else { return };
        if call.contains(' ') || rest.contains(") = -1 ") {
            return;
        }
        let mut base = self.directories.get(pid).cloned().unwrap_or_default();
        let (mut opened, mut named) = (None, Vec::new());
        for argument in rest.split(", ") {
            if let Some(name) = argument.strip_prefix('"') {
                named.push(base.join(name.split('"').next().unwrap_or_default()));
            } else if let Some((what, path)) = argument.split_once('<') {
                base = PathBuf::from(path.split('>').next().unwrap_or_default());
                if what == "AT_FDCWD" {
                    self.directories.insert(pid.to_owned(), base.clone());
                }
                opened = opened.or_else(|| Some(base.clone()));
            }
        }
        match (call, opened, &named[..]) {
            ("openat", _, [path]) if rest.contains("O_CREAT") => self.write(path),
            ("write" | "pwrite64", Some(path), _) => self.write(&path),
            ("fsync" | "fdatasync", Some(path), _) => {
                self.unsynced.remove(&path);
                self.unwritten.remove(&path);
            }
            ("sync_file_range", Some(path), _) => drop(self.unwritten.remove(&path)),
            ("syncfs", ..) => {
                self.unsynced.clear();
                self.unwritten.clear();
            }
            (_, _, [from, to]) => self.name(from, to),
            _ => {}
        }
    }

    fn write(&mut self, path: &Path) {
        self.unsynced.insert(path.to_owned());
        self.unwritten.insert(path.to_owned());
    }

    /// A file gets a name, which may be that of a ref; or a folder does, which may hold a whole repository.
    fn name(&mut self, from: &Path, to: &Path) {
        if is_in_preparation(from) && !is_in_preparation(to) {
            self.refs += 1;
            let is_of_git = |path: &&PathBuf| {
                let below = path.strip_prefix(from).ok().and_then(Path::to_str);
                below.is_some_and(|below| {
                    from.with_extension("new") == from || below.starts_with(".git/")
                })
            };
            if let Some(path) = self.unsynced.iter().find(is_of_git) {
                let (to, path) = (to.display(), path.display());
                self.problems.push(format!("{to} comes before its {path}"));
            }
        } else if is_in_preparation(to) {
            // Nobody knows it yet.
        } else if let Some(git_dir) = repository_of_ref(to) {
            self.refs += 1;
            let objects = git_dir.join("objects");
            let lost: Vec<_> =
                self.unsynced.iter().filter(|path| path.starts_with(&objects)).collect();
            if let Some(first) = lost.first() {
                let (to, first, count) = (to.display(), first.display(), lost.len());
                let problem = format!("{to} comes before {count} objects, {first}");
                self.problems.push(problem);
            }
            if self.unwritten.contains(from) {
                self.problems.push(format!("{} may be empty", to.display()));
            }
        }
        for files in [&mut self.unsynced, &mut self.unwritten] {
            if files.contains(from) {
                files.insert(to.to_owned());
            }
        }
    }
}

/// Returns `true` for a path in a repository that no other process knows yet.
fn is_in_preparation(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let is_hub = text.contains("/hubs/") && text.contains(".new");
    is_hub || text.contains("/staging/") || text.contains("/colony/migration/")
}

/// Returns the git directory of a ref, if the path is that of one.
fn repository_of_ref(path: &Path) -> Option<PathBuf> {
    let text = path.to_str()?;
    if path.extension().is_some_and(|end| end == "lock") || text.contains("/logs/") {
        return None;
    }
    let git_dir = text.split_once("/refs/").map(|(git_dir, _)| git_dir);
    git_dir.or_else(|| text.strip_suffix("/packed-refs")).map(PathBuf::from)
}

fn collect_objects(folder: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect_objects(&path, found);
        } else if path.to_str().is_some_and(|path| path.contains("/objects/")) {
            found.insert(path);
        }
    }
}

/// Judges a command; returns what it did wrong.
fn judge(folders: &[&Path], before: Before, run: impl FnOnce(&[String]) -> i32) -> Vec<String> {
    fault::require_strace();
    let scratch = repository::temporary_folder();
    let log = scratch.path().join("log");
    let log_path = log.to_str().expect("our names are UTF-8");
    let tracer = ["strace", "-f", "-y", "-s", "0", "-o", log_path, "-e", TRACED];
    let mut disk = Disk::new(folders, before);
    let exit_code = run(&tracer.map(str::to_owned));
    let text = fs::read_to_string(&log).expect("strace writes it");
    text.lines().for_each(|line| disk.see(line));
    if exit_code != 0 {
        disk.problems.push(format!("it exits with {exit_code}"));
    }
    if disk.refs == 0 && before == Before::Nothing {
        disk.problems.push("it moves no ref".to_owned());
    }
    disk.problems
}

fn require_objects_first(commands: &[&ChangingCommand]) {
    require_after(Before::Nothing, commands);
}

fn require_after(before: Before, commands: &[&ChangingCommand]) {
    let mut problems = Vec::new();
    for command in commands {
        let repository = command.scene.build();
        command.scene.complete(&repository);
        let found = judge(&[&repository.root], before, |tracer| {
            let mut traced = repository.traced_colony(tracer, Path::new("/dev/null"));
            let output = repository::run(traced.args(command.args));
            output.status.code().unwrap_or(-1) - command.exit_code
        });
        problems.extend(found.into_iter().map(|problem| format!("{}: {problem}", command.name)));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn objects_are_on_disk_before_a_checkpoint_or_record_of_ours() {
    require_objects_first(&[
        &CHECKPOINT,
        &CHECKPOINT_AUTO,
        &CHECKPOINT_OFF_BRANCH,
        &CHECKPOINT_OF_A_CLEAN_STATE,
        &COMMIT,
        &DECIDE,
        &TAG,
        &TAG_AFTER_PLAIN_GIT,
        &BLACKBOARD_PUT,
        &INGEST,
        &KNOWLEDGE_CLEAR,
        &MAP,
        &UNMAP,
        &CATALOG_ADD,
        &PROMOTE,
        &TOOLS_NEW,
        &INIT,
        &INIT_BESIDE,
    ]);
}

#[test]
fn objects_are_on_disk_before_a_branch_moves() {
    require_objects_first(&[
        &FORK,
        &FORK_WITHOUT_A_SWITCH,
        &FORKS_DELETE,
        &RESTORE_FORK,
        &MERGE,
        &MERGE_ELSEWHERE,
        &LAND,
        &MERGE_RESOLVE,
        &MERGE_CONTINUE,
        &MERGE_ABORT,
        &PICK,
        &PICK_RESOLVE,
        &PICK_CONTINUE,
        &PICK_ABORT,
    ]);
}

#[test]
fn objects_are_on_disk_before_an_old_state_is_back() {
    require_objects_first(&[
        &RESTORE,
        &RESTORE_FILES,
        &RESTORE_OFF_BRANCH,
        &UNDO,
        &REDO,
        &UNDO_OF_PLAIN_GIT,
        &UNDO_PACKED,
        &CHECKPOINTS_DELETE,
        &RECOVERY_BACKWARDS,
        &LFS_MIGRATE,
    ]);
    // They may delete refs only, and git rewrites the packed ones.
    require_after(Before::All, &[&PRUNE, &PRUNE_PACKED, &RECOVERY]);
}

/// Runs a command of a desk, or of a clone of it.
fn require_of_desk(desk: &Desk, directory: &Path, args: &[&str], before: Before) {
    let folders = [&*desk.repository.root, desk.shared.path()];
    let problems = judge(&folders, before, |tracer| {
        let mut traced = desk.repository.traced_colony(tracer, Path::new("/dev/null"));
        traced.current_dir(directory).env("HOME", directory);
        traced.env("COLONY_SHARED_ROOT", desk.shared.path());
        let output = repository::run(traced.args(args));
        output.status.code().unwrap_or(-1)
    });
    assert!(problems.is_empty(), "{args:?}\n{}", problems.join("\n"));
}

#[test]
fn objects_are_on_disk_before_the_hub_names_them() {
    let desk = Desk::new();
    let root = &desk.repository.root;
    let require = |at: &Path, args: &[&str]| require_of_desk(&desk, at, args, Before::Nothing);
    require(root, &["agents", "new", "ada"]);
    let clone = PathBuf::from(desk.colony(&["agents", "path", "ada"]));
    fs::write(clone.join("a.txt"), "of ada\n").expect("it is there");
    require(&clone, &["checkpoint", "--auto"]);
    require(&clone, &["commit", "-m", "edit", "--all"]);
    require(&clone, &["tag", "-m", "of ada"]);
    require(&clone, &["blackboard", "put", "plan", "owner", "ada"]);
    require(root, &["blackboard", "put", "plan", "owner", "bob"]);
    require(root, &["merge", "ada"]);
    fs::write(clone.join("c.txt"), "unsaved\n").expect("it is there");
    require(root, &["agents", "remove", "ada"]);
    require(root, &["agents", "restore", "ada"]);
}

#[test]
fn fetched_objects_are_on_disk_before_a_ref_names_them() {
    let desk = Desk::new();
    let root = &desk.repository.root;
    let (remote, other) = (desk.shared.path().join("remote"), desk.shared.path().join("other"));
    let shown = |path: &Path| path.to_str().expect("our names are UTF-8").to_owned();
    Desk::git_in(root, &["clone", "-q", "--bare", ".", &shown(&remote)]);
    desk.repository.git(&["remote", "add", "origin", &shown(&remote)]);
    Desk::git_in(root, &["clone", "-q", &shown(&remote), &shown(&other)]);
    fs::write(other.join("a.txt"), "of another\n").expect("it is there");
    for (key, value) in [("user.name", "Bob"), ("user.email", "bob@example.com")] {
        Desk::git_in(&other, &["config", key, value]);
    }
    Desk::git_in(&other, &["commit", "-qam", "more"]);
    desk.colony_in(&other, &["tag", "-m", "of another"]);
    desk.colony_in(&other, &["sync", "--push"]);
    Desk::git_in(&other, &["push", "-q"]);
    require_of_desk(&desk, root, &["sync"], Before::All);
}
