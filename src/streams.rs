//! Standard output and standard error, kept for ourselves: what children inherit instead is a pipe.
//!
//! Filters and merge drivers are started by gix and write where we do. Lines from that pipe go the way
//! of all narration, so that no control byte of them reaches a terminal, and none of them is part of the
//! answer. A process that outlives us finds the pipe closed.

use std::fs::File;
use std::io::{ErrorKind, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::thread::JoinHandle;

use crate::model::World;
use crate::model::program_output::Listening;

/// The streams that nobody but us writes to.
pub struct Streams {
    /// Standard output.
    pub stdout: File,
    /// Standard error.
    pub stderr: File,
}

/// What children write to the streams that they inherit.
pub struct Inherited {
    reader: PipeReader,
    writer: PipeWriter,
}

/// Passes on what children write, until this goes.
pub struct Ear {
    reader: PipeReader,
    writer: PipeWriter,
    thread: Option<JoinHandle<()>>,
}

/// Takes both streams for ourselves, and puts a pipe in their place.
///
/// # Errors
/// Where the process may open no more files.
pub fn take() -> std::io::Result<(Streams, Inherited)> {
    let streams = Streams {
        stdout: std::io::stdout().as_fd().try_clone_to_owned()?.into(),
        stderr: std::io::stderr().as_fd().try_clone_to_owned()?.into(),
    };
    let (reader, writer) = std::io::pipe()?;
    rustix::stdio::dup2_stdout(&writer)?;
    rustix::stdio::dup2_stderr(&writer)?;
    Ok((streams, Inherited { reader, writer }))
}

impl Inherited {
    /// Passes on what comes, on a thread of its own.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn listen(self, world: &World) -> std::io::Result<Ear> {
        let (mut reader, world) = (self.reader.try_clone()?, world.clone());
        let listen = move || pass_on(&mut reader, &world);
        let thread = std::thread::Builder::new().name("ear".to_owned());
        Ok(Ear {
            reader: self.reader,
            writer: self.writer,
            thread: Some(thread.spawn(listen)?),
        })
    }
}

impl Drop for Ear {
    /// Waits for what has been written, and for nothing that a process which outlives us may write.
    fn drop(&mut self) {
        // From now on the thread ends where there is nothing to read.
        if rustix::io::ioctl_fionbio(&self.reader, true).is_err()
            || rustix::io::ioctl_fionbio(&self.writer, true).is_err()
        {
            return;
        }
        match self.writer.write_all(b"\r") {
            // Nothing wakes the thread: it ends with the process.
            Err(e) if e.kind() != ErrorKind::WouldBlock => return,
            // The byte wakes it; of a pipe that is full it needs none.
            _ => {}
        }
        if let Some(thread) = self.thread.take() {
            // It has nothing to return.
            thread.join().ok();
        }
    }
}

fn pass_on(reader: &mut PipeReader, world: &World) {
    let (mut part, mut said) = ([0; 4096], Listening::default());
    loop {
        let count = match reader.read(&mut part) {
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => break,
            Ok(count) => count,
        };
        let heard = said.take(part.get(..count).unwrap_or_default());
        for said in heard {
            said.tell(world);
        }
    }
    if let Some(last) = said.finish() {
        last.tell(world);
    }
    world.progress.end();
}
