//! Reads the contents of commits, in a repository with or without a working tree, on any thread.

use crate::git::lfs::lfs_pointer::{self, Pointer};
use crate::git::{BareRepo, Oid, Repo, TreeEntry};
use crate::model::{Code, RepoPath, Result, ResultExt as _};

/// The objects of a repository. Several threads may read clones of it at once.
#[derive(Clone)]
pub struct Objects {
    inner: gix::Repository,
}

/// One entry of a tree.
#[derive(Clone, Debug)]
pub struct NamedEntry {
    /// Its name, without a slash.
    pub name: Vec<u8>,
    /// Its mode and object.
    pub entry: TreeEntry,
}

impl Repo {
    /// Returns its objects.
    pub fn objects(&self) -> Objects {
        Objects { inner: self.inner.clone() }
    }
}

impl BareRepo {
    /// Returns its objects.
    pub fn objects(&self) -> Objects {
        Objects { inner: self.inner().clone() }
    }
}

impl Objects {
    #[cfg(test)]
    pub(in crate::git) fn of(inner: gix::Repository) -> Objects {
        Objects { inner }
    }

    pub(in crate::git) fn gix(&self) -> &gix::Repository {
        &self.inner
    }

    /// Returns the tree of a commit.
    pub fn tree_of(&self, commit: Oid) -> Result<Oid> {
        let cannot = || format!("cannot read commit {commit}");
        let commit_object =
            self.inner.find_commit(commit.0).or_code(Code::ObjectMissing, cannot)?;
        Ok(commit_object.tree_id().or_code(Code::ObjectMissing, cannot)?.detach().into())
    }

    /// Lists the entries of a tree, in git's order.
    pub fn list(&self, tree: Oid) -> Result<Vec<NamedEntry>> {
        let cannot = || format!("cannot read tree {tree}");
        if tree.0.is_empty_tree() {
            return Ok(Vec::new());
        }
        let tree_object = self.inner.find_tree(tree.0).or_code(Code::ObjectMissing, cannot)?;
        tree_object
            .iter()
            .map(|entry| {
                let entry = entry.or_code(Code::ObjectMissing, cannot)?;
                Ok(NamedEntry {
                    name: entry.filename().to_vec(),
                    entry: TreeEntry { kind: entry.mode().kind(), id: entry.object_id().into() },
                })
            })
            .collect()
    }

    /// Returns the entry at `path` in a tree; the root for an empty path.
    pub fn at(&self, tree: Oid, path: &RepoPath) -> Result<Option<TreeEntry>> {
        if path.as_bytes().is_empty() {
            return Ok(Some(TreeEntry::directory(tree)));
        }
        super::tree::entry_at(&self.inner, tree, path.as_path())
    }

    /// Reads a blob.
    pub fn blob(&self, id: Oid) -> Result<Vec<u8>> {
        let cannot = || format!("cannot read blob {id}");
        let mut blob = self.inner.find_blob(id.0).or_code(Code::ObjectMissing, cannot)?;
        Ok(blob.take_data())
    }

    /// Returns the size of an object in bytes; `None` when it is missing.
    pub fn size(&self, id: Oid) -> Option<u64> {
        self.inner.find_header(id.0).ok().map(|header| header.size())
    }

    /// Reads a blob that is a git-lfs pointer.
    pub fn lfs_pointer(&self, id: Oid) -> Option<Pointer> {
        let small = self.size(id)? <= lfs_pointer::MAX_BYTES;
        small.then(|| self.blob(id).ok()).flatten().and_then(|bytes| Pointer::parse(&bytes))
    }
}
