//! Looks a program up in `PATH` before it is started.
//!
//! Where the environment is not inherited, the standard library starts a program of a name in a copy of this process
//! (`fork`) and lets the copy try each folder. Of a large process that takes longer than most calls of git. A program
//! of a path is started without a copy (`posix_spawn`). No folder relative to the current one is searched first: what
//! lies there may be a file of the repository.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{Access, access};

use crate::model::World;

/// Where programs are without `PATH`.
const USUAL: &str = "/usr/local/bin:/usr/bin:/bin";

/// A folder that no system has: a program there is "not found", by the error that a missing program has.
const NO_FOLDER: &str = "/proc/self/no-such-folder";

/// Finds a program in the absolute folders of `PATH`.
pub fn on_path(world: &World, name: &str) -> Option<PathBuf> {
    find(world.variable("PATH")?, name)
}

/// Begins a command with a program in the absolute folders of `PATH`, which is called by its name. Where none of them
/// has it, starting the command fails: a program in a folder relative to the current one is never started.
pub(super) fn command(world: &World, name: &str) -> Command {
    command_in(world.variable("PATH"), name)
}

/// Like [`command`], with a given value of `PATH`.
#[expect(clippy::disallowed_methods, reason = "part of the gate for processes")]
pub(super) fn command_in(path: Option<&OsStr>, name: &str) -> Command {
    let mut command = match find(path.unwrap_or(OsStr::new(USUAL)), name) {
        Some(program) => Command::new(program),
        None => Command::new(Path::new(NO_FOLDER).join(name)),
    };
    command.arg0(name);
    command
}

/// Returns the absolute folders of `PATH`, or the usual ones if it has none, as a value of it.
pub(super) fn search_path(world: &World) -> OsString {
    let path = world.variable("PATH").unwrap_or_default();
    let folders: Vec<&[u8]> = folders(path).map(|folder| folder.as_os_str().as_bytes()).collect();
    if folders.is_empty() { USUAL.into() } else { OsString::from_vec(folders.join(&b':')) }
}

fn folders(path: &OsStr) -> impl Iterator<Item = &Path> {
    let searched = path.as_bytes().split(|&byte| byte == b':');
    searched
        .map(|folder| Path::new(OsStr::from_bytes(folder)))
        .filter(|folder| folder.is_absolute())
}

fn find(path: &OsStr, name: &str) -> Option<PathBuf> {
    let mut programs = folders(path).map(|folder| folder.join(name));
    programs.find(|program| program.is_file() && access(program, Access::EXEC_OK).is_ok())
}
