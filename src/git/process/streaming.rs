//! Streaming of a command's output until the command ends.
//!
//! A process that a hook leaves in the background keeps the pipes of its git open. git does not
//! wait for it, and neither does this module: once the command has ended, a marker written into the
//! pipe wakes a reader that still waits.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{ErrorKind, Read, Write as _};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Receives the output of a command, in pieces of any size.
pub(in crate::git) type Listener = Box<dyn FnMut(&[u8]) + Send>;

/// Gets the output of a command, in pieces of any size, on the thread that waits for it.
pub(in crate::git) type OnOutput<'a> = &'a mut dyn FnMut(&[u8]);

/// Where the output of a command goes.
pub(in crate::git) struct Reader<'a> {
    /// Whether all of it is stored.
    pub(in crate::git) stores: bool,
    /// Gets it as it arrives.
    pub(in crate::git) listener: Option<OnOutput<'a>>,
}

impl Reader<'_> {
    fn hear(&mut self, bytes: &[u8]) {
        if let Some(listener) = &mut self.listener {
            listener(bytes);
        }
    }
}

/// How long a pipe may stay open after the command has ended: a reader that is only late needs no
/// marker.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(100);

/// More than any pipe holds: bytes beyond it are not from the command.
const MAX_LEFT_BYTES: usize = 1 << 20;

/// Whether a command has ended, for the readers of its output.
pub(in crate::git) struct End {
    /// The marker after the last byte of the command; it is random, so the command cannot have
    /// written it.
    mark: Vec<u8>,
    is_over: AtomicBool,
}

/// A pipe, while it is being read.
pub(in crate::git) struct Pipe(Mutex<Option<OwnedFd>>);

impl Pipe {
    /// Remembers a pipe. If the process cannot open more files, the reader waits for the end of the
    /// pipe.
    pub(in crate::git) fn of(pipe: Option<&impl AsFd>) -> Pipe {
        let known = pipe.and_then(|pipe| pipe.as_fd().try_clone_to_owned().ok());
        Pipe(Mutex::new(known))
    }

    /// Closes the pipe, which ends a program that continues to write.
    fn close(&self) {
        drop(self.opened().take());
    }

    fn opened(&self) -> MutexGuard<'_, Option<OwnedFd>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes a waiting reader. If the system does not let the pipe be opened again, the reader
    /// waits on.
    fn wake(&self, mark: &[u8]) -> std::io::Result<()> {
        let opened = self.opened();
        let Some(pipe) = opened.as_ref() else {
            return Ok(());
        };
        let path = format!("/proc/self/fd/{}", pipe.as_raw_fd());
        let mut writer = std::fs::OpenOptions::new().write(true).open(path)?;
        rustix::io::ioctl_fionbio(&writer, true)?;
        // A reader that does not wait yet never will.
        rustix::io::ioctl_fionbio(pipe, true)?;
        writer.write_all(mark)
    }
}

impl End {
    pub(in crate::git) fn new() -> End {
        let number = RandomState::new().build_hasher().finish();
        End {
            mark: format!("\0ended {number:016x}\0").into_bytes(),
            is_over: AtomicBool::new(false),
        }
    }

    /// Reads a pipe to its end, or to the end of the command, and passes on the output; then closes
    /// the pipe.
    pub(in crate::git) fn read(
        &self,
        known: &Pipe,
        mut pipe: impl Read,
        all: &mut Vec<u8>,
        to: Reader<'_>,
    ) -> std::io::Result<()> {
        let read = self.read_open(&mut pipe, all, to);
        known.close();
        read
    }

    fn read_open(
        &self,
        pipe: &mut impl Read,
        all: &mut Vec<u8>,
        mut to: Reader<'_>,
    ) -> std::io::Result<()> {
        let (mut part, mut left) = ([0; 4096], 0);
        loop {
            let count = match pipe.read(&mut part) {
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                // Only after the end of the command: the marker may not have fitted in.
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                count => count?,
            };
            let Some(read) = part.get(..count).filter(|read| !read.is_empty()) else {
                return Ok(());
            };
            let fresh = all.len();
            all.extend_from_slice(read);
            if self.is_over.load(Ordering::SeqCst) {
                left += count;
                if self.cut(all, fresh) || left > MAX_LEFT_BYTES {
                    to.hear(all.get(fresh..).unwrap_or_default());
                    return Ok(());
                }
            }
            to.hear(all.get(fresh..).unwrap_or_default());
            if !to.stores {
                // The marker may begin in this part.
                all.drain(..all.len().saturating_sub(self.mark.len()));
            }
        }
    }

    /// Cuts off the marker and everything after it.
    fn cut(&self, all: &mut Vec<u8>, fresh: usize) -> bool {
        let from = fresh.saturating_sub(self.mark.len());
        let recent = all.get(from..).expect("the place is in what was read");
        let mut windows = recent.windows(self.mark.len());
        let at = windows.position(|window| window == self.mark);
        if let Some(at) = at {
            all.truncate(from + at);
        }
        at.is_some()
    }

    /// Waits, after the end of a child, for its readers, whose end `read` reports; then wakes them.
    pub(in crate::git) fn announce(&self, pipes: [&Pipe; 2], read: &Receiver<()>) {
        if read.recv_timeout(CLOSE_TIMEOUT) == Err(RecvTimeoutError::Timeout) {
            self.is_over.store(true, Ordering::SeqCst);
            for pipe in pipes {
                // If this fails, the reader waits on, as for a running command.
                pipe.wake(&self.mark).ok();
            }
        }
    }
}
