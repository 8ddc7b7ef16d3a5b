//! The log of a process that watches in the background: what it reports there, with the time. It is bounded, and may
//! be deleted at any time.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::model::{Error, Result};
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::files::places::Places;

/// Maximum bytes; of a longer log the last lines stay.
const MAX_BYTES: u64 = 256 * 1024;

/// The bytes of these lines.
const KEPT_BYTES: u64 = 64 * 1024;

/// Returns the path of the log of a working tree.
pub fn path(session: &Session) -> PathBuf {
    Places::watcher_log(session.repo.git_dir())
}

/// Opens the log for a process that appends to it.
pub fn open(session: &Session) -> Result<File> {
    let path = path(session);
    if let Some(folder) = path.parent() {
        atomic::make_directory(folder)?;
    }
    shorten(&path);
    let opened = options().append(true).create(true).mode(0o600).open(&path);
    opened.map_err(|error| Error::io(format!("cannot open '{}'", path.display()), error))
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    // A symlink would lead elsewhere.
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    options.custom_flags(flags);
    options
}

/// Shortens a log that is too long, in place: the process that appends to it has the file open.
pub(super) fn shorten(path: &Path) {
    let is_long = |path: &Path| {
        let metadata = std::fs::symlink_metadata(path);
        metadata.is_ok_and(|metadata| metadata.is_file() && metadata.len() > MAX_BYTES)
    };
    if is_long(path) {
        // It is tried again the next time.
        drop(keep_last_lines(path));
    }
}

fn keep_last_lines(path: &Path) -> std::io::Result<()> {
    let mut file = options().read(true).write(true).open(path)?;
    let start = file.metadata()?.len().saturating_sub(KEPT_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut last = Vec::new();
    Read::by_ref(&mut file).take(KEPT_BYTES).read_to_end(&mut last)?;
    let first_line = last.iter().position(|&byte| byte == b'\n');
    let lines = first_line.and_then(|end| last.get(end + 1..));
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(lines.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_long_log_keeps_its_last_lines_and_grows_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("watcher.log");
        let mut log = options().append(true).create(true).open(&path).unwrap();
        for number in 0..30_000 {
            writeln!(log, "line {number}").unwrap();
            shorten(&path);
        }
        writeln!(log, "the last").unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.len() as u64 <= MAX_BYTES);
        assert!(text.ends_with("line 29999\nthe last\n"));
        let numbers: Vec<usize> =
            text.lines().filter_map(|line| line.strip_prefix("line ")?.parse().ok()).collect();
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1));
        assert!(numbers.len() > 5_000);
    }
}
