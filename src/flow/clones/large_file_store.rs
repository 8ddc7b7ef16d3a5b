//! The store of large files that the manifest of a repository names.

use std::path::Path;

use crate::clones::new_clone::clone_large_files::Store;
use crate::git::remote::url::{Provenance, RemoteUrl};
use crate::git::{Oid, Repo, TreeEntry};
use crate::model::{RepoPath, World};
use crate::setup::manifest::{self, LfsMode, Manifest};

/// A larger manifest is not read.
const LIMIT_BYTES: u64 = 1024 * 1024;

/// Reads the manifest of a tree. It is untrusted: one that cannot be used is reported, and counts
/// as absent.
///
/// Of a separate store only the address counts, over https or ssh, without credentials; git-lfs
/// treats `.lfsconfig` in the same way.
pub(in crate::flow) fn of_tree(world: &World, repo: &Repo, tree: Oid) -> Store {
    let leaf = repo.leaf_in(tree, &RepoPath::from(manifest::PATH));
    let Some(leaf) = leaf.ok().flatten().filter(TreeEntry::is_plain_file) else {
        return Store::ByAttributes;
    };
    let small = repo
        .object_size(leaf.id)
        .is_some_and(|size| size <= LIMIT_BYTES);
    let bytes = repo.read_blob(leaf.id).ok().filter(|_| small);
    let lfs = match bytes.map(|bytes| Manifest::parse(&bytes)) {
        Some(Ok(manifest)) => manifest.lfs,
        Some(Err(error)) => {
            (world.narrate)(&format!(
                "warning: {}; using .gitattributes for large files",
                error.message()
            ));
            return Store::ByAttributes;
        }
        None => return Store::ByAttributes,
    };
    match lfs.mode {
        LfsMode::SameRemote => Store::Remote,
        LfsMode::Disabled => Store::Git,
        LfsMode::Separate => separate(world, &lfs.separate_url.unwrap_or_default()),
    }
}

fn separate(world: &World, url: &str) -> Store {
    match RemoteUrl::parse(url, Provenance::Repository, Path::new("/")) {
        Ok(url) => Store::Separate(url.without_credentials()),
        Err(error) => {
            (world.narrate)(&format!(
                "warning: the store of large files that '{}' names is not used: {}",
                manifest::PATH,
                error.message()
            ));
            Store::Remote
        }
    }
}
