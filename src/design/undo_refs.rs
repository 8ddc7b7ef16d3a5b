//! Which refs an undo moves, and what refuses that: refs moved since, commits that others have.

use crate::git::{Oid, RefChange};
use crate::model::{Code, Error, Result, text};
use crate::store::Session;
use crate::store::operation::Record;

use super::histories::published_among;
use super::worktree::is_checkpoint_tag;

/// Returns where the branch is now that HEAD comes back to, if commits have come there since an operation
/// that left it alone: they are somebody's work, and stay.
pub(super) fn moved_home(session: &Session, record: &Record) -> Result<Option<Oid>> {
    let home = &record.before.head;
    let listed = record.refs.iter().any(|change| change.name == home.name);
    if listed || !record.switches_head() || home.name.as_bytes() == b"HEAD" {
        return Ok(None);
    }
    let now = session.repo.find_ref(&home.name)?;
    match (now, home.commit) {
        (Some(now), Some(then)) if session.repo.has_more(now, then)? => Ok(Some(now)),
        _ => Ok(None),
    }
}

/// Plans the moves of the refs. One that is no longer where the operation left it is moved by force
/// only; one that it left alone is not moved at all.
pub(super) fn refs_back(session: &Session, record: &Record, force: bool) -> Result<Vec<RefChange>> {
    let mut wanted: Vec<_> = record.refs.iter().map(RefChange::inverse).collect();
    let home = &record.before.head;
    let listed = wanted.iter().any(|change| change.name == home.name);
    if record.switches_head() && !listed && home.name.as_bytes() != b"HEAD" {
        // HEAD comes back to a branch that the operation left alone: it has to be there still.
        wanted.push(RefChange {
            name: home.name.clone(),
            old: home.commit,
            new: home.commit,
        });
    }
    let mut moved = Vec::new();
    for change in &mut wanted {
        let now = session.repo.find_ref(&change.name)?;
        if now != change.old {
            moved.push(format!("'{}' has moved", change.name.short()));
            change.old = now;
        }
    }
    if !moved.is_empty() && !force {
        return Err(refuse_moved_refs(record, &moved));
    }
    if moved_home(session, record)?.is_some() {
        wanted.retain(|change| change.name != home.name);
    }
    wanted.retain(|change| change.old != change.new);
    Ok(wanted)
}

fn refuse_moved_refs(record: &Record, moved: &[String]) -> Error {
    Error::new(
        Code::ExternalChange,
        format!(
            "something else changed the repository since {} ({}): {}; nothing was done",
            record.op,
            record.summary,
            moved.join(", ")
        ),
    )
    .detail("changes", moved)
    .detail("op", record.op)
    .hint(format!(
        "git colony undo --force   # takes back what the operation moved all the same; git colony restore {}",
        record.op
    ))
}

/// Refuses to take back what others may have already.
pub(super) fn refuse_published(record: &Record, published: &[Oid]) -> Error {
    let count = published.len();
    Error::new(
        Code::PublishedCommits,
        format!(
            "{} of {} on a remote already; nothing was done",
            text::count(count, "commit"),
            record.op
        ),
    )
    .detail("published", published)
    .hint("git revert takes them back for everybody; --force takes them back here only")
}

/// Lists commits that would leave a branch and that a remote-tracking branch holds.
pub(super) fn published(session: &Session, refs: &[RefChange]) -> Result<Vec<Oid>> {
    let mut found = Vec::new();
    for change in refs
        .iter()
        .filter(|change| !is_checkpoint_tag(&change.name.to_string()))
    {
        let Some(tip) = change.old else { continue };
        let staying: Vec<Oid> = change.new.into_iter().collect();
        let leaving = session.repo.commits_between(tip, &staying, 1_000)?;
        found.extend(published_among(session, tip, &staying, &leaving)?);
    }
    Ok(found)
}
