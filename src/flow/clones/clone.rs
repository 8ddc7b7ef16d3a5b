//! Clones of a repository: one per agent and branch, or one for reading only.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::hub::colonies::{self, Colony};
use crate::clones::hub::{Hub, joining, locate, publish};
use crate::clones::new_clone::clone_large_files::LargeFiles;
use crate::clones::new_clone::{
    Sparse, Staged, Start, WantedClone, remote_prefix, rewritten_start,
};
use crate::clones::{clone_folders, found};
use crate::git::identity::Identity;
use crate::git::remote::url::{Provenance, RemoteUrl};
use crate::git::{ObjectWrites, Oid, RefName};
use crate::lfs::install;
use crate::model::{Code, Error, Result, World, time};
use crate::setup::hooks::{self, Act, Target};
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;
use crate::store::membership::{Membership, Role};
use crate::store::settings::Flags;
use crate::store::settings::approved_commands::Approvals;

use super::cone::{self, Cone};
use super::setup_commands::{self, SetupCommand};
use super::shared_clone;

/// The options of a clone.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The URL of the repository; `None` is the current one, else that of the colony.
    pub url: Option<String>,
    /// The agent; `None` for a clone for reading only.
    pub agent: Option<String>,
    /// The branch component of its path; `None` is the name of the branch.
    pub scope: Option<String>,
    /// Its branch; `None` is the current one, or the default of the remote.
    pub branch: Option<String>,
    /// Leave the working tree empty.
    pub no_checkout: bool,
    /// The large files that it gets.
    pub large_files: LargeFiles,
    /// The directories that are checked out.
    pub sparse: Cone,
}

/// Whether a clone is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CloneStatus {
    /// It was created.
    Created,
    /// It exists already: a clone for reading is shared.
    Exists,
}

/// A clone that was created, or that is shared.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CloneReport {
    /// Its path.
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// Whether it is new.
    pub status: CloneStatus,
    /// Its id; `None` in a dry run.
    pub id: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// The branch component of its path.
    pub scope: String,
    /// Whether it is for reading only.
    pub read_only: bool,
    /// The URL of the repository, without credentials.
    pub url: Option<String>,
    /// Its branch; `None` in a dry run that would have to ask the remote.
    pub branch: Option<String>,
    /// The commit that is checked out; `None` in the same case.
    pub commit: Option<Oid>,
    /// The hub it borrows its objects from.
    #[schemars(with = "String")]
    pub hub: PathBuf,
    /// The directories that are checked out, beside the files at the root; empty for the whole
    /// tree.
    pub sparse: Vec<String>,
    /// The parts that were configured in it, as text.
    pub setup: Vec<String>,
    /// The setup commands, in order; none for a clone for reading, nor in a dry run that would have
    /// to ask the remote.
    pub commands: Vec<SetupCommand>,
    /// True if nothing was made because of a dry run.
    pub dry_run: bool,
}

/// Makes a clone.
///
/// # Errors
/// `agent-exists`, `colony-not-found`, `revision-not-found`, `url-refused`, `unsupported`,
/// `hub-missing`, `locked`, `filter-failed`, `no-space`, and network errors.
pub fn clone(world: &World, session: Option<&Session>, request: &Request) -> Result<CloneReport> {
    request
        .agent
        .as_deref()
        .map(Identity::of_agent)
        .transpose()?;
    let root = SharedRoot::of(world)?;
    let source = Source::find(world, session, request, &root)?;
    let start = source.start(world, session, request)?;
    let wanted = WantedClone {
        root: &root,
        hub: &source.hub,
        agent: request.agent.as_deref(),
        scope: request.scope.as_deref(),
        start: start.clone(),
        refs: Vec::new(),
        large_files: request.large_files.clone(),
        store: super::large_file_store::of_tree,
        url: Some(source.url.clone()),
        push_url: source.push_url.clone(),
        remote: remote_prefix(&source.hub, source.desk.as_ref())?,
        check_out: !request.no_checkout,
        sparse: source.sparse(session, request, start.commit)?,
    };
    if let Some(shared) = shared_clone::find(world, &wanted, request)? {
        return Ok(shared);
    }
    let staged = wanted.stage(world, time::rfc3339(&world.now()))?;
    refuse_unknown_directories(world, &staged, request, start.commit)?;
    let sparse = staged.sparse.clone();
    let mut setup = Vec::new();
    if request.agent.is_some() {
        set_up(world, &staged, &mut setup)?;
    }
    let member = staged.member.clone();
    let path = match staged.finish(world) {
        // Another process has made it meanwhile.
        Err(taken) if taken.code() == Code::AgentExists => {
            let shared = shared_clone::find(world, &wanted, request)?;
            return shared.ok_or(taken);
        }
        finished => finished?,
    };
    // The configuration of another repository does not apply to this one.
    let desk = session.filter(|_| source.desk.is_some());
    let made = Made::at(&path, &member);
    let commands = make_ready(world, desk, made, request, &mut setup)?;
    Ok(CloneReport {
        path,
        status: CloneStatus::Created,
        id: Some(member.id),
        read_only: member.role == Role::Reader,
        agent: member.agent,
        scope: member.scope.unwrap_or_default(),
        url: Some(source.url),
        branch: Some(start.branch),
        commit: Some(start.commit),
        hub: member.hub,
        sparse,
        setup,
        commands,
        dry_run: false,
    })
}

