//! Clones of a repository: one per agent and branch, or one for reading only.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::damaged;
use crate::clones::hub::publish;
use crate::clones::new_clone::clone_large_files::LargeFiles;
use crate::clones::new_clone::{Staged, WantedClone, remote_prefix};
use crate::git::identity::Identity;
use crate::git::inherited::{Inherited, Signing};
use crate::git::{ObjectWrites, Oid};
use crate::lfs::install;
use crate::model::{Code, Result, World, time};
use crate::setup::hooks::{self, HookChange, Target};
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;
use crate::store::membership::{Membership, Role};
use crate::store::settings::approved_commands::Approvals;

use super::clone_source::Source;
use super::cone::Cone;
use super::setup_commands::{self, SetupCommand};
use super::{checkout_settings, clone_user_config, shared_clone};

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
pub fn clone(world: &World, session: Option<&Session>, request: &Request) -> Result<CloneReport> {
    request.agent.as_deref().map(Identity::of_agent).transpose()?;
    let root = SharedRoot::of(world)?;
    let source = Source::find(world, session, request, &root)?;
    refuse_damaged(session, &root, source.hub.store.path(), request)?;
    let start = source.start(world, session, request)?;
    let wanted = WantedClone {
        root: &root,
        hub: &source.hub,
        agent: request.agent.as_deref(),
        scope: request.scope.as_deref(),
        start: start.clone(),
        refs: Vec::new(),
        desk: source.desk.as_ref(),
        around_files: false,
        task: None,
        inherited: inherited(session.filter(|_| source.desk.is_some())),
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
    let (sparse, mut setup) = (staged.sparse.clone(), Vec::new());
    // The configuration of another repository does not apply to this one.
    let desk = session.filter(|_| source.desk.is_some());
    if request.agent.is_some() {
        set_up(world, desk, &staged, &mut setup)?;
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
    let made = PlacedClone::at(&path, &member);
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

/// Refuses another clone for an agent whose clone is damaged: its work would be hidden.
pub(super) fn refuse_damaged(
    session: Option<&Session>,
    root: &SharedRoot,
    hub: &Path,
    request: &Request,
) -> Result<()> {
    let error = request.agent.as_deref().and_then(|agent| match session {
        Some(_) => damaged::named(root, Some(hub), agent),
        None => damaged::outside(root, Some(hub), agent),
    });
    error.map_or(Ok(()), Err)
}

/// Returns what a clone gets of the checkout it is made from, if any.
fn inherited(checkout: Option<&Session>) -> Inherited {
    checkout.map_or_else(|| Inherited::of_nothing(Signing::Off), checkout_settings::of)
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
struct PlacedClone<'a> {
    path: &'a Path,
    member: &'a Membership,
}

impl<'a> PlacedClone<'a> {
    fn at(path: &'a Path, member: &'a Membership) -> Self {
        PlacedClone { path, member }
    }
}

/// Publishes the refs of an agent's new clone, and runs the setup commands.
fn make_ready(
    world: &World,
    desk: Option<&Session>,
    made: PlacedClone<'_>,
    request: &Request,
    setup: &mut Vec<String>,
) -> Result<Vec<SetupCommand>> {
    let PlacedClone { path, member } = made;
    if member.role != Role::Agent {
        return Ok(Vec::new());
    }
    let inside = Session::open_foreign(world, path, ObjectWrites::Durable)?;
    publish::publish(&inside)?;
    if request.no_checkout {
        return Ok(Vec::new());
    }
    let root = SharedRoot::of(world)?;
    let approvals = Approvals::of(&root, &member.hub);
    setup_commands::run_new((desk.unwrap_or(&inside), &inside), &approvals, setup)
}

/// Installs the hooks and settings of a clone, before it is moved into place; the project's own hooks are those of its
/// checkout.
pub(in crate::agents) fn set_up(
    world: &World,
    checkout: Option<&Session>,
    staged: &Staged,
    setup: &mut Vec<String>,
) -> Result<()> {
    let inside = staged.session(world)?;
    if let Some(checkout) = checkout {
        setup.extend(checkout_settings::forward_hooks(checkout, &inside, staged.uses_lfs)?);
    }
    hooks::install::run(&inside, HookChange::Install, Target::Git)?;
    setup.push("hooks of git".to_owned());
    clone_user_config::follow_manifest(&inside)?;
    if staged.uses_lfs {
        let way = install::plan_installed(&inside)?;
        install::install(&inside, way)?;
        setup.push("git-lfs".to_owned());
    }
    note_submodules(&inside)?;
    inside.repo.date_index()
}

/// Says that submodules are empty in a new clone; their URLs are those of the checkout.
fn note_submodules(inside: &Session) -> Result<()> {
    let (world, repo) = (&inside.world, &inside.repo);
    let submodules = repo.submodules(world, repo.tree_of(repo.head()?.commit())?, None)?;
    let elsewhere = submodules.refused.iter().filter(|refused| refused.pinned.is_some());
    let count = submodules.list.len() + elsewhere.count();
    if count > 0 {
        (world.narrate)(&format!(
            "note: {} empty in the clone; to fill in what the agent needs: git submodule update --init PATH",
            match count {
                1 => "1 submodule is".to_owned(),
                more => format!("{more} submodules are"),
            }
        ));
    }
    Ok(())
}
