//! Publishes a new history: every ref of the remote moves at once, each from its recorded value, or
//! none does.

use std::collections::BTreeMap;

use crate::clones::sync::travelers;
use crate::git::refs::ReflogReason;
use crate::git::remote::{PushResult, Pushed, Remote};
use crate::git::{Head, Oid, RefChange, RefName};
use crate::model::id::OperationId;
use crate::model::{Code, Error, Result, Untouched};
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::lock::{WorktreeLock, ref_locks};
use crate::store::migration::migration_journal::RemoteRef;
use crate::store::refs::{own_refs, ref_names};

use super::tags_of_no_commit;
use super::upload::LargeFiles;

/// Returns `true` if a migration rewrites this ref on the remote.
pub(super) fn is_history(name: &RefName) -> bool {
    name.as_bytes().starts_with(b"refs/heads/") || is_tag(name)
}

/// Returns `true` if a ref is a tag, or a checkpoint, which is a tag in a namespace of ours.
pub(super) fn is_tag(name: &RefName) -> bool {
    let places = ["refs/tags/", ref_names::CHECKPOINTS];
    places.iter().any(|place| name.as_bytes().starts_with(place.as_bytes()))
}

/// Lists the refs of the remote that a migration may move.
pub(super) fn recorded(remote: &Remote<'_>) -> Result<Vec<RemoteRef>> {
    let listed = remote.list(|name| {
        is_history(name)
            || name.as_bytes().starts_with(b"refs/notes/")
            || travelers::kind_of(name).is_some()
    })?;
    let refs = listed.into_iter();
    Ok(refs.map(|(name, id)| RemoteRef { name, id }).collect())
}

/// Lists the refs of a remote that were not there when history was rewritten: all of them must
/// equal the local ones at that time.
pub(super) fn as_before(
    session: &Session,
    remote: &Remote<'_>,
    op: OperationId,
) -> Result<Vec<RemoteRef>> {
    let mut refs = recorded(remote)?;
    refs.retain(|found| is_history(&found.name));
    for found in &refs {
        if tags_of_no_commit::stays(&session.repo, &found.name, found.id)? {
            continue;
        }
        let here = session.repo.find_ref(&found.name)?;
        let then = session.repo.find_ref(&ref_names::backup(op, &found.name))?;
        if ![here, then].contains(&Some(found.id)) {
            return Err(refuse_moved(remote, &[&found.name]));
        }
    }
    Ok(refs)
}

/// Lists the refs to move on the remote: those that differ from the local ones, the branch that is
/// checked out, and the map of the commits.
pub(super) fn plan(session: &Session, before: &[RemoteRef]) -> Result<Vec<RefChange>> {
    let repo = &session.repo;
    let mut wanted: BTreeMap<RefName, Option<Oid>> = BTreeMap::new();
    for found in before {
        wanted.insert(found.name.clone(), Some(found.id));
    }
    wanted.entry(ref_names::MIGRATIONS.into()).or_insert(None);
    if let Head::Branch { name, .. } = repo.head()? {
        wanted.entry(name).or_insert(None);
    }
    let mut changes = Vec::new();
    for (name, old) in wanted {
        let new = repo.find_ref(&name)?;
        if let Some(old) = old
            && tags_of_no_commit::stays(repo, &name, old)?
        {
            continue;
        }
        if new.is_some() && new != old {
            changes.push(RefChange { name, old, new });
        }
    }
    Ok(changes)
}

/// Publishes: first the large files, then every ref together; then the server is asked whether it
/// has all large files. Objects that it has are not sent. Returns the refs that moved there.
pub(super) fn publish(
    session: &Session,
    remote: &Remote<'_>,
    before: &[RemoteRef],
) -> Result<Vec<RefChange>> {
    let changes = plan(session, before)?;
    let now = remote.list(|_| true)?;
    let is_there = |change: &RefChange| now.get(&change.name).copied() == change.new;
    let open: Vec<RefChange> = changes.iter().filter(|change| !is_there(change)).cloned().collect();
    let moved: Vec<&RefName> = open
        .iter()
        .filter(|change| now.get(&change.name).copied() != change.old)
        .map(|change| &change.name)
        .collect();
    if !moved.is_empty() {
        return Err(refuse_moved(remote, &moved));
    }
    let large = LargeFiles::find(session, &changes)?;
    large.bring(remote)?;
    let uploads = large.uploads(session)?;
    let pushed = own_refs::talk(session, || remote.push_together(&open, uploads))?;
    refuse_failed(remote, &open, &pushed)?;
    // The objects must exist before refs point to them.
    large.bring(remote)?;
    let now = remote.list(|_| true)?;
    let lacking: Vec<&RefName> = changes
        .iter()
        .filter(|change| now.get(&change.name).copied() != change.new)
        .map(|change| &change.name)
        .collect();
    if !lacking.is_empty() {
        return Err(refuse_moved(remote, &lacking));
    }
    agree(session, remote, &changes)?;
    Ok(open)
}

