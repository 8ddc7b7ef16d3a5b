//! The clones of agents and their holders: listed, found, taken over.

use std::collections::BTreeSet;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::agents::colony;
use crate::clones::damaged::{self, DamagedClone};
use crate::clones::found::{self, FoundClone};
use crate::clones::hub::{Hub, joining, locate};
use crate::clones::removal::removed_work::{self, RemovedWork};
use crate::design::default_branch;
use crate::design::fork::claims::Claims;
use crate::design::fork::shared_work::{Lineage, SharedWork};
use crate::git::{ObjectWrites, Oid, Repo};
use crate::model::{Code, Error, Result, World};
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;
use crate::store::lease::lease_holder::HeldBy;
use crate::store::lease::{self, Takeover};
use crate::store::membership::Role;
use crate::store::refs::ref_names;

/// An agent as it is listed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Agent {
    /// Its name.
    pub agent: String,
    /// The path of its clone.
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// The id of its clone.
    pub clone: String,
    /// The branch component of its clone's path.
    pub scope: String,
    /// The branch that is checked out; `None` if HEAD is detached or unreadable.
    pub branch: Option<String>,
    /// When its clone was created, RFC 3339 UTC.
    pub created_at: String,
    /// The current holder of its clone; `None` if there is none, or it is unknown.
    pub held_by: Option<HeldBy>,
    /// The times it was taken over from an active holder, the latest at the end.
    pub takeovers: Vec<Takeover>,
}

/// The place where an agent works.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PathReport {
    /// The agent.
    pub agent: String,
    /// The path of its clone.
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// The id of its clone.
    pub clone: String,
    /// The current holder of its clone; `None` if there is none, or it is unknown.
    pub held_by: Option<HeldBy>,
    /// The previous holder.
    pub taken_from: Option<HeldBy>,
    /// True if nothing was taken over because of a dry run.
    pub dry_run: bool,
}

/// Finds the clone of an agent.
pub fn place(world: &World, session: Option<&Session>, name: &str) -> Result<PathReport> {
    let clone = find_anywhere(world, session, name)?;
    Ok(PathReport {
        agent: clone.member.agent.clone().unwrap_or_default(),
        held_by: lease::held_by(world, &clone.git_dir()),
        path: clone.path,
        clone: clone.member.id,
        taken_from: None,
        dry_run: false,
    })
}

/// Makes this process the holder of an agent's clone.
pub fn take_over(
    world: &World,
    session: Option<&Session>,
    name: &str,
    dry_run: bool,
) -> Result<PathReport> {
    let clone = find_anywhere(world, session, name)?;
    let taken_from = lease::take_over(world, &clone.git_dir(), dry_run)?;
    Ok(PathReport { taken_from, dry_run, ..place(world, session, name)? })
}

/// The agents of a repository.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AgentsReport {
    /// By name.
    pub agents: Vec<Agent>,
    /// Their number.
    pub count: usize,
    /// The work of agents whose clone was removed, the newest of each at the end; without agents
    /// that have a clone again, and without work that is here already.
    pub removed: Vec<RemovedWork>,
    /// Clones with an unreadable record.
    pub damaged: Vec<DamagedClone>,
    /// The hub.
    #[schemars(with = "String")]
    pub hub: PathBuf,
}

/// Lists the agents that have a clone of this repository.
pub fn list(session: &Session) -> Result<AgentsReport> {
    let clones = clones_here(session)?.into_iter();
    let agents: Vec<_> = clones.filter_map(|clone| describe(session, clone)).collect();
    let root = SharedRoot::of(&session.world)?;
    let hub = locate::place_of(session, &root)?;
    if agents.is_empty() && joining::is_hub_missing(session, &hub)? {
        Hub::open(&hub)?;
    }
    let standing: BTreeSet<&str> = agents.iter().map(|agent| agent.agent.as_str()).collect();
    Ok(AgentsReport {
        count: agents.len(),
        removed: removed_with_more(session, &standing)?,
        agents,
        damaged: damaged_here(session)?,
        hub,
    })
}

