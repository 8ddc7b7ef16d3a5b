//! Agents: a clone and a fork for each, created from any checkout.

pub mod agent_marks;
pub mod agent_output;
pub mod agent_places;
pub mod agent_removal;
pub mod agent_restore;
pub mod agent_return;
pub mod agent_run;
pub mod agent_start;
pub mod agent_state;
pub mod colony;
mod damaged_clone;
pub mod kept_clones;
pub mod own_agents;
pub mod removed_agents_work;
pub mod removed_operations;
pub mod restore_place;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::agents::colony::cone::Cone;
use crate::agents::colony::setup_commands::{self, SetupCommand};
use crate::agents::colony::{checkout_settings, files_for_clone};
use crate::clones::hub::{Hub, joining, locate, publish};
use crate::clones::new_clone::clone_large_files::LargeFiles;
use crate::clones::new_clone::{self, Sparse, Staged, Start, WantedClone, remote_prefix};
use crate::clones::removal::{self, removed_work};
use crate::clones::{damaged, found};
use crate::design::default_branch;
use crate::design::{fork, meaning};
use crate::git::identity::Identity;
use crate::git::{Head, ObjectWrites, Oid, RefName};
use crate::model::{Code, Error, Result, World, text, time};
use crate::records;
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;
use crate::store::membership::Membership;
use crate::store::settings::approved_commands::Approvals;

/// The options of a new agent.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The agent.
    pub name: String,
    /// The label of its fork; `None` is its name.
    pub fork: Option<String>,
    /// The revision it is created from; `None` is HEAD.
    pub from: Option<String>,
    /// The large files that it gets.
    pub large_files: LargeFiles,
    /// Copy the uncommitted changes of the checkout.
    pub with_changes: bool,
    /// The directories it works in.
    pub sparse: Cone,
    /// Its task.
    pub task: Option<String>,
}

/// An agent with its clone.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NewAgent {
    /// The agent.
    pub agent: String,
    /// The path of its clone.
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// The id of its clone.
    pub clone: String,
    /// The branch component of its clone's path.
    pub scope: String,
    /// Its fork.
    pub fork: String,
    /// The tip of its fork.
    pub head_sha: Oid,
    /// The branch that the fork was created from.
    pub base_branch: String,
    /// Whether it was created from the tip of that branch.
    #[serde(skip)]
    pub is_at_base: bool,
    /// The hub that the clone borrows its objects from.
    #[schemars(with = "String")]
    pub hub: PathBuf,
    /// Its task.
    pub task: Option<String>,
    /// The directories that are checked out, beside the files at the root; empty for the whole
    /// tree.
    pub sparse: Vec<String>,
    /// The parts that were configured in the clone, as text.
    pub setup: Vec<String>,
    /// The setup commands, in order.
    pub commands: Vec<SetupCommand>,
    /// Its program, if one was started in the background.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<agent_start::Started>,
    /// True if nothing was made because of a dry run.
    pub dry_run: bool,
}

/// Refuses what [`create`] refuses before it changes anything.
pub fn check(session: &Session, request: &Request) -> Result<()> {
    Plan::make(session, request).map(drop)
}

/// Makes a clone for an agent, with a fork of its own; in a dry run, only plans that.
pub fn create(session: &Session, request: &Request) -> Result<NewAgent> {
    let plan = Plan::make(session, request)?;
    if session.is_dry() {
        return plan.report(session, request);
    }
    let world = &session.world;
    let root = SharedRoot::of(world)?;
    let (member, hub) = joining::join(session)?;
    removal::complete(world, &root, hub.store.path())?;
    let here = (hub.store.path(), kept_clones::Keeping::as_said(&session.settings));
    kept_clones::sweep(world, &root, Some(here), false);
    agent_return::refuse_running(session, &request.name)?;
    agent_return::move_late_aside(world, &plan.place(&root, hub.store.path(), request).0)?;
    let changes = if request.with_changes { files_for_clone::uncommitted(session)? } else { None };
    publish::publish_as(world, &session.repo, &member)?;
    share_earlier_records(session)?;
    say_what_stays(session, request, &hub)?;
    let wanted =
        plan.wanted(session, request, CloneHome { root: &root, hub: &hub, member: &member })?;
    let staged = wanted.stage(world, time::rfc3339(&world.now()))?;
    let mut setup = Vec::new();
    let begun = set_up(session, &plan, &staged, &mut setup)?;
    let sparse = staged.sparse.clone();
    if let Some(state) = changes {
        files_for_clone::put(world, &staged, state)?;
        setup.push("uncommitted changes".to_owned());
    }
    let path = staged.finish(world)?;
    let inside = session_at(world, &path)?;
    publish::publish(&inside)?;
    let approvals = Approvals::of(&root, hub.store.path());
    let commands = setup_commands::run_new((session, &inside), &approvals, &mut setup)?;
    let member = inside.membership.unwrap_or(member);
    Ok(NewAgent {
        agent: request.name.clone(),
        path,
        clone: member.id,
        scope: member.scope.unwrap_or_default(),
        fork: begun.name,
        head_sha: begun.head_sha,
        is_at_base: plan.commit == plan.start.commit,
        base_branch: plan.start.branch,
        hub: member.hub,
        task: request.task.clone(),
        sparse,
        setup,
        commands,
        started: None,
        dry_run: false,
    })
}

