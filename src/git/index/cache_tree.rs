//! The cache-tree extension of the index: the tree of each directory.
//!
//! With it, neither git nor git-colony needs to rebuild or compare trees that did not change. gix
//! reads the extension but cannot compute it, so this module builds it from the tree that the index
//! is known to equal. Directories whose tree is unchanged are copied without reading them.

use gix::index::extension::Tree;
use gix::objs::tree::EntryKind;

use crate::git::{Oid, Repo};
use crate::model::{Code, Result, ResultExt as _};

impl Repo {
    /// Builds the extension for an index that equals `tree`; reuses unchanged parts of `known`.
    pub(in crate::git) fn cache_tree(&self, tree: Oid, known: Option<&Tree>) -> Result<Tree> {
        self.cache_directory(b"", tree, known)
    }

    fn cache_directory(&self, name: &[u8], id: Oid, known: Option<&Tree>) -> Result<Tree> {
        if let Some(known) = known.filter(|known| known.id == id.0 && is_whole(known)) {
            return Ok(Tree { name: name.into(), ..known.clone() });
        }
        let mut made =
            Tree { name: name.into(), id: id.0, num_entries: Some(0), children: Vec::new() };
        if id == self.empty_tree() {
            return Ok(made);
        }
        let cannot = || format!("cannot read tree {id}");
        let tree = self.inner.find_tree(id.0).or_code(Code::ObjectMissing, cannot)?;
        let mut count = 0;
        for entry in tree.iter() {
            let entry = entry.or_code(Code::RepositoryBroken, cannot)?;
            if entry.kind() != EntryKind::Tree {
                count += 1;
                continue;
            }
            let name = entry.filename().to_vec();
            let below = known.and_then(|known| child(known, &name));
            let directory = self.cache_directory(&name, entry.object_id().into(), below)?;
            count += directory.num_entries.unwrap_or(0);
            made.children.push(directory);
        }
        // git orders children by length, then by bytes.
        made.children.sort_by(|a, b| (a.name.len(), &a.name).cmp(&(b.name.len(), &b.name)));
        made.num_entries = Some(count);
        Ok(made)
    }
}

fn child<'a>(tree: &'a Tree, name: &[u8]) -> Option<&'a Tree> {
    tree.children.iter().find(|child| child.name.as_slice() == name)
}

/// Returns `true` if no directory at or below this one is marked as unknown.
fn is_whole(tree: &Tree) -> bool {
    tree.num_entries.is_some() && tree.children.iter().all(is_whole)
}
