//! Passes the id of a session to the commands that Claude Code runs; they have no other way to get it.
//!
//! The file belongs to Claude Code, which names it to the hook of a session's start and reads it before each
//! command. Other hooks write there, too, so a line is added and nothing else is touched.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::model::id::SessionId;
use crate::model::{Error, Result, World};
use crate::store::lease::lease_holder::SESSION_VARIABLE;

/// The variable with the path of the file.
const FILE_VARIABLE: &str = "CLAUDE_ENV_FILE";

/// The number of bytes that are searched for the line.
const MAX_BYTES: u64 = 1 << 20;

/// Adds the line that sets `COLONY_SESSION`, unless it is the last of its kind already. Does nothing if no
/// file is named.
pub fn add_line(world: &World, session: &SessionId) -> Result<()> {
    let Some(path) = world.variable(FILE_VARIABLE).map(Path::new) else {
        return Ok(());
    };
    let path = world.absolute(path);
    // An id has no character with a meaning for a shell.
    let line = format!("export {SESSION_VARIABLE}={}", session.as_str());
    add(&path, &line).map_err(|e| {
        Error::io(
            format!(
                "cannot write the session id to '{}', which {FILE_VARIABLE} names",
                path.display()
            ),
            e,
        )
    })
}

fn add(path: &Path, line: &str) -> std::io::Result<()> {
    let safely = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | safely;
    let mode = Mode::RUSR | Mode::WUSR;
    let mut file = File::from(rustix::fs::open(path, flags, mode)?);
    if !file.metadata()?.is_file() {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    (&mut file).take(MAX_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let own = format!("export {SESSION_VARIABLE}=");
    if text.lines().rfind(|present| present.starts_with(&own)) == Some(line) {
        return Ok(());
    }
    let is_at_line = text.is_empty() || text.ends_with('\n');
    let gap = if is_at_line { "" } else { "\n" };
    // In one call: other hooks may add lines at the same time.
    file.write_all(format!("{gap}{line}\n").as_bytes())
}
