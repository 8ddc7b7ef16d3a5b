//! Commits that only the remote has: they would stay in the old history, or be overwritten, so each
//! ref is named with the command that merges it.

use std::collections::BTreeMap;

use crate::git::lfs::lfs_import::Imported;
use crate::git::remote::Remote;
use crate::git::{Oid, RefChange, RefName, Repo};
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result};
use crate::store::Session;
use crate::store::migration::migration_journal::RemoteRef;
use crate::store::migration::{self, ObjectMap};

use super::checks::is_within;
use super::publication::{is_history, is_tag};
use super::{Publication, tags_of_no_commit};

/// Finds the commits of a remote that would stay in the old history.
pub(super) fn remote_only(repo: &Repo, remote: &str, theirs: &[RemoteRef]) -> Result<Vec<Error>> {
    let (mut absent, mut ahead, mut unsynced) = (Vec::new(), Vec::new(), Vec::new());
    for found in theirs {
        let ours = repo.find_ref(&found.name)?;
        if ours == Some(found.id) || tags_of_no_commit::stays(repo, &found.name, found.id)? {
            continue;
        }
        let name = found.name.clone();
        match ours {
            _ if !is_history(&found.name) => unsynced.push(name),
            None => absent.push(name),
            // A ref from before a migration made elsewhere is reported once that migration is made
            // here.
            Some(ours) if !is_ahead(repo, &found.name, (ours, found.id))? => {}
            Some(_) => ahead.push(name),
        }
    }
    let at = shell_word(remote);
    let cause = |names: &[RefName], what: String, hint: String| {
        let shown: Vec<_> = names.iter().map(RefName::short).collect();
        let message = format!("{what}: {}", shown.join(", "));
        let error = Error::new(Code::LeftBehind, message).detail("refs", shown);
        (!names.is_empty()).then(|| error.hint(hint))
    };
    let take = match ahead.first() {
        Some(first) => take_over(repo, remote, first)?,
        None => String::new(),
    };
    let causes = [
        cause(
            &absent,
            format!("'{remote}' has refs that are not here, and that would keep the old history"),
            format!(
                "git fetch {at} {}   # or delete it there: git push {at} --delete {}",
                specs(&absent),
                first(&absent)
            ),
        ),
        cause(&ahead, format!("'{remote}' has commits that are not here"), take),
        cause(
            &unsynced,
            format!("the records on '{remote}' differ from those here"),
            format!("git colony sync {at}   # notes: git fetch {at} 'refs/notes/*:refs/notes/*'"),
        ),
    ];
    Ok(causes.into_iter().flatten().collect())
}

/// The maximum number of refs in a hint: the next refusal names the others.
const NAMED: usize = 20;

/// Formats refspecs for `git fetch` that keep the names of the refs.
fn specs(names: &[RefName]) -> String {
    let specs = names.iter().take(NAMED).map(|name| {
        let name = name.to_string();
        shell_word(&format!("{name}:{name}"))
    });
    specs.collect::<Vec<_>>().join(" ")
}

fn first(names: &[RefName]) -> String {
    let first = names.first().map(|name| shell_word(&name.to_string()));
    first.unwrap_or_default()
}

/// Returns the command that merges a ref of the remote: whether it is ahead or both have diverged,
/// and whatever is checked out.
fn take_over(repo: &Repo, remote: &str, name: &RefName) -> Result<String> {
    let at = shell_word(remote);
    let (full, short) = (shell_word(&name.to_string()), shell_word(&name.short()));
    if is_tag(name) {
        let theirs = specs(std::slice::from_ref(name));
        return Ok(format!(
            "git fetch --force {at} {theirs}   # takes theirs; or push ours: git push --force {at} \
            {full}"
        ));
    }
    if repo.head()?.moving_ref() == *name {
        return Ok(format!("git pull --no-rebase --no-edit {at} {short}"));
    }
    Ok(format!("git fetch {at} {full} && git colony merge FETCH_HEAD --into {short}"))
}

/// Returns `true` if the ref of the remote has commits that ours does not have, in a related
/// history.
fn is_ahead(repo: &Repo, name: &RefName, (ours, theirs): (Oid, Oid)) -> Result<bool> {
    let is_tag = is_tag(name);
    let commits = repo.peel_to_commit(ours).zip(repo.peel_to_commit(theirs));
    let Some((ours, theirs)) = commits else {
        return Ok(true);
    };
    if repo.merge_bases(ours, theirs)?.is_empty() {
        return Ok(false);
    }
    Ok(is_tag || !is_within(repo, theirs, &[ours]))
}

/// The rewritten history.
pub(super) struct NewHistory<'a> {
    pub(super) imported: &'a Imported,
    pub(super) map: &'a ObjectMap,
    pub(super) publication: Publication,
}

