//! Tags of trees and blobs: they hold no history, so a migration leaves them alone, here and on the remote.

use crate::clones::sync::travelers;
use crate::git::refs::FoundRef;
use crate::git::remote::Remote;
use crate::git::{Oid, RefName, Repo};
use crate::model::Result;
use crate::store::migration::migration_journal::RemoteRef;

use super::publication::{is_history, is_tag};

/// So many unknown tags are looked at; who has more has them all told.
const MOST: usize = 500;

/// Tells whether an object is here and stands for no commit.
pub(super) fn is_of_no_commit(repo: &Repo, id: Oid) -> bool {
    repo.object_size(id).is_some() && repo.peel_to_commit(id).is_none()
}

/// Tells whether a ref of the remote, and what it is here, is none that a migration may move.
///
/// # Errors
/// `repository-broken`.
pub(super) fn stays(repo: &Repo, name: &RefName, theirs: Oid) -> Result<bool> {
    if !is_history(name) {
        return Ok(false);
    }
    let ours = repo.find_ref(name)?;
    let ids = ours.into_iter().chain([theirs]);
    Ok(ids.into_iter().any(|id| is_of_no_commit(repo, id)))
}

/// Brings the tags of the remote here that nobody here has ever seen: their names do not say what they are
/// of. They get names of ours.
///
/// # Errors
/// What the network says.
pub(super) fn fetch_unknown(repo: &Repo, remote: &Remote<'_>, theirs: &[RemoteRef]) -> Result<()> {
    let is_unknown =
        |found: &&RemoteRef| is_tag(&found.name) && repo.object_size(found.id).is_none();
    let unknown = theirs.iter().filter(is_unknown);
    let names: Vec<RefName> = unknown.map(|found| found.name.clone()).collect();
    // A dry run keeps nothing.
    if names.is_empty() || names.len() > MOST || !repo.keeps_objects() {
        return Ok(());
    }
    remote
        .fetch_refs(&names, &travelers::incoming_of(remote.name()))
        .map(drop)
}

/// Says which of them stay; `None` where there is none.
///
/// # Errors
/// `repository-broken`.
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
        format!("what is no tag of a commit holds no history and stays as it is: {names}")
    });
    Ok(told)
}
