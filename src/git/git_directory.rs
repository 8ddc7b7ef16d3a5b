//! Checks that a git directory consists of plain files and directories of sane size, as git creates
//! it.
//!
//! A directory that another user controls may have a pipe in place of a file, which a reader would
//! wait for forever, or a symlink to a file that the reader must not disclose.

use std::fs;
use std::path::Path;

use crate::model::text::shell_word;
use crate::model::{Code, Error, Result};

use super::plain_file;

/// The files that are read to open a repository, and the maximum size of each.
const FILES: [(&str, u64); 9] = [
    ("HEAD", 1 << 16),
    ("index", 1 << 33),
    ("commondir", 1 << 16),
    ("config", 1 << 24),
    ("config.worktree", 1 << 24),
    ("packed-refs", 1 << 30),
    ("shallow", 1 << 30),
    ("objects/info/alternates", 1 << 24),
    ("info/grafts", 1 << 24),
];

/// The maximum size of a ref file.
const MAX_REF_BYTES: u64 = 1 << 16;

/// The maximum depth of directories of refs.
const MAX_DEPTH: usize = 64;

/// Refuses a git directory that has anything but files where git keeps files.
///
/// Costs one `stat` per ref file.
pub(super) fn require(git_dir: &Path) -> Result<()> {
    for (name, most_bytes) in FILES {
        let path = git_dir.join(name);
        match fs::symlink_metadata(&path) {
            Ok(found) if !found.is_file() || found.len() > most_bytes => return Err(is_odd(&path)),
            _ => {}
        }
    }
    let mut open = vec![(git_dir.join("refs"), 0)];
    while let Some((folder, depth)) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_dir() && depth < MAX_DEPTH => {
                    open.push((path, depth + 1));
                }
                Ok(found) if !found.is_file() || found.len() > MAX_REF_BYTES => {
                    return Err(is_odd(&path));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

pub(super) fn is_odd(path: &Path) -> Error {
    let message = format!("'{}' is not a file as git makes it", path.display());
    let shown = shell_word(&path.to_string_lossy());
    Error::new(Code::RepositoryBroken, message)
        .hint(format!("mv {shown} {shown}.odd   # puts it aside; git makes a regular file there"))
}

/// Returns why git cannot use the git directory of a clone of ours, as the end of a sentence that begins with its path;
/// `None` where it can. Of files that are not as git makes them, [`require`] says more.
pub fn damage(git_dir: &Path) -> Option<&'static str> {
    let Ok(found) = fs::symlink_metadata(git_dir) else {
        return Some("is gone");
    };
    if !found.is_dir() {
        return Some("is not a directory");
    }
    for (name, damage) in [("objects", "has no objects"), ("refs", "has no refs")] {
        if !git_dir.join(name).is_dir() {
            return Some(damage);
        }
    }
    let is_odd = |name| fs::symlink_metadata(git_dir.join(name)).is_ok_and(|it| !it.is_file());
    let head = plain_file::read(git_dir.join("HEAD"));
    if !is_odd("HEAD") && !head.is_ok_and(|head| names_a_commit(&head)) {
        return Some("has no valid HEAD");
    }
    let config = plain_file::read(git_dir.join("config"));
    if !is_odd("config") && !config.is_ok_and(|config| !config.is_empty() && is_config(&config)) {
        return Some("has no valid config");
    }
    None
}

/// Returns `true` for a ref or an object id, as git requires it of a HEAD.
fn names_a_commit(head: &[u8]) -> bool {
    let head = head.trim_ascii();
    match head.strip_prefix(b"ref:") {
        Some(name) => name.trim_ascii_start().starts_with(b"refs/"),
        None => matches!(head.len(), 40 | 64) && head.iter().all(u8::is_ascii_hexdigit),
    }
}

fn is_config(bytes: &[u8]) -> bool {
    let own = gix::config::file::Metadata::api();
    let options = gix::config::file::init::Options::default();
    gix::config::File::from_bytes_no_includes(bytes, own, options).is_ok()
}
