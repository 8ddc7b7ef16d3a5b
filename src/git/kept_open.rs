//! A file that a command and all that it starts keep open: whoever holds a lock on it knows by that
//! whether any of them lives, also once the process that started them is gone.
//!
//! A child has the file in place of its standard input, and a shell makes another descriptor of it on the
//! way to becoming git. So no other child that is started at the same time gets it. ssh closes what it
//! inherits, and so does a server elsewhere; git, git-lfs and hooks do not.

use std::fs::File;
use std::process::{Command, Stdio};

use crate::model::{Error, Result};

/// Becomes the command in its arguments, with an empty standard input and the file as descriptor 9.
const SCRIPT: &str = r#"exec "$@" 9<&0 </dev/null"#;

/// Makes a command that keeps `file` open; its output streams are still to be set.
#[expect(clippy::disallowed_methods, reason = "part of the gate for processes")]
pub(super) fn keeping(file: &File, command: &Command) -> Result<Command> {
    let file = file.try_clone();
    let file = file.map_err(|e| Error::io("cannot hand a lock on", e))?;
    let mut shell = Command::new("sh");
    shell.args(["-c", SCRIPT, "sh"]).arg(command.get_program());
    shell.args(command.get_args()).env_clear();
    let variables = command.get_envs();
    shell.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    shell.stdin(Stdio::from(file));
    Ok(shell)
}