/// Lists the work of removed agents that is not here, the newest of each at the end; without agents that have a clone
/// again.
pub(crate) fn removed_with_more(
    session: &Session,
    standing: &BTreeSet<&str>,
) -> Result<Vec<RemovedWork>> {
    let root = SharedRoot::of(&session.world)?;
    let hub = locate::place_of(session, &root)?;
    let mut removed = removed(&hub)?;
    removed.retain(|work| !standing.contains(work.agent.as_str()));
    if !removed.is_empty() {
        let (hub, here) = (Hub::open(&hub)?, commits_of(&session.repo)?);
        removed.retain(|work| has_more(session, work, &hub, &here).unwrap_or(true));
    }
    Ok(removed)
}

/// Lists the work that a hub keeps of agents whose clone was removed.
fn removed(hub: &std::path::Path) -> Result<Vec<RemovedWork>> {
    if !hub.is_dir() {
        return Ok(Vec::new());
    }
    removed_work::of_agents(&Hub::open(hub)?)
}

/// Returns the names of the agents that have a clone; none where that cannot be read.
pub fn names(session: &Session) -> BTreeSet<String> {
    let root = SharedRoot::of(&session.world).ok();
    let places = root.and_then(|root| Some((locate::place_of(session, &root).ok()?, root)));
    let Some((hub, root)) = places else {
        return BTreeSet::new();
    };
    let clones = found::clones(&root, Some(&hub)).into_iter();
    clones.filter_map(|clone| clone.member.agent).collect()
}

/// Returns the names of removed agents whose work is kept, each once; none where that cannot be read.
pub fn removed_names(session: &Session) -> BTreeSet<String> {
    let root = SharedRoot::of(&session.world);
    let hub = root.and_then(|root| locate::place_of(session, &root));
    let works = hub.and_then(|hub| removed(&hub)).unwrap_or_default();
    works.into_iter().map(|work| work.agent).collect()
}

/// Returns the commits that branches, tags and checkpoints of a repository point to.
fn commits_of(repo: &Repo) -> Result<Vec<Oid>> {
    let mut commits = Vec::new();
    for below in ["refs/heads/", "refs/remotes/", "refs/tags/", ref_names::CHECKPOINTS] {
        let refs = repo.refs_below(below)?.into_iter();
        commits.extend(refs.filter_map(|reference| repo.peel_to_commit(reference.id)));
    }
    commits.sort_unstable();
    commits.dedup();
    Ok(commits)
}

