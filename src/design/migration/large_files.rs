//! Large files that only automatic checkpoints have: `git lfs prune` looks at no ref of ours.

use std::path::Path;

use crate::git::lfs_objects::Objects;
use crate::git::lfs_pointer::Pointer;
use crate::git::{RefChange, TreeEntry};
use crate::model::Result;
use crate::store::{Session, ref_names};

/// Gives what automatic checkpoints hold from now on the names that no prune takes away, as it is done
/// when one is made.
///
/// # Errors
/// `object-missing`, `no-space`, `io`.
pub(super) fn keep(session: &Session, refs: &[RefChange]) -> Result<()> {
    let repo = &session.repo;
    let store = Objects::of(repo);
    for change in refs {
        let name = change.name.to_string();
        let of = name.strip_prefix(ref_names::AUTOMATIC);
        let Some((key, checkpoint)) = of.and_then(|of| of.split_once('/')) else {
            continue;
        };
        let kept = repo.common_dir().join("colony-kept").join(key);
        let kept = kept.join("large").join(Path::new(checkpoint));
        let commit = change.new.and_then(|id| repo.peel_to_commit(id));
        for file in repo.list_tree(repo.tree_of(commit)?)? {
            let entry = file.new.filter(TreeEntry::is_file);
            if let Some(pointer) = entry.and_then(|entry| Pointer::of_blob(repo, entry.id)) {
                store.link_into(&pointer, &kept)?;
            }
        }
    }
    Ok(())
}
