//! A clone in which git cannot work, while its files are there: which it is, and what only its git directory knows.

use std::path::{Path, PathBuf};

use crate::clones::hub::Hub;
use crate::clones::new_clone::Start;
use crate::clones::removal::removed_work::Held;
use crate::clones::{damaged, found};
use crate::git::git_directory::{self, GitDirContent};
use crate::git::refs::FoundRef;
use crate::git::{ObjectWrites, Oid, RefName, Repo, plain_file};
use crate::model::{Code, Error, Result, World, text, time};
use crate::store::files::shared_root::{AgentPlace, SharedRoot};

use super::agent_restore::Request;
use super::restore_place::RestorePlace;

/// Finds the folder of an agent's clone that has lost its git directory; `None` if there is none, or another clone is
/// asked for.
pub(super) fn lost_folder(
    from: &RestorePlace<'_>,
    root: &SharedRoot,
    request: &Request,
) -> Option<AgentPlace> {
    if request.at.is_some() {
        return None;
    }
    let mut damaged = damaged::clones(root, Some(from.hub()));
    damaged.retain(|clone| clone.has_lost_git_dir && clone.agent.as_ref() == Some(&request.name));
    if damaged.is_empty() {
        return unreadable_folder(from, root, &request.name);
    }
    // Its folder may be a symlink: where that leads has another place.
    damaged.first().and_then(|clone| AgentPlace::find(&clone.path))
}

/// Finds the folder of an agent's clone of which git can read neither HEAD nor the files that git tracks.
fn unreadable_folder(
    from: &RestorePlace<'_>,
    root: &SharedRoot,
    agent: &str,
) -> Option<AgentPlace> {
    let clones = found::clones(root, Some(from.hub())).into_iter();
    let mut own = clones.filter(|clone| clone.member.agent.as_deref() == Some(agent));
    let is_unreadable = |path: &Path| {
        let read = || -> Result<()> {
            let repo = Repo::open_foreign(from.world, path, ObjectWrites::InMemory)?;
            repo.tree_of(repo.head()?.commit())?;
            repo.scan(from.world).map(drop)
        };
        let is_damage =
            |error: Error| matches!(error.code(), Code::RepositoryBroken | Code::ObjectMissing);
        read().is_err_and(is_damage)
    };
    own.find(|clone| is_unreadable(&clone.path)).and_then(|clone| AgentPlace::find(&clone.path))
}

/// Between the time and the rest of the name of a folder with a damaged git directory.
const DAMAGED: &str = "-damaged-";

/// Returns a path for a git directory that git cannot use, beside the agent's removed clones.
pub(super) fn aside_for(world: &World, root: &SharedRoot, agent: &str) -> PathBuf {
    let (now, number) = (time::compact(&world.now()), (world.entropy)() >> 32);
    root.removed_of(agent).join(format!("{now}{DAMAGED}{number:08x}")).join(".git")
}

/// Returns what a damaged git directory has that neither the new one nor the hub has.
pub(super) fn only_in(damaged: &Path, hub: &Hub) -> Vec<String> {
    let remains = git_directory::remains(damaged);
    let is_unknown = |reference: &&FoundRef| !hub.store.has(reference.id);
    let GitDirContent { stashes, operation, worktrees, .. } = &remains;
    let tags = remains.tags.iter().filter(is_unknown).count();
    let commits = remains.branches.iter().filter(is_unknown).map(|reference| {
        format!("commits of '{}' up to {}", reference.name.short(), reference.id.short())
    });
    let counted = [(*stashes, "stash"), (tags, "tag")];
    let counts = counted.iter().filter(|(count, _)| *count > 0);
    counts
        .map(|(count, noun)| text::count(*count, noun))
        .chain(operation.map(|operation| format!("{operation} in progress")))
        .chain(commits)
        .chain(worktrees.iter().map(|other| format!("the worktree '{}'", other.path.display())))
        .collect()
}

/// Returns `true` for a folder that has a damaged git directory.
pub(super) fn is_aside(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.to_string_lossy().contains(DAMAGED))
}

