//! Colonies and where they have their repository.

use crate::clones::hub::colonies::{self, Colony, DEFAULT};
use crate::clones::hub::{joining, locate, publish};
use crate::git::remote::url::{Provenance, RemoteUrl};
use crate::model::{Code, Error, Result, World};
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;

/// What is to be noted.
pub struct WantedColony<'a> {
    /// The colony; `None` is the default one.
    pub name: Option<&'a str>,
    /// Where its repository is; credentials in it are not written down.
    pub url: &'a str,
    /// The branch clones begin on.
    pub branch: Option<String>,
    /// The commit they begin at; `HEAD` is the tip of the branch.
    pub commit: Option<String>,
    /// Only say it.
    pub dry_run: bool,
}

/// Lists the colonies.
///
/// # Errors
/// `git-failed`, `invalid-value`.
pub fn list(world: &World) -> Result<Vec<Colony>> {
    colonies::list(world, &SharedRoot::of(world)?)
}

/// Finds a colony.
///
/// # Errors
/// `colony-not-found`.
pub fn show(world: &World, name: Option<&str>) -> Result<Colony> {
    colonies::find(world, &SharedRoot::of(world)?, name)
}

/// Notes where a colony has its repository. A checkout of that repository, if the command runs in one,
/// takes part from now on.
///
/// # Errors
/// `url-refused`, `invalid-value`, `locked`, `no-space`, and those of [`joining::join`].
pub fn set(world: &World, session: Option<&Session>, wanted: WantedColony<'_>) -> Result<Colony> {
    let url = RemoteUrl::parse(wanted.url, Provenance::User, &world.cwd)?;
    let name = wanted.name.unwrap_or(DEFAULT);
    if name.is_empty() || name.contains(char::is_control) {
        return Err(Error::new(
            Code::InvalidValue,
            "the name of a colony is one printable line; nothing has changed",
        ));
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
