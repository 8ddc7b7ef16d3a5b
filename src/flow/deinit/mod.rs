//! Removes git-colony from a repository: afterward git sees no trace of it.
//!
//! Not an operation: it ends the operation log. Each step may be repeated, so the next run
//! completes an interrupted one. The tree and its history belong to the user and stay.

mod in_words;
mod leftovers;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::hub::publish;
use crate::design::checkpoint::checkpoint_refs;
use crate::git::attributes::AttributesOf;
use crate::git::lfs::lfs_pointer::Pointer;
use crate::git::refs::ReflogReason;
use crate::git::{ObjectWrites, Oid, RefChange, RefName, Repo};
use crate::lfs::install;
use crate::lfs::store_url::{self, StoreUrl};
use crate::model::{Code, Error, Result, text};
use crate::setup::hooks::{self, Act, HookState, HookStatus, Target};
use crate::setup::{info_attributes, merge_drivers};
use crate::store::Session;
use crate::store::files::config_file::ConfigFile;
use crate::store::files::places::Places;
use crate::store::files::{atomic, moved_aside};
use crate::store::large_files::retained_objects;
use crate::store::lock::WorktreeLock;
use crate::store::membership::Role;
use crate::store::operation::recover;
use crate::store::refs::{own_refs, ref_names};

