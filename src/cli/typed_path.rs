//! Paths as people type them, relative to where they stand, as paths of the repository.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use crate::model::{Code, Error, RepoPath, Result, World};
use crate::store::Session;

/// Turns a typed path into a repository path; links are not resolved below the worktree.
pub(super) fn repo_path(session: &Session, typed: &Path) -> Result<RepoPath> {
    below(&session.world, session.repo.workdir(), typed)
}

/// Turns a typed path into one below a canonical root; symlinks are not resolved below it.
pub(super) fn below(world: &World, root: &Path, typed: &Path) -> Result<RepoPath> {
    let outside = || {
        Error::new(
            Code::PathOutside,
            format!("'{}' is outside the working tree '{}'", typed.display(), root.display()),
        )
    };
    let cwd = world.cwd.canonicalize().unwrap_or_else(|_| world.cwd.clone());
    let absolute = lexical(&cwd.join(typed));
    let below_root = absolute.strip_prefix(root).map(Path::to_path_buf);
    // The root may have been typed by way of a symlink.
    let relative = below_root
        .ok()
        .or_else(|| Some(resolved_parent(&absolute)?.strip_prefix(root).ok()?.to_path_buf()));
    let path = RepoPath::from(relative.ok_or_else(outside)?.as_os_str().as_bytes());
    if path.as_bytes().is_empty() || path.is_safe() { Ok(path) } else { Err(outside()) }
}

fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// Resolves the directories above the last component, as far as they exist.
fn resolved_parent(path: &Path) -> Option<PathBuf> {
    let parent = path.parent()?;
    let (above, real) =
        parent.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)))?;
    Some(real.join(path.strip_prefix(above).ok()?))
}
