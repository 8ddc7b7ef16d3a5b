//! Turns the result of a scan into trees: the index, and the working tree as `git add -A` would
//! write it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;

use crate::git::{Oid, Repo, TreeEntry};
use crate::model::progress::FileMeter;
use crate::model::{Code, Error, RepoPath, Result, World};

use super::file_writer::{FileWriter, Written};
use super::scan::{Scan, Untracked};
use super::{safe_open, untracked};

/// The working tree and the index, written as trees.
pub struct Snapshot {
    /// Stage 0 of the index.
    pub index_tree: Oid,
    /// The files: the index with every change and the selected untracked files.
    pub worktree_tree: Oid,
    /// The differences between index and files, with the stat data from before reading.
    pub changes: BTreeMap<RepoPath, Option<WorktreeFile>>,
    /// Files that could not be stored: unreadable, or with a failing filter.
    pub unstored: BTreeSet<RepoPath>,
    /// Untracked files that are left out because they are unreadable.
    pub unreadable: Vec<RepoPath>,
}

/// The treatment of a file that cannot be stored: an unreadable one, or one whose filter fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unstorable {
    /// The snapshot fails: it must be complete.
    Refuse,
    /// Like `Refuse`, but an untracked file without read permission is left out with a warning.
    NameUnreadable,
    /// The file is left out: its bytes are kept in another way.
    LeaveOut,
}

/// Returns `true` for errors that do not concern one file.
fn is_final(error: &Error) -> bool {
    matches!(error.code(), Code::NoSpace | Code::Interrupted)
}

/// A file as it was written to the object database.
pub struct WorktreeFile {
    /// Mode and blob.
    pub entry: TreeEntry,
    /// Stat data from before it was read.
    pub(in crate::git) metadata: Metadata,
}

impl Repo {
    /// Writes stage 0 of the index as a tree; a path in conflict has none.
    pub fn write_index_tree(&self, scan: &Scan) -> Result<Oid> {
        let staged = scan.staged.iter().map(|change| (&change.path, change.new));
        let conflicts = scan.conflicts.iter().map(|path| (path, None));
        self.edit_tree(scan.head_tree, staged.chain(conflicts))
    }

    /// Writes every changed file and each of `untracked` as blobs, and the trees that hold them.
    pub fn write_snapshot(
        &self,
        world: &World,
        scan: &Scan,
        untracked: &[&Untracked],
        unstorable: Unstorable,
    ) -> Result<Snapshot> {
        let index_tree = self.write_index_tree(scan)?;
        let mut writer = FileWriter::new(self, world, scan)?;
        let (mut changes, mut unstored) = (BTreeMap::new(), BTreeSet::new());
        let mut unreadable = Vec::new();
        let meter = FileMeter::begin(&world.progress, "store changes".to_owned());
        let tracked = scan.unstaged.iter().chain(&scan.conflicts);
        // A checkpoint must contain all tracked files.
        let of_tracked = match unstorable {
            Unstorable::LeaveOut => Unstorable::LeaveOut,
            Unstorable::NameUnreadable | Unstorable::Refuse => Unstorable::Refuse,
        };
        let tracked = tracked.map(|path| (path, of_tracked));
        let untracked = untracked.iter().map(|file| (&file.path, unstorable));
        for (path, unstorable) in tracked.chain(untracked) {
            world.interrupt.check()?;
            meter.count();
            match writer.write(path) {
                Ok(Written::AsIndexed) => {}
                Ok(Written::File(file)) => drop(changes.insert(path.clone(), Some(*file))),
                Err(error) if is_final(&error) => return Err(error),
                Err(error) if unstorable == Unstorable::NameUnreadable => {
                    let Some(why) = safe_open::forbidden(self.workdir(), path) else {
                        return Err(error);
                    };
                    untracked::warn_unreadable(world, path, &why);
                    unreadable.push(path.clone());
                }
                Err(error) if unstorable == Unstorable::Refuse => return Err(error),
                written => {
                    if written.is_err() {
                        unstored.insert(path.clone());
                    }
                    changes.insert(path.clone(), None);
                }
            }
        }
        let edits = changes.iter().map(|(path, file)| (path, file.as_ref().map(|f| f.entry)));
        let worktree_tree = self.edit_tree(index_tree, edits)?;
        Ok(Snapshot { index_tree, worktree_tree, changes, unstored, unreadable })
    }
}

impl Repo {
    /// Returns the files of `unclear` whose content, cleaned as git would store it, differs from
    /// the index.
    pub(in crate::git) fn changed_by_content(
        &self,
        world: &World,
        scan: &Scan,
        unclear: &[RepoPath],
    ) -> Result<Vec<RepoPath>> {
        if unclear.is_empty() {
            return Ok(Vec::new());
        }
        let mut writer = FileWriter::new(self, world, scan)?;
        let mut changed = Vec::new();
        for path in unclear {
            world.interrupt.check()?;
            if writer.differs(path)? {
                changed.push(path.clone());
            }
        }
        Ok(changed)
    }
}
