//! SIGINT, SIGTERM and SIGHUP: stop before the commit point, and end our children.
//!
//! A second thread ends the process if the work does not notice a signal. `Interrupt::complete` holds that
//! off while a step must not be left half done.

use std::time::Duration;

use crate::git::process::end_children;
use crate::model::world::Interrupt;

/// How long a signal may go without notice before it ends us: something is read that gives no answer.
const UNHEARD: Duration = Duration::from_secs(5);

/// How long cleaning up may take. What is left then, the next command clears.
const UNWINDING: Duration = Duration::from_secs(30);

const BEAT: Duration = Duration::from_millis(100);

/// Handles signals from now on, on a thread of its own.
///
/// The first one sets the flag that long work looks at and ends the children; what has passed its
/// commit point is still completed. Before that, no work outlives a signal for long. Without the thread
/// signals just end us, which is safe too.
pub fn watch(interrupt: Interrupt) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM]) else {
        return;
    };
    // Without it signals do what they do by default.
    spawn("signals", move || {
        let mut is_bounded = false;
        for signal in signals.forever() {
            interrupt.raise(signal);
            if !is_bounded {
                let interrupt = interrupt.clone();
                is_bounded = spawn("patience", move || end_late(&interrupt, signal));
            }
            end_children(&interrupt);
        }
    });
}

/// Starts a thread; tells whether there is one.
fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> bool {
    let named = std::thread::Builder::new().name(name.to_owned());
    named.spawn(work).is_ok()
}

/// Ends the process by the signal once patience is over; waits for what has to be completed.
fn end_late(interrupt: &Interrupt, signal: i32) {
    let mut waited = Duration::ZERO;
    loop {
        std::thread::sleep(BEAT);
        waited = if interrupt.is_completing() {
            Duration::ZERO
        } else {
            waited + BEAT
        };
        let patience = if interrupt.is_heard() {
            UNWINDING
        } else {
            UNHEARD
        };
        if waited >= patience {
            end_children(interrupt);
            // It does not return for a signal that ends a process.
            signal_hook::low_level::emulate_default_handler(signal).ok();
        }
    }
}