use in_words::{attribute_lines, named_checkpoints, unguarded};
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
///
/// # Errors
/// `kept-files` if files that were moved aside would be deleted without `force`, which a dry run
/// only reports; `locked`, `recovery-needed`; `io`. Only the last may leave changes.
pub fn deinit(session: &Session, request: Request) -> Result<DeinitReport> {
    if !session.is_dry() {
        recover_first(session)?;
    }
    let before = FoundSetup::look(session, request)?;
    if session.is_dry() {
        let hooks = hook_lines(&before.hooks);
        return Ok(before.report_with(hooks));
    }
    if before.report.needs_force {
        return Err(refuse_kept_files(before.kept_files));
    }
    let lock = WorktreeLock::take(&session.world, &session.repo, session.lock_timeout())?;
    ConfigFile::of_repository(&session.repo).refuse_locked()?;
    if before.lfs_goes {
        install::uninstall_filters(session)?;
    }
    drop(lock);
    // The previous hooks are recorded in our folder, so hooks are removed while it exists.
    let mut left = Vec::new();
    for (target, _) in &before.hooks {
        left.extend(hooks::install::run(session, Act::Uninstall, *target)?.left);
    }
    let lock = WorktreeLock::take(&session.world, &session.repo, session.lock_timeout())?;
    if let Some(places) = Places::find(&session.repo)? {
        recover::recover(session, &places)?;
    }
    let found = FoundSetup::look(session, request)?;
    if found.report.needs_force {
        // Another command has moved files aside since.
        return Err(refuse_kept_files(found.kept_files));
    }
    if found.lfs_goes {
        install::uninstall(session)?;
    }
    if found.store_url_goes {
        store_url::follow(session, None)?;
    }
    info_attributes::remove(&session.repo)?;
    merge_drivers::remove(session)?;
    super::init::forget_shown(session)?;
    found.remove_settings(session)?;
    if request.depth == Depth::Everything {
        found.delete_refs(session)?;
        publish::withdraw(session)?;
        atomic::remove_folder(&retained_objects::pool_of(&session.repo))?;
        atomic::remove_folder(&Places::kept_in(session.repo.common_dir()))?;
        for folder in &found.folders {
            atomic::remove_folder(folder)?;
        }
    }
    drop(lock);
    // The hooks were removed after the first scan.
    let mut report = found.report_with(hook_lines(&before.hooks));
    let left = left
        .iter()
        .map(|path| format!("{path}: not as we wrote it"));
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

/// The parts that can be removed.
struct FoundSetup {
    hooks: Vec<(Target, Vec<String>)>,
    lfs_goes: bool,
    /// Whether the store of large files that the manifest named is removed from the configuration.
    store_url_goes: bool,
    /// The keys of our settings to remove, as git lists them.
    settings: Vec<String>,
    refs: Vec<(RefName, Oid)>,
    folders: Vec<PathBuf>,
    kept_files: usize,
    /// The parts to remove beside the hooks, as text.
    removed: Vec<String>,
    report: DeinitReport,
}

impl FoundSetup {
    fn look(session: &Session, request: Request) -> Result<FoundSetup> {
        let mut found = FoundSetup {
            hooks: installed_hooks(session)?,
            lfs_goes: false,
            store_url_goes: false,
            settings: settings(session)?,
            refs: Vec::new(),
            folders: Vec::new(),
            kept_files: 0,
            removed: Vec::new(),
            report: DeinitReport {
                removed: Vec::new(),
                stays: Vec::new(),
                left: Vec::new(),
                needs_force: false,
                dry_run: session.is_dry(),
            },
        };
        let calls_lfs = session.repo.config(install::CALL_FROM_OUR_HOOKS).is_some();
        let pointers = tracked_pointers(session)?;
        found.lfs_goes = install::is_ours(&session.repo) && pointers == 0;
        if let StoreUrl::Ours(url) = StoreUrl::look(session)? {
            found.look_at_store(&url, pointers);
        }
        let keeps_hooks = calls_lfs && pointers > 0 && found.has_hooks_of_git();
        if keeps_hooks {
            found.keep_hooks_of_git();
        }
        found.look_at_setup(session, pointers);
        found.look_at_records(session, request)?;
        if keeps_hooks {
            // The previous hooks are recorded there.
            found.folders.clear();
        }
        Ok(found)
    }

    /// Returns the report, with these lines about hooks first.
    fn report_with(self, hooks: Vec<String>) -> DeinitReport {
        DeinitReport {
            removed: hooks.into_iter().chain(self.removed).collect(),
            ..self.report
        }
    }

    fn has_hooks_of_git(&self) -> bool {
        self.hooks.iter().any(|(target, _)| *target == Target::Git)
    }

    /// Without it the large files of the tree could not be found.
    fn look_at_store(&mut self, url: &str, pointers: usize) {
        self.store_url_goes = pointers == 0;
        let what = format!("{} = {url}", store_url::KEY);
        if self.store_url_goes {
            let record = store_url::RECORD;
            self.settings
                .retain(|name| !name.eq_ignore_ascii_case(record));
            self.removed.push(what);
        } else {
            let files = text::count(pointers, "file");
            self.report
                .stays
                .push(format!("{what}: {files} of the tree may be there"));
        }
    }

    /// Without them a push would publish pointers without objects.
    fn keep_hooks_of_git(&mut self) {
        self.hooks.retain(|(target, _)| *target != Target::Git);
        let key = install::CALL_FROM_OUR_HOOKS;
        self.settings.retain(|name| !name.eq_ignore_ascii_case(key));
        let why = format!("hooks of git and {key}: they call git-lfs, which the tree needs");
        self.report.stays.push(why);
    }

    /// Deletes the refs, even if no operation was ever made here.
    fn delete_refs(&self, session: &Session) -> Result<()> {
        if let Some(places) = Places::find(&session.repo)? {
            return recover::delete_refs(session, &places, &self.refs, "deinit");
        }
        let delete = |(name, old): &(RefName, Oid)| RefChange {
            name: name.clone(),
            old: Some(*old),
            new: None,
        };
        let changes: Vec<_> = self.refs.iter().map(delete).collect();
        let why = ReflogReason {
            text: "colony: deinit",
            who: &session.record_signature(),
            operation: "deinit",
        };
        own_refs::move_refs(session, &changes, &why)
    }

    fn remove_settings(&self, session: &Session) -> Result<()> {
        let whole = settings(session)?.len() == self.settings.len();
        let mut changes: Vec<(&str, &str)> = Vec::new();
        for key in &self.settings {
            let section = key.rsplit_once('.').map(|(section, _)| section);
            changes.push(match section {
                // git cannot remove a section with this in its name, but it can remove its values.
                Some(section) if whole && !section.contains(']') => ("--remove-section", section),
                _ => ("--unset-all", key),
            });
        }
        changes.dedup();
        for (how, name) in changes {
            let file = ConfigFile::of_repository(&session.repo);
            file.change(&session.repo, &session.world, &[how, name])?;
        }
        Ok(())
    }

    fn look_at_setup(&mut self, session: &Session, pointers: usize) {
        let (removed, report) = (&mut self.removed, &mut self.report);
        if install::is_ours(&session.repo) {
            if self.lfs_goes {
                removed.push("git-lfs: filters and hooks".to_owned());
            } else {
                report.stays.push(format!(
                    "git-lfs: {} of the tree would be unreadable without it",
                    text::count(pointers, "file")
                ));
            }
        }
        if info_attributes::is_there(&session.repo) {
            removed.push("lines in info/attributes".to_owned());
        }
        // A problem that prevents reading is reported when they are removed.
        let drivers = merge_drivers::installed(session).unwrap_or_default();
        if !drivers.is_empty() {
            removed.push(text::count(drivers.len(), "merge driver"));
        }
        if !self.settings.is_empty() {
            removed.push("settings colony.* of this repository".to_owned());
        }
        if session.repo.workdir().join(".colony").exists() {
            report
                .stays
                .push(".colony/ in the tree: git rm -r .colony removes it".to_owned());
        }
        report.stays.extend(attribute_lines(session, self.lfs_goes));
    }

    fn look_at_records(&mut self, session: &Session, request: Request) -> Result<()> {
        let repo = &session.repo;
        let private = repo.refs_below("refs/colony-local/")?;
        let mut tags = Vec::new();
        for place in ref_names::CHECKPOINT_PLACES {
            tags.extend(repo.refs_below(place)?);
        }
        let (tags, of_user): (Vec<_>, Vec<_>) = tags
            .into_iter()
            .partition(|tag| checkpoint_refs::is_own(repo, tag));
        let names = of_user.iter().map(|tag| tag.name.short());
        let stay = names.map(|name| format!("'{name}': git-colony did not create it"));
        self.report.stays.extend(stay);
        let kept = moved_aside::list(&Places::kept_in(repo.common_dir())).len();
        let counted = [(private.len(), "private ref"), (kept, "kept file")]
            .into_iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, noun)| text::count(number, noun));
        let words: Vec<String> = counted.chain(named_checkpoints(repo, &tags)?).collect();
        if request.depth == Depth::Settings {
            let stay = words.into_iter();
            let line = |what| format!("{what}: removed with --purge");
            self.report.stays.extend(stay.map(line));
            return Ok(());
        }
        self.kept_files = kept;
        self.report.needs_force = kept > 0 && !request.force;
        self.removed.extend(words);
        let member = session
            .membership
            .as_ref()
            .filter(|member| member.role == Role::Desk);
        self.removed.extend(member.map(|member| {
            let hub = member.hub.display();
            format!("the part of this checkout in the hub '{hub}', with its published refs")
        }));
        self.report.left = leftovers::look(session, self.lfs_goes)?;
        self.removed.extend(unguarded(session));
        let all = private.into_iter().chain(tags);
        self.refs = all.map(|found| (found.name, found.id)).collect();
        self.folders = folders(session);
        Ok(())
    }
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
    let _lock = WorktreeLock::take(&session.world, &session.repo, session.lock_timeout())?;
    match Places::find(&session.repo)? {
        Some(places) => recover::recover(session, &places),
        None => Ok(()),
    }
}