/// Reports work that a new agent might be expected to have and does not have.
fn say_what_stays(session: &Session, request: &Request, hub: &Hub) -> Result<()> {
    let world = &session.world;
    let mut kept = removed_work::newest_of_agents(hub)?.into_iter();
    if let Some(work) = kept.find(|work| work.agent == request.name) {
        (world.narrate)(&format!(
            "an agent '{}' was removed before; to restore its work: {} --as OTHER",
            request.name,
            work.command()
        ));
    }
    if !request.with_changes && request.from.is_none() {
        let unsaved = session.repo.scan(world)?.count_uncommitted();
        if unsaved > 0 {
            (world.narrate)(&format!(
                "uncommitted here, and not in the clone: {}; --with-changes copies them",
                text::count(unsaved, "path")
            ));
        }
    }
    Ok(())
}

/// Where the clone belongs.
#[derive(Clone, Copy)]
struct CloneHome<'a> {
    root: &'a SharedRoot,
    hub: &'a Hub,
    /// The membership of the desk in the hub.
    member: &'a Membership,
}

/// Everything known before anything is made.
struct Plan {
    label: String,
    start: Start,
    commit: Oid,
    sparse: Vec<String>,
}

/// Shares the records that were written before the hub was there: the first clone has them, too.
fn share_earlier_records(session: &Session) -> Result<()> {
    if session.membership.is_none() {
        records::refresh(&session_at(&session.world, session.repo.workdir())?);
    }
    Ok(())
}

impl Plan {
    /// Returns the future path of the clone, and its branch component.
    fn place(&self, root: &SharedRoot, hub: &Path, request: &Request) -> (PathBuf, String) {
        new_clone::place_of(root, hub, Some(&request.name), None, &self.start.branch)
    }

    /// Returns the report of a dry run.
    fn report(self, session: &Session, request: &Request) -> Result<NewAgent> {
        let root = SharedRoot::of(&session.world)?;
        let hub = locate::place_of(session, &root)?;
        let (path, scope) = self.place(&root, &hub, request);
        let approved = Approvals::of(&root, &hub);
        let commands = setup_commands::of_commit(session, Some(self.commit), &approved)?;
        Ok(NewAgent {
            agent: request.name.clone(),
            path,
            clone: String::new(),
            scope,
            fork: format!("fork/{}", self.label),
            head_sha: self.commit,
            is_at_base: self.commit == self.start.commit,
            base_branch: self.start.branch,
            hub,
            task: request.task.clone(),
            sparse: self.sparse,
            setup: Vec::new(),
            commands,
            started: None,
            dry_run: true,
        })
    }

    fn make(session: &Session, request: &Request) -> Result<Plan> {
        session.refuse_reader()?;
        joining::refuse_incomplete(&session.repo)?;
        Identity::of_agent(&request.name)?;
        let label = request.fork.as_deref().unwrap_or(&request.name);
        let label = fork::parse_label(label)?;
        refuse_known(session, &request.name, &label)?;
        let repo = &session.repo;
        let head = repo.head()?;
        if request.with_changes && request.from.is_some() {
            return Err(Error::new(
                Code::Usage,
                "uncommitted changes belong to HEAD: --with-changes cannot be combined with --from",
            ));
        }
        let from = request.from.as_deref().map(|from| meaning::find_commit(repo, from));
        let named = from.transpose().map_err(|e| agent_state::explain_unknown(session, e))?;
        // A detached HEAD is a valid start as well.
        let is_detached = matches!(head, Head::Detached { .. });
        let detached = head.commit().filter(|_| is_detached);
        let commit = named.as_ref().map(|named| named.commit).or(detached);
        let branch = named.and_then(|named| named.branch);
        let start = start(session, &head, branch)?;
        let commit = commit.unwrap_or(start.commit);
        // An uncommitted change may be in any directory.
        let cone = match (&request.sparse, request.with_changes) {
            (Cone::Configured, true) => &Cone::Whole,
            (cone, _) => cone,
        };
        let tree = repo.tree_of(Some(commit))?;
        let sparse = cone.directories(&session.world, repo, repo, tree)?;
        Ok(Plan { label, start, commit, sparse })
    }

