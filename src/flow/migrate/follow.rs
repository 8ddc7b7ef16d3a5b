//! Follows a migration that another repository has published: the same rewrite, made here, results
//! in the same ids, and local commits are rewritten as well.

use std::collections::HashMap;

use crate::clones::hub::gather;
use crate::clones::sync::travelers;
use crate::design::migration::HeardMigration;
use crate::git::lfs::lfs_import::ImportStep;
use crate::git::remote::Remote;
use crate::git::{Oid, RefName, Repo};
use crate::lfs::patterns::Patterns;
use crate::model::{Code, Error, Result};
use crate::store::Session;
use crate::store::migration::migration_journal::RemoteRef;
use crate::store::migration::{self, About, ObjectMap, Recorded};
use crate::store::refs::ref_names;

/// Migrations to follow, as one.
pub(super) struct Follows {
    /// The commit that records them.
    commit: Oid,
    /// Whether a remote has them, and not only a checkout that shares the hub.
    is_published: bool,
    /// The missed ones, in the order they were made.
    missed: Vec<Recorded>,
}

/// Finds migrations that a remote has and this repository does not, and that branches here predate.
/// Fetches their records; no ref of the user moves.
pub(super) fn find(
    session: &Session,
    remote: &Remote<'_>,
    theirs: &[RemoteRef],
) -> Result<Option<Follows>> {
    let repo = &session.repo;
    let name = RefName::from(ref_names::MIGRATIONS);
    let ours = repo.find_ref(&name)?;
    let found = theirs.iter().find(|found| found.name == name);
    let Some(commit) = found.map(|found| found.id) else {
        return Ok(None);
    };
    // The user has fetched the record by hand, and the branches are on the new history.
    if Some(commit) == ours && !is_on_old(repo)? {
        return Ok(None);
    }
    if repo.object_size(commit).is_none() {
        if !repo.keeps_objects() {
            return Err(history_rewritten(remote.name()));
        }
        remote.fetch_refs(&[name], &travelers::incoming_of(remote.name()))?;
    }
    // A ref that is not a migration is reported as any other ref is.
    if repo.peel_to_commit(commit) != Some(commit) || migration::flaw(repo, commit)?.is_some() {
        return Ok(None);
    }
    Follows::of(repo, commit, true)
}

/// Returns `true` if HEAD predates a migration that is known here.
fn is_on_old(repo: &Repo) -> Result<bool> {
    match repo.head()?.commit() {
        Some(tip) => migration::is_old(repo, &migration::known(repo)?, tip),
        None => Ok(false),
    }
}

/// Finds, in a clone of ours, migrations that a checkout of a person has published in the hub, and
/// that branches here predate.
pub(super) fn find_heard(session: &Session) -> Result<Option<Follows>> {
    let repo = &session.repo;
    gather::gather(session)?;
    for commit in migration::published_by_desks(repo)? {
        if let Some(follows) = Follows::of(repo, commit, false)? {
            return Ok(Some(follows));
        }
    }
    Ok(None)
}

