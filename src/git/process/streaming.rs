//! Reading what a command says while it says it, to its end.
//!
//! What a hook leaves running in the background keeps the pipes of its git open. git waits for nothing of that
//! kind, and neither do we: once the command has ended, a reader that still waits is woken by bytes of our own
//! at the end of all that the command has said.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{ErrorKind, Read, Write as _};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// Is told what a command says, in any pieces.
pub(in crate::git) type Listener = Box<dyn FnMut(&[u8]) + Send>;

/// How long a pipe may stay open after the command has ended: a reader that is only late needs no waking.
const GRACE: Duration = Duration::from_millis(100);

/// More than any pipe holds: what comes then is not of the command.
const MOST_LEFT_BYTES: usize = 1 << 20;

/// Whether a command has ended, for those who read what it says.
pub(in crate::git) struct End {
    /// What stands behind the last byte of the command; nobody can have said it before.
    mark: Vec<u8>,
    is_over: AtomicBool,
}

/// A pipe, as long as somebody reads it.
pub(in crate::git) struct Pipe(Mutex<Option<OwnedFd>>);

impl Pipe {
    /// Takes note of a pipe. Where the process may open no more files, its reader waits for its end.
    pub(in crate::git) fn of(pipe: Option<&impl AsFd>) -> Pipe {
        let known = pipe.and_then(|pipe| pipe.as_fd().try_clone_to_owned().ok());
        Pipe(Mutex::new(known))
    }

    /// Lets go of it, which ends who writes on.
    fn close(&self) {
        drop(self.opened().take());
    }

    fn opened(&self) -> MutexGuard<'_, Option<OwnedFd>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes its reader, if one waits. Where the system does not let a pipe be opened anew, that waits on.
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

    /// Reads a pipe to its end, or up to where the command has ended, and passes on what comes; then closes
    /// it.
    pub(in crate::git) fn read(
        &self,
        (known, mut pipe): (&Pipe, impl Read),
        all: &mut Vec<u8>,
        listener: Option<&mut Listener>,
    ) -> std::io::Result<()> {
        let read = self.read_open(&mut pipe, all, listener);
        known.close();
        read
    }

    fn read_open(
        &self,
        pipe: &mut impl Read,
        all: &mut Vec<u8>,
        mut listener: Option<&mut Listener>,
    ) -> std::io::Result<()> {
        let (mut part, mut left) = ([0; 4096], 0);
        loop {
            let count = match pipe.read(&mut part) {
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                // Only where it is over: the mark may not have fitted in.
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
                if self.cut(all, fresh) || left > MOST_LEFT_BYTES {
                    return Ok(());
                }
            }
            if let Some(listener) = &mut listener {
                listener(all.get(fresh..).unwrap_or_default());
            }
        }
    }

    /// Cuts off the mark and what comes after it.
    fn cut(&self, all: &mut Vec<u8>, fresh: usize) -> bool {
        let from = fresh.saturating_sub(self.mark.len());
        let recent = all.get(from..).unwrap_or_default();
        let mut windows = recent.windows(self.mark.len());
        let at = windows.position(|window| window == self.mark);
        if let Some(at) = at {
            all.truncate(from + at);
        }
        at.is_some()
    }

    /// Waits for the end of a child, which is left to be waited for, and for its readers, whose end `read`
    /// tells; then wakes them.
    pub(in crate::git) fn announce(&self, child: u32, pipes: [&Pipe; 2], read: &Receiver<()>) {
        let pid = i32::try_from(child).ok().and_then(Pid::from_raw);
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let has_ended = pid.is_some_and(|pid| waitid(WaitId::Pid(pid), options).is_ok());
        if has_ended && read.recv_timeout(GRACE) == Err(RecvTimeoutError::Timeout) {
            self.is_over.store(true, Ordering::SeqCst);
            for pipe in pipes {
                // Its reader waits on then, as for a command that has not ended.
                pipe.wake(&self.mark).ok();
            }
        }
    }
}
