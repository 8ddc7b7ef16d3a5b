//! The first clone of an agent that runs outside of a repository. To open it makes none ([`super::clone_of_agent`]): who
//! begins the work of an agent there asks for it here.

use crate::clones::hub::colonies;
use crate::model::{Code, Result, World};
use crate::store::files::shared_root::SharedRoot;

use super::clone::{self, Request};
use super::{clone_of_agent, setup_commands};

/// Makes a clone of the colony's repository for an agent that has none; narrates what it has made.
pub fn make_missing(world: &World, agent: &str) -> Result<()> {
    match clone_of_agent::require(world, agent) {
        Err(none) if none.code() == Code::CloneNotFound => {}
        known => return known.map(drop),
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
    Ok(())
}
