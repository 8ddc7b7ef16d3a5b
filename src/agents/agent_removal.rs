//! Removes an agent's clone: its work is kept in the hub, and its folder for some days.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::agents::removed_operations::{self, KeptLog};
use crate::clones::clone_folders::membership_at;
use crate::clones::found::FoundClone;
use crate::clones::hub::{Hub, locate, publish};
use crate::clones::removal::kept_clone::{KeptClone, Removal};
use crate::clones::removal::{self, removal_lock, removed_log};
use crate::design::checkpoint;
use crate::design::checkpoint::left_out::LeftOut;
use crate::design::default_branch;
use crate::git::worktree::other_worktrees::WorktreeSort;
use crate::git::{ObjectWrites, Oid, RefName, Repo, plain_file};
use crate::map::residency;
use crate::model::{Code, Error, RepoPath, Result, World, text};
use crate::store::files::mount_points;
use crate::store::files::shared_root::SharedRoot;
use crate::store::membership::Role;
use crate::store::refs::ref_names;
use crate::store::{Session, lease};

use super::agent_places::find;
use super::agent_start;
use super::kept_clones::{self, FailingFilter, Keeping, KeptFolder, LeftBehind, last_state};
use super::session_at;

/// The maximum number of ignored paths that are named.
const FEW: usize = 10;

/// A clone that was removed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RemovedAgent {
    /// The agent; `None` for a clone for reading.
    pub agent: Option<String>,
    /// The path of the clone.
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// The id of the clone.
    pub clone: String,
    /// The prefix of the refs in the hub that keep its work; `None` in a dry run.
    pub kept_as: Option<String>,
    /// The hub.
    #[schemars(with = "String")]
    pub hub: PathBuf,
    /// The number of commits that the default branch does not have; they are kept. Left out where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmerged_commits: Option<usize>,
    /// The number of uncommitted paths; they are kept, too.
    pub unsaved: usize,
    /// The paths that no checkpoint includes: they are deleted with its folder.
    pub left_out: Vec<LeftOut>,
    /// Submodules with a repository of their own: their own work is deleted with its folder.
    #[schemars(with = "Vec<String>")]
    pub own_repositories: Vec<PathBuf>,
    /// The number of ignored files and directories, which are deleted with its folder.
    pub ignored_count: usize,
    /// The first of them.
    pub ignored: Vec<RepoPath>,
    /// Its operations, and the files they moved aside.
    #[serde(flatten)]
    pub log: KeptLog,
    /// Its folder, which `agents restore` brings back as it is; `None` if it is deleted, and in a dry run.
    pub folder: Option<KeptFolder>,
    /// The number of days for which the folder of an agent is kept; 0 if it is deleted at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_days: Option<u64>,
    /// Its folder, if that was to be deleted at once and could not be.
    pub left_behind: Option<LeftBehind>,
    /// Whether it was removed from outside of a repository.
    #[serde(skip)]
    pub is_from_outside: bool,
    /// True if nothing was done because of a dry run.
    pub dry_run: bool,
}

/// How clones and hubs are removed.
#[derive(Clone, Copy, Debug)]
pub struct RemovalOptions {
    /// Whether the protection of work that is not saved or published is waived.
    pub force: bool,
    /// Whether the report is made and nothing is removed.
    pub dry_run: bool,
}

/// Removes the clone of an agent; all of its work stays in the hub, and its folder for some days.
pub fn remove(session: &Session, name: &str, options: RemovalOptions) -> Result<RemovedAgent> {
    let root = SharedRoot::of(&session.world)?;
    let hub = locate::place_of(session, &root)?;
    if !options.dry_run && hub.is_dir() {
        removal::complete(&session.world, &root, &hub)?;
        let keeping = Keeping::as_said(&session.settings);
        kept_clones::sweep(&session.world, &root, Some((&hub, keeping)), false);
    }
    let clone = find(session, name)?;
    let unmerged_commits = count_unmerged(session, &clone);
    let keep_days = Some(session.settings.keep_removed_days);
    let report = remove_clone(&session.world, &clone, options, keep_days)?;
    let report = RemovedAgent { unmerged_commits, keep_days, ..report };
    if !options.dry_run {
        crate::agents::colony::taking_part::gather(session);
    }
    Ok(report)
}