/// Lets the clone stand on the branch that its damaged git directory names, else on its own fork where a linked worktree has
/// published another branch.
pub(super) fn find_branch(place: &AgentPlace, held: &mut Held) {
    let git_dir = place.clone.join(".git");
    let start = |held: &Held, name: &RefName| {
        let reference = held.refs.iter().find(|reference| reference.name == *name)?;
        Some(Start { branch: name.short(), commit: reference.id })
    };
    let of_worktree = |held: &Held| {
        let on = held.on.as_ref()?;
        let mut others = git_directory::worktrees(&git_dir).into_iter();
        let is_others =
            others.any(|other| other.branch.is_some_and(|name| name.short() == on.branch));
        let own = RefName::from(format!("refs/heads/fork/{}", place.agent).as_str());
        is_others.then(|| start(held, &own)).flatten()
    };
    let named = git_directory::branch_of(&git_dir).and_then(|name| start(held, &name));
    if let Some(start) = named.or_else(|| of_worktree(held)) {
        (held.on, held.detached) = (Some(start), None);
    }
}

/// Counts missing files as left out where the damaged git directory had patterns of a sparse checkout beside directories:
/// which of them the agent has deleted is not known.
pub(super) fn leave_out_missing(world: &World, repo: &Repo, damaged: &Path) -> Result<()> {
    let patterns = plain_file::read(damaged.join("info/sparse-checkout")).unwrap_or_default();
    let is_of_cone = |line: &[u8]| {
        let line = line.strip_prefix(b"!").unwrap_or(line);
        line.is_empty() || line == b"/*" || (line.starts_with(b"/") && line.ends_with(b"/"))
    };
    if patterns.split(|byte| *byte == b'\n').all(is_of_cone) {
        return Ok(());
    }
    let mut list = repo.git(world);
    list.args(["ls-files", "--deleted", "-z"]);
    let missing = list.run_checked("list missing files")?;
    let mut git = repo.git(world);
    git.args(["update-index", "--skip-worktree", "-z", "--stdin"]).input(missing);
    git.run_checked("leave missing files out").map(drop)
}

/// Returns the directories of a commit that a folder has, as a sparse checkout names them; nothing if it has them all. What
/// its record said of that is lost, and a directory that was never there must not count as deleted: one without any file of
/// the commit has only new ones.
pub(super) fn cone_of_files(hub: &Hub, commit: Oid, folder: &Path) -> Result<Vec<String>> {
    let repo = hub.store.to_read()?;
    let mut cone = Vec::new();
    let is_whole = add_cone(&repo, repo.tree_of(Some(commit))?, folder, "", &mut cone)?;
    Ok(if is_whole { Vec::new() } else { cone })
}

/// Adds the directories of a tree that are whole in a folder; returns `true` if none is missing.
fn add_cone(
    repo: &Repo,
    tree: Oid,
    folder: &Path,
    below: &str,
    cone: &mut Vec<String>,
) -> Result<bool> {
    let mut is_whole = true;
    for (name, entry) in
        repo.entries_of(tree)?.into_iter().filter(|(_, entry)| entry.is_directory())
    {
        let path = format!("{below}{name}");
        if !has_any(repo, entry.id, &name.under(folder))? {
            is_whole = false;
            continue;
        }
        let mut inner = Vec::new();
        if add_cone(repo, entry.id, &name.under(folder), &format!("{path}/"), &mut inner)? {
            cone.push(path);
        } else {
            is_whole = false;
            cone.extend(inner);
        }
    }
    Ok(is_whole)
}

/// Returns `true` if a folder has a file of a tree.
fn has_any(repo: &Repo, tree: Oid, folder: &Path) -> Result<bool> {
    for (name, entry) in repo.entries_of(tree)? {
        let path = name.under(folder);
        let is_there = if entry.is_directory() {
            has_any(repo, entry.id, &path)?
        } else {
            path.symlink_metadata().is_ok()
        };
        if is_there {
            return Ok(true);
        }
    }
    Ok(false)
}
