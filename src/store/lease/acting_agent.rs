//! Determines the agents that run a command: by where it was started, not by where `-C` points.
//!
//! `-C` and a variable choose the repository; they do not change who runs the command. So three things count:
//! the directory it was started in, the directories of the processes that started it, and, for what only the
//! user may do, the clone of the session that `COLONY_SESSION` names. A clone counts as the agent's by its place
//! below the shared root, whatever its record says. This keeps an agent within its bounds; it does not stop a program
//! that wants to break out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::git::plain_file;
use crate::model::{Code, Error, World};
use crate::store::files::shared_root::{AgentPlace, SharedRoot};
use crate::store::membership::{self, Membership, Role};
use crate::store::{Session, key, lease};

use super::lease_holder::SESSION_VARIABLE;
use super::{
    process_tree,
    processes::{self, Process},
};

/// The reason why a command counts as an agent's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentReason {
    /// An option, variable or setting names the agent.
    Named,
    /// It was started in this directory of the clone, or runs in it.
    Place(PathBuf),
    /// It was started by a process with its current directory in the clone.
    Process {
        /// The process.
        pid: u32,
        /// The name of its program.
        command: String,
        /// The current directory of the process.
        place: PathBuf,
    },
    /// It belongs to a session that works in the clone.
    Session(String),
    /// Nothing shows who started it, and this process has run in the clone since before.
    Detached {
        /// The process.
        pid: u32,
        /// The name of its program.
        command: String,
    },
}

impl AgentReason {
    /// Returns the reason in at most 26 columns, for a line of a refusal.
    pub fn to_short_text(&self) -> &'static str {
        match self {
            AgentReason::Named => "named by option or setting",
            AgentReason::Place(_) => "this runs in its clone",
            AgentReason::Process { .. } => "a parent runs in its clone",
            AgentReason::Detached { .. } => "a process is in its clone",
            AgentReason::Session(_) => "its session runs this",
        }
    }

    /// Returns the reason as text, to follow "because".
    pub fn to_text(&self) -> String {
        match self {
            AgentReason::Named => "--agent, COLONY_AGENT or colony.agent names it".to_owned(),
            AgentReason::Place(place) => format!("'{}' is in its clone", place.display()),
            AgentReason::Process { pid, command, place } => format!(
                "'{command}' (process {pid}), which started this, runs in its clone, in '{}'",
                place.display()
            ),
            AgentReason::Detached { pid, command } => format!(
                "nothing shows who started this, and '{command}' (process {pid}), which ran before, \
                works in its clone"
            ),
            AgentReason::Session(session) => {
                format!("{SESSION_VARIABLE} is '{session}', and that session works in its clone")
            }
        }
    }
}

/// Returns the refusal of an act that only a person may do, as in 'agent X may not start programs': short for people, with
/// the whole reason for programs.
pub fn refused(agent: &str, reason: &AgentReason, act: &str) -> Error {
    let message = format!("agent '{agent}' may not {act}: {}", reason.to_short_text());
    Error::new(Code::ApprovalRefused, message)
        .detail("agent", agent)
        .detail("because", reason.to_text())
}

/// Returns the agents in whose clones this was started or runs, with the reasons.
pub fn by_place(world: &World) -> BTreeMap<String, AgentReason> {
    let mut places = vec![world.cwd.clone()];
    places.extend(world.started_in.clone());
    // With 'git -C' the current directory is another; the shell's `PWD` still names the first.
    places.extend(world.variable("PWD").map(PathBuf::from));
    let places = places.into_iter().filter(|place| place.is_absolute());
    let mut agents = BTreeMap::new();
    // Most of these are one directory, and each is looked up to the root.
    let mut known = BTreeMap::new();
    let mut agent_of = |place: &PathBuf| {
        known.entry(place.clone()).or_insert_with_key(|place| agent_at(place)).clone()
    };
    for place in places {
        if let Some(agent) = agent_of(&place) {
            agents.entry(agent).or_insert(AgentReason::Place(place));
        }
    }
    for process in world.process.map(process_tree::line_of).unwrap_or_default() {
        let place = processes::folder_of(process.pid).filter(|place| place.is_absolute());
        let Some((agent, place)) = place.and_then(|place| Some((agent_of(&place)?, place))) else {
            continue;
        };
        agents.entry(agent).or_insert(AgentReason::Process {
            pid: process.pid,
            command: process.command,
            place,
        });
    }
    agents
}