fn installed_hooks(session: &Session) -> Result<Vec<(Target, Vec<String>)>> {
    let status = hooks::status(session)?;
    let lines = |target: Target| {
        let name = target.as_str();
        let there = |hook: &&HookStatus| match hook.state {
            HookState::NotInstalled => false,
            // An entry of the user with our name stays.
            HookState::Edited => !hook.is_server(),
            _ => true,
        };
        let ours = status.hooks.iter().filter(|hook| hook.target == name);
        let (servers, hooks): (Vec<_>, Vec<_>) = ours.filter(there).partition(|h| h.is_server());
        let hooks = Some(hooks.len())
            .filter(|count| *count > 0)
            .map(|count| format!("{} of {name}", text::count(count, "hook")));
        let servers = servers.iter().map(|_| format!("MCP server of {name}"));
        hooks.into_iter().chain(servers).collect()
    };
    let listed = Target::ALL
        .into_iter()
        .map(|target| (target, lines(target)));
    let is_to_do = |(target, lines): &(Target, Vec<String>)| {
        !lines.is_empty() || hooks::install::is_recorded(session, *target)
    };
    Ok(listed.filter(is_to_do).collect())
}

/// Lists the keys of our settings in the configuration of this repository.
fn settings(session: &Session) -> Result<Vec<String>> {
    if !install::has_section(session, "colony")? {
        return Ok(Vec::new());
    }
    let mut git = session.repo.git(&session.world);
    let listed = git
        .args(["config", "--local", "--name-only", "-z", "--get-regexp"])
        .arg("^colony\\.")
        .run_checked("read the settings of git-colony")?;
    let text = String::from_utf8_lossy(&listed).into_owned();
    let mut keys: Vec<String> = text
        .split('\0')
        .filter(|key| !key.is_empty())
        .map(str::to_owned)
        .collect();
    keys.sort();
    keys.dedup();
    Ok(keys)
}

fn tracked_pointers(session: &Session) -> Result<usize> {
    let index = session.repo.load_index()?;
    let files = session
        .repo
        .filtered_files(&index, "lfs", AttributesOf::Worktree)?;
    let pointers = files
        .iter()
        .filter(|file| Pointer::of_blob(&session.repo, file.id).is_some());
    Ok(pointers.count())
}

/// Lists our folders: the shared one and those of the worktrees, the current one last.
fn folders(session: &Session) -> Vec<PathBuf> {
    let common = session.repo.common_dir();
    let worktrees = std::fs::read_dir(common.join("worktrees"));
    let mut found: Vec<PathBuf> = worktrees
        .into_iter()
        .flatten()
        .flatten()
        .map(|worktree| worktree.path().join("colony"))
        .collect();
    found.push(common.join("colony"));
    found.retain(|folder| folder.exists() && *folder != session.repo.git_dir().join("colony"));
    found.push(session.repo.git_dir().join("colony"));
    found
}
