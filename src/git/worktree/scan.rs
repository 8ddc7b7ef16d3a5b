//! A scan of the working tree: the differences between HEAD, index and files, and the untracked
//! files.
//!
//! Never writes anything, not even refreshed stats: reads leave the index unchanged.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use gix::bstr::{BStr, ByteSlice as _};
use gix::index::entry::{Flags, Stage};

use crate::git::compare::tree_diff::TreeChange;
use crate::git::foreign_repository::own_git_dir;
use crate::git::index::Index;
use crate::git::index::index_file::SharedIndex;
use crate::git::{Head, Oid, Repo, TreeEntry};
use crate::model::{Code, Error, RepoPath, Result, World};

use super::tracked::{self, Rules};
use super::untracked;

/// The result of a scan.
pub struct Scan {
    /// HEAD when the scan began.
    pub head: Head,
    /// HEAD's tree (empty for an unborn branch).
    pub head_tree: Oid,
    /// The index as read, shared and unchanged.
    pub(in crate::git) index: SharedIndex,
    /// HEAD's tree against the index, stage 0, intent-to-add left out.
    pub staged: Vec<TreeChange>,
    /// Tracked paths whose files differ from the index.
    pub unstaged: Vec<RepoPath>,
    /// Files, nested repositories and names that git refuses, neither tracked nor ignored, and
    /// unreadable paths.
    pub untracked: Vec<Untracked>,
    /// Paths with conflict stages.
    pub conflicts: Vec<RepoPath>,
    /// Submodules whose directories are there.
    pub submodules: Vec<RepoPath>,
    /// Those with edits inside that git reports; a snapshot has at most another commit of them.
    pub edited_submodules: Vec<RepoPath>,
    /// The paths of `unstaged` that only a comparison of content found.
    edited: Vec<RepoPath>,
}

/// HEAD and the index, read without checking any file.
pub struct IndexLook {
    /// HEAD.
    pub head: Head,
    /// The index.
    pub index: Index,
    /// Stage 0 of the index as a tree; a path in conflict has none.
    pub tree: Oid,
}

/// An untracked path that is not ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untracked {
    /// The path; for a nested repository or a refused directory, that directory.
    pub path: RepoPath,
    /// Its kind.
    pub kind: UntrackedKind,
    /// Its size in bytes (0 for all but files).
    pub size_bytes: u64,
}

/// The kind of an untracked path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UntrackedKind {
    /// A regular file or a symlink.
    File,
    /// A nested repository.
    Repository,
    /// A file or directory with a name that git refuses in trees.
    Refused,
    /// A path that cannot be read: a directory without permission, a path that is too long. Tracked
    /// files below it count as unchanged.
    Unreadable,
}

impl Scan {
    /// Counts the paths with uncommitted work.
    pub fn count_uncommitted(&self) -> usize {
        let staged = self.staged.iter().map(|change| &change.path);
        let others = self.unstaged.iter().chain(&self.conflicts).chain(&self.edited_submodules);
        // A path may be staged and edited after that.
        let tracked: BTreeSet<&RepoPath> = staged.chain(others).collect();
        tracked.len() + self.untracked.len()
    }

    /// Lists the paths with uncommitted work, without submodules with edits inside; some of them twice.
    pub fn uncommitted_paths(&self) -> impl Iterator<Item = RepoPath> {
        let staged = self.staged.iter().map(|change| &change.path);
        let untracked = self.untracked.iter().map(|file| &file.path);
        let tracked = staged.chain(&self.unstaged).chain(&self.conflicts);
        tracked.chain(untracked).cloned()
    }

    /// Returns the entry at stage 0; a lookup without a stage would also return "ours" of a
    /// conflict.
    pub(in crate::git) fn entry(&self, path: &RepoPath) -> Option<&gix::index::Entry> {
        let path = BStr::new(path.as_bytes());
        self.index.entry_by_path_and_stage(path, Stage::Unconflicted)
    }

