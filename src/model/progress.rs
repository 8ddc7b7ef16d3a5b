//! Progress of long work, for the user; never part of the answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

type Tell = dyn Fn(&Step<'_>) + Send + Sync;

/// The receiver of progress reports. The default one ignores them.
#[derive(Clone, Default)]
pub struct Progress {
    tell: Option<Arc<Tell>>,
    is_unwanted: bool,
}

/// A progress report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// The number of files that are done. Sent after each file, from any thread.
    Files {
        /// The work.
        what: &'a str,
        /// The number that is done.
        done: usize,
    },
    /// The amount that is done, of a known total. Sent from any thread.
    Part {
        /// The work.
        what: &'a str,
        /// The amount that is done.
        done: u64,
        /// The total.
        total: u64,
        /// The unit of both.
        unit: Unit,
    },
    /// A program's own progress line. Sent from any thread.
    Said(&'a str),
    /// The work has ended, also by an error.
    Ended,
}

/// A unit of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Commits.
    Commits,
    /// Bytes.
    Bytes,
}

impl Progress {
    /// Passes each report to `tell`, which decides what to display.
    pub fn new(tell: impl Fn(&Step<'_>) + Send + Sync + 'static) -> Progress {
        Progress { tell: Some(Arc::new(tell)), is_unwanted: false }
    }

    /// Ignores all reports, as the user asked.
    pub fn unwanted() -> Progress {
        Progress { tell: None, is_unwanted: true }
    }

    /// Returns `true` if the user asked for no progress reports.
    pub fn is_unwanted(&self) -> bool {
        self.is_unwanted
    }

    /// Returns `true` if reports are not ignored.
    pub fn is_heard(&self) -> bool {
        self.tell.is_some()
    }

    /// Passes on a program's own progress line.
    pub fn pass_on(&self, text: &str) {
        self.tell(&Step::Said(text));
    }

    /// Does work that does not report progress, such as waiting for a server, and shows `what`
    /// meanwhile.
    pub fn during<T>(&self, what: &str, work: impl FnOnce() -> T) -> T {
        /// The interval between reports; the receiver decides what to display.
        const INTERVAL: Duration = Duration::from_millis(100);
        if !self.is_heard() {
            return work();
        }
        let (ended, end) = mpsc::channel::<()>();
        let done = std::thread::scope(|scope| {
            scope.spawn(move || {
                self.pass_on(what);
                while end.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                    self.pass_on(what);
                }
            });
            let done = work();
            drop(ended);
            done
        });
        self.end();
        done
    }

    /// Reports how many files of the work are done.
    pub fn tell_files(&self, what: &str, done: usize) {
        self.tell(&Step::Files { what, done });
    }

    /// Reports that the work has ended.
    pub fn end(&self) {
        self.tell(&Step::Ended);
    }

    fn tell(&self, step: &Step<'_>) {
        if let Some(tell) = &self.tell {
            tell(step);
        }
    }
}

/// Counts the files of one piece of work; reports its end when dropped.
pub struct FileMeter {
    progress: Progress,
    what: String,
    done: AtomicUsize,
}

impl FileMeter {
    /// Starts counting.
    pub fn begin(progress: &Progress, what: String) -> FileMeter {
        FileMeter { progress: progress.clone(), what, done: AtomicUsize::new(0) }
    }

    /// Counts one file.
    pub fn count(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let what = &self.what;
        self.progress.tell_files(what, done);
    }
}

impl Drop for FileMeter {
    fn drop(&mut self) {
        self.progress.tell(&Step::Ended);
    }
}

/// Reports the progress of one piece of work; reports its end when dropped.
pub struct PartMeter {
    progress: Progress,
    unit: Unit,
}

impl PartMeter {
    /// Starts reporting.
    pub fn begin(progress: &Progress, unit: Unit) -> PartMeter {
        PartMeter { progress: progress.clone(), unit }
    }

    /// Reports the amount that is done, and the total.
    pub fn tell(&self, what: &str, (done, total): (u64, u64)) {
        let unit = self.unit;
        self.progress.tell(&Step::Part { what, done, total, unit });
    }
}

impl Drop for PartMeter {
    fn drop(&mut self) {
        self.progress.tell(&Step::Ended);
    }
}
