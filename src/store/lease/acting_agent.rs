//! Which agents a command may be run by: told by where it was started, not by where it was sent.
//!
//! `-C` and a variable choose the repository; they do not make somebody else of who runs the command. So the
//! directory it was started in counts, those of the processes that started it, and, where something is
//! asked for that only a person may do, whose clone the session that `COLONY_SESSION` names works in. What
//! cannot be read counts as the agent's. This keeps an agent within its bounds, not a program that wants out
//! of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::model::World;
use crate::store::files::atomic;
use crate::store::files::shared_root::SharedRoot;
use crate::store::membership::{self, Membership, Role};
use crate::store::{key, lease};

use super::lease_holder::SESSION_VARIABLE;
use super::{process_tree, processes};

/// Why a command counts as one of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentReason {
    /// It was said who acts.
    Named,
    /// It was started in this directory of the clone, or runs in it.
    Place(PathBuf),
    /// It was started by a process that stands there.
    Process {
        /// Which.
        pid: u32,
        /// The name of its program.
        command: String,
        /// Where it stands.
        place: PathBuf,
    },
    /// It is of a session that works in the clone.
    Session(String),
}

impl AgentReason {
    /// Returns the words for people, as they follow "because".
    pub fn words(&self) -> String {
        match self {
            AgentReason::Named => "--agent, COLONY_AGENT or colony.agent names it".to_owned(),
            AgentReason::Place(place) => format!("'{}' is in its clone", place.display()),
            AgentReason::Process {
                pid,
                command,
                place,
            } => format!(
                "'{command}' (process {pid}), which started this, stands in its clone, in '{}'",
                place.display()
            ),
            AgentReason::Session(session) => {
                format!("{SESSION_VARIABLE} is '{session}', and that session works in its clone")
            }
        }
    }
}

/// Returns the agents in whose clones this was started, or stands, and why.
pub fn by_place(world: &World) -> BTreeMap<String, AgentReason> {
    let mut places = vec![world.cwd.clone()];
    places.extend(world.started_in.clone());
    // Where git was told to go elsewhere, as by 'git -C', the shell's word is left.
    places.extend(world.variable("PWD").map(PathBuf::from));
    let places = places.into_iter().filter(|place| place.is_absolute());
    let mut found = BTreeMap::new();
    for place in places {
        if let Some(agent) = agent_at(&place) {
            found.entry(agent).or_insert(AgentReason::Place(place));
        }
    }
    for process in world.process.map(process_tree::line_of).unwrap_or_default() {
        let place = processes::folder_of(process.pid).filter(|place| place.is_absolute());
        let Some((agent, place)) = place.and_then(|place| Some((agent_at(&place)?, place))) else {
            continue;
        };
        found.entry(agent).or_insert(AgentReason::Process {
            pid: process.pid,
            command: process.command,
            place,
        });
    }
    found
}

/// Returns what [`by_place`] does and the agents whose clones the session works in that `COLONY_SESSION` names:
/// for what only a person may do.
pub fn by_place_or_session(world: &World) -> BTreeMap<String, AgentReason> {
    let mut agents = by_place(world);
    if let Ok(root) = SharedRoot::of(world)
        && world.variable(SESSION_VARIABLE).is_some()
    {
        for agent in folders(&root.agents()) {
            let clones = folders(&agent.join("clones"));
            let mut clones = clones.iter().map(|clone| clone.join(".git"));
            let session = clones.find_map(|git_dir| lease::own_session(world, &git_dir));
            if let Some((agent, session)) = agent_named(&agent).zip(session) {
                let reason = AgentReason::Session(session.as_str().to_owned());
                agents.entry(agent).or_insert(reason);
            }
        }
    }
    agents
}

/// Returns the agent whose clone a directory is in.
fn agent_at(place: &Path) -> Option<String> {
    place.ancestors().find_map(|folder| {
        if let Some(git_dir) = linked(folder) {
            return git_dir.ancestors().find_map(agent_of);
        }
        agent_of(folder)
    })
}

/// Returns the git directory that a linked worktree names, which is in that of its repository.
fn linked(worktree: &Path) -> Option<PathBuf> {
    let link = worktree.join(".git");
    if !link.is_file() {
        return None;
    }
    let text = String::from_utf8(atomic::read_file(&link).ok()?).ok()?;
    // A path that leads up and down again is one of the system's to resolve.
    worktree
        .join(text.strip_prefix("gitdir:")?.trim())
        .canonicalize()
        .ok()
}

fn agent_of(folder: &Path) -> Option<String> {
    let record = membership::path_in(&folder.join(".git"));
    if let Ok(member) = Membership::read(&record) {
        return member.filter(|member| member.role == Role::Agent)?.agent;
    }
    // `<agent>/clones/<scope>`: the folder says whose a damaged record is.
    let clones = folder
        .parent()
        .filter(|parent| parent.ends_with("clones"))?;
    fs::symlink_metadata(&record).ok()?;
    agent_named(clones.parent()?)
}

fn agent_named(folder: &Path) -> Option<String> {
    key::decode(folder.file_name()?.to_str()?)
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
