//! Following a migration that somebody else has published: the same rewriting, made here, comes to the
//! same ids, and own commits come along.

use crate::git::remote::Remote;
use crate::git::{Oid, RefName, Repo};
use crate::lfs::patterns::Patterns;
use crate::model::{Code, Error, Result};
use crate::store::migration::{self, ObjectMap};
use crate::store::migration_journal::RemoteRef;
use crate::store::{Session, ref_names};

use crate::clones::sync::travelers;

/// A migration that is followed.
pub(super) struct Follows {
    /// The commit that tells of it.
    pub(super) commit: Oid,
    /// The patterns it was made with.
    pub(super) patterns: Patterns,
    map: ObjectMap,
}

/// Finds a migration that a remote knows of and this repository does not, and that its branches are
/// from before of. What tells of it is fetched; no ref of the user moves.
///
/// # Errors
/// `newer-format`, `repository-broken`, and what the network says.
pub(super) fn find(
    session: &Session,
    remote: &Remote<'_>,
    theirs: &[RemoteRef],
) -> Result<Option<Follows>> {
    let repo = &session.repo;
    let name = RefName::from(ref_names::MIGRATIONS);
    let ours = repo.find_ref(&name)?;
    let found = theirs.iter().find(|found| found.name == name);
    let Some(commit) = found.map(|found| found.id).filter(|id| Some(*id) != ours) else {
        return Ok(None);
    };
    if repo.object_size(commit).is_none() {
        if !repo.keeps_objects() {
            return Err(history_rewritten(remote.name()));
        }
        remote.fetch_refs(&[name], &travelers::incoming_of(remote.name()))?;
    }
    let map = migration::load(repo, commit)?;
    if !has_old_branch(repo, &map)? {
        return Ok(None);
    }
    let about = migration::newest(repo, commit)?;
    Ok(Some(Follows {
        commit,
        patterns: Patterns {
            include: about.patterns,
            exclude: about.exclude,
        },
        map,
    }))
}

/// Tells whether a branch here is from before a migration.
///
/// # Errors
/// `object-missing`, `repository-broken`.
pub(super) fn has_old_branch(repo: &Repo, map: &ObjectMap) -> Result<bool> {
    for branch in repo.refs_below("refs/heads/")? {
        if migration::is_old(repo, map, branch.id)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Refuses to go on beside a remote that has not got the new history yet.
///
/// # Errors
/// `history-rewritten`, `repository-broken`.
pub fn refuse_unpublished(session: &Session) -> Result<()> {
    if super::unfinished(&session.repo)?.is_none() {
        return Ok(());
    }
    Err(Error::new(
        Code::HistoryRewritten,
        "history here is rewritten for git-lfs and not published yet; nothing has changed",
    )
    .hint("git colony lfs migrate --continue   # publishes it; --abort takes it back"))
}

/// Refuses to go on where the remote tells of a migration that branches here are from before of.
///
/// # Errors
/// `history-rewritten`, and what the network says.
pub fn refuse_rewritten(session: &Session, remote: &Remote<'_>, theirs: Option<Oid>) -> Result<()> {
    let name = RefName::from(ref_names::MIGRATIONS);
    let theirs: Vec<_> = theirs
        .into_iter()
        .map(|id| RemoteRef {
            name: name.clone(),
            id,
        })
        .collect();
    match find(session, remote, &theirs)? {
        Some(_) => Err(history_rewritten(remote.name())),
        None => Ok(()),
    }
}

/// Refuses to go on in a history that has been replaced on a remote.
pub(super) fn history_rewritten(remote: &str) -> Error {
    Error::new(
        Code::HistoryRewritten,
        format!(
            "history was rewritten for git-lfs on '{remote}', and branches here are from before that; nothing has changed"
        ),
    )
    .detail("remote", remote)
    .hint("git colony lfs migrate   # follows it; own commits come along")
}

impl Follows {
    /// Refuses where the same rewriting does not come to the same ids here.
    pub(super) fn refuse_another(&self, map: &ObjectMap) -> Result<()> {
        if !map.contradicts(&self.map) {
            return Ok(());
        }
        Err(Error::new(
            Code::HistoryRewritten,
            "git-lfs here rewrites history otherwise than the one that was published; nothing has changed",
        )
        .hint("git clone URL DIRECTORY   # and carry own commits over: git format-patch, git am"))
    }
}