/// Returns `true` if a removed agent left something that this repository does not have: commits,
/// uncommitted changes, stashes.
fn has_more(session: &Session, work: &RemovedWork, hub: &Hub, here: &[Oid]) -> Result<bool> {
    let held = work.held(hub)?;
    if held.uncommitted.is_some() || !held.stashed.is_empty() {
        return Ok(true);
    }
    let on = held.on.map(|on| on.commit);
    let kept = held.refs.iter().filter(|reference| {
        let name = reference.name.to_string();
        !name.starts_with(ref_names::FORK_RECORDS) && name != ref_names::MIGRATIONS
    });
    for id in kept.map(|reference| reference.id).chain(on).chain(held.detached) {
        let Some(commit) = session.repo.peel_to_commit(id) else {
            return Ok(true);
        };
        if !here.contains(&commit)
            && !session.repo.commits_between(commit, here, 1)?.is_empty()
            && !is_squashed(&session.repo, commit)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns `true` if the branch that is checked out, or the default branch, contains a commit
/// squashed.
fn is_squashed(repo: &Repo, commit: Oid) -> Result<bool> {
    let main = default_branch::find(repo)?.map(|(_, tip)| tip);
    let mut claims = Claims::default();
    for tip in repo.head()?.commit().into_iter().chain(main) {
        let shared = SharedWork::here(&mut claims, repo, tip, &Lineage::at(commit))?;
        if shared.squashed.contains(&commit) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Adds to the error for a name without a clone that the agent was removed, and how to restore it.
fn explain_removed(session: &Session, name: &str, error: Error) -> Error {
    match newest_removed(session, name) {
        None => error,
        Some(work) => Error::new(
            Code::CloneNotFound,
            format!("the agent '{name}' was removed; its work is kept"),
        )
        .detail("removed_at", &work.removed_at)
        .hint(work.command()),
    }
}

/// Finds the work of the newest removed clone of an agent.
pub(super) fn newest_removed(session: &Session, name: &str) -> Option<RemovedWork> {
    let root = SharedRoot::of(&session.world).ok()?;
    let hub = locate::place_of(session, &root).ok()?;
    let mut kept = removed(&hub).ok()?.into_iter();
    kept.find(|work| work.agent == name && work.is_newest)
}

/// Adds to the error that there is nothing to undo how to restore a removed agent: undo does not
/// cover that.
pub fn explain_nothing(session: &Session, error: Error) -> Error {
    let details = ["not_undone", "steps"];
    let is_told = details.iter().any(|name| error.details().contains_key(*name));
    if error.code() != Code::NothingToUndo || session.membership.is_none() || is_told {
        return error;
    }
    let root = SharedRoot::of(&session.world);
    let hub = root.and_then(|root| locate::place_of(session, &root));
    let removed = hub.and_then(|hub| removed(&hub)).unwrap_or_default();
    if removed.is_empty() {
        return error;
    }
    error.hint("git colony agents   # shows how to restore a removed agent: undo does not do that")
}

/// Describes the clone of an agent; `None` for another clone.
pub(crate) fn describe(session: &Session, clone: FoundClone) -> Option<Agent> {
    let held_by = lease::held_by(&session.world, &clone.git_dir());
    let takeovers = lease::takeovers(&clone.git_dir());
    let agent = clone.member.agent?;
    let head = Repo::open_foreign(&session.world, &clone.path, ObjectWrites::InMemory)
        .and_then(|repo| repo.head())
        .ok();
    Some(Agent {
        held_by,
        takeovers,
        agent,
        path: clone.path,
        clone: clone.member.id,
        scope: clone.member.scope.unwrap_or_default(),
        branch: head.map(|head| head.label()),
        created_at: clone.member.created_at,
    })
}

/// Returns the clones of this repository's hub.
pub fn clones_here(session: &Session) -> Result<Vec<FoundClone>> {
    let root = SharedRoot::of(&session.world)?;
    let hub = locate::place_of(session, &root)?;
    Ok(found::clones(&root, Some(&hub)))
}

/// Returns the clones of all agents of this repository's hub.
pub fn of_agents(session: &Session) -> Result<Vec<FoundClone>> {
    let all = clones_here(session)?.into_iter();
    Ok(all.filter(|clone| clone.member.agent.is_some()).collect())
}

/// Returns the clones of this repository's hub that are damaged, or whose folders are gone.
pub fn damaged_here(session: &Session) -> Result<Vec<DamagedClone>> {
    let root = SharedRoot::of(&session.world)?;
    let hub = locate::place_of(session, &root)?;
    let mut damaged = damaged::clones(&root, Some(&hub));
    // A hub that cannot be read is reported where its content is needed.
    let gone = Hub::open(&hub).and_then(|hub| damaged::without_folder(&root, &hub));
    damaged.extend(gone.unwrap_or_default());
    Ok(damaged)
}

/// Finds the clone of an agent.
pub fn find(session: &Session, name: &str) -> Result<FoundClone> {
    find_anywhere(&session.world, Some(session), name)
}

/// Finds the clone of an agent of the current repository, or outside of a repository among all.
pub fn find_anywhere(world: &World, session: Option<&Session>, name: &str) -> Result<FoundClone> {
    let clone = colony::find(world, session, name).map_err(|error| match session {
        Some(session) if error.code() == Code::CloneNotFound => {
            let all = Code::CloneNotFound.hint().unwrap_or("git colony agents");
            colony::explain_elsewhere(session, name)
                .unwrap_or_else(|| explain_removed(session, name, error.hint(all)))
        }
        _ => error,
    })?;
    if clone.member.role != Role::Agent {
        return Err(Error::new(
            Code::CloneNotFound,
            format!("'{name}' is not the clone of an agent"),
        )
        .hint("git colony clones"));
    }
    Ok(clone)
}