/// Returns the result of [`by_place`], the agents in whose clones the session works that `COLONY_SESSION`
/// names, and the agent that may have started a process of which nothing else is known: for what only the user may do.
pub fn by_place_or_session(world: &World) -> BTreeMap<String, AgentReason> {
    let mut agents = by_place(world);
    if let Ok(root) = SharedRoot::of(world)
        && world.variable(SESSION_VARIABLE).is_some()
    {
        for agent in folders(&root.agents()) {
            let session = folders(&agent.join("clones"))
                .iter()
                .find_map(|clone| lease::own_session(world, &clone.join(".git")));
            if let Some((agent, session)) = agent_named(&agent).zip(session) {
                let reason = AgentReason::Session(session.as_str().to_owned());
                agents.entry(agent).or_insert(reason);
            }
        }
    }
    agents.extend(of_detached(world));
    agents
}

/// Returns an agent whose program has run for longer than this process and everything known to have started it, if
/// nothing shows who started that, as after `setsid --fork`.
fn of_detached(world: &World) -> Option<(String, AgentReason)> {
    let oldest = process_tree::detached(world.process?)?;
    // The system counts the time of a start in hundredths of a second.
    let mut before = processes::all().filter(|process| process.started <= oldest.started);
    before.find_map(|Process { pid, command, .. }| {
        let place = processes::folder_of(pid).filter(|place| place.is_absolute())?;
        Some((agent_at(&place)?, AgentReason::Detached { pid, command }))
    })
}

/// Returns the agents that bind this process, and why each one does: the agent that was named, the one whose clone
/// this is, and those of [`by_place`].
pub fn bound(session: &Session) -> BTreeMap<String, AgentReason> {
    let mut agents = by_place(&session.world);
    let member = session.membership.as_ref().filter(|member| member.role == Role::Agent);
    if let Some(agent) = member.and_then(|member| member.agent.clone()) {
        let here = || AgentReason::Place(session.repo.workdir().to_owned());
        agents.entry(agent).or_insert_with(here);
    }
    if let Some(agent) = session.settings.agent.clone() {
        agents.entry(agent).or_insert(AgentReason::Named);
    }
    agents
}

/// Returns an agent that this process acts as, as far as is known, and why; `None` for a person.
pub fn of_session(session: &Session) -> Option<(String, AgentReason)> {
    let first = bound(session).into_iter().next();
    first.or_else(|| {
        let more = by_place_or_session(&session.world);
        more.into_iter().next()
    })
}

/// Returns the agent whose clone contains a directory: by the place of the clone, which no agent chooses, else by its
/// record.
fn agent_at(place: &Path) -> Option<String> {
    let real = place.canonicalize();
    if let Some(agent_place) = AgentPlace::find(real.as_deref().unwrap_or(place)) {
        return Some(agent_place.agent);
    }
    place.ancestors().find_map(|folder| {
        if let Some(git_dir) = linked(folder) {
            let by_place = AgentPlace::find(&git_dir).map(|agent_place| agent_place.agent);
            return by_place.or_else(|| git_dir.ancestors().find_map(recorded));
        }
        recorded(folder)
    })
}

/// Returns the git directory of a linked worktree, which is in that of its repository.
fn linked(worktree: &Path) -> Option<PathBuf> {
    // In a repository of its own, it is a folder.
    let text = plain_file::read_text(worktree.join(".git")).ok()?;
    // Leave a path with `..` to the system to resolve.
    worktree.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()
}

fn recorded(folder: &Path) -> Option<String> {
    let member = Membership::read(&membership::path_in(&folder.join(".git"))).ok()??;
    (member.role == Role::Agent).then_some(member.agent)?
}

fn agent_named(folder: &Path) -> Option<String> {
    key::decode(folder.file_name()?.to_str()?)
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
