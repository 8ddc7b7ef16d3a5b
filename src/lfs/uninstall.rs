//! Removes git-lfs from a repository: only what [`super::install::install`] has added, filters before hooks.

use serde::{Deserialize, Serialize};

use crate::git::{ObjectWrites, Repo, config};
use crate::model::Result;
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::files::config_file::ConfigFile;
use crate::store::settings::Flags;

use super::hooks_folder::{hooks_folder, is_own, remove_if_git_lfs};
use super::install::{CALL_FROM_OUR_HOOKS, HOOKS, note_path, noted};

/// The parts of git-lfs that exist at one moment.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct LfsSetup {
    is_ours: bool,
    is_called: bool,
}

impl LfsSetup {
    /// Finds the parts that exist now.
    pub fn find(repo: &Repo) -> LfsSetup {
        LfsSetup { is_ours: is_ours(repo), is_called: repo.config(CALL_FROM_OUR_HOOKS).is_some() }
    }

    /// Returns `true` if [`super::install::install`] has added something since then that [`uninstall`] would remove.
    pub fn has_grown(self, repo: &Repo) -> bool {
        !self.is_ours && is_ours(repo)
    }

    /// Removes what [`super::install::install`] has added since then, even after an interrupt.
    pub fn restore(self, session: &Session) -> Result<()> {
        let world = session.world.undisturbed();
        let session = &Session::open(world, &Flags::default(), ObjectWrites::Durable)?;
        if !self.is_ours {
            uninstall(session)?;
        }
        let (repo, world) = (&session.repo, &session.world);
        let configuration = ConfigFile::of_repository(repo);
        let written = configuration.read()?;
        if self.is_called
            || ConfigFile::values(repo, world, &written, CALL_FROM_OUR_HOOKS)?.is_empty()
        {
            return Ok(());
        }
        configuration.change(repo, world, &["--unset-all", CALL_FROM_OUR_HOOKS])
    }
}

/// Returns `true` if [`super::install::install`] added something that [`uninstall`] would remove.
pub fn is_ours(repo: &Repo) -> bool {
    note_path(repo).exists()
}

/// Removes what [`super::install::install`] added: settings of this repository's configuration, hooks.
pub fn uninstall(session: &Session) -> Result<()> {
    let path = note_path(&session.repo);
    if !path.exists() {
        return Ok(());
    }
    uninstall_filters(session)?;
    let noted = noted(&session.repo);
    let folder = hooks_folder(session);
    let mut hooks = noted.iter().filter(|noted| HOOKS.contains(&noted.as_str()));
    if is_own(&session.repo, &folder) {
        hooks.try_for_each(|hook| remove_if_git_lfs(&folder, hook))?;
    } else if hooks.next().is_some() {
        let shown = folder.display();
        let notice =
            format!("the hooks of git-lfs in '{shown}' stay: others may take hooks from there");
        (session.world.narrate)(&notice);
    }
    // The folder of git itself may be missing, and an empty one has no meaning. Any other is not ours.
    let is_plain = folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    if is_plain && folder == session.repo.common_dir().join("hooks") {
        atomic::remove_empty_folder(&folder)?;
    }
    atomic::remove_file(&path)
}

/// Removes only the settings. This comes before any hook is removed: a push must never publish pointers
/// without their objects.
pub fn uninstall_filters(session: &Session) -> Result<()> {
    let (repo, world) = (&session.repo, &session.world);
    let file = ConfigFile::of_repository(repo);
    let before = file.read()?;
    let mut after = before.clone();
    // Others are the user's. git removes a section that becomes empty.
    for key in noted(repo).iter().filter(|added| added.contains('.')) {
        if !config::values_in(&after, key).is_empty() {
            after = ConfigFile::edited(repo, world, &after, &["--unset-all".into(), key.into()])?;
        }
    }
    // All at once: half of the filters would refuse each file.
    if after == before { Ok(()) } else { file.replace(&before, &after) }
}
