//! The clone of an agent that runs outside of a repository, found and never made.

use std::path::{Path, PathBuf};

use crate::clones::found;
use crate::clones::hub::{colonies, locate};
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

/// Finds the clone of an agent in the colony, or where no colony is meant the only clone of an
/// agent with that name.
fn find(world: &World, agent: &str) -> Result<Option<PathBuf>> {
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
