//! Keys as they come, and changes of the terminal's size.

use std::io;
use std::time::Duration;

use ratatui::crossterm::event::{self, Event};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Returns the next event, if one comes within a time; fails if the terminal has gone.
pub(super) fn next(timeout: Duration) -> io::Result<Option<Event>> {
    // What was read with an earlier key is there already.
    for timeout in [Duration::ZERO, timeout] {
        // crossterm asks a terminal that has gone without end.
        wait(timeout)?;
        if event::poll(Duration::ZERO)? {
            return event::read().map(Some);
        }
    }
    Ok(None)
}

/// Waits for a key, a signal or the end of a time.
fn wait(timeout: Duration) -> io::Result<()> {
    let stdin = rustix::stdio::stdin();
    let mut input = [PollFd::new(&stdin, PollFlags::IN)];
    let timeout = Timespec::try_from(timeout).map_err(io::Error::other)?;
    match poll(&mut input, Some(&timeout)) {
        // A change of the size is a signal.
        Err(Errno::INTR) | Ok(0) => return Ok(()),
        Err(error) => return Err(error.into()),
        Ok(_) => {}
    }
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    if input.iter().any(|input| input.revents().intersects(gone)) {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    Ok(())
}
