//! SIGINT, SIGTERM and SIGHUP: stop before the commit point, and end our children.

use crate::git::process::end_children;
use crate::model::world::Interrupt;

/// Handles signals from now on, on a thread of its own.
///
/// The first one sets the flag that long work looks at and ends the children; what has passed its
/// commit point is still completed. Without the thread signals just end us, which is safe too.
pub fn watch(interrupt: Interrupt) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM]) else {
        return;
    };
    let watcher = std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                interrupt.raise(signal);
                end_children(&interrupt);
            }
        });
    drop(watcher);
}
