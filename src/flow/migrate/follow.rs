//! Following a migration that somebody else has published: the same rewriting, made here, comes to the
//! same ids, and own commits come along.

use std::collections::HashMap;

use crate::clones::hub::gather;
use crate::clones::sync::travelers;
use crate::design::migration::HeardMigration;
use crate::git::lfs::lfs_import::{Exempt, ImportStep};
use crate::git::remote::Remote;
use crate::git::{Oid, RefName, Repo};
use crate::lfs::patterns::Patterns;
use crate::model::{Code, Error, Result};
use crate::store::Session;
use crate::store::migration::migration_journal::RemoteRef;
use crate::store::migration::{self, About, ObjectMap, Recorded};
use crate::store::refs::ref_names;

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
    let Some(commit) = found.map(|found| found.id) else {
        return Ok(None);
    };
    // Whoever has fetched it by hand has heard of it, and is where they were.
    if Some(commit) == ours && !is_on_old(repo)? {
        return Ok(None);
    }
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

/// Tells whether what is checked out is from before a migration that is known here.
fn is_on_old(repo: &Repo) -> Result<bool> {
    match repo.head()?.commit() {
        Some(tip) => migration::is_old(repo, &migration::known(repo)?, tip),
        None => Ok(false),
    }
}

/// Finds, in a clone of ours, migrations that a person's checkout has made and told the hub of, and that
/// branches here are from before of.
///
/// # Errors
/// `newer-format`, `repository-broken`; `hub-missing`.
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
        "history here is rewritten for git-lfs and not published yet; nothing has changed",
    )
    .hint("git colony lfs migrate --continue   # publishes it; --abort takes it back"))
}

/// Tells whether a remote has the migration that this clone followed.
pub(super) fn has_arrived(session: &Session, remote: &Remote<'_>) -> Result<bool> {
    let name = RefName::from(ref_names::MIGRATIONS);
    let own = session.repo.find_ref(&name)?;
    let theirs = remote.list(|found| *found == name)?.get(&name).copied();
    let (Some(own), Some(theirs)) = (own, theirs) else {
        return Ok(false);
    };
    // One that others have made since comes on top of it.
    Ok(own == theirs || session.repo.has_more(theirs, own).unwrap_or(false))
}

/// Words that the migration that this clone followed is for another checkout to publish.
pub(super) fn not_arrived(remote: &str) -> Error {
    Error::new(
        Code::HistoryRewritten,
        format!(
            "history here follows a migration to git-lfs that the checkout which made it has not published to '{remote}' yet; nothing has changed"
        ),
    )
    .hint("git colony lfs migrate --continue   # in that checkout; --abort takes it back here")
}

/// Tells whether a ref of a remote has this clone follow a migration; what is not here yet may do so.
///
/// # Errors
/// `newer-format`, `repository-broken`, and what the network says.
pub fn would_follow(
    session: &Session,
    remote: &Remote<'_>,
    (name, id): (&RefName, Oid),
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

/// Tells whether this clone followed a migration that was taken back, as far as it has heard of it.
///
/// # Errors
/// `newer-format`, `repository-broken`.
pub fn would_give_up(session: &Session) -> Result<bool> {
    migration::was_undone(&session.repo)
}

/// Takes a migration back that this clone followed, where the checkout that made it has done so.
///
/// # Errors
/// As [`super::abort()`].
pub fn give_up(session: &Session) -> Result<Option<super::MigrateReport>> {
    gather::gather(session)?;
    if !migration::was_undone(&session.repo)? {
        return Ok(None);
    }
    super::abort(session, super::Since::Refuse, false).map(Some)
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

/// Refuses to push histories from before a migration that the remote tells of, whether it was heard of here
/// or not. A remote that cannot be asked stops nobody: the push itself fails then.
///
/// # Errors
/// `history-rewritten`; `newer-format`, `repository-broken`.
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
        let missed = migration::since(repo, commit, ours.filter(|ours| *ours != commit))?;
        Ok(Some(Follows {
            commit,
            is_published,
            missed,
        }))
    }

    /// Returns where they are told of.
    pub(super) fn told(&self) -> HeardMigration {
        HeardMigration {
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
            exempt: if about.exempt_ends {
                Exempt::Ends
            } else {
                Exempt::Stays
            },
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
