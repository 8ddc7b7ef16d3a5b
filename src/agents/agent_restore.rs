//! Restores a removed agent: a new clone that continues where the old one ended.

use std::fs;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::agents::colony::files_for_clone;
use crate::agents::colony::setup_commands::{self, SetupCommand};
use crate::clones::hub::{Hub, publish};
use crate::clones::new_clone::clone_large_files::LargeFiles;
use crate::clones::new_clone::{Sparse, Staged, Start, WantedClone, remote_prefix};
use crate::clones::removal::kept_clone::{self, KeptClone};
use crate::clones::removal::removed_work::{self, Held, RemovedWork};
use crate::clones::removal::{self, removal_lock, removed_log};
use crate::design::checkpoint::tag_message::TagMessage;
use crate::git::identity::Identity;
use crate::git::process::OPERATION_VARIABLE;
use crate::git::{Oid, Repo};
use crate::model::{Code, Error, Result, World, time};
use crate::store::files::places::Places;
use crate::store::files::shared_root::{AgentPlace, SharedRoot};
use crate::store::settings::approved_commands::Approvals;

use super::damaged_clone::{
    aside_for, cone_of_files, find_branch, is_aside, leave_out_missing, lost_folder, only_in,
};
use super::kept_clones::{self, last_state};
use super::restore_place::RestorePlace;
use super::{agent_return, refuse_damaged, refuse_standing, session_at};

/// The options of a restore.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The agent whose clone was removed.
    pub name: String,
    /// The agent that continues its work; `None` is the same agent.
    pub other: Option<String>,
    /// When it was removed, RFC 3339 UTC; `None` is the last time.
    pub at: Option<String>,
}

/// An agent that was restored.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RestoredAgent {
    /// The agent.
    pub agent: String,
    /// The path of its clone.
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// The id of its clone; empty in a dry run.
    pub clone: String,
    /// The branch component of its clone's path.
    pub scope: String,
    /// The branch that is checked out; `None` if HEAD is detached.
    pub fork: Option<String>,
    /// The commit that is checked out.
    pub head_sha: Oid,
    /// The hub that the clone borrows its objects from.
    #[schemars(with = "String")]
    pub hub: PathBuf,
    /// The prefix of the refs in the hub that its work was read from; they stay.
    pub kept_as: String,
    /// The number of uncommitted paths; `None` in a dry run.
    pub files: Option<usize>,
    /// Whether there were uncommitted changes when the clone was removed.
    pub had_uncommitted: bool,
    /// Whether its folder was still kept, and is back with ignored files, index and all.
    pub as_it_stood: bool,
    /// Where its git directory is now, if git could not use it; in a dry run it is still at its place.
    #[schemars(with = "Option<String>")]
    pub damaged_git_dir: Option<PathBuf>,
    /// What only the damaged git directory has, as text: stashes, an operation in progress, commits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only_in_damaged: Vec<String>,
    /// The number of refs that were restored.
    pub refs: usize,
    /// The number of stashes that were restored.
    pub stashes: usize,
    /// The number of operations in its log.
    pub operations: usize,
    /// The parts that were configured in the clone, as text.
    pub setup: Vec<String>,
    /// The setup commands, in order.
    pub commands: Vec<SetupCommand>,
    /// True if nothing was made because of a dry run.
    pub dry_run: bool,
}

