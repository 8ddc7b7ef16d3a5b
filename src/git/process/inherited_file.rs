//! A file that a command and all that it starts keep open: whoever holds a lock on it knows by that
//! whether any of them lives, also once the process that started them is gone.
//!
//! A child has the file in place of one of its streams, and a shell makes another descriptor of it on the
//! way to becoming git. So no other child that is started at the same time gets it. ssh closes what it
//! inherits, and so does a server elsewhere; git, git-lfs and hooks do not.

use std::fs::File;
use std::process::{Command, Stdio};

use crate::model::{Error, Result};

/// Which stream of a child has the file until it is descriptor 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::git) enum InPlaceOf {
    /// Standard input, which is empty from then on.
    Input,
    /// Standard error, which goes to standard output from then on.
    Errors,
}

impl InPlaceOf {
    /// Becomes the command in its arguments.
    fn script(self) -> &'static str {
        match self {
            InPlaceOf::Input => r#"exec "$@" 8<&0 </dev/null"#,
            InPlaceOf::Errors => r#"exec "$@" 8>&2 2>&1"#,
        }
    }
}

/// Makes a command that keeps `file` open; its other streams are still to be set.
#[expect(clippy::disallowed_methods, reason = "part of the gate for processes")]
pub(in crate::git) fn keeping(
    file: &File,
    command: &Command,
    stream: InPlaceOf,
) -> Result<Command> {
    let file = file.try_clone();
    let file = file.map_err(|e| Error::io("cannot hand a lock on", e))?;
    let mut shell = Command::new("sh");
    shell
        .args(["-c", stream.script(), "sh"])
        .arg(command.get_program());
    shell.args(command.get_args()).env_clear();
    let variables = command.get_envs();
    shell.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    match stream {
        InPlaceOf::Input => shell.stdin(Stdio::from(file)),
        InPlaceOf::Errors => shell.stderr(Stdio::from(file)),
    };
    Ok(shell)
}
