//! The refs that an undo moves, and the reasons to refuse: refs moved since, published commits.

use std::collections::BTreeSet;

use crate::design::decision::trailers;
use crate::design::fork::squashed;
use crate::git::{Oid, RefChange, RefName};
use crate::model::{Code, Error, Result, text};
use crate::store::Session;
use crate::store::operation::{Kind, Log, Record};
use crate::store::refs::shared_record::{self, TakenBack};
use crate::store::refs::{ref_names, stored_name};

use super::plain_git;
use super::undo_next::origin_of;

/// Returns the current tip of the branch that HEAD returns to, if it has new commits since an
/// operation that left it alone: they are other work, and stay.
pub(in crate::design) fn moved_home(session: &Session, record: &Record) -> Result<Option<Oid>> {
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

/// Plans the moves of the refs. A ref that has moved since the operation is moved only with
/// `--force`; one that the operation left alone is not moved at all. A shared record is not moved back but
/// forward ([`with_new_versions`]): only the keys that the operation changed count.
pub(in crate::design) fn refs_back(
    session: &Session,
    record: &Record,
    force: bool,
) -> Result<Vec<RefChange>> {
    let mut wanted: Vec<_> = record.refs.iter().map(RefChange::inverse).collect();
    let home = &record.before.head;
    let listed = wanted.iter().any(|change| change.name == home.name);
    if record.switches_head() && !listed && home.name.as_bytes() != b"HEAD" {
        // HEAD returns to a branch that the operation left alone: it must still exist.
        wanted.push(RefChange { name: home.name.clone(), old: home.commit, new: home.commit });
    }
    let mut moved = Vec::new();
    for change in &mut wanted {
        let now = session.repo.find_ref(&change.name)?;
        if is_by_key(record, &change.name) {
            let back = TakenBack::plan(&session.repo, change, now)?;
            moved.extend(back.changed_since.iter().map(|key| {
                let key = stored_name::shown(key);
                format!("'{key}' of '{}' has changed", change.name.short())
            }));
            change.old = now;
        } else if now != change.old {
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

/// Returns `true` for an operation that changed nothing but shared records: it has nothing in common with what plain
/// git changes.
pub(in crate::design) fn changes_only_records(record: &Record) -> bool {
    let mut refs = record.refs.iter();
    let is_shared = |change: &RefChange| is_by_key(record, &change.name);
    !record.refs.is_empty() && record.leaves_head_and_index() && refs.all(is_shared)
}

/// Returns `true` for a record that is undone key by key. A migration of history moves all refs, and its
/// undo restores them all as they were.
fn is_by_key(record: &Record, name: &RefName) -> bool {
    !record.moves_history() && shared_record::has_keys(name)
}

/// Replaces the move of each shared record by a new version of it, in which the keys that the operation
/// changed are as before it; the refs of the operation itself are in `record`.
pub(in crate::design) fn with_new_versions(
    session: &Session,
    record: &Record,
    refs: Vec<RefChange>,
) -> Result<Vec<RefChange>> {
    let mut moves = Vec::new();
    for change in refs {
        let done = record.refs.iter().find(|done| done.name == change.name);
        match done.filter(|_| is_by_key(record, &change.name)) {
            Some(done) => {
                let back = TakenBack::plan(&session.repo, &done.inverse(), change.old)?;
                moves.push(back.write(&session.repo, &session.record_signature())?);
            }
            None => moves.push(change),
        }
    }
    moves.retain(|change| change.old != change.new);
    Ok(moves)
}

fn refuse_moved_refs(record: &Record, moved: &[String]) -> Error {
    Error::new(
        Code::ExternalChange,
        format!(
            "something else changed the repository since {} ({}): {}",
            record.op,
            record.summary,
            moved.join(", ")
        ),
    )
    .detail("changes", moved)
    .detail("op", record.op)
    .hint(format!(
        "git colony undo --force   # undoes it anyway{}",
        plain_git::or_restore(record, "undoes everything since")
    ))
}

/// Refuses to drop published commits.
pub(in crate::design) fn refuse_published(record: &Record, published: &[Oid]) -> Error {
    let count = published.len();
    Error::new(
        Code::PublishedCommits,
        format!(
            "{} of {} {} on a remote already",
            text::count(count, "commit"),
            record.op,
            if count == 1 { "is" } else { "are" }
        ),
    )
    .detail("published", published)
    .hint("git revert reverts them for everybody; --force drops them here only")
}

/// Lists commits that a remote has of a branch and that the branch would lose.
///
/// Only former tips of the branch itself count: not the commits that a merge added, and not those
/// that it was fast-forwarded over. Deleting a whole branch takes nothing from others.
pub(in crate::design) fn published(
    session: &Session,
    log: &Log,
    record: &Record,
    refs: &[RefChange],
) -> Result<Vec<Oid>> {
    let mut found = BTreeSet::new();
    let mut listed = Vec::new();
    // Nothing is lost by taking a migration back: the old history has the same commits.
    if record.moves_history() {
        return Ok(listed);
    }
    for change in refs {
        let is_left = change.new.is_none() && change.name != record.before.head.name;
        let Some(tip) = change.old.filter(|_| !is_left) else {
            continue;
        };
        let is_shared = is_by_key(record, &change.name);
        if is_shared || ref_names::parse_checkpoint(&change.name).is_some() {
            continue;
        }
        let others = match origin_of(log, record).kind {
            Kind::Merge if !is_made_by_merge(session, tip, change.new)? => Others::Ignored,
            _ => Others::Counted,
        };
        let remote = remote_tips(session, &change.name, others)?;
        let known = published_states(session, tip, change.new, &remote)?;
        listed.extend(known.into_iter().filter(|id| found.insert(*id)));
    }
    Ok(listed)
}

/// Returns `true` if a merge made the commit, and `false` after a fast-forward.
fn is_made_by_merge(session: &Session, tip: Oid, before: Option<Oid>) -> Result<bool> {
    let Some(commit) = session.repo.peel_to_commit(tip) else {
        return Ok(false);
    };
    let past = session.repo.read_past(commit)?;
    let squashed = !trailers(&past.message, squashed::TRAILER).is_empty();
    Ok(past.parents.first().copied() == before && (past.parents.len() > 1 || squashed))
}

/// Whether remote branches with another name count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    /// They count if the remote has none with the same name.
    Counted,
    /// They do not count.
    Ignored,
}

/// Returns the tips of the remote-tracking branches that may have a local branch's commits.
fn remote_tips(session: &Session, branch: &RefName, others: Others) -> Result<Vec<Oid>> {
    let repo = &session.repo;
    let all = repo.refs_below("refs/remotes/")?;
    let short = format!("/{}", branch.short());
    let (same, rest): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|found| found.name.to_string().ends_with(&short));
    let counted = match others {
        Others::Counted if same.is_empty() => rest,
        _ => same,
    };
    let tips = counted.iter();
    Ok(tips.filter_map(|found| repo.peel_to_commit(found.id)).collect())
}

/// Lists the former tips of a branch between `before` and `tip`, by first parents, that one of the
/// remote tips holds.
fn published_states(
    session: &Session,
    tip: Oid,
    before: Option<Oid>,
    remote: &[Oid],
) -> Result<Vec<Oid>> {
    const MAX_COMMITS: usize = 1_000;
    let repo = &session.repo;
    let Some(tip) = repo.peel_to_commit(tip).filter(|_| !remote.is_empty()) else {
        return Ok(Vec::new());
    };
    // A tag holds the history of its commit.
    let staying: Vec<Oid> = before.and_then(|id| repo.peel_to_commit(id)).into_iter().collect();
    let leaving: BTreeSet<_> =
        repo.commits_between(tip, &staying, MAX_COMMITS)?.into_iter().collect();
    let hidden: Vec<Oid> = staying.iter().chain(remote).copied().collect();
    let private = repo.commits_between(tip, &hidden, MAX_COMMITS)?;
    let mut states = Vec::new();
    let mut next = Some(tip);
    while let Some(commit) = next.filter(|commit| leaving.contains(commit)) {
        states.push(commit);
        next = repo.read_commit(commit)?.parents.first().copied();
    }
    states.retain(|commit| !private.contains(commit));
    Ok(states)
}