/// Refuses directories that the tree does not have.
fn refuse_unknown_directories(
    world: &World,
    staged: &Staged,
    request: &Request,
    commit: Oid,
) -> Result<()> {
    let Cone::Of(typed) = &request.sparse else {
        return Ok(());
    };
    let repo = staged.session(world)?.repo;
    repo.cone_of(repo.tree_of(Some(commit))?, typed)
}

/// A clone that is in its place.
#[derive(Clone, Copy)]
struct Made<'a> {
    path: &'a Path,
    member: &'a Membership,
}

impl<'a> Made<'a> {
    fn at(path: &'a Path, member: &'a Membership) -> Self {
        Made { path, member }
    }
}

/// Publishes the refs of an agent's new clone, and runs the setup commands.
fn make_ready(
    world: &World,
    desk: Option<&Session>,
    made: Made<'_>,
    request: &Request,
    setup: &mut Vec<String>,
) -> Result<Vec<SetupCommand>> {
    let Made { path, member } = made;
    if member.role != Role::Agent {
        return Ok(Vec::new());
    }
    let inside = world.standing_in(path);
    let inside = Session::open(inside, &Flags::default(), ObjectWrites::Durable)?;
    publish::publish(&inside)?;
    if request.no_checkout {
        return Ok(Vec::new());
    }
    let root = SharedRoot::of(world)?;
    let approvals = Approvals::of(&root, &member.hub);
    setup_commands::run_new((desk.unwrap_or(&inside), &inside), &approvals, setup)
}

