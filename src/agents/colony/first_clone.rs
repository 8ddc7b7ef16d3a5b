//! The first clone of an agent that runs outside of a repository. To open it makes none ([`super::clone_of_agent`]): who
//! begins the work of an agent there asks for it here.

use crate::clones::hub::colonies;
use crate::model::{Code, Result, World};
use crate::store::files::shared_root::SharedRoot;
use crate::store::key;
use crate::store::lock::WorktreeLock;
use crate::store::lock::wait::WaitLimit;

use super::clone::{self, Request};
use super::{clone_of_agent, setup_commands};

/// Makes a clone of the colony's repository for an agent that has never had one; narrates what it has made. Of several that
/// ask at once, the first makes it and the others wait.
pub fn make_missing(world: &World, agent: &str) -> Result<()> {
    if clone_of_agent::find(world, agent)?.is_some() {
        return Ok(());
    }
    let root = SharedRoot::of(world)?;
    let lock = root.path().join("first-clones").join(key::encode(agent));
    let waiting = "waiting for another git-colony that makes the clone of this agent";
    let _turn = WorktreeLock::take_at(world, &lock, WaitLimit::for_lock(world.timeout), waiting)?;
    if clone_of_agent::find(world, agent)?.is_some() {
        return Ok(());
    }
    let request = Request { agent: Some(agent.to_owned()), ..Request::default() };
    let made = match clone::clone(world, None, &request) {
        Ok(made) => made,
        // 'clones new' in a shell takes no turn.
        Err(taken) if taken.code() == Code::AgentExists => {
            let known = clone_of_agent::find(world, agent)?;
            return known.map(drop).ok_or(taken);
        }
        Err(error) => return Err(error),
    };
    for line in setup_commands::advice(&made.commands, agent) {
        (world.narrate)(&line);
    }
    (world.narrate)(&format!(
        "cloned '{}' for agent '{agent}' into '{}'",
        colonies::find(world, &root, None)?.origin_url,
        made.path.display()
    ));
    Ok(())
}
