//! The refs that an undo moves, and the reasons to refuse: refs moved since.

use crate::git::{Oid, RefChange, RefName, Repo};
use crate::model::{Code, Error, Result};
use crate::store::Session;
use crate::store::operation::{Kind, Record};
use crate::store::refs::shared_record::{self, TakenBack};
use crate::store::refs::stored_name;

use super::plain_git;

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
        return Err(refuse_moved_refs(&session.repo, record, &moved));
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

fn refuse_moved_refs(repo: &Repo, record: &Record, moved: &[String]) -> Error {
    let more = match moved.len() {
        0 | 1 => String::new(),
        many => format!(" and {} more", many - 1),
    };
    Error::new(
        Code::ExternalChange,
        format!("since {}, {}{more}", record.op, moved.first().map_or("", String::as_str)),
    )
    .detail("changes", moved)
    .detail("op", record.op)
    .hint(match record.kind {
        Kind::Undo => "git colony redo --force   # redoes it anyway".to_owned(),
        _ => format!("git colony undo --force{}", plain_git::or_restore(repo, record)),
    })
}
