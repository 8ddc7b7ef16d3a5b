//! Loose objects that are empty files: a power cut has kept their names and lost their content. Such an object counts as
//! stored until it is read, so nothing stores it once more.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice as _;

use crate::git::{Oid, Repo};
use crate::model::{Error, RepoPath, Result, World};

impl Repo {
    /// Returns the file of an object that is an empty file here.
    pub fn empty_file_of(&self, id: Oid) -> Option<PathBuf> {
        let hex = id.to_string();
        let (folder, name) = hex.split_at(2);
        let path = self.common_dir().join("objects").join(folder).join(name);
        is_empty_file(&path).then_some(path)
    }

    /// Writes the blobs among these objects again that the index names, from the files of the working tree. A file that
    /// has changed since gives another blob.
    pub fn write_objects_again(&self, world: &World, ids: &BTreeSet<Oid>) -> Result<()> {
        let index = self.load_index()?;
        let backing = index.file.path_backing();
        let named = index.file.entries().iter().filter(|entry| ids.contains(&entry.id.into()));
        let paths = named.map(|entry| RepoPath::new(entry.path_in(backing).to_vec()));
        let mut lines = Vec::new();
        for path in paths.filter(|path| path.under(self.workdir()).is_file()) {
            let bytes = path.as_bytes();
            // git would take such a line for another name.
            if !bytes.contains_str("\n") && !bytes.starts_with(b"\"") {
                lines.extend_from_slice(bytes);
                lines.push(b'\n');
            }
        }
        if lines.is_empty() {
            return Ok(());
        }
        let mut git = self.git(world);
        git.args(["hash-object", "-w", "--stdin-paths"]).input(lines);
        git.run_checked("store files again whose objects were lost").map(drop)
    }
}

/// Deletes the objects in a folder of objects that are empty files; they hold nothing.
pub fn delete_empty_objects(objects: &Path) -> Result<BTreeSet<Oid>> {
    let mut deleted = BTreeSet::new();
    for folder in fs::read_dir(objects).into_iter().flatten().flatten() {
        let (path, begin) = (folder.path(), folder.file_name());
        let Some(begin) = begin.to_str().filter(|begin| begin.len() == 2) else {
            continue;
        };
        for file in fs::read_dir(path).into_iter().flatten().flatten() {
            let name = file.file_name();
            let id = name.to_str().and_then(|end| Oid::parse(&format!("{begin}{end}")));
            if let Some(id) = id.filter(|_| is_empty_file(&file.path())) {
                let removed = fs::remove_file(file.path());
                removed
                    .map_err(|e| Error::io(format!("cannot delete the empty object {id}"), e))?;
                deleted.insert(id);
            }
        }
    }
    Ok(deleted)
}

fn is_empty_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0)
}
