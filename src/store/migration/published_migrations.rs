//! The migrations that a clone of ours learns from its hub, before any remote has them.

use crate::git::{Oid, RefName, Repo};
use crate::model::{Code, Error, Result};
use crate::store::membership::{Membership, Role};
use crate::store::refs::ref_names;

use super::migration_journal::Journal;
use super::{is_old, load};

/// Returns the migrations that checkouts of the user have published in the hub, for a clone of ours: for the
/// clone, the checkout decides which history is valid.
pub fn published_by_desks(repo: &Repo) -> Result<Vec<Oid>> {
    let is_clone = |member: Membership| member.role != Role::Desk;
    if !Membership::find(repo)?.is_some_and(is_clone) {
        return Ok(Vec::new());
    }
    let own = repo.find_ref(&RefName::from(ref_names::MIGRATIONS))?;
    let mut heard = published(repo)?;
    heard.retain(|id| Some(*id) != own);
    heard.sort_unstable();
    heard.dedup();
    Ok(heard)
}

/// Lists the migrations that checkouts of the user have published.
fn published(repo: &Repo) -> Result<Vec<Oid>> {
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

/// Returns `true` if this clone followed a migration that no checkout publishes any more: it never reached a
/// remote, and the checkout that made it has undone it.
pub fn was_undone(repo: &Repo) -> Result<bool> {
    let journal = Journal::find(repo)?.map(|(journal, _)| journal);
    if !journal.is_some_and(|journal| journal.is_followed && journal.published_at.is_none()) {
        return Ok(false);
    }
    let own = repo.find_ref(&RefName::from(ref_names::MIGRATIONS))?;
    Ok(!published(repo)?.into_iter().any(|id| Some(id) == own))
}

/// Rewrites a refusal where the branch checked out in a clone of ours is from before a migration in its hub:
/// that is the cause.
pub fn explain(repo: &Repo, error: Error) -> Error {
    if was_undone(repo).unwrap_or(false) {
        return Error::new(
            Code::HistoryRewritten,
            "the migration to git-lfs that this clone followed was undone in the checkout that made it",
        )
        .hint("git colony lfs migrate --abort   # undoes it here as well");
    }
    let is_before = || -> Result<bool> {
        let Some(tip) = repo.head()?.commit() else {
            return Ok(false);
        };
        for commit in published_by_desks(repo)? {
            if is_old(repo, &load(repo, commit)?, tip)? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    // If this cannot be determined, the refusal stays as it is.
    if !is_before().unwrap_or(false) {
        return error;
    }
    Error::new(
        Code::HistoryRewritten,
        "history was rewritten for git-lfs since this clone was made",
    )
    .hint("git colony lfs migrate   # follows it, and rewrites own commits")
}
