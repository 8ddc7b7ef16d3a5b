//! Trees that are compared: each is read once, within the limits, and kept for the next comparison.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use gix::ObjectId;
use gix::objs::{Data, Find, Kind};

use crate::git::Repo;
use crate::model::{Code, Result, ResultExt as _};

/// The maximum number of bytes to keep.
const MAX_BYTES: usize = 16 << 20;

/// The size of an object file that is read without looking at its header: zlib unpacks it to a thousand times as much
/// at most.
const SMALL_FILE_BYTES: u64 = 32 << 10;

/// The trees that were read, by id.
#[derive(Default)]
pub(in crate::git) struct TreeCache {
    trees: RefCell<HashMap<ObjectId, Arc<[u8]>>>,
    bytes: Cell<usize>,
}

/// The trees of a repository.
#[derive(Clone, Copy)]
pub(super) struct Trees<'a> {
    pub(super) repo: &'a gix::Repository,
    pub(super) cache: &'a TreeCache,
}

impl Trees<'_> {
    /// Reads a tree; `None` if it is larger than `most` bytes.
    pub(super) fn read(self, id: ObjectId, most: u64) -> Result<Option<Arc<[u8]>>> {
        if id.is_empty_tree() {
            return Ok(Some(Arc::default()));
        }
        let fits = |size: u64| size <= most;
        if let Some(known) = self.cache.trees.borrow().get(&id) {
            return Ok(Some(Arc::clone(known)).filter(|tree| fits(tree.len() as u64)));
        }
        let cannot = || format!("cannot read tree {id}");
        if !self.is_certainly_small(id) {
            let header = self.repo.find_header(id).or_code(Code::ObjectMissing, cannot)?;
            if !fits(header.size()) {
                return Ok(None);
            }
        }
        let tree = self.repo.find_tree(id).or_code(Code::ObjectMissing, cannot)?;
        let tree = Arc::from(tree.data.as_slice());
        self.cache.keep(id, &tree);
        Ok(Some(tree).filter(|tree| fits(tree.len() as u64)))
    }

    /// Returns `true` if the tree has a file of its own that is too small to unpack to much: then its header, for which
    /// that file would be opened once more, need not be read first.
    fn is_certainly_small(self, id: ObjectId) -> bool {
        let hex = id.to_string();
        let (folder, name) = hex.split_at(2);
        let file = self.repo.objects.store_ref().path().join(folder).join(name);
        file.metadata().is_ok_and(|metadata| metadata.len() <= SMALL_FILE_BYTES)
    }
}

impl Repo {
    pub(super) fn trees(&self) -> Trees<'_> {
        Trees { repo: &self.inner, cache: &self.tree_cache }
    }
}

impl TreeCache {
    /// Takes the trees that another cache of the same repository has, in place of its own.
    pub(in crate::git) fn adopt(&self, other: &TreeCache) {
        self.trees.replace(other.trees.take());
        self.bytes.set(other.bytes.take());
    }

    fn keep(&self, id: ObjectId, tree: &Arc<[u8]>) {
        if self.bytes.get().saturating_add(tree.len()) > MAX_BYTES {
            self.trees.borrow_mut().clear();
            self.bytes.set(0);
        }
        if tree.len() <= MAX_BYTES {
            self.bytes.set(self.bytes.get() + tree.len());
            self.trees.borrow_mut().insert(id, Arc::clone(tree));
        }
    }
}

impl Find for Trees<'_> {
    fn try_find<'b>(
        &self,
        id: &gix::oid,
        buffer: &'b mut Vec<u8>,
    ) -> gix::error::Result<Option<Data<'b>>> {
        let known = self.cache.trees.borrow().get(id).map(Arc::clone);
        let Some(known) = known else {
            return self.repo.objects.try_find(id, buffer);
        };
        buffer.clear();
        buffer.extend_from_slice(&known);
        Ok(Some(Data { kind: Kind::Tree, object_hash: id.kind(), data: buffer }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_tree_is_refused_whether_it_is_known_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let repo = gix::init_bare(folder.path()).unwrap();
        let entry = |at: usize| gix::objs::tree::Entry {
            mode: gix::objs::tree::EntryKind::Blob.into(),
            filename: format!("{at:05}").into(),
            oid: gix::ObjectId::empty_blob(repo.object_hash()),
        };
        let entries = (0..2_000).map(entry).collect();
        let id = repo.write_object(gix::objs::Tree { entries }).unwrap().detach();
        let cache = TreeCache::default();
        let trees = Trees { repo: &repo, cache: &cache };
        let size = u64::try_from(repo.find_tree(id).unwrap().data.len()).unwrap();
        assert!(trees.read(id, size - 1).unwrap().is_none());
        assert_eq!(trees.read(id, size).unwrap().unwrap().len() as u64, size);
        assert!(trees.read(id, size - 1).unwrap().is_none());
        std::fs::remove_dir_all(folder.path().join("objects").join(&id.to_string()[..2])).unwrap();
        assert!(trees.read(id, size).unwrap().is_some());
        let none = TreeCache::default();
        assert!(Trees { repo: &repo, cache: &none }.read(id, size).is_err());
    }

    #[test]
    fn what_is_kept_stays_below_the_limit() {
        let cache = TreeCache::default();
        let tree: Arc<[u8]> = vec![0; MAX_BYTES / 2].into();
        for number in 0..5_u8 {
            cache.keep(gix::ObjectId::from([number; 20]), &tree);
            assert!(cache.bytes.get() <= MAX_BYTES && cache.trees.borrow().len() <= 2);
        }
        cache.keep(gix::ObjectId::from([9; 20]), &vec![0; MAX_BYTES + 1].into());
        assert!(cache.trees.borrow().is_empty());
    }
}
