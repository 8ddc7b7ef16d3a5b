//! Tries to read what commands depend on, file by file: git and we pass over some of it without a word, as over a branch
//! that only another user may read.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::git::{git_directory, scratch};
use crate::model::text::shell_word;
use crate::model::{Error, World};
use crate::store::Session;

use super::Check;

/// The most entries that are looked at in one folder of refs.
const MAX_ENTRIES: usize = 50_000;

/// The files of a git directory, beside those in the folders.
const FILES: [&str; 8] = [
    "HEAD",
    "config",
    "index",
    "packed-refs",
    "shallow",
    "info/attributes",
    "info/exclude",
    "objects/info/alternates",
];

/// Finds what cannot be read in the git directories of a repository, and in its hub.
pub(super) fn check(session: &Session) -> Option<Check> {
    let repo = &session.repo;
    let hub = session.membership.as_ref().map(|member| member.hub.clone());
    let folders = [repo.git_dir().to_owned(), repo.common_dir().to_owned()];
    check_folders(folders.into_iter().chain(hub))
}

/// Does the same for the repository of the current directory, which cannot be opened.
pub(super) fn check_closed(world: &World) -> Option<Check> {
    let (git_dir, common_dir) = git_directory::nearest(world)?;
    check_folders([git_dir, common_dir].into_iter())
}

fn check_folders(folders: impl Iterator<Item = PathBuf>) -> Option<Check> {
    let mut looked_at = Vec::new();
    for folder in folders {
        looked_at.extend(FILES.map(|file| folder.join(file)));
        collect(&folder.join("refs"), &mut looked_at);
        // Without what they hold, which may be many objects.
        for flat in ["", "colony", "objects", "objects/pack"] {
            looked_at.push(folder.join(flat));
            looked_at.extend(entries(&folder.join(flat)));
        }
    }
    looked_at.sort();
    looked_at.dedup();
    let mut refused = looked_at.into_iter().filter_map(|path| Some((refused(&path)?, path)));
    let (error, path) = refused.next()?;
    let message = Error::io(format!("cannot read '{}'", path.display()), error).message();
    let others = match refused.count() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let word = shell_word(&path.to_string_lossy());
    let us = scratch::own_user();
    let fix = if path.symlink_metadata().is_ok_and(|metadata| metadata.uid() == us) {
        format!("chmod u+rX {word}")
    } else {
        format!("sudo chown -R {us} {word}   # it belongs to another user")
    };
    Some(Check::ill("reading", format!("{message}{others}"), fix))
}

/// Returns why a file or folder that is there cannot be read.
fn refused(path: &Path) -> Option<io::Error> {
    let wanted = if path.is_dir() { Access::READ_OK | Access::EXEC_OK } else { Access::READ_OK };
    let error = io::Error::from(access(path, wanted).err()?);
    (error.kind() != io::ErrorKind::NotFound).then_some(error)
}

/// Lists the entries of a folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Collects a folder and all below it.
fn collect(folder: &Path, folders: &mut Vec<PathBuf>) {
    let most = folders.len() + MAX_ENTRIES;
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop().filter(|_| folders.len() < most) {
        if next.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            open.extend(entries(&next));
        }
        folders.push(next);
    }
}
