//! The clones on this machine: listed, updated, removed.

pub(crate) mod checkout_settings;
pub mod clone;
pub mod clone_of_agent;
pub mod clone_preview;
mod clone_source;
pub(crate) mod clone_user_config;
pub mod colonies;
pub mod cone;
pub(crate) mod files_for_clone;
pub mod first_clone;
pub(crate) mod large_file_store;
pub(crate) mod lost_record;
pub mod setup_commands;
mod shared_clone;
pub mod taking_part;
pub(crate) mod unchanged_clone;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::agents::agent_removal::{self, RemovalOptions, RemovedAgent};
use crate::agents::kept_clones::{self, Keeping, KeptFolder, LeftBehind};
use crate::agents::removed_agents_work::{self, HeldWork};
use crate::clones::damaged::{self, DamagedClone};
use crate::clones::found::{self, FoundClone};
use crate::clones::hub::{Hub, hub_folder, locate};
use crate::clones::removal::removed_log::{self, Amount};
use crate::clones::removal::{self, kept_clone};
use crate::clones::try_tree;
use crate::design::meaning::{self, Meaning};
use crate::git::{ObjectWrites, Oid, Repo};
use crate::model::text::typed_word;
use crate::model::{Code, Error, Result, World};
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;
use crate::store::membership::Role;

/// A clone as it is listed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Clone {
    /// Its id.
    pub id: String,
    /// Its path.
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// The agent; `None` for a clone for reading only.
    pub agent: Option<String>,
    /// The branch component of its path.
    pub scope: String,
    /// Whether it is for reading only.
    pub read_only: bool,
    /// The URL of the repository, without credentials.
    pub url: Option<String>,
    /// The branch it was created on.
    pub branch: Option<String>,
    /// The commit of HEAD; `None` if it cannot be read.
    pub commit: Option<Oid>,
    /// The hub it borrows its objects from.
    #[schemars(with = "String")]
    pub hub: PathBuf,
    /// When it was created, RFC 3339 UTC.
    pub created_at: String,
}

/// Clones of one repository, or of all.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClonesReport {
    /// Those of agents first, by name.
    pub clones: Vec<Clone>,
    /// Their number.
    pub count: usize,
    /// Those with an unreadable record.
    pub damaged: Vec<DamagedClone>,
}

/// Lists the clones of the current repository, or outside of one all clones.
pub fn list(world: &World, session: Option<&Session>) -> Result<ClonesReport> {
    let root = SharedRoot::of(world)?;
    let hub = session.map(|session| locate::place_of(session, &root)).transpose()?;
    let members = found::clones(&root, hub.as_deref());
    let clones: Vec<_> = members.into_iter().map(|clone| describe(world, clone)).collect();
    Ok(ClonesReport {
        count: clones.len(),
        clones,
        damaged: damaged::clones(&root, hub.as_deref()),
    })
}

fn describe(world: &World, clone: FoundClone) -> Clone {
    let repo = Repo::open_foreign(world, &clone.path, ObjectWrites::InMemory);
    let head = repo.and_then(|repo| repo.head()).ok();
    let member = clone.member;
    Clone {
        id: member.id,
        path: clone.path,
        read_only: member.role == Role::Reader,
        agent: member.agent,
        scope: member.scope.unwrap_or_default(),
        url: member.url,
        branch: member.branch,
        commit: head.and_then(|head| head.commit()),
        hub: member.hub,
        created_at: member.created_at,
    }
}

/// Finds a clone of the current repository, or outside of one among all.
pub(super) fn find(world: &World, session: Option<&Session>, name: &str) -> Result<FoundClone> {
    let root = SharedRoot::of(world)?;
    let hub = session.map(|session| locate::place_of(session, &root));
    found::find(&root, hub.transpose()?.as_deref(), name).map_err(|error| {
        let is_unknown = error.code() == Code::CloneNotFound;
        let elsewhere =
            session.filter(|_| is_unknown).and_then(|session| explain_elsewhere(session, name));
        elsewhere.unwrap_or(error)
    })
}

/// Returns the error for an agent of another machine: its clone is there, and its commits are here.
pub(super) fn explain_elsewhere(session: &Session, name: &str) -> Option<Error> {
    let Ok(Meaning::Line(named)) = meaning::find(&session.repo, name) else {
        return None;
    };
    let agent = named.elsewhere?;
    let message = format!("the clone of '{}' is on another machine", agent.name);
    let hint = format!("git colony agents show {}", typed_word(&agent.name));
    Some(Error::new(Code::CloneNotFound, message).unchanged().hint(hint))
}

