//! A file that a command and all its children keep open. A lock on it shows whether any of them is
//! alive, even after the process that started them is gone.
//!
//! The child gets the file in place of one of its streams, and a shell duplicates it to another
//! descriptor before it becomes git. So no other child that is started at the same time inherits
//! it. ssh and remote servers close inherited files; git, git-lfs and hooks do not.

use std::fs::File;
use std::process::{Command, Stdio};

use crate::model::{Error, Result};

use super::program;

/// The stream of a child that holds the file until it is descriptor 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::git) enum InPlaceOf {
    /// Standard input, which is empty afterwards.
    Input,
    /// Standard error, which is redirected to standard output afterwards.
    Errors,
}

impl InPlaceOf {
    /// Replaces itself by the command in its arguments.
    fn script(self) -> &'static str {
        match self {
            InPlaceOf::Input => r#"exec "$@" 8<&0 </dev/null"#,
            InPlaceOf::Errors => r#"exec "$@" 8>&2 2>&1"#,
        }
    }
}

/// Makes a command that keeps `file` open; the caller sets its other streams.
pub(in crate::git) fn keeping(
    file: &File,
    command: &Command,
    stream: InPlaceOf,
) -> Result<Command> {
    let file = file.try_clone().map_err(|e| Error::io("cannot hand a lock on", e))?;
    let set = || command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let path = set().find_map(|(name, value)| (name == "PATH").then_some(value));
    let mut shell = program::command_in(path, "sh");
    shell.args(["-c", stream.script(), "sh"]).arg(command.get_program());
    shell.args(command.get_args()).env_clear().envs(set());
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    match stream {
        InPlaceOf::Input => shell.stdin(Stdio::from(file)),
        InPlaceOf::Errors => shell.stderr(Stdio::from(file)),
    };
    Ok(shell)
}
