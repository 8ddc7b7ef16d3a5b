//! Keeps the history from before a migration and the one after it apart, between this repository
//! and a remote.

use std::collections::BTreeMap;

use crate::git::refs::ReflogReason;
use crate::git::remote::Remote;
use crate::git::{Oid, RefChange, RefName};
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result};
use crate::records::exchanged_refs;
use crate::store::refs::{own_refs, ref_names};
use crate::store::{Session, migration};

/// Refuses to sync two histories: the remote has the one from before a migration, or this
/// repository does. `theirs` are the refs of the remote.
pub fn refuse_two_histories(
    session: &Session,
    remote: &Remote<'_>,
    theirs: &BTreeMap<RefName, Oid>,
) -> Result<()> {
    let repo = &session.repo;
    let name = RefName::from(ref_names::MIGRATIONS);
    if let Some(commit) = theirs.get(&name).copied() {
        refuse_old_branches(session, remote, commit, theirs)?;
    }
    let map = migration::known(repo)?;
    let mut old = Vec::new();
    for (name, id) in theirs.iter().filter(|(name, _)| is_branch(name)) {
        let is_here = repo.object_size(*id).is_some();
        if map.get(*id).is_some() || (is_here && migration::is_old(repo, &map, *id)?) {
            old.push(name.short());
        }
    }
    if old.is_empty() {
        return Ok(());
    }
    let at = remote.name();
    Err(Error::new(
        Code::HistoryRewritten,
        format!(
            "'{at}' has the history from before the rewrite for git-lfs, on {}",
            old.join(", ")
        ),
    )
    .detail("remote", at)
    .detail("refs", &old)
    .hint(
        "git colony lfs migrate --push   # publishes the new one; 'git colony undo' takes it back",
    ))
}

fn is_branch(name: &RefName) -> bool {
    name.as_bytes().starts_with(b"refs/heads/")
}

/// Refuses if the remote has a migration that branches here predate: those that it has too, and forks, which a sync would
/// send. Others may be kept for reference.
fn refuse_old_branches(
    session: &Session,
    remote: &Remote<'_>,
    commit: Oid,
    theirs: &BTreeMap<RefName, Oid>,
) -> Result<()> {
    if !learn(session, remote, commit)? {
        return Ok(());
    }
    let repo = &session.repo;
    let map = migration::load(repo, commit)?;
    let here = repo.head()?.moving_ref();
    for branch in repo.refs_below("refs/heads/")? {
        let name = branch.name.short();
        let is_there = theirs.contains_key(&branch.name);
        let is_exchanged = is_there || name.starts_with("fork/");
        if is_exchanged && migration::is_old(repo, &map, branch.id)? {
            let error = rewritten(remote.name(), &name);
            let (branch_word, old) = (shell_word(&name), shell_word(&format!("old/{name}")));
            return Err(match error.hint_text().map(str::to_owned) {
                _ if !is_there => error.replace_hint(format!(
                    "git branch -m {branch_word} {old}   # then git colony merge {old} rewrites it"
                )),
                // The line moves the branch that is checked out.
                Some(line) if here != branch.name => {
                    error.replace_hint(format!("git switch {branch_word} && {line}"))
                }
                _ => error,
            });
        }
    }
    Ok(())
}

/// Fetches the migrations of a remote, so that `merge` can rewrite older commits. Returns `false`
/// for a ref that is not a record of migrations, which is reported like any other ref, and in a dry
/// run, which fetches nothing.
fn learn(session: &Session, remote: &Remote<'_>, commit: Oid) -> Result<bool> {
    let repo = &session.repo;
    let name = RefName::from(ref_names::MIGRATIONS);
    if repo.object_size(commit).is_none() {
        if !repo.keeps_objects() {
            return Ok(false);
        }
        let into = exchanged_refs::incoming_of(remote.name());
        remote.fetch_refs(std::slice::from_ref(&name), &into)?;
    }
    if repo.peel_to_commit(commit) != Some(commit) || migration::flaw(repo, commit)?.is_some() {
        return Ok(false);
    }
    let ours = repo.find_ref(&name)?;
    let is_newer = match ours {
        Some(ours) => ours != commit && !repo.has_more(ours, commit).unwrap_or(true),
        None => true,
    };
    if is_newer && !session.is_dry() {
        let change = RefChange { name, old: ours, new: Some(commit) };
        let who = session.record_signature();
        let why = ReflogReason { text: "colony: fetched", who: &who, operation: "sync" };
        own_refs::move_refs(session, &[change], &why)?;
    }
    Ok(true)
}

/// Refuses to push histories from before a migration on the remote, known here or not. An
/// unreachable remote stops nothing: the push itself fails then.
pub fn refuse_old_push(session: &Session, remote: &str, pushed: &[Oid]) -> Result<()> {
    let repo = &session.repo;
    let name = RefName::from(ref_names::MIGRATIONS);
    let Ok(remote) = Remote::find(repo, &session.world, remote) else {
        return Ok(());
    };
    let listed = remote.list(|listed| *listed == name).unwrap_or_default();
    let Some(commit) = listed.get(&name).copied() else {
        return Ok(());
    };
    if !learn(session, &remote, commit).unwrap_or(false) {
        return Ok(());
    }
    let map = migration::load(repo, commit)?;
    for tip in pushed {
        if migration::is_old(repo, &map, *tip)? {
            let branch = repo.head()?.moving_ref().short();
            return Err(rewritten(remote.name(), &branch));
        }
    }
    Ok(())
}

/// Refuses to push a commit from before a migration that is known here; `name` is that of the pushed ref.
pub fn refuse_known_push(
    session: &Session,
    remote: Option<&str>,
    commit: Oid,
    name: &str,
) -> Result<()> {
    let repo = &session.repo;
    let refused = migration::refuse_old(repo, commit, &format!("'{name}'"));
    let head = repo.head()?;
    let map = migration::known(repo)?;
    refused.map_err(|error| match (remote, head.commit()) {
        (Some(remote), Some(tip)) if migration::is_old(repo, &map, tip).unwrap_or(false) => {
            rewritten(remote, &head.moving_ref().short())
        }
        _ => error,
    })
}

/// Makes the error for a branch from before a migration that a remote has, with the line that moves
/// the branch to the new history and takes its own commits along.
fn rewritten(remote: &str, branch: &str) -> Error {
    let (old, at) = (shell_word(&format!("old/{branch}")), shell_word(remote));
    let there = shell_word(&format!("{remote}/{branch}"));
    Error::new(
        Code::HistoryRewritten,
        format!("'{remote}' has its history rewritten for git-lfs, and '{branch}' here is older"),
    )
    .detail("remote", remote)
    .hint(format!(
        "git branch {old} && git fetch {at} && git reset --keep {there} && git colony merge {old}"
    ))
}
