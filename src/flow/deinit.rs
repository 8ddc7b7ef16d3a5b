//! Taking git-colony out of a repository: afterward git cannot tell that it was there.
//!
//! Not an operation: it ends the log. Each step may be repeated, so a run that was cut off is
//! completed by the next one. The tree and its history are the user's and stay.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::attributes::AttributesOf;
use crate::git::lfs_pointer::Pointer;
use crate::git::{Oid, RefName};
use crate::lfs::install;
use crate::model::{Code, Error, Result, text};
use crate::setup::hooks::{self, Act, HookState, Target};
use crate::setup::info_attributes;
use crate::store::config_file::ConfigFile;
use crate::store::lock::WorktreeLock;
use crate::store::operation::recover;
use crate::store::places::Places;
use crate::store::{Session, atomic, ref_names};

/// How much goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Hooks, configuration and caches; what was kept stays.
    Settings,
    /// Operations, what they moved aside, and checkpoints as well.
    Everything,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// How much goes.
    pub depth: Depth,
    /// Go on although files that were moved aside are deleted with their operations.
    pub force: bool,
}

/// What was taken out.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DeinitReport {
    /// What was taken out, in words.
    pub removed: Vec<String>,
    /// What stays, and why.
    pub stays: Vec<String>,
    /// True when nothing was done because a dry run was asked for.
    pub dry_run: bool,
}

/// Takes git-colony out.
///
/// # Errors
/// `kept-files` when files that were moved aside would be deleted without `force`; `locked`,
/// `recovery-needed`; `io`. None but the last changes anything.
pub fn deinit(session: &Session, request: Request) -> Result<DeinitReport> {
    let found = Found::look(session, request)?;
    let lock = WorktreeLock::take(&session.world, &session.repo, session.lock_timeout())?;
    ConfigFile::of_repository(&session.repo).refuse_locked()?;
    if found.lfs_goes {
        install::uninstall_filters(session)?;
    }
    drop(lock);
    // What was there before is noted in our folder, so hooks go while it is there.
    for (target, _) in &found.hooks {
        hooks::install::run(session, Act::Uninstall, *target)?;
    }
    let lock = WorktreeLock::take(&session.world, &session.repo, session.lock_timeout())?;
    if let Some(places) = Places::find(&session.repo)? {
        recover::recover(session, &places)?;
    }
    let found = Found::look(session, request)?;
    if found.lfs_goes {
        install::uninstall(session)?;
    }
    info_attributes::remove(&session.repo)?;
    if found.has_configuration {
        let mut git = session.repo.git(&session.world);
        git.args(["config", "--local", "--remove-section", "colony"])
            .run_checked("remove the settings of git-colony")?;
    }
    if request.depth == Depth::Everything {
        if let Some(places) = Places::find(&session.repo)? {
            recover::delete_refs(session, &places, &found.refs, "deinit")?;
        }
        atomic::remove_folder(&session.repo.common_dir().join("colony-kept"))?;
        for folder in &found.folders {
            atomic::remove_folder(folder)?;
        }
    }
    drop(lock);
    Ok(found.report)
}

/// Tells what [`deinit`] would do, and changes nothing.
///
/// # Errors
/// As [`deinit`].
pub fn preview(session: &Session, request: Request) -> Result<DeinitReport> {
    let mut report = Found::look(session, request)?.report;
    report.dry_run = true;
    Ok(report)
}

/// How our part of git's configuration is called.
const SETTINGS: &str = "settings colony.*";

/// What is there to take out.
struct Found {
    hooks: Vec<(Target, usize)>,
    lfs_goes: bool,
    has_configuration: bool,
    refs: Vec<(RefName, Oid)>,
    folders: Vec<PathBuf>,
    report: DeinitReport,
}

impl Found {
    fn look(session: &Session, request: Request) -> Result<Found> {
        let mut found = Found {
            hooks: installed_hooks(session)?,
            lfs_goes: false,
            has_configuration: install::has_section(session, "colony")?,
            refs: Vec::new(),
            folders: Vec::new(),
            report: DeinitReport {
                removed: Vec::new(),
                stays: Vec::new(),
                dry_run: false,
            },
        };
        found.look_at_setup(session)?;
        found.look_at_records(session, request)?;
        let has_hooks = found.hooks.iter().any(|(target, _)| *target == Target::Git);
        let calls_lfs = session.repo.config(install::CALL_FROM_OUR_HOOKS).is_some();
        let has_to_call = has_hooks && calls_lfs && !found.lfs_goes;
        if has_to_call && tracked_pointers(session)? > 0 {
            found.keep_hooks_of_git();
        }
        Ok(found)
    }

