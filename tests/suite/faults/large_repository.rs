//! A large repository: many files, a long history, a large file of git-lfs. Memory stays within stated bounds,
//! progress is told, and what is stopped leaves nothing behind.
//!
//! The long form (`COLONY_TEST_LONG`) has a million files, a hundred thousand commits and 5 GB in git-lfs.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use git_colony::testing::{Progress, Step};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{HANG_TIMEOUT, Sandbox, end_of, first_line, program_path};

/// How large.
struct Size {
    files: usize,
    commits: usize,
    large_bytes: u64,
}

fn size() -> Size {
    if std::env::var_os("COLONY_TEST_LONG").is_some() {
        Size { files: 1_000_000, commits: 100_000, large_bytes: 5 << 30 }
    } else {
        Size { files: 20_000, commits: 2_000, large_bytes: 192 << 20 }
    }
}

/// How much later a command counts as one that hangs, for each file and for each 4 MiB of a large one.
const TIME_OF_A_FILE: Duration = Duration::from_millis(12);
const TIME_OF_4_MIB: Duration = Duration::from_secs(1);
/// What any command may have of memory.
const BYTES_OF_A_COMMAND: u64 = 96 << 20;
/// What it may have for each file: its entry in the index, twice, and its path where it has changed.
const BYTES_OF_A_FILE: u64 = 1_200;
/// A file up to this is compared in memory, where its stat data do not tell; larger ones in a stream.
const BYTES_COMPARED_IN_MEMORY: u64 = 512 << 20;

fn budget(files: usize) -> (Duration, u64) {
    let files = u32::try_from(files).unwrap();
    let bytes = BYTES_OF_A_COMMAND + u64::from(files) * BYTES_OF_A_FILE;
    (HANG_TIMEOUT + files * TIME_OF_A_FILE, bytes)
}

/// Makes a repository with so many files and commits; the tip and `first` differ in every tenth file.
fn repository(size: &Size) -> Sandbox {
    let sandbox = Sandbox::unborn();
    let mut import = Command::new("git");
    import.args(["fast-import", "--quiet", "--force"]);
    import.current_dir(&sandbox.root).stdin(Stdio::piped());
    let mut import = import.spawn().unwrap();
    let mut pipe = std::io::BufWriter::new(import.stdin.take().unwrap());
    let person = "Ada <ada@example.com>";
    let commit = |number: usize, subject: &str| {
        let seconds = 1_600_000_000 + number;
        let length = subject.len();
        format!(
            "commit refs/heads/main\ncommitter {person} {seconds} +0000\ndata {length}\n{subject}\n"
        )
    };
    let file = |number: usize, text: &str| {
        format!("M 100644 inline {}\ndata {}\n{text}\n", path(number), text.len())
    };
    pipe.write_all(commit(0, "all").as_bytes()).unwrap();
    for number in 0..size.files {
        pipe.write_all(file(number, &format!("first {}", number % 1000)).as_bytes()).unwrap();
    }
    pipe.write_all(b"reset refs/tags/first\nfrom refs/heads/main\n\n").unwrap();
    for number in 1..size.commits {
        let mut text = commit(number, "one more");
        write!(text, "{}", file(0, &format!("commit {number}"))).unwrap();
        pipe.write_all(text.as_bytes()).unwrap();
    }
    pipe.write_all(commit(size.commits, "second").as_bytes()).unwrap();
    for number in (0..size.files).step_by(10) {
        pipe.write_all(file(number, &format!("second {}", number % 1000)).as_bytes()).unwrap();
    }
    drop(pipe);
    assert!(import.wait().unwrap().success());
    sandbox.git(&["reset", "-q", "--hard", "main"]);
    sandbox
}

/// The path of the file of a number.
fn path(number: usize) -> String {
    format!("d{:03}/e{:02}/f{number:07}", number / 2500, number / 50 % 50)
}

fn start(sandbox: &Sandbox, args: &[&str]) -> Child {
    let mut command = sandbox.program();
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Runs the command that it is given, and prints the most memory that one of its processes has had, in KiB.
///
/// The kernel counts this until a process ends, so no command is too short for it. It begins with the memory of the
/// process that starts the command: here a small one of its own, not this one, in which all tests run.
const PEAK: &str = "import os, sys
silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=silent)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))";

