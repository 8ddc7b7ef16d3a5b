//! The one runner: git and the program, run in a directory of a sandbox, in its environment.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use chrono::{DateTime, Duration};
use git_colony::env::{Env, Terminal};
use git_colony::testing::{Changes, Interrupt, Plane, Progress, UserConfiguration, Warned, World};
use serde_json::Value;

use super::answered_codes;
use super::state::Answers;
use super::waiting::eventually;
use super::write_program;

/// The program under test: the real one, as cargo built it for these tests.
pub(crate) fn program_path() -> &'static Path {
    assert_cmd::cargo::cargo_bin!("git-colony")
}

/// The date of all commits that git makes, unless a test names another.
const DATE_OF_GIT: &str = "1767323045 +0000";

/// A directory of a sandbox, and how to act in it. Views of one sandbox share its clock.
#[derive(Clone)]
pub(crate) struct View {
    /// The directory that commands run in: mostly a worktree.
    pub(crate) root: PathBuf,
    /// The directory beside the repository, which holds everything of the sandbox.
    outside: PathBuf,
    variables: BTreeMap<OsString, OsString>,
    seconds: Arc<AtomicU64>,
    nonces: Arc<AtomicU64>,
    /// What git answered in this environment.
    pub(super) answers: Arc<Answers>,
}

/// How far clock and chance of a sandbox have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticks {
    seconds: u64,
    nonces: u64,
}

/// What a run of the program left.
#[must_use = "look at the exit code or the output"]
pub(crate) struct Run {
    pub(crate) code: u8,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Where, and in which environment.
impl View {
    /// A view of the repository in a directory that holds everything of a sandbox.
    pub(super) fn new(outside: PathBuf) -> View {
        let path = std::env::var_os("PATH").unwrap();
        let home = outside.join("home");
        let pairs: [(&str, &OsStr); 9] = [
            ("PATH", &path),
            ("HOME", home.as_os_str()),
            ("TZ", OsStr::new("UTC")),
            ("LC_ALL", OsStr::new("C")),
            ("GIT_CONFIG_GLOBAL", OsStr::new("/dev/null")),
            ("GIT_CONFIG_SYSTEM", OsStr::new("/dev/null")),
            ("GIT_AUTHOR_DATE", OsStr::new(DATE_OF_GIT)),
            ("GIT_COMMITTER_DATE", OsStr::new(DATE_OF_GIT)),
            // On a slow machine a hook takes longer than a user would wait for it.
            ("COLONY_HOOK_TIMEOUT", OsStr::new("600")),
        ];
        let pairs = pairs.map(|(name, value)| (name.into(), value.to_owned()));
        View {
            root: outside.join("repo"),
            outside,
            variables: pairs.into_iter().collect(),
            seconds: Arc::new(AtomicU64::new(0)),
            nonces: Arc::new(AtomicU64::new(1)),
            answers: Arc::default(),
        }
    }

    /// The same seen from another directory (a linked worktree, say).
    pub(crate) fn at(&self, root: PathBuf) -> View {
        View { root, ..self.clone() }
    }

    /// The same with one more variable in the environment.
    pub(crate) fn with(&self, name: &str, value: impl Into<OsString>) -> View {
        let mut view = self.clone();
        view.variables.insert(name.into(), value.into());
        view.answers = Arc::default();
        view
    }

    /// The same without a variable.
    pub(crate) fn without(&self, name: &str) -> View {
        let mut view = self.clone();
        view.variables.remove(OsStr::new(name));
        view.answers = Arc::default();
        view
    }

    /// The same with a folder that is searched for programs before all others.
    pub(crate) fn with_path(&self, folder: impl AsRef<Path>) -> View {
        let mut path = folder.as_ref().as_os_str().to_owned();
        path.push(":");
        path.push(&self.variables[OsStr::new("PATH")]);
        self.with("PATH", path)
    }

    /// The same where git and hooks find the program.
    pub(crate) fn with_program(&self) -> View {
        self.with_path(program_path().parent().unwrap())
    }

    /// The same with a stand-in for a program, beside the repository: a script that does something and then runs
    /// the real one.
    pub(crate) fn stand_in(&self, program: &str, script: &str) -> View {
        let folder = self.outside.join("stand-ins");
        let real = self.on_path(program, |place| place.exists() && !place.starts_with(&folder));
        let real = real.unwrap_or_else(|| panic!("no {program} is on the PATH"));
        let script = format!("#!/bin/sh\n{script}\nexec '{}' \"$@\"\n", real.display());
        write_program(&folder.join(program), script);
        self.with_path(folder)
    }

