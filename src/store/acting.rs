//! Which agents a command may be run by: told by where it was started, not by where it was sent.
//!
//! `-C` and a variable choose the repository; they do not make somebody else of who runs the command. So the
//! directory it was started in counts, those of the processes that started it, and, where something is
//! asked for that only a person may do, whose clone its tree of processes works in. What cannot be read
//! counts as the agent's. This keeps an agent within its bounds, not a program that wants out of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::model::World;

use super::membership::{self, Membership, Role};
use super::shared_root::SharedRoot;
use super::{atomic, key, lease, process_tree, processes};

/// Returns the agents in whose clones this was started, or stands.
pub fn by_place(world: &World) -> BTreeSet<String> {
    let mut places = vec![world.cwd.clone()];
    places.extend(world.started_in.clone());
    // Where git was told to go elsewhere, as by 'git -C', the shell's word is left.
    places.extend(world.variable("PWD").map(PathBuf::from));
    let line = world.process.map(process_tree::line_of).unwrap_or_default();
    places.extend(line.into_iter().filter_map(processes::folder_of));
    let agents = places.iter().filter(|place| place.is_absolute());
    agents.filter_map(|place| agent_at(place)).collect()
}

/// Returns what [`by_place`] does and the agents whose clones belong to the tree of processes this runs in,
/// unless somebody reads the answer on a terminal: for what only a person may do.
pub fn by_place_or_lease(world: &World) -> BTreeSet<String> {
    let mut agents = by_place(world);
    if !world.stdout_is_terminal
        && let Ok(root) = SharedRoot::of(world)
    {
        for agent in folders(&root.agents()) {
            let clones = folders(&agent.join("clones"));
            let mut clones = clones.iter().map(|clone| clone.join(".git"));
            if clones.any(|git_dir| lease::is_own(world, &git_dir)) {
                agents.extend(agent_named(&agent));
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
