//! Which folder git takes hooks from, and whose it is.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::git::Repo;
use crate::model::{Result, World};
use crate::store::files::places::HookPlaces;

use super::home::{Home, KEY, Scope};
use super::record::{self, HooksRecord};

/// Whose the folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FolderSort {
    /// `hooks` in the git directory: nothing else is configured.
    Default,
    /// Another folder inside the git directory.
    InsideGitDir,
    /// A folder of the worktree, where everything may be tracked.
    InTree,
    /// No folder: `/dev/null`, or nothing is there.
    Missing,
    /// A folder elsewhere: of the user or the machine.
    Elsewhere,
    /// The folder we put in its place.
    Ours,
    /// The folder we put in its place before the repository was moved or copied to where it is now.
    Moved,
}

/// The folder git takes hooks from.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct HooksFolder {
    /// Where it is, absolute.
    #[serde(serialize_with = "shown")]
    pub path: PathBuf,
    /// Whose it is.
    pub sort: FolderSort,
    /// The value of `core.hooksPath` with `~` resolved; it may be relative to the worktree.
    #[serde(skip)]
    pub(super) value: Option<PathBuf>,
    /// Where that value is written.
    pub scope: Option<Scope>,
}

fn shown<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

impl HooksFolder {
    /// Finds the folder in force in this worktree. Starts git once or twice.
    ///
    /// # Errors
    /// `git-failed`, `repository-broken` when our record does not parse.
    pub fn find(repo: &Repo, world: &World) -> Result<HooksFolder> {
        let Some((scope, value)) = configured(repo, world)? else {
            let path = repo.common_dir().join("hooks");
            let sort = match sort_of(repo, &path) {
                // A missing folder is made; a link that leads nowhere is not ours to follow.
                FolderSort::Missing if path.symlink_metadata().is_err() => FolderSort::Default,
                FolderSort::InsideGitDir => FolderSort::Default,
                other => other,
            };
            return Ok(HooksFolder {
                path,
                sort,
                value: None,
                scope: None,
            });
        };
        let path = repo.workdir().join(&value);
        let mut sort = sort_of(repo, &path);
        if sort != FolderSort::Ours && was_ours(repo, scope, &value)? {
            sort = FolderSort::Moved;
        }
        Ok(HooksFolder {
            sort,
            path,
            value: Some(value),
            scope: Some(scope),
        })
    }

    /// Returns the folder as a script has to name it: relative where git's configuration is.
    pub(super) fn as_former(&self) -> &Path {
        self.value.as_deref().unwrap_or(&self.path)
    }

    /// Tells whether our scripts may stand in it.
    pub(super) fn is_inside_git_dir(&self) -> bool {
        matches!(self.sort, FolderSort::Default | FolderSort::InsideGitDir)
    }
}

fn sort_of(repo: &Repo, path: &Path) -> FolderSort {
    let places = HookPlaces::of(repo);
    let Ok(real) = path.canonicalize() else {
        // Our own folder is known by its name even when somebody has removed it.
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

/// Tells whether we wrote the value, at the place where the repository was then.
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

/// Reads the value that counts, the command line left out: `git -c` lasts for one command.
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
        // `~nobody/hooks` cannot be resolved; taken as it is written, it is a folder that is missing.
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
