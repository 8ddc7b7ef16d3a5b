//! Following a migration that somebody else has published: the same rewriting, made here, comes to the
//! same ids, and own commits come along.

use std::collections::HashMap;

use crate::git::lfs_import::ImportStep;
use crate::git::remote::Remote;
use crate::git::{Oid, RefName, Repo};
use crate::lfs::patterns::Patterns;
use crate::model::{Code, Error, Result};
use crate::store::migration::{self, About, ObjectMap, Recorded};
use crate::store::migration_journal::RemoteRef;
use crate::store::{Session, ref_names};

use crate::clones::gather;
use crate::clones::sync::travelers;
use crate::design::migration::Told;

/// Migrations that are followed, as one.
pub(super) struct Follows {
    /// The commit that tells of them.
    commit: Oid,
    /// Whether a remote has them, and not only a checkout that shares the hub.
    is_published: bool,
    /// Those that were missed, in the order they were made.
    missed: Vec<Recorded>,
}

/// Finds migrations that a remote knows of and this repository does not, and that its branches are
/// from before of. What tells of them is fetched; no ref of the user moves.
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
    // What is no migration is told of as any other ref is.
    if repo.peel_to_commit(commit) != Some(commit) || migration::flaw(repo, commit)?.is_some() {
        return Ok(None);
    }
    Follows::of(repo, commit, true)
}

/// Finds, in a clone of ours, migrations that a person's checkout has made and told the hub of, and that
/// branches here are from before of.
///
/// # Errors
/// `newer-format`, `repository-broken`; `hub-missing`.
pub(super) fn find_heard(session: &Session) -> Result<Option<Follows>> {
    let repo = &session.repo;
    gather::gather(session)?;
    for commit in migration::heard(repo)? {
        if let Some(follows) = Follows::of(repo, commit, false)? {
            return Ok(Some(follows));
        }
    }
    Ok(None)
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
    fn of(repo: &Repo, commit: Oid, is_published: bool) -> Result<Option<Follows>> {
        if !has_old_branch(repo, &migration::load(repo, commit)?)? {
            return Ok(None);
        }
        let ours = repo.find_ref(&RefName::from(ref_names::MIGRATIONS))?;
        let missed = migration::since(repo, commit, ours)?;
        Ok(Some(Follows {
            commit,
            is_published,
            missed,
        }))
    }

    /// Returns where they are told of.
    pub(super) fn told(&self) -> Told {
        Told {
            commit: self.commit,
            is_published: self.is_published,
        }
    }

    /// Returns the patterns that the missed migrations were made with, one after the other.
    pub(super) fn steps(&self) -> Vec<ImportStep> {
        let abouts = self.missed.iter().map(|recorded| &recorded.about);
        let step = |about: &About| ImportStep {
            include: about.patterns.clone(),
            exclude: about.exclude.clone(),
            taken: about.taken.clone(),
        };
        abouts.map(step).collect()
    }

    /// Returns all of their patterns, each once.
    pub(super) fn patterns(&self) -> Patterns {
        let mut all = Patterns::default();
        for step in self.steps() {
            for (found, into) in [
                (step.include, &mut all.include),
                (step.exclude, &mut all.exclude),
                (step.taken.unwrap_or_default(), &mut all.taken),
            ] {
                for pattern in found {
                    if !into.contains(&pattern) {
                        into.push(pattern);
                    }
                }
            }
        }
        all
    }

    /// Refuses where the same rewriting does not come to the same ids here.
    pub(super) fn refuse_another(&self, repo: &Repo, maps: &[HashMap<Oid, Oid>]) -> Result<()> {
        let mut pairs = maps.iter().zip(&self.missed);
        let differs = |(ours, theirs): (&HashMap<Oid, Oid>, &Recorded)| {
            ObjectMap::new(ours.clone(), repo).contradicts(&theirs.map)
        };
        if !pairs.any(differs) {
            return Ok(());
        }
        Err(Error::new(
            Code::HistoryRewritten,
            "git-lfs here rewrites history otherwise than the one that was published; nothing has changed",
        )
        .hint("git clone URL DIRECTORY   # and carry own commits over: git format-patch, git am"))
    }
}
