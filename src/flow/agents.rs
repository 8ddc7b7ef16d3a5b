//! Agents: a clone and a fork for each, made from wherever one stands.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::carried::{How, bring};
use crate::clones::found::{self, FoundClone};
use crate::clones::hub::{self, Hub};
use crate::clones::new_clone::{LargeFiles, Staged, Start, Wanted, remote_prefix};
use crate::clones::{publish, removal};
use crate::design::checkpoints::{self, Which};
use crate::design::left_out::{Allowances, LeftOut};
use crate::design::{automatic, checkpoint, fork, names};
use crate::git::identity::Identity;
use crate::git::{Head, ObjectWrites, Oid, RefName};
use crate::model::{Code, Error, Result, World, text, time};
use crate::store::Session;
use crate::store::membership::{Membership, Role};
use crate::store::shared_root::SharedRoot;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The agent.
    pub name: String,
    /// The label of its fork; `None` is its name.
    pub fork: Option<String>,
    /// Where it begins; `None` is HEAD.
    pub from: Option<String>,
    /// Which large files it gets.
    pub large_files: LargeFiles,
    /// Bring the uncommitted changes of the checkout along.
    pub with_changes: bool,
}

/// An agent with its clone.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NewAgent {
    /// The agent.
    pub agent: String,
    /// Where it works.
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// The id of its clone.
    pub clone: String,
    /// The scope of its clone.
    pub scope: String,
    /// Its fork.
    pub fork: String,
    /// The tip of its fork.
    pub head_sha: Oid,
    /// The branch the fork began on.
    pub base_branch: String,
    /// The hub that the clone borrows its objects from.
    #[schemars(with = "String")]
    pub hub: PathBuf,
    /// What was set up in the clone, in words.
    pub setup: Vec<String>,
    /// True when nothing was made because a dry run was asked for.
    pub dry_run: bool,
}

/// Makes a clone for an agent, with a fork of its own.
///
/// # Errors
/// `agent-exists`, `branch-exists`, `invalid-value`, `revision-not-found`, `unsupported`, `hub-missing`,
/// `locked`, `filter-failed`, `no-space`; none of them leaves anything but the hub.
pub fn create(session: &Session, request: &Request) -> Result<NewAgent> {
    let plan = Plan::make(session, request)?;
    let world = &session.world;
    let root = SharedRoot::of(world)?;
    let (member, hub) = hub::join(session)?;
    removal::complete(world, &root, hub.store.path())?;
    let changes = if request.with_changes {
        uncommitted(session)?
    } else {
        None
    };
    publish::publish_as(world, &session.repo, &member)?;
    let wanted = plan.wanted(session, request, (&root, &hub, &member))?;
    let staged = wanted.stage(world, time::rfc3339(&world.now()))?;
    let mut setup = Vec::new();
    let begun = set_up(session, &plan, &staged, &mut setup)?;
    if let Some(state) = changes {
        take_along(world, &staged, state)?;
        setup.push("uncommitted changes".to_owned());
    }
    let path = staged.finish(world)?;
    let inside = session_at(world, &path)?;
    publish::publish(&inside)?;
    let member = inside.membership.unwrap_or(member);
    Ok(NewAgent {
        agent: request.name.clone(),
        path,
        clone: member.id,
        scope: member.scope.unwrap_or_default(),
        fork: begun.name,
        head_sha: begun.head_sha,
        base_branch: plan.start.branch,
        hub: member.hub,
        setup,
        dry_run: false,
    })
}

/// Tells what [`create`] would do, and changes nothing.
///
/// # Errors
/// As [`create`].
pub fn preview(session: &Session, request: &Request) -> Result<NewAgent> {
    let plan = Plan::make(session, request)?;
    let root = SharedRoot::of(&session.world)?;
    let scope = plan.start.branch.clone();
    Ok(NewAgent {
        agent: request.name.clone(),
        path: root
            .clones_of(&request.name)
            .join(crate::store::key::encode(&scope)),
        clone: String::new(),
        scope,
        fork: format!("fork/{}", plan.label),
        head_sha: plan.commit,
        base_branch: plan.start.branch,
        hub: hub::place_of(session, &root)?,
        setup: Vec::new(),
        dry_run: true,
    })
}

/// What is known before anything is made.
struct Plan {
    label: String,
    start: Start,
    commit: Oid,
}