/// Returns the report of [`clone`], and changes nothing; does not ask the remote.
///
/// # Errors
/// `colony-not-found`, `url-refused`, `invalid-value`.
pub fn preview(world: &World, session: Option<&Session>, request: &Request) -> Result<CloneReport> {
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
    let here = session.filter(|_| request.url.is_none());
    let head = here.map(|session| session.repo.head()).transpose()?;
    let of_hub = || Hub::open(&hub).and_then(|hub| hub.default_branch()).ok();
    let current = head.map(|head| head.moving_ref().short());
    let branch = request.branch.clone().or(current).or_else(of_hub);
    let scope = request
        .scope
        .clone()
        .or_else(|| branch.clone())
        .unwrap_or_default();
    let folder = match &request.agent {
        Some(agent) => root.clones_of(agent),
        None => root.shared_clones(),
    };
    let commands = would_run(here, &root, &hub, request)?;
    let sparse = would_hold(here, request)?;
    Ok(CloneReport {
        status: would_be(
            &folder.join(crate::store::key::encode(&scope)),
            &hub,
            request,
        ),
        path: folder.join(crate::store::key::encode(&scope)),
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

/// Returns the clone of an agent that runs outside of a repository: that of the colony's
/// repository, made on first use.
///
/// # Errors
/// `colony-not-found`, `name-ambiguous`, and those of [`clone`].
pub fn of_agent(world: &World, agent: &str) -> Result<PathBuf> {
    if let Some(known) = find_of_agent(world, agent)? {
        return Ok(known);
    }
    let request = Request {
        agent: Some(agent.to_owned()),
        ..Request::default()
    };
    let made = clone(world, None, &request)?;
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
///
/// # Errors
/// `colony-not-found`, `name-ambiguous`; `clone-not-found` if a clone would be made.
pub fn known_of_agent(world: &World, agent: &str) -> Result<PathBuf> {
    find_of_agent(world, agent)?.ok_or_else(|| {
        Error::new(
            Code::CloneNotFound,
            format!("agent '{agent}' has no clone yet, and a dry run makes none"),
        )
        .unchanged()
        .hint(format!("git colony clone --agent {agent}"))
    })
}

/// Finds the clone of an agent in the colony, or without a default colony the only clone of an
/// agent with that name.
fn find_of_agent(world: &World, agent: &str) -> Result<Option<PathBuf>> {
    let root = SharedRoot::of(world)?;
    let colony = match colonies::find(world, &root, None) {
        Ok(colony) => Some(colony),
        Err(none) if none.code() == Code::ColonyNotFound && has_any(&root, None, agent) => None,
        Err(error) => return Err(error),
    };
    let url =
        colony.map(|colony| RemoteUrl::parse(&colony.origin_url, Provenance::User, &world.cwd));
    let hub = url
        .transpose()?
        .map(|url| locate::place_of_url(&root, &url));
    if !has_any(&root, hub.as_deref(), agent) {
        return Ok(None);
    }
    found::find(&root, hub.as_deref(), agent).map(|clone| Some(clone.path))
}

fn has_any(root: &SharedRoot, hub: Option<&std::path::Path>, agent: &str) -> bool {
    let known = found::clones(root, hub).into_iter();
    known
        .filter_map(|clone| clone.member.agent)
        .any(|name| name == agent)
}

/// Installs the hooks and settings of a clone, before it is moved into place.
///
/// # Errors
/// `git-failed`, `io`, `no-space`.
pub(in crate::flow) fn set_up(
    world: &World,
    staged: &Staged,
    setup: &mut Vec<String>,
) -> Result<()> {
    let inside = staged.session(world)?;
    hooks::install::run(&inside, Act::Install, Target::Git)?;
    setup.push("hooks of git".to_owned());
    if staged.uses_lfs {
        let way = install::plan(&inside)?;
        install::install(&inside, way)?;
        setup.push("git-lfs".to_owned());
    }
    Ok(())
}

/// The source of a clone.
struct Source {
    hub: Hub,
    url: String,
    /// The push URL, if it differs.
    push_url: Option<String>,
    /// The record of the checkout it is made from, if any.
    desk: Option<Membership>,
    /// The branch and commit that the colony defines.
    colony: Option<Colony>,
}

impl Source {
    fn find(
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
                push_url: locate::push_url_of(session),
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
        Ok(Source {
            hub,
            url: url.in_full(),
            push_url: None,
            desk: None,
            colony,
        })
    }

    /// Returns the directories of the clone. In a clone of another repository the settings are read
    /// in the clone: the configuration of this one does not apply.
    fn sparse(&self, session: Option<&Session>, request: &Request, commit: Oid) -> Result<Sparse> {
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
                let found = Cone::Configured.directories(&session.world, repo, repo, tree)?;
                Ok(Sparse::Known(found))
            }
        }
    }

    fn start(&self, world: &World, session: Option<&Session>, request: &Request) -> Result<Start> {
        let of_colony = self.colony.as_ref();
        let branch = request
            .branch
            .clone()
            .or_else(|| of_colony.and_then(|colony| colony.branch.clone()));
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
            commit = self
                .hub
                .find_ref(&format!("refs/remotes/origin/{branch}"))?;
        }
        let of_colony = of_colony.filter(|_| request.branch.is_none());
        let commit = rewritten_start::noted(world, &self.hub, of_colony)?.or(commit);
        let commit = commit.ok_or_else(|| {
            Error::new(
                Code::RevisionNotFound,
                format!("'{}' has no branch '{branch}' with a commit", self.url),
            )
            .unchanged()
            .hint("git colony clone --branch BRANCH")
        })?;
        Ok(Start { branch, commit })
    }
}
