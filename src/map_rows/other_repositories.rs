//! The other repositories that rows of the map name, through their hubs.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::clones::hub::{Hub, locate};
use crate::git::{BareRepo, Oid, RemoteUrl};
use crate::model::{Code, Error, RepoPath, Result};
use crate::repo_map::resolve::{FoundElsewhere, OtherRepositories, RepositoryState};
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;

/// Whether anything may be fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// Missing commits, and branches that may have moved, are fetched.
    #[default]
    Used,
    /// Only local objects are used.
    Offline,
}

/// The hubs of other repositories.
pub struct Hubs<'a> {
    session: &'a Session,
    network: Network,
    /// Whether something might be fetched without a dry run.
    is_dry: bool,
    /// Those that were fetched in this run.
    fetched: RefCell<BTreeSet<PathBuf>>,
}

impl<'a> Hubs<'a> {
    /// Opens the hubs of the user, and creates missing ones if permitted: never in a dry run.
    pub fn new(session: &'a Session, network: Network) -> Hubs<'a> {
        let is_dry = network == Network::Used && !session.repo.keeps_objects();
        Hubs {
            session,
            network: if is_dry { Network::Offline } else { network },
            is_dry,
            fetched: RefCell::default(),
        }
    }

    fn open(&self, url: &RemoteUrl, has: &dyn Fn(&Hub) -> bool) -> Result<Hub> {
        let world = &self.session.world;
        let root = SharedRoot::of(world)?;
        let place = locate::place_of_url(&root, url);
        if !place.is_dir() {
            if self.network == Network::Offline {
                let message = if self.is_dry {
                    format!("nothing of '{url}' is here yet, and a dry run fetches nothing")
                } else {
                    format!("nothing of '{url}' is here, and fetching is not permitted")
                };
                let error = Error::new(Code::Offline, message);
                return Err(error.detail("url", url).hint("git colony map"));
            }
            let made = Hub::of_url(world, self.session.settings.timeout, &root, url)?;
            self.fetched.borrow_mut().insert(place);
            return Ok(made);
        }
        let hub = Hub::open(&place)?;
        let is_known = self.network == Network::Offline || has(&hub);
        if is_known || !self.fetched.borrow_mut().insert(place) {
            return Ok(hub);
        }
        if let Err(error) = hub.fetch(world) {
            (world.narrate)(&format!(
                "warning: cannot reach '{url}', using its last known state: {}",
                error.message()
            ));
        }
        Ok(hub)
    }
}

impl OtherRepositories for Hubs<'_> {
    fn find(
        &self,
        url: &RemoteUrl,
        at: RepositoryState<'_>,
        own: Option<&Path>,
    ) -> Result<FoundElsewhere> {
        let id = match at {
            RepositoryState::Commit(commit) => Some(commit),
            RepositoryState::Revision(revision) => Oid::parse(revision),
            RepositoryState::Branch(_) => None,
        };
        if let (Some(commit), Some(own)) = (id, own)
            && own.is_dir()
            && BareRepo::open(own).is_ok_and(|store| store.has(commit))
        {
            return Ok(FoundElsewhere { path: own.to_owned(), branch: None, commit });
        }
        let hub = self.open(url, &|hub| id.is_some_and(|id| hub.store.has(id)))?;
        let branch = match at {
            RepositoryState::Branch(Some(branch)) => Some(branch.to_owned()),
            RepositoryState::Branch(None) => Some(usual_branch(&hub)?),
            RepositoryState::Revision(_) | RepositoryState::Commit(_) => None,
        };
        let known = match (at, &branch) {
            (_, Some(branch)) => hub.find_ref(&format!("refs/remotes/origin/{branch}"))?,
            (RepositoryState::Revision(revision), _) => Some(hub.store.resolve_commit(revision)?),
            (RepositoryState::Commit(id), _) => Some(id).filter(|id| hub.store.has(*id)),
            (RepositoryState::Branch(_), None) => None,
        };
        let commit = known.ok_or_else(|| {
            let what = match (&branch, id) {
                (Some(branch), _) => format!("branch '{branch}'"),
                (None, Some(id)) => format!("commit {id}"),
                (None, None) => "commit".to_owned(),
            };
            let message = format!("'{url}' has no {what}, as far as is known here");
            Error::new(Code::RevisionNotFound, message).detail("url", url)
        })?;
        Ok(FoundElsewhere { path: hub.store.path().to_owned(), branch, commit })
    }

    fn has_directory(&self, elsewhere: &FoundElsewhere, path: &RepoPath) -> Result<bool> {
        BareRepo::open(&elsewhere.path)?.has_directory(elsewhere.commit, path)
    }
}

/// Returns the branch of a row that names none: 'main', as the format defines, else HEAD of the
/// remote.
fn usual_branch(hub: &Hub) -> Result<String> {
    let main = hub.find_ref("refs/remotes/origin/main")?;
    main.map_or_else(|| hub.default_branch(), |_| Ok("main".to_owned()))
}
