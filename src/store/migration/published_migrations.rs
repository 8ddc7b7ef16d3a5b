//! The migrations that a clone of ours learns from its hub, before any remote has them.

use crate::git::{Oid, RefName, Repo};
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result};
use crate::store::membership::{Membership, Role};
use crate::store::refs::ref_names;

use super::{ObjectMap, is_old, known, load};

/// Returns the migrations that checkouts of the user have published in the hub, for a clone of ours: for the
/// clone, the checkout decides which history is valid.
fn published_by_desks(repo: &Repo) -> Result<Vec<Oid>> {
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
    let ids = all
        .filter(|listed| {
            let rest = listed.name.as_bytes().get(ref_names::DESKS.len()..);
            let mut parts = rest.unwrap_or_default().splitn(2, |&byte| byte == b'/');
            parts.next().is_some() && parts.next() == end.as_bytes().get(1..)
        })
        .map(|listed| listed.id);
    Ok(ids.collect())
}

/// Reads the migrations that this repository knows, and for a clone of ours those of its hub, as one map.
pub fn known_here(repo: &Repo) -> Result<ObjectMap> {
    let mut map = known(repo)?;
    for commit in published_by_desks(repo)? {
        map.extend(load(repo, commit)?);
    }
    Ok(map)
}

/// Rewrites a refusal where the branch checked out in a clone of ours is from before a migration in its hub:
/// that is the cause.
pub fn explain(repo: &Repo, error: Error) -> Error {
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
    .hint(take_along(repo))
}

/// Returns the line that takes the work of an outdated clone along.
fn take_along(repo: &Repo) -> String {
    let member = Membership::find(repo).ok().flatten();
    let agent = member.and_then(|member| member.agent).unwrap_or_else(|| "NAME".to_owned());
    let agent = shell_word(&agent);
    format!("git colony merge {agent}   # in the checkout; then a new clone")
}
