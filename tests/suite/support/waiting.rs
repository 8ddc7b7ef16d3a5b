//! Waiting for what must come: a file, a line, the end of a process. No test depends on how long that takes.

use std::fs::{self, File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

/// How long a test waits for anything. It only ends a test that hangs: what is waited for takes a fraction of this,
/// also on a busy machine with a slow disk.
pub(crate) const HANG_TIMEOUT: Duration = Duration::from_mins(2);

const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Waits until something is so.
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < HANG_TIMEOUT, "waited in vain: {what}");
        thread::sleep(POLL_INTERVAL);
    }
}

/// Waits until something is so that a process does; fails where the process ends before.
pub(crate) fn eventually_by(child: &mut Child, what: &str, mut is_so: impl FnMut() -> bool) {
    eventually(what, || {
        let ended = child.try_wait().unwrap();
        is_so() || ended.is_some_and(|status| panic!("it has ended with {status}: {what}"))
    });
}

/// Waits for the end of a process; one that hangs is killed.
pub(crate) fn end_of(child: &mut Child) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > HANG_TIMEOUT {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("it did not end");
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Returns `true` if a process runs; one that has ended does not, even if no parent has waited for it yet.
pub(crate) fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z')
}

/// Waits for the first line that a script writes into a named pipe; returns it, and the pipe, which ends when the
/// last process that holds it has ended.
pub(crate) fn first_line(pipe: &Path) -> (String, File) {
    // An open that blocks would wait for ever for a script that is never started.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(pipe).unwrap();
    let mut line = String::new();
    eventually("a line in the pipe", || {
        let mut byte = [0];
        while (&file).read(&mut byte).is_ok_and(|count| count == 1) {
            if byte == *b"\n" {
                return true;
            }
            line.push(char::from(byte[0]));
        }
        false
    });
    rustix::fs::fcntl_setfl(&file, OFlags::empty()).unwrap();
    (line, file)
}
