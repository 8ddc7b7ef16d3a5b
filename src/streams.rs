//! Standard output and standard error, reserved for this program: its children inherit a pipe
//! instead.
//!
//! gix starts filters and merge drivers, and they inherit the streams of the process. Lines from
//! that pipe are treated like all narration, so that their control bytes do not reach a terminal
//! and they are not part of the answer. A process that outlives this one finds the pipe closed.

use std::fs::File;
use std::io::{ErrorKind, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::model::World;
use crate::model::program_output::Listening;

/// The streams that nobody but us writes to.
#[derive(Debug)]
pub struct Streams {
    /// Standard output.
    pub stdout: File,
    /// Standard error.
    pub stderr: File,
}

/// The output of children through the streams that they inherit.
pub struct Inherited {
    reader: PipeReader,
    writer: PipeWriter,
}

/// Passes on the output of children until it is dropped.
pub struct OutputRelay {
    reader: PipeReader,
    writer: PipeWriter,
    world: World,
    /// Reads while children run; most commands have none that inherits a stream, and start no thread.
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
}

/// Reserves both streams, and puts a pipe in their place.
///
/// # Errors
/// If the process cannot open more files.
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
    /// Passes on the output: on a thread of its own from the first [`World::listen`] of `world`, and all that is left
    /// at the end.
    ///
    /// # Errors
    /// If the process cannot open more files.
    pub fn attach(self, world: &mut World) -> std::io::Result<OutputRelay> {
        let (reader, own) = (self.reader.try_clone()?, world.clone());
        let ear = OutputRelay {
            reader: self.reader,
            writer: self.writer,
            world: own.clone(),
            thread: Arc::default(),
        };
        let thread = Arc::clone(&ear.thread);
        world.listen = Arc::new(move || {
            let mut thread = unpoisoned(&thread);
            if thread.is_none() {
                *thread = spawn(&reader, &own);
            }
        });
        Ok(ear)
    }
}

/// Starts the thread; without one, the output is passed on at the end.
fn spawn(reader: &PipeReader, world: &World) -> Option<JoinHandle<()>> {
    let (mut reader, world) = (reader.try_clone().ok()?, world.clone());
    let listen = move || pass_on(&mut reader, &world);
    let thread = std::thread::Builder::new().name("ear".to_owned());
    thread.spawn(listen).ok()
}

fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for OutputRelay {
    /// Waits for the output written so far, but not for a process that outlives this one.
    fn drop(&mut self) {
        // From now on reading ends when the pipe is empty.
        if rustix::io::ioctl_fionbio(&self.reader, true).is_err()
            || rustix::io::ioctl_fionbio(&self.writer, true).is_err()
        {
            return;
        }
        let Some(thread) = unpoisoned(&self.thread).take() else {
            return pass_on(&mut self.reader, &self.world);
        };
        match self.writer.write_all(b"\r") {
            // The thread cannot be woken: it ends with the process.
            Err(e) if e.kind() != ErrorKind::WouldBlock => return,
            // The byte wakes the thread; if the pipe is full, it is awake.
            _ => {}
        }
        // The thread returns nothing.
        thread.join().ok();
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
        let heard = said.take(part.get(..count).expect("as many were read"));
        for said in heard {
            said.tell(world);
        }
    }
    if let Some(last) = said.finish() {
        last.tell(world);
    }
    world.progress.end();
}