    fn on_path(
        &self,
        program: impl AsRef<Path>,
        is_meant: impl Fn(&Path) -> bool,
    ) -> Option<PathBuf> {
        let search = &self.variables[OsStr::new("PATH")];
        let mut places = std::env::split_paths(search).map(|folder| folder.join(&program));
        places.find(|place| is_meant(place))
    }

    /// A copy of the repository as it stands, beside it, for git to be the referee in.
    pub(crate) fn copy(&self, name: &str) -> View {
        let root = self.outside().join(name);
        let copied = Command::new("cp").arg("-a").arg(&self.root).arg(&root).status();
        assert!(copied.unwrap().success());
        self.at(root)
    }

    /// The directory beside the repository.
    pub(crate) fn outside(&self) -> PathBuf {
        self.outside.clone()
    }

    pub(crate) fn variables(&self) -> BTreeMap<OsString, OsString> {
        self.variables.clone()
    }

    /// The environment of the program under test, which dates what it makes by its own clock.
    fn variables_of_program(&self) -> BTreeMap<OsString, OsString> {
        let mut variables = self.variables();
        variables.retain(|_, value| value != DATE_OF_GIT);
        variables
    }
}

/// Files.
impl View {
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Writes a program that is to be run, a hook as a rule.
    pub(crate) fn write_program(&self, path: &str, text: impl AsRef<[u8]>) {
        write_program(&self.path(path), text);
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
}

/// git and other programs.
impl View {
    /// Prepares a program in the directory and environment of the view, and in no other.
    pub(crate) fn process(&self, program: impl AsRef<OsStr>) -> Command {
        let program = Path::new(program.as_ref());
        // A program that the standard library has to look up is started in a copy of this large process.
        let found = self.on_path(program, Path::is_file);
        let mut command = Command::new(found.as_deref().unwrap_or(program));
        command.arg0(program).env_clear().envs(&self.variables);
        command.current_dir(&self.root);
        command
    }

    /// Prepares the program under test as a process of its own.
    pub(crate) fn program(&self) -> Command {
        let mut program = self.process(program_path());
        program.env_clear().envs(self.variables_of_program());
        program
    }

    /// Runs git to its end, whatever that is.
    pub(crate) fn git_output(&self, args: &[&str]) -> Output {
        self.process("git").args(args).output().unwrap()
    }

    /// Runs git; it has to succeed.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = self.git_output(args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "git {args:?}: {}\n{stderr}{stdout}", output.status);
        stdout.trim_end().to_owned()
    }

    /// Runs git and returns whether it succeeded.
    pub(crate) fn try_git(&self, args: &[&str]) -> bool {
        self.git_output(args).status.success()
    }

    /// Runs git and returns what it printed, whatever its exit code.
    pub(crate) fn git_any(&self, args: &[&str]) -> String {
        String::from_utf8_lossy(&self.git_output(args).stdout).into_owned()
    }

    /// The bytes of an object.
    pub(crate) fn object(&self, kind: &str, id: &str) -> Vec<u8> {
        let output = self.git_output(&["cat-file", kind, id]);
        assert!(output.status.success(), "{output:?}");
        output.stdout
    }

    /// Makes a tree of lines as 'git ls-tree' prints them; returns its id.
    pub(crate) fn make_tree(&self, lines: &str) -> String {
        let list = self.outside().join("tree");
        fs::write(&list, lines).unwrap();
        self.git_reading(&list, &["mktree"])
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
        let hash = ["hash-object", "-w", "--literally", "--no-filters"];
        let ids = self.git_reading(&list, &[&hash[..], &["--stdin-paths", "-t", kind]].concat());
        ids.lines().last().unwrap().to_owned()
    }

    fn git_reading(&self, file: &Path, args: &[&str]) -> String {
        let mut git = self.process("git");
        let output = git.args(args).stdin(fs::File::open(file).unwrap()).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }
}

/// The program, in this process.
impl View {
    /// Runs the program; it has to exit with 0.
    pub(crate) fn colony(&self, args: &[&str]) -> String {
        let run = self.run(args);
        assert_eq!(run.code, 0, "git colony {args:?}\n{}{}", run.stdout, run.stderr);
        run.stdout
    }

    /// Runs the program with `--json` and returns its one answer, whatever the exit code.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let run = self.run(&[&["--json"], args].concat());
        answer_of(args, run.stdout.as_bytes())
    }

    /// Does the same in a process of its own: what other tests start meanwhile would inherit the locks of this
    /// one, and hold them for a moment.
    pub(crate) fn json_apart(&self, args: &[&str]) -> Value {
        let output = self.program().arg("--json").args(args).output();
        answer_of(args, &output.unwrap().stdout)
    }

