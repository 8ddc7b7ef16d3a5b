//! Repairs what a power cut has left where objects did not reach the disk: by a version that did not sync them, or by a
//! disk that reports data as written when it is not. Objects that are empty files are deleted, since nothing writes
//! them again, and so are refs of ours to them. What was done is reported.

use crate::git::object::empty_objects::delete_empty_objects;
use crate::model::{Result, text};
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::refs::{lost_refs, ref_names};

use super::recover;

/// The number of refs that are named.
const NAMED: usize = 5;

/// Repairs, if the newest operation or the newest automatic checkpoint of this worktree is an empty file, or an
/// operation was interrupted. The caller holds the worktree lock.
pub(super) fn repair(session: &Session, places: &Places) -> Result<()> {
    if !is_needed(session, places) {
        return Ok(());
    }
    let (repo, narrate) = (&session.repo, &session.world.narrate);
    let deleted = delete_empty_objects(&repo.common_dir().join("objects"))?;
    if let Some(member) = session.membership.as_ref().filter(|_| !deleted.is_empty()) {
        // Hard links to the same files.
        delete_empty_objects(&member.hub.join("objects"))?;
    }
    if deleted.is_empty() {
        return Ok(());
    }
    let count = text::count(deleted.len(), "object");
    narrate(&format!("deleted {count} of empty files, which a power cut has left"));
    // Whether the interrupted operation has moved files is still to be seen.
    let pending =
        recover::pending(places)?.map(|pending| ref_names::operation(&places.key, pending.op));
    let mut lost = lost_refs::find(repo)?;
    lost.retain(|lost| deleted.contains(&lost.missing) && Some(&lost.name) != pending.as_ref());
    let refs: Vec<_> = lost.into_iter().map(|lost| (lost.name, lost.id)).collect();
    recover::delete_refs(session, places, &refs, "recover")?;
    for (name, id) in refs.iter().take(NAMED) {
        narrate(&format!("deleted ref '{name}' ({}), whose object was lost", id.short()));
    }
    if refs.len() > NAMED {
        narrate(&format!("deleted {} more", text::count(refs.len() - NAMED, "ref")));
    }
    repo.write_objects_again(&session.world, &deleted)
}

fn is_needed(session: &Session, places: &Places) -> bool {
    let repo = &session.repo;
    for prefix in [ref_names::operations_of(&places.key), ref_names::automatic_of(&places.key)] {
        let newest = repo.ref_names_below(&prefix).into_iter().max();
        // A damaged ref is reported elsewhere.
        let id = newest.and_then(|name| repo.find_ref(&name).ok().flatten());
        if id.is_some_and(|id| repo.empty_file_of(id).is_some()) {
            return true;
        }
    }
    places.pending().exists()
}
