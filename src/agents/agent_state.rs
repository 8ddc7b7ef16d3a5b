//! `NAME@`: the working tree of an agent as it is now, committed or not, as a revision in the
//! checkout of a person.
//!
//! The clone is read from outside: without the lock and the index of the agent, with the
//! configuration of the asking repository. The state has the content of an automatic checkpoint. If
//! the clone is gone, its last snapshot counts.

use crate::clones::found::FoundClone;
use crate::clones::hub::{Hub, locate};
use crate::clones::removal::removed_work;
use crate::design::checkpoint::left_out::LeftOut;
use crate::design::checkpoint::unignored;
use crate::design::diff::DiffSide;
use crate::design::fork::published_forks;
use crate::design::meaning;
use crate::design::merge::{StandIn, UncommittedWork};
use crate::design::restore::restore_target::{InProgress, Target};
use crate::design::uncommitted;
use crate::git::identity::Identity;
use crate::git::lfs::lfs_objects::LfsObjects;
use crate::git::lfs::lfs_pointer::Pointer;
use crate::git::worktree::foreign_worktree::OwnConfig;
use crate::git::worktree::scan::Scan;
use crate::git::{ObjectWrites, Oid, Repo, TreeEntry};
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result, World};
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;

use super::agent_places;

/// The state of an agent.
#[derive(Clone, Debug)]
pub struct AgentState {
    /// The name as typed.
    pub name: String,
    /// The agent.
    pub agent: String,
    /// A commit of the files, on `base`, with the index as another parent if it differs.
    pub commit: Oid,
    /// The commit that is checked out there; `None` for a branch without a commit.
    pub base: Option<Oid>,
    /// The paths that a checkpoint leaves out, too.
    pub left_out: Vec<LeftOut>,
    /// The git operation in progress there.
    pub in_progress: Option<&'static str>,
}

/// Finds the state that `NAME@` stands for; `None` for any other name. Its objects are written
/// where new ones of the session go.
pub fn find(session: &Session, typed: &str) -> Result<Option<AgentState>> {
    let Some(agent) = agent_of(&session.repo, typed) else {
        return Ok(None);
    };
    let mut state = match agent_places::find(session, agent) {
        Ok(clone) if clone.member.agent.as_deref() == Some(agent) => {
            standing(session, &clone).map_err(|error| hinted(agent, error))?
        }
        Err(error) if error.code() != Code::CloneNotFound => return Err(error),
        _ => last_snapshot(session, agent)?.ok_or_else(|| unknown(agent))?,
    };
    typed.clone_into(&mut state.name);
    agent.clone_into(&mut state.agent);
    Ok(Some(state))
}

/// Reads the name of the agent from `NAME@`; a branch or tag with that name takes precedence.
fn agent_of<'a>(repo: &Repo, typed: &'a str) -> Option<&'a str> {
    let agent = typed.strip_suffix('@')?;
    // A revision of git, such as `HEAD^@`, is not the name of an agent, nor is a range.
    Identity::of_agent(agent).ok().filter(|_| !agent.contains(".."))?;
    (!published_forks::is_ref(repo, typed)).then_some(agent)
}

/// Adds how to see the published work of an agent with a damaged clone.
fn hinted(agent: &str, error: Error) -> Error {
    match error.code() {
        Code::RepositoryBroken | Code::ObjectMissing | Code::Io | Code::Unsupported => {
            let agent = shell_word(agent);
            error.hint(format!("git colony diff {agent}   # its published work"))
        }
        _ => error,
    }
}

