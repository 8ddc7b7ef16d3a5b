//! Detects a full disk where git does not name the cause: git only reports that it "could not set"
//! or "couldn't write" something.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::model::full_disk::is_told;
use crate::model::{Code, Error};

/// With less free space than this, a failure is attributed to the full disk.
const MIN_BYTES: u64 = 64 << 10;

/// Returns `true` if the file system of a path, or of its nearest existing parent, is full.
pub fn is_full(path: &Path) -> bool {
    let file_system = path.ancestors().find_map(|at| rustix::fs::statvfs(at).ok());
    let free =
        file_system.and_then(|file_system| file_system.f_bavail.checked_mul(file_system.f_frsize));
    free.is_some_and(|free| free < MIN_BYTES)
}

/// Adds the full file system to the message of a failed git.
pub(super) fn with_reason(said: String, command: &Command) -> String {
    if said.is_empty() {
        return said;
    }
    let environment = command.get_envs();
    let set = environment
        .filter(|(name, _)| ["GIT_DIR", "TMPDIR"].map(OsStr::new).contains(name))
        .filter_map(|(_, value)| value);
    let given = command.get_args().chain(set).map(PathBuf::from);
    let own = command.get_current_dir().map(Path::to_owned);
    let places = own.into_iter().chain(given).chain(named(&said));
    let full = places.filter(|place| place.is_absolute()).find(|place| is_full(place));
    full.map_or_else(|| said.clone(), |place| with_place(&said, &place))
}

/// Adds the full file system to one line of git's output, by the paths in it.
pub(super) fn with_reason_of(said: &str) -> String {
    let full = named(said).find(|place| is_full(place));
    full.map_or_else(|| said.to_owned(), |place| with_place(said, &place))
}

/// Turns a failure to write below a directory into `no-space` if the disk is full.
pub(super) fn explained(error: Error, folder: &Path) -> Error {
    let error = match error.code() {
        Code::FilterFailed | Code::Io if is_full(folder) => {
            let said = with_place(&error.message(), folder);
            Error::new(Code::NoSpace, said)
        }
        _ => error,
    };
    match error.code() {
        Code::NoSpace => error.detail("path", folder.display().to_string()),
        _ => error,
    }
}

/// Lists the absolute paths in quotes.
fn named(said: &str) -> impl Iterator<Item = PathBuf> {
    let quoted = said.split(['\'', '"']).filter(|part| part.starts_with('/'));
    quoted.map(PathBuf::from)
}

fn with_place(said: &str, place: &Path) -> String {
    let place = place.display();
    if is_told(said.lines().last().unwrap_or_default()) {
        format!("{said}, at '{place}'")
    } else {
        format!("{said}: no space left on device, at '{place}'")
    }
}
