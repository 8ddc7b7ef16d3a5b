//! Trees and histories: looking up paths, editing trees, walking commits.

use std::path::Path;

use gix::bstr::BStr;

use crate::git::{Oid, Repo, TreeEntry};
use crate::model::{Code, Error, RepoPath, Result, ResultExt as _};

impl Repo {
    /// Returns the tree of a commit, or the empty tree for `None`.
    pub fn tree_of(&self, commit: Option<Oid>) -> Result<Oid> {
        commit.map_or(Ok(self.empty_tree()), |commit| Ok(self.read_commit(commit)?.tree))
    }

    /// Writes the tree that `base` becomes with each path set or removed (`None`).
    pub fn edit_tree<'a>(
        &self,
        base: Oid,
        edits: impl IntoIterator<Item = (&'a RepoPath, Option<TreeEntry>)>,
    ) -> Result<Oid> {
        let cannot = || "cannot write a tree";
        let mut edits = edits.into_iter().peekable();
        // git knows the empty tree without storing it, but 'git fsck' reports it as missing.
        if edits.peek().is_none() && base != self.empty_tree() {
            return Ok(base);
        }
        let mut editor = if base == self.empty_tree() {
            self.inner.empty_tree().edit()
        } else {
            self.inner.edit_tree(base.0)
        }
        .or_code(Code::ObjectMissing, || format!("cannot read tree {base}"))?;
        let mut additions = Vec::new();
        for (path, entry) in edits {
            if let Some(entry) = entry {
                additions.push((path, entry));
            } else {
                let path = BStr::new(path.as_bytes());
                editor.remove_leaf(path).or_code(Code::Io, cannot)?;
            }
        }
        // Removals come first: a file may replace a directory, or the other way round.
        for (path, entry) in additions {
            let path = BStr::new(path.as_bytes());
            editor.upsert(path, entry.kind, entry.id.0).or_code(Code::Io, cannot)?;
        }
        Ok(editor.write().or_code(Code::Io, cannot)?.detach().into())
    }

    /// Returns the blob or tree named `path` in `tree`.
    pub fn entry_in(&self, tree: Oid, path: impl AsRef<Path>) -> Result<Option<Oid>> {
        let entry = entry_at(&self.inner, tree, path.as_ref())?;
        Ok(entry.map(|entry| entry.id))
    }

    /// Returns the file, symlink or submodule at `path` in `tree`; `None` for a directory too.
    pub fn leaf_in(&self, tree: Oid, path: &RepoPath) -> Result<Option<TreeEntry>> {
        let entry = entry_at(&self.inner, tree, path.as_path())?;
        Ok(entry.filter(|entry| !entry.is_directory()))
    }

    /// Returns the directory named `path` in `tree`; `None` for anything else.
    pub fn tree_in(&self, tree: Oid, path: &str) -> Result<Option<Oid>> {
        let entry = entry_at(&self.inner, tree, Path::new(path))?;
        let directory = entry.filter(TreeEntry::is_directory);
        Ok(directory.map(|entry| entry.id))
    }

    /// Lists the direct entries of a tree, in git's order.
    pub fn entries_of(&self, tree: Oid) -> Result<Vec<(RepoPath, TreeEntry)>> {
        let cannot = || format!("cannot read tree {tree}");
        if tree == self.empty_tree() {
            return Ok(Vec::new());
        }
        let tree_object = self.inner.find_tree(tree.0).or_code(Code::ObjectMissing, cannot)?;
        let entries = tree_object.iter().map(|entry| {
            let entry = entry.or_code(Code::RepositoryBroken, cannot)?;
            let name = RepoPath::new(entry.filename().to_vec());
            let id = entry.object_id().into();
            let kind = entry.mode().kind();
            Ok((name, TreeEntry { kind, id }))
        });
        entries.collect()
    }

    /// Returns `true` if a branch at `now` has commits that it did not have at `then`.
    pub fn has_more(&self, now: Oid, then: Oid) -> Result<bool> {
        Ok(!self.commits_between(now, &[then], 1)?.is_empty())
    }

    /// Returns the root commit on the first-parent chain of `tip`. The walk ends early at the
    /// commit `known.0`, for which `known.1` was found before.
    pub fn first_commit(&self, tip: Oid, known: Option<(Oid, Oid)>) -> Result<FirstCommit> {
        first_commit(&self.inner, tip, known)
    }