    /// Without them a push would publish pointers without objects.
    fn keep_hooks_of_git(&mut self) {
        self.hooks.retain(|(target, _)| *target != Target::Git);
        let goes = |what: &String| !what.ends_with("of git") && !what.starts_with(SETTINGS);
        self.report.removed.retain(goes);
        self.has_configuration = false;
        self.folders.clear();
        let why = "hooks of git: they call git-lfs, which the tree needs";
        self.report.stays.push(why.to_owned());
    }

    fn look_at_setup(&mut self, session: &Session) -> Result<()> {
        let report = &mut self.report;
        for (target, count) in self.hooks.iter().filter(|(_, count)| *count > 0) {
            let hooks = text::count(*count, "hook");
            report
                .removed
                .push(format!("{hooks} of {}", target.as_str()));
        }
        if install::is_ours(&session.repo) {
            let pointers = tracked_pointers(session)?;
            self.lfs_goes = pointers == 0;
            if self.lfs_goes {
                report.removed.push("git-lfs: filters and hooks".to_owned());
            } else {
                report.stays.push(format!(
                    "git-lfs: {} of the tree would be unreadable without it",
                    text::count(pointers, "file")
                ));
            }
        }
        if info_attributes::is_there(&session.repo) {
            report.removed.push("lines in info/attributes".to_owned());
        }
        if self.has_configuration {
            report
                .removed
                .push(format!("{SETTINGS} of this repository"));
        }
        if session.repo.workdir().join(".colony").exists() {
            report
                .stays
                .push(".colony/ in the tree: git rm -r .colony takes it out".to_owned());
        }
        Ok(())
    }

    fn look_at_records(&mut self, session: &Session, request: Request) -> Result<()> {
        let repo = &session.repo;
        let private = repo.refs_below("refs/colony-local/")?;
        let tags = repo.refs_below(ref_names::CHECKPOINTS)?;
        let kept = kept_files(&repo.common_dir().join("colony-kept"));
        let counted = [
            (private.len(), "private ref"),
            (tags.len(), "checkpoint"),
            (kept, "kept file"),
        ];
        let counted = counted.iter().filter(|(number, _)| *number > 0);
        let words: Vec<String> = counted
            .map(|(number, noun)| text::count(*number, noun))
            .collect();
        if request.depth == Depth::Settings {
            let stay = words.into_iter();
            let line = |what| format!("{what}: --purge takes it out");
            self.report.stays.extend(stay.map(line));
            return Ok(());
        }
        if kept > 0 && !request.force {
            return Err(Error::new(
                Code::KeptFiles,
                format!(
                    "{} that operations moved aside would be deleted for good; nothing has changed",
                    text::count(kept, "file")
                ),
            )
            .hint("git colony ops   # 'ops show OP' says where they are; --force deletes them"));
        }
        self.report.removed.extend(words);
        let all = private.into_iter().chain(tags);
        self.refs = all.map(|found| (found.name, found.id)).collect();
        self.folders = folders(session);
        Ok(())
    }
}

fn installed_hooks(session: &Session) -> Result<Vec<(Target, usize)>> {
    let status = hooks::status(session)?;
    let there = |target: &Target| {
        let ours = status
            .hooks
            .iter()
            .filter(|hook| hook.target == target.as_str() && hook.state != HookState::NotInstalled);
        ours.count()
    };
    let counted = Target::ALL
        .into_iter()
        .map(|target| (target, there(&target)));
    let is_to_do = |(target, count): &(Target, usize)| {
        *count > 0 || hooks::install::is_recorded(session, *target)
    };
    Ok(counted.filter(is_to_do).collect())
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

/// Counts the files that operations moved aside; the copies of the index are not the user's.
fn kept_files(folder: &std::path::Path) -> usize {
    let below = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten();
    below(folder.to_owned())
        .flat_map(|worktree| below(worktree.path()))
        .flat_map(|operation| below(operation.path()))
        .filter(|file| file.file_name() != "index")
        .count()
}

/// Lists our folders: the shared one and that of every worktree, this one's last.
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
