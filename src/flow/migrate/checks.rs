//! What stands in the way of a migration: everything is looked for, nothing is changed, and each finding
//! says how to go on.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::clones::{found, hub};
use crate::design::migration::{refuse_edits, refuse_in_the_middle, refuse_worktrees};
use crate::git::attributes::AttributesOf;
use crate::git::diff::TreeChange;
use crate::git::index::Index;
use crate::git::lfs_import::Imported;
use crate::git::lfs_pointer::Pointer;
use crate::git::refs::FoundRef;
use crate::git::{ObjectWrites, Oid, RefName, Repo};
use crate::model::text::{self, shell_word};
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;
use crate::store::migration::{self, ObjectMap};
use crate::store::migration_journal::RemoteRef;
use crate::store::shared_root::SharedRoot;

use super::publication::is_history;
use super::{desks, no_history};

/// Which history is to come about.
#[derive(Clone, Copy)]
pub(super) enum Goal<'a> {
    /// A new one, for a remote with what it has, if there is one.
    New(Option<&'a (String, Vec<RemoteRef>)>),
    /// One that others have made before: who follows leaves nobody behind.
    Known,
}

/// Refuses if anything stands in the way; several findings come as one error, with the others in its
/// details.
///
/// # Errors
/// `operation-in-progress`, `uncommitted-edits`, `unmerged-paths`, `left-behind`.
pub(super) fn refuse(session: &Session, refs: &[FoundRef], goal: Goal<'_>) -> Result<()> {
    refuse_in_the_middle(session)?;
    let mut causes = Vec::new();
    let scan = session.repo.scan(&session.world)?;
    causes.extend(refuse_edits(&scan).err());
    causes.extend(refuse_worktrees(&session.repo).err());
    causes.extend(stashes(session)?);
    if let Goal::New(remote) = goal {
        causes.extend(clones(session, refs)?);
        causes.extend(desks::unpublished(session, refs)?);
        if let Some((name, theirs)) = remote {
            causes.extend(remote_only(&session.repo, name, theirs)?);
        }
    }
    let mut causes = causes.into_iter();
    let Some(first) = causes.next() else {
        return Ok(());
    };
    let others: Vec<_> = causes
        .map(|error| {
            serde_json::json!({
                "code": error.code().as_str(),
                "message": error.message(),
                "hint": error.hint_text(),
            })
        })
        .collect();
    if others.is_empty() {
        return Err(first);
    }
    let told = others.iter().filter_map(|other| other["message"].as_str());
    let told: Vec<_> = told.map(str::to_owned).collect();
    let message = format!("{}; and: {}", first.message(), told.join("; and: "));
    let mut error = Error::new(first.code(), message).detail("others", &others);
    for (name, value) in first.details() {
        error = error.detail(name, value);
    }
    Err(match first.hint_text() {
        Some(hint) => error.hint(hint),
        None => error,
    })
}

/// Refuses a repository that does not have all of its history.
///
/// # Errors
/// `unsupported`.
pub(super) fn refuse_incomplete(repo: &Repo) -> Result<()> {
    let wanted = "cannot migrate to git-lfs: the history of this repository is not all here";
    if repo.common_dir().join("shallow").exists() {
        return Err(Error::new(
            Code::Unsupported,
            format!("{wanted}, it is a shallow clone; nothing has changed"),
        )
        .hint("git fetch --unshallow"));
    }
    let promises =
        |name: &String| repo.config_bool(&format!("remote.{name}.promisor")) == Some(true);
    let is_partial = repo.config("extensions.partialClone").is_some();
    if is_partial || repo.remote_names().iter().any(promises) {
        return Err(Error::new(
            Code::Unsupported,
            format!("{wanted}, it is a partial clone; nothing has changed"),
        )
        .hint("git clone URL DIRECTORY   # without --filter; migrate there"));
    }
    Ok(())
}

/// Finds stashes that would put large files back into git.
fn stashes(session: &Session) -> Result<Option<Error>> {
    let repo = &session.repo;
    if repo.find_ref(&RefName::from("refs/stash"))?.is_none() {
        return Ok(None);
    }
    let mut git = repo.git(&session.world);
    git.args(["log", "-g", "--format=%H", "refs/stash", "--"]);
    let printed = git.run_checked("list the stashes")?;
    let index = repo.load_index()?;
    let mut breaking = Vec::new();
    let stashes = String::from_utf8_lossy(&printed).into_owned();
    for (number, line) in stashes.lines().enumerate() {
        let Some(stash) = Oid::parse(line.trim()) else {
            continue;
        };
        if breaks(repo, &index, stash)? {
            breaking.push(format!("stash@{{{number}}}"));
        }
    }
    if breaking.is_empty() {
        return Ok(None);
    }
    let have = if breaking.len() == 1 { "has" } else { "have" };
    let message = format!(
        "{} {have} large files, and would bring them back into git: {}; nothing has changed",
        text::count(breaking.len(), "stash entry"),
        breaking.join(", ")
    );
    Ok(Some(
        Error::new(Code::LeftBehind, message)
            .detail("stashes", &breaking)
            .hint("git stash branch NAME   # makes a branch of the newest; or: git stash drop"),
    ))
}