    /// Runs an automatic checkpoint until it gets the lock.
    ///
    /// A child that another test thread has forked and not yet started holds a copy of every open
    /// file for a moment, locks included.
    pub(crate) fn automatic_checkpoint(&self) -> Value {
        let mut answer = Value::Null;
        eventually("the lock is free", || {
            answer = self.json(&["checkpoint", "--auto"]);
            answer["reason"] != "busy"
        });
        assert_eq!(answer["ok"], true, "{answer:#}");
        answer
    }

    /// Runs the program and returns the error code of its answer.
    pub(crate) fn error(&self, args: &[&str]) -> String {
        let answer = self.json(args);
        assert_eq!(answer["ok"], false, "{args:?} {answer:#}");
        answer["code"].as_str().unwrap_or_else(|| panic!("{answer:#}")).to_owned()
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        self.run_in(self.world(), args)
    }

    pub(crate) fn run_in(&self, world: World, args: &[&str]) -> Run {
        let args = args.iter().map(OsString::from).collect();
        self.run_os(world, args)
    }

    pub(crate) fn run_os(&self, world: World, args: Vec<OsString>) -> Run {
        self.run_reading(world, args, Box::new(std::io::empty()))
    }

    /// Runs the program with this standard input.
    pub(crate) fn run_reading(
        &self,
        mut world: World,
        args: Vec<OsString>,
        stdin: Box<dyn Read + Send>,
    ) -> Run {
        assert!(self.outside.exists(), "the sandbox is gone");
        let (stdout, stderr) = (Captured::default(), Captured::default());
        let (narration, heard) = (stderr.clone(), Arc::clone(&world.narrate));
        world.narrate = Arc::new(move |line| {
            heard(line);
            writeln!(narration.clone(), "{}", git_colony::testing::escape::line(line)).unwrap();
        });
        let mut env = Env {
            world,
            stdin,
            stdout: Box::new(stdout.clone()),
            stderr: Box::new(stderr.clone()),
            terminal: Terminal::default(),
            handle_signals: None,
        };
        let words = [OsString::from("git-colony")].into_iter().chain(args);
        let words: Vec<_> = words.collect();
        let exit = git_colony::run(words.iter().cloned(), &mut env);
        let run = Run { code: exit.0, stdout: spread(stdout.text()), stderr: stderr.text() };
        answered_codes::note(&words, &run.stdout);
        run
    }

    /// Lets years pass before the next command.
    pub(crate) fn pass_years(&self, years: u64) {
        self.seconds.fetch_add(years * 31_557_600, Ordering::SeqCst);
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
            colony_root: None,
            cwd: self.root.clone(),
            started_in: None,
            named_root: None,
            owner_beside_root: None,
            variables: self.variables_of_program().into(),
            clock: Arc::new(move || moment),
            zone: |moment| moment,
            entropy: Arc::new(move || {
                let number = nonces.fetch_add(1, Ordering::SeqCst);
                (number << 32) | number
            }),
            narrate: Arc::new(|_| {}),
            progress: Progress::default(),
            listen: Arc::new(|| {}),
            user_configuration: UserConfiguration::Ignored,
            interrupt: Interrupt::default(),
            timeout: None,
            filters: "".into(),
            changes: Changes::default(),
            warned: Warned::default(),
            process: None,
            program: program_path().into(),
            die_at: None,
            stdout_is_terminal: false,
            plane: Plane::Cli,
            allows_cargo: false,
        }
    }

    pub(super) fn ticks(&self) -> Ticks {
        Ticks {
            seconds: self.seconds.load(Ordering::SeqCst),
            nonces: self.nonces.load(Ordering::SeqCst),
        }
    }

    pub(super) fn set_ticks(&self, ticks: Ticks) {
        self.seconds.store(ticks.seconds, Ordering::SeqCst);
        self.nonces.store(ticks.nonces, Ordering::SeqCst);
    }
}

/// Reads the one answer of a command and holds it against its schema.
/// Lays out an answer in JSON as a terminal has it, a member a line: a snapshot of it is read by people.
fn spread(stdout: String) -> String {
    let is_answer = stdout.starts_with("{\"ok\":");
    let Some(answer) = serde_json::from_str::<Value>(&stdout).ok().filter(|_| is_answer) else {
        return stdout;
    };
    let text = serde_json::to_string_pretty(&answer).unwrap();
    git_colony::testing::escape::json(&text) + "\n"
}

fn answer_of(args: &[&str], stdout: &[u8]) -> Value {
    let answer = serde_json::from_slice(stdout);
    let answer = answer.unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(stdout)));
    crate::surface::schema::check(args, &answer);
    answer
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