/// Refuses if the remote has a history from which the new one under that name was not made: it was
/// not migrated elsewhere, it is another one. A local history under another name may be rewritten,
/// and not published.
pub(super) fn refuse_ahead(
    session: &Session,
    new: &NewHistory<'_>,
    remote: &str,
    theirs: &[RemoteRef],
) -> Result<()> {
    let repo = &session.repo;
    let commit = |id| repo.peel_to_commit(id).unwrap_or(id);
    let branches: Vec<Oid> = repo.refs_below("refs/heads/")?.iter().map(|found| found.id).collect();
    for found in theirs.iter().filter(|found| is_history(&found.name)) {
        let Some(ours) = repo.find_ref(&found.name)? else {
            continue;
        };
        if tags_of_no_commit::stays(repo, &found.name, found.id)? {
            continue;
        }
        let (ours, theirs) = (commit(ours), commit(found.id));
        let stays = new.publication == Publication::No && is_within(repo, theirs, &branches);
        if stays || is_within(repo, theirs, &[ours]) {
            continue;
        }
        let became = |id| new.map.get(id).unwrap_or(id).to_string();
        let mut git = new.imported.repository.git(&session.world);
        git.args(["merge-base", "--is-ancestor", &became(theirs), &became(ours)]);
        if !git.run()?.success() {
            let known = migration::known(repo)?;
            let hint = if migration::is_old(repo, &known, theirs)? {
                bring_along(remote, &found.name, theirs)
            } else {
                take_over(repo, remote, &found.name)?
            };
            return Err(not_here(remote, &found.name).hint(hint));
        }
    }
    Ok(())
}

fn not_here(remote: &str, name: &RefName) -> Error {
    let name = name.short();
    Error::new(Code::LeftBehind, format!("'{name}' on '{remote}' has commits that are not here"))
        .detail("refs", [&name])
}

/// Returns the command that moves commits on the old history to the new one: as a branch, which is
/// rewritten and merged before anything is published.
pub(super) fn bring_along(remote: &str, name: &RefName, tip: Oid) -> String {
    let (at, full) = (shell_word(remote), shell_word(&name.to_string()));
    let branch = shell_word(&format!("old/{}-{}", name.short(), tip.short()));
    let into = shell_word(&name.short());
    format!(
        "git fetch {at} {full} && git branch {branch} FETCH_HEAD && git colony lfs migrate --no-push && git colony merge {branch} --into {into} && git colony lfs migrate"
    )
}

/// Refuses to overwrite commits of a remote that were rewritten here under another name, and are
/// not in the published history.
pub(super) fn refuse_unmerged(
    session: &Session,
    remote: &str,
    changes: &[RefChange],
) -> Result<()> {
    let repo = &session.repo;
    let map = migration::known(repo)?;
    for change in changes {
        let commits = change.old.zip(change.new).filter(|_| is_history(&change.name));
        let Some((old, new)) = commits else { continue };
        let became = map.newest(repo.peel_to_commit(old).unwrap_or(old));
        let Some(became) = became.filter(|id| repo.object_size(*id).is_some()) else {
            continue;
        };
        let new = repo.peel_to_commit(new).unwrap_or(new);
        if !is_within(repo, became, &[new]) {
            let into = shell_word(&change.name.short());
            let is_tag = is_tag(&change.name);
            let hint = if is_tag {
                format!("git tag --force {into} {became} && git colony lfs migrate --continue")
            } else {
                format!(
                    "git colony merge {became} --into {into} && git colony lfs migrate --continue"
                )
            };
            return Err(not_here(remote, &change.name).hint(hint));
        }
    }
    Ok(())
}

/// Refuses if a remote has branches from before a migration that is known here: another push
/// restored them.
pub fn refuse_come_back(
    session: &Session,
    remote: &Remote<'_>,
    branches: &BTreeMap<RefName, Oid>,
) -> Result<()> {
    let repo = &session.repo;
    let map = migration::known(repo)?;
    let mut old = Vec::new();
    for (name, id) in branches {
        let is_here = repo.object_size(*id).is_some();
        if map.get(*id).is_some() || (is_here && migration::is_old(repo, &map, *id)?) {
            old.push((name, *id));
        }
    }
    let Some((first, tip)) = old.first() else {
        return Ok(());
    };
    let names: Vec<_> = old.iter().map(|(name, _)| name.short()).collect();
    let at = remote.name();
    Err(Error::new(
        Code::HistoryRewritten,
        format!(
            "'{at}' has the history from before the rewrite for git-lfs again, on {}",
            names.join(", ")
        ),
    )
    .detail("remote", at)
    .detail("refs", &names)
    .hint(way_to_new(repo, &map, at, first, *tip)?))
}

/// Returns the command that moves a branch of a remote from before a migration to the new history.
fn way_to_new(
    repo: &Repo,
    map: &ObjectMap,
    remote: &str,
    name: &RefName,
    tip: Oid,
) -> Result<String> {
    let ours = repo.find_ref(name)?;
    let became = map.newest(tip);
    let is_ours = |became| ours.is_some_and(|ours| is_within(repo, became, &[ours]));
    if became.is_some_and(is_ours) {
        return Ok("git colony lfs migrate   # publishes the new history again".to_owned());
    }
    let (at, full) = (shell_word(remote), shell_word(&name.to_string()));
    if ours.is_none() {
        return Ok(format!(
            "git fetch {at} {full}:{full} && git colony lfs migrate   # or: git push {at} --delete {full}"
        ));
    }
    Ok(bring_along(remote, name, tip))
}

/// Lists the remote branches, as last fetched, from before a migration.
pub fn come_back(repo: &Repo) -> Result<Vec<(String, String)>> {
    let map = migration::known(repo)?;
    if map.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for remote in repo.remote_names() {
        let prefix = format!("refs/remotes/{remote}/");
        for branch in repo.refs_below(&prefix)? {
            let Some(rest) = branch.name.as_bytes().strip_prefix(prefix.as_bytes()) else {
                continue;
            };
            if repo.peel_to_commit(branch.id) == Some(branch.id)
                && migration::is_old(repo, &map, branch.id)?
            {
                let name = RefName::new([b"refs/heads/", rest].concat());
                let way = way_to_new(repo, &map, &remote, &name, branch.id)?;
                found.push((branch.name.short(), way));
            }
        }
    }
    Ok(found)
}
