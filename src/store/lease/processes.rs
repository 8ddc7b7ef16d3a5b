//! What the system shows about processes: which run, since when, their parents, what they have open.
//!
//! Linux shows it in `/proc`. On other systems nothing is known and the callers work without.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::store::lock::FileIdentity;

/// A running process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its pid, which another process may have had before.
    pub pid: u32,
    /// The process that started or adopted it.
    pub parent: u32,
    /// Its process group, by the pid of the process that leads it.
    pub group: u32,
    /// Its session, by the pid of the process that started the session.
    pub session: u32,
    /// Its controlling terminal, by device number.
    pub terminal: Option<u32>,
    /// Its start time, in ticks since the system started: pid and start time name one process.
    pub started: u64,
    /// The name of its program, as the system shortens it.
    pub command: String,
}

/// Finds a process; `None` where it has ended, or where the system does not show it.
pub fn find(pid: u32) -> Option<Process> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse(pid, &String::from_utf8_lossy(&stat))
}

/// Returns the parent of a process; `None` where it has ended, or where the system does not show it.
pub fn parent_of(pid: u32) -> Option<u32> {
    find(pid).map(|process| process.parent).filter(|parent| *parent > 1)
}

/// Parses a line of `/proc/<pid>/stat`. The name is in parentheses and may hold any byte.
fn parse(pid: u32, stat: &str) -> Option<Process> {
    let (before, after) = stat.rsplit_once(')')?;
    let (_, command) = before.split_once('(')?;
    let fields: Vec<&str> = after.split_ascii_whitespace().collect();
    // A zombie has ended; its parent has not waited for it yet.
    if matches!(fields.first(), Some(&("Z" | "X" | "x"))) {
        return None;
    }
    Some(Process {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        terminal: terminal_number(fields.get(4)?),
        started: fields.get(19)?.parse().ok()?,
        command: command.to_owned(),
    })
}

/// Parses the number of a terminal, which the system prints as a signed one; 0 means no terminal.
fn terminal_number(field: &str) -> Option<u32> {
    let number = field.parse::<i32>().ok()?.cast_unsigned();
    (number != 0).then_some(number)
}

impl Process {
    /// Returns `true` if it leads the session it is in.
    pub fn leads_session(&self) -> bool {
        self.session == self.pid
    }

    /// Returns `true` if it adopts processes whose parents have ended: process 1, and the service manager of a user.
    pub fn adopts(&self) -> bool {
        self.pid == 1 || self.command == "systemd"
    }

    /// Returns the name of its terminal relative to `/dev`, or the number for an unknown kind.
    pub fn terminal_name(&self) -> Option<String> {
        let number = self.terminal?;
        let (major, minor) = ((number >> 8) & 0xfff, (number & 0xff) | ((number >> 12) & 0xf_ff00));
        Some(match major {
            4 if minor < 64 => format!("tty{minor}"),
            // Each number of this kind has a block of 256.
            136..=143 => format!("pts/{}", (major - 136) * 256 + minor),
            _ => format!("terminal {number}"),
        })
    }
}

/// Lists the running processes.
pub fn all() -> impl Iterator<Item = Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(find)
}

/// Names the system in which pids are valid now: each boot and each container has pids of its own.
pub fn system() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let numbers = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{} {}", boot.trim(), numbers.display())
}

/// Finds a process with its current directory in a folder, or with an open file below it: it can write there
/// even after a rename of the folder. Processes of other users may be hidden. Costs a scan of all open files
/// of the user.
pub fn running_in(folder: &Path) -> Option<Process> {
    let entries = std::fs::read_dir("/proc").ok()?.flatten();
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.find_map(|pid| {
        let own = Path::new("/proc").join(pid.to_string());
        let leads_inside = |link: &Path| {
            let target = std::fs::read_link(link);
            target.is_ok_and(|target| target.starts_with(folder))
        };
        let open = || std::fs::read_dir(own.join("fd")).into_iter().flatten();
        let inside = leads_inside(&own.join("cwd"))
            || leads_inside(&own.join("root"))
            || open().flatten().any(|file| leads_inside(&file.path()));
        inside.then(|| find(pid)).flatten()
    })
}

