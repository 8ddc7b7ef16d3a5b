//! Tries what commands will do: write in the folders of git and of the colony, and open the locks. A folder that belongs
//! to another user, as after a command of root, or a read-only file system would refuse that.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::git::scratch;
use crate::model::Error;
use crate::model::text::shell_word;
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::files::shared_root::SharedRoot;

use super::Check;

/// The most folders of refs, or of our own, that are looked at in one place.
const MAX_FOLDERS: usize = 2_000;

/// The bytes that are written: a full disk or a quota may have room for none.
const TRIED: [u8; 4096] = [0; 4096];

/// Tries to write wherever a command of this repository may write; nothing is left behind.
pub(super) fn check(session: &Session) -> Check {
    if let Err(error) = session.world.refuse_root() {
        let way = error.hint_text().unwrap_or("run it as the owner of the repository");
        return Check::ill("writing", error.message(), way);
    }
    let (tried, folders, files) = places(session);
    let mut refused: Vec<(PathBuf, io::Error)> = Vec::new();
    let may = |folder: &Path| access(folder, Access::WRITE_OK | Access::EXEC_OK);
    for folder in &folders {
        refused.extend(may(folder).err().map(|error| (folder.clone(), error.into())));
    }
    refused.extend(files.iter().filter_map(|file| Some((file.clone(), refused_lock(file)?))));
    if refused.is_empty() {
        let try_in = |folder: &PathBuf| {
            let written = tempfile::tempfile_in(folder).and_then(|mut file| file.write_all(&TRIED));
            written.err().map(|error| (folder.clone(), error))
        };
        refused.extend(tried.iter().find_map(try_in));
    }
    match refused.first() {
        None => Check::well("writing", format!("can write in {} folders", folders.len())),
        Some(_) => unwritable(refused),
    }
}

/// Returns why a lock cannot be taken. To open a pipe would wait for its reader, and a link is not followed.
fn refused_lock(lock: &Path) -> Option<io::Error> {
    let metadata = lock.symlink_metadata().ok()?;
    if !metadata.is_file() {
        return Some(io::Error::new(io::ErrorKind::InvalidData, "it is not a file"));
    }
    OpenOptions::new().write(true).open(lock).err()
}

/// Returns the folders in which a file is tried, all folders that have to be writable, and the locks.
fn places(session: &Session) -> (Vec<PathBuf>, Vec<PathBuf>, Vec<PathBuf>) {
    let repo = &session.repo;
    let (git_dir, common_dir) = (repo.git_dir(), repo.common_dir());
    let own = common_dir.join("colony");
    let mut tried = vec![repo.workdir().to_owned(), git_dir.to_owned(), common_dir.to_owned()];
    let mut files = vec![Places::lock_of(repo), own.join("lock"), own.join("refs-lock")];
    let mut folders = tried.clone();
    for below in ["refs", "logs", "objects", "colony", "colony-kept"] {
        collect(&common_dir.join(below), &mut folders);
    }
    collect(&git_dir.join("colony"), &mut folders);
    if let Some(member) = &session.membership {
        for below in ["", "refs", "objects", "colony", "colony-desks", "colony-makers"] {
            collect(&member.hub.join(below), &mut folders);
        }
        tried.extend(Some(member.hub.clone()).filter(|hub| hub.is_dir()));
        let locks = ["shared-lock", "refs-lock"];
        files.extend(locks.map(|lock| member.hub.join("colony").join(lock)));
    }
    if let Ok(root) = SharedRoot::of(&session.world) {
        let below = ["", "hubs", "agents", "staging", "removed", "removing", "trash"];
        let of_root = below.map(|below| root.path().join(below));
        folders.extend(of_root.into_iter().filter(|folder| folder.is_dir()));
        files.push(root.path().join("staging.lock"));
    }
    for paths in [&mut folders, &mut files] {
        paths.sort();
        paths.dedup();
    }
    (tried, folders, files)
}

/// Collects a folder, if it is there, and those below it.
fn collect(folder: &Path, folders: &mut Vec<PathBuf>) {
    let mut open = vec![folder.to_owned()];
    let most = folders.len() + MAX_FOLDERS;
    while let Some(next) = open.pop().filter(|_| folders.len() < most) {
        let Ok(entries) = std::fs::read_dir(&next) else {
            // One that cannot be read is refused by the check of it; one that is not there is made when it is needed.
            folders.extend(next.exists().then_some(next));
            continue;
        };
        let below =
            entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        open.extend(below.map(|entry| entry.path()));
        folders.push(next);
    }
}

/// Names the place that refuses, and how the user changes that.
fn unwritable(refused: Vec<(PathBuf, io::Error)>) -> Check {
    let more = refused.len().saturating_sub(1);
    let others = if more > 0 { format!(", and in {more} more places") } else { String::new() };
    let Some((path, error)) = refused.into_iter().next() else {
        return Check::well("writing", "");
    };
    let kind = error.kind();
    let unwritable = Error::io(format!("cannot write in '{}'", path.display()), error).message();
    let detail = format!("{unwritable}{others}");
    let word = shell_word(&path.to_string_lossy());
    let owner = path.metadata().map(|metadata| metadata.uid()).ok();
    let us = scratch::own_user();
    let fix = match kind {
        io::ErrorKind::ReadOnlyFilesystem => "mount its file system for writing".to_owned(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "git colony prune   # or make room on its file system".to_owned()
        }
        io::ErrorKind::InvalidData => format!("mv {word} {word}.aside   # a new one is made"),
        _ if owner.is_some_and(|owner| owner != us) => {
            format!("sudo chown -R {us} {word}   # it belongs to another user")
        }
        _ => format!("chmod -R u+rwX {word}"),
    };
    Check::ill("writing", detail, fix)
}
