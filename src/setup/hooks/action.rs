//! The steps of an installation: each can be described beforehand, and repeated after a kill.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::git::Repo;
use crate::model::{Code, Error, Result, World};
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::files::config_file::ConfigFile;

use super::found_hook::FoundHook;
use super::home::{KEY, Scope};
use super::record::{self, Blob, HooksRecord, Redirect, bytes_of};
use super::script::Content;

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookChange {
    /// Install ours.
    Install,
    /// Uninstall ours, and restore the earlier ones.
    Uninstall,
}

impl Serialize for HookChange {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            HookChange::Install => "install",
            HookChange::Uninstall => "uninstall",
        })
    }
}

/// One step.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// Records the earlier state.
    Remember(PathBuf, HooksRecord),
    /// Creates the folder of hooks.
    MakeFolder(PathBuf),
    /// Renames a hook that has one of our names to a free name.
    MoveAside {
        /// The hook.
        from: PathBuf,
        /// The path it is run from now.
        to: PathBuf,
    },
    /// Writes our script to a path that is free or ours.
    Write {
        /// The hook.
        path: PathBuf,
        /// The script.
        bytes: Vec<u8>,
    },
    /// Renames an earlier hook back to its own name, which is free or ours.
    PutBack {
        /// The path it was run from.
        from: PathBuf,
        /// The hook.
        to: PathBuf,
    },
    /// Removes a file of ours.
    Remove(PathBuf),
    /// Removes a folder that we created, if it is empty.
    RemoveEmptyFolder(PathBuf),
    /// Sets `core.hooksPath` to our folder.
    Configure(Box<Configure>),
    /// Restores `core.hooksPath`.
    Unconfigure(Box<Redirect>),
}

/// The data of [`Action::Configure`].
#[derive(Clone, Debug)]
pub(super) struct Configure {
    /// The file to change.
    pub(super) scope: Scope,
    /// Our folder.
    pub(super) ours: PathBuf,
    /// The folder that was in effect, as scripts name it.
    pub(super) former: PathBuf,
    /// The path for the record of the earlier state.
    pub(super) record: PathBuf,
}

impl Action {
    /// Describes the step; `None` for bookkeeping.
    pub(super) fn describe(&self) -> Option<String> {
        Some(match self {
            Action::Remember(..) => return None,
            Action::MakeFolder(path) => format!("make '{}'", path.display()),
            Action::MoveAside { from, to } | Action::PutBack { from, to } => {
                format!("rename '{}' to '{}'", from.display(), name_of(to))
            }
            Action::Write { path, .. } => format!("write '{}'", path.display()),
            Action::Remove(path) => format!("remove '{}'", path.display()),
            Action::RemoveEmptyFolder(path) => format!("remove '{}' if empty", path.display()),
            Action::Configure(configure) => format!(
                "set {KEY} to '{}'; its hooks run those of '{}'",
                configure.ours.display(),
                configure.former.display()
            ),
            Action::Unconfigure(redirect) if redirect.values.is_empty() => {
                format!("remove {KEY} from the configuration")
            }
            Action::Unconfigure(redirect) => {
                let last = redirect.values.last().map(Blob::path).unwrap_or_default();
                format!("set {KEY} back to '{}'", last.display())
            }
        })
    }

    /// Carries it out.
    pub(super) fn apply(&self, session: &Session) -> Result<()> {
        let world = &session.world;
        match self {
            Action::Remember(path, record) => {
                record::write(path, record)?;
                world.reach("hooks-remembered")
            }
            Action::MakeFolder(path) => atomic::make_directory(path),
            Action::MoveAside { from, to } => {
                if !atomic::rename_to_free(from, to)? {
                    return Err(moved(from));
                }
                world.reach("hooks-set-aside")
            }
            Action::Write { path, bytes } => {
                write_script(&session.repo, path, bytes)?;
                world.reach("hooks-written")
            }
            Action::PutBack { from, to } => {
                if FoundHook::content_at(to).is_none_or(|content| content == Content::Ours) {
                    // A folder must not replace a file.
                    if from.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
                        atomic::remove_file(to)?;
                    }
                    atomic::rename(from, to)?;
                    return world.reach("hooks-put-back");
                }
                Err(moved(to))
            }
            Action::Remove(path) => {
                atomic::remove_file(path)?;
                world.reach("hooks-removed")
            }
            Action::RemoveEmptyFolder(path) => atomic::remove_empty_folder(path).map(drop),
            Action::Configure(configure) => configure.apply(&session.repo, world),
            Action::Unconfigure(redirect) => {
                remove_value(&session.repo, world, redirect)?;
                world.reach("hooks-unconfigured")
            }
        }
    }
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn moved(path: &Path) -> Error {
    Error::new(Code::Io, format!("'{}' was changed by another program meanwhile", path.display()))
        .hint("git colony hooks status")
}

