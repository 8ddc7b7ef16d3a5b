//! Which git is installed. One that is older than [`OLDEST`] is refused before it is asked for anything.
//!
//! The version is read once per program, by its device, inode, size and time, and remembered in the user's cache:
//! a command of ours starts no process to find it out.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::model::{Code, Error, Result, World};

use super::Git;

/// Major, minor and patch version.
pub type Version = (u32, u32, u32);

/// The oldest git that can do all we ask of it (August 2023): `merge-tree --stdin` takes a merge base since then.
pub const OLDEST: Version = (2, 42, 0);

/// Where the version is remembered, below the user's cache.
const FILE: &str = "git-version";

/// A longer file is not ours.
const MAX_BYTES: u64 = 1024;

/// Programs that this process has found new enough.
static ACCEPTED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Refuses a git that is older than [`OLDEST`]. One that cannot be found or that names no version is not refused:
/// what it is asked for will show.
///
/// # Errors
/// `unsupported`.
pub(super) fn require(world: &World) -> Result<()> {
    let Some(program) = identity(world) else {
        return Ok(());
    };
    let mut accepted = ACCEPTED.lock().unwrap_or_else(PoisonError::into_inner);
    if accepted.contains(&program) || remembered(world, &program) {
        return Ok(());
    }
    match asked(world) {
        // This one is not remembered: a wrapper stays the same when the git that it starts is replaced.
        Some((said, version)) if version < OLDEST => Err(too_old(&said)),
        Some(_) => {
            remember(world, &program);
            accepted.push(program);
            Ok(())
        }
        None => Ok(()),
    }
}

/// Asks git for its version; returns what it says, too. `None` where that names no version.
pub fn asked(world: &World) -> Option<(String, Version)> {
    let output = Git::of_any_version(world).arg("--version").run().ok()?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let version = version_in(&said)?;
    Some((said, version))
}

/// Reads the first `a.b.c` or `a.b` of a text.
pub fn version_in(text: &str) -> Option<Version> {
    let from = text.find(|c: char| c.is_ascii_digit())?;
    let mut numbers = text
        .get(from..)?
        .split(|c: char| !c.is_ascii_digit())
        .map(|number| number.parse().ok());
    let (major, minor) = (numbers.next()??, numbers.next()??);
    Some((major, minor, numbers.next().flatten().unwrap_or(0)))
}

fn too_old(said: &str) -> Error {
    let (major, minor, _) = OLDEST;
    Error::new(
        Code::Unsupported,
        format!("{said} is too old: git {major}.{minor} or newer is needed; nothing has changed"),
    )
    .hint("git colony doctor   # says which version to install")
}

/// Returns what tells the git that would be started from every other one.
fn identity(world: &World) -> Option<String> {
    let folders = world
        .variable("PATH")?
        .as_bytes()
        .split(|&byte| byte == b':');
    let programs = folders.map(|folder| {
        let folder = Path::new(std::ffi::OsStr::from_bytes(folder));
        world.absolute(folder).join("git")
    });
    let is_program = |about: &fs::Metadata| about.is_file() && about.mode() & 0o111 != 0;
    let about = programs
        .filter_map(|program| fs::metadata(program).ok())
        .find(is_program)?;
    Some(format!(
        "{} {} {} {}.{:09}",
        about.dev(),
        about.ino(),
        about.size(),
        about.mtime(),
        about.mtime_nsec(),
    ))
}

fn place(world: &World) -> Option<PathBuf> {
    Some(world.cache_folder()?.join(FILE))
}

/// Returns `true` if the program was found new enough by an earlier command.
fn remembered(world: &World, program: &str) -> bool {
    let read = || {
        let file = fs::File::open(place(world)?).ok()?;
        let mut text = String::new();
        file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
        Some(text)
    };
    read().is_some_and(|text| text == line(program))
}

/// Records that a program is new enough for this version of ours; where that cannot be done, the next
/// command asks again.
fn remember(world: &World, program: &str) {
    let write = || -> Option<()> {
        let path = place(world)?;
        let folder = path.parent()?;
        let mut private = fs::DirBuilder::new();
        private.recursive(true).mode(0o700).create(folder).ok()?;
        let mut file = tempfile::NamedTempFile::new_in(folder).ok()?;
        file.write_all(line(program).as_bytes()).ok()?;
        file.persist(path).ok().map(drop)
    };
    write();
}

fn line(program: &str) -> String {
    let (major, minor, _) = OLDEST;
    format!("{program} is {major}.{minor} or newer\n")
}

#[cfg(test)]
mod tests {
    use super::version_in;

    #[test]
    fn versions_are_read_as_vendors_write_them() {
        assert_eq!(
            version_in("git version 2.39.5 (Apple Git-154)"),
            Some((2, 39, 5))
        );
        assert_eq!(version_in("git version 2.50.1.windows.1"), Some((2, 50, 1)));
        assert_eq!(version_in("git version 2.42"), Some((2, 42, 0)));
        assert_eq!(version_in("git version garbage"), None);
    }
}
