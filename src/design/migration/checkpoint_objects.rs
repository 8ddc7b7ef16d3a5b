//! Large files that only checkpoints use: git-lfs does not know about them.

use crate::git::lfs::lfs_objects::LfsObjects;
use crate::git::lfs::lfs_pointer::Pointer;
use crate::git::{RefChange, TreeEntry};
use crate::model::Result;
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::large_files::retained_objects;
use crate::store::refs::ref_names;

/// Links the large files of the moved checkpoints under names that no prune deletes, as a new
/// checkpoint does.
pub(super) fn keep(session: &Session, refs: &[RefChange]) -> Result<()> {
    let repo = &session.repo;
    let store = LfsObjects::of(repo);
    for change in refs {
        let Some(tag) = change.new else { continue };
        if ref_names::parse_checkpoint(&change.name).is_some() {
            let trees = retained_objects::trees_of(repo, tag)?;
            retained_objects::hold_always(session, None, &trees)?;
            continue;
        }
        let name = change.name.to_string();
        let automatic = name.strip_prefix(ref_names::AUTOMATIC);
        let Some((key, checkpoint)) = automatic.and_then(|rest| rest.split_once('/')) else {
            continue;
        };
        let kept = Places::kept_in(repo.common_dir()).join(key).join("large").join(checkpoint);
        for file in repo.list_tree(repo.tree_of(repo.peel_to_commit(tag))?)? {
            let entry = file.new.filter(TreeEntry::is_file);
            if let Some(pointer) = entry.and_then(|entry| Pointer::of_blob(repo, entry.id)) {
                store.link_into(&pointer, &kept)?;
            }
        }
    }
    Ok(())
}
