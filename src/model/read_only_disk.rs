//! Recognizes a file system that is read-only, which mostly is the sandbox of an agent's commands: its MCP servers run
//! outside of that.

use std::error::Error as StdError;
use std::io::{Error as IoError, ErrorKind};

/// What to do then.
pub(super) const HINT: &str = "in the sandbox of an agent, use the tools of the MCP server, which runs outside of it: \
                               checkpoint_state, restore_checkpoint, undo";

/// Returns `true` if that is the cause of an error.
pub(super) fn has_caused(cause: &(dyn StdError + 'static)) -> bool {
    let mut next = Some(cause);
    while let Some(cause) = next {
        let kind = cause.downcast_ref::<IoError>().map(IoError::kind);
        if kind == Some(ErrorKind::ReadOnlyFilesystem) {
            return true;
        }
        next = cause.source();
    }
    false
}
