//! What a clone has published and a publication would delete, because the clone has lost refs: it is kept, as the work of a
//! removed clone is.
//!
//! No rule tells for certain whether git has deleted a ref or something else has deleted its file, so nothing is refused:
//! where the log of a branch does not explain its move, the whole state before is kept first. Names are cheap.

use crate::git::refs::reflog::ReflogEntry;
use crate::git::{Oid, RefChange, RefName, Repo};
use crate::model::text::typed_word;
use crate::model::time;
use crate::model::{Result, World};
use crate::store::membership::Membership;

use super::Hub;
use super::kept_refs::{is_kept, keep_published};

/// Keeps what an agent's clone has published, if the changes of a publication may delete something that neither the clone's
/// branches nor their logs have.
pub(super) fn keep_before(
    world: &World,
    repo: &Repo,
    member: &Membership,
    hub: &Hub,
    changes: &[RefChange],
) -> Result<()> {
    let below = member.published_below();
    if !may_lose(repo, &below, changes)? || is_kept(hub, &below)? {
        return Ok(());
    }
    let (kept, _) = keep_published(world, hub, &below, None)?;
    let stamp = kept.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let moment = time::parse_compact(stamp.split('-').next().unwrap_or_default());
    let at = moment.as_ref().map(time::rfc3339).unwrap_or_default();
    let agent = member.agent.as_deref().unwrap_or_default();
    (world.narrate)(&format!("note: what '{agent}' had published is kept beside what it has now:"));
    let agent = typed_word(agent);
    (world.narrate)(&format!("  git colony agents restore {agent} --at {at} --as OTHER"));
    Ok(())
}

fn may_lose(repo: &Repo, below: &str, changes: &[RefChange]) -> Result<bool> {
    let tips = || -> Result<Vec<Oid>> {
        let branches = repo.refs_below("refs/heads/")?.into_iter().map(|branch| branch.id);
        Ok(branches.chain(repo.head()?.commit()).collect())
    };
    for RefChange { name, old, new } in changes {
        let Some((old, rest)) = old.zip(name.as_bytes().strip_prefix(below.as_bytes())) else {
            continue;
        };
        let branch = rest
            .strip_prefix(b"heads/")
            .map(|branch_name| RefName::new([b"refs/heads/", branch_name].concat()));
        let is_lost = match (branch, new) {
            (Some(_), None) => !is_reached(repo, old, &tips()?),
            (Some(branch), Some(new)) => {
                !is_explained(&repo.reflog_of(&branch), old, *new)
                    && !is_reached(repo, old, &[*new])
            }
            // Checkpoints and records of forks are deleted, and never moved.
            (None, None) => rest.starts_with(b"tags/") || rest.starts_with(b"forks/"),
            (None, Some(_)) => false,
        };
        if is_lost {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns `true` if the log of a branch leads from one commit to another step by step: so the branch was moved by git.
fn is_explained(log: &[ReflogEntry], old: Oid, new: Oid) -> bool {
    let Some(at) = log.iter().rposition(|entry| entry.new == Some(old)) else {
        return false;
    };
    let steps = log.get(at..).unwrap_or_default();
    let is_whole = steps.windows(2).all(|pair| matches!(pair, [a, b] if a.new == b.old));
    is_whole && steps.last().is_some_and(|entry| entry.new == Some(new))
}

/// Returns `true` if a commit is in the history of one of the tips.
fn is_reached(repo: &Repo, commit: Oid, tips: &[Oid]) -> bool {
    tips.contains(&commit)
        || repo.commits_between(commit, tips, 1).is_ok_and(|between| between.is_empty())
}
