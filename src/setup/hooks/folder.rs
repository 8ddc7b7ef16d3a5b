//! The folder that git takes hooks from, and its owner.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::git::Repo;
use crate::model::{Result, World};
use crate::store::files::places::HookPlaces;

use super::home::{Home, KEY, Scope};
use super::record::{self, HooksRecord};

/// The owner of the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FolderSort {
    /// `hooks` in the git directory: no other folder is configured.
    Default,
    /// Another folder inside the git directory.
    InsideGitDir,
    /// A folder of the working tree, whose files may be tracked.
    InTree,
    /// No folder: `/dev/null`, or a missing path.
    Missing,
    /// A folder elsewhere, of the user or the machine.
    Elsewhere,
    /// Our folder that replaced it.
    Ours,
    /// Our folder that replaced it, from before the repository was moved or copied.
    Moved,
}

/// The folder that git takes hooks from.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct HooksFolder {
    /// Its absolute path.
    #[serde(serialize_with = "shown")]
    pub path: PathBuf,
    /// Its owner.
    pub sort: FolderSort,
    /// The value of `core.hooksPath` with `~` resolved; it may be relative to the working tree.
    #[serde(skip)]
    pub(super) value: Option<PathBuf>,
    /// The level that sets this value.
    pub scope: Option<Scope>,
}

fn shown<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

impl HooksFolder {
    /// Finds the folder in effect in this worktree. Starts git once or twice.
    pub fn find(repo: &Repo, world: &World) -> Result<HooksFolder> {
        let Some((scope, value)) = configured(repo, world)? else {
            let path = repo.common_dir().join("hooks");
            let sort = match sort_of(repo, &path) {
                // A missing folder can be created; a dangling symlink is not followed.
                FolderSort::Missing if path.symlink_metadata().is_err() => FolderSort::Default,
                FolderSort::InsideGitDir => FolderSort::Default,
                other => other,
            };
            return Ok(HooksFolder { path, sort, value: None, scope: None });
        };
        let path = repo.workdir().join(&value);
        let mut sort = sort_of(repo, &path);
        if sort != FolderSort::Ours && was_ours(repo, scope, &value)? {
            sort = FolderSort::Moved;
        }
        Ok(HooksFolder { sort, path, value: Some(value), scope: Some(scope) })
    }

    /// Returns the folder as a script must name it: relative if git's configuration is.
    pub(super) fn as_former(&self) -> &Path {
        self.value.as_deref().unwrap_or(&self.path)
    }

    /// Returns `true` if our scripts may be written into it.
    pub(super) fn is_inside_git_dir(&self) -> bool {
        matches!(self.sort, FolderSort::Default | FolderSort::InsideGitDir)
    }
}

fn sort_of(repo: &Repo, path: &Path) -> FolderSort {
    let places = HookPlaces::of(repo);
    let Ok(real) = path.canonicalize() else {
        // Our own folder is recognized by its path even if it was deleted.
        let ours = [places.forwarders(), places.own_forwarders()];
        return if ours.iter().any(|folder| folder == path) {
            FolderSort::Ours
        } else {
            FolderSort::Missing
        };
    };
    let is = |folder: PathBuf| folder.canonicalize().is_ok_and(|folder| folder == real);
    if !real.is_dir() {
        FolderSort::Missing
    } else if is(places.forwarders()) || is(places.own_forwarders()) {
        FolderSort::Ours
    } else if real.starts_with(repo.common_dir()) || real.starts_with(repo.git_dir()) {
        FolderSort::InsideGitDir
    } else if real.starts_with(repo.workdir()) || in_main_worktree(repo, &real) {
        FolderSort::InTree
    } else {
        FolderSort::Elsewhere
    }
}

/// Returns `true` if we wrote the value, with the path of the repository at that time.
fn was_ours(repo: &Repo, scope: Scope, value: &Path) -> Result<bool> {
    let known: Option<HooksRecord> = record::read(&Home::of(repo, Some(scope)).record)?;
    let redirect = known.and_then(|known| known.redirect);
    Ok(redirect.is_some_and(|redirect| redirect.scope == scope && redirect.ours.path() == value))
}

fn in_main_worktree(repo: &Repo, path: &Path) -> bool {
    let main = repo.common_dir().parent();
    let is_git_dir = repo.common_dir().file_name() == Some(OsStr::new(".git"));
    is_git_dir && main.is_some_and(|main| path.starts_with(main))
}

/// Reads the value in effect, without the command line: `git -c` lasts for one command.
fn configured(repo: &Repo, world: &World) -> Result<Option<(Scope, PathBuf)>> {
    let ask = |as_path: bool| {
        let mut git = repo.git(world);
        git.args(["config", "--show-scope", "-z"]);
        if as_path {
            git.arg("--type=path");
        }
        git.args(["--get-all", KEY]).run()
    };
    let mut output = ask(true)?;
    if !output.success() && output.code != Some(1) {
        // `~nobody/hooks` cannot be resolved; taken literally, it is a missing folder.
        output = ask(false)?;
    }
    let mut parts = output.stdout.split(|byte| *byte == 0);
    let mut last = None;
    while let (Some(scope), Some(value)) = (parts.next(), parts.next()) {
        let scope = match scope {
            b"local" => Scope::Local,
            b"worktree" => Scope::Worktree,
            b"command" => continue,
            _ => Scope::Outside,
        };
        let value = std::ffi::OsString::from_vec(value.to_vec());
        last = Some((scope, PathBuf::from(value)));
    }
    Ok(last)
}
