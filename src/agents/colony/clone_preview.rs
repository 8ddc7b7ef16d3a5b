//! The report of a clone that would be made.

use std::path::Path;

use crate::clones::clone_folders;
use crate::clones::hub::{Hub, colonies, locate};
use crate::clones::new_clone::place_in;
use crate::git::identity::Identity;
use crate::git::remote::url::{Provenance, RemoteUrl};
use crate::git::{Oid, RefName};
use crate::model::{Result, World};
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;
use crate::store::key;
use crate::store::membership::{Membership, Role};
use crate::store::settings::approved_commands::Approvals;

use super::clone::{self, CloneReport, CloneStatus, Request};
use super::cone::Cone;
use super::setup_commands::{self, SetupCommand};

/// Returns the report of [`super::clone::clone`], and changes nothing; does not ask the remote.
pub fn preview(world: &World, session: Option<&Session>, request: &Request) -> Result<CloneReport> {
    request.agent.as_deref().map(Identity::of_agent).transpose()?;
    let root = SharedRoot::of(world)?;
    let (hub, url) = match (&request.url, session) {
        (None, Some(session)) => {
            let origin = locate::origin_of(session)?.map(|url| url.in_full());
            (locate::place_of(session, &root)?, origin)
        }
        (named, _) => {
            let noted = || colonies::find(world, &root, None).map(|colony| colony.origin_url);
            let text = named.clone().map_or_else(noted, Ok)?;
            let url = RemoteUrl::parse(&text, Provenance::User, &world.cwd)?;
            let place = locate::place_of_url(&root, &url);
            (place, Some(url.in_full()))
        }
    };
    clone::refuse_damaged(session, &root, &hub, request)?;
    let here = session.filter(|_| request.url.is_none());
    let head = here.map(|session| session.repo.head()).transpose()?;
    let of_hub = || Hub::open(&hub).and_then(|hub| hub.default_branch()).ok();
    let current = head.map(|head| head.moving_ref().short());
    let branch = request.branch.clone().or(current).or_else(of_hub);
    let scope = request.scope.clone().or_else(|| branch.clone()).unwrap_or_default();
    let (place, scope) = match &request.agent {
        // Its branch is that of the remote, which is not asked.
        Some(agent) if scope.is_empty() => (root.clones_of(agent), scope),
        Some(agent) => {
            let branch = branch.as_deref().unwrap_or_default();
            place_in(&root, &hub, Some(agent), request.scope.as_deref(), branch)?
        }
        None => (root.shared_clones().join(key::encode(&scope)), scope),
    };
    let commands = would_run(here, &root, &hub, request)?;
    let sparse = would_hold(here, request)?;
    Ok(CloneReport {
        status: would_be(&place, &hub, request),
        path: place,
        id: None,
        read_only: request.agent.is_none(),
        agent: request.agent.clone(),
        scope,
        url,
        branch,
        commit: None,
        hub,
        sparse,
        setup: Vec::new(),
        commands,
        dry_run: true,
    })
}

/// Returns `exists` if a clone for reading of that hub is at its place.
fn would_be(place: &Path, hub: &Path, request: &Request) -> CloneStatus {
    let there = clone_folders::membership_at(place);
    let is_same = |member: &Membership| member.role == Role::Reader && member.hub == hub;
    if there.is_some_and(|member| request.agent.is_none() && is_same(&member)) {
        CloneStatus::Exists
    } else {
        CloneStatus::Created
    }
}

/// Returns the setup commands for a clone of the current repository.
fn would_run(
    here: Option<&Session>,
    root: &SharedRoot,
    hub: &Path,
    request: &Request,
) -> Result<Vec<SetupCommand>> {
    let wanted = request.agent.is_some() && !request.no_checkout;
    let Some(session) = here.filter(|_| wanted) else {
        return Ok(Vec::new());
    };
    let commit = start_here(session, request)?;
    setup_commands::of_commit(session, commit, &Approvals::of(root, hub))
}

/// Returns the directories that a clone of the current repository would hold; for another one,
/// those that were typed.
fn would_hold(here: Option<&Session>, request: &Request) -> Result<Vec<String>> {
    let Some(session) = here else {
        return Ok(match &request.sparse {
            Cone::Of(typed) => typed.clone(),
            Cone::Configured | Cone::Whole => Vec::new(),
        });
    };
    let repo = &session.repo;
    let tree = repo.tree_of(start_here(session, request)?)?;
    request.sparse.directories(&session.world, repo, repo, tree)
}

/// Returns the commit that a clone of the current repository would start from.
fn start_here(session: &Session, request: &Request) -> Result<Option<Oid>> {
    let repo = &session.repo;
    let branch = request
        .branch
        .as_ref()
        .map(|branch| RefName::from(format!("refs/heads/{branch}").as_str()));
    match branch {
        Some(branch) => repo.find_ref(&branch),
        None => Ok(repo.head()?.commit()),
    }
}