/// Brings back the folder of a removed agent while it is kept; else makes a clone with everything that the newest removed
/// clone of an agent had: branches, checkpoints, stashes, operation log, and uncommitted changes. In a dry run, only plans
/// that.
pub fn restore(from: &RestorePlace<'_>, request: &Request) -> Result<RestoredAgent> {
    let world = from.world;
    let root = SharedRoot::of(world)?;
    let lost = lost_folder(from, &root, request);
    from.refuse_reader()?;
    let around_files = lost.is_some() && request.other.is_none();
    (!around_files).then(|| refuse(from, &root, request)).transpose()?;
    if from.is_dry {
        let hub = Hub::open(from.hub())?;
        let plan = Plan::make(&root, &hub, request, lost.as_ref())?;
        let whole = from_folder(from, &hub, request, &plan)?;
        return whole.map_or_else(|| plan.report(&root, &hub), Ok);
    }
    let (member, hub) = from.join()?;
    removal::complete(world, &root, hub.store.path())?;
    let known = Plan::make(&root, &hub, request, lost.as_ref())?;
    if let Some(report) = from_folder(from, &hub, request, &known)? {
        return Ok(report);
    }
    // The hub has more by now where a folder is kept.
    let plan = Plan::make(&root, &hub, request, lost.as_ref())?;
    let (url, push_url) = from.urls(&hub)?;
    let wanted = WantedClone {
        root: &root,
        hub: &hub,
        agent: Some(plan.agent),
        scope: Some(&plan.work.scope),
        start: plan.start.clone(),
        refs: plan.all_refs(&hub)?,
        desk: member.as_ref(),
        around_files,
        task: None,
        inherited: from.inherited(),
        large_files: LargeFiles::All,
        store: crate::agents::colony::large_file_store::of_tree,
        url,
        push_url,
        remote: remote_prefix(&hub, member.as_ref())?,
        check_out: true,
        sparse: Sparse::Known(match lost.as_ref().filter(|_| around_files) {
            Some(place) => cone_of_files(&hub, plan.start.commit, &place.clone)?,
            // An uncommitted change may be in any directory.
            None => Vec::new(),
        }),
    };
    let staged = wanted.stage(world, time::rfc3339(&world.now()))?;
    put_back(from, &root, &hub, &plan, staged)
}

/// Fills a new clone, and puts it at its path.
fn put_back(
    from: &RestorePlace<'_>,
    root: &SharedRoot,
    hub: &Hub,
    plan: &Plan<'_>,
    staged: Staged,
) -> Result<RestoredAgent> {
    let world = from.world;
    let mut report = plan.report(root, hub)?;
    report.dry_run = false;
    plan.fill(from, hub, &staged, &mut report.setup)?;
    if plan.has_files {
        // Another restore may have repaired it meanwhile.
        let request = Request { name: plan.agent.to_owned(), ..Request::default() };
        lost_folder(from, root, &request)
            .map_or_else(|| refuse(from, root, &request), |_| Ok(()))?;
    }
    let aside = aside_for(world, root, plan.agent);
    report.path = put_in_place(world, staged, plan.has_files.then_some(&aside))?;
    report.damaged_git_dir = Some(aside).filter(|aside| fs::symlink_metadata(aside).is_ok());
    let inside = session_at(world, &report.path)?;
    if let Some(damaged) = &report.damaged_git_dir {
        leave_out_missing(world, &inside.repo, damaged)?;
    }
    report.files = Some(inside.repo.scan(&inside.world)?.count_uncommitted());
    publish::publish(&inside)?;
    if let Some(places) = &plan.log {
        removed_log::delete_log(world, hub, places, &report.path)?;
    }
    let approvals = Approvals::of(root, hub.store.path());
    let settings = (from.checkout.unwrap_or(&inside), &inside);
    report.commands = setup_commands::run_new(settings, &approvals, &mut report.setup)?;
    report.clone = inside.membership.map(|member| member.id).unwrap_or_default();
    Ok(report)
}

/// Puts the new clone at its path, or only its git directory, and the damaged one there to `aside`.
fn put_in_place(world: &World, staged: Staged, aside: Option<&PathBuf>) -> Result<PathBuf> {
    match aside {
        Some(aside) => staged.finish_around_files(world, aside),
        None => staged.finish(world),
    }
}

