//! The store of large files that the manifest of a repository names.

use std::path::Path;

use crate::clones::new_clone::clone_large_files::Store;
use crate::git::new_repository::ConfigEntry;
use crate::git::remote::url::{Provenance, RemoteUrl};
use crate::git::{Oid, Repo, TreeEntry};
use crate::lfs::store_url;
use crate::model::{Code, Error, RepoPath, Result, World};
use crate::setup::manifest::{self, Lfs, LfsMode, Manifest};
use crate::store::Session;
use crate::store::agent_policy::default_trees::DefaultTrees;
use crate::store::lock::WorktreeLock;

/// A larger manifest is not read.
const LIMIT_BYTES: u64 = 1024 * 1024;

/// Reads the manifest of a tree. It is untrusted: one that cannot be used is reported, and counts
/// as absent.
///
/// Of a separate store only the address counts, over https or ssh, without credentials; git-lfs
/// treats `.lfsconfig` in the same way.
pub(crate) fn of_tree(world: &World, repo: &Repo, tree: Oid) -> Store {
    let leaf = repo.leaf_in(tree, &RepoPath::from(manifest::PATH));
    let Some(leaf) = leaf.ok().flatten().filter(TreeEntry::is_plain_file) else {
        return Store::ByAttributes;
    };
    let small = repo.object_size(leaf.id).is_some_and(|size| size <= LIMIT_BYTES);
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
    let url = url_of(&lfs).unwrap_or_else(|error| {
        let said = error.message();
        (world.narrate)(&format!("warning: {said}"));
        None
    });
    match lfs.mode {
        LfsMode::Disabled => Store::Git,
        LfsMode::SameRemote | LfsMode::Separate => url.map_or(Store::Remote, Store::Separate),
    }
}

/// Returns the address of the separate store that a manifest names, without credentials; `None` for another mode.
pub(crate) fn url_of(lfs: &Lfs) -> Result<Option<String>> {
    if lfs.mode != LfsMode::Separate {
        return Ok(None);
    }
    let url = lfs.separate_url.as_deref().unwrap_or_default();
    match RemoteUrl::parse(url, Provenance::Repository, Path::new("/")) {
        Ok(url) => Ok(Some(url.without_credentials())),
        Err(error) => {
            let message = format!(
                "the store of large files that '{}' names is not used: {}",
                manifest::PATH,
                error.message()
            );
            Err(Error::new(Code::UrlRefused, message).caused_by(error))
        }
    }
}

/// Sets the store in a clone as the manifest of the default branch wants it, also for git-lfs in this session; returns
/// the new URL, empty for the remote, if that has changed anything.
pub(crate) fn follow_manifest(inside: &mut Session) -> Result<Option<String>> {
    let (repo, world) = (&inside.repo, &inside.world);
    let defaults = DefaultTrees::find(world, repo)?;
    let store = match defaults.trees.first() {
        Some(first) => of_tree(world, defaults.repo(repo), first.tree),
        None => of_tree(world, repo, repo.tree_of(repo.head()?.commit())?),
    };
    let wanted = match store {
        Store::Separate(url) => Some(url),
        Store::Remote | Store::Git | Store::ByAttributes => None,
    };
    let lock = WorktreeLock::take(world, repo, inside.wait_limit())?;
    let has_changed = store_url::follow(inside, wanted.as_deref())?;
    drop(lock);
    if let Some(url) = &wanted {
        inside.repo.adopt(&[ConfigEntry::plain("lfs", "url", url.as_str())])?;
    }
    Ok(has_changed.then(|| wanted.unwrap_or_default()))
}