/// Refuses if a ref was rejected; then none moved.
fn refuse_failed(
    remote: &Remote<'_>,
    wanted: &[RefChange],
    PushResult { refs: pushed, said }: &PushResult,
) -> Result<()> {
    /// The beginnings of messages about refs that were rejected only because of others.
    const WITH_OTHERS: [&str; 2] = ["atomic push fail", "atomic transaction fail"];
    if pushed.values().all(|result| *result == Pushed::Done) {
        return Ok(());
    }
    // A server does not always report which ref another push has moved.
    let now = remote.list(|_| true)?;
    let elsewhere = |change: &&RefChange| {
        let found = now.get(&change.name).copied();
        found != change.old && found != change.new
    };
    let told = |name: &RefName| pushed.get(name) == Some(&Pushed::Moved);
    let moved: Vec<&RefName> = wanted
        .iter()
        .filter(|change| elsewhere(change) || told(&change.name))
        .map(|change| &change.name)
        .collect();
    if !moved.is_empty() {
        return Err(refuse_moved(remote, &moved));
    }
    let refused = pushed.iter().filter_map(|(name, result)| match result {
        Pushed::Refused(why) => Some((name, why)),
        Pushed::Done | Pushed::Moved => None,
    });
    let itself =
        |(_, why): &(&RefName, &String)| !WITH_OTHERS.iter().any(|start| why.starts_with(start));
    let found = refused.clone().find(itself).or(refused.clone().next());
    let Some((name, why)) = found else {
        return Ok(());
    };
    let words = if said.is_empty() { String::new() } else { format!(" ({})", said.join("; ")) };
    Err(Error::new(Code::GitFailed, format!("'{}' refuses '{name}': {why}{words}", remote.name()))
        .untouched(Untouched::There)
        .detail("ref", name)
        .detail("server", said)
        .hint("git colony lfs migrate --continue   # once the server allows the rewrite"))
}

fn refuse_moved(remote: &Remote<'_>, moved: &[&RefName]) -> Error {
    let names: Vec<_> = moved.iter().map(|name| name.short()).collect();
    Error::new(Code::RefMoved, format!("{} moved on '{}' since", names.join(", "), remote.name()))
        .untouched(Untouched::There)
        .detail("refs", moved)
        .hint(
            "git colony lfs migrate --abort   # then git colony lfs migrate shows how to merge the \
    pushed commits",
        )
}

/// Records that both sides have the same refs, so that a sync finds nothing to do.
fn agree(session: &Session, remote: &Remote<'_>, changes: &[RefChange]) -> Result<()> {
    let mut notes = Vec::new();
    for change in changes {
        if let Some(name) = travelers::note_of(remote.name(), &change.name) {
            let old = session.repo.find_ref(&name)?;
            if old != change.new {
                notes.push(RefChange { name, old, new: change.new });
            }
        }
    }
    move_refs(session, &notes)
}

/// Moves refs of ours.
pub(super) fn move_refs(session: &Session, changes: &[RefChange]) -> Result<()> {
    let who = session.record_signature();
    let why = ReflogReason { text: "colony: lfs migrate", who: &who, operation: "lfs-migrate" };
    // The holder of the worktree lock deletes the recorded state.
    let _lock = WorktreeLock::take(&session.world, &session.repo, session.wait_limit())?;
    let places = Places::require(&session.repo, &session.world)?;
    let note = places.colony.join("migration.locks");
    ref_locks::move_refs(session, &note, changes, &why)
}