    /// Returns a copy of the scanned index. It may be dated to the beginning of the scan: the
    /// content of every entry that was too young to trust has been compared, and the stat data of
    /// differing ones are cleared.
    pub fn index(&self) -> Index {
        let mut index = Index::new(self.index.clone());
        index.forget(&self.edited);
        index
    }

    /// Returns the scan as if the files of all other paths were as the index has them, for a command that asks about
    /// few paths and reads no other file.
    #[must_use]
    pub fn limited_to(&self, paths: &BTreeSet<RepoPath>) -> Scan {
        let among =
            |list: &[RepoPath]| list.iter().filter(|path| paths.contains(path)).cloned().collect();
        let untracked = self.untracked.iter().filter(|file| paths.contains(&file.path));
        Scan {
            head: self.head.clone(),
            head_tree: self.head_tree,
            index: self.index.clone(),
            staged: self.staged.clone(),
            unstaged: among(&self.unstaged),
            untracked: untracked.cloned().collect(),
            conflicts: among(&self.conflicts),
            submodules: among(&self.submodules),
            edited_submodules: among(&self.edited_submodules),
            edited: self.edited.clone(),
        }
    }

    /// Returns `true` if the index has an entry for the path, at any stage.
    pub fn is_tracked(&self, path: &RepoPath) -> bool {
        let path = gix::bstr::BStr::new(path.as_bytes());
        self.index.entry_range(path).is_some()
    }

    /// Returns `true` if sparse checkout leaves an index entry out of the working tree.
    pub fn is_skipped(&self, path: &RepoPath) -> bool {
        let entry = self.entry(path);
        entry.is_some_and(|entry| entry.flags.contains(Flags::SKIP_WORKTREE))
    }
}

impl Repo {
    /// Compares HEAD, index and files, and lists the untracked files.
    ///
    /// Cost: one `lstat` per tracked file and one walk of the directories, in parallel; content is
    /// read and filters run only for files whose stat data changed or that are as young as the
    /// index.
    pub fn scan(&self, world: &World) -> Result<Scan> {
        let head = self.head()?;
        let head_tree = self.tree_of(head.commit())?;
        let index = self.read_index()?;
        let rules = Rules::of(self)?;
        let (workdir, tracked_index) = (self.workdir(), index.clone());
        let (suspects, untracked, staged) = std::thread::scope(|scope| {
            let tracked =
                scope.spawn(move || tracked::check(world, workdir, &tracked_index, rules));
            let untracked = untracked::find(world, self, &index);
            let staged = self.staged(head_tree, &index);
            let gone = || Error::new(Code::Io, "the thread that checks files has died");
            (tracked.join().unwrap_or_else(|_| Err(gone())), untracked, staged)
        });
        let (suspects, mut untracked, staged) = (suspects?, untracked?, staged?);
        untracked::add_unsearchable(world, &mut untracked, &suspects.unsearchable);
        let mut scan = Scan {
            head,
            head_tree,
            index,
            staged,
            unstaged: suspects.changed,
            untracked,
            conflicts: suspects.conflicts,
            edited_submodules: self.edited_submodules(world, &suspects.submodules)?,
            submodules: suspects.submodules,
            edited: Vec::new(),
        };
        let is_moved = |path: &&RepoPath| self.submodule_moved(&scan, path);
        let moved: Vec<RepoPath> = scan.submodules.iter().filter(is_moved).cloned().collect();
        scan.unstaged.extend(moved);
        scan.edited = self.changed_by_content(world, &scan, &suspects.unclear)?;
        scan.unstaged.extend_from_slice(&scan.edited);
        scan.unstaged.sort();
        // A conflicted path has no entry to differ from.
        scan.staged.retain(|change| scan.conflicts.binary_search(&change.path).is_err());
        Ok(scan)
    }

    /// Writes stage 0 of the index as a tree, without checking any file.
    pub fn write_tree_of_index(&self) -> Result<Oid> {
        Ok(self.look_at_index()?.tree)
    }

