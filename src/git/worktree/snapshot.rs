//! Turns what a scan found into trees: the index as a tree, and the worktree as `git add -A`
//! would write it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;

use crate::git::{Oid, Repo, TreeEntry};
use crate::model::progress::FileMeter;
use crate::model::{Code, Error, RepoPath, Result, World};

use super::file_writer::{FileWriter, Written};
use super::scan::{Scan, Untracked};
use super::{safe_open, untracked};

/// The worktree and the index, written as trees.
pub struct Snapshot {
    /// Stage 0 of the index.
    pub index_tree: Oid,
    /// The files: the index with every change and every chosen untracked file.
    pub worktree_tree: Oid,
    /// What differs between index and files, with the stat data seen before reading.
    pub changes: BTreeMap<RepoPath, Option<WorktreeFile>>,
    /// What stands there and could not be stored: it cannot be read, or its filter fails.
    pub unstored: BTreeSet<RepoPath>,
    /// Which untracked files are left out because they may not be read.
    pub unreadable: Vec<RepoPath>,
}

/// What happens to a file that cannot be stored: one that cannot be read, or whose filter fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unstorable {
    /// The snapshot fails: it was asked to keep everything.
    Refuse,
    /// As `Refuse`, but an untracked file that may not be read is left out, and named by a warning.
    NameUnreadable,
    /// The file is left out: its bytes are kept in another way.
    LeaveOut,
}

/// Tells errors that are not about one file.
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
    ///
    /// # Errors
    /// `no-space`, `io`.
    pub fn write_index_tree(&self, scan: &Scan) -> Result<Oid> {
        let staged = scan.staged.iter().map(|change| (&change.path, change.new));
        let conflicts = scan.conflicts.iter().map(|path| (path, None));
        self.edit_tree(scan.head_tree, staged.chain(conflicts))
    }

    /// Writes every changed file and each of `untracked` as blobs, and the trees that hold them.
    ///
    /// # Errors
    /// `filter-failed`, `no-space`, `io`, `interrupted`.
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
        // No checkpoint goes without what is tracked.
        let of_tracked = match unstorable {
            Unstorable::LeaveOut => Unstorable::LeaveOut,
            Unstorable::NameUnreadable | Unstorable::Refuse => Unstorable::Refuse,
        };
        let tracked = tracked.map(|path| (path, of_tracked));
        let untracked = untracked.iter().map(|found| (&found.path, unstorable));
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
        let edits = changes
            .iter()
            .map(|(path, file)| (path, file.as_ref().map(|f| f.entry)));
        let worktree_tree = self.edit_tree(index_tree, edits)?;
        Ok(Snapshot {
            index_tree,
            worktree_tree,
            changes,
            unstored,
            unreadable,
        })
    }
}

impl Repo {
    /// Reads the files among `unclear` and returns those whose content, cleaned as git would store
    /// it, is not what the index has.
    ///
    /// # Errors
    /// `filter-failed`, `io`, `interrupted`.
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
