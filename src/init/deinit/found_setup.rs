//! The parts of git-colony in a repository that can be removed, and why others stay.

use std::path::PathBuf;

use crate::design::checkpoint::checkpoint_refs;
use crate::git::attributes::AttributesOf;
use crate::git::lfs::lfs_pointer::Pointer;
use crate::git::refs::ReflogReason;
use crate::git::{Oid, RefChange, RefName};
use crate::lfs::install;
use crate::lfs::store_url::{self, StoreUrl};
use crate::lfs::uninstall;
use crate::model::{Result, text};
use crate::setup::hooks::{self, HookState, HookStatus, Target};
use crate::setup::{info_attributes, merge_drivers};
use crate::store::Session;
use crate::store::files::config_file::ConfigFile;
use crate::store::files::moved_aside;
use crate::store::files::places::Places;
use crate::store::membership::Role;
use crate::store::operation::recover;
use crate::store::refs::{own_refs, ref_names};

use super::in_words::{attribute_lines, named_checkpoints, unguarded};
use super::{DeinitReport, Depth, Request, leftovers};

/// The parts that can be removed.
pub(super) struct FoundSetup {
    pub(super) hooks: Vec<(Target, Vec<String>)>,
    pub(super) lfs_goes: bool,
    /// Whether the store of large files that the manifest named is removed from the configuration.
    pub(super) store_url_goes: bool,
    /// The keys of our settings to remove, as git lists them.
    settings: Vec<String>,
    refs: Vec<(RefName, Oid)>,
    pub(super) folders: Vec<PathBuf>,
    pub(super) kept_files: usize,
    /// The parts to remove beside the hooks, as text.
    removed: Vec<String>,
    pub(super) report: DeinitReport,
}

impl FoundSetup {
    pub(super) fn read(session: &Session, request: Request) -> Result<FoundSetup> {
        let mut setup = FoundSetup {
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
        setup.lfs_goes = uninstall::is_ours(&session.repo) && pointers == 0;
        if let StoreUrl::Ours(url) = StoreUrl::read(session)? {
            setup.look_at_store(&url, pointers);
        }
        let keeps_hooks = calls_lfs && pointers > 0 && setup.has_hooks_of_git();
        if keeps_hooks {
            setup.keep_hooks_of_git();
        }
        setup.look_at_setup(session, pointers);
        setup.look_at_records(session, request)?;
        if keeps_hooks {
            // The previous hooks are recorded there.
            setup.folders.clear();
        }
        Ok(setup)
    }

    /// Returns the report, with these lines about hooks first.
    pub(super) fn report_with(self, hooks: Vec<String>) -> DeinitReport {
        DeinitReport { removed: hooks.into_iter().chain(self.removed).collect(), ..self.report }
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
            self.settings.retain(|name| !name.eq_ignore_ascii_case(record));
            self.removed.push(what);
        } else {
            let files = text::count(pointers, "file");
            self.report.stays.push(format!("{what}: {files} of the tree may be there"));
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
    pub(super) fn delete_refs(&self, session: &Session) -> Result<()> {
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

    pub(super) fn remove_settings(&self, session: &Session) -> Result<()> {
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
        if uninstall::is_ours(&session.repo) {
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
            report.stays.push(".colony/ in the tree: git rm -r .colony removes it".to_owned());
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
        let (tags, of_user): (Vec<_>, Vec<_>) =
            tags.into_iter().partition(|tag| checkpoint_refs::is_own(repo, tag));
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
        let member = session.membership.as_ref().filter(|member| member.role == Role::Desk);
        self.removed.extend(member.map(|member| {
            let hub = member.hub.display();
            format!("the part of this checkout in the hub '{hub}', with its published refs")
        }));
        self.report.left = leftovers::list(session, self.lfs_goes)?;
        self.removed.extend(unguarded(session));
        let all = private.into_iter().chain(tags);
        self.refs = all.map(|reference| (reference.name, reference.id)).collect();
        self.folders = folders(session);
        Ok(())
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
    let listed = Target::ALL.into_iter().map(|target| (target, lines(target)));
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
    let mut keys: Vec<String> =
        text.split('\0').filter(|key| !key.is_empty()).map(str::to_owned).collect();
    keys.sort();
    keys.dedup();
    Ok(keys)
}

fn tracked_pointers(session: &Session) -> Result<usize> {
    let index = session.repo.load_index()?;
    let files = session.repo.filtered_files(&index, "lfs", AttributesOf::Worktree)?;
    let pointers = files.iter().filter(|file| Pointer::of_blob(&session.repo, file.id).is_some());
    Ok(pointers.count())
}

/// Lists our folders: the shared one and those of the worktrees, the current one last.
fn folders(session: &Session) -> Vec<PathBuf> {
    let common = session.repo.common_dir();
    let worktrees = std::fs::read_dir(common.join("worktrees"));
    let mut folders: Vec<PathBuf> = worktrees
        .into_iter()
        .flatten()
        .flatten()
        .map(|worktree| worktree.path().join("colony"))
        .collect();
    folders.push(common.join("colony"));
    folders.retain(|folder| folder.exists() && *folder != session.repo.git_dir().join("colony"));
    folders.push(session.repo.git_dir().join("colony"));
    folders
}