/// Counts the commits of a clone that the default branch here does not have; `None` where one side does not know the
/// other's commits.
fn count_unmerged(session: &Session, clone: &FoundClone) -> Option<usize> {
    const LIMIT: usize = 1_000;
    let inside = Session::open_foreign(&session.world, &clone.path, ObjectWrites::InMemory).ok()?;
    let head = inside.repo.head().ok()?.commit()?;
    let (_, main) = default_branch::find(&session.repo).ok()??;
    let knows_both =
        |repo: &&Repo| [head, main].into_iter().all(|commit| repo.read_commit(commit).is_ok());
    let repo = [&session.repo, &inside.repo].into_iter().find(knows_both)?;
    Some(repo.commits_between(head, &[main], LIMIT).ok()?.len())
}

/// Removes a clone, of an agent or for reading. Its folder is kept for that many days; where they are not said, as long
/// as its own settings say.
pub(in crate::agents) fn remove_clone(
    world: &World,
    clone: &FoundClone,
    options: RemovalOptions,
    keep_days: Option<u64>,
) -> Result<RemovedAgent> {
    let turn = (!options.dry_run).then(|| removal_lock::take_turn(world, &clone.member));
    let _turn = turn.transpose()?;
    let standing = membership_at(&clone.path);
    if standing.is_none_or(|member| member.id != clone.member.id) {
        return Err(taken_meanwhile(clone));
    }
    remove_standing(world, clone, options, keep_days)
}

fn taken_meanwhile(clone: &FoundClone) -> Error {
    let whose = clone
        .member
        .agent
        .as_ref()
        .map_or("for reading".to_owned(), |agent| format!("of agent '{agent}'"));
    Error::new(Code::CloneNotFound, format!("another process removed the clone {whose} meanwhile"))
        .detail("path", clone.path.display().to_string())
}

fn remove_standing(
    world: &World,
    clone: &FoundClone,
    options: RemovalOptions,
    keep_days: Option<u64>,
) -> Result<RemovedAgent> {
    let RemovalOptions { force, dry_run } = options;
    refuse_use(world, clone)?;
    if !dry_run {
        // Files that an interrupted operation had moved are back, or all of them are aside.
        removed_operations::settle(world, clone)?;
    }
    let mut report = look_at_removal(world, clone, force)?;
    if dry_run {
        return Ok(report);
    }
    let mut inside = session_at(world, &clone.path)?;
    let mut uncommitted = None;
    if report.unsaved > 0 && clone.member.role == Role::Agent {
        let filters = FailingFilter::if_forced(force);
        let kept =
            filters.run(&mut inside, |session| checkpoint::create(session, &last_state()))?;
        uncommitted = kept.sha;
    }
    publish::publish(&inside)?;
    report.log = removed_operations::read(&inside)?;
    let root = SharedRoot::of(world)?;
    let keep_days = match clone.member.role {
        // It has nothing that its remote or the hub does not have.
        Role::Reader => 0,
        _ => keep_days.unwrap_or(inside.settings.keep_removed_days),
    };
    let removal = Removal { lets_go: force, uncommitted, keep_days };
    let aside = KeptClone::set_aside(world, &root, clone, &inside.repo, removal);
    let (kept, has_kept) = aside.inspect_err(|_| forget_log(world, &root, clone, &inside))?;
    residency::forget_with_clone(&inside, clone);
    drop(inside);
    report.kept_as = has_kept.then(|| kept.kept.clone());
    if keep_days == 0 {
        report.left_behind = kept_clones::delete(world, &root, kept);
    } else {
        report.folder = Some(KeptFolder::of(&kept, keep_days));
    }
    report.dry_run = false;
    Ok(report)
}

/// Deletes the log of a clone in the hub that could not be removed; where that fails, `prune` does it.
fn forget_log(world: &World, root: &SharedRoot, clone: &FoundClone, inside: &Session) {
    let hub = Hub::open(&clone.member.hub).ok().filter(|_| clone.git_dir().is_dir());
    if let Some((hub, agent)) = hub.zip(clone.member.agent.as_deref()) {
        removed_log::take_back(world, root, &hub, agent, &inside.repo).ok();
    }
}

