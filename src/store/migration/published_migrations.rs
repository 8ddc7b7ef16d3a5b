//! What a clone of ours hears of migrations from its hub, before any remote has them.

use crate::git::{Oid, RefName, Repo};
use crate::model::{Code, Error, Result};
use crate::store::membership::{Membership, Role};
use crate::store::refs::ref_names;

use super::migration_journal::Journal;
use super::{is_old, load};

/// Returns the migrations that checkouts of people have published in the hub, for a clone of ours: there
/// it is the checkout that says which history counts.
///
/// # Errors
/// `newer-format`, `repository-broken`.
pub fn heard(repo: &Repo) -> Result<Vec<Oid>> {
    let is_clone = |member: Membership| member.role != Role::Desk;
    if !Membership::find(repo)?.is_some_and(is_clone) {
        return Ok(Vec::new());
    }
    let own = repo.find_ref(&RefName::from(ref_names::MIGRATIONS))?;
    let mut heard = told_of(repo)?;
    heard.retain(|id| Some(*id) != own);
    heard.sort_unstable();
    heard.dedup();
    Ok(heard)
}

/// Lists what checkouts of people tell of the migrations they have made.
fn told_of(repo: &Repo) -> Result<Vec<Oid>> {
    let end = format!("/{}", ref_names::PUBLISHED_MIGRATIONS);
    let all = repo.refs_below(ref_names::DESKS)?.into_iter();
    let told = all
        .filter(|found| {
            let rest = found.name.as_bytes().get(ref_names::DESKS.len()..);
            let mut parts = rest.unwrap_or_default().splitn(2, |&byte| byte == b'/');
            parts.next().is_some() && parts.next() == end.as_bytes().get(1..)
        })
        .map(|found| found.id);
    Ok(told.collect())
}

/// Tells whether this clone followed a migration that nobody tells of any more: it was not published, and
/// the checkout that made it has taken it back.
///
/// # Errors
/// `newer-format`, `repository-broken`.
pub fn was_taken_back(repo: &Repo) -> Result<bool> {
    let journal = Journal::find(repo)?.map(|(journal, _)| journal);
    if !journal.is_some_and(|journal| journal.is_followed && journal.published_at.is_none()) {
        return Ok(false);
    }
    let own = repo.find_ref(&RefName::from(ref_names::MIGRATIONS))?;
    Ok(!told_of(repo)?.into_iter().any(|id| Some(id) == own))
}

/// Words a refusal anew where the branch that is checked out in a clone of ours is from before a
/// migration that its hub tells of: that is why nothing fits.
pub fn explain(repo: &Repo, error: Error) -> Error {
    if was_taken_back(repo).unwrap_or(false) {
        return Error::new(
            Code::HistoryRewritten,
            "the migration to git-lfs that this clone followed was taken back where it was made; nothing has changed",
        )
        .hint("git colony lfs migrate --abort   # takes it back here as well");
    }
    let is_before = || -> Result<bool> {
        let Some(tip) = repo.head()?.commit() else {
            return Ok(false);
        };
        for commit in heard(repo)? {
            if is_old(repo, &load(repo, commit)?, tip)? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    // What cannot be found out explains nothing.
    if !is_before().unwrap_or(false) {
        return error;
    }
    Error::new(
        Code::HistoryRewritten,
        "history was rewritten for git-lfs since this clone was made; nothing has changed",
    )
    .hint("git colony lfs migrate   # follows it; own commits come along")
}