    fn wanted<'a>(
        &self,
        session: &Session,
        request: &'a Request,
        home: CloneHome<'a>,
    ) -> Result<WantedClone<'a>> {
        let origin = locate::origin_of(session)?;
        let url = origin.map(|url| url.in_full());
        let here = || session.repo.common_dir().display().to_string();
        Ok(WantedClone {
            root: home.root,
            hub: home.hub,
            agent: Some(&request.name),
            scope: None,
            start: self.start.clone(),
            refs: Vec::new(),
            desk: Some(home.member),
            around_files: false,
            task: request.task.as_deref(),
            inherited: checkout_settings::of(session),
            large_files: request.large_files.clone(),
            store: crate::agents::colony::large_file_store::of_tree,
            url: Some(url.unwrap_or_else(here)),
            push_url: locate::push_url_of_clone(session)?,
            remote: remote_prefix(home.hub, Some(home.member))?,
            check_out: true,
            sparse: Sparse::Known(self.sparse.clone()),
        })
    }
}

/// Refuses an agent that exists, or a fork that this repository has.
fn refuse_known(session: &Session, agent: &str, label: &str) -> Result<()> {
    let plain = RefName::from(format!("refs/heads/{agent}").as_str());
    if session.repo.find_ref(&plain)?.is_some() {
        return Err(Error::new(
            Code::BranchExists,
            format!("'{agent}' is already the name of a branch here"),
        )
        .hint("git colony agents new NAME   # with a name that is not a branch"));
    }
    let branch = crate::store::refs::ref_names::fork_branch(label);
    if session.repo.find_ref(&branch)?.is_some() {
        return Err(Error::new(Code::BranchExists, format!("'fork/{label}' exists already")).hint(
            format!("git colony agents new {agent} --fork LABEL   # gives its fork another name"),
        ));
    }
    let root = SharedRoot::of(&session.world)?;
    refuse_standing(&root, &locate::place_of(session, &root)?, agent)
}

/// Refuses an agent whose clone is damaged.
pub(super) fn refuse_damaged(root: &SharedRoot, hub: &Path, agent: &str) -> Result<()> {
    let damaged = damaged::clones(root, Some(hub));
    match damaged.iter().find(|clone| clone.agent.as_deref() == Some(agent)) {
        None => Ok(()),
        Some(clone) => {
            let message =
                format!("agent '{agent}' has a clone, which is damaged: {}", clone.reason);
            Err(Error::new(Code::AgentExists, message)
                .unchanged()
                .detail("path", clone.path.display().to_string())
                .hint(clone.repair_command()))
        }
    }
}

/// Refuses an agent that already has a clone.
pub(super) fn refuse_standing(root: &SharedRoot, hub: &Path, agent: &str) -> Result<()> {
    refuse_damaged(root, hub, agent)?;
    let mut taken = found::clones(root, Some(hub))
        .into_iter()
        .filter(|clone| clone.member.agent.as_deref() == Some(agent));
    match taken.next() {
        None => Ok(()),
        Some(clone) => Err(Error::new(
            Code::AgentExists,
            format!("agent '{agent}' works in '{}' already", clone.path.display()),
        )
        .detail("path", clone.path.display().to_string())
        .hint(format!("git colony agents path {agent}"))),
    }
}

/// Returns the branch that a fork is created from: the named one, else the current one.
fn start(session: &Session, head: &Head, named: Option<RefName>) -> Result<Start> {
    let repo = &session.repo;
    let with_tip =
        |name: RefName| -> Result<_> { Ok(repo.find_ref(&name)?.map(|tip| (name, tip))) };
    let tip = match (named, head) {
        (Some(name), _) => with_tip(name)?,
        (None, Head::Branch { name, .. } | Head::Unborn { name }) => with_tip(name.clone())?,
        (None, Head::Detached { .. }) => default_branch::find(repo)?,
    };
    match tip {
        Some((branch, commit)) => Ok(Start { branch: branch.short(), commit }),
        None => Err(Error::new(
            Code::RevisionNotFound,
            "there is no branch with a commit from which an agent could be created",
        )
        .unchanged()
        .hint("git colony checkpoint -m 'first state'   # makes the first commit")),
    }
}

/// Creates the fork and configures the clone, before it is moved into place.
fn set_up(
    session: &Session,
    plan: &Plan,
    staged: &Staged,
    setup: &mut Vec<String>,
) -> Result<fork::ForkReport> {
    let inside = staged.session(&session.world)?;
    let from = (plan.commit != plan.start.commit).then(|| plan.commit.to_string());
    let request = fork::Request { label: plan.label.clone(), from, switch: true };
    // Before hooks are installed: ours and those of git-lfs have no part in this.
    let begun = fork::create(&inside, &request)?;
    crate::agents::colony::clone::set_up(&session.world, Some(session), staged, setup)?;
    files_for_clone::ignored_files(session, staged.folder(), setup)?;
    Ok(begun)
}

/// Opens a session in a clone, for a command that runs elsewhere.
pub(crate) fn session_at(world: &World, path: &std::path::Path) -> Result<Session> {
    Session::open_foreign(world, path, ObjectWrites::Durable)
}