/// Explains the error for an unknown name: an agent with that name was removed, or it is the uncommitted work of one,
/// which this command does not take.
pub fn explain_unknown(session: &Session, error: Error) -> Error {
    let is_unknown = matches!(error.code(), Code::RevisionNotFound | Code::CheckpointNotFound);
    let name = error.details().get("name").and_then(|name| name.as_str()).map(str::to_owned);
    let Some(name) = name.filter(|_| is_unknown) else {
        return error;
    };
    if let Some(agent) = agent_of(&session.repo, &name) {
        return if is_known(session, agent) { not_committed(&name, agent) } else { unknown(agent) };
    }
    let name = name.split(['~', '^']).next().unwrap_or(&name);
    match agent_places::newest_removed(session, name) {
        None => error,
        Some(work) => Error::new(error.code(), format!("the clone of agent '{name}' was removed"))
            .unchanged()
            .hint(work.command()),
    }
}

/// Returns `true` if an agent has a clone, has published work, or was removed.
fn is_known(session: &Session, agent: &str) -> bool {
    agent_places::find(session, agent).is_ok()
        || meaning::find_commit(&session.repo, agent).is_ok_and(|named| named.is_of_agent())
        || agent_places::newest_removed(session, agent).is_some()
}

/// Makes the error for the uncommitted work of an agent where a commit is needed.
fn not_committed(name: &str, agent: &str) -> Error {
    Error::new(Code::UncommittedEdits, format!("'{name}' is not committed, and a commit is needed"))
        .unchanged()
        .hint(format!("git colony diff {name}   # shows it; {agent} has its commits"))
}

fn unknown(agent: &str) -> Error {
    Error::new(
        Code::RevisionNotFound,
        format!("'{agent}@' is the state of an agent, and no agent '{agent}' is known"),
    )
    .detail("name", format!("{agent}@"))
    .hint("git colony agents")
}

impl AgentState {
    fn of(commit: Oid, base: Option<Oid>) -> AgentState {
        AgentState {
            name: String::new(),
            agent: String::new(),
            commit,
            base,
            left_out: Vec::new(),
            in_progress: None,
        }
    }

    /// Returns it as one side of a comparison.
    pub fn to_compare(&self, session: &Session) -> Result<DiffSide> {
        Ok(DiffSide {
            name: self.name.clone(),
            commit: None,
            tree: session.repo.tree_of(Some(self.commit))?,
            left_out: self.left_out.clone(),
        })
    }

    /// Returns it as the source of a merge, as if it was committed.
    pub fn to_merge(&self, session: &Session) -> Result<StandIn> {
        let commit = match self.base {
            Some(base) if base != self.commit => uncommitted::on_base(session, base, self.commit)?,
            _ => self.commit,
        };
        Ok(StandIn { name: self.name.clone(), commit })
    }

    /// Returns it as a state to restore.
    pub fn to_restore(&self, session: &Session) -> Result<Target> {
        let target = Target::of_state(&session.repo, &self.name, self.commit, self.base)?;
        let in_progress =
            self.in_progress.map(|what| InProgress { what: what.to_owned(), files: Vec::new() });
        Ok(Target { in_progress, ..target })
    }

    /// Makes the error for merging uncommitted work.
    pub fn is_not_committed(&self) -> Error {
        let (name, agent) = (&self.name, &self.agent);
        Error::new(
            Code::UncommittedEdits,
            format!("'{name}' is not committed, and only commits are merged"),
        )
        .hint(format!(
            "git colony merge -n {name}   # previews it; merge {agent} once it is committed"
        ))
    }
}

/// Scans a clone, and copies its objects here.
fn standing(session: &Session, clone: &FoundClone) -> Result<AgentState> {
    let other = Repo::open_foreign(&session.world, &clone.path, ObjectWrites::InMemory)?;
    let unignored = unignored::of(&other)?;
    let inside = Session {
        world: session.world.standing_in(&clone.path),
        repo: session.repo.own_config()?.look_into(&session.world, &other)?,
        settings: session.settings.clone(),
        membership: None,
    };
    let state = uncommitted::with_index(&inside, &unignored)?;
    session.repo.take_over(&inside.repo, &[state.commit])?;
    let base = state.head.commit();
    if session.repo.keeps_objects() {
        let stores = [LfsObjects::of(&inside.repo), LfsObjects::of(&other)];
        bring_large_files(&session.repo, state.commit, base, &stores)?;
    }
    Ok(AgentState {
        left_out: state.left_out,
        in_progress: other.in_progress(),
        ..AgentState::of(state.commit, base)
    })
}

