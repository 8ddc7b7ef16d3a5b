//! The clone of an agent that runs outside of a repository, found and never made.

use std::path::{Path, PathBuf};

use crate::clones::hub::{colonies, locate};
use crate::clones::removal::removed_work;
use crate::clones::{damaged, found};
use crate::git::identity::Identity;
use crate::git::remote::url::{Provenance, RemoteUrl};
use crate::model::text::typed_word;
use crate::model::{Code, Error, Result, World};
use crate::store::files::shared_root::SharedRoot;

/// Returns the clone of an agent that runs outside of a repository: that of the colony's repository.
pub fn require(world: &World, agent: &str) -> Result<PathBuf> {
    find(world, agent)?.ok_or_else(|| {
        Error::new(Code::CloneNotFound, format!("agent '{agent}' has no clone yet"))
            .unchanged()
            .hint(format!("git colony clones new --agent {}", typed_word(agent)))
    })
}

/// Finds the clone of an agent in the colony, or where no colony is meant the only clone of an agent with that name. One that
/// is damaged or was removed is an error: it is not missing.
pub fn find(world: &World, agent: &str) -> Result<Option<PathBuf>> {
    let root = SharedRoot::of(world)?;
    let colony = match colonies::find(world, &root, None) {
        Ok(colony) => Ok(colony),
        Err(none) if is_of_no_colony(&none) => Err(none),
        Err(error) => return Err(error),
    };
    let url = colony.as_ref().ok().map(|colony| {
        let url = RemoteUrl::parse(&colony.origin_url, Provenance::User, &world.cwd);
        url.map(|url| locate::place_of_url(&root, &url))
    });
    let place = url.transpose()?;
    let hub = place.as_deref();
    if has_any(&root, hub, agent) {
        return found::find(&root, hub, agent).map(|clone| Some(clone.path));
    }
    if let Some(error) = damaged::outside(&root, hub, agent).or_else(|| removed(&root, hub, agent))
    {
        return Err(error);
    }
    let as_in = "git colony clones new --agent NAME   # as in 'ada' or 'parser-2'";
    Identity::of_agent(agent).map_err(|error| error.replace_hint(as_in))?;
    colony.map(|_| None)
}

fn is_of_no_colony(error: &Error) -> bool {
    matches!(error.code(), Code::ColonyNotFound | Code::NameAmbiguous)
}

fn has_any(root: &SharedRoot, hub: Option<&Path>, agent: &str) -> bool {
    let known = found::clones(root, hub).into_iter();
    known.filter_map(|clone| clone.member.agent).any(|name| name == agent)
}

/// Makes the error for an agent that was removed and has no clone since: the user decides whether it returns.
fn removed(root: &SharedRoot, hub: Option<&Path>, agent: &str) -> Option<Error> {
    let hub = removed_work::hubs_with(root, hub, agent).into_iter().next()?;
    let restore = removed_work::command_outside(&hub, agent);
    let message = format!("the agent '{agent}' was removed; its work is kept");
    let hint = format!("{restore}   # or clones new --agent {}", typed_word(agent));
    Some(Error::new(Code::CloneNotFound, message).unchanged().hint(hint))
}
