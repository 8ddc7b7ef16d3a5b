//! What a user does to files between the commands, and every content that was ever written.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use sha1::{Digest as _, Sha1};

use super::chance::Chance;

/// The paths that are written: few, so that commands meet. Some are ignored, some go to git-lfs.
const PATHS: [&str; 16] = [
    "a.txt",
    "b.txt",
    "run.sh",
    "dir/c.txt",
    "dir/deep/d.txt",
    "other/e.txt",
    "other",
    "big.pdf",
    "dir/pic.png",
    "other/model.onnx",
    "x.ignored",
    "dir/y.ignored",
    "link",
    "with space.txt",
    "new-1.txt",
    "new-2.txt",
];

/// Every content that a user has written, by the id that git gives it, with the path it was written to.
#[derive(Default)]
pub(crate) struct Shadow {
    written: BTreeMap<String, String>,
}

impl Shadow {
    /// The path that a content was written to; `None` for what no user wrote.
    pub(crate) fn path_of(&self, id: &str) -> Option<&str> {
        self.written.get(id).map(String::as_str)
    }

    /// Changes a few files of a worktree.
    pub(crate) fn edit(&mut self, root: &Path, chance: &mut Chance) {
        for _ in 0..chance.below(5) {
            self.edit_one(root, chance);
        }
    }

    fn edit_one(&mut self, root: &Path, chance: &mut Chance) {
        let name = *chance.pick(&PATHS);
        let path = root.join(name);
        let found = fs::symlink_metadata(&path).ok();
        let is_folder = found.as_ref().is_some_and(fs::Metadata::is_dir);
        let is_file = found.as_ref().is_some_and(fs::Metadata::is_file);
        match chance.below(12) {
            0 | 1 => remove(&path, is_folder),
            2 if is_file => {
                let mode = if chance.one_in(2) { 0o755 } else { 0o644 };
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).ok();
            }
            3 if !is_folder => {
                let target = format!("to-{:x}", chance.below(u64::MAX));
                remove(&path, is_folder);
                if make_folder_of(&path) && symlink(&target, &path).is_ok() {
                    self.note(target.as_bytes(), name);
                }
            }
            _ if is_folder && !chance.one_in(4) => {}
            _ => {
                let content = content(name, chance);
                // A link would be written through; some editors replace a file, some write into it.
                if !is_file || chance.one_in(2) {
                    remove(&path, is_folder);
                }
                if make_folder_of(&path) && fs::write(&path, &content).is_ok() {
                    self.note(content.as_bytes(), name);
                }
            }
        }
    }

    fn note(&mut self, content: &[u8], path: &str) {
        self.written.insert(blob_id(content), path.to_owned());
    }
}

/// Lines of which no other content has one.
fn content(path: &str, chance: &mut Chance) -> String {
    let lines = 1 + chance.below(if path == "big.pdf" { 400 } else { 12 });
    let lines = (0..lines).map(|_| format!("{path} {:016x}\n", chance.below(u64::MAX)));
    lines.collect()
}

fn remove(path: &Path, is_folder: bool) {
    let removed = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    // What is not there is removed.
    removed.ok();
}

/// Makes the folder that a file is to be in, unless a file stands there.
fn make_folder_of(path: &Path) -> bool {
    path.parent().is_some_and(|folder| fs::create_dir_all(folder).is_ok())
}

/// The id that git gives a content.
pub(crate) fn blob_id(content: &[u8]) -> String {
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", content.len()));
    hash.update(content);
    format!("{:x}", hash.finalize())
}

/// The id that git gives what stands at a path: a file, or a link. `None` for everything else.
pub(crate) fn id_of(path: &Path, metadata: &fs::Metadata) -> Option<String> {
    if metadata.is_symlink() {
        let target = fs::read_link(path).ok()?;
        return Some(blob_id(target.as_os_str().as_bytes()));
    }
    metadata.is_file().then(|| fs::read(path).ok())?.map(|bytes| blob_id(&bytes))
}
