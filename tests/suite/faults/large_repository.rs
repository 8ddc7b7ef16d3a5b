//! A large repository: many files, a long history, a large file of git-lfs. Time and memory stay within stated
//! bounds, progress is told, and what is stopped leaves nothing behind.
//!
//! The long form (`COLONY_TEST_LONG`) has a million files, a hundred thousand commits and 5 GB in git-lfs.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use git_colony::testing::{Progress, Step};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::Sandbox;

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

/// What a look at every file may take, with all checks of a debug build.
const MICROSECONDS_OF_A_FILE: u64 = 1_200;
/// What any command may take beside.
const SECONDS_OF_A_COMMAND: u64 = 20;
/// What any command may have of memory.
const BYTES_OF_A_COMMAND: u64 = 96 << 20;
/// What it may have for each file: its entry in the index, twice, and its path where it has changed.
const BYTES_OF_A_FILE: u64 = 1_200;
/// A file up to this is compared in memory, where its stat data do not tell; larger ones in a stream.
const BYTES_COMPARED_IN_MEMORY: u64 = 512 << 20;
/// How soon who is told to stop has stopped.
const SECONDS_TO_STOP: u64 = 15;

fn budget(files: usize) -> (Duration, u64) {
    let files = files as u64;
    let time = Duration::from_micros(files * MICROSECONDS_OF_A_FILE);
    (time + Duration::from_secs(SECONDS_OF_A_COMMAND), BYTES_OF_A_COMMAND + files * BYTES_OF_A_FILE)
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
    let path =
        |number: usize| format!("d{:03}/e{:02}/f{number:07}", number / 2500, number / 50 % 50);
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

fn start(sandbox: &Sandbox, args: &[&str]) -> Child {
    let mut command = sandbox.program();
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Returns the most memory a process has had by now; nothing once it has ended.
fn peak_bytes(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes << 10)
}

/// Runs a command within bounds.
fn within(sandbox: &Sandbox, args: &[&str], (time, bytes): (Duration, u64)) {
    let began = Instant::now();
    let mut child = start(sandbox, args);
    let mut peak = 0;
    let status = loop {
        peak = peak_bytes(child.id()).unwrap_or(peak);
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(began.elapsed() < time, "{args:?} takes longer than {time:?}");
        std::thread::sleep(Duration::from_millis(3));
    };
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
    assert!(status.success(), "{args:?}: {said}");
    assert!(peak > 0, "{args:?}");
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

    // Stopped while it writes new files: all is as it was.
    let mut child = start(&sandbox, &["restore", "of-first", "--force"]);
    let is_staging = || ours(&sandbox).iter().any(|name| name.contains(".stage"));
    while !is_staging() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let told = Instant::now();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let status = child.wait().unwrap();
    assert!(told.elapsed() < Duration::from_secs(SECONDS_TO_STOP), "{:?}", told.elapsed());
    assert_eq!(status.code(), Some(130));
    sandbox.git(&["diff", "--quiet"]);
    assert_eq!(state(), before);
    // What was written before goes a part at a time, with the commands that follow.
    for _ in 0..2 + size.files / 10 / 3000 {
        sandbox.colony(&["checkpoint", "--auto"]);
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
    let (time, bytes) = (Duration::from_secs(20 + (size.large_bytes >> 22)), BYTES_OF_A_COMMAND);
    let bounds = (time, bytes + size.large_bytes.min(BYTES_COMPARED_IN_MEMORY));
    within(&sandbox, &["checkpoint", "-m", "large", "--allow-large"], bounds);
    assert!(sandbox.git(&["cat-file", "-p", "HEAD:a.large"]).starts_with("version "));
    sandbox.remove("a.large");
    within(&sandbox, &["restore", "large"], bounds);
    let restored = fs::metadata(sandbox.path("a.large")).unwrap();
    assert_eq!(restored.len(), size.large_bytes);
    within(&sandbox, &["undo"], bounds);
}
