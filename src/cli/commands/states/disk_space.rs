//! What to do about a full disk: see how much room there is, and where.

use std::path::Path;

use crate::model::text::shell_word;
use crate::model::{Code, Error};

/// Adds the command that shows the free space to an error about a full disk.
pub(in crate::cli) fn with_space_command(error: Error, cwd: &Path) -> Error {
    if error.code() != Code::NoSpace || error.hint_text().is_some() {
        return error;
    }
    let message = error.message();
    let path = error.details().get("path").and_then(|path| path.as_str());
    let quoted = message.split(['\'', '"']).filter(|part| part.starts_with('/'));
    let place = path.into_iter().chain(quoted).map(Path::new).next();
    let mut above = place.unwrap_or(cwd).ancestors();
    let there = above.find(|path| path.exists()).unwrap_or(cwd);
    let word = shell_word(&there.display().to_string());
    error.replace_hint(format!("df -h {word}   # with more room, run the command again"))
}