impl Plan {
    fn make(session: &Session, request: &Request) -> Result<Plan> {
        session.refuse_reader()?;
        Identity::of_agent(&request.name)?;
        let label = request.fork.as_deref().unwrap_or(&request.name);
        let label = fork::parse_label(label)?;
        refuse_known(session, &request.name, &label)?;
        let repo = &session.repo;
        let head = repo.head()?;
        if request.with_changes && request.from.is_some() {
            return Err(Error::new(
                Code::Usage,
                "uncommitted changes belong to HEAD: --with-changes goes without --from",
            ));
        }
        let named = request.from.as_deref();
        let named = named.map(|from| names::find(repo, from)).transpose()?;
        let commit = named.as_ref().map(|named| named.commit);
        let branch = named.and_then(|named| named.branch);
        let start = start(session, &head, branch)?;
        Ok(Plan {
            label,
            commit: commit.unwrap_or(start.commit),
            start,
        })
    }

    fn wanted<'a>(
        &self,
        session: &Session,
        request: &'a Request,
        (root, hub, member): (&'a SharedRoot, &'a Hub, &Membership),
    ) -> Result<Wanted<'a>> {
        let origin = hub::origin_of(session)?;
        let url = origin.map(|url| url.without_credentials());
        let here = || session.repo.common_dir().display().to_string();
        Ok(Wanted {
            root,
            hub,
            agent: Some(&request.name),
            scope: None,
            start: self.start.clone(),
            large_files: request.large_files.clone(),
            url: Some(url.unwrap_or_else(here)),
            remote: remote_prefix(hub, Some(member))?,
            check_out: true,
        })
    }
}

/// Refuses an agent that is there, or a fork that this repository has.
fn refuse_known(session: &Session, agent: &str, label: &str) -> Result<()> {
    let branch = crate::store::ref_names::fork_branch(label);
    if session.repo.find_ref(&branch)?.is_some() {
        return Err(Error::new(
            Code::BranchExists,
            format!("'fork/{label}' exists already; nothing has changed"),
        )
        .hint(format!(
            "git colony agents new {agent} --fork LABEL   # gives its fork another name"
        )));
    }
    let root = SharedRoot::of(&session.world)?;
    let hub = hub::place_of(session, &root)?;
    let taken = found::clones(&root, Some(&hub)).into_iter();
    let mut taken = taken.filter(|clone| clone.member.agent.as_deref() == Some(agent));
    match taken.next() {
        None => Ok(()),
        Some(clone) => Err(Error::new(
            Code::AgentExists,
            format!(
                "agent '{agent}' works in '{}' already; nothing has changed",
                clone.path.display()
            ),
        )
        .detail("path", clone.path.display().to_string())
        .hint(format!("git colony agents path {agent}"))),
    }
}

/// Returns the branch a fork begins on: the one that was named, else the current one.
fn start(session: &Session, head: &Head, named: Option<RefName>) -> Result<Start> {
    let repo = &session.repo;
    let current = match head {
        Head::Branch { name, .. } | Head::Unborn { name } => Some(name.clone()),
        Head::Detached { .. } => names::default_branch(repo)?.map(|(name, _)| name),
    };
    let branch = named.or(current);
    let tip = branch
        .as_ref()
        .map(|branch| repo.find_ref(branch))
        .transpose()?;
    match branch.zip(tip.flatten()) {
        Some((branch, commit)) => Ok(Start {
            branch: branch.short(),
            commit,
        }),
        None => Err(Error::new(
            Code::RevisionNotFound,
            "there is no branch with a commit that an agent could begin on; nothing has changed",
        )
        .hint("git colony checkpoint -m LABEL   # makes the first commit")),
    }
}

/// Begins the fork and sets up what a clone needs, before it has its place.
fn set_up(
    session: &Session,
    plan: &Plan,
    staged: &Staged,
    setup: &mut Vec<String>,
) -> Result<fork::ForkReport> {
    let inside = super::clone::set_up(&session.world, staged, setup)?;
    let from = (plan.commit != plan.start.commit).then(|| plan.commit.to_string());
    let request = fork::Request {
        label: plan.label.clone(),
        from,
        switch: true,
    };
    let begun = fork::create(&inside, &request)?;
    for (paths, how, did) in [
        (&session.settings.clone_copy, How::Copy, "copied"),
        (&session.settings.clone_link, How::Link, "linked"),
    ] {
        for path in paths {
            let from = session.repo.workdir();
            let brought = bring(&session.world, from, staged.folder(), (path, how))?;
            if brought.files > 0 {
                let files = text::count(brought.files, "file");
                setup.push(format!("{did} '{path}' ({files})"));
            }
        }
    }
    Ok(begun)
}

