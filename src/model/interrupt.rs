//! Signals that ask a command to stop, and the children that they must reach.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::Code;
use super::error::{Error, Result, Verdict};

/// What has to happen once.
type Prepare = Box<dyn FnOnce() + Send>;

/// The flag that signals set, and the children that they must reach.
#[derive(Clone, Default)]
pub struct Interrupt {
    /// `true` once a signal asked to stop.
    pub flag: Arc<AtomicBool>,
    signal: Arc<AtomicI32>,
    children: Arc<Mutex<Vec<u32>>>,
    died: Arc<AtomicBool>,
    heard: Arc<AtomicBool>,
    completing: Arc<AtomicUsize>,
    spared: Arc<AtomicU32>,
    before_children: Arc<Mutex<Option<Prepare>>>,
    /// Of the interrupt that this one replaces.
    _outer: Option<Arc<Completing>>,
}

/// While this exists, work is running that must not be left half done.
pub struct Completing(Arc<AtomicUsize>);

impl Drop for Completing {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Interrupt {
    /// Records that `signal` asked to stop.
    pub fn raise(&self, signal: i32) {
        self.signal.store(signal, Ordering::SeqCst);
        self.flag.store(true, Ordering::SeqCst);
    }

    /// Ends early with `interrupted` if a signal came.
    pub fn check(&self) -> Result<()> {
        if !self.flag.load(Ordering::SeqCst) {
            return Ok(());
        }
        self.heard.store(true, Ordering::SeqCst);
        let signal = self.signal.load(Ordering::SeqCst);
        Err(Error::new(Code::Interrupted, "interrupted")
            .unchanged()
            .verdict(Verdict::Signal(signal)))
    }

    /// Returns the signal that asked to stop, if one came.
    pub fn signal(&self) -> Option<i32> {
        let came = self.flag.load(Ordering::SeqCst);
        came.then(|| self.signal.load(Ordering::SeqCst))
    }

    /// Forgets a signal that has come and was meant for a child.
    pub fn forget(&self, signal: i32) {
        if self.signal() == Some(signal) {
            self.flag.store(false, Ordering::SeqCst);
        }
    }

    /// Notes a child that deals with signals itself: a pager, which ends when its reader wants it to.
    pub fn spare(&self, child: u32) {
        self.begin_children();
        self.spared.store(child, Ordering::SeqCst);
    }

    /// Returns that child.
    pub fn spared(&self) -> Option<u32> {
        Some(self.spared.load(Ordering::SeqCst)).filter(|child| *child != 0)
    }

    /// Returns `true` if the work has noticed a signal and is about to end.
    pub fn is_heard(&self) -> bool {
        self.heard.load(Ordering::SeqCst)
    }

    /// Marks the beginning of work that must be completed, however long a signal waits for it.
    #[must_use]
    pub fn complete(&self) -> Completing {
        self.completing.fetch_add(1, Ordering::SeqCst);
        Completing(Arc::clone(&self.completing))
    }

    /// Returns `true` if such work is running.
    pub fn is_completing(&self) -> bool {
        self.completing.load(Ordering::SeqCst) > 0
    }

    /// Records that a test made this run die.
    pub(super) fn die(&self) {
        self.died.store(true, Ordering::SeqCst);
    }

    pub(super) fn has_died(&self) -> bool {
        self.died.load(Ordering::SeqCst)
    }

    /// Returns an interrupt that no signal reaches; while it exists, this one is completing.
    pub(super) fn set_aside(&self) -> Interrupt {
        Interrupt { _outer: Some(Arc::new(self.complete())), ..Interrupt::default() }
    }

    /// Has signals handled from the first child on: until then, one may end the process as it ends any program.
    pub fn before_children(&self, handle_signals: impl FnOnce() + Send + 'static) {
        *unpoisoned(&self.before_children) = Some(Box::new(handle_signals));
    }

    /// Records a child process that has to end with this one.
    pub fn adopt(&self, child: u32) {
        self.begin_children();
        self.with_children(|children| children.push(child));
    }

    fn begin_children(&self) {
        let handle_signals = unpoisoned(&self.before_children).take();
        if let Some(handle_signals) = handle_signals {
            handle_signals();
        }
    }

    /// Forgets a child that has ended.
    pub fn release(&self, child: u32) {
        self.with_children(|children| children.retain(|&pid| pid != child));
    }

    /// Returns the living children.
    pub fn children(&self) -> Vec<u32> {
        self.with_children(|children| children.clone())
    }

    fn with_children<T>(&self, act: impl FnOnce(&mut Vec<u32>) -> T) -> T {
        act(&mut unpoisoned(&self.children))
    }
}

/// Locks a value that a panic elsewhere leaves valid.
pub fn unpoisoned<T>(value: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    value.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_handled_from_the_first_child_on() {
        let interrupt = Interrupt::default();
        let times = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&times);
        interrupt.before_children(move || {
            seen.fetch_add(1, Ordering::SeqCst);
        });
        assert_eq!(times.load(Ordering::SeqCst), 0);
        interrupt.clone().adopt(1);
        interrupt.adopt(2);
        assert_eq!(times.load(Ordering::SeqCst), 1);
        assert_eq!(interrupt.children(), [1, 2]);
        // A pager is one, too: it has the terminal until its reader ends it.
        let (paged, times) = (Interrupt::default(), Arc::new(AtomicUsize::new(0)));
        let seen = Arc::clone(&times);
        paged.before_children(move || {
            seen.fetch_add(1, Ordering::SeqCst);
        });
        paged.spare(3);
        assert_eq!(times.load(Ordering::SeqCst), 1);
    }
}
