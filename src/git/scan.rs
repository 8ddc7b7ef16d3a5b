//! One look at the worktree: what differs between HEAD, index and files, and what is untracked.
//!
//! Never writes anything, not even refreshed stats: reads leave the index as it is.

use std::sync::Arc;

use gix::index::entry::Flags;
use gix::status::{Item, Submodule, UntrackedFiles, index_worktree};

use crate::model::{Code, RepoPath, Result, ResultExt as _, World};

use super::diff::TreeChange;
use super::{Head, Oid, Repo, TreeEntry};

/// What a look at the worktree found.
pub struct Scan {
    /// HEAD when the scan began.
    pub head: Head,
    /// HEAD's tree (empty for an unborn branch).
    pub head_tree: Oid,
    /// The index as read, shared and unchanged.
    pub(super) index: gix::worktree::Index,
    /// HEAD's tree against the index, stage 0, intent-to-add left out.
    pub staged: Vec<TreeChange>,
    /// Tracked paths whose file is no longer what the index says.
    pub unstaged: Vec<RepoPath>,
    /// Files and nested repositories that are neither tracked nor ignored.
    pub untracked: Vec<Untracked>,
    /// Paths with conflict stages.
    pub conflicts: Vec<RepoPath>,
}

/// Something on disk that git does not track and does not ignore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untracked {
    /// Where it is; for a nested repository its directory.
    pub path: RepoPath,
    /// What it is.
    pub kind: UntrackedKind,
    /// Its size in bytes (0 for repositories).
    pub size_bytes: u64,
}

/// What an untracked path is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UntrackedKind {
    /// A regular file or a symbolic link.
    File,
    /// A directory that is a repository of its own.
    Repository,
}

impl Scan {
    /// Tells whether index or files differ from HEAD, untracked files included.
    pub fn is_dirty(&self) -> bool {
        !(self.staged.is_empty()
            && self.unstaged.is_empty()
            && self.untracked.is_empty()
            && self.conflicts.is_empty())
    }

    /// Tells whether the index has an entry for the path, at any stage.
    pub fn is_tracked(&self, path: &RepoPath) -> bool {
        let path = gix::bstr::BStr::new(path.as_bytes());
        self.index.entry_range(path).is_some()
    }

    /// Tells whether an index entry is left out of the worktree by sparse checkout.
    pub fn is_skipped(&self, path: &RepoPath) -> bool {
        let entry = self
            .index
            .entry_by_path(gix::bstr::BStr::new(path.as_bytes()));
        entry.is_some_and(|entry| entry.flags.contains(Flags::SKIP_WORKTREE))
    }
}

impl Repo {
    /// Compares HEAD, index and files, and lists what is untracked.
    ///
    /// Cost: one `lstat` per tracked file and one walk of the directories; filters run only for
    /// files whose stat data changed.
    ///
    /// # Errors
    /// `unsupported` for a sparse index, `repository-broken` (a malformed `.gitmodules`, say),
    /// `interrupted`.
    pub fn scan(&self, world: &World) -> Result<Scan> {
        let head = self.head()?;
        let head_tree = self.tree_of(head.commit())?;
        let index = self.read_index()?;
        let mut scan = Scan {
            head,
            head_tree,
            index: Arc::clone(&index),
            staged: Vec::new(),
            unstaged: Vec::new(),
            untracked: Vec::new(),
            conflicts: Vec::new(),
        };
        let cannot = || "cannot compare the worktree with the index";
        let ignore_dirty = Submodule::Given {
            ignore: gix::submodule::config::Ignore::Dirty,
            check_dirty: true,
        };
        let items = self
            .inner
            .status(gix::progress::Discard)
            .or_code(Code::RepositoryBroken, cannot)?
            .index(gix::worktree::IndexPersistedOrInMemory::Persisted(index))
            .head_tree(head_tree.0)
            .untracked_files(UntrackedFiles::Files)
            .dirwalk_options(|options| options.emit_empty_directories(false))
            .index_worktree_submodules(ignore_dirty)
            .index_worktree_rewrites(None)
            .tree_index_track_renames(gix::status::tree_index::TrackRenames::Disabled)
            .should_interrupt_owned(Arc::clone(&world.interrupt.flag))
            .into_iter([])
            .or_code(Code::RepositoryBroken, cannot)?;
        for item in items {
            match item.or_code(Code::RepositoryBroken, cannot)? {
                Item::TreeIndex(change) => scan.take_staged(&change),
                Item::IndexWorktree(item) => scan.take_worktree(self, item),
            }
        }
        world.interrupt.check()?;
        scan.sort();
        Ok(scan)
    }