/// Keeps the uncommitted changes of the checkout as an automatic checkpoint; returns its commit, or
/// `None` where there are none.
fn uncommitted(session: &Session) -> Result<Option<Oid>> {
    let scan = session.repo.scan(&session.world)?;
    if super::status::unsaved(&scan) == 0 {
        return Ok(None);
    }
    let made = automatic::create(session, "taken along by a new agent")?;
    if made.reason == Some("busy") {
        return Err(Error::new(
            Code::Locked,
            "another git-colony command is at work here; nothing has changed",
        )
        .hint("run the command again"));
    }
    // Unchanged since the newest one: that is the state.
    let known = checkpoints::list(&session.repo, Which::Automatic)?;
    Ok(made.sha.or_else(|| known.last().map(|newest| newest.sha)))
}

/// Puts the files of a state over those of a clone that has no place yet, as changes that nobody has
/// committed.
fn take_along(world: &World, staged: &Staged, state: Oid) -> Result<()> {
    let inside = staged.session(world)?;
    let mut git = inside.repo.git(&inside.world);
    git.env(crate::git::process::OPERATION_VARIABLE, "agents new");
    let source = format!("--source={state}");
    git.args([
        "restore",
        "-q",
        "--worktree",
        "--no-overlay",
        &source,
        "--",
        ":/",
    ]);
    git.run_checked("bring the uncommitted changes into the clone")
        .map(drop)
}

fn session_at(world: &World, path: &std::path::Path) -> Result<Session> {
    Session::open(
        world.standing_in(path),
        &crate::store::settings::Flags::default(),
        crate::git::ObjectWrites::Durable,
    )
}

/// An agent as it is listed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Agent {
    /// Its name.
    pub agent: String,
    /// Where it works.
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// The id of its clone.
    pub clone: String,
    /// The scope of its clone.
    pub scope: String,
    /// The branch it is on; `None` where HEAD is on none or cannot be read.
    pub branch: Option<String>,
    /// When its clone was made, RFC 3339 UTC.
    pub created_at: String,
}

/// Where an agent works.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PathReport {
    /// The agent.
    pub agent: String,
    /// Where it works.
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// The id of its clone.
    pub clone: String,
}

impl From<FoundClone> for PathReport {
    fn from(clone: FoundClone) -> Self {
        PathReport {
            agent: clone.member.agent.unwrap_or_default(),
            path: clone.path,
            clone: clone.member.id,
        }
    }
}

/// The agents of a repository.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AgentsReport {
    /// By name.
    pub agents: Vec<Agent>,
    /// How many.
    pub count: usize,
}

/// Lists the agents that have a clone of this repository.
///
/// # Errors
/// `url-refused`, `invalid-value`.
pub fn list(session: &Session) -> Result<AgentsReport> {
    let found = clones_here(session)?.into_iter();
    let agents: Vec<_> = found.filter_map(|clone| describe(session, clone)).collect();
    Ok(AgentsReport {
        count: agents.len(),
        agents,
    })
}

fn describe(session: &Session, clone: FoundClone) -> Option<Agent> {
    let agent = clone.member.agent?;
    let head = crate::git::Repo::open(
        &session.world.standing_in(&clone.path),
        crate::git::ObjectWrites::InMemory,
    );
    let head = head.and_then(|repo| repo.head()).ok();
    Some(Agent {
        agent,
        path: clone.path,
        clone: clone.member.id,
        scope: clone.member.scope.unwrap_or_default(),
        branch: head.map(|head| head.label()),
        created_at: clone.member.created_at,
    })
}

/// Returns the clones of this repository's hub.
///
/// # Errors
/// As [`list`].
pub fn clones_here(session: &Session) -> Result<Vec<FoundClone>> {
    let root = SharedRoot::of(&session.world)?;
    let hub = hub::place_of(session, &root)?;
    Ok(found::clones(&root, Some(&hub)))
}

/// Finds the clone of an agent.
///
/// # Errors
/// `clone-not-found`, `name-ambiguous`.
pub fn find(session: &Session, name: &str) -> Result<FoundClone> {
    let root = SharedRoot::of(&session.world)?;
    let hub = hub::place_of(session, &root)?;
    let found = found::find(&root, Some(&hub), name)?;
    if found.member.role != Role::Agent {
        return Err(Error::new(
            Code::CloneNotFound,
            format!("'{}' is no clone of an agent", text::shell_word(name)),
        )
        .hint("git colony agents"));
    }
    Ok(found)
}