    /// Reads HEAD and the index, and writes stage 0 as a tree; checks no files.
    pub fn look_at_index(&self) -> Result<IndexLook> {
        let head = self.head()?;
        let head_tree = self.tree_of(head.commit())?;
        let index = self.read_index()?;
        let staged = self.staged(head_tree, &index)?;
        let edits = staged.iter().map(|change| (&change.path, change.new));
        Ok(IndexLook { head, tree: self.edit_tree(head_tree, edits)?, index: Index::new(index) })
    }

    /// Compares HEAD's tree with stage 0 of the index; intent-to-add entries are left out.
    fn staged(&self, head_tree: Oid, index: &gix::index::File) -> Result<Vec<TreeChange>> {
        let known = index.tree().filter(|tree| tree.num_entries.is_some());
        if known.is_some_and(|tree| Oid::from(tree.id) == head_tree) {
            return Ok(Vec::new());
        }
        let head = self.plain_index_of_tree(head_tree)?;
        let mut changes = Vec::new();
        let mut old = Entries::of(&head);
        let mut new = Entries::of(index);
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return Ok(changes),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((old, _)), Some((new, _))) => old.cmp(new),
            };
            let before = if order == Ordering::Greater { None } else { old.next() };
            let after = if order == Ordering::Less { None } else { new.next() };
            let path =
                before.as_ref().or(after.as_ref()).map(|(path, _)| RepoPath::from(path.as_bytes()));
            let (before, after) = (before.map(|(_, entry)| entry), after.map(|(_, entry)| entry));
            if let Some(path) = path.filter(|_| before != after) {
                changes.push(TreeChange { path, old: before, new: after });
            }
        }
    }

    /// Returns `true` if a submodule's HEAD differs from the commit in the index.
    fn submodule_moved(&self, scan: &Scan, path: &RepoPath) -> bool {
        if own_git_dir(&path.under(self.workdir())).is_err() {
            return false;
        }
        let options = self.inner.open_options().clone();
        let Ok(inner) = gix::open_opts(path.under(self.workdir()), options) else {
            return false;
        };
        let entry = scan.entry(path);
        let head = inner.head_id().ok().map(gix::Id::detach);
        head.is_some() && head != entry.map(|entry| entry.id)
    }

    /// Reads the index, or an empty one where there is none.
    pub(in crate::git) fn read_index(&self) -> Result<SharedIndex> {
        let index = self.shared_index()?;
        if index.is_sparse() {
            return Err(Error::new(
                Code::Unsupported,
                "a sparse index is not supported; sparse checkouts with a full index are",
            )
            .hint("git sparse-checkout reapply --no-sparse-index"));
        }
        Ok(index)
    }
}

/// The entries of an index at stage 0 that a tree could hold, in order.
struct Entries<'a> {
    rest: std::slice::Iter<'a, gix::index::Entry>,
    paths: &'a [u8],
    peeked: Option<(&'a BStr, TreeEntry)>,
}

impl<'a> Entries<'a> {
    fn of(index: &'a gix::index::File) -> Entries<'a> {
        let rest = index.entries().iter();
        let mut all = Entries { rest, paths: index.path_backing(), peeked: None };
        all.next();
        all
    }

    fn peek(&self) -> Option<(&'a BStr, TreeEntry)> {
        self.peeked
    }

    /// Returns the current entry and reads the next one.
    fn next(&mut self) -> Option<(&'a BStr, TreeEntry)> {
        let paths = self.paths;
        let next = self.rest.by_ref().find_map(|entry| {
            let plain =
                entry.stage() == Stage::Unconflicted && !entry.flags.contains(Flags::INTENT_TO_ADD);
            let kind = entry.mode.to_tree_entry_mode().filter(|_| plain)?.kind();
            Some((entry.path_in(paths), TreeEntry { kind, id: entry.id.into() }))
        });
        std::mem::replace(&mut self.peeked, next)
    }
}
