//! A repository in memory-backed storage, and the hermetic processes that act on it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

#[path = "../support/durations.rs"]
mod durations;
#[path = "processor.rs"]
mod processor;
#[path = "../support/program_files.rs"]
mod program_files;

pub(crate) use program_files::write_program;

/// The program under test: the real one, as cargo built it for this test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_git-colony");

/// A repository on a branch `main`, gone when dropped.
pub(crate) struct Repository {
    /// Kept for its lifetime: the worktree goes with it.
    _folder: TempDir,
    /// The worktree.
    pub(crate) root: PathBuf,
}

impl Repository {
    /// Makes an empty repository.
    pub(crate) fn new() -> Repository {
        let repository = Repository::without_content();
        repository.git(&["init", "--quiet", "--initial-branch=main", "--template="]);
        for (name, value) in
            [("user.name", "Ada"), ("user.email", "ada@example.com"), ("gc.auto", "0")]
        {
            repository.git(&["config", name, value]);
        }
        repository
    }

    /// Makes an identical one, with an index that knows the files of the copy.
    pub(crate) fn copy(&self) -> Repository {
        let copy = Repository::without_content();
        let mut cp = command("cp", &self.root);
        cp.args(["-a", "."]).arg(&copy.root);
        require_success(&mut cp);
        // Changed files make it exit with 1, which is no failure here.
        run(command("git", &copy.root).args(["update-index", "-q", "--refresh"]));
        copy
    }

    fn without_content() -> Repository {
        durations::note();
        let folder = temporary_folder();
        let root = folder.path().join("worktree");
        fs::create_dir(&root).expect("the folder is empty");
        Repository { _folder: folder, root }
    }

    /// Writes a file of the worktree, making the folders above it.
    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("it is below the root")).expect("no file is above");
        fs::write(path, content).expect("no folder stands there");
    }

    /// Writes a program that is to be run, a hook as a rule.
    pub(crate) fn write_program(&self, path: &str, text: &str) {
        write_program(&self.root.join(path), text);
    }

    /// Removes a file, or a folder with all that is in it.
    pub(crate) fn remove(&self, path: &str) {
        let path = self.root.join(path);
        let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        removed.expect("something stands there");
    }

    /// Sets the permission bits of a file.
    pub(crate) fn set_mode(&self, path: &str, mode: u32) {
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(self.root.join(path), permissions).expect("the file exists");
    }

    /// Points a symbolic link somewhere, in place of what stands there.
    pub(crate) fn link(&self, path: &str, target: &str) {
        let path = self.root.join(path);
        fs::remove_file(&path).ok();
        std::os::unix::fs::symlink(target, path).expect("the place is free");
    }

    /// Runs git, which has to succeed; returns its answer.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        require_success(command("git", &self.root).args(args))
    }

    /// Runs the program, which has to succeed.
    pub(crate) fn colony(&self, args: &[&str]) {
        require_success(command(PROGRAM, &self.root).args(args));
    }

    /// Runs the program and reports a failure with the words it left.
    pub(crate) fn try_colony(&self, args: &[&str]) -> Result<(), String> {
        success(command(PROGRAM, &self.root).args(args)).map(drop)
    }

    /// Runs a changing command to its end, which is the one it is meant to come to.
    pub(crate) fn try_to_end(&self, args: &[&str], exit_code: i32) -> Result<(), String> {
        let mut colony = command(PROGRAM, &self.root);
        let output = run(colony.args(args));
        if output.status.code() == Some(exit_code) {
            return Ok(());
        }
        let said = words(&output);
        Err(format!("{colony:?} ended with {}: {said}", output.status))
    }

    /// Runs git and reports a failure with the words it left.
    pub(crate) fn try_git(&self, args: &[&str]) -> Result<String, String> {
        success(command("git", &self.root).args(args))
    }

    /// Prepares the program under `tracer`, with `tools` before everything else on the `PATH`.
    ///
    /// The output ends when the last process that came from it has ended: a git that outlives a
    /// killed program for a moment is waited for. All of them run on one processor.
    pub(crate) fn traced_colony(&self, tracer: &[String], tools: &Path) -> Command {
        let mut shell = command("sh", &self.root);
        shell.args(["-c", r#"exec 9>&1; exec taskset -c "$@""#, "sh"]);
        shell.arg(processor::of_this_test().to_string());
        shell.args(tracer).arg(PROGRAM);
        let search = std::env::join_paths(
            [tools.to_owned()].into_iter().chain(std::env::split_paths(&search_path())),
        );
        shell.env("PATH", search.expect("no colon is in the name of the folder"));
        shell
    }
}

/// Makes a folder that is gone when dropped.
///
/// It is in memory where there is such a place: a fault strikes there the same way, and without
/// waiting for disks a thousand runs are done in a minute.
pub(crate) fn temporary_folder() -> TempDir {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    folder.expect("a temporary folder can be made")
}

/// Prepares a program in an environment that is the same on every machine.
pub(crate) fn command(program: impl AsRef<OsStr>, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(directory).env_clear();
    command.env("PATH", search_path()).env("HOME", directory);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("GIT_CONFIG_SYSTEM", "/dev/null");
    // Where no state of the worktree is taken from.
    command.env("XDG_CACHE_HOME", directory.join(".git/user-cache"));
    command.env("TZ", "UTC").env("LC_ALL", "C");
    command
}

/// Runs a command to its end, however it ends.
pub(crate) fn run(command: &mut Command) -> Output {
    let name = command.get_program().to_owned();
    command.output().unwrap_or_else(|error| panic!("cannot start {}: {error}", name.display()))
}

/// Everything a finished command printed.
pub(crate) fn words(output: &Output) -> String {
    let stdout = String::from_utf8_lossy(&output.stdout);
    format!("{stdout}{}", String::from_utf8_lossy(&output.stderr))
}

fn success(command: &mut Command) -> Result<String, String> {
    let output = run(command);
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = words(&output);
    Err(format!("{command:?} ended with {}: {said}", output.status))
}

fn require_success(command: &mut Command) -> String {
    success(command).unwrap_or_else(|failure| panic!("{failure}"))
}

pub(crate) fn search_path() -> std::ffi::OsString {
    std::env::var_os("PATH").unwrap_or_default()
}