/// Copies the missing large files of a state, and verifies each against its id: another store may
/// hold anything.
fn bring_large_files(
    repo: &Repo,
    commit: Oid,
    base: Option<Oid>,
    stores: &[LfsObjects],
) -> Result<()> {
    let here = LfsObjects::of(repo);
    let known = repo.tree_of(repo.head()?.commit())?;
    let read = repo.read_commit(commit)?;
    let beside = read.parents.iter().filter(|parent| Some(**parent) != base);
    let mut trees = vec![read.tree];
    for index in beside {
        trees.push(repo.state_tree(repo.read_commit(*index)?.tree)?);
    }
    for tree in trees {
        for entry in repo.diff_trees(known, tree)?.into_iter().filter_map(|change| change.new) {
            let pointer = Some(entry)
                .filter(TreeEntry::is_plain_file)
                .and_then(|entry| Pointer::of_blob(repo, entry.id));
            let Some(pointer) = pointer.filter(|pointer| !here.has(pointer)) else {
                continue;
            };
            for store in stores {
                if store.copy_into(&pointer, here.folder())? {
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Finds the last known state of an agent whose clone is gone: its published work and, if it was
/// removed in order, its uncommitted work.
fn last_snapshot(session: &Session, agent: &str) -> Result<Option<AgentState>> {
    let repo = &session.repo;
    let tip = meaning::find_commit(repo, agent).ok();
    let Some(tip) = tip.and_then(|work| work.published) else {
        return removed(session, agent);
    };
    if let Some(commit) = published_forks::last_automatic(repo, agent)? {
        let snapshot = repo.read_commit(commit)?;
        let base = snapshot.parents.first().copied();
        let made = repo.read_commit(tip.commit)?.committer.seconds;
        if base == Some(tip.commit) || snapshot.committer.seconds > made {
            return Ok(Some(AgentState::of(commit, base)));
        }
    }
    Ok(Some(AgentState::of(tip.commit, Some(tip.commit))))
}

/// Finds the work that the hub keeps of the last removed clone of the agent.
fn removed(session: &Session, agent: &str) -> Result<Option<AgentState>> {
    let root = SharedRoot::of(&session.world)?;
    let place = locate::place_of(session, &root)?;
    if !place.is_dir() {
        return Ok(None);
    }
    let hub = Hub::open(&place)?;
    let works = removed_work::newest_of_agents(&hub)?;
    let Some(work) = works.iter().find(|work| work.agent == agent) else {
        return Ok(None);
    };
    let held = work.held(&hub)?;
    let base = held.detached.or(held.on.map(|on| on.commit));
    let Some(commit) = held.uncommitted.or(base) else {
        return Ok(None);
    };
    session.repo.take_over(&hub.store.to_read()?, &[commit])?;
    Ok(Some(AgentState::of(commit, base)))
}

/// Counts the uncommitted paths in the clone of the agent that a name stands for; `None` if it is
/// not an agent, or the number is unknown.
pub fn uncommitted_of(session: &Session, typed: &str) -> Option<UncommittedWork> {
    let work = meaning::find_commit(&session.repo, typed).ok()?;
    let agent = work.published?.agent?;
    let clone = agent_places::find(session, &agent).ok()?;
    let other = Repo::open_foreign(&session.world, &clone.path, ObjectWrites::InMemory).ok()?;
    let scan = scan_of(&session.world, &session.repo.own_config().ok()?, &other).ok()?;
    let paths = scan.count_uncommitted();
    (paths > 0).then_some(UncommittedWork { agent, paths })
}

/// Scans the working tree of another repository with the configuration of this one.
pub fn scan_of(world: &World, config: &OwnConfig, other: &Repo) -> Result<Scan> {
    let repo = config.look_into(world, other)?;
    repo.scan(&world.standing_in(other.workdir()))
}
