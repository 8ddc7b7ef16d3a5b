//! The clone of an agent that runs outside of a repository.

use std::path::{Path, PathBuf};

use crate::clones::found;
use crate::clones::hub::{colonies, locate};
use crate::git::remote::url::{Provenance, RemoteUrl};
use crate::model::{Code, Error, Result, World};
use crate::store::files::shared_root::SharedRoot;

use super::clone::{self, Request};
use super::setup_commands;

/// Returns the clone of an agent that runs outside of a repository: that of the colony's
/// repository, made on first use.
pub fn of_agent(world: &World, agent: &str) -> Result<PathBuf> {
    if let Some(known) = find_of_agent(world, agent)? {
        return Ok(known);
    }
    let request = Request { agent: Some(agent.to_owned()), ..Request::default() };
    let made = clone::clone(world, None, &request)?;
    for line in setup_commands::advice(&made.commands, agent) {
        (world.narrate)(&line);
    }
    (world.narrate)(&format!(
        "cloned '{}' for agent '{agent}' into '{}'",
        colonies::find(world, &SharedRoot::of(world)?, None)?.origin_url,
        made.path.display()
    ));
    Ok(made.path)
}

/// Does the same as [`of_agent`] without making a clone.
pub fn known_of_agent(world: &World, agent: &str) -> Result<PathBuf> {
    find_of_agent(world, agent)?.ok_or_else(|| {
        Error::new(
            Code::CloneNotFound,
            format!("agent '{agent}' has no clone yet, and a dry run makes none"),
        )
        .unchanged()
        .hint(format!("git colony clones new --agent {agent}"))
    })
}

/// Finds the clone of an agent in the colony, or where no colony is meant the only clone of an
/// agent with that name.
fn find_of_agent(world: &World, agent: &str) -> Result<Option<PathBuf>> {
    let root = SharedRoot::of(world)?;
    let colony = match colonies::find(world, &root, None) {
        Ok(colony) => Some(colony),
        Err(none) if is_of_no_colony(&none) && has_any(&root, None, agent) => None,
        Err(error) => return Err(error),
    };
    let url =
        colony.map(|colony| RemoteUrl::parse(&colony.origin_url, Provenance::User, &world.cwd));
    let hub = url.transpose()?.map(|url| locate::place_of_url(&root, &url));
    if !has_any(&root, hub.as_deref(), agent) {
        return Ok(None);
    }
    found::find(&root, hub.as_deref(), agent).map(|clone| Some(clone.path))
}

fn is_of_no_colony(error: &Error) -> bool {
    matches!(error.code(), Code::ColonyNotFound | Code::NameAmbiguous)
}

fn has_any(root: &SharedRoot, hub: Option<&Path>, agent: &str) -> bool {
    let known = found::clones(root, hub).into_iter();
    known.filter_map(|clone| clone.member.agent).any(|name| name == agent)
}
