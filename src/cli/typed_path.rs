//! Paths as people type them, relative to where they stand, as paths of the repository.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;

/// Turns a typed path into a repository path; links are not resolved below the worktree.
///
/// # Errors
/// `path-outside`.
pub(super) fn repo_path(session: &Session, typed: &Path) -> Result<RepoPath> {
    let outside = || {
        Error::new(
            Code::PathOutside,
            format!(
                "'{}' is outside the working tree '{}'",
                typed.display(),
                session.repo.workdir().display()
            ),
        )
    };
    let cwd = session
        .world
        .cwd
        .canonicalize()
        .unwrap_or_else(|_| session.world.cwd.clone());
    let mut absolute = PathBuf::new();
    for part in cwd.join(typed).components() {
        match part {
            Component::ParentDir => drop(absolute.pop()),
            Component::CurDir => {}
            other => absolute.push(other),
        }
    }
    let below = absolute
        .strip_prefix(session.repo.workdir())
        .map_err(|_| outside())?;
    let path = RepoPath::from(below.as_os_str().as_bytes());
    if path.as_bytes().is_empty() || path.is_safe() {
        Ok(path)
    } else {
        Err(outside())
    }
}