/// Runs a command within a bound of memory; one that hangs is killed.
fn within(sandbox: &Sandbox, args: &[&str], (time, bytes): (Duration, u64)) {
    let mut command = sandbox.process("timeout");
    command.args(["-s", "KILL", &time.as_secs().to_string(), "python3", "-c", PEAK]);
    let output = command.arg(program_path()).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {}: {said}", output.status);
    let kibibytes: u64 = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
    let peak = kibibytes << 10;
    assert!(peak <= bytes, "{args:?} has had {peak} bytes of {bytes}");
}

/// Everything below a folder of ours, but what is never deleted.
fn ours(sandbox: &Sandbox) -> Vec<String> {
    let entries = fs::read_dir(sandbox.path(".git/colony")).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> = names
        .filter(|name| name.starts_with("op-") || name == "pending" || name.starts_with("left-"))
        .collect();
    names.sort();
    names
}

#[test]
fn a_large_repository_stays_in_bounds_and_a_stop_leaves_nothing() {
    let size = size();
    let sandbox = repository(&size);
    let bounds = budget(size.files);
    sandbox.write("new.txt", "new\n");
    within(&sandbox, &["status"], bounds);
    within(&sandbox, &["checkpoint", "-m", "now"], bounds);
    within(&sandbox, &["tag", "-m", "of-first", "first"], bounds);
    within(&sandbox, &["fleet"], bounds);
    within(&sandbox, &["topology"], bounds);
    within(&sandbox, &["checkpoints"], bounds);
    within(&sandbox, &["diff", "first", "HEAD"], bounds);
    within(&sandbox, &["doctor"], bounds);
    let state = || {
        let status = sandbox.git(&["status", "--porcelain"]);
        (sandbox.refs(), sandbox.git(&["write-tree"]), status)
    };
    let before = state();

    // Stopped while it writes new files, at the last one: all is as it was.
    let last = path(size.files - 10);
    let pipe = sandbox.outside().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    let hang = format!("exec 3>'{}'; echo begun >&3; exec sleep 600", pipe.display());
    sandbox.git(&["config", "filter.hang.smudge", &hang]);
    sandbox.write(".git/info/attributes", format!("{last} filter=hang\n"));
    let mut child = start(&sandbox, &["restore", "of-first", "--force"]);
    first_line(&pipe);
    assert!(ours(&sandbox).iter().any(|name| name.contains(".stage")));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let status = end_of(&mut child);
    sandbox.remove(".git/info/attributes");
    assert_eq!(status.code(), Some(130));
    sandbox.git(&["diff", "--quiet"]);
    assert_eq!(state(), before);
    // What was written before goes a part at a time, with the commands that follow.
    for _ in 0..2 + size.files / 10 / 3000 {
        sandbox.automatic_checkpoint();
    }
    assert_eq!(ours(&sandbox), [] as [String; 0]);

    // In the end it tells how far it is.
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let mut world = sandbox.world();
    world.progress = Progress::new(move |step| {
        if let Step::Files { what, done } = step {
            heard.lock().unwrap().push(((*what).to_owned(), *done));
        }
    });
    let run = sandbox.run_in(world, &["restore", "of-first", "--force"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let told = told.lock().unwrap();
    let written: Vec<_> = told.iter().filter(|(what, _)| what == "write files").collect();
    assert!(!written.is_empty(), "{told:?}");
    assert!(written.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    assert!(written.iter().all(|(_, done)| *done <= size.files));
    within(&sandbox, &["undo"], bounds);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_large_file_of_git_lfs_takes_bounded_memory() {
    let size = size();
    let sandbox = Sandbox::new();
    sandbox.colony(&["init"]);
    sandbox.git(&["lfs", "track", "*.large"]);
    let file = fs::File::create(sandbox.path("a.large")).unwrap();
    file.set_len(size.large_bytes).unwrap();
    drop(file);
    let time = HANG_TIMEOUT + u32::try_from(size.large_bytes >> 22).unwrap() * TIME_OF_4_MIB;
    let bounds = (time, BYTES_OF_A_COMMAND + size.large_bytes.min(BYTES_COMPARED_IN_MEMORY));
    within(&sandbox, &["checkpoint", "-m", "large", "--allow-large"], bounds);
    assert!(sandbox.git(&["cat-file", "-p", "HEAD:a.large"]).starts_with("version "));
    sandbox.remove("a.large");
    within(&sandbox, &["restore", "large"], bounds);
    let restored = fs::metadata(sandbox.path("a.large")).unwrap();
    assert_eq!(restored.len(), size.large_bytes);
    within(&sandbox, &["undo"], bounds);
}