/// A process that has a file open.
#[derive(Clone, Debug)]
pub struct Holder {
    /// The process.
    pub process: Process,
    /// Whether a lock on the whole file is its own or inherited.
    pub has_lock: bool,
}

/// Lists the processes that have a file open, without this one; those of other users may be hidden. Costs a
/// scan of all open files of the user.
pub fn holders_of(file: FileIdentity) -> Vec<Holder> {
    let own = std::process::id();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let holder = |pid: u32| {
        let open = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
        let mut numbers = open.flatten().filter(|entry| {
            let metadata = std::fs::metadata(entry.path());
            metadata.is_ok_and(|metadata| FileIdentity::from(&metadata) == file)
        });
        let locked = |number: &std::ffi::OsStr| {
            let folder = Path::new("/proc").join(pid.to_string()).join("fdinfo");
            let lines = std::fs::read_to_string(folder.join(number)).unwrap_or_default();
            lines.lines().any(|line| line.starts_with("lock:") && line.contains("FLOCK"))
        };
        let first = locked(&numbers.next()?.file_name());
        let has_lock = first || numbers.any(|entry| locked(&entry.file_name()));
        find(pid).map(|process| Holder { process, has_lock })
    };
    pids.filter(|pid| *pid != own).filter_map(holder).collect()
}

/// Returns the command line of a process; empty where it has ended.
pub fn words_of(pid: u32) -> Vec<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
    let words = line.split(|byte| *byte == 0).filter(|_| !line.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// Returns the current directory of a process; `None` where it has ended, or where that is hidden.
pub fn folder_of(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// Lists the current directories of the processes that run a program with an argument; those of other users
/// may be hidden. Costs a scan of all command lines.
pub fn folders_of(program: &str, argument: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_wanted = |line: &[u8]| {
        let mut words = line.split(|byte| *byte == 0);
        let first = words.next().unwrap_or_default();
        let name = first.rsplit(|byte| *byte == b'/').next();
        name == Some(program.as_bytes()) && words.any(|word| word == argument.as_bytes())
    };
    let running = entries.filter(|entry| {
        let is_number = entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit);
        let line = || std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        is_number && is_wanted(&line())
    });
    let folders = running.filter_map(|entry| std::fs::read_link(entry.path().join("cwd")).ok());
    folders.collect()
}

/// Returns `true` if a process was started with this value of a variable.
pub fn has_variable(pid: u32, name: &str, value: &str) -> bool {
    let wanted = format!("{name}={value}").into_bytes();
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == wanted)
}

/// Lists the processes that have a variable with this value in the environment that they were started with, without this
/// one; those of other users are hidden. Costs a scan of all environments.
pub fn with_variable(name: &str, value: &str) -> Vec<u32> {
    let own = std::process::id();
    let has_it = |process: &Process| has_variable(process.pid, name, value);
    all()
        .filter(|process| process.pid != own && has_it(process))
        .map(|process| process.pid)
        .collect()
}

/// What a git command does to refs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitWork {
    /// It locks none, or it is ours.
    Reads,
    /// It runs in the background and locks none.
    Daemon,
    /// It may lock refs, but moves nothing: maintenance in the background.
    Maintains,
    /// It may lock and move refs.
    Moves,
}

/// The git commands that do not move refs; every other one may.
const COMMANDS: [(&str, GitWork); 18] = [
    ("blame", GitWork::Reads),
    ("cat-file", GitWork::Reads),
    ("colony", GitWork::Reads),
    ("daemon", GitWork::Reads),
    ("diff", GitWork::Reads),
    ("grep", GitWork::Reads),
    ("log", GitWork::Reads),
    ("ls-files", GitWork::Reads),
    ("rev-list", GitWork::Reads),
    ("show", GitWork::Reads),
    ("upload-pack", GitWork::Reads),
    ("credential-cache--daemon", GitWork::Daemon),
    ("fsmonitor--daemon", GitWork::Daemon),
    ("gc", GitWork::Maintains),
    ("maintenance", GitWork::Maintains),
    ("pack-refs", GitWork::Maintains),
    ("prune", GitWork::Maintains),
    ("repack", GitWork::Maintains),
];