/// Refuses to remove the clone that this runs in, one that another process holds, and one in which a file system is
/// mounted.
fn refuse_use(world: &World, clone: &FoundClone) -> Result<()> {
    removal::refuse_own_directory(world, clone)?;
    if let Some(mounted) = mount_points::first_in(&clone.path) {
        let shown = mounted.display().to_string();
        let message = format!("'{shown}' is another file system, mounted in the clone");
        let hint = format!("umount {}", text::shell_word(&shown));
        return Err(Error::new(Code::CloneInUse, message).unchanged().hint(hint));
    }
    refuse_apart(&SharedRoot::of(world)?, clone)?;
    let agent = clone.member.agent.as_deref();
    let Some(agent) = agent else {
        return Ok(());
    };
    agent_start::refuse_running(&clone.path, agent)?;
    lease::refuse_busy(world, &clone.git_dir(), agent)
}

/// Refuses a clone on another file system than the folder of the removed ones: its folder could not be renamed.
fn refuse_apart(root: &SharedRoot, clone: &FoundClone) -> Result<()> {
    let removed =
        clone.member.agent.as_ref().map_or_else(|| root.removed(), |agent| root.removed_of(agent));
    let clones = clone.path.parent().unwrap_or(&clone.path);
    if !mount_points::are_apart(clones, &removed) {
        return Ok(());
    }
    let above = removed.parent().unwrap_or(&removed);
    let [shown, beside] = [clones, above].map(|path| path.display().to_string());
    let message = format!("'{shown}' is on another file system than '{beside}'");
    Err(Error::new(Code::CloneInUse, message)
        .unchanged()
        .detail("path", clone.path.display().to_string())
        .hint("move it there, so that the folder of the clone can be renamed"))
}

/// Refuses a clone with other worktrees, which a rename would cut off from it.
fn refuse_worktrees(world: &World, clone: &FoundClone) -> Result<()> {
    let Some(other) = other_worktree(world, &clone.path) else {
        return Ok(());
    };
    let shown = other.display().to_string();
    let (clone, word) = (clone.path.to_string_lossy(), text::shell_word(&shown));
    Err(Error::new(Code::CloneInUse, format!("'{shown}' is another worktree of the clone"))
        .unchanged()
        .detail("worktree", &shown)
        .hint(format!("git -C {} worktree remove {word}", text::shell_word(&clone))))
}

/// Finds another worktree of a clone: one that leads back to it, or that is locked since it is not always there.
pub(super) fn other_worktree(world: &World, clone: &Path) -> Option<PathBuf> {
    let repo = Repo::open_foreign(world, clone, ObjectWrites::InMemory).ok()?;
    let other = repo.other_worktrees().into_iter().find(|other| match other.sort {
        WorktreeSort::GoneAndLocked => true,
        WorktreeSort::Main | WorktreeSort::Gone => false,
        WorktreeSort::Linked => leads_to(&other.root, clone),
    });
    other.map(|other| other.root)
}

/// Returns `true` if a worktree is one of a clone: the agent may have named any folder as one.
fn leads_to(worktree: &Path, clone: &Path) -> bool {
    let text = plain_file::read_text(worktree.join(".git")).unwrap_or_default();
    text.strip_prefix("gitdir: ")
        .and_then(|path| worktree.join(path.trim_end()).canonicalize().ok())
        .is_some_and(|git_dir| git_dir.starts_with(clone))
}

fn look_at_removal(world: &World, clone: &FoundClone, force: bool) -> Result<RemovedAgent> {
    let mut inside = Session::open_foreign(world, &clone.path, ObjectWrites::InMemory)?;
    refuse_worktrees(world, clone)?;
    let filters = FailingFilter::if_forced(force);
    let scan = filters.run(&mut inside, |session| session.repo.scan(&session.world))?;
    let unsaved = scan.count_uncommitted();
    let mut ignored = inside.repo.ignored(&inside.world, &scan)?;
    let ignored_count = ignored.len();
    ignored.truncate(FEW);
    let mut report = RemovedAgent {
        agent: clone.member.agent.clone(),
        path: clone.path.clone(),
        clone: clone.member.id.clone(),
        kept_as: None,
        hub: clone.member.hub.clone(),
        unmerged_commits: None,
        unsaved,
        left_out: Vec::new(),
        own_repositories: own_repositories(&inside.world, &inside.repo, &scan.submodules),
        ignored_count,
        ignored,
        log: removed_operations::read(&inside)?,
        keep_days: None,
        folder: None,
        left_behind: None,
        is_from_outside: false,
        dry_run: true,
    };
    if clone.member.role == Role::Agent {
        let kept =
            filters.run(&mut inside, |session| checkpoint::create(session, &last_state()))?;
        report.left_out = kept.left_out;
    }
    let is_edited_reader = clone.member.role == Role::Reader && unsaved > 0;
    let goes = !report.left_out.is_empty() || !report.own_repositories.is_empty();
    if !force && (is_edited_reader || goes) {
        return Err(would_be_lost(&report));
    }
    Ok(report)
}

