//! A log that takes what a program prints, for days, and stays small.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::path::Path;

/// The size in bytes at which a log loses its beginning.
pub const MAX_BYTES: u64 = 1 << 20;

/// The last bytes that stay then.
const KEPT_BYTES: u64 = 256 << 10;

/// The bytes that are read at once.
const PART: usize = 64 << 10;

/// Creates a log, empty; a link in its place is not followed.
pub fn create(path: &Path) -> io::Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().read(true).append(true).create_new(true).open(path)
}

/// Writes all of an input to a log, each part as it comes. What cannot be written is left out: the program that prints it
/// must not end because a disk is full.
pub fn copy(mut input: impl Read, log: &mut File) -> io::Result<()> {
    let mut part = vec![0; PART];
    loop {
        let count = match input.read(&mut part) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let written = log.write_all(part.get(..count).unwrap_or_default());
        written.and_then(|()| shorten(log)).ok();
    }
}

/// Leaves the last lines of a log that has become too large. Who follows it sees a shorter file; others may have emptied it.
fn shorten(log: &mut File) -> io::Result<()> {
    let size = log.metadata()?.len();
    if size <= MAX_BYTES {
        return Ok(());
    }
    log.seek(SeekFrom::Start(size - KEPT_BYTES))?;
    let mut kept = Vec::new();
    log.read_to_end(&mut kept)?;
    let line = kept.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let kept = kept.get(line..).unwrap_or_default();
    log.set_len(0)?;
    log.write_all(kept)
}