    /// Counts commits reachable from `tip` and not from `hidden`, up to `limit`, newest first.
    pub fn commits_between(&self, tip: Oid, hidden: &[Oid], limit: usize) -> Result<Vec<Oid>> {
        let cannot = || "cannot walk the history";
        let walk = self
            .inner
            .rev_walk([tip.0])
            .with_hidden(hidden.iter().map(|id| id.0))
            .all()
            .or_code(Code::ObjectMissing, cannot)?;
        walk.take(limit)
            .map(|info| Ok(Oid(info.or_code(Code::ObjectMissing, cannot)?.id)))
            .collect()
    }
}

/// Returns the entry at `path` in a tree.
pub(super) fn entry_at(
    repo: &gix::Repository,
    tree: Oid,
    path: &Path,
) -> Result<Option<TreeEntry>> {
    let cannot = || format!("cannot read tree {tree}");
    // git knows the empty tree without storing it.
    if tree.0.is_empty_tree() {
        return Ok(None);
    }
    let tree_object = repo.find_tree(tree.0).or_code(Code::ObjectMissing, cannot)?;
    let entry = match tree_object.lookup_entry_by_path(path) {
        // The commit of a submodule is in another repository.
        Err(_) if is_inside_submodule(&tree_object, path) => return Ok(None),
        lookup => lookup.or_code(Code::ObjectMissing, cannot)?,
    };
    Ok(entry.map(|entry| TreeEntry { kind: entry.mode().kind(), id: entry.object_id().into() }))
}

/// The number of commits that a walk reads without a commit graph.
const FEW: usize = 16;

/// The end of a walk along first parents.
#[derive(Clone, Copy, Debug)]
pub struct FirstCommit {
    /// The root commit.
    pub id: Oid,
    /// The number of commits on the way, the first among them.
    pub passed: usize,
}

/// See [`Repo::first_commit`].
pub(in crate::git) fn first_commit(
    repo: &gix::Repository,
    tip: Oid,
    known: Option<(Oid, Oid)>,
) -> Result<FirstCommit> {
    let first = |last: Oid| Some(known.filter(|(passed, _)| *passed == last)?.1);
    if let Some(id) = first(tip) {
        return Ok(FirstCommit { id, passed: 0 });
    }
    // What 'git replace' replaces differs between clones.
    let mut unreplaced = None;
    if repo.objects.store_ref().replacements().next().is_some() {
        let objects = &mut unreplaced.insert(repo.clone()).objects;
        objects.ignore_replacements = true;
        // The cache reads what replaces them.
        objects.unset_object_cache();
    }
    let repo = unreplaced.as_ref().unwrap_or(repo);
    let cannot = || "cannot walk the history";
    let mut reached = FirstCommit { id: tip, passed: 0 };
    // A few commits are read sooner than a commit graph is opened.
    if !repo.is_shallow().or_code(Code::RepositoryBroken, cannot)? {
        while reached.passed < FEW {
            let commit = repo.find_commit(reached.id.0).map_err(|_| lost_commit(reached.id))?;
            reached.passed += 1;
            let Some(parent) = commit.parent_ids().next() else {
                return Ok(reached);
            };
            reached.id = parent.detach().into();
            if let Some(id) = first(reached.id) {
                return Ok(FirstCommit { id, ..reached });
            }
        }
    }
    let walk = repo.rev_walk([reached.id.0]).first_parent_only().all();
    for info in walk.or_code(Code::ObjectMissing, cannot)? {
        reached.id = Oid(info.map_err(|_| lost_commit(reached.id))?.id);
        reached.passed += 1;
        if let Some(id) = first(reached.id) {
            return Ok(FirstCommit { id, ..reached });
        }
    }
    Ok(reached)
}

fn is_inside_submodule(tree: &gix::Tree<'_>, path: &Path) -> bool {
    let mut folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    folders.any(|folder| {
        let entry = tree.lookup_entry_by_path(folder).ok().flatten();
        entry.is_some_and(|entry| entry.mode().is_commit())
    })
}

/// Makes the error for a commit that is not there, or whose parent is not.
fn lost_commit(id: Oid) -> Error {
    let id = id.to_string();
    let short = id.get(..12).unwrap_or_default();
    Error::new(Code::ObjectMissing, format!("commit {short} or its parent is missing"))
        .unchanged()
        .hint("git fsck   # names all that is missing; fetch it from another clone")
}
