//! The removed clones of agents, which are kept whole for some days: listed, and deleted when their days are over. What
//! was written into one since its removal is kept in the hub first.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::removal::kept_clone::{self, KeptClone};
use crate::clones::removal::removal_lock;
use crate::design::checkpoint::left_out::Allowances;
use crate::design::checkpoint::{self, automatic};
use crate::git::ObjectWrites;
use crate::model::time::{self, Moment};
use crate::model::{Code, Result, World};
use crate::store::Session;
use crate::store::files::mount_points;
use crate::store::files::shared_root::SharedRoot;
use crate::store::membership::Role;
use crate::store::settings::Settings;

use super::agent_removal;

/// A removed clone whose folder is kept.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct KeptFolder {
    /// Its agent; `None` for a clone for reading.
    pub agent: Option<String>,
    /// Its path now.
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// When it was removed, RFC 3339 UTC.
    pub removed_at: String,
    /// When it is deleted, RFC 3339 UTC; earlier where all of them become too large.
    pub until: String,
    /// What that frees, in bytes.
    pub size: u64,
}

/// A folder of a removed clone that could not be deleted when its time was over.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LeftBehind {
    /// Its current path.
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// Why it still exists, as text.
    pub reason: String,
    /// The process that can still write there; `None` if that is not the reason.
    pub pid: Option<u32>,
}

impl LeftBehind {
    fn because(reason: String) -> LeftBehind {
        LeftBehind { path: PathBuf::new(), reason, pid: None }
    }
}

/// How long removed clones are kept.
#[derive(Clone, Copy, Debug)]
pub struct Keeping {
    /// The number of days; `None` is what was said at the removal.
    pub days: Option<u64>,
    /// The size of all of them in bytes; beyond it the oldest are deleted earlier.
    pub size: u64,
}

impl Keeping {
    /// Returns what the settings of a repository say.
    pub fn of(settings: &Settings) -> Keeping {
        Keeping { days: Some(settings.keep_removed_days), size: settings.keep_removed_size }
    }

    /// Does the same for a command that was not asked to delete anything: the days are those that were said.
    pub fn as_said(settings: &Settings) -> Keeping {
        Keeping { days: None, ..Keeping::of(settings) }
    }
}

/// The removed clones after a look at them.
#[derive(Clone, Debug, Default)]
pub struct SweptClones {
    /// Those that were deleted, or would be.
    pub deleted: Vec<KeptFolder>,
    /// Those that are kept.
    pub kept: Vec<KeptFolder>,
    /// Those whose time is over, and that could not be deleted.
    pub left: Vec<LeftBehind>,
}

/// Deletes the removed clones whose days are over, also where a process died that did it. Those of this hub are kept as
/// long as its settings say, others as was said at their removal. In a dry run, only lists them.
pub fn sweep(
    world: &World,
    root: &SharedRoot,
    here: Option<(&Path, Keeping)>,
    dry_run: bool,
) -> SweptClones {
    let (now, mut swept, mut total) = (world.now(), SweptClones::default(), 0_u64);
    let clones = kept_clone::list(root, None);
    // An agent may have written the size of its own: before others are deleted for it, all are measured.
    let recorded_size = |hub: &Path| {
        let own = clones.iter().filter(|clone| clone.member.hub == hub);
        own.fold(0_u64, |sum, clone| sum.saturating_add(clone.size))
    };
    let is_large = here.is_some_and(|(hub, keeping)| recorded_size(hub) > keeping.size);
    // The newest first: those that make the sum too large are older.
    for clone in clones.into_iter().rev() {
        let own = here.filter(|(hub, _)| clone.member.hub == *hub);
        let size = if is_large { clone.measured_size() } else { clone.size };
        total = own.map_or(total, |_| size.saturating_add(total));
        let days = own.and_then(|(_, keeping)| keeping.days).unwrap_or(clone.keep_days);
        let is_too_much = own.is_some_and(|(_, keeping)| total > keeping.size);
        let folder = KeptFolder::of(&clone, days);
        if !is_too_much && !clone.is_over(&now, days) {
            swept.kept.push(folder);
        } else if dry_run {
            swept.deleted.push(folder);
        } else if let Ok(_turn) = removal_lock::take_free_turn(world, &clone.member) {
            // Another process may have been faster.
            if clone.folder.is_dir() {
                match delete(world, root, clone) {
                    None => swept.deleted.push(folder),
                    Some(left) => swept.left.push(left),
                }
            }
        }
    }
    if !dry_run {
        removal_lock::sweep(root);
    }
    swept
}

/// Lists the folders beside the removed clones that nobody deletes, and why.
pub fn others(root: &SharedRoot) -> Vec<LeftBehind> {
    let why = |path: &Path| {
        if path.join(".git").exists() {
            "its record cannot be read"
        } else {
            "another process wrote it at the path of a removed clone"
        }
    };
    let others = kept_clone::others(root).into_iter();
    others.map(|path| LeftBehind { reason: why(&path).to_owned(), pid: None, path }).collect()
}

impl KeptFolder {
    /// Describes a removed clone that is kept for that many days.
    pub(in crate::agents) fn of(clone: &KeptClone, days: u64) -> KeptFolder {
        let days = chrono::TimeDelta::try_days(i64::try_from(days).unwrap_or(i64::MAX));
        let end = |removed: Moment| removed.checked_add_signed(days?);
        let until = time::parse_rfc3339(&clone.removed_at).and_then(end);
        KeptFolder {
            agent: clone.member.agent.clone(),
            path: clone.folder.clone(),
            removed_at: clone.removed_at.clone(),
            until: until.as_ref().map(time::rfc3339).unwrap_or_default(),
            size: clone.size,
        }
    }
}

