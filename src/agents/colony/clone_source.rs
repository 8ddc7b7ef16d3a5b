//! Where a clone comes from: this repository, a URL, or the colony's repository.

use crate::clones::hub::colonies::{self, Colony};
use crate::clones::hub::{Hub, joining, locate, publish};
use crate::clones::new_clone::{Sparse, Start, rewritten_start};
use crate::git::remote::url::{Provenance, RemoteUrl};
use crate::git::{Oid, RefName};
use crate::model::{Code, Error, Result, World};
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;
use crate::store::membership::Membership;

use super::clone::Request;
use super::cone::{self, Cone};

/// The source of a clone.
pub(super) struct Source {
    pub(super) hub: Hub,
    pub(super) url: String,
    /// The push URL, if it differs.
    pub(super) push_url: Option<String>,
    /// The record of the checkout it is made from, if any.
    pub(super) desk: Option<Membership>,
    /// The branch and commit that the colony defines.
    colony: Option<Colony>,
}

impl Source {
    pub(super) fn find(
        world: &World,
        session: Option<&Session>,
        request: &Request,
        root: &SharedRoot,
    ) -> Result<Source> {
        if let (None, Some(session)) = (&request.url, session) {
            let (member, hub) = joining::join(session)?;
            publish::publish_as(world, &session.repo, &member)?;
            let here = || session.repo.common_dir().display().to_string();
            // The record has the URL at the time it joined.
            let origin = locate::origin_of(session)?.map(|url| url.without_credentials());
            return Ok(Source {
                hub,
                url: origin.or_else(|| member.url.clone()).unwrap_or_else(here),
                push_url: locate::push_url_of_clone(session)?,
                desk: Some(member),
                colony: None,
            });
        }
        let colony = match &request.url {
            Some(_) => None,
            None => Some(colonies::find(world, root, None)?),
        };
        let text = request
            .url
            .as_ref()
            .or(colony.as_ref().map(|colony| &colony.origin_url))
            .cloned()
            .unwrap_or_default();
        let url = RemoteUrl::parse(&text, Provenance::User, &world.cwd)?;
        let known = locate::place_of_url(root, &url).is_dir();
        let hub = Hub::of_url(world, None, root, &url)?;
        if known && let Err(error) = hub.fetch(world) {
            (world.narrate)(&format!(
                "warning: cannot reach the remote, using its last known state: {}",
                error.message()
            ));
        }
        Ok(Source { hub, url: url.in_full(), push_url: None, desk: None, colony })
    }

    /// Returns the directories of the clone. In a clone of another repository the settings are read
    /// in the clone: the configuration of this one does not apply.
    pub(super) fn sparse(
        &self,
        session: Option<&Session>,
        request: &Request,
        commit: Oid,
    ) -> Result<Sparse> {
        let here = session.filter(|_| self.desk.is_some());
        match (&request.sparse, here) {
            (Cone::Whole, _) => Ok(Sparse::Known(Vec::new())),
            (Cone::Of(typed), _) => Ok(Sparse::Known(typed.clone())),
            (Cone::Configured, None) => Ok(Sparse::Said(cone::of_clone)),
            (Cone::Configured, Some(session)) => {
                // A commit that only the hub has is read in the clone, too.
                let Ok(tree) = session.repo.tree_of(Some(commit)) else {
                    return Ok(Sparse::Said(cone::of_clone));
                };
                let repo = &session.repo;
                let directories = Cone::Configured.directories(&session.world, repo, repo, tree)?;
                Ok(Sparse::Known(directories))
            }
        }
    }

    pub(super) fn start(
        &self,
        world: &World,
        session: Option<&Session>,
        request: &Request,
    ) -> Result<Start> {
        let of_colony = self.colony.as_ref();
        let branch =
            request.branch.clone().or_else(|| of_colony.and_then(|colony| colony.branch.clone()));
        let branch = match (branch, session.filter(|_| self.desk.is_some())) {
            (Some(branch), _) => branch,
            (None, Some(session)) => session.repo.head()?.moving_ref().short(),
            (None, None) => self.hub.default_branch()?,
        };
        let mut commit = None;
        if let Some(session) = session.filter(|_| self.desk.is_some()) {
            let name = RefName::from(format!("refs/heads/{branch}").as_str());
            commit = session.repo.find_ref(&name)?;
        }
        if commit.is_none() {
            commit = self.hub.find_ref(&format!("refs/remotes/origin/{branch}"))?;
        }
        let of_colony = of_colony.filter(|_| request.branch.is_none());
        let start = rewritten_start::noted(world, &self.hub, of_colony)?.or(commit);
        let commit = start.ok_or_else(|| {
            Error::new(
                Code::RevisionNotFound,
                format!("'{}' has no branch '{branch}' with a commit", self.url),
            )
            .unchanged()
            .hint(format!("git ls-remote --heads {}   # lists its branches", self.url))
        })?;
        Ok(Start { branch, commit })
    }
}