/// Returns `true` if a branch here predates a migration.
pub(super) fn has_old_branch(repo: &Repo, map: &ObjectMap) -> Result<bool> {
    for branch in repo.refs_below("refs/heads/")? {
        if migration::is_old(repo, map, branch.id)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Refuses to sync with a remote that does not have the new history yet.
pub fn refuse_unpublished(session: &Session, remote: &Remote<'_>) -> Result<()> {
    let Some((journal, _)) = super::unfinished(&session.repo)? else {
        return Ok(());
    };
    if journal.is_followed {
        if has_arrived(session, remote)? {
            return super::publish_step::note_published(session);
        }
        return Err(not_arrived(remote.name()));
    }
    Err(Error::new(
        Code::HistoryRewritten,
        "history here is rewritten for git-lfs and not published yet",
    )
    .hint("git colony lfs migrate --continue   # publishes it; --abort reverts it"))
}

/// Returns `true` if a remote has the migration that this clone followed.
pub(super) fn has_arrived(session: &Session, remote: &Remote<'_>) -> Result<bool> {
    let name = RefName::from(ref_names::MIGRATIONS);
    let own = session.repo.find_ref(&name)?;
    let theirs = remote.list(|found| *found == name)?.get(&name).copied();
    let (Some(own), Some(theirs)) = (own, theirs) else {
        return Ok(false);
    };
    // A later migration by others is on top of it.
    Ok(own == theirs || session.repo.has_more(theirs, own).unwrap_or(false))
}

/// Makes the error that another checkout has to publish the migration that this clone followed.
pub(super) fn not_arrived(remote: &str) -> Error {
    Error::new(
        Code::HistoryRewritten,
        format!(
            "history here follows a migration to git-lfs that the checkout which made it has not published to '{remote}' yet"
        ),
    )
    .hint("git colony lfs migrate --continue   # in that checkout; --abort reverts it here")
}

/// Returns `true` if a ref of a remote would make this clone follow a migration; a ref that was not
/// fetched yet may do so.
pub fn would_follow(
    session: &Session,
    remote: &Remote<'_>,
    name: &RefName,
    id: Oid,
) -> Result<bool> {
    if name.as_bytes() != ref_names::MIGRATIONS.as_bytes() {
        return Ok(false);
    }
    match refuse_rewritten(session, remote, Some(id)) {
        Ok(()) => Ok(false),
        Err(error) if error.code() == Code::HistoryRewritten => Ok(true),
        Err(error) => Err(error),
    }
}

/// Returns `true` if this clone followed a migration that was aborted, as far as it knows.
pub fn would_give_up(session: &Session) -> Result<bool> {
    migration::was_undone(&session.repo)
}

/// Undoes a migration that this clone followed, if the checkout that made it has aborted it.
pub fn give_up(session: &Session) -> Result<Option<super::MigrateReport>> {
    gather::gather(session)?;
    if !migration::was_undone(&session.repo)? {
        return Ok(None);
    }
    super::abort(session, super::Since::Refuse).map(Some)
}

/// Refuses to continue if the remote has a migration that branches here predate.
pub fn refuse_rewritten(session: &Session, remote: &Remote<'_>, theirs: Option<Oid>) -> Result<()> {
    let name = RefName::from(ref_names::MIGRATIONS);
    let theirs: Vec<_> =
        theirs.into_iter().map(|id| RemoteRef { name: name.clone(), id }).collect();
    match find(session, remote, &theirs)? {
        Some(_) => Err(history_rewritten(remote.name())),
        None => Ok(()),
    }
}

/// Refuses to push histories from before a migration on the remote, known here or not. An
/// unreachable remote stops nothing: the push itself fails then.
pub fn refuse_pushed(session: &Session, remote: &str, pushed: &[Oid]) -> Result<()> {
    let repo = &session.repo;
    let name = RefName::from(ref_names::MIGRATIONS);
    let Ok(remote) = Remote::find(repo, &session.world, remote) else {
        return Ok(());
    };
    let told = remote.list(|listed| *listed == name).unwrap_or_default();
    let Some(commit) = told.get(&name).copied() else {
        return Ok(());
    };
    if repo.find_ref(&name)? == Some(commit) {
        return Ok(());
    }
    let incoming = travelers::incoming_of(remote.name());
    if repo.object_size(commit).is_none() && remote.fetch_refs(&[name], &incoming).is_err() {
        return Ok(());
    }
    if repo.peel_to_commit(commit) != Some(commit) || migration::flaw(repo, commit)?.is_some() {
        return Ok(());
    }
    let map = migration::load(repo, commit)?;
    for tip in pushed {
        if migration::is_old(repo, &map, *tip)? {
            return Err(history_rewritten(remote.name()));
        }
    }
    Ok(())
}

/// Makes the error for a history that was replaced on a remote.
pub(super) fn history_rewritten(remote: &str) -> Error {
    Error::new(
        Code::HistoryRewritten,
        format!(
            "history was rewritten for git-lfs on '{remote}', and branches here have the old one"
        ),
    )
    .detail("remote", remote)
    .hint("git colony lfs migrate   # follows it, with the local commits")
}

impl Follows {
    fn of(repo: &Repo, commit: Oid, is_published: bool) -> Result<Option<Follows>> {
        if !has_old_branch(repo, &migration::load(repo, commit)?)? {
            return Ok(None);
        }
        let ours = repo.find_ref(&RefName::from(ref_names::MIGRATIONS))?;
        let missed = migration::since(repo, commit, ours.filter(|ours| *ours != commit))?;
        Ok(Some(Follows { commit, is_published, missed }))
    }

    /// Returns the commit that records them.
    pub(super) fn told(&self) -> HeardMigration {
        HeardMigration { commit: self.commit, is_published: self.is_published }
    }

    /// Returns the patterns of the missed migrations, one after the other.
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
                (step.taken, &mut all.taken),
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

    /// Refuses if the same rewrite does not result in the same ids here.
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
            "git-lfs here does not produce the history that was published",
        )
        .hint("git clone URL DIRECTORY   # and move local commits there: git format-patch, git am"))
    }
}