/// Keeps a removed clone once more and deletes it; returns the rest of it, and why. The caller has its lock.
pub(in crate::agents) fn delete(
    world: &World,
    root: &SharedRoot,
    clone: KeptClone,
) -> Option<LeftBehind> {
    let path = clone.folder.clone();
    match attempt(world, root, clone) {
        Ok(left) => left,
        Err(error) => Some(LeftBehind { path, reason: error.message(), pid: None }),
    }
}

fn attempt(world: &World, root: &SharedRoot, clone: KeptClone) -> Result<Option<LeftBehind>> {
    if let Some(left) = in_use(world, &clone)? {
        return Ok(Some(LeftBehind { path: clone.out_of_trash(root)?.folder, ..left }));
    }
    let clone = clone.into_trash(world, root)?;
    let why = match in_use(world, &clone)? {
        None => match keep_again(world, &clone) {
            Err(error) if world.is_dead() => return Err(error),
            kept => kept.unwrap_or_else(|error| Some(error.message())).map(LeftBehind::because),
        },
        user => user,
    };
    if let Some(left) = why {
        return Ok(Some(LeftBehind { path: clone.out_of_trash(root)?.folder, ..left }));
    }
    world.reach("clone-kept-again")?;
    let folder = clone.folder.clone();
    let rest = match clone.delete(world, root) {
        Err(error) if !world.is_dead() => {
            let left = LeftBehind::because(error.message());
            return Ok(Some(LeftBehind { path: folder, ..left }));
        }
        deleted => deleted?,
    };
    Ok(rest.map(|path| {
        let reason = "some of it may not be deleted".to_owned();
        LeftBehind { path, reason, pid: None }
    }))
}

/// Returns why a folder must not be deleted now: a process is in it, or another file system.
fn in_use(world: &World, clone: &KeptClone) -> Result<Option<LeftBehind>> {
    let left = |reason, pid| LeftBehind { path: clone.folder.clone(), reason, pid };
    if let Some(other) = agent_removal::other_worktree(world, &clone.folder) {
        let reason = format!("'{}' is another worktree of it", other.display());
        return Ok(Some(left(reason, None)));
    }
    if let Some(mounted) = mount_points::first_in(&clone.folder) {
        let reason = format!("'{}' is another file system", mounted.display());
        return Ok(Some(left(reason, None)));
    }
    let user = clone.held_by(world)?;
    Ok(user.map(|user| {
        let reason = format!("'{}' (process {}) still uses it", user.command, user.pid);
        left(reason, Some(user.pid))
    }))
}

/// Keeps the changes since the removal; returns the reason if something cannot be kept and must not be
/// deleted.
pub(in crate::agents) fn keep_again(world: &World, clone: &KeptClone) -> Result<Option<String>> {
    let open = |writes| Session::open_foreign(world, &clone.folder, writes);
    let mut inside = open(ObjectWrites::Durable)?;
    let filters = FailingFilter::if_forced(clone.lets_go);
    inside.repo.look_at_hidden_files(&inside.world)?;
    if clone.member.role == Role::Agent {
        let mut in_memory = open(ObjectWrites::InMemory)?;
        let kept =
            filters.run(&mut in_memory, |session| checkpoint::create(session, &last_state()))?;
        if let Some(lost) = kept.left_out.first().filter(|_| !clone.lets_go) {
            return Ok(Some(format!("no checkpoint includes '{}'", lost.path)));
        }
        let present = in_memory.repo.scan(&in_memory.world)?.submodules;
        let own = agent_removal::own_repositories(&in_memory.world, &in_memory.repo, &present);
        if let Some(lost) = own.first().filter(|_| !clone.lets_go) {
            return Ok(Some(format!("'{}' has commits of its own", lost.display())));
        }
        // A state that cannot be compared is kept once more.
        let report = automatic::create(&in_memory, "");
        if !report.is_ok_and(|report| report.reason.is_some()) {
            filters.run(&mut inside, |session| checkpoint::create(session, &last_state()))?;
        }
    } else if !clone.lets_go && inside.repo.scan(&inside.world)?.count_uncommitted() > 0 {
        return Ok(Some("it was edited".to_owned()));
    }
    clone.keep(world, &inside.repo)?;
    Ok(None)
}

/// What to do if a filter of the user fails.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::agents) enum FailingFilter {
    /// Fail.
    Refuses,
    /// Look at every file as it is on disk, with a warning.
    IsPassedOver,
}

impl FailingFilter {
    /// Returns what it means for a removal that is forced, or not.
    pub(in crate::agents) fn if_forced(force: bool) -> FailingFilter {
        if force { FailingFilter::IsPassedOver } else { FailingFilter::Refuses }
    }

    /// Runs a task on a clone; again without filters where one fails and is passed over.
    pub(in crate::agents) fn run<T>(
        self,
        inside: &mut Session,
        task: impl Fn(&Session) -> Result<T>,
    ) -> Result<T> {
        match task(inside) {
            Err(error)
                if matches!(error.code(), Code::FilterFailed | Code::FilterMissing)
                    && self == FailingFilter::IsPassedOver =>
            {
                let message = error.message();
                (inside.world.narrate)(&format!("warning: {message}; files are kept unfiltered"));
                inside.repo.pass_over_filters()?;
                task(inside)
            }
            outcome => outcome,
        }
    }
}

/// Returns the checkpoint of a clone before its deletion, off the branch.
pub(in crate::agents) fn last_state() -> checkpoint::Request {
    checkpoint::Request {
        label: Some("uncommitted when the clone was removed".to_owned()),
        rationale: String::new(),
        off_branch: true,
        allowances: Allowances::default(),
    }
}
