//! Replaces this process by a new run of the same program with another environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// Runs `program` in place of this process; returns only if the system refuses.
#[expect(clippy::disallowed_methods, reason = "this is the gate for processes")]
pub fn restart(
    program: &Path,
    args: impl IntoIterator<Item = OsString>,
    variables: &BTreeMap<OsString, OsString>,
) -> std::io::Error {
    let mut args = args.into_iter();
    let mut command = Command::new(program);
    command.arg0(args.next().unwrap_or_else(|| program.as_os_str().to_owned()));
    command.args(args).env_clear().envs(variables).exec()
}