    /// Reads the index, or an empty one where there is none.
    ///
    /// # Errors
    /// `repository-broken`, `unsupported` for a sparse index.
    pub(super) fn read_index(&self) -> Result<gix::worktree::Index> {
        let index = self.inner.index_or_empty();
        let index = index.or_code(Code::RepositoryBroken, || "cannot read the index")?;
        if index.is_sparse() {
            return Err(crate::model::Error::new(
                Code::Unsupported,
                "a sparse index is not supported; sparse checkouts with a full index are",
            )
            .hint("git sparse-checkout reapply --no-sparse-index"));
        }
        Ok(index)
    }
}

impl Scan {
    fn take_staged(&mut self, change: &gix::diff::index::Change) {
        use gix::diff::index::ChangeRef as C;
        let entry = |mode: gix::index::entry::Mode, id: &gix::hash::oid| {
            let kind = mode.to_tree_entry_mode()?.kind();
            Some(TreeEntry {
                kind,
                id: id.to_owned().into(),
            })
        };
        let (path, old, new) = match change {
            C::Addition {
                location,
                entry_mode,
                id,
                ..
            } => (location, None, entry(*entry_mode, id)),
            C::Deletion {
                location,
                entry_mode,
                id,
                ..
            } => (location, entry(*entry_mode, id), None),
            C::Modification {
                location,
                previous_entry_mode,
                previous_id,
                entry_mode,
                id,
                ..
            } => (
                location,
                entry(*previous_entry_mode, previous_id),
                entry(*entry_mode, id),
            ),
            // Rename tracking is off.
            C::Rewrite { .. } => return,
        };
        let path = RepoPath::new(path.to_vec());
        let new = if self.is_intent_to_add(&path) {
            None
        } else {
            new
        };
        if old != new {
            self.staged.push(TreeChange { path, old, new });
        }
    }

    fn is_intent_to_add(&self, path: &RepoPath) -> bool {
        let entry = self
            .index
            .entry_by_path(gix::bstr::BStr::new(path.as_bytes()));
        entry.is_some_and(|entry| entry.flags.contains(Flags::INTENT_TO_ADD))
    }

    fn take_worktree(&mut self, repo: &Repo, item: index_worktree::Item) {
        use gix::status::plumbing::index_as_worktree::EntryStatus;
        match item {
            index_worktree::Item::Modification {
                rela_path, status, ..
            } => match status {
                EntryStatus::NeedsUpdate(_) => {}
                EntryStatus::Conflict { .. } => self.conflicts.push(RepoPath::new(rela_path)),
                EntryStatus::Change(_) | EntryStatus::IntentToAdd => {
                    self.unstaged.push(RepoPath::new(rela_path));
                }
            },
            index_worktree::Item::DirectoryContents { entry, .. } => {
                self.take_untracked(repo, entry);
            }
            // Rename tracking is off.
            index_worktree::Item::Rewrite { .. } => {}
        }
    }

    fn take_untracked(&mut self, repo: &Repo, entry: gix::dir::Entry) {
        use gix::dir::entry::{Kind, Status};
        if entry.status != Status::Untracked {
            return;
        }
        let path = RepoPath::new(entry.rela_path);
        let kind = match entry.disk_kind {
            Some(Kind::File | Kind::Symlink) => UntrackedKind::File,
            Some(Kind::Repository) => UntrackedKind::Repository,
            Some(Kind::Directory | Kind::Untrackable) | None => return,
        };
        let metadata = std::fs::symlink_metadata(path.under(repo.workdir()));
        let size_bytes = match kind {
            UntrackedKind::File => metadata.map_or(0, |metadata| metadata.len()),
            UntrackedKind::Repository => 0,
        };
        self.untracked.push(Untracked {
            path,
            kind,
            size_bytes,
        });
    }

    fn sort(&mut self) {
        self.staged.sort_by(|a, b| a.path.cmp(&b.path));
        self.unstaged.sort();
        self.unstaged.dedup();
        self.untracked.sort_by(|a, b| a.path.cmp(&b.path));
        self.conflicts.sort();
        self.conflicts.dedup();
    }
}
