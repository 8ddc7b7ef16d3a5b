//! Handing the id of a session to the commands that Claude Code runs, which learn of it in no other way.
//!
//! The file is Claude Code's: it names it to the hook of a session's start, and reads it before each command.
//! Other hooks write there, too, so a line is added and nothing else in it is touched.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::model::id::SessionId;
use crate::model::{Error, Result, World};
use crate::store::lease::lease_holder::SESSION_VARIABLE;

/// Names the file.
const FILE_VARIABLE: &str = "CLAUDE_ENV_FILE";

/// So much of the file is looked at for the line.
const MAX_BYTES: u64 = 1 << 20;

/// Adds the line that sets `COLONY_SESSION`, unless it is the last of its kind already. Does nothing where no
/// file is named.
///
/// # Errors
/// `io`, `no-space`; also where the name is that of a link or of no file.
pub fn tell(world: &World, session: &SessionId) -> Result<()> {
    let Some(path) = world.variable(FILE_VARIABLE).map(Path::new) else {
        return Ok(());
    };
    let path = world.absolute(path);
    // An id holds nothing that a shell takes for more than itself.
    let line = format!("export {SESSION_VARIABLE}={}", session.as_str());
    add(&path, &line).map_err(|e| Error::io(format!("cannot add to '{}'", path.display()), e))
}

fn add(path: &Path, line: &str) -> std::io::Result<()> {
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::CLOEXEC;
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mode = Mode::RUSR | Mode::WUSR;
    let mut file = File::from(rustix::fs::open(path, flags, mode)?);
    if !file.metadata()?.is_file() {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    (&mut file).take(MAX_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let own = format!("export {SESSION_VARIABLE}=");
    if text.lines().rfind(|found| found.starts_with(&own)) == Some(line) {
        return Ok(());
    }
    let is_at_line = text.is_empty() || text.ends_with('\n');
    let gap = if is_at_line { "" } else { "\n" };
    // In one call: other hooks may add theirs at the same time.
    file.write_all(format!("{gap}{line}\n").as_bytes())
}
