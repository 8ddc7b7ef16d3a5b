//! Runs a command in a session of its own and kills it, or a part of it, after a moment.
//!
//! A run is over when the last process that came of it has ended: each holds a pipe that is read to its
//! end.

use std::fmt;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Blow {
    /// The program with all that it has started, at once.
    Group,
    /// The program alone.
    Leader,
    /// What it has started; the program lives.
    Descendants,
}

impl Blow {
    pub(crate) const ALL: [Blow; 3] = [Blow::Group, Blow::Leader, Blow::Descendants];
}

impl fmt::Display for Blow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Blow::Group => "group",
            Blow::Leader => "program",
            Blow::Descendants => "descendants",
        })
    }
}

/// How a run ended.
pub(crate) struct Ended {
    /// False when the command was done before.
    pub(crate) struck: bool,
    /// Its exit code; `None` for a killed one.
    pub(crate) exit_code: Option<i32>,
    /// What it wrote to both streams.
    pub(crate) said: String,
    /// From its start to its own end.
    pub(crate) took: Duration,
    /// A process that it started ran for longer than `END_TIMEOUT`.
    pub(crate) outlived: bool,
}

/// After this nothing is left of a command that was killed, also on a busy machine with a slow disk.
const END_TIMEOUT: Duration = Duration::from_mins(2);

/// Runs a command; strikes it after a moment.
pub(crate) fn run(command: &Command, blow: Blow, after: Duration) -> Ended {
    let started = Instant::now();
    let mut child = in_a_session(command).spawn().expect("setsid is there");
    let said = listen(&mut child);
    let pid = Pid::from_child(&child);
    thread::sleep(after);
    let hit = match blow {
        Blow::Group => kill_process_group(pid, Signal::KILL).is_ok(),
        Blow::Leader => kill_process(pid, Signal::KILL).is_ok(),
        Blow::Descendants => kill_descendants(&mut child),
    };
    let status = child.wait().expect("it is a child of ours");
    let took = started.elapsed();
    let mut words = Vec::new();
    let mut outlived = false;
    for _ in 0..2 {
        match said.recv_timeout(END_TIMEOUT) {
            Ok(bytes) => words.extend(bytes),
            Err(_) => outlived = true,
        }
    }
    Ended {
        // A process that has ended and is not waited for yet can be killed, too.
        struck: hit && (blow == Blow::Descendants || status.code().is_none()),
        exit_code: status.code(),
        said: String::from_utf8_lossy(&words).into_owned(),
        took,
        outlived,
    }
}

/// Puts a session around a command, and a pipe that all its processes hold.
fn in_a_session(command: &Command) -> Command {
    let mut session = Command::new("setsid");
    session.args(["sh", "-c", r#"exec 9>&1; exec "$@""#, "sh"]);
    session.arg(command.get_program()).args(command.get_args());
    session.env_clear();
    for (name, value) in command.get_envs() {
        value.map(|value| session.env(name, value));
    }
    session.current_dir(command.get_current_dir().unwrap_or(Path::new("/")));
    session.stdin(Stdio::null());
    session.stdout(Stdio::piped()).stderr(Stdio::piped());
    session
}

/// Reads both streams to their ends.
fn listen(child: &mut Child) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    let mut out = child.stdout.take().expect("it is a pipe");
    let mut err = child.stderr.take().expect("it is a pipe");
    let other = sender.clone();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        out.read_to_end(&mut bytes).ok();
        sender.send(bytes).ok();
    });
    thread::spawn(move || {
        let mut bytes = Vec::new();
        err.read_to_end(&mut bytes).ok();
        other.send(bytes).ok();
    });
    receiver
}

/// Kills all that a process has started, as soon as there is something.
fn kill_descendants(child: &mut Child) -> bool {
    while let Ok(None) = child.try_wait() {
        let below = in_session(child.id());
        let killed = below.into_iter().filter(|pid| kill_process(*pid, Signal::KILL).is_ok());
        if killed.count() > 0 {
            return true;
        }
        thread::sleep(Duration::from_millis(1));
    }
    false
}

/// The processes of a session but its leader.
fn in_session(leader: u32) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != leader && session_of(*pid) == Some(leader))
        .filter_map(|pid| Pid::from_raw(i32::try_from(pid).ok()?))
        .collect()
}

/// The session of a process that has not ended.
fn session_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    if fields.next()? == "Z" {
        return None;
    }
    fields.nth(2)?.parse().ok()
}
