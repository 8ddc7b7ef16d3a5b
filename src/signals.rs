//! SIGINT, SIGTERM, SIGQUIT and SIGHUP: stop before the commit point, and end the children.
//!
//! A second thread ends the process if the work does not notice a signal. `Interrupt::complete`
//! delays that while a step must not be left half done.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::git::process::end_children;
use crate::model::interrupt::Interrupt;

/// How long a signal may go unnoticed before it ends the process: a read may be blocked.
const UNHEARD: Duration = Duration::from_secs(5);

/// The maximum time for cleaning up. The next command removes leftovers.
const UNWINDING: Duration = Duration::from_secs(30);

const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Handles signals from now on, on a thread of its own.
///
/// The first one sets the flag that long work checks, and ends the children; work beyond its commit
/// point is still completed. Other work ends soon after a signal. Without the thread, signals
/// simply end the process, which is safe too.
pub fn watch(interrupt: Interrupt) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    let ending = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];
    let Ok(mut signals) = signal_hook::iterator::Signals::new(ending) else {
        return;
    };
    // Without the thread, signals have their default effect.
    spawn("signals", move || {
        let is_bounded = Arc::new(AtomicBool::new(false));
        for signal in signals.forever() {
            interrupt.raise(signal);
            if !is_bounded.swap(true, Ordering::SeqCst) {
                let (interrupt, own) = (interrupt.clone(), Arc::clone(&is_bounded));
                if !spawn("signal-timeout", move || end_late(&interrupt, signal, &own)) {
                    is_bounded.store(false, Ordering::SeqCst);
                }
            }
            end_children(&interrupt);
        }
    });
}

/// Starts a thread; returns `true` if it could be started.
fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> bool {
    let named = std::thread::Builder::new().name(name.to_owned());
    named.spawn(work).is_ok()
}

/// Ends the process by the signal after the timeout; waits for work that has to be completed. A signal that was forgotten
/// was meant for a child.
fn end_late(interrupt: &Interrupt, signal: i32, is_bounded: &AtomicBool) {
    let mut waited = Duration::ZERO;
    loop {
        std::thread::sleep(POLL_INTERVAL);
        if interrupt.signal().is_none() {
            is_bounded.store(false, Ordering::SeqCst);
            // One that has come since, and found this thread, is bounded by it.
            if interrupt.signal().is_none() || is_bounded.swap(true, Ordering::SeqCst) {
                return;
            }
            waited = Duration::ZERO;
        }
        waited = if interrupt.is_completing() { Duration::ZERO } else { waited + POLL_INTERVAL };
        let timeout = if interrupt.is_heard() { UNWINDING } else { UNHEARD };
        if waited >= timeout {
            end_children(interrupt);
            let signal = interrupt.signal().unwrap_or(signal);
            // It does not return if the signal ends the process.
            signal_hook::low_level::emulate_default_handler(signal).ok();
        }
    }
}