/// A clone that was taken away.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RemovedAgent {
    /// The agent; `None` where the clone was for reading.
    pub agent: Option<String>,
    /// Where it worked.
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// The id of the clone.
    pub clone: String,
    /// The prefix of the refs in the hub that keep its work; `None` in a dry run.
    pub kept_as: Option<String>,
    /// The hub.
    #[schemars(with = "String")]
    pub hub: PathBuf,
    /// How many uncommitted paths there were; they are kept, too.
    pub unsaved: usize,
    /// What cannot be kept and goes with the clone.
    pub left_out: Vec<LeftOut>,
    /// True when nothing was done because a dry run was asked for.
    pub dry_run: bool,
}

/// Takes the clone of an agent away; all of its work stays in the hub.
///
/// # Errors
/// `clone-not-found`, `name-ambiguous`, `clone-in-use`, `hub-missing`, `locked`, `no-space`.
pub fn remove(
    session: &Session,
    name: &str,
    (force, dry_run): (bool, bool),
) -> Result<RemovedAgent> {
    let root = SharedRoot::of(&session.world)?;
    let hub = hub::place_of(session, &root)?;
    if !dry_run && hub.is_dir() {
        removal::complete(&session.world, &root, &hub)?;
    }
    let clone = find(session, name)?;
    let report = remove_clone(&session.world, &clone, (force, dry_run))?;
    if !dry_run {
        super::colony::gather(session);
    }
    Ok(report)
}

/// Takes a clone away, whoever's it is.
///
/// # Errors
/// As [`remove`].
pub(super) fn remove_clone(
    world: &World,
    clone: &FoundClone,
    (force, dry_run): (bool, bool),
) -> Result<RemovedAgent> {
    let mut report = look_at_removal(world, clone, force)?;
    if dry_run {
        return Ok(report);
    }
    let inside = session_at(world, &clone.path)?;
    if report.unsaved > 0 && clone.member.role == Role::Agent {
        checkpoint::create(&inside, &last_state())?;
    }
    publish::publish(&inside)?;
    let root = SharedRoot::of(world)?;
    report.kept_as = removal::retire(world, &root, clone)?;
    report.dry_run = false;
    Ok(report)
}

/// Returns what is kept of a clone before it goes, beside its branch.
fn last_state() -> checkpoint::Request {
    checkpoint::Request {
        label: Some("uncommitted when the clone was removed".to_owned()),
        rationale: String::new(),
        off_branch: true,
        allowances: Allowances::default(),
    }
}

fn look_at_removal(world: &World, clone: &FoundClone, force: bool) -> Result<RemovedAgent> {
    removal::refuse_own_directory(world, clone)?;
    let flags = crate::store::settings::Flags::default();
    let inside = world.standing_in(&clone.path);
    let inside = Session::open(inside, &flags, ObjectWrites::InMemory)?;
    let unsaved = super::status::unsaved(&inside.repo.scan(&inside.world)?);
    let mut report = RemovedAgent {
        agent: clone.member.agent.clone(),
        path: clone.path.clone(),
        clone: clone.member.id.clone(),
        kept_as: None,
        hub: clone.member.hub.clone(),
        unsaved,
        left_out: Vec::new(),
        dry_run: true,
    };
    if clone.member.role == Role::Agent {
        report.left_out = checkpoint::preview(&inside, &last_state())?.left_out;
    }
    let is_edited_reader = clone.member.role == Role::Reader && unsaved > 0;
    if !force && (is_edited_reader || !report.left_out.is_empty()) {
        return Err(would_be_lost(&report));
    }
    Ok(report)
}

fn would_be_lost(report: &RemovedAgent) -> Error {
    let first = report.left_out.first();
    let what = first.map_or_else(
        || text::count(report.unsaved, "uncommitted path"),
        |first| match report.left_out.len() {
            1 => format!("'{}'", first.path),
            many => format!("'{}' and {} more", first.path, many - 1),
        },
    );
    Error::new(
        Code::CloneInUse,
        format!(
            "{what} would be lost with the clone: no checkpoint keeps that; nothing has changed"
        ),
    )
    .detail("left_out", &report.left_out)
    .detail("path", report.path.display().to_string())
    .hint(format!(
        "git colony clones remove {} --force   # lets go of it",
        report.clone.get(..8).unwrap_or(&report.clone)
    ))
}
