//! Removes git-colony from a repository: afterward git sees no trace of it.
//!
//! Not an operation: it ends the operation log. Each step may be repeated, so the next run
//! completes an interrupted one. The tree and its history belong to the user and stay.

mod found_setup;
mod in_words;
mod leftovers;

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::hub::publish;
use crate::design::submodule::unused_states;
use crate::git::{ObjectWrites, Repo};
use crate::lfs::store_url;
use crate::lfs::uninstall;
use crate::model::{Code, Error, Result, text};
use crate::setup::hooks::{self, HookChange, Target};
use crate::setup::{info_attributes, merge_drivers};
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::files::config_file::ConfigFile;
use crate::store::files::places::Places;
use crate::store::large_files::retained_objects;
use crate::store::lock::WorktreeLock;
use crate::store::operation::recover;

use found_setup::FoundSetup;
pub use leftovers::Leftover;

/// The extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Hooks, configuration and caches; checkpoints and kept files stay.
    Settings,
    /// Operations, the files they moved aside, and checkpoints as well.
    Everything,
}

/// The options of a deinit.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The extent.
    pub depth: Depth,
    /// Continue although files that were moved aside are deleted with their operations.
    pub force: bool,
}

/// The parts that were removed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DeinitReport {
    /// The parts that were removed, as text.
    pub removed: Vec<String>,
    /// The parts that stay, and why.
    pub stays: Vec<String>,
    /// The parts that a purge leaves, each with the command that deletes it.
    pub left: Vec<Leftover>,
    /// Whether it is refused without `force`, because files that were moved aside would be deleted.
    pub needs_force: bool,
    /// True if nothing was done because of a dry run.
    pub dry_run: bool,
}

/// Removes git-colony; in a dry run, only plans that.
pub fn deinit(session: &Session, request: Request) -> Result<DeinitReport> {
    if !session.is_dry() {
        recover_first(session)?;
    }
    let before = FoundSetup::read(session, request)?;
    if session.is_dry() {
        let hooks = hook_lines(&before.hooks);
        return Ok(before.report_with(hooks));
    }
    if before.report.needs_force {
        return Err(refuse_kept_files(before.kept_files));
    }
    let lock = WorktreeLock::take(&session.world, &session.repo, session.wait_limit())?;
    ConfigFile::of_repository(&session.repo).refuse_locked()?;
    if before.lfs_goes {
        uninstall::uninstall_filters(session)?;
    }
    drop(lock);
    // The previous hooks are recorded in our folder, so hooks are removed while it exists.
    let mut left = Vec::new();
    for (target, _) in &before.hooks {
        left.extend(hooks::install::run(session, HookChange::Uninstall, *target)?.left);
    }
    let lock = WorktreeLock::take(&session.world, &session.repo, session.wait_limit())?;
    if let Some(places) = Places::find(&session.repo)? {
        recover::recover(session, &places)?;
    }
    let setup = FoundSetup::read(session, request)?;
    if setup.report.needs_force {
        // Another command has moved files aside since.
        return Err(refuse_kept_files(setup.kept_files));
    }
    if setup.lfs_goes {
        uninstall::uninstall(session)?;
    }
    if setup.store_url_goes {
        store_url::follow(session, None)?;
    }
    info_attributes::remove(&session.repo)?;
    merge_drivers::remove(session)?;
    crate::init::forget_shown(session)?;
    setup.remove_settings(session)?;
    if request.depth == Depth::Everything {
        unused_states::forget_all(session)?;
        setup.delete_refs(session)?;
        publish::withdraw(session)?;
        atomic::remove_folder(&retained_objects::pool_of(&session.repo))?;
        atomic::remove_folder(&Places::kept_in(session.repo.common_dir()))?;
        for folder in &setup.folders {
            atomic::remove_folder(folder)?;
        }
    }
    drop(lock);
    // The hooks were removed after the first scan.
    let mut report = setup.report_with(hook_lines(&before.hooks));
    let left = left.iter().map(|path| format!("{path}: not as we wrote it"));
    report.stays.extend(left);
    Ok(report)
}

fn hook_lines(hooks: &[(Target, Vec<String>)]) -> Vec<String> {
    hooks.iter().flat_map(|(_, lines)| lines.clone()).collect()
}

fn refuse_kept_files(kept: usize) -> Error {
    Error::new(
        Code::KeptFiles,
        format!(
            "{} that operations moved aside would be permanently deleted",
            text::count(kept, "file")
        ),
    )
    .hint("git colony ops   # 'ops show OP' shows where they are; --force deletes them")
}

/// Finishes an interrupted operation here: it may move files aside that must be counted. In another
/// worktree a command there does that.
fn recover_first(session: &Session) -> Result<()> {
    for other in session.repo.other_worktrees() {
        let world = session.world.standing_in(&other.root);
        let Ok(repo) = Repo::open(&world, ObjectWrites::InMemory) else {
            continue;
        };
        let places = Places::find(&repo)?;
        let pending = places.map(|places| recover::pending(&places)).transpose()?;
        if pending.flatten().is_some() {
            let root = other.root.display().to_string();
            return Err(Error::new(
                Code::RecoveryNeeded,
                format!("an operation was interrupted in '{root}'"),
            )
            .unchanged()
            .detail("worktree", &root)
            .hint(format!(
                "git -C {} colony checkpoint --auto   # finishes it",
                text::shell_word(&root)
            )));
        }
    }
    let _lock = WorktreeLock::take(&session.world, &session.repo, session.wait_limit())?;
    match Places::find(&session.repo)? {
        Some(places) => recover::recover(session, &places),
        None => Ok(()),
    }
}
