//! Temporary files that a killed process left in a folder where other programs write as well. One is deleted only if its
//! name is of the form that we give, it is a plain file of this user, and it is old.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use crate::git::scratch::own_user;
use crate::model::time::Moment;

/// No process of ours writes one file for that long.
const MIN_AGE_SECONDS: i64 = 24 * 60 * 60;

/// The maximum number of names that are looked at: a folder may hold anything.
const MAX_NAMES: usize = 10_000;

/// Deletes the leftovers in a folder. What cannot be read or deleted stays; it does no harm.
pub fn sweep(folder: impl AsFd, is_ours: fn(&str) -> bool, now: &Moment) {
    // The folder may be open as a mere place.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(opened) = rustix::fs::openat(&folder, ".", flags, Mode::empty()) else {
        return;
    };
    let entries = Dir::read_from(&opened).into_iter().flatten().flatten();
    for entry in entries.take(MAX_NAMES) {
        let name = entry.file_name();
        if !name.to_str().is_ok_and(is_ours) {
            continue;
        }
        let Ok(stat) = rustix::fs::statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        let is_plain = FileType::from_raw_mode(stat.st_mode).is_file();
        let is_old = now.timestamp() - stat.st_mtime > MIN_AGE_SECONDS;
        if is_plain && stat.st_uid == own_user() && is_old {
            rustix::fs::unlinkat(&opened, name, AtFlags::empty()).ok();
        }
    }
}

/// Does the same in the folder at a path.
pub fn sweep_at(folder: &Path, is_ours: fn(&str) -> bool, now: &Moment) {
    let place = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if let Ok(folder) = rustix::fs::open(folder, place, Mode::empty()) {
        sweep(folder, is_ours, now);
    }
}

/// Returns `true` for a name that consists of a beginning and this many letters and digits.
pub fn is_temporary(name: &str, beginning: &str, length: usize) -> bool {
    let rest = name.strip_prefix(beginning);
    rest.is_some_and(|rest| {
        rest.len() == length && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}
