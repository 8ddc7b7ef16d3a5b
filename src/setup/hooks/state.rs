//! The status of every hook: for 'hooks status', for 'doctor', and for 'init' before it asks git-lfs.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::git::Repo;
use crate::model::{Result, World};
use crate::store::Session;
use crate::store::files::places::HookPlaces;

use super::agents::{self, Agent};
use super::folder::HooksFolder;
use super::found_hook::FoundHook;
use super::home::Home;
use super::hook_state::{HookState, HookStatus};
use super::record::{self, HooksRecord};
use super::script::{self, Content, HookName};
use super::{FolderSort, beside, last_fired, redirect};

/// Every hook.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct HooksStatusReport {
    /// Git's hooks first, then those of each agent.
    pub hooks: Vec<HookStatus>,
    /// Their number.
    pub count: usize,
    /// The folder that git takes hooks from.
    pub folder: HooksFolder,
}

/// Reads the status of every hook, and changes nothing.
pub fn status(session: &Session) -> Result<HooksStatusReport> {
    let folder = HooksFolder::find(&session.repo, &session.world)?;
    let mut hooks = of_git(session, &folder)?;
    for agent in Agent::ALL {
        hooks.extend(agents::status(session, agent));
    }
    Ok(HooksStatusReport { count: hooks.len(), hooks, folder })
}

/// Reads the status of git's hooks.
pub(super) fn of_git(session: &Session, folder: &HooksFolder) -> Result<Vec<HookStatus>> {
    let repo = &session.repo;
    let known = FolderRecord::read(repo, folder)?;
    let row = |hook: HookName| {
        let (state, runs) = known.state(repo, folder, hook);
        let path = folder.path.join(hook.as_str());
        let there = state != HookState::NotInstalled;
        HookStatus {
            name: hook.as_str().to_owned(),
            target: "git",
            state,
            runs,
            path: there.then(|| path.display().to_string()),
            last_fired_at: last_fired::last(repo, hook.as_str()),
        }
    };
    Ok(HookName::ALL.into_iter().map(row).collect())
}

/// The record about the folder in effect.
struct FolderRecord {
    home: Home,
    record: Option<HooksRecord>,
}

impl FolderRecord {
    fn read(repo: &Repo, folder: &HooksFolder) -> Result<FolderRecord> {
        let home = Home::of(repo, folder.scope);
        let mut record = record::read(&home.record)?;
        if record.is_none() {
            record = record::read(&HookPlaces::of(repo).record())?;
        }
        Ok(FolderRecord { home, record })
    }

    fn state(&self, repo: &Repo, folder: &HooksFolder, hook: HookName) -> (HookState, bool) {
        let redirect = self.record.as_ref().and_then(|known| known.redirect.as_ref());
        let redirected = redirect.is_some();
        match folder.sort {
            FolderSort::Ours => {
                let former = redirect.map(|redirect| repo.workdir().join(redirect.former.path()));
                redirect::state(&self.home, hook, former.as_deref())
            }
            _ if redirected => (HookState::Replaced, false),
            FolderSort::Default | FolderSort::InsideGitDir => {
                beside::state(&folder.path, hook, self.record.as_ref())
            }
            _ if self.record.is_some() => (HookState::Replaced, false),
            _ => (HookState::NotInstalled, false),
        }
    }
}

/// The file at the path of a hook that git-lfs needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    /// Nothing.
    Absent,
    /// A script of ours, which runs git-lfs where `colony.lfsHooks` is true.
    Ours,
    /// The script that `git lfs install` writes.
    GitLfs,
    /// Something else.
    Foreign,
}

/// One hook that git-lfs needs.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct LfsHook {
    /// The hook.
    pub name: HookName,
    /// The file that git runs.
    pub presence: Presence,
    /// The file that ours runs first; `None` unless ours is there.
    pub chained: Option<Presence>,
    /// Whether git-lfs is run, as far as the scripts themselves show.
    pub runs_lfs: bool,
}

/// The hooks that git-lfs needs, and the folder they must be in.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct GitHooksState {
    /// The folder that git takes hooks from.
    pub folder: HooksFolder,
    /// The four hooks.
    pub hooks: Vec<LfsHook>,
}

/// Reads the hooks that git-lfs needs, and changes nothing.
pub fn git_hooks_state(repo: &Repo, world: &World) -> Result<GitHooksState> {
    let folder = HooksFolder::find(repo, world)?;
    let known = FolderRecord::read(repo, &folder)?;
    let ours_runs_lfs = repo.config_bool("colony.lfsHooks") == Some(true);
    let former_folder = match folder.sort {
        FolderSort::Ours => known
            .record
            .as_ref()
            .and_then(|known| known.redirect.as_ref())
            .map(|redirect| repo.workdir().join(redirect.former.path())),
        _ => None,
    };
    let hook = |name: HookName| {
        let (presence, mut runs_lfs) = read_hook(&folder.path.join(name.as_str()), name);
        let mut chained = None;
        if presence == Presence::Ours {
            let former: PathBuf = former_folder
                .as_ref()
                .map_or_else(|| beside::former(&folder.path, name), |f| f.join(name.as_str()));
            let (former_presence, former_runs_lfs) = read_hook(&former, name);
            chained = Some(former_presence);
            runs_lfs = former_runs_lfs || ours_runs_lfs;
        }
        LfsHook { name, presence, chained, runs_lfs }
    };
    let wanted = HookName::ALL.into_iter().filter(|hook| hook.is_of_lfs());
    let hooks = wanted.map(hook).collect();
    Ok(GitHooksState { folder, hooks })
}

fn read_hook(path: &Path, name: HookName) -> (Presence, bool) {
    let Some(hook) = FoundHook::at(path) else {
        return (Presence::Absent, false);
    };
    let presence = match hook.content {
        Content::Ours | Content::Edited => Presence::Ours,
        Content::GitLfs => Presence::GitLfs,
        Content::Foreign => Presence::Foreign,
    };
    let runs = hook.executable && script::runs_lfs(&hook.bytes, name.as_str());
    (presence, runs && presence != Presence::Ours)
}