impl GitWork {
    /// Returns what a git command does.
    pub fn of(command: &str) -> GitWork {
        let mut known = COMMANDS.iter();
        let entry = known.find(|(name, _)| *name == command);
        entry.map_or(GitWork::Moves, |(_, work)| *work)
    }
}

/// Returns `true` if a git that may hold a lock on a ref runs in one of some folders, or below. Costs a scan
/// of all command lines.
pub fn git_may_lock_refs_in(folders: &[&Path]) -> bool {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.any(|pid| {
        let words = words_of(pid);
        let command = git_command(&words);
        let work = command.map(GitWork::of);
        let may = matches!(work, Some(GitWork::Maintains | GitWork::Moves));
        // A zombie has no current directory.
        let is_own = |at: &Path| folders.iter().any(|own| at.starts_with(own));
        let stands = || folder_of(pid).is_some_and(|at| is_own(&at));
        let is_told = || git_dirs_of(pid, &words).iter().any(|at| is_own(at));
        may && (stands() || is_told())
    })
}

/// Lists the git directories that a git was given, by its command line or its environment.
fn git_dirs_of(pid: u32, words: &[String]) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if let Some(path) = word.strip_prefix("--git-dir=") {
            paths.push(PathBuf::from(path));
        } else if matches!(word.as_str(), "--git-dir" | "-C") {
            paths.extend(words.get(at + 1).map(PathBuf::from));
        }
    }
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let variables = environment.split(|byte| *byte == 0);
    let named = variables.filter_map(|variable| variable.strip_prefix(b"GIT_DIR="));
    paths.extend(named.map(|path| PathBuf::from(OsStr::from_bytes(path))));
    let here = folder_of(pid).unwrap_or_default();
    let whole = paths.into_iter().map(|path| here.join(path));
    whole.map(|path| path.canonicalize().unwrap_or(path)).collect()
}

/// Returns the git command of a command line; `None` for another program.
pub fn git_command(words: &[String]) -> Option<&str> {
    let mut words = words.iter().map(String::as_str);
    let program = words.next()?.rsplit('/').next()?;
    if let Some(command) = program.strip_prefix("git-") {
        return Some(command);
    }
    if program != "git" {
        return None;
    }
    while let Some(word) = words.next() {
        match word {
            "-c" | "-C" | "--git-dir" | "--work-tree" => drop(words.next()),
            _ if word.starts_with('-') => {}
            command => return Some(command),
        }
    }
    Some(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_look_like_the_rest_of_the_line() {
        let fields = "S 7 3 5 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 0";
        let read = parse(9, &format!("9 (a) R 1 (b) {fields}")).unwrap();
        assert_eq!((read.parent, read.session, read.started), (7, 5, 4711));
        assert_eq!(read.command, "a) R 1 (b");
        assert_eq!(parse(9, &format!("9 (a) {}", fields.replace('S', "Z"))), None);
        assert_eq!(parse(9, "9 (a"), None);
    }

    #[test]
    fn a_terminal_is_named_as_below_dev() {
        let named = |number: &str| {
            let fields = format!("S 7 3 5 {number} -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 0");
            parse(9, &format!("9 (sh) {fields}")).unwrap().terminal_name()
        };
        for (number, name) in [
            ("34816", "pts/0"),
            ("34819", "pts/3"),
            ("35071", "pts/255"),
            ("1083392", "pts/256"),
            ("35072", "pts/256"),
            ("1025", "tty1"),
            ("1088", "terminal 1088"),
        ] {
            assert_eq!(named(number).as_deref(), Some(name));
        }
        assert_eq!(named("0"), None);
    }
}
