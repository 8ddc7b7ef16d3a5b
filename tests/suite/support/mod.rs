//! A sandbox: a temporary directory with a repository, a hermetic environment, a clock that ticks.

pub(crate) mod git_server;
pub(crate) mod lfs_server;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use chrono::{DateTime, Duration};
use git_colony::env::{Env, Terminal};
use git_colony::model::World;
use git_colony::model::progress::Progress;
use git_colony::model::world::{Changes, Interrupt, UserConfiguration};
use serde_json::Value;

/// A repository in a temporary directory, and everything that acts on it.
pub(crate) struct Sandbox {
    /// Kept for its lifetime: the directory goes with it.
    temporary: tempfile::TempDir,
    /// The worktree that commands run in.
    pub(crate) root: PathBuf,
    seconds: AtomicU64,
    nonces: Arc<AtomicU64>,
}

/// What a run of the program left.
#[must_use = "look at the exit code or the output"]
pub(crate) struct Run {
    pub(crate) code: u8,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    /// Makes a repository on branch `main` with one commit of `a.txt` and `dir/b.txt`.
    pub(crate) fn new() -> Sandbox {
        let sandbox = Sandbox::unborn();
        sandbox.write("a.txt", "one\n");
        sandbox.write("dir/b.txt", "bee\n");
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-qm", "first"]);
        sandbox
    }

    /// Makes a repository without a commit.
    pub(crate) fn unborn() -> Sandbox {
        Sandbox::init(&[])
    }

    pub(crate) fn init(options: &[&str]) -> Sandbox {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap().join("repo");
        fs::create_dir(&root).unwrap();
        let sandbox = Sandbox {
            temporary,
            root,
            seconds: AtomicU64::new(0),
            nonces: Arc::new(AtomicU64::new(1)),
        };
        let init = ["init", "-q", "-b", "main", "--template="];
        sandbox.git(&[&init[..], options].concat());
        for (key, value) in [
            ("user.name", "Ada"),
            ("user.email", "ada@example.com"),
            ("gc.auto", "0"),
        ] {
            sandbox.git(&["config", key, value]);
        }
        sandbox
    }

    /// The directory beside the repository.
    pub(crate) fn outside(&self) -> PathBuf {
        self.temporary.path().canonicalize().unwrap()
    }

