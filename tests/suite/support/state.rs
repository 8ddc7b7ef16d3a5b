//! What can be seen of a repository, and what always holds of it.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::View;
use super::waiting::eventually;

/// What a person could see of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) head: String,
    pub(crate) refs: String,
    pub(crate) index: String,
    pub(crate) worktree: BTreeMap<String, String>,
}

/// What git answered about refs and index, by the bytes of the files that it reads for that: a test that compares
/// states asks the same many times. An answer is only taken again where all of these bytes are the same.
#[derive(Default)]
pub(super) struct Answers(Mutex<HashMap<(String, Vec<u8>), String>>);

impl View {
    /// Has git answer, unless it has answered the same with these files and folders of `.git`.
    fn git_reading_only(&self, read: &[&str], args: &[&str]) -> String {
        let key = || {
            let mut bytes = Vec::new();
            for name in ["config", "config.worktree"].iter().chain(read) {
                append(&self.root.join(".git").join(name), &mut bytes);
            }
            (format!("{} {args:?}", self.root.display()), bytes)
        };
        let before = key();
        if let Some(known) = self.answers.0.lock().unwrap().get(&before) {
            return known.clone();
        }
        let answer = self.git(args);
        // Another process may have changed something since.
        if key() == before {
            let mut known = self.answers.0.lock().unwrap();
            known.insert(before, answer.clone());
        }
        answer
    }

    /// Every file of the worktree but `.git`: type, mode and bytes, directories included.
    pub(crate) fn worktree(&self) -> BTreeMap<String, String> {
        worktree_of(&self.root)
    }

    /// Everything git could tell of the repository: HEAD, every ref but our private ones, index.
    pub(crate) fn visible_state(&self) -> State {
        State {
            head: fs::read_to_string(self.root.join(".git/HEAD")).unwrap(),
            refs: self.refs(),
            index: self.git_reading_only(&["index"], &["ls-files", "-s", "-t", "-v"]),
            worktree: self.worktree(),
        }
    }

    /// The commit of HEAD.
    pub(crate) fn head_commit(&self) -> String {
        let read = [&["HEAD"], &REFS[..]].concat();
        self.git_reading_only(&read, &["rev-parse", "HEAD"])
    }

    /// Every ref but our private ones.
    pub(crate) fn refs(&self) -> String {
        let list = ["for-each-ref", "--format=%(refname) %(objectname)"];
        let all = self.git_reading_only(&REFS, &list);
        all.lines()
            .filter(|line| !line.starts_with("refs/colony-local/"))
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// Checks what holds of git's own files after every command, done or failed.
    pub(crate) fn check_invariants_of_git(&self) {
        self.git(&["fsck", "--strict", "--no-dangling"]);
        let locks = find_files(&self.root.join(".git"), &|name| {
            Path::new(name).extension().is_some_and(|end| end == "lock")
        });
        assert_eq!(locks, Vec::<PathBuf>::new(), "locks are left");
    }

    /// Checks what holds after every command, done or failed.
    pub(crate) fn check_invariants(&self) {
        self.check_invariants_of_git();
        let colony = self.root.join(".git/colony");
        let left = find_files(&colony, &|name| {
            !matches!(
                name,
                "lock"
                    | "turn-lock"
                    | "worktree-key"
                    | "sequence"
                    | "decisions-1.json"
                    | "held-large-files-1.json"
                    | "events-1.db"
            )
        });
        assert_eq!(left, Vec::<PathBuf>::new(), "leftovers");
    }

    /// Lists the files of objects that are there in `.git/kept`, for a script that takes the others as a
    /// gc does: [`LIST_NEW_OBJECTS`]. Their times do not tell them apart: two files that are written
    /// within one tick of the clock have the same.
    pub(crate) fn list_kept_objects(&self) {
        let git_dir = self.root.join(".git");
        let files = find_files(&git_dir.join("objects"), &|_| true);
        let lines = files.iter().map(|file| format!("{}\n", file.display()));
        fs::write(git_dir.join("kept"), lines.collect::<String>()).unwrap();
    }
}

/// Lists, in `sh` and from the top of the worktree, the files of objects that are not in `.git/kept`.
pub(crate) const LIST_NEW_OBJECTS: &str =
    "find \"$PWD/.git/objects\" -type f | grep -vxFf .git/kept";

/// Waits until nobody holds the locks in a folder any more. What has run or died in process lets go of
/// its own, but a child that another test has just forked has them until it runs its program.
pub(crate) fn wait_for_locks(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_name().as_bytes().ends_with(b"lock") {
            continue;
        }
        let lock = fs::File::open(entry.path()).unwrap();
        eventually(&format!("{} is free", entry.path().display()), || lock.try_lock().is_ok());
        // Closing it would not do, for the same reason.
        lock.unlock().unwrap();
    }
}

/// Where git keeps refs.
const REFS: [&str; 3] = ["packed-refs", "refs", "reftable"];

/// Appends path and bytes of a file, or of all files in a folder.
fn append(path: &Path, bytes: &mut Vec<u8>) {
    if let Ok(found) = fs::read_dir(path) {
        let mut inside: Vec<_> = found.map(|entry| entry.unwrap().path()).collect();
        inside.sort();
        for path in inside {
            append(&path, bytes);
        }
    } else if let Ok(found) = fs::read(path) {
        bytes.extend(format!("\0{} {}\0", path.display(), found.len()).into_bytes());
        bytes.extend(found);
    }
}

pub(crate) fn worktree_of(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    describe(root, root, &mut found);
    found
}

fn describe(root: &Path, directory: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = escape(path.strip_prefix(root).unwrap());
        if name == ".git" {
            continue;
        }
        let metadata = fs::symlink_metadata(&path).unwrap();
        let mode = format!("{:o}", metadata.mode() & 0o7777);
        if metadata.is_symlink() {
            found.insert(name, format!("link {}", escape(&fs::read_link(&path).unwrap())));
        } else if metadata.is_dir() {
            found.insert(name.clone(), format!("directory {mode}"));
            if !path.join(".git").exists() {
                describe(root, &path, found);
            }
        } else if metadata.is_file() {
            let bytes = fs::read(&path).unwrap();
            found.insert(name, format!("file {mode} {}", bytes.escape_ascii()));
        } else {
            found.insert(name, format!("other {mode}"));
        }
    }
}

fn escape(path: &Path) -> String {
    path.as_os_str().as_bytes().escape_ascii().to_string()
}

fn find_files(directory: &Path, wanted: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(find_files(&path, wanted));
        } else if wanted(&path.file_name().unwrap().to_string_lossy()) {
            found.push(path);
        }
    }
    found
}