/// Tells whether a stash has changes of files that git-lfs is to have, or of what says so.
fn breaks(repo: &Repo, index: &Index, stash: Oid) -> Result<bool> {
    let parents = repo.read_commit(stash)?.parents;
    // A pointer brings nothing back.
    let is_whole = |change: &TreeChange| {
        let pointer = change.new.and_then(|new| Pointer::of_blob(repo, new.id));
        pointer.is_none()
    };
    let mut paths: Vec<RepoPath> = Vec::new();
    if let Some(base) = parents.first() {
        let (before, after) = (repo.tree_of(Some(*base))?, repo.tree_of(Some(stash))?);
        let changes = repo.diff_trees(before, after)?;
        paths.extend(
            changes
                .into_iter()
                .filter(is_whole)
                .map(|change| change.path),
        );
    }
    if let Some(untracked) = parents.get(2) {
        let files = repo.list_tree(repo.tree_of(Some(*untracked))?)?;
        paths.extend(files.into_iter().filter(is_whole).map(|file| file.path));
    }
    for path in paths {
        let is_attributes = path.as_bytes().ends_with(b".gitattributes");
        let filter = repo.attribute(index, "filter", AttributesOf::Worktree, &path)?;
        if is_attributes || filter.as_deref() == Some("lfs") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Finds clones of the hub with work that is not in the history that is going to be rewritten.
fn clones(session: &Session, refs: &[FoundRef]) -> Result<Vec<Error>> {
    let root = SharedRoot::of(&session.world).ok();
    let places = root.and_then(|root| {
        let hub = hub::place_of(session, &root).ok()?;
        Some((root, hub))
    });
    let Some((root, hub)) = places else {
        return Ok(Vec::new());
    };
    let map = migration::known(&session.repo)?;
    let ours: BTreeSet<Oid> = refs
        .iter()
        .filter_map(|found| session.repo.peel_to_commit(found.id))
        .collect();
    let ours: Vec<Oid> = ours.into_iter().collect();
    let others = found::clones(&root, Some(&hub)).into_iter();
    let others = others.filter(|clone| clone.path != session.repo.workdir());
    let found = others.filter_map(|clone| {
        let name = clone.member.agent.clone();
        let name = name.unwrap_or_else(|| clone.member.id.clone());
        unpublished(session, (&name, clone.path), (&ours, &map))
    });
    Ok(found.collect())
}

fn unpublished(
    session: &Session,
    (name, path): (&str, PathBuf),
    (ours, map): (&[Oid], &ObjectMap),
) -> Option<Error> {
    let inside = session.world.standing_in(&path);
    let repo = Repo::open(&inside, ObjectWrites::InMemory);
    let found = repo.and_then(|repo| {
        let edits = crate::flow::status::unsaved(&repo.scan(&inside)?);
        let branches = repo.refs_below("refs/heads/")?.into_iter();
        let here = &session.repo;
        let ahead = branches.filter(|branch| !is_within(here, map.current(here, branch.id), ours));
        Ok((
            edits,
            ahead.map(|branch| branch.name.short()).collect::<Vec<_>>(),
        ))
    });
    let (edits, ahead): (usize, Vec<String>) = match found {
        Ok((0, ahead)) if ahead.is_empty() => return None,
        Ok(found) => found,
        Err(error) => return Some(error),
    };
    let mut has = Vec::new();
    if edits > 0 {
        has.push(format!("{} with edits", text::count(edits, "file")));
    }
    if !ahead.is_empty() {
        has.push(format!("commits on {} that are not here", ahead.join(", ")));
    }
    Some(
        Error::new(
            Code::LeftBehind,
            format!(
                "the clone of '{name}' has {}, in a history that would be gone; nothing has changed",
                has.join(" and ")
            ),
        )
        .detail("clone", name)
        .detail("path", path.display().to_string())
        .hint(format!(
            "git colony merge {0}   # takes its commits over; or: git colony agents remove {0}",
            shell_word(name)
        )),
    )
}

/// Tells whether a commit is in a history that is here.
pub(super) fn is_within(repo: &Repo, id: Oid, tips: &[Oid]) -> bool {
    repo.peel_to_commit(id) == Some(id)
        && repo
            .commits_between(id, tips, 1)
            .is_ok_and(|more| more.is_empty())
}

/// Finds what a remote has and what would stay behind in the old history.
fn remote_only(repo: &Repo, remote: &str, theirs: &[RemoteRef]) -> Result<Vec<Error>> {
    let (mut absent, mut ahead, mut unsynced) = (Vec::new(), Vec::new(), Vec::new());
    let mut tag = None;
    for found in theirs {
        let ours = repo.find_ref(&found.name)?;
        if ours == Some(found.id) || no_history::stays(repo, &found.name, found.id)? {
            continue;
        }
        let name = found.name.short();
        match ours {
            _ if !is_history(&found.name) => unsynced.push(name),
            None => {
                let is_tag = found.name.as_bytes().starts_with(b"refs/tags/");
                tag.get_or_insert(is_tag);
                absent.push(name);
            }
            // What ours was before a migration made elsewhere is told once that is made here.
            Some(ours) if !is_ahead(repo, &found.name, (ours, found.id))? => {}
            Some(_) => ahead.push(name),
        }
    }
    let at = shell_word(remote);
    let first = |names: &[String]| {
        names
            .first()
            .map(|name| shell_word(name))
            .unwrap_or_default()
    };
    let (one, two) = (first(&absent), first(&ahead));
    let cause = |names: &[String], what: String, hint: String| {
        let message = format!("{what}: {}; nothing has changed", names.join(", "));
        let error = Error::new(Code::LeftBehind, message).detail("refs", names);
        (!names.is_empty()).then(|| error.hint(hint))
    };
    let causes = [
        cause(
            &absent,
            format!("'{remote}' has what is not here, and it would keep the old history"),
            match tag {
                Some(true) => format!(
                    "git fetch {at} tag {one}   # or delete it there: git push {at} --delete refs/tags/{one}"
                ),
                _ => format!(
                    "git fetch {at} {one} && git branch --no-track {one} FETCH_HEAD   # or delete it there: git push {at} --delete {one}"
                ),
            },
        ),
        cause(
            &ahead,
            format!("'{remote}' has more or something else under names that are here"),
            format!("git pull {at} {two}"),
        ),
        cause(
            &unsynced,
            format!("'{remote}' has other records than there are here"),
            format!("git colony sync {at}   # notes: git fetch {at} 'refs/notes/*:refs/notes/*'"),
        ),
    ];
    Ok(causes.into_iter().flatten().collect())
}

/// Tells whether a ref of the remote has what is not in ours, in one history with it.
fn is_ahead(repo: &Repo, name: &RefName, (ours, theirs): (Oid, Oid)) -> Result<bool> {
    let is_tag = name.as_bytes().starts_with(b"refs/tags/");
    let commits = repo.peel_to_commit(ours).zip(repo.peel_to_commit(theirs));
    let Some((ours, theirs)) = commits else {
        return Ok(true);
    };
    if repo.merge_bases(ours, theirs)?.is_empty() {
        return Ok(false);
    }
    Ok(is_tag || !is_within(repo, theirs, &[ours]))
}

/// Refuses where a remote has what the new history of that name does not come from: nobody has migrated
/// it elsewhere, it is another one.
///
/// # Errors
/// `left-behind`, `git-failed`.
pub(super) fn refuse_ahead(
    session: &Session,
    imported: &Imported,
    (remote, theirs): (&str, &[RemoteRef]),
    map: &ObjectMap,
) -> Result<()> {
    let repo = &session.repo;
    let commit = |id| repo.peel_to_commit(id).unwrap_or(id);
    for found in theirs.iter().filter(|found| is_history(&found.name)) {
        let Some(ours) = repo.find_ref(&found.name)? else {
            continue;
        };
        if no_history::stays(repo, &found.name, found.id)? {
            continue;
        }
        let (ours, theirs) = (commit(ours), commit(found.id));
        if is_within(repo, theirs, &[ours]) {
            continue;
        }
        let became = |id| map.get(id).unwrap_or(id).to_string();
        let mut git = imported.repository.git(&session.world);
        git.args([
            "merge-base",
            "--is-ancestor",
            &became(theirs),
            &became(ours),
        ]);
        if !git.run()?.success() {
            let name = found.name.short();
            return Err(Error::new(
                Code::LeftBehind,
                format!(
                    "'{name}' on '{remote}' has commits that are not here; nothing has changed"
                ),
            )
            .detail("refs", [&name])
            .hint(format!(
                "git pull {} {}",
                shell_word(remote),
                shell_word(&name)
            )));
        }
    }
    Ok(())
}
