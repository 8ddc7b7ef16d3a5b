//! Colonies and the URLs of their repositories.

use crate::clones::hub::colonies::{self, Colony, DEFAULT};
use crate::clones::hub::{joining, locate, publish};
use crate::git::remote::url::{Provenance, RemoteUrl};
use crate::model::{Code, Error, Result, World};
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;

/// The colony to record.
pub struct WantedColony<'a> {
    /// The colony; `None` is the default one.
    pub name: Option<&'a str>,
    /// The URL of its repository; credentials in it are not recorded.
    pub url: &'a str,
    /// The branch that clones start from.
    pub branch: Option<String>,
    /// The commit that they start from; `HEAD` is the tip of the branch.
    pub commit: Option<String>,
    /// Only report it.
    pub dry_run: bool,
}

/// Lists the colonies.
pub fn list(world: &World) -> Result<Vec<Colony>> {
    colonies::list(world, &SharedRoot::of(world)?)
}

/// Finds a colony.
pub fn show(world: &World, name: Option<&str>) -> Result<Colony> {
    colonies::find(world, &SharedRoot::of(world)?, name)
}

/// Records the URL of a colony. If the command runs in a checkout of that repository, the checkout
/// joins the colony.
pub fn set(world: &World, session: Option<&Session>, wanted: WantedColony<'_>) -> Result<Colony> {
    let url = RemoteUrl::parse(wanted.url, Provenance::User, &world.cwd)?;
    let name = wanted.name.unwrap_or(DEFAULT);
    if name.is_empty() || name.contains(char::is_control) {
        return Err(Error::new(
            Code::InvalidValue,
            "the name of a colony must be one printable line",
        )
        .unchanged());
    }
    let local = url.local_path().map(|path| path.display().to_string());
    let colony = Colony {
        name: name.to_owned(),
        origin_url: local.unwrap_or_else(|| url.without_credentials()),
        branch: wanted.branch,
        commit: wanted.commit.filter(|commit| commit != "HEAD"),
    };
    if wanted.dry_run {
        return Ok(colony);
    }
    if let Some(session) = session
        && locate::address_of(session)? == url.normalized()
    {
        let (member, _) = joining::join(session)?;
        publish::publish_as(world, &session.repo, &member)?;
    }
    colonies::set(world, &SharedRoot::of(world)?, &colony)?;
    Ok(colony)
}