/// Removes a clone; the work of an agent stays in the hub.
pub fn remove(
    world: &World,
    session: Option<&Session>,
    name: &str,
    options: RemovalOptions,
) -> Result<RemovedAgent> {
    let root = SharedRoot::of(world)?;
    if !options.dry_run {
        kept_clones::sweep(world, &root, None, false);
    }
    let clone = find(world, session, name);
    if let (false, Err(_), Some(session)) = (options.dry_run, &clone, session) {
        // It may be gone already, before its work was kept.
        let hub = locate::place_of(session, &root)?;
        if hub.is_dir() {
            removal::complete(world, &root, &hub)?;
        }
    }
    let keep_days = session.map(|session| session.settings.keep_removed_days);
    let report = agent_removal::remove_clone(world, &clone?, options, keep_days)?;
    Ok(RemovedAgent { is_from_outside: session.is_none(), ..report })
}

/// The hubs that were deleted.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct GcReport {
    /// The hubs that were deleted, or would be.
    #[schemars(with = "Vec<String>")]
    pub removed: Vec<PathBuf>,
    /// Hubs without a clone that hold work of removed clones; they stay without `force`.
    #[schemars(with = "Vec<String>")]
    pub kept: Vec<PathBuf>,
    /// The logs of removed clones in these hubs, deleted or kept.
    pub logs: Vec<HeldLogs>,
    /// The agents with work in these hubs, deleted or kept.
    pub work: Vec<HeldWork>,
    /// The folders of removed clones that were deleted, or would be: their days are over.
    pub deleted: Vec<KeptFolder>,
    /// The folders of removed clones that are kept; their hubs stay.
    pub kept_folders: Vec<KeptFolder>,
    /// The folders for tests of merged work that were deleted, or would be: nobody has used them for days.
    #[schemars(with = "Vec<String>")]
    pub tests: Vec<PathBuf>,
    /// Folders of removed clones that could not be deleted, and folders beside them that nobody deletes.
    pub left: Vec<LeftBehind>,
    /// True if nothing was deleted because of a dry run.
    pub dry_run: bool,
}

/// The logs of removed clones in a hub.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HeldLogs {
    /// The hub.
    #[schemars(with = "String")]
    pub hub: PathBuf,
    /// The size of the logs.
    #[serde(flatten)]
    pub amount: Amount,
}

/// How long what belongs to tests is kept, where no setting is known.
const TESTS_KEPT_DAYS: u64 = 7;

/// Deletes the hubs that no clone borrows from any more, and reports whose work they hold; `here`
/// is the current repository.
pub fn gc(world: &World, here: Option<&Session>, options: RemovalOptions) -> Result<GcReport> {
    let RemovalOptions { force, dry_run } = options;
    let root = SharedRoot::of(world)?;
    let keep_days = here.map_or(TESTS_KEPT_DAYS, |session| session.settings.keep_removed_days);
    let keeping = here.map(|session| Keeping::of(&session.settings));
    let here = here.and_then(|session| locate::place_of(session, &root).ok());
    let mut report = GcReport { dry_run, ..GcReport::default() };
    if !dry_run {
        hub_folder::restore_all(world, &root)?;
    }
    let swept = kept_clones::sweep(world, &root, here.as_deref().zip(keeping), dry_run);
    report.deleted = swept.deleted;
    report.kept_folders = swept.kept;
    report.left = [swept.left, kept_clones::others(&root)].concat();
    report.tests = try_tree::sweep(world, &root, keep_days, force, dry_run)?;
    let standing = found::clones(&root, None).into_iter().map(|clone| clone.member.hub);
    let used: Vec<PathBuf> = standing.chain(kept_clone::hubs(&root)).collect();
    for path in locate::all(&root) {
        if !dry_run {
            removal::complete(world, &root, &path)?;
        }
        if used.contains(&path) || found::are_of(&root, &path) {
            continue;
        }
        let store = Hub::open(&path)?;
        let amount = removed_log::amount(&store)?;
        if amount != Amount::default() {
            let hub = path.clone();
            report.logs.push(HeldLogs { hub, amount });
        }
        report.work.extend(removed_agents_work::of(&store, here.as_ref() == Some(&path))?);
        if removed_log::holds_kept_work(&store)? && !force {
            report.kept.push(path);
            continue;
        }
        if !dry_run {
            removal::remove_hub(world, &root, &path)?;
        }
        report.removed.push(path);
    }
    Ok(report)
}
