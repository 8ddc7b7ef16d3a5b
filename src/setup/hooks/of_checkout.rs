//! The hooks of a project in the clones of its checkout: scripts that run those of the checkout, as each worktree does.
//!
//! They are named by their absolute path, so a folder that git ignores, such as `.husky/_`, works in a clone that has
//! none. Our own hooks and those of git-lfs are left out: a clone has its own. A hook that the clone has is not
//! replaced, and one that has vanished from the checkout runs nothing.

use std::io;
use std::path::{Path, PathBuf};

use crate::git::Repo;
use crate::git::inherited::is_own;
use crate::model::{Error, Result, World};
use crate::store::Session;

use super::action::Action;
use super::beside;
use super::folder::{FolderSort, HooksFolder};
use super::found_hook::FoundHook;
use super::home::{Home, Scope};
use super::record::{self, HooksRecord};
use super::redirect;
use super::script::{self, Content, Former, HookName};

/// The hooks of a checkout that its clones run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckoutHooks {
    folder: PathBuf,
    /// Each hook, with the name of its file.
    called: Vec<(&'static str, String)>,
    /// Hooks that are not run, because another user could change them.
    pub refused: Vec<PathBuf>,
}

impl CheckoutHooks {
    /// Finds the hooks of a checkout. Starts git once or twice.
    pub fn of(world: &World, checkout: &Repo) -> Result<CheckoutHooks> {
        let mut hooks = CheckoutHooks::default();
        let Some(folder) = project_folder(world, checkout)? else {
            return Ok(hooks);
        };
        for (name, is_ours) in names() {
            let file = if is_ours { file_of(&folder, name) } else { Some(name.to_owned()) };
            let path = file.as_ref().map(|file| folder.join(file));
            let runs = path.as_deref().and_then(FoundHook::at).is_some_and(|hook| hook.executable);
            match (path, file) {
                (Some(path), _) if runs && !is_own(&path) => hooks.refused.push(path),
                (_, Some(file)) if runs => hooks.called.push((name, file)),
                _ => {}
            }
        }
        hooks.folder = folder;
        Ok(hooks)
    }

    /// Describes them; `None` if there are none.
    pub fn describe(&self) -> Option<String> {
        let names: Vec<_> = self.called.iter().map(|(name, _)| *name).collect();
        let folder = self.folder.display();
        (!names.is_empty()).then(|| format!("hooks of '{folder}': {}", names.join(", ")))
    }

    /// Returns the name of the first file in the hooks folder of a clone that git might run, and that the checkout with
    /// this hooks folder does not have. Anyone can write the digest of a script, so the bytes are compared.
    /// Fails if the folder cannot be listed: git runs a hook in it all the same.
    pub fn first_other_in(&self, clone: &Path, checkout: &Path) -> io::Result<Option<String>> {
        let entries = match std::fs::read_dir(clone) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            listed => listed?,
        };
        let named = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        let mut names = named.collect::<io::Result<Vec<_>>>()?;
        names.sort();
        Ok(names.into_iter().find(|name| {
            let hook = FoundHook::at(&clone.join(name)).filter(|hook| hook.executable);
            hook.is_some_and(|hook| !self.expected(name, checkout).contains(&hook.bytes))
        }))
    }

    /// Returns what a file in the hooks folder of a clone may hold: a script of ours, one that runs a hook of the
    /// checkout, or the hook of git-lfs that the checkout has.
    fn expected(&self, file: &str, checkout: &Path) -> Vec<Vec<u8>> {
        let mut scripts = Vec::new();
        if let Some(hook) = HookName::parse(file) {
            scripts.push(script::git_hook(hook, &Former::Beside(&beside::former_name(file))));
        }
        for (hook, run) in &self.called {
            if file == *hook || file == beside::former_name(hook) {
                scripts.push(script::forwarder(run, &self.folder));
            }
        }
        let hook = HookName::ALL
            .map(HookName::as_str)
            .into_iter()
            .find(|hook| file == *hook || file == beside::former_name(hook));
        for name in hook.into_iter().flat_map(|hook| [hook.to_owned(), beside::former_name(hook)]) {
            let path = checkout.join(name);
            let own = FoundHook::at(&path).filter(|_| is_own(&path));
            scripts.extend(own.map(|hook| hook.bytes));
        }
        scripts
    }

    /// Removes the scripts of git-lfs that a new clone has in the place of ours where the checkout has a hook: the place
    /// beside ours is for that one, and ours run git-lfs.
    pub fn replace_git_lfs(&self, inside: &Session) -> Result<()> {
        let own = inside.repo.common_dir().join("hooks");
        let named = self.called.iter().filter(|(name, _)| HookName::parse(name).is_some());
        for path in named.map(|(name, _)| own.join(name)) {
            if FoundHook::content_at(&path) == Some(Content::GitLfs) {
                std::fs::remove_file(&path)
                    .map_err(|e| Error::io(format!("cannot replace '{}'", path.display()), e))?;
            }
        }
        Ok(())
    }

    /// Writes the scripts that a clone lacks, before our own hooks are installed there; returns `true` if it wrote any.
    pub fn forward(&self, inside: &Session) -> Result<bool> {
        let own = inside.repo.common_dir().join("hooks");
        let mut has_written = false;
        for (name, file) in &self.called {
            let is_ours = HookName::parse(name).is_some();
            let path =
                own.join(if is_ours { beside::former_name(name) } else { (*name).to_owned() });
            let bytes = script::forwarder(file, &self.folder);
            let is_free = match FoundHook::at(&path) {
                None => true,
                Some(hook) => hook.content == Content::Ours && hook.bytes != bytes,
            };
            if is_free {
                Action::MakeFolder(own.clone()).apply(inside)?;
                Action::Write { path, bytes }.apply(inside)?;
                has_written = true;
            }
        }
        Ok(has_written)
    }
}

/// Lists the hooks of git, and whether one of ours has that name.
fn names() -> impl Iterator<Item = (&'static str, bool)> {
    let ours = HookName::ALL.map(|hook| (hook.as_str(), true));
    ours.into_iter().chain(redirect::others().map(|name| (name, false)))
}

/// Returns the folder of the project's own hooks; `None` if it has none, or if the user has one for all repositories.
fn project_folder(world: &World, checkout: &Repo) -> Result<Option<PathBuf>> {
    let folder = HooksFolder::find(checkout, world)?;
    Ok(match (folder.sort, folder.scope) {
        (FolderSort::Missing, _) | (_, Some(Scope::Outside)) => None,
        (FolderSort::Ours | FolderSort::Moved, scope) => {
            let known: Option<HooksRecord> = record::read(&Home::of(checkout, scope).record)?;
            let redirect = known.and_then(|known| known.redirect);
            redirect.map(|redirect| checkout.workdir().join(redirect.former.path()))
        }
        _ => Some(folder.path),
    })
}

/// Returns the file of a hook that one of ours may have replaced; `None` if it is ours alone, or that of git-lfs.
fn file_of(folder: &Path, name: &str) -> Option<String> {
    match FoundHook::content_at(&folder.join(name)) {
        Some(Content::Ours | Content::Edited) => Some(beside::former_name(name)),
        Some(Content::GitLfs) | None => None,
        Some(Content::Foreign) => Some(name.to_owned()),
    }
}
