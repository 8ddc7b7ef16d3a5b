//! Tags of trees and blobs: they have no history, so a migration leaves them alone, here and on the
//! remote.

use crate::clones::sync::travelers;
use crate::git::refs::FoundRef;
use crate::git::remote::Remote;
use crate::git::{Oid, RefName, Repo};
use crate::model::Result;
use crate::store::migration::migration_journal::RemoteRef;

use super::publication::{is_history, is_tag};

/// The maximum number of unknown tags that are examined; with more, all of them are reported.
const MAX_TAGS: usize = 500;

/// Returns `true` if an object is here and does not lead to a commit.
pub(super) fn is_of_no_commit(repo: &Repo, id: Oid) -> bool {
    repo.object_size(id).is_some() && repo.peel_to_commit(id).is_none()
}

/// Returns `true` if a ref of the remote, and the local one, cannot be moved by a migration.
pub(super) fn stays(repo: &Repo, name: &RefName, theirs: Oid) -> Result<bool> {
    if !is_history(name) {
        return Ok(false);
    }
    let ours = repo.find_ref(name)?;
    let ids = ours.into_iter().chain([theirs]);
    Ok(ids.into_iter().any(|id| is_of_no_commit(repo, id)))
}

/// Fetches the unknown tags of the remote: their names do not show their objects. They get names of
/// ours.
pub(super) fn fetch_unknown(repo: &Repo, remote: &Remote<'_>, theirs: &[RemoteRef]) -> Result<()> {
    let is_unknown =
        |found: &&RemoteRef| is_tag(&found.name) && repo.object_size(found.id).is_none();
    let unknown = theirs.iter().filter(is_unknown);
    let names: Vec<RefName> = unknown.map(|found| found.name.clone()).collect();
    // A dry run keeps nothing.
    if names.is_empty() || names.len() > MAX_TAGS || !repo.keeps_objects() {
        return Ok(());
    }
    remote.fetch_refs(&names, &travelers::incoming_of(remote.name())).map(drop)
}

/// Returns the note that lists the tags that stay; `None` if there are none.
pub(super) fn note(repo: &Repo, ours: &[FoundRef], theirs: &[RemoteRef]) -> Result<Option<String>> {
    let mut names = Vec::new();
    let of_remote = theirs.iter().map(|found| (&found.name, found.id));
    let all = ours.iter().map(|found| (&found.name, found.id));
    for (name, id) in all.chain(of_remote) {
        let short = name.short();
        if stays(repo, name, id)? && !names.contains(&short) {
            names.push(short);
        }
    }
    let told = (!names.is_empty()).then(|| {
        let names = names.join(", ");
        format!("tags that do not point to a commit have no history and stay as they are: {names}")
    });
    Ok(told)
}