/// Lists the repositories of submodules, and of theirs, that may have work of their own.
pub(super) fn own_repositories(world: &World, repo: &Repo, present: &[RepoPath]) -> Vec<PathBuf> {
    let (mut repositories, mut known) = (Vec::new(), Vec::new());
    for path in present {
        let folder = path.under(repo.workdir());
        let Ok(inner) = Repo::open_foreign(world, &folder, ObjectWrites::InMemory) else {
            continue;
        };
        let scan = inner.scan(&world.standing_in(&folder));
        repositories.extend(
            scan.map(|scan| own_repositories(world, &inner, &scan.submodules)).unwrap_or_default(),
        );
        if has_own_commits(&inner).unwrap_or(true) {
            repositories.push(inner.common_dir().to_owned());
        }
        known.push(inner.common_dir().to_owned());
    }
    // One that is not checked out is not looked into.
    repositories.extend(repositories_below(repo).into_iter().filter(|path| !known.contains(path)));
    repositories.sort();
    repositories
}

fn repositories_below(repo: &Repo) -> Vec<PathBuf> {
    let mut repositories = Vec::new();
    let mut open = vec![repo.common_dir().join("modules")];
    while let Some(folder) = open.pop() {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        for path in folders.map(|entry| entry.path()) {
            if path.join("HEAD").exists() {
                repositories.push(path);
            } else {
                open.push(path);
            }
        }
    }
    repositories
}

/// Returns `true` if a repository has commits that no branch of a remote has, as far as it knows, stashes, or states that
/// a checkpoint of the repository around it has kept there.
fn has_own_commits(repo: &Repo) -> Result<bool> {
    if !repo.refs_below(ref_names::OF_PARENTS)?.is_empty() {
        return Ok(true);
    }
    let mut known = Vec::new();
    for branch in repo.remote_branches()? {
        known.extend(repo.peel_to_commit(branch.id));
    }
    let mut own: Vec<Oid> =
        repo.refs_below("refs/heads/")?.iter().map(|branch| branch.id).collect();
    own.extend(repo.head()?.commit());
    for commit in own {
        if !repo.commits_between(commit, &known, 1)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(repo.find_ref(&RefName::from("refs/stash"))?.is_some())
}

fn would_be_lost(report: &RemovedAgent) -> Error {
    let left_out = report.left_out.iter().map(|left| left.path.to_string());
    let own = report.own_repositories.iter().map(|path| path.display().to_string());
    let all: Vec<_> = left_out.chain(own).collect();
    let what = match all.as_slice() {
        [] => text::count(report.unsaved, "uncommitted path"),
        [lost_path] => format!("'{lost_path}'"),
        [first, rest @ ..] => format!("'{first}' and {} more", rest.len()),
    };
    // What a checkpoint has kept inside a submodule is in the clone alone, too.
    let why = if report.own_repositories.is_empty() { ": in no checkpoint" } else { "" };
    Error::new(Code::CloneInUse, format!("{what} would be lost with the clone{why}"))
        .detail("left_out", &report.left_out)
        .detail("lost", &all)
        .detail("path", report.path.display().to_string())
        .hint(match &report.agent {
            Some(agent) => format!(
                "git colony agents remove {} --force   # it goes with its folder",
                text::shell_word(agent)
            ),
            None => format!(
                "git colony clones remove {} --force   # deletes it with the clone",
                report.clone.get(..8).unwrap_or(&report.clone)
            ),
        })
}