/// Brings the folder of the removed clone back while it is kept; for an agent of another name, stores in the hub what was
/// written into it since. `None` if a new clone is to be made.
fn from_folder(
    from: &RestorePlace<'_>,
    hub: &Hub,
    request: &Request,
    plan: &Plan<'_>,
) -> Result<Option<RestoredAgent>> {
    let world = from.world;
    let root = SharedRoot::of(world)?;
    let Some(kept) = plan.kept_folder(&root, hub) else {
        let removed = root.removed_of(&request.name);
        let is_ours = |path: &PathBuf| is_aside(path) || !path.join(".git").exists();
        let of_agent = |path: &PathBuf| path.starts_with(&removed) && !is_ours(path);
        for folder in kept_clone::others(&root).into_iter().filter(of_agent) {
            let shown = folder.display();
            (world.narrate)(&format!("warning: the record in '{shown}' cannot be read; it stays"));
        }
        if !plan.has_files && !from.is_dry {
            agent_return::move_late_aside(world, &plan.place(&root))?;
        }
        return Ok(None);
    };
    if request.other.is_none() {
        let report = plan.report(&root, hub)?;
        return agent_return::bring_back(from, hub, &kept, report).map(Some);
    }
    if !from.is_dry {
        let _turn = removal_lock::take_turn(world, &kept.member)?;
        let lost = kept_clones::keep_again(world, &kept)?;
        lost.map_or(Ok(()), |why| Err(not_all_kept(&request.name, &why)))?;
    }
    Ok(None)
}

/// Makes the error for a folder of which another clone would not have everything.
fn not_all_kept(name: &str, why: &str) -> Error {
    Error::new(Code::CloneInUse, format!("another clone would not have all of it: {why}"))
        .unchanged()
        .hint(format!("{}   # brings its folder back", removed_work::command(name)))
}

fn refuse(from: &RestorePlace<'_>, root: &SharedRoot, request: &Request) -> Result<()> {
    from.refuse_reader()?;
    let agent = request.other.as_ref().unwrap_or(&request.name);
    Identity::of_agent(agent)?;
    refuse_damaged(root, from.hub(), agent)?;
    refuse_standing(root, from.hub(), agent).map_err(|error| match &request.other {
        Some(_) => error,
        None => error
            .hint(format!("{} --as OTHER   # under another name", removed_work::command(agent))),
    })
}

/// Everything known before anything is made.
struct Plan<'a> {
    agent: &'a str,
    work: RemovedWork,
    held: Held,
    start: Start,
    /// Its operation log, if the new clone can continue it.
    log: Option<Places>,
    /// Whether its files are those of the folder that has lost its git directory.
    has_files: bool,
}

