//! The files that operations moved aside, by worktree and operation, in `<common
//! dir>/colony-kept/<key>/<operation>/`, and their way from one repository to another.
//!
//! Nothing here deletes a file of the user: a moved file never replaces another.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::model::id::{OperationId, WorktreeKey};
use crate::model::{Error, Result};

use super::atomic;
use super::exclusive_move::{Moved, move_to_free};

/// A file that was moved aside.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AsideFile {
    /// The worktree it was in.
    pub worktree: WorktreeKey,
    /// The operation that moved it.
    pub operation: OperationId,
    /// Its path now.
    pub at: PathBuf,
}

/// Lists the files below the folder of all worktrees, by worktree and operation. Copies of the index are not
/// the user's files, and hard links of large files are left out too.
pub fn list(kept: &Path) -> Vec<AsideFile> {
    let mut aside = Vec::new();
    for (worktree, folder) in worktrees(kept) {
        for operation in operations(&folder) {
            let files = entries(&folder.join(operation.digits()))
                .into_iter()
                .filter(|name| name != "index");
            aside.extend(files.map(|name| AsideFile {
                worktree: worktree.clone(),
                operation,
                at: folder.join(operation.digits()).join(name),
            }));
        }
    }
    aside
}

/// Lists the folders of worktrees below the folder of all worktrees; an agent may have put a link in place of one.
pub fn worktrees(kept: &Path) -> Vec<(WorktreeKey, PathBuf)> {
    if !is_folder(kept) {
        return Vec::new();
    }
    let mut names = entries(kept);
    names.retain(|name| is_folder(&kept.join(name)));
    let names = names.into_iter();
    names
        .filter_map(|name| {
            let key = WorktreeKey::parse(name.to_str()?)?;
            Some((key, kept.join(name)))
        })
        .collect()
}

/// Lists the operations that have files in the folder of a worktree.
pub fn operations(worktree: &Path) -> Vec<OperationId> {
    let mut names = entries(worktree);
    names.retain(|name| is_folder(&worktree.join(name)));
    names.iter().filter_map(|name| OperationId::parse(name.to_str()?)).collect()
}

/// Returns the size in bytes of an operation's folder.
pub fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum()
}

/// Moves `from` to `to` with everything in it. Existing files stay; a file of the same name gets another
/// name. It may be interrupted anywhere and repeated.
pub fn move_all(from: &Path, to: &Path) -> Result<()> {
    let cannot = |e| Error::io(format!("cannot move '{}'", from.display()), e);
    let is_folder = is_folder(from);
    for number in 0.. {
        let free = numbered(to, number);
        match move_to_free(from, &free) {
            Ok(Moved::Yes | Moved::SourceMissing) => return Ok(()),
            Ok(Moved::Occupied) if !is_folder => {}
            Ok(Moved::Occupied) => break,
            // Some file systems move only files.
            Err(e) if e.kind() == ErrorKind::CrossesDevices && is_folder => break,
            Err(e) => return Err(cannot(e)),
        }
    }
    atomic::make_directory(to)?;
    for name in entries(from) {
        move_all(&from.join(&name), &to.join(&name))?;
    }
    atomic::remove_empty_folder(from).map(drop)
}

/// Returns `true` for a folder, and `false` for a link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

fn numbered(path: &Path, number: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    if number > 0 {
        name.push(format!("+{number}"));
    }
    name.into()
}

fn entries(folder: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests write files themselves")]

    use super::*;

    #[test]
    fn moved_files_replace_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for (place, path, content) in [
            (&from, "0000000001/0", "ours"),
            (&from, "0000000002/0", "new"),
            (&to, "0000000001/0", "theirs"),
        ] {
            let path = place.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        move_all(&from, &to).unwrap();
        move_all(&from, &to).unwrap();
        let read = |path: &str| fs::read_to_string(to.join(path)).unwrap();
        assert_eq!(read("0000000001/0"), "theirs");
        assert_eq!(read("0000000001/0+1"), "ours");
        assert_eq!(read("0000000002/0"), "new");
        assert!(!from.exists());
    }
}
