//! A sandbox: a temporary directory with a repository, a hermetic environment, a clock that ticks.

mod answered_codes;
#[path = "../../support/durations.rs"]
mod durations;
pub(crate) mod fixture;
pub(crate) mod git_server;
pub(crate) mod lfs_server;
mod moments;
#[path = "../../support/program_files.rs"]
mod program_files;
pub(crate) mod refusals;
mod state;
pub(crate) mod terminal_text;
mod view;
pub(crate) mod waiting;

use std::fs;
use std::io::Write as _;
use std::ops::Deref;

use fixture::Fixture;
pub(crate) use moments::at_the_time_of;
pub(crate) use program_files::write_program;
pub(crate) use state::{LIST_NEW_OBJECTS, State, wait_for_locks, worktree_of};
pub(crate) use view::{Captured, Run, View, program_path};
pub(crate) use waiting::{HANG_TIMEOUT, end_of, eventually, eventually_by, first_line, is_running};

/// A repository in a temporary directory, and everything that acts on it: a [`View`] of its worktree.
pub(crate) struct Sandbox {
    /// Kept for its lifetime: the directory goes with it.
    _temporary: tempfile::TempDir,
    view: View,
}

impl Deref for Sandbox {
    type Target = View;

    fn deref(&self) -> &View {
        &self.view
    }
}

/// A repository on branch `main` without a commit.
static UNBORN: Fixture = Fixture::new(|| Sandbox::init(&[]));

/// A repository on branch `main` with one commit of `a.txt` and `dir/b.txt`.
static ONE_COMMIT: Fixture = Fixture::new(|| {
    let sandbox = Sandbox::init(&[]);
    sandbox.write("a.txt", "one\n");
    sandbox.write("dir/b.txt", "bee\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "first"]);
    sandbox
});

impl Sandbox {
    /// Makes a repository on branch `main` with one commit of `a.txt` and `dir/b.txt`.
    pub(crate) fn new() -> Sandbox {
        ONE_COMMIT.copy()
    }

    /// Makes a repository without a commit.
    pub(crate) fn unborn() -> Sandbox {
        UNBORN.copy()
    }

    /// Has git make a repository without a commit, with options of `git init`.
    pub(crate) fn init(options: &[&str]) -> Sandbox {
        let sandbox = Sandbox::empty();
        fs::create_dir(&sandbox.root).unwrap();
        let init = ["init", "-q", "-b", "main", "--template="];
        sandbox.git(&[&init[..], options].concat());
        let is_bare = options.contains(&"--bare");
        let file = sandbox.path(if is_bare { "config" } else { ".git/config" });
        let config = fs::OpenOptions::new().append(true).open(file);
        let settings = "[user]\n\tname = Ada\n\temail = ada@example.com\n[gc]\n\tauto = 0\n";
        config.unwrap().write_all(settings.as_bytes()).unwrap();
        sandbox
    }

    /// Makes a temporary directory where a repository can be put.
    fn empty() -> Sandbox {
        durations::note();
        let temporary = tempfile::tempdir().unwrap();
        let outside = temporary.path().canonicalize().unwrap();
        Sandbox { _temporary: temporary, view: View::new(outside) }
    }
}

/// The id that an object has in a repository with SHA-1.
pub(crate) fn id_of(kind: &str, bytes: impl AsRef<[u8]>) -> String {
    use sha1::Digest as _;
    let bytes = bytes.as_ref();
    let mut hasher = sha1::Sha1::new();
    hasher.update(format!("{kind} {}\0", bytes.len()));
    hasher.update(bytes);
    format!("{:x}", hasher.finalize())
}

#[test]
fn a_copied_repository_is_the_one_that_is_built_in_its_place() {
    UNBORN.check();
    ONE_COMMIT.check();
}