impl<'a> Plan<'a> {
    fn make(
        root: &SharedRoot,
        hub: &Hub,
        request: &'a Request,
        lost: Option<&AgentPlace>,
    ) -> Result<Plan<'a>> {
        let published = match lost {
            Some(place) => removed_work::published(hub, place)?,
            None => None,
        };
        let work = match published {
            Some(published) => published,
            None => removed_work::find(hub, &request.name, request.at.as_deref())?,
        };
        let mut held = work.held(hub)?;
        let repo = hub.store.to_read()?;
        held.late.retain(|tag| {
            let is_last_state = label_of(&repo, *tag) == last_state().label;
            if is_last_state {
                held.uncommitted = repo.peel_to_commit(*tag).or(held.uncommitted);
            }
            !is_last_state
        });
        if let Some(place) = lost {
            find_branch(place, &mut held);
        }
        let start = start(&work, &held)?;
        let mut logs = removed_log::list(root, hub.store.path())
            .into_iter()
            .filter(|log| log.clone.kept_as == work.kept_as);
        let log_of_clone = logs.next();
        let log = match &log_of_clone {
            Some(log) => log.log_to_continue(root, hub.store.path())?.cloned(),
            None => None,
        };
        let agent = request.other.as_ref().unwrap_or(&request.name);
        let has_files = lost.is_some() && request.other.is_none();
        Ok(Plan { agent, work, held, start, log, has_files })
    }

    /// Returns the path of the new clone.
    fn place(&self, root: &SharedRoot) -> PathBuf {
        root.clones_of(self.agent).join(crate::store::key::encode(&self.work.scope))
    }

    /// Returns the removed clone itself, while it is kept.
    fn kept_folder(&self, root: &SharedRoot, hub: &Hub) -> Option<KeptClone> {
        let mut kept = kept_clone::list(root, Some(hub.store.path())).into_iter();
        kept.find(|clone| clone.kept == self.work.kept_as)
    }

    /// Returns the refs of the new clone beside its current branch.
    fn all_refs(&self, hub: &Hub) -> Result<Vec<crate::git::refs::FoundRef>> {
        let mut refs = self.held.refs.clone();
        if let Some(places) = &self.log {
            refs.extend(removed_log::refs_of(hub, &places.key)?);
        }
        Ok(refs)
    }

    fn report(&self, root: &SharedRoot, hub: &Hub) -> Result<RestoredAgent> {
        let operations = self.log.as_ref().map(|places| {
            let below = crate::store::refs::ref_names::operations_of(&places.key);
            hub.store.refs_below(&below).map(|refs| refs.len())
        });
        let git_dir = self.place(root).join(".git");
        let is_damaged = self.has_files && fs::symlink_metadata(&git_dir).is_ok();
        let damaged = is_damaged.then_some(git_dir);
        Ok(RestoredAgent {
            agent: self.agent.to_owned(),
            path: self.place(root),
            clone: String::new(),
            scope: self.work.scope.clone(),
            fork: self.held.on.as_ref().map(|on| on.branch.clone()),
            head_sha: self.held.detached.unwrap_or(self.start.commit),
            hub: hub.store.path().to_owned(),
            kept_as: self.work.kept_as.clone(),
            files: None,
            had_uncommitted: self.held.uncommitted.is_some(),
            as_it_stood: false,
            damaged_git_dir: damaged.clone(),
            only_in_damaged: damaged.map_or_else(Vec::new, |dir| only_in(&dir, hub)),
            refs: self.held.refs.len(),
            stashes: self.held.stashed.len(),
            operations: operations.transpose()?.unwrap_or(0),
            setup: Vec::new(),
            commands: Vec::new(),
            dry_run: true,
        })
    }

    /// Restores into the clone everything but refs and the files of its commit.
    fn fill(
        &self,
        from: &RestorePlace<'_>,
        hub: &Hub,
        staged: &Staged,
        setup: &mut Vec<String>,
    ) -> Result<()> {
        let world = from.world;
        if let Some(places) = &self.log {
            removed_log::give(world, hub, places, &staged.folder().join(".git"))?;
        }
        let inside = staged.session(world)?;
        for stash in &self.held.stashed {
            let subject = inside.repo.read_commit(*stash)?.subject;
            let stash = stash.to_string();
            run(world, &inside.repo, &["stash", "store", "-q", "-m", &subject, &stash])?;
        }
        if let Some(commit) = self.held.detached {
            let commit = commit.to_string();
            run(world, &inside.repo, &["checkout", "-q", "--detach", &commit])?;
        }
        drop(inside);
        crate::agents::colony::clone::set_up(world, from.checkout, staged, setup)?;
        if !self.has_files {
            if let Some(session) = from.checkout {
                files_for_clone::ignored_files(session, staged.folder(), setup)?;
            }
            if let Some(state) = self.held.uncommitted {
                files_for_clone::put(world, staged, state)?;
            }
        }
        for late in &self.held.late {
            let id = late.to_string();
            (world.narrate)(&format!(
                "note: files written while the clone was deleted were kept: git show {id}"
            ));
        }
        Ok(())
    }
}

/// Runs git in the clone, which no other process knows yet.
fn run(world: &World, repo: &Repo, args: &[&str]) -> Result<()> {
    let mut git = repo.git(world);
    git.env(OPERATION_VARIABLE, "agents restore");
    git.args(args);
    git.run_checked("restore the work of an agent").map(drop)
}

/// Returns the label of a checkpoint.
fn label_of(repo: &Repo, tag: Oid) -> Option<String> {
    let tag = repo.find_tag(tag)?;
    Some(TagMessage::read(&String::from_utf8_lossy(&tag.message)).label)
}

/// Returns the branch for the clone: the one that was checked out, else any that it had.
fn start(work: &RemovedWork, held: &Held) -> Result<Start> {
    let mut branches = held.refs.iter().filter_map(|reference| {
        let name = reference.name.to_string();
        let branch = name.strip_prefix("refs/heads/")?.to_owned();
        let commit = reference.id;
        Some(Start { branch, commit })
    });
    let start = held.on.clone().or_else(|| branches.next());
    start.ok_or_else(|| {
        Error::new(
            Code::RevisionNotFound,
            format!("the kept work of agent '{}' has no branch for a clone", work.agent),
        )
        .unchanged()
        .hint("git colony agents   # --json shows the hub, and the prefix of the refs in it")
    })
}