    /// A copy of the repository as it stands, beside it, for git to be the referee in.
    pub(crate) fn copy(&self, name: &str) -> View<'_> {
        let root = self.outside().join(name);
        let copied = Command::new("cp")
            .arg("-a")
            .arg(&self.root)
            .arg(&root)
            .status();
        assert!(copied.unwrap().success());
        self.at(root)
    }

    /// The same sandbox seen from another directory (a linked worktree, say).
    pub(crate) fn at(&self, root: PathBuf) -> View<'_> {
        View {
            sandbox: self,
            root,
        }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        String::from_utf8(fs::read(self.path(path)).unwrap()).unwrap()
    }

    pub(crate) fn remove(&self, path: &str) {
        let path = self.path(path);
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path).unwrap(),
            Ok(_) => fs::remove_file(path).unwrap(),
            Err(_) => {}
        }
    }

    pub(crate) fn set_mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Runs git; it has to succeed.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git_in(&self.root, &self.variables(), args)
    }

    /// Runs git and returns whether it succeeded.
    pub(crate) fn try_git(&self, args: &[&str]) -> bool {
        command_in(&self.root, &self.variables(), args)
            .output()
            .unwrap()
            .status
            .success()
    }

    /// Runs git and returns what it printed, whatever its exit code.
    pub(crate) fn git_any(&self, args: &[&str]) -> String {
        self.at(self.root.clone()).git_any(args)
    }

    /// The bytes of an object.
    pub(crate) fn object(&self, kind: &str, id: &str) -> Vec<u8> {
        let mut git = command_in(&self.root, &self.variables(), &["cat-file", kind, id]);
        let output = git.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        output.stdout
    }

    /// Makes a tree of lines as 'git ls-tree' prints them; returns its id.
    pub(crate) fn make_tree(&self, lines: &str) -> String {
        let list = self.outside().join("tree");
        fs::write(&list, lines).unwrap();
        let mut git = command_in(&self.root, &self.variables(), &["mktree"]);
        let output = git.stdin(fs::File::open(list).unwrap()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout)
            .unwrap()
            .trim_end()
            .to_owned()
    }

    /// Writes bytes as an object of a kind, whatever they say; returns its id.
    pub(crate) fn hash_literally(&self, kind: &str, bytes: &[u8]) -> String {
        self.hash_all_literally(kind, &[bytes])
    }

    /// Writes many objects of a kind by one git; returns the id of the last.
    pub(crate) fn hash_all_literally(&self, kind: &str, objects: &[impl AsRef<[u8]>]) -> String {
        let folder = tempfile::tempdir_in(self.outside()).unwrap();
        let paths = objects.iter().enumerate().map(|(at, bytes)| {
            let path = folder.path().join(at.to_string());
            fs::write(&path, bytes).unwrap();
            format!("{}\n", path.display())
        });
        let list = folder.path().join("list");
        fs::write(&list, paths.collect::<String>()).unwrap();
        let mut git = command_in(&self.root, &self.variables(), &["hash-object", "-w"]);
        git.args(["--literally", "--no-filters", "--stdin-paths", "-t", kind]);
        let output = git.stdin(fs::File::open(list).unwrap()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let ids = String::from_utf8(output.stdout).unwrap();
        ids.lines().last().unwrap().to_owned()
    }

    /// Runs the program; it has to exit with 0.
    pub(crate) fn colony(&self, args: &[&str]) -> String {
        let run = self.run(args);
        assert_eq!(
            run.code, 0,
            "git colony {args:?}\n{}{}",
            run.stdout, run.stderr
        );
        run.stdout
    }

    /// Runs the program with `--json` and returns its one answer, whatever the exit code.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let run = self.run(&[&["--json"], args].concat());
        let answer = serde_json::from_str(&run.stdout);
        let answer = answer.unwrap_or_else(|e| panic!("{e}: {}", run.stdout));
        crate::surface::schema::check(args, &answer);
        answer
    }

    /// Does the same in a process of its own: what other tests start meanwhile would inherit the locks of this
    /// one, and hold them for a moment.
    pub(crate) fn json_apart(&self, args: &[&str]) -> Value {
        let output = Command::new(assert_cmd::cargo::cargo_bin!("git-colony"))
            .env_clear()
            .envs(self.variables())
            .current_dir(&self.root)
            .arg("--json")
            .args(args)
            .output()
            .unwrap();
        let answer = serde_json::from_slice(&output.stdout);
        answer.unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stdout)))
    }

    /// Runs an automatic checkpoint until it gets the lock.
    ///
    /// A child that another test thread has forked and not yet started holds a copy of every open
    /// file for a moment, locks included.
    pub(crate) fn automatic_checkpoint(&self) -> Value {
        loop {
            let answer = self.json(&["checkpoint", "--auto"]);
            if answer["reason"] != "busy" {
                assert_eq!(answer["ok"], true, "{answer:#}");
                return answer;
            }
        }
    }

    /// Runs the program and returns the error code of its answer.
    pub(crate) fn error(&self, args: &[&str]) -> String {
        let answer = self.json(args);
        assert_eq!(answer["ok"], false, "{args:?} {answer:#}");
        answer["code"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer:#}"))
            .to_owned()
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        self.run_in(self.world(), args)
    }

    pub(crate) fn run_in(&self, world: World, args: &[&str]) -> Run {
        let args = args.iter().map(OsString::from).collect();
        self.run_os(world, args)
    }

    pub(crate) fn run_os(&self, mut world: World, args: Vec<OsString>) -> Run {
        assert!(self.root.exists(), "the sandbox is gone");
        let (stdout, stderr) = (Captured::default(), Captured::default());
        let narration = stderr.clone();
        world.narrate = Arc::new(move |line| {
            writeln!(narration.clone(), "{}", git_colony::ui::escape::line(line)).unwrap();
        });
        let mut env = Env {
            world,
            stdin: Box::new(std::io::empty()),
            stdout: Box::new(stdout.clone()),
            stderr: Box::new(stderr.clone()),
            terminal: Terminal::default(),
        };
        let words = [OsString::from("git-colony")].into_iter().chain(args);
        let exit = git_colony::run(words, &mut env);
        Run {
            code: exit.0,
            stdout: stdout.text(),
            stderr: stderr.text(),
        }
    }

    /// The world of the next command: one minute later than the last.
    pub(crate) fn world(&self) -> World {
        let minute = self.seconds.fetch_add(60, Ordering::SeqCst);
        self.world_at(i64::try_from(minute).unwrap())
    }

    /// The world at a fixed number of seconds after the start.
    pub(crate) fn world_at(&self, seconds: i64) -> World {
        let start = DateTime::parse_from_rfc3339("2026-01-02T03:04:05+00:00").unwrap();
        let moment = start + Duration::seconds(seconds);
        let nonces = Arc::clone(&self.nonces);
        World {
            cwd: self.root.clone(),
            started_in: None,
            variables: self.variables(),
            clock: Arc::new(move || moment),
            entropy: Arc::new(move || {
                let number = nonces.fetch_add(1, Ordering::SeqCst);
                (number << 32) | number
            }),
            narrate: Arc::new(|_| {}),
            progress: Progress::default(),
            user_configuration: UserConfiguration::Ignored,
            interrupt: Interrupt::default(),
            changes: Changes::default(),
            process: None,
            program: assert_cmd::cargo::cargo_bin!("git-colony").to_owned(),
            die_at: None,
            stdout_is_terminal: false,
        }
    }

    pub(crate) fn variables(&self) -> BTreeMap<OsString, OsString> {
        let home = self.temporary.path().join("home");
        let path = std::env::var_os("PATH").unwrap();
        let pairs: [(&str, &OsStr); 8] = [
            ("PATH", &path),
            ("HOME", home.as_os_str()),
            ("TZ", OsStr::new("UTC")),
            ("LC_ALL", OsStr::new("C")),
            ("GIT_CONFIG_GLOBAL", OsStr::new("/dev/null")),
            ("GIT_CONFIG_SYSTEM", OsStr::new("/dev/null")),
            ("GIT_AUTHOR_DATE", OsStr::new("1767323045 +0000")),
            ("GIT_COMMITTER_DATE", OsStr::new("1767323045 +0000")),
        ];
        pairs
            .into_iter()
            .map(|(name, value)| (name.into(), value.to_owned()))
            .collect()
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
            index: self.git(&["ls-files", "-s", "-t", "-v"]),
            worktree: self.worktree(),
        }
    }

    /// Every ref but our private ones.
    pub(crate) fn refs(&self) -> String {
        let all = self.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
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
            )
        });
        assert_eq!(left, Vec::<PathBuf>::new(), "leftovers");
    }
}