/// Writes a script beside our records and renames it into place, over nothing but a script of ours.
fn write_script(repo: &Repo, path: &Path, bytes: &[u8]) -> Result<()> {
    let own = repo.common_dir().join("colony");
    atomic::make_directory(&own)?;
    let new = own.join("hook.new");
    atomic::write_program(&new, bytes)?;
    if atomic::rename_to_free(&new, path)? {
        return Ok(());
    }
    if FoundHook::content_at(path) == Some(Content::Ours) {
        return atomic::rename(&new, path);
    }
    atomic::remove_file(&new)?;
    Err(moved(path))
}

impl Configure {
    fn apply(&self, repo: &Repo, world: &World) -> Result<()> {
        let file = file_of(repo, self.scope);
        let now = file.read()?;
        let known: Option<HooksRecord> = record::read(&self.record)?;
        let [how, key] = ["--replace-all", KEY].map(OsString::from);
        let set = [how, key, self.ours.clone().into_os_string()];
        let after = ConfigFile::edited(repo, world, &now, &set)?;
        // Do not restore a value of ours: restore the one before it.
        let before = match known.as_ref().and_then(|known| known.redirect.as_ref()) {
            Some(redirect) => without_ours(repo, world, redirect, &now)?,
            None => now.clone(),
        };
        let values = ConfigFile::values(repo, world, &before, KEY)?;
        let redirect = Redirect {
            scope: self.scope,
            ours: Blob(bytes_of(&self.ours)),
            former: Blob(bytes_of(&self.former)),
            values: values.into_iter().map(Blob).collect(),
            before: Blob(before),
            after: record::digest(&after),
        };
        let made_folder = known.and_then(|known| known.made_folder);
        let redirect = Some(redirect);
        record::write(&self.record, &HooksRecord { made_folder, redirect })?;
        world.reach("hooks-remembered")?;
        file.replace(&now, &after)?;
        world.reach("hooks-configured")
    }
}

fn file_of(repo: &Repo, scope: Scope) -> ConfigFile {
    match scope {
        Scope::Worktree => ConfigFile::of_worktree(repo),
        Scope::Local | Scope::Outside => ConfigFile::of_repository(repo),
    }
}

/// Removes our value from the file.
fn remove_value(repo: &Repo, world: &World, redirect: &Redirect) -> Result<()> {
    let file = file_of(repo, redirect.scope);
    let now = file.read()?;
    let before = without_ours(repo, world, redirect, &now)?;
    if before == now {
        return Ok(());
    }
    file.replace(&now, &before)
}

/// Returns the file without our value: the earlier bytes if nothing else has changed, else the current file
/// without the key.
fn without_ours(repo: &Repo, world: &World, redirect: &Redirect, now: &[u8]) -> Result<Vec<u8>> {
    if record::digest(now) == redirect.after {
        return Ok(redirect.before.0.clone());
    }
    let ours = &redirect.ours.0;
    let values = ConfigFile::values(repo, world, now, KEY)?;
    if !values.contains(ours) {
        return Ok(now.to_vec());
    }
    let unset = ["--fixed-value", "--unset-all", KEY].map(OsString::from);
    let ours_text = redirect.ours.path().into_os_string();
    let mut edited = ConfigFile::edited(repo, world, now, &[&unset[..], &[ours_text]].concat())?;
    if values.len() == 1 {
        for value in &redirect.values {
            let [how, key] = ["--add", KEY].map(OsString::from);
            let add = [how, key, value.path().into_os_string()];
            edited = ConfigFile::edited(repo, world, &edited, &add)?;
        }
    }
    Ok(edited)
}
