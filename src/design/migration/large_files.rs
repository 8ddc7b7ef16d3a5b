//! Large files that only checkpoints beside the branch have: git-lfs does not know that they are in use.

use std::path::PathBuf;

use crate::git::lfs_objects::Objects;
use crate::git::lfs_pointer::Pointer;
use crate::git::{RefChange, TreeEntry};
use crate::model::Result;
use crate::store::places::Places;
use crate::store::{Session, ref_names};

use crate::design::tag_message::{Mode, TagMessage};

/// Gives what checkpoints beside the branch hold from now on the names that no prune takes away, as it is
/// done when one is made.
///
/// # Errors
/// `object-missing`, `no-space`, `io`.
pub(super) fn keep(session: &Session, places: &Places, refs: &[RefChange]) -> Result<()> {
    let repo = &session.repo;
    let store = Objects::of(repo);
    for change in refs {
        let Some(kept) = folder(session, places, change) else {
            continue;
        };
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

/// Returns where the large files of a checkpoint are kept; `None` where git-lfs keeps them itself.
fn folder(session: &Session, places: &Places, change: &RefChange) -> Option<PathBuf> {
    let repo = &session.repo;
    let name = change.name.to_string();
    if let Some(checkpoint) = name.strip_prefix(ref_names::CHECKPOINTS) {
        let tag = repo.find_tag(change.new?)?;
        let message = TagMessage::read(&String::from_utf8_lossy(&tag.message));
        return (message.mode != Mode::Branch).then(|| places.named_large_files(checkpoint));
    }
    let (key, checkpoint) = name.strip_prefix(ref_names::AUTOMATIC)?.split_once('/')?;
    let kept = Places::kept_in(repo.common_dir()).join(key);
    Some(kept.join("large").join(checkpoint))
}
