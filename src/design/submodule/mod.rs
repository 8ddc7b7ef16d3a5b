//! Submodules with edits inside: their states are commits in their own repositories, named by what the repository
//! around them records.
//!
//! A submodule is opened like a repository that others control: nothing that is configured there runs. Only one whose
//! git directory is its own, in the working tree or below `modules` of this repository, is written to.

pub mod snapshots;
pub mod unused_states;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::{ObjectWrites, Repo};
use crate::model::{Code, Error, RepoPath};
use crate::store::Session;

/// Why the edits inside a submodule were not restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AbsenceReason {
    /// It is not set up here, or something else is at its path.
    NotSetUp,
    /// Its repository does not have the commit that holds them.
    NoSnapshot,
    /// Its repository is not one that git made for it here, or has filters of its own.
    NotItsOwn,
    /// git has a merge, rebase or the like in progress there.
    InProgress,
    /// Its files cannot be read, or written.
    Failed,
}

/// A submodule that is set up here.
pub(in crate::design) struct Submodule {
    /// Its path in the working tree of the command.
    pub(in crate::design) path: RepoPath,
    /// Its repository, with the settings of the command.
    pub(in crate::design) session: Session,
}

impl Submodule {
    /// Opens a submodule that is set up here, or says why it is not used.
    pub(in crate::design) fn open(
        session: &Session,
        path: &RepoPath,
    ) -> Result<Submodule, AbsenceReason> {
        let folder = path.under(session.repo.workdir());
        let is_set_up = folder.join(".git").symlink_metadata().is_ok();
        // A symlink on the way leads to a repository that belongs elsewhere.
        let is_here = folder.canonicalize().is_ok_and(|real| real == folder);
        if !is_set_up || !is_here || !path.is_safe() {
            return Err(AbsenceReason::NotSetUp);
        }
        let mut world = session.world.clone();
        // git does not use the filters of the repository around it, either.
        world.filters = "".into();
        let writes = if session.is_dry() { ObjectWrites::InMemory } else { ObjectWrites::Durable };
        let opened = Session::open_foreign(&world, &folder, writes);
        let mut inside = opened.map_err(|_| AbsenceReason::NotItsOwn)?;
        let git_dir = inside.repo.git_dir();
        let is_own = git_dir == inside.repo.common_dir()
            && (git_dir == folder.join(".git") || is_among_modules(&session.repo, git_dir));
        if !is_own || inside.repo.lacks_own_filters() {
            return Err(AbsenceReason::NotItsOwn);
        }
        inside.settings = session.settings.clone();
        Ok(Submodule { path: path.clone(), session: inside })
    }

    /// Returns a path inside it as one in the working tree of the command.
    pub(in crate::design) fn at(&self, path: &RepoPath) -> RepoPath {
        self.path.join(path)
    }
}

/// Returns `true` for a git directory that git has made for a submodule of this worktree.
fn is_among_modules(repo: &Repo, git_dir: &std::path::Path) -> bool {
    let modules = repo.git_dir().join("modules");
    git_dir != modules && git_dir.starts_with(modules)
}

/// Returns `true` for an error that stops the whole command, and not only the work on one submodule.
pub(in crate::design) fn is_final(error: &Error) -> bool {
    matches!(error.code(), Code::NoSpace | Code::Interrupted)
}