/// The sandbox's program and git, run in another directory.
pub(crate) struct View<'a> {
    sandbox: &'a Sandbox,
    root: PathBuf,
}

impl View<'_> {
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Every file of the worktree but `.git`.
    pub(crate) fn worktree(&self) -> BTreeMap<String, String> {
        worktree_of(&self.root)
    }

    /// Runs git and returns what it printed, whatever its exit code.
    pub(crate) fn git_any(&self, args: &[&str]) -> String {
        let output = command_in(&self.root, &self.sandbox.variables(), args).output();
        String::from_utf8_lossy(&output.unwrap().stdout).into_owned()
    }

    /// Runs git and returns whether it succeeded.
    pub(crate) fn try_git(&self, args: &[&str]) -> bool {
        let output = command_in(&self.root, &self.sandbox.variables(), args).output();
        output.unwrap().status.success()
    }

    /// Runs the program with `--json` and returns its one answer, whatever the exit code.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let run = self.run(&[&["--json"], args].concat());
        serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}", run.stdout))
    }

    /// Runs the program and returns the error code of its answer.
    pub(crate) fn error(&self, args: &[&str]) -> String {
        let answer = self.json(args);
        assert_eq!(answer["ok"], false, "{args:?} {answer:#}");
        answer["code"].as_str().unwrap().to_owned()
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        git_in(&self.root, &self.sandbox.variables(), args)
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        let world = World {
            cwd: self.root.clone(),
            ..self.sandbox.world()
        };
        self.sandbox.run_in(world, args)
    }

    pub(crate) fn colony(&self, args: &[&str]) -> String {
        let run = self.run(args);
        assert_eq!(
            run.code, 0,
            "git colony {args:?}\n{}{}",
            run.stdout, run.stderr
        );
        run.stdout
    }
}

/// What a person could see of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) head: String,
    pub(crate) refs: String,
    pub(crate) index: String,
    pub(crate) worktree: BTreeMap<String, String>,
}

/// Waits until nobody holds the locks in a folder any more. What has run or died in process lets go of
/// its own, but a child that another test has just forked has them until it runs its program.
pub(crate) fn wait_for_locks(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_name().as_bytes().ends_with(b"lock") {
            continue;
        }
        let lock = fs::File::open(entry.path()).unwrap();
        let mut tries = 0..1_000;
        while lock.try_lock().is_err() {
            assert!(tries.next().is_some(), "{} is held", entry.path().display());
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        // Closing it would not do, for the same reason.
        lock.unlock().unwrap();
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
            found.insert(
                name,
                format!("link {}", escape(&fs::read_link(&path).unwrap())),
            );
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

pub(crate) fn git_in(
    root: &Path,
    variables: &BTreeMap<OsString, OsString>,
    args: &[&str],
) -> String {
    let output = command_in(root, variables, args).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "git {args:?}: {}\n{stderr}{stdout}",
        output.status
    );
    stdout.trim_end().to_owned()
}

fn command_in(root: &Path, variables: &BTreeMap<OsString, OsString>, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    command
        .env_clear()
        .envs(variables)
        .current_dir(root)
        .args(args);
    command
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

/// A stream that keeps what is written to it.
#[derive(Clone, Default)]
pub(crate) struct Captured(Arc<Mutex<Vec<u8>>>);

impl Captured {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
