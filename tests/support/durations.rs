//! How long each test takes, for the list of the slowest that `tests/run` prints.

use std::env;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::thread;
use std::time::Instant;

/// A test that runs in this thread; libtest names the thread after it.
struct Running {
    name: Option<String>,
    begun: Instant,
}

thread_local! {
    static RUNNING: Running = Running {
        name: thread::current().name().map(str::to_owned),
        begun: Instant::now(),
    };
}

/// Counts the time of the test that runs in this thread, from now until the thread ends.
///
/// `COLONY_TEST_TIMES` names the file that gets a line for each test; without it nothing is written.
pub(crate) fn note() {
    RUNNING.with(|_| ());
}

impl Drop for Running {
    fn drop(&mut self) {
        let (Some(name), Some(file)) = (&self.name, env::var_os("COLONY_TEST_TIMES")) else {
            return;
        };
        let seconds = self.begun.elapsed().as_secs_f64();
        let line = format!("{seconds:.2} {}::{name}\n", env!("CARGO_CRATE_NAME"));
        // In one write: tests end at the same time. A list that cannot be written fails no test.
        let file = OpenOptions::new().create(true).append(true).open(file);
        file.and_then(|mut file| file.write_all(line.as_bytes())).ok();
    }
}
