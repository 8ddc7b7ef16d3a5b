//! Which git is installed. A git that is older than [`OLDEST`] is named when it does not know what it is asked for.

use std::process::{Command, Stdio};

use crate::model::{Code, Error, World};

use super::{Git, program};

/// Major, minor and patch version.
pub type Version = (u32, u32, u32);

/// The oldest git that can do all we ask of it (August 2023): `merge-tree --stdin` takes a merge base since then.
pub const OLDEST: Version = (2, 42, 0);

/// The exit code of a git that does not know an option.
const USAGE: i32 = 129;

/// Returns the error for a failed command, if it failed because this git is too old for it. `failed` is the command,
/// with its exit code and its standard error. Only such a failure costs a process that asks for the version.
pub(super) fn too_old(failed: &Command, code: Option<i32>, said: &str) -> Option<Error> {
    if code != Some(USAGE) && !said.contains("is not a git command") {
        return None;
    }
    let set = || failed.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let path = set().find_map(|(name, value)| (name == "PATH").then_some(value));
    let mut ask = program::command_in(path, "git");
    ask.env_clear().arg("--version").stdin(Stdio::null()).envs(set());
    let said = String::from_utf8_lossy(&ask.output().ok()?.stdout).trim().to_owned();
    let (major, minor, _) = OLDEST;
    let is_old = version_in(&said)? < OLDEST;
    is_old.then(|| {
        Error::new(
            Code::Unsupported,
            format!("{said} is too old: git {major}.{minor} or newer is needed"),
        )
        .hint("git colony doctor   # says which version to install")
    })
}

/// Asks git for its version; returns its answer, too. `None` if the answer names no version.
pub fn asked(world: &World) -> Option<(String, Version)> {
    let output = Git::new(world).arg("--version").run().ok()?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let version = version_in(&said)?;
    Some((said, version))
}

/// Reads the first `a.b.c` or `a.b` of a text.
pub fn version_in(text: &str) -> Option<Version> {
    let from = text.find(|c: char| c.is_ascii_digit())?;
    let mut numbers =
        text.get(from..)?.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().ok());
    let (major, minor) = (numbers.next()??, numbers.next()??);
    Some((major, minor, numbers.next().flatten().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::version_in;

    #[test]
    fn versions_are_read_as_vendors_write_them() {
        assert_eq!(version_in("git version 2.39.5 (Apple Git-154)"), Some((2, 39, 5)));
        assert_eq!(version_in("git version 2.50.1.windows.1"), Some((2, 50, 1)));
        assert_eq!(version_in("git version 2.42"), Some((2, 42, 0)));
        assert_eq!(version_in("git version garbage"), None);
    }
}
