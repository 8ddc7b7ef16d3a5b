//! Waiting for what must come: a file, a line, the end of a process. No test depends on how long that takes.

use std::fs::{File, OpenOptions};
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
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < HANG_TIMEOUT, "waited in vain: {what}");
        thread::sleep(POLL_INTERVAL);
    }
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
