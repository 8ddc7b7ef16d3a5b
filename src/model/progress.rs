//! How far long work is, for the person who waits: no answer, and no part of one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

type Tell = dyn Fn(&Step<'_>) + Send + Sync;

/// Who is told. The one that is made from nothing tells nobody.
#[derive(Clone, Default)]
pub struct Progress {
    tell: Option<Arc<Tell>>,
    is_unwanted: bool,
}

/// What is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// So many files are done of what is named. Told after each, from any thread.
    Files {
        /// What is being done.
        what: &'a str,
        /// How many are done.
        done: usize,
    },
    /// So much is done of all there is. Told from any thread.
    Part {
        /// What is being done.
        what: &'a str,
        /// How much is done.
        done: u64,
        /// How much there is.
        total: u64,
        /// What is counted.
        unit: Unit,
    },
    /// What a program says of its own work. Told from any thread.
    Said(&'a str),
    /// The work has ended, one way or another.
    Ended,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Commits.
    Commits,
    /// Bytes.
    Bytes,
}

impl Progress {
    /// Has each step told to `tell`, which decides what of it is shown.
    pub fn new(tell: impl Fn(&Step<'_>) + Send + Sync + 'static) -> Progress {
        Progress {
            tell: Some(Arc::new(tell)),
            is_unwanted: false,
        }
    }

    /// Has nothing told, as somebody wishes.
    pub fn unwanted() -> Progress {
        Progress {
            tell: None,
            is_unwanted: true,
        }
    }

    /// Tells whether somebody wishes to hear nothing of it.
    pub fn is_unwanted(&self) -> bool {
        self.is_unwanted
    }

    /// Tells whether anybody is told.
    pub fn is_heard(&self) -> bool {
        self.tell.is_some()
    }

    /// Passes on what a program says of its own work.
    pub fn pass_on(&self, text: &str) {
        self.tell(&Step::Said(text));
    }

    /// Does work that says nothing of itself, such as waiting for a server, and tells meanwhile what is done.
    pub fn during<T>(&self, what: &str, work: impl FnOnce() -> T) -> T {
        /// How often that is told: the line decides what of it is shown.
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

    /// Tells how many files are done of what is named.
    pub fn tell_files(&self, what: &str, done: usize) {
        self.tell(&Step::Files { what, done });
    }

    /// Tells that the work of a program has ended.
    pub fn end(&self) {
        self.tell(&Step::Ended);
    }

    fn tell(&self, step: &Step<'_>) {
        if let Some(tell) = &self.tell {
            tell(step);
        }
    }
}

/// Counts the files of one piece of work; that it has ended is told when this goes.
pub struct FileMeter {
    progress: Progress,
    what: String,
    done: AtomicUsize,
}

impl FileMeter {
    /// Begins to count.
    pub fn begin(progress: &Progress, what: String) -> FileMeter {
        FileMeter {
            progress: progress.clone(),
            what,
            done: AtomicUsize::new(0),
        }
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

/// Tells how much of one piece of work is done; that it has ended is told when this goes.
pub struct PartMeter {
    progress: Progress,
    unit: Unit,
}

impl PartMeter {
    /// Begins to tell.
    pub fn begin(progress: &Progress, unit: Unit) -> PartMeter {
        PartMeter {
            progress: progress.clone(),
            unit,
        }
    }

    /// Tells how much is done, and of what.
    pub fn tell(&self, what: &str, (done, total): (u64, u64)) {
        let unit = self.unit;
        self.progress.tell(&Step::Part {
            what,
            done,
            total,
            unit,
        });
    }
}

impl Drop for PartMeter {
    fn drop(&mut self) {
        self.progress.tell(&Step::Ended);
    }
}
